//! What the server reads of a custom resource definition.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use kubewright_core::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::builtin::value::set_condition;
use crate::webhook::ClientConfig;

/// A definition as it is stored. Schemas stay text until they are compiled, since most changes of a definition are changes
/// of its status.
#[derive(Debug, Deserialize)]
pub(super) struct Definition {
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    #[serde(default)]
    pub(super) status: DefinitionStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) generation: i64,
    pub(super) deletion_timestamp: Option<String>,
    #[serde(default)]
    pub(super) finalizers: Vec<String>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) group: String,
    pub(super) names: Names,
    scope: String,
    #[serde(default)]
    pub(super) versions: Vec<Version>,
    #[serde(default)]
    pub(super) preserve_unknown_fields: bool,
    #[serde(default)]
    pub(super) conversion: Conversion,
}

/// How objects get from one version to another.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Conversion {
    pub(super) strategy: String,
    pub(super) webhook: Option<WebhookConversion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WebhookConversion {
    pub(super) client_config: ClientConfig,
    pub(super) conversion_review_versions: Vec<String>,
}

/// The names that a definition asks for, or has been given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Names {
    pub(super) plural: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) singular: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) short_names: Vec<String>,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) list_kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) categories: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    pub(super) name: String,
    #[serde(default)]
    pub(super) served: bool,
    #[serde(default)]
    pub(super) storage: bool,
    #[serde(default)]
    pub(super) deprecated: bool,
    pub(super) deprecation_warning: Option<String>,
    pub(super) schema: Option<Validation>,
    #[serde(default)]
    pub(super) subresources: Subresources,
    #[serde(default)]
    pub(super) additional_printer_columns: Value,
    #[serde(default)]
    pub(super) selectable_fields: Vec<SelectableField>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Validation {
    #[serde(rename = "openAPIV3Schema")]
    pub(super) schema: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Subresources {
    pub(super) status: Option<Value>,
    pub(super) scale: Option<Scale>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scale {
    pub(super) spec_replicas_path: String,
    pub(super) status_replicas_path: String,
    pub(super) label_selector_path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SelectableField {
    pub(super) json_path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DefinitionStatus {
    pub(super) accepted_names: Names,
    /// None as long as nobody has looked at it: a new one says `null`.
    conditions: Option<Vec<Condition>>,
}

/// A condition, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) message: String,
}

impl Definition {
    /// Reads a stored definition.
    ///
    /// # Errors
    /// When it is none: somebody else wrote into the store.
    pub(super) fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// Lets go of the text of the schemas, which can be large and is not needed once it is compiled.
    pub(super) fn drop_schemas(&mut self) {
        self.spec
            .versions
            .iter_mut()
            .for_each(|version| version.schema = None);
    }

    /// Whether its objects are in namespaces.
    pub(super) fn scope(&self) -> Scope {
        if self.spec.scope == "Namespaced" {
            Scope::Namespaced
        } else {
            Scope::Cluster
        }
    }

    /// The condition of a type.
    pub(super) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.kind == kind)
    }

    /// Whether the condition of a type is true.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.condition(kind)
            .is_some_and(|condition| condition.status == TRUE)
    }

    /// Whether it is being deleted.
    pub(super) fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some() || self.is(TERMINATING)
    }

    /// Whether its deletion waits for the server to delete its instances.
    pub(super) fn awaits_cleanup(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
            && self.metadata.finalizers.iter().any(|one| one == FINALIZER)
    }
}

impl Condition {
    /// A condition whose time is yet to be set.
    pub(super) fn new(kind: &str, status: &str, reason: &str, message: &str) -> Self {
        Self {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
        }
    }

    /// Takes the condition of a type out of the status of a stored definition.
    pub(super) fn remove_from(definition: &mut Value, kind: &str) {
        let conditions = definition
            .pointer_mut("/status/conditions")
            .and_then(Value::as_array_mut);
        if let Some(conditions) = conditions {
            conditions.retain(|condition| condition["type"] != kind);
        }
    }

    /// Sets the condition within the status of a stored definition. Its time changes with its status alone
    /// (apiextensions pkg/apihelpers `SetCRDCondition`).
    pub(super) fn set_in(&self, definition: &mut Value, now: &str) {
        let condition = serde_json::json!({
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
        });
        set_condition(definition, condition, now);
    }
}

/// Orders versions as discovery lists them, the most settled and latest first: `v2`, `v1`, `v2beta1`, `v1alpha1`, then names of
/// another form by the alphabet (apimachinery pkg/version `CompareKubeAwareVersionStrings`).
pub(super) fn by_priority(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stage (2 is released), major and minor.
fn parse_version(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let number = |text: &str| text.parse().ok().filter(|_| !text.starts_with(['0', '+']));
    for (stage, word) in [(1, "beta"), (0, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stage, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

/// The value of a condition that holds.
pub(super) const TRUE: &str = "True";
/// The value of one that does not.
pub(super) const FALSE: &str = "False";
/// The condition that the names are free.
pub(super) const NAMES_ACCEPTED: &str = "NamesAccepted";
/// The condition that the kind is served; once true, it stays.
pub(super) const ESTABLISHED: &str = "Established";
/// The condition that instances are being deleted.
pub(super) const TERMINATING: &str = "Terminating";
/// The condition that the schema is no structural one, which only definitions of old have.
pub(super) const NON_STRUCTURAL: &str = "NonStructuralSchema";
/// The condition that a group of the Kubernetes project was approved.
pub(super) const APPROVED: &str = "KubernetesAPIApprovalPolicyConformant";
/// Keeps a deleted definition until its instances are gone.
pub(super) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_ordered_by_priority() {
        let mut versions = [
            "v1alpha1",
            "foo",
            "v10",
            "v2",
            "v1beta2",
            "v11beta2",
            "bar",
            "v1",
            "v3beta1",
            "v0",
            "v1alpha01",
        ];
        versions.sort_by(|a, b| by_priority(a, b));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v3beta1",
                "v1beta2",
                "v1alpha1",
                "bar",
                "foo",
                "v0",
                "v1alpha01"
            ]
        );
    }

    #[test]
    fn conditions_keep_their_time_while_their_status_stays() {
        let mut definition = json!({});
        Condition::new(ESTABLISHED, FALSE, "Installing", "a").set_in(&mut definition, "t1");
        Condition::new(ESTABLISHED, FALSE, "NotAccepted", "b").set_in(&mut definition, "t2");
        let first = json!({"type": "Established", "status": "False", "reason": "NotAccepted", "message": "b", "lastTransitionTime": "t1"});
        assert_eq!(definition["status"]["conditions"], json!([first]));
        Condition::new(ESTABLISHED, TRUE, "InitialNamesAccepted", "c").set_in(&mut definition, "t3");
        Condition::new(TERMINATING, TRUE, "x", "y").set_in(&mut definition, "t4");
        assert_eq!(definition["status"]["conditions"][0]["lastTransitionTime"], "t3");
        assert_eq!(definition["status"]["conditions"][1]["lastTransitionTime"], "t4");
        // A status of another form is left alone.
        let mut odd = json!({"status": {"conditions": 1}});
        Condition::new(ESTABLISHED, TRUE, "", "").set_in(&mut odd, "t");
        assert_eq!(odd, json!({"status": {"conditions": 1}}));
    }
}
