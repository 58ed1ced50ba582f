//! Reviews of access: questions that are answered at once.
//!
//! Upstream: `pkg/apis/authorization/validation/validation.go`. Selectors of a question are not checked, since no rule looks at them.

use serde_json::{Value, json};

use super::node::{Errors, Node};

/// Who a review asks about, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Whoever asks (`ValidateSelfSubjectAccessReview`).
    Oneself,
    /// A named user, anywhere (`ValidateSubjectAccessReview`).
    Anyone,
    /// A named user, in the namespace of the review (`ValidateLocalSubjectAccessReview`).
    AnyoneHere,
}

/// Checks a review of access.
pub(crate) fn access_review(review: &Value, asks: Asks) -> Errors {
    let mut errors = Errors::new();
    let root = Node::root(review);
    let spec = root.get("spec");
    let (resource, path) = (spec.get("resourceAttributes"), spec.get("nonResourceAttributes"));
    if resource.is_nil() == path.is_nil() {
        let shown = match path.is_nil() {
            true => Value::Null,
            false => json!({"Path": path.get("path").text(), "Verb": path.get("verb").text()}),
        };
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        spec.invalid_as(&mut errors, shown, detail);
    }
    let user = spec.get("user");
    if asks != Asks::Oneself && user.is_empty() && spec.get("groups").is_empty() {
        user.invalid_as(&mut errors, "", "at least one of user or group must be specified");
    }
    let metadata = root.get("metadata");
    let (exempt, detail): (&[&str], _) = match asks {
        Asks::AnyoneHere => (
            &["managedFields", "namespace"],
            "must be empty except for namespace",
        ),
        _ => (&["managedFields"], "must be empty"),
    };
    let is_set = |(field, value): (&str, Node<'_, '_>)| !exempt.contains(&field) && value.is_set();
    if metadata.entries().any(is_set) {
        metadata.invalid(&mut errors, detail);
    }
    if asks == Asks::AnyoneHere {
        let namespace = resource.get("namespace");
        if !resource.is_nil() && namespace.text() != metadata.get("namespace").text() {
            namespace.invalid_as(&mut errors, namespace.text(), "must match metadata.namespace");
        }
        if !path.is_nil() {
            path.invalid(&mut errors, "disallowed on this kind of request");
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_of_access() {
        #[track_caller]
        fn check(asks: Asks, metadata: Value, spec: Value, expect: &[&str]) {
            let review = json!({"metadata": metadata, "spec": spec});
            let errors = access_review(&review, asks);
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, expect, "{review}");
        }
        const ONE: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        const NOBODY: &str =
            "spec.user: Invalid value: \"\": at least one of user or group must be specified";
        let none = || json!({});
        let pods = json!({"resourceAttributes": {"resource": "pods"}});
        check(Asks::Oneself, none(), pods.clone(), &[]);
        check(Asks::Anyone, none(), pods, &[NOBODY]);
        let neither = format!("spec: Invalid value: null: {ONE}");
        check(Asks::Oneself, none(), none(), &[&neither]);
        check(Asks::Anyone, none(), none(), &[&neither, NOBODY]);
        let both =
            json!({"groups": ["g"], "resourceAttributes": {}, "nonResourceAttributes": {"path": "/x"}});
        let both_at_once = format!("spec: Invalid value: {{\"Path\":\"/x\",\"Verb\":\"\"}}: {ONE}");
        check(Asks::Anyone, none(), both, &[&both_at_once]);
        let named = json!({"name": "n", "managedFields": []});
        let here = json!({"user": "u", "resourceAttributes": {"namespace": "a"}});
        check(
            Asks::Anyone,
            named,
            here.clone(),
            &["metadata: Invalid value: {\"managedFields\":[],\"name\":\"n\"}: must be empty"],
        );
        check(Asks::AnyoneHere, json!({"namespace": "a"}), here.clone(), &[]);
        check(
            Asks::AnyoneHere,
            json!({"namespace": "b"}),
            here,
            &["spec.resourceAttributes.namespace: Invalid value: \"a\": must match metadata.namespace"],
        );
        check(
            Asks::AnyoneHere,
            json!({"namespace": "b"}),
            json!({"user": "u", "nonResourceAttributes": {"path": "/"}}),
            &[
                "spec.nonResourceAttributes: Invalid value: {\"path\":\"/\"}: disallowed on this kind of request",
            ],
        );
    }
}
