//! Bringing an object of a built-in kind into the shape that Go's decoder and encoder would leave it in.
//!
//! Values of the wrong type are told of in the words of encoding/json, with Go's names of types (see [`kubewright_kinds::go`]): a
//! field's path names neither places in lists nor keys of maps, but the structs that others embed. Upstream's decoder goes on
//! after a value of the wrong type, but not after one that decodes itself (a time, a quantity), whose fault then comes first.

use kubewright_kinds::{self as kinds, Zeros, go};
use kubewright_smd::managed::is_time;
use serde_json::{Map, Value};

use super::decode::{self, Precision};
use super::model::Normalized;
use super::path::{MAX_FINDINGS, Path};
use crate::builtin::{self, value::is_zero};
use crate::codec::kind_of_json;

/// By which of upstream's decoders a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// encoding/json, from text.
    Json,
    /// `DefaultUnstructuredConverter`, from a tree: what a strategic merge patch comes to (apimachinery
    /// pkg/runtime/converter.go). It takes numbers that are too large, of which it keeps the lower bits.
    Unstructured,
}

/// Walks an object along its type.
pub(super) struct Normalizer<'a> {
    found: &'a mut Normalized,
    /// As many as are allowed from the beginning, and one for each value that is there.
    zeros: Zeros,
    /// The fields that lead to where we are.
    stack: Vec<(&'static kinds::Type, &'static kinds::Field)>,
    /// How many lists and maps there are between the last field and where we are.
    inside: usize,
    /// The fault of the first value that decodes itself.
    fatal: Option<String>,
    dialect: Dialect,
}

impl<'a> Normalizer<'a> {
    pub(super) fn new(found: &'a mut Normalized, zeros: Zeros, dialect: Dialect) -> Self {
        Self {
            found,
            zeros,
            stack: Vec::new(),
            inside: 0,
            fatal: None,
            dialect,
        }
    }

    /// Normalizes an object of the type.
    pub(super) fn run(mut self, ty: &'static kinds::Type, object: &mut Value) {
        if !object.is_object() && ty.special.is_none() {
            let found = kind_of_json(object);
            let wanted = go::name_of(ty);
            return self.fault(format!(
                "json: cannot unmarshal {found} into Go value of type {wanted}"
            ));
        }
        self.object(ty, object, Path::Root);
        if self.fatal.is_some() {
            self.found.type_error = self.fatal;
        }
    }

    fn object(&mut self, ty: &'static kinds::Type, value: &mut Value, path: Path<'_>) {
        if let Some(special) = &ty.special {
            return self.value(special, value, path);
        }
        let Value::Object(fields) = value else {
            return self.mistyped(value);
        };
        let mut dropped = Vec::new();
        let mut from = 0;
        for (name, value) in fields.iter_mut() {
            let path = Path::Field(&path, name);
            // Where members do not come in the order of their names, as with a feature of `serde_json`, the search begins anew.
            let Some(field) = ty.field_from(&mut from, name).or_else(|| ty.field(name)) else {
                self.unknown(path);
                dropped.push(name.clone());
                continue;
            };
            if !value.is_null() {
                let inside = std::mem::take(&mut self.inside);
                self.stack.push((ty, field));
                self.value(&field.value, value, path);
                self.stack.pop();
                self.inside = inside;
            }
            if value.is_null() || is_never_written(field, value) && !is_told_from_none(ty, field) {
                dropped.push(name.clone());
            }
        }
        for name in dropped {
            fields.remove(&name);
        }
        if let Err(error) = self.zeros.fill(ty, fields) {
            self.found.type_error.get_or_insert_with(|| error.to_string());
        }
    }

    fn unknown(&mut self, path: Path<'_>) {
        if self.found.unknown_fields.len() < MAX_FINDINGS {
            self.found.unknown_fields.push(path.render());
        }
    }

