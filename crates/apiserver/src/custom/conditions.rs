//! What a definition's status says besides its names: whether its schema is structural, and whether its group was approved.
//!
//! Upstream: apiextensions `pkg/controller/nonstructuralschema` and `pkg/controller/apiapproval`.

use kubewright_core::{FieldError, FieldPath};
use kubewright_schema::check;
use serde_json::Value;

use super::definition::{APPROVED, Condition, Definition, FALSE, NON_STRUCTURAL, TRUE};
use crate::builtin::validation::objects::{APPROVAL_ANNOTATION, Approval};

/// `KubernetesAPIApprovalPolicyConformant`, for groups of the Kubernetes project.
pub(super) fn approval(definition: &Definition) -> Option<Condition> {
    let annotation = definition.metadata.annotations.get(APPROVAL_ANNOTATION);
    let approval = Approval::stated(&definition.spec.group, annotation.map_or("", String::as_str));
    let (status, reason) = match approval {
        Approval::NotNeeded => return None,
        Approval::Approved(_) => (TRUE, "ApprovedAnnotation"),
        Approval::Bypassed(_) => (FALSE, "UnapprovedAnnotation"),
        Approval::Missing => (FALSE, "MissingAnnotation"),
        Approval::Invalid(_) => (FALSE, "InvalidAnnotation"),
    };
    Some(Condition::new(APPROVED, status, reason, &approval.words()))
}

/// `NonStructuralSchema`, for definitions that preserve unknown fields as a whole: validation lets no other be without structure, and
/// no new one be like that. The schemas have to be there still.
pub(super) fn structure(definition: &Definition) -> Option<Condition> {
    if !definition.spec.preserve_unknown_fields {
        return None;
    }
    let path = FieldPath::new("spec").child("preserveUnknownFields");
    let mut errors = vec![FieldError::invalid(path, true, "must be false")];
    for (index, version) in definition.spec.versions.iter().enumerate() {
        let schema = version
            .schema
            .as_ref()
            .and_then(|schema| schema.schema.as_deref());
        let schema = schema.and_then(|text| serde_json::from_str::<Value>(text.get()).ok());
        let path = FieldPath::new("spec").child("versions").index(index);
        let path = path.child("schema").child("openAPIV3Schema");
        errors.extend(schema.iter().flat_map(|schema| check(schema, &path)));
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let message = match errors.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Some(Condition::new(NON_STRUCTURAL, TRUE, "Violations", &message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(group: &str, annotation: Option<&str>, preserve: bool) -> Definition {
        let annotations = annotation.map(|text| json!({APPROVAL_ANNOTATION: text}));
        let text = json!({
            "metadata": {"name": "x", "annotations": annotations.unwrap_or_else(|| json!({}))},
            "spec": {
                "group": group, "scope": "Cluster", "names": {}, "preserveUnknownFields": preserve,
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"a": {}}}}}],
            },
        });
        Definition::parse(text.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn groups_of_the_project() {
        for (group, annotation, expect) in [
            ("e.com", None, None),
            (
                "x.k8s.io",
                None,
                Some((
                    "False",
                    "MissingAnnotation",
                    "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
                )),
            ),
            (
                "x.k8s.io",
                Some("https://x.com/1"),
                Some(("True", "ApprovedAnnotation", "approved in https://x.com/1")),
            ),
            (
                "kubernetes.io",
                Some("unapproved, for now"),
                Some((
                    "False",
                    "UnapprovedAnnotation",
                    "not approved: \"unapproved, for now\"",
                )),
            ),
            (
                "x.k8s.io",
                Some("yes"),
                Some((
                    "False",
                    "InvalidAnnotation",
                    "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111",
                )),
            ),
        ] {
            let found = approval(&definition(group, annotation, false));
            let expect =
                expect.map(|(status, reason, message)| Condition::new(APPROVED, status, reason, message));
            assert_eq!(found, expect, "{group} {annotation:?}");
        }
    }

    #[test]
    fn definitions_without_structure() {
        assert_eq!(structure(&definition("e.com", None, false)), None);
        let found = structure(&definition("e.com", None, true)).unwrap();
        assert_eq!(
            (found.status.as_str(), found.reason.as_str()),
            ("True", "Violations")
        );
        assert_eq!(
            found.message,
            "[spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields, spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
        );
    }
}
