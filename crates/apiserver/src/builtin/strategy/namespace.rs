//! Namespaces: what their subresources may say.
//!
//! Upstream: pkg/apis/core/validation/validation.go `ValidateNamespaceStatusUpdate`, `ValidateNamespaceFinalizeUpdate`.

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::super::validation::names;
use super::super::value::{at, list_at, str_at};

/// Checks a write to `/status` or `/finalize`.
pub(super) fn part(subresource: &str, new: &Value, _: &Value) -> Vec<FieldError> {
    match subresource {
        "finalize" => finalizers(new),
        _ => phase(new),
    }
}

/// The phase says whether the namespace is being deleted, and nothing else.
fn phase(namespace: &Value) -> Vec<FieldError> {
    let phase = str_at(namespace, "/status/phase");
    let is_ending = at(namespace, "/metadata/deletionTimestamp").is_some();
    let why = match (is_ending, phase) {
        (false, "Active") | (true, "Terminating") => return Vec::new(),
        (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
        (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
    };
    // The capital letter is upstream's.
    vec![FieldError::invalid(
        FieldPath::new("status").child("Phase"),
        phase,
        why,
    )]
}

fn finalizers(namespace: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("spec").child("finalizers");
    let mut errors = Vec::new();
    for (at, finalizer) in list_at(namespace, "/spec/finalizers").iter().enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        let path = path.index(at);
        let wrong = names::qualified_name(name);
        if wrong.is_empty() && !name.contains('/') && !STANDARD.contains(&name) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(path.clone(), name, why));
        }
        errors.extend(
            wrong
                .into_iter()
                .map(|why| FieldError::invalid(path.clone(), name, why)),
        );
    }
    errors
}

const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_subresources_may_say() {
        #[track_caller]
        fn check(subresource: &str, namespace: Value, expect: &[&str]) {
            let errors = part(subresource, &namespace, &json!({}));
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, expect);
        }
        check("status", json!({"status": {"phase": "Active"}}), &[]);
        check(
            "status",
            json!({"status": {"phase": "Terminating"}}),
            &[
                "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
            ],
        );
        let ending = |phase: &str| json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": phase}});
        check("status", ending("Terminating"), &[]);
        check(
            "status",
            ending("Active"),
            &[
                "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
            ],
        );
        check(
            "finalize",
            json!({"spec": {"finalizers": ["kubernetes", "a.b/c"]}}),
            &[],
        );
        check(
            "finalize",
            json!({"spec": {"finalizers": ["mine"]}}),
            &[
                "spec.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified",
            ],
        );
    }
}