    fn value(&mut self, kind: &'static kinds::Value, value: &mut Value, path: Path<'_>) {
        use kinds::Value as Kind;
        self.zeros.allow(1);
        if self.dialect == Dialect::Unstructured {
            converted(kind, value);
        }
        let fits = match kind {
            Kind::String => value.is_string(),
            Kind::Boolean => value.is_boolean(),
            Kind::Int32 => is_int32(value),
            Kind::Int64 => value.is_i64(),
            Kind::Double => value.is_number(),
            Kind::Bytes => match value.as_str().map(decode::bytes) {
                Some(Ok(text)) => return *value = Value::String(text),
                Some(Err(why)) if self.dialect == Dialect::Unstructured => {
                    return self.fault(format!("error decoding from json: {why}"));
                }
                Some(Err(why)) => return self.fault(why),
                None => false,
            },
            // Nearly every time that comes is one that was sent.
            Kind::Time if value.as_str().is_some_and(is_time) => return,
            Kind::Time | Kind::MicroTime => {
                let precision = match kind {
                    Kind::Time => Precision::Seconds,
                    _ => Precision::Microseconds,
                };
                match value.as_str().map(|text| decode::time(text, precision)) {
                    Some(Ok(text)) => return *value = Value::String(text),
                    Some(Err(why)) => return self.end_with(why),
                    None => return self.end_with(self.mistyping(value)),
                }
            }
            Kind::IntOrString if value.is_string() || is_int32(value) => true,
            Kind::IntOrString => return self.end_with(self.mistyping(value)),
            Kind::Quantity => match decode::quantity(value) {
                Some(text) => return *value = Value::String(text),
                None => return self.end_with(decode::NO_QUANTITY.to_owned()),
            },
            Kind::Object(id) => return self.object(id.get(), value, path),
            Kind::Array(item) => match value {
                Value::Array(items) => return self.items(item, items, path),
                _ => false,
            },
            Kind::Map(item) => match value {
                Value::Object(entries) => return self.entries(item, entries, path),
                _ => false,
            },
            Kind::Json => {
                crate::json::make_integers(value);
                true
            }
            Kind::SchemaOrBool if !value.is_object() && !value.is_boolean() => {
                return self.end_with("boolean or JSON schema expected".to_owned());
            }
            Kind::SchemaOrBool | Kind::SchemaOrArray | Kind::SchemaOrStringArray => {
                return self.schemas(value);
            }
            _ => true,
        };
        if !fits {
            self.mistyped(value);
        }
    }

    /// Schemas where something else may stand instead: they decode themselves, and nobody is told of what they have besides
    /// (apiextensions `pkg/apis/apiextensions/v1/marshal.go`).
    fn schemas(&mut self, value: &mut Value) {
        const PROPS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
        let Some(ty) = kinds::table().type_named(PROPS) else {
            return;
        };
        let schemas = match value {
            Value::Array(schemas) => schemas.as_mut_slice(),
            schema => std::slice::from_mut(schema),
        };
        for schema in schemas.iter_mut().filter(|schema| schema.is_object()) {
            let mut found = Normalized::default();
            let zeros = std::mem::replace(&mut self.zeros, Zeros::new(0));
            let mut within = Normalizer::new(&mut found, zeros, self.dialect);
            within.object(ty, schema, Path::Root);
            let fatal = within.fatal.take();
            self.zeros = within.zeros;
            if let Some(why) = fatal.or(found.type_error) {
                self.end_with(why);
            }
        }
    }

    fn items(&mut self, kind: &'static kinds::Value, items: &mut [Value], path: Path<'_>) {
        self.inside += 1;
        for (i, value) in items.iter_mut().enumerate() {
            if value.is_null() {
                *value = zero(kind);
            }
            if !value.is_null() {
                self.value(kind, value, Path::Index(&path, i));
            }
        }
        self.inside -= 1;
    }

    fn entries(&mut self, kind: &'static kinds::Value, entries: &mut Map<String, Value>, path: Path<'_>) {
        self.inside += 1;
        for (key, value) in entries.iter_mut() {
            if value.is_null() {
                *value = zero(kind);
            }
            if !value.is_null() {
                self.value(kind, value, Path::Field(&path, key));
            }
        }
        self.inside -= 1;
    }

    fn mistyped(&mut self, value: &Value) {
        if self.found.type_error.is_none() {
            self.found.type_error = Some(self.mistyping(value));
        }
    }

    fn fault(&mut self, why: String) {
        self.found.type_error.get_or_insert(why);
    }

    fn end_with(&mut self, why: String) {
        self.fatal.get_or_insert(why);
    }

