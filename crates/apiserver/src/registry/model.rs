//! What objects of a resource look like: the table of kinds for built-in ones, a structural schema for custom ones.

use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use kubewright_core::FieldError;
use kubewright_kinds::protobuf::MAX_ADDED_ZEROS;
use kubewright_kinds::{self as kinds, Zeros};
use kubewright_smd::managed::is_time;
use serde_json::{Map, Value};

use super::path::{self, MAX_FINDINGS, Path};
use super::shape;
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
        let mut found = Normalized::default();
        match self {
            Self::Builtin(ty) => {
                let zeros = Zeros::new(MAX_ADDED_ZEROS);
                let found = &mut found;
                Normalizer { found, zeros }.object(ty, object, Path::Root, ty);
            }
            Self::Custom(model) => match model.normalize(with_integers(object)) {
                Ok(mut unknown) => {
                    unknown.truncate(MAX_FINDINGS);
                    unknown.iter_mut().for_each(path::cut);
                    found.unknown_fields = unknown;
                }
                Err(error) => found.type_error = Some(error.to_string()),
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

    /// What is wrong with an object as far as its shape tells: required fields, enumerations, and all that a structural
    /// schema says. `old` is the object that it replaces.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match self {
            Self::Builtin(ty) => shape::check(ty, object),
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

fn with_integers(object: &mut Value) -> &mut Value {
    crate::json::make_integers(object);
    object
}

struct Normalizer<'a> {
    found: &'a mut Normalized,
    /// As many as [`MAX_ADDED_ZEROS`], and one for each value that is there.
    zeros: Zeros,
}

impl Normalizer<'_> {
    /// `owner` names the Go struct in messages.
    fn object(&mut self, ty: &'static kinds::Type, value: &mut Value, path: Path<'_>, owner: &kinds::Type) {
        if let Some(special) = &ty.special {
            return self.value(special, value, path, owner);
        }
        let Value::Object(fields) = value else {
            return self.mistyped(value, path, owner, ty.name);
        };
        let mut dropped = Vec::new();
        for (name, value) in fields.iter_mut() {
            let path = Path::Field(&path, name);
            let Some(field) = ty.field(name) else {
                self.unknown(path);
                dropped.push(name.clone());
                continue;
            };
            if !value.is_null() {
                self.value(&field.value, value, path, ty);
            }
            if value.is_null() || is_never_written(field, value) {
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

    fn value(&mut self, kind: &'static kinds::Value, value: &mut Value, path: Path<'_>, owner: &kinds::Type) {
        use kinds::Value as Kind;
        self.zeros.allow(1);
        let (fits, go_type) = match kind {
            Kind::String => (value.is_string(), "string"),
            Kind::Boolean => (value.is_boolean(), "bool"),
            Kind::Int32 => (value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()), "int32"),
            Kind::Int64 => (value.is_i64(), "int64"),
            Kind::Double => (value.is_number(), "float64"),
            Kind::Bytes if value.is_string() => return self.text(value, canonical_bytes),
            Kind::Bytes => (false, "[]uint8"),
            // Nearly every time that comes is one that was sent.
            Kind::Time if value.as_str().is_some_and(is_time) => return,
            Kind::Time if value.is_string() => {
                return self.text(value, |text| canonical_time(text, Precision::Seconds));
            }
            Kind::Time => (false, "time.Time"),
            Kind::MicroTime if value.as_str().is_some_and(is_micro_time) => return,
            Kind::MicroTime if value.is_string() => {
                return self.text(value, |text| canonical_time(text, Precision::Microseconds));
            }
            Kind::MicroTime => (false, "v1.MicroTime"),
            Kind::IntOrString => (value.is_string() || value.is_i64(), "intstr.IntOrString"),
            Kind::Quantity => (self.quantity(value), "resource.Quantity"),
            Kind::Object(id) => return self.object(id.get(), value, path, owner),
            Kind::Array(item) => {
                let Value::Array(items) = value else {
                    return self.mistyped(value, path, owner, "[]");
                };
                for (i, value) in items.iter_mut().enumerate() {
                    if value.is_null() {
                        *value = zero(item);
                    }
                    if !value.is_null() {
                        self.value(item, value, Path::Index(&path, i), owner);
                    }
                }
                return;
            }
            Kind::Map(item) => {
                let Value::Object(entries) = value else {
                    return self.mistyped(value, path, owner, "map[string]");
                };
                for (key, value) in entries.iter_mut() {
                    if value.is_null() {
                        *value = zero(item);
                    }
                    if !value.is_null() {
                        self.value(item, value, Path::Field(&path, key), owner);
                    }
                }
                return;
            }
            _ => (true, ""),
        };
        if !fits {
            self.mistyped(value, path, owner, go_type);
        }
    }

    /// Quantities may be written as numbers and are kept as text in canonical form.
    fn quantity(&self, value: &mut Value) -> bool {
        let text = match &*value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return false,
        };
        match text.parse::<kubewright_core::Quantity>() {
            Ok(quantity) => {
                *value = Value::String(quantity.to_string());
                true
            }
            Err(_) => false,
        }
    }

    /// Text with a form of its own, brought into the one form in which Go writes it.
    fn text(&mut self, value: &mut Value, canonical: impl FnOnce(&str) -> Result<String, String>) {
        match canonical(value.as_str().unwrap_or_default()) {
            Ok(text) => *value = Value::String(text),
            Err(why) => {
                self.found.type_error.get_or_insert(why);
            }
        }
    }

    fn mistyped(&mut self, value: &Value, path: Path<'_>, owner: &kinds::Type, go_type: &str) {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(number) => return self.bad_number(&number.to_string(), path, owner, go_type),
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.report(found, path, owner, go_type);
    }

    fn bad_number(&mut self, text: &str, path: Path<'_>, owner: &kinds::Type, go_type: &str) {
        let found = if go_type.contains("int") {
            format!("number {text}")
        } else {
            "number".to_owned()
        };
        self.report(&found, path, owner, go_type);
    }

    fn report(&mut self, found: &str, path: Path<'_>, owner: &kinds::Type, go_type: &str) {
        if self.found.type_error.is_some() {
            return;
        }
        let short = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let go_type = if go_type.starts_with("io.k8s.") {
            format!("v1.{}", short(go_type))
        } else {
            go_type.to_owned()
        };
        self.found.type_error = Some(format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {go_type}",
            short(owner.name),
            path.render()
        ));
    }
}

