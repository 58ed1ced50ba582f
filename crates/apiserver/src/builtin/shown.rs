//! Values in messages as upstream shows them: its internal types, as Go's encoder writes them.
//!
//! Validation here works on the object as the client knows it, and so do its errors. What their paths lead to tells which type a
//! value has, and with that what upstream shows (see [`kubewright_kinds::go`]).

use kubewright_core::{FieldError, go_json_indented, go_json_indented_of, go_json_of};
use kubewright_kinds::go::Internal;
use kubewright_kinds::{Type, Value as Kind, table};
use serde_json::Value;

const DEFINITION: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";

/// The error of a field of an object of this type, with the value as upstream shows it.
pub(crate) fn error(ty: &'static Type, error: &FieldError) -> FieldError {
    let mut error = error.clone();
    let Some(value @ (Value::Object(_) | Value::Array(_))) = &error.bad_value else {
        return error;
    };
    let path = match (ty.name, error.path.as_str()) {
        // Upstream is wrong about the place.
        ("io.k8s.api.core.v1.Node", path) => path.replace("metadata.taints", "spec.taints"),
        // What all versions have alike is told of where the internal type has it.
        (DEFINITION, path) => path.replace("spec.validation.", "spec.versions[0].schema."),
        (_, path) => path.to_owned(),
    };
    if let Some(kind) = kind_at(ty, &path, value) {
        let shown = go_json_of(&Internal::new(&kind, value));
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
        Some(ty) => go_json_indented_of(&Internal::new(&Kind::Object(ty.id()), value)),
        None => go_json_indented(value),
    }
}

/// The same for a struct that others embed: those fields of `ty` alone.
pub(crate) fn indented_part(ty: &str, part: &'static str, value: &Value) -> String {
    match table().type_named(ty) {
        Some(ty) => go_json_indented_of(&Internal::part(&Kind::Object(ty.id()), part, value)),
        None => go_json_indented(value),
    }
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
