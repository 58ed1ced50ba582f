//! Custom resources (apiextensions `pkg/registry/customresource/strategy.go`).

use serde_json::Value;

use super::super::value::list_at;

/// About finalizers without a domain, which others could take for theirs. A change is told of those that it adds.
pub(crate) fn custom_resource(object: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(|old| list_at(old, FINALIZERS)).unwrap_or_default();
    let mut added: Vec<&str> = list_at(object, FINALIZERS)
        .iter()
        .filter(|finalizer| !known.contains(finalizer))
        .filter_map(Value::as_str)
        .filter(|finalizer| !finalizer.contains('/') && !STANDARD.contains(finalizer))
        .collect();
    added.sort_unstable();
    added.dedup();
    let warning = |finalizer: &str| {
        // A dot looks as if there were a domain.
        let hint = if finalizer.contains('.') {
            "including a path (/) "
        } else {
            ""
        };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name {hint}to avoid accidental conflicts with other finalizer writers"
        )
    };
    added.into_iter().map(warning).collect()
}

const FINALIZERS: &str = "/metadata/finalizers";
/// Those of Kubernetes itself.
const STANDARD: &[&str] = &["kubernetes", "orphan", "foregroundDeletion"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_of_finalizers_without_a_domain() {
        let with = |finalizers: &[&str]| json!({"metadata": {"finalizers": finalizers}});
        let dotted = "metadata.finalizers: \"e.com\": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers";
        assert_eq!(custom_resource(&with(&["e.com"]), None), [dotted]);
        let new = with(&["x", "e.com/y", "orphan", "a"]);
        let about = |name: &str| {
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            )
        };
        assert_eq!(custom_resource(&new, None), [about("a"), about("x")]);
        assert_eq!(custom_resource(&new, Some(&with(&["x"]))), [about("a")]);
        assert_eq!(custom_resource(&json!({}), None), [""; 0]);
    }
}