/// How much of a time is kept.
#[derive(Clone, Copy, Debug)]
enum Precision {
    Seconds,
    Microseconds,
}

/// Whether a text is such a time with six digits behind the seconds.
fn is_micro_time(text: &str) -> bool {
    let parts = text.split_once('.');
    parts.is_some_and(|(seconds, fraction)| {
        let digits = fraction.strip_suffix('Z').map(str::as_bytes).unwrap_or_default();
        digits.len() == 6 && digits.iter().all(u8::is_ascii_digit) && is_time(&[seconds, "Z"].concat())
    })
}

/// As apimachinery pkg/apis/meta/v1/time.go and micro_time.go read and write them: RFC 3339, kept in UTC.
fn canonical_time(text: &str, precision: Precision) -> Result<String, String> {
    let (layout, format) = match precision {
        Precision::Seconds => ("2006-01-02T15:04:05Z07:00", "%Y-%m-%dT%H:%M:%SZ"),
        Precision::Microseconds => ("2006-01-02T15:04:05.000000Z07:00", "%Y-%m-%dT%H:%M:%S%.6fZ"),
    };
    // Other notations that a lenient reader takes are none to Go.
    let bytes = text.as_bytes();
    let zone = bytes
        .len()
        .checked_sub(6)
        .and_then(|start| bytes.get(start..))
        .unwrap_or_default();
    let has_zone = bytes.last() == Some(&b'Z') || matches!(zone, [b'+' | b'-', _, _, b':', _, _]);
    let time = Some(text).filter(|_| bytes.len() >= RFC3339_LEN && bytes[10] == b'T' && has_zone);
    match time.and_then(|text| text.parse::<jiff::Timestamp>().ok()) {
        Some(time) => Ok(time.strftime(format).to_string()),
        None => Err(format!("parsing time {text:?} as {layout:?}: cannot parse it")),
    }
}

/// The length of `2006-01-02T15:04:05Z`, the shortest there is.
const RFC3339_LEN: usize = 20;

/// As Go's encoding/json reads bytes: base64 with padding, in which line breaks are passed over.
fn canonical_bytes(text: &str) -> Result<String, String> {
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    // Go takes whatever bits are left over at the end, and writes none.
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    match GeneralPurpose::new(&alphabet::STANDARD, config).decode(&joined) {
        Ok(bytes) => Ok(STANDARD.encode(bytes)),
        Err(error) => Err(format!("illegal base64 data: {error}")),
    }
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

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
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

        let mut pod = json!({"spec": {"hostNetwork": 1, "containers": [{"name": 1}]}});
        let error = normalize(&mut pod).type_error.unwrap();
        assert_eq!(
            error,
            "json: cannot unmarshal number into Go struct field Container.spec.containers[0].name of type string"
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