    /// Go's word on a value of the wrong type where we are.
    fn mistyping(&self, value: &Value) -> String {
        let found = kind_of_json(value);
        let Some((owner, field)) = self.stack.last() else {
            return format!("json: cannot unmarshal {found} into Go value");
        };
        let (mut expected, mut kind) = (go::type_of_field(owner, field), &field.value);
        for _ in 0..self.inside {
            let (kinds::Value::Array(item) | kinds::Value::Map(item)) = kind else {
                break;
            };
            (expected, kind) = (go::type_of_item(&expected, item), item);
        }
        if self.dialect == Dialect::Unstructured {
            return decode::inconvertible(value, kind, &expected);
        }
        let found = match value {
            Value::Number(number) if expected.starts_with("int") => format!("number {number}"),
            _ => found.to_owned(),
        };
        let owner = owner.name.rsplit('.').next().unwrap_or_default();
        let mut path = String::new();
        for (ty, field) in &self.stack {
            for name in go::embedded(ty, field.name).into_iter().chain([field.name]) {
                path.push('.');
                path.push_str(name);
            }
        }
        format!("json: cannot unmarshal {found} into Go struct field {owner}{path} of type {expected}")
    }
}

/// Numbers as the converter of trees takes them.
fn converted(kind: &kinds::Value, value: &mut Value) {
    let Value::Number(number) = value else { return };
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        Some(float as i64)
    });
    match (kind, whole) {
        (kinds::Value::Int32, Some(whole)) => *value = (whole as i32).into(),
        (kinds::Value::Int64, Some(whole)) => *value = whole.into(),
        _ => {}
    }
}

fn is_int32(value: &Value) -> bool {
    value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

/// Whether an empty list of this field is another thing than none, to defaults and validation; none of it is stored.
fn is_told_from_none(ty: &kinds::Type, field: &kinds::Field) -> bool {
    builtin::defaults::EMPTY_IS_NOT_NONE.contains(&(ty.name, field.name))
}

/// Whether Go would leave the field out or write `null`: a zero value of a plain type, or an empty list or map.
fn is_never_written(field: &kinds::Field, value: &Value) -> bool {
    match field.presence {
        // What is stored does not tell an empty one from none.
        kinds::Presence::Always => match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty() && matches!(field.value, kinds::Value::Map(_)),
            _ => false,
        },
        kinds::Presence::OmitZero => is_zero(value),
        kinds::Presence::Optional => match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty() && matches!(field.value, kinds::Value::Map(_)),
            _ => false,
        },
    }
}

