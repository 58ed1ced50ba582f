//! What the table of kinds finds wrong with an object: fields that must be there, values that are none of those declared.
//!
//! Upstream checks both by hand, kind by kind; the schema says the same for all kinds at once. Two places are left out, since
//! upstream looks at neither: the status, which only controllers write, and numbers and flags, whose zero is a value.

use kubewright_core::{FieldError, FieldPath};
use kubewright_kinds::{Field, Presence, Type, Value as Kind};
use serde_json::Value;

use crate::builtin::validation::MAX_ERRORS;

/// What is wrong with an object of a built-in type: the first [`MAX_ERRORS`] faults.
pub(super) fn check(ty: &'static Type, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_checked = |field: &&Field| !matches!(field.name, "status" | "metadata" | "apiVersion" | "kind");
    fields(
        ty,
        ty.fields().iter().filter(is_checked),
        object,
        &FieldPath::root(),
        &mut errors,
    );
    errors
}

fn fields(
    ty: &'static Type,
    fields: impl Iterator<Item = &'static Field>,
    object: &Value,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    debug_assert!(ty.special.is_none(), "{} has no fields", ty.name);
    let Some(object) = object.as_object() else { return };
    for field in fields {
        if errors.len() >= MAX_ERRORS {
            return;
        }
        let path = || path.child(field.name);
        let is_missing = |found: &Value| found.is_null() || field.required && found.as_str() == Some("");
        match object.get(field.name).filter(|found| !is_missing(found)) {
            Some(found) => {
                if CHECKED_ELSEWHERE.contains(&(ty.name, field.name)) {
                    continue;
                }
                if let Some(text) = found.as_str()
                    && !field.enum_values.is_empty()
                    && !text.is_empty()
                    && !field.enum_values.contains(&text)
                {
                    errors.push(FieldError::not_supported(path(), text, field.enum_values));
                }
                value(&field.value, found, &path, errors);
            }
            None if field.required && must_be_given(field) => errors.push(FieldError::required(path(), "")),
            None => {}
        }
    }
}

/// Fields, by type and name, whose faults the rules of the kind report under another path.
const CHECKED_ELSEWHERE: &[(&str, &str)] = &[("io.k8s.api.core.v1.NodeSpec", "taints")];

/// A zero number or flag is a value; an absent object that Go always writes is an empty one. Text and lists are given where they are
/// not empty.
fn must_be_given(field: &Field) -> bool {
    let has_zero = matches!(
        field.value,
        Kind::Boolean
            | Kind::Int32
            | Kind::Int64
            | Kind::Double
            | Kind::Time
            | Kind::MicroTime
            | Kind::IntOrString
    );
    !has_zero
        && (field.presence != Presence::Always || !matches!(field.value, Kind::Object(_) | Kind::Quantity))
}

fn value(kind: &'static Kind, found: &Value, path: &dyn Fn() -> FieldPath, errors: &mut Vec<FieldError>) {
    match kind {
        Kind::Object(id) if id.get().special.is_none() => {
            fields(id.get(), id.get().fields().iter(), found, &path(), errors)
        }
        Kind::Array(item) => {
            for (i, found) in found.as_array().into_iter().flatten().enumerate() {
                value(item, found, &|| path().index(i), errors);
            }
        }
        Kind::Map(item) => {
            for (key, found) in found.as_object().into_iter().flatten() {
                value(item, found, &|| path().key(key), errors);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(kind: [&str; 3], object: &Value) -> Vec<String> {
        let ty = kubewright_kinds::table().kind(kind[0], kind[1], kind[2]).unwrap();
        check(ty, object).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_must_be_given_and_what_may() {
        let pod = ["", "v1", "Pod"];
        let container = |fields: Value| json!({"spec": {"containers": [fields]}});
        for (object, expect) in [
            (
                container(json!({"name": "a", "imagePullPolicy": "Always"})),
                &[][..],
            ),
            (
                container(json!({"name": "a", "imagePullPolicy": "Sometimes"})),
                &[
                    "spec.containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
                ],
            ),
            (container(json!({})), &["spec.containers[0].name: Required value"]),
            (
                json!({"spec": {"containers": []}, "status": {"phase": "Strange"}}),
                &[],
            ),
        ] {
            assert_eq!(messages(pod, &object), expect, "{object}");
        }
    }
}
