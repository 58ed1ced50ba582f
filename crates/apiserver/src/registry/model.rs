//! What objects of a resource look like: the table of kinds for built-in ones, a structural schema for custom ones.

use std::sync::Arc;

use kubewright_core::FieldError;
use kubewright_kinds::protobuf::MAX_ADDED_ZEROS;
use kubewright_kinds::{self as kinds, Zeros};
use serde_json::Value;

use super::normalize::{Dialect, Normalizer};
use super::path::{self, MAX_FINDINGS};
use crate::builtin;
use crate::custom::CustomModel;

/// Knowledge of the shape of objects.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    /// A type of the table of kinds.
    Builtin(&'static kinds::Type),
    /// The schema of one version of a custom resource definition.
    Custom(Arc<CustomModel>),
}

/// What bringing an object into shape found.
#[derive(Debug, Default)]
pub(crate) struct Normalized {
    /// Paths of fields that the kind does not have; all are dropped, the first [`MAX_FINDINGS`] are told of.
    pub(crate) unknown_fields: Vec<String>,
    /// The first value that cannot be decoded, in Go's words.
    pub(crate) type_error: Option<String>,
}

impl Model {
    /// Brings an object into the shape that Go's decoder and encoder would leave it in: unknown fields, nulls and zero values
    /// that are never written go, zero values that always are come; values of the wrong type are reported.
    pub(crate) fn normalize(&self, object: &mut Value) -> Normalized {
        self.normalize_as(object, Dialect::Json)
    }

    /// The same for an object that upstream does not decode from text, but from a tree.
    pub(crate) fn normalize_as(&self, object: &mut Value, dialect: Dialect) -> Normalized {
        let mut found = Normalized::default();
        match self {
            Self::Builtin(ty) => {
                let zeros = Zeros::new(MAX_ADDED_ZEROS);
                Normalizer::new(&mut found, zeros, dialect).run(ty, object);
            }
            Self::Custom(model) => match model.normalize(with_integers(object)) {
                Ok(mut unknown) => {
                    unknown.truncate(MAX_FINDINGS);
                    unknown.iter_mut().for_each(path::cut);
                    found.unknown_fields = unknown;
                }
                Err(error) => found.type_error = Some(malformed_metadata(error)),
            },
        }
        found
    }

    /// Sets the fields that have defaults and are absent.
    pub(crate) fn default(&self, group: &str, version: &str, kind: &str, object: &mut Value) {
        match self {
            Self::Builtin(_) => builtin::defaults::apply(group, version, kind, object),
            Self::Custom(model) => model.default(object),
        }
    }

    /// What is wrong with an object as far as a structural schema tells. `old` is the object that it replaces. Nothing of built-in
    /// kinds: upstream checks what they require by hand, kind by kind, and not always as their published schemas say.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match self {
            Self::Builtin(_) => Vec::new(),
            Self::Custom(model) => model.validate(object, old),
        }
    }

    /// The value of such a field.
    pub(crate) fn selectable_field(&self, object: &Value, field: &str) -> Option<String> {
        match self {
            Self::Builtin(_) => None,
            Self::Custom(model) => model.selectable_field(object, field),
        }
    }

    /// The knowledge of a custom resource.
    pub(crate) fn custom(&self) -> Option<&CustomModel> {
        match self {
            Self::Builtin(_) => None,
            Self::Custom(model) => Some(model),
        }
    }

    /// The type in the table of kinds, for a built-in kind: what strategic merge patch goes by.
    pub(crate) fn builtin_type(&self) -> Option<&'static kinds::Type> {
        match self {
            Self::Builtin(ty) => Some(ty),
            Self::Custom(_) => None,
        }
    }
}

/// What is wrong with the metadata of an object or of one within it, in Go's words; its own fault stands by itself.
fn malformed_metadata(mut error: FieldError) -> String {
    const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let ty = kinds::table().type_named(OBJECT_META);
    if let (Some(ty), Some(metadata)) = (ty, error.bad_value.clone())
        && error.path.as_str().ends_with("metadata")
    {
        let mut metadata = metadata;
        let mut found = Normalized::default();
        Normalizer::new(&mut found, Zeros::new(MAX_ADDED_ZEROS), Dialect::Json).run(ty, &mut metadata);
        if let Some(why) = found.type_error {
            if error.path.as_str() == "metadata" {
                return why;
            }
            error.detail = why;
        }
    }
    error.to_string()
}

fn with_integers(object: &mut Value) -> &mut Value {
    crate::json::make_integers(object);
    object
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::path::MAX_PATH_BYTES;
    use super::*;

    fn normalize(object: &mut Value) -> Normalized {
        Model::Builtin(kinds::table().kind("", "v1", "Pod").unwrap()).normalize(object)
    }

    #[test]
    fn findings_are_limited_in_number_and_length() {
        let unknown: Map<String, Value> = (0..5000).map(|i| (format!("unknown{i}"), json!(1))).collect();
        let mut pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [unknown]}});
        let found = normalize(&mut pod);
        assert_eq!(found.unknown_fields.len(), MAX_FINDINGS);
        assert_eq!(found.unknown_fields[0], "spec.containers[0].unknown0");
        assert_eq!(
            pod,
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "", "resources": {}}]}, "status": {}}),
            "all are dropped"
        );

        let mut pod = json!({"spec": {}});
        pod["spec"]["x".repeat(1 << 20)] = json!(1);
        let found = normalize(&mut pod);
        assert!(found.unknown_fields[0].len() < MAX_PATH_BYTES + 8);

        let mut pod = json!({"spec": {"containers": [{"name": 1}], "hostNetwork": 1}});
        let error = normalize(&mut pod).type_error.unwrap();
        assert_eq!(
            error,
            "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string"
        );
    }

    /// As the decoder of protobuf leaves them (see the tests of `kubewright_kinds::Zeros`).
    #[test]
    fn zeros_that_go_writes_are_added() {
        let mut pod = json!({
            "metadata": {"name": "a"},
            "spec": {"containers": [], "volumes": [], "readinessGates": [{}], "priority": null},
            "status": {"conditions": [{"type": "Ready", "lastProbeTime": null, "message": ""}]},
        });
        assert_eq!(normalize(&mut pod).type_error, None);
        let expect = json!({
            "metadata": {"name": "a"},
            "spec": {"containers": null, "readinessGates": [{"conditionType": ""}]},
            "status": {"conditions": [
                {"type": "Ready", "status": "", "lastProbeTime": null, "lastTransitionTime": null},
            ]},
        });
        assert_eq!(pod, expect);
        assert_eq!(normalize(&mut pod).type_error, None);
        assert_eq!(pod, expect, "and nothing else");

        let containers: Vec<Value> = (0..20_000).map(|_| json!({})).collect();
        let mut pod = json!({"spec": {"containers": containers}});
        assert_eq!(
            normalize(&mut pod).type_error.as_deref(),
            Some("too many fields are missing")
        );
    }
}