fn zero(kind: &kinds::Value) -> Value {
    use kinds::Value as Kind;
    match kind {
        Kind::String | Kind::Bytes => Value::String(String::new()),
        Kind::Boolean => Value::Bool(false),
        Kind::Int32 | Kind::Int64 | Kind::Double | Kind::IntOrString => 0.into(),
        Kind::Quantity => "0".into(),
        Kind::Array(_) => Value::Array(Vec::new()),
        Kind::Object(_) | Kind::Map(_) => Value::Object(Map::new()),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::model::Model;
    use super::*;

    /// The words of the converter of trees.
    #[test]
    fn trees_of_the_wrong_type() {
        for (pod, expect) in [
            (json!({"spec": 5}), "cannot restore struct from: int64"),
            (
                json!({"spec": {"containers": 5}}),
                "cannot restore slice from int64",
            ),
            (json!({"spec": {"hostNetwork": "x"}}), "unrecognized type: bool"),
            (
                json!({"spec": {"restartPolicy": 5}}),
                "cannot convert int64 to v1.RestartPolicy",
            ),
            (
                json!({"metadata": {"creationTimestamp": 5}}),
                "json: cannot unmarshal number into Go value of type string",
            ),
            (
                json!({"spec": {"activeDeadlineSeconds": 1.5}}),
                "cannot convert float64 to int64",
            ),
            (
                json!({"spec": {"activeDeadlineSeconds": []}}),
                "unrecognized type: int64",
            ),
            (
                json!({"spec": {"nodeSelector": [1]}}),
                "cannot restore map from slice",
            ),
            (
                json!({"metadata": {"labels": {"a": true}}}),
                "unrecognized type: string",
            ),
            (
                json!({"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": 1.5}}}]}}),
                "json: cannot unmarshal number 1.5 into Go value of type int32",
            ),
        ] {
            let mut value = pod.clone();
            let ty = kinds::table().kind("", "v1", "Pod").unwrap();
            let found = Model::Builtin(ty).normalize_as(&mut value, Dialect::Unstructured);
            assert_eq!(found.type_error.as_deref(), Some(expect), "{pod}");
        }
        let mut pod = json!({"spec": {"priority": 99_999_999_999_i64, "activeDeadlineSeconds": 1.0}});
        let ty = kinds::table().kind("", "v1", "Pod").unwrap();
        let found = Model::Builtin(ty).normalize_as(&mut pod, Dialect::Unstructured);
        assert_eq!(found.type_error, None);
        assert_eq!(pod["spec"]["priority"], 1_215_752_191);
        assert_eq!(pod["spec"]["activeDeadlineSeconds"], 1);
    }

    /// Go's words, as a kube-apiserver 1.37 answers.
    #[test]
    fn values_of_the_wrong_type() {
        #[track_caller]
        fn check(pod: Value, expect: &str) {
            let mut pod = pod;
            let ty = kinds::table().kind("", "v1", "Pod").unwrap();
            let found = Model::Builtin(ty).normalize(&mut pod);
            assert_eq!(found.type_error.as_deref(), Some(expect), "{pod}");
        }
        fn mistyped(pod: Value, expect: &str) {
            check(pod, &format!("json: cannot unmarshal {expect}"));
        }
        let container = |container: Value| json!({"spec": {"containers": [container]}});
        let regexp = decode::NO_QUANTITY;
        for (metadata, expect) in [
            (
                json!(5),
                "number into Go struct field Pod.metadata of type v1.ObjectMeta",
            ),
            (
                json!({"name": 5}),
                "number into Go struct field ObjectMeta.metadata.name of type string",
            ),
            (
                json!({"labels": []}),
                "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                json!({"labels": {"a": 5}}),
                "number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"creationTimestamp": {}}),
                "object into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            ),
            (
                json!({"ownerReferences": [5]}),
                "number into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference",
            ),
            (
                json!({"generation": 1.5}),
                "number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
            ),
            (
                json!({"uid": 7}),
                "number into Go struct field ObjectMeta.metadata.uid of type types.UID",
            ),
        ] {
            mistyped(json!({"metadata": metadata}), expect);
        }
        for (spec, expect) in [
            (
                json!([]),
                "array into Go struct field Pod.spec of type v1.PodSpec",
            ),
            (
                json!({"containers": ["x"]}),
                "string into Go struct field PodSpec.spec.containers of type v1.Container",
            ),
            (
                json!({"volumes": [{"hostPath": "x"}]}),
                "string into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource",
            ),
            (
                json!({"volumes": [{"hostPath": {"type": 5}}]}),
                "number into Go struct field HostPathVolumeSource.spec.volumes.VolumeSource.hostPath.type of type v1.HostPathType",
            ),
            (
                json!({"hostNetwork": "true"}),
                "string into Go struct field PodSpec.spec.hostNetwork of type bool",
            ),
        ] {
            mistyped(json!({"spec": spec}), expect);
        }
        for (fields, expect) in [
            (
                json!({"ports": [{"containerPort": 4_294_967_296_i64}]}),
                "number 4294967296 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
            ),
            (
                json!({"ports": [{"protocol": 7}]}),
                "number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol",
            ),
            (
                json!({"resources": {"limits": "x"}}),
                "string into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
            ),
            (
                json!({"livenessProbe": {"httpGet": {"port": 1.5}}}),
                "number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port \
                 of type int32",
            ),
            (
                json!({"command": [1]}),
                "number into Go struct field Container.spec.containers.command of type string",
            ),
        ] {
            mistyped(container(fields), expect);
        }
        check(container(json!({"resources": {"limits": {"cpu": true}}})), regexp);
        // What decodes itself ends all.
        check(
            json!({"metadata": {"name": 1}, "spec": {"volumes": [{"emptyDir": {"sizeLimit": "x"}}]}}),
            regexp,
        );
    }
}
