//! Reviews of access: questions that are answered at once.
//!
//! Upstream: `pkg/apis/authorization/validation/validation.go`.

use serde_json::{Value, json};

use super::super::field::{Errors, Field};
use super::format::{label_requirement, values_of_requirement};

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
    let root = Field::root("", review);
    let spec = root.get("spec");
    let (resource, path) = (spec.get("resourceAttributes"), spec.get("nonResourceAttributes"));
    let shown = match path.exists() {
        true => json!({"Path": path.get("path").text(), "Verb": path.get("verb").text()}),
        false => Value::Null,
    };
    if resource.exists() == path.exists() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        spec.invalid_as(&mut errors, shown.clone(), detail);
    }
    let user = spec.get("user");
    if asks != Asks::Oneself && user.is_empty() && spec.get("groups").is_empty() {
        user.invalid_as(&mut errors, "", "at least one of user or group must be specified");
    }
    selector(
        &mut errors,
        &resource.get("fieldSelector"),
        |errors, requirement| {
            requirement.get("key").check_given(errors, "must be specified");
            values_of_requirement(errors, requirement);
        },
    );
    selector(&mut errors, &resource.get("labelSelector"), label_requirement);
    let metadata = root.get("metadata");
    let (exempt, detail): (&[&str], _) = match asks {
        Asks::AnyoneHere => (
            &["managedFields", "namespace"],
            "must be empty except for namespace",
        ),
        _ => (&["managedFields"], "must be empty"),
    };
    let is_set = |(field, value): (&str, Field<'_, '_>)| !exempt.contains(&field) && value.exists();
    if metadata.entries().any(is_set) {
        metadata.invalid(&mut errors, detail);
    }
    if asks == Asks::AnyoneHere {
        let namespace = resource.get("namespace");
        if resource.exists() && namespace.text() != metadata.get("namespace").text() {
            namespace.invalid_as(&mut errors, namespace.text(), "must match metadata.namespace");
        }
        if path.exists() {
            path.invalid_as(&mut errors, shown, "disallowed on this kind of request");
        }
    }
    errors
}

/// A selector of a question: a text, or requirements. Operators that are not known pass, since newer clients may know them.
fn selector(
    errors: &mut Errors,
    selector: &Field<'_, '_>,
    check_requirement: impl Fn(&mut Errors, &Field<'_, '_>),
) {
    if !selector.exists() {
        return;
    }
    let (raw, requirements) = (selector.get("rawSelector"), selector.get("requirements"));
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => raw.invalid(errors, "may not specified at the same time as requirements"),
        (true, true) => {
            let detail = format!(
                "when {} is specified, requirements or rawSelector is required",
                selector.path()
            );
            requirements.required(errors, detail);
        }
        _ => {}
    }
    for requirement in requirements.items() {
        check_requirement(errors, &requirement);
    }
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
                "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"\"}: disallowed on this kind of request",
            ],
        );
        // Selectors.
        let asking = |field: &str, selector: Value| json!({"resourceAttributes": {field: selector}});
        let requirement = |key: &str, operator: &str, values: &[&str]| json!({"key": key, "operator": operator, "values": values});
        for (field, selector, expect) in [
            ("fieldSelector", json!({"rawSelector": "a=b"}), &[][..]),
            (
                "fieldSelector",
                json!({"requirements": [requirement("a", "In", &["b"])]}),
                &[],
            ),
            (
                "fieldSelector",
                json!({"requirements": [requirement("a", "Near", &[])]}),
                &[],
            ),
            (
                "fieldSelector",
                json!({}),
                &[
                    "fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or \
                     rawSelector is required",
                ],
            ),
            (
                "labelSelector",
                json!({"rawSelector": "a=b", "requirements": [requirement("a", "Exists", &["b"])]}),
                &[
                    "labelSelector.rawSelector: Invalid value: \"a=b\": may not specified at the same time as requirements",
                    "labelSelector.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ],
            ),
            (
                "fieldSelector",
                json!({"requirements": [requirement("", "NotIn", &[])]}),
                &[
                    "fieldSelector.requirements[0].key: Required value: must be specified",
                    "fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                ],
            ),
        ] {
            let expect: Vec<String> = expect
                .iter()
                .map(|text| format!("spec.resourceAttributes.{text}"))
                .collect();
            let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
            check(Asks::Oneself, none(), asking(field, selector), &expect);
        }
    }
}
