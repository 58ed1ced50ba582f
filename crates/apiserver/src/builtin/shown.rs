//! Values in messages as upstream shows them: its internal types, as Go's encoder writes them.
//!
//! Validation here works on the object as the client knows it, and so do its errors. What their paths lead to tells which type a
//! value has, and with that what upstream shows (see [`kubewright_kinds::go`]).

use kubewright_core::FieldError;
use kubewright_kinds::go::Internal;
use kubewright_kinds::{Type, Value as Kind, table};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// The error of a field of an object of this type, with the value as upstream shows it.
pub(crate) fn error(ty: &'static Type, error: &FieldError) -> FieldError {
    let mut error = error.clone();
    let Some(value @ (Value::Object(_) | Value::Array(_))) = &error.bad_value else {
        return error;
    };
    let path = match (ty.name, error.path.as_str()) {
        // Upstream is wrong about the place.
        ("io.k8s.api.core.v1.Node", path) => path.replace("metadata.taints", "spec.taints"),
        (_, path) => path.to_owned(),
    };
    if let Some(kind) = kind_at(ty, &path, value) {
        let shown = escaped(serde_json::to_string(&Internal::new(&kind, value)).unwrap_or_default());
        error.detail = match error.detail.is_empty() {
            true => shown,
            false => format!("{shown}: {}", error.detail),
        };
        error.bad_value = None;
    }
    error
}

/// The kind of the value at a path, or of what it is in, where that is what fits.
fn kind_at(ty: &'static Type, path: &str, value: &Value) -> Option<Kind> {
    let fits = |kind: &Kind| {
        matches!(
            (kind, value),
            (Kind::Object(_) | Kind::Map(_), Value::Object(_)) | (Kind::Array(_), Value::Array(_))
        )
    };
    let mut found = None;
    let mut kind = Kind::Object(ty.id());
    for step in steps(path) {
        found = Some(kind).filter(fits);
        kind = match (step, kind) {
            (Step::Field(name), Kind::Object(id)) => id.get().field(name)?.value,
            (Step::Inside, Kind::Array(item) | Kind::Map(item)) => *item,
            _ => return None,
        };
    }
    match kind {
        // What has no type is shown as it is.
        Kind::RawExtension | Kind::Json | Kind::FieldsV1 => None,
        kind => Some(kind).filter(fits).or(found),
    }
}

enum Step<'a> {
    Field(&'a str),
    /// An element of a list or an entry of a map.
    Inside,
}

/// The steps of a path such as `spec.containers[0].resources.limits[example.com/gpu]`.
fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    let mut rest = path;
    std::iter::from_fn(move || {
        if let Some(inside) = rest.strip_prefix('[') {
            rest = inside.split_once(']')?.1;
            return Some(Step::Inside);
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after;
        (!name.is_empty()).then_some(Step::Field(name))
    })
}

/// A value as indented JSON, of an internal type where `ty` is the name of one.
pub(crate) fn indented(ty: &str, value: &Value) -> String {
    match table().type_named(ty) {
        Some(ty) => pretty(&Internal::new(&Kind::Object(ty.id()), value)),
        None => pretty(value),
    }
}

/// The same for a struct that others embed: those fields of `ty` alone.
pub(crate) fn indented_part(ty: &str, part: &'static str, value: &Value) -> String {
    match table().type_named(ty) {
        Some(ty) => pretty(&Internal::part(&Kind::Object(ty.id()), part, value)),
        None => pretty(value),
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    // Writing into memory cannot fail.
    let _ = value.serialize(&mut serializer);
    escaped(String::from_utf8_lossy(&bytes).into_owned())
}

/// Go's encoder keeps texts safe within HTML; these characters stand in texts alone.
fn escaped(json: String) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use kubewright_core::FieldPath;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_by_the_path_that_leads_to_them() {
        #[track_caller]
        fn check(kind: (&str, &str, &str), path: &str, value: Value, expect: &str) {
            let ty = table().kind(kind.0, kind.1, kind.2).unwrap();
            let shown = error(ty, &FieldError::invalid(FieldPath::new(path), value, "d"));
            assert_eq!(shown.body(), format!("Invalid value: {expect}: d"), "{path}");
        }
        check(
            ("", "v1", "Node"),
            "metadata.taints[1]",
            json!({"key": "a<b", "effect": "NoSchedule"}),
            r#"{"Key":"a\u003cb","Value":"","Effect":"NoSchedule","TimeAdded":null}"#,
        );
        check(
            ("networking.k8s.io", "v1", "ServiceCIDR"),
            "spec.cidrs",
            json!({"cidrs": ["x"]}),
            r#"{"CIDRs":["x"]}"#,
        );
        check(
            ("apps", "v1", "StatefulSet"),
            "spec.updateStrategy.rollingUpdate",
            json!({}),
            r#"{"Partition":0,"MaxUnavailable":null}"#,
        );
        check(
            ("apps", "v1", "ControllerRevision"),
            "data",
            json!({"a": 2}),
            r#"{"a":2}"#,
        );
        check(
            ("", "v1", "ConfigMap"),
            "metadata.ownerReferences",
            json!([{"kind": "Pod", "apiVersion": "v1", "uid": "u", "name": "p", "controller": true}]),
            r#"[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true}]"#,
        );
        check(
            ("", "v1", "ConfigMap"),
            "data[a.b]",
            json!({"x": 1}),
            r#"{"x":1}"#,
        );
        check(("", "v1", "Pod"), "spec.nodeName", json!("x"), r#""x""#);
    }
}
