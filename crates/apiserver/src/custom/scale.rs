//! What the scale subresource demands of objects: numbers of replicas that fit (apiextensions
//! `pkg/registry/customresource/validator.go` `ValidateScaleSpec` and `ValidateScaleStatus`).

use kubewright_core::{FieldError, FieldPath};
use kubewright_smd::go_print;
use serde_json::Value;

use crate::registry::{Resource, ScalePaths, SubresourceKind};

/// What is wrong with the numbers of an object, if its kind can be scaled.
pub(crate) fn check(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let scale = resource.subresources.iter().find_map(|one| match &one.behaviour {
        SubresourceKind::Scale(paths) => Some(paths),
        _ => None,
    });
    scale
        .map(|paths| check_numbers(paths, object))
        .unwrap_or_default()
}

fn check_numbers(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for path in [&paths.spec_replicas, &paths.status_replicas] {
        let (number, detail) = match number_at(path, object) {
            Ok(Some(number @ ..0)) => (number, "should be a non-negative integer".to_owned()),
            Ok(Some(number)) if i32::try_from(number).is_err() => {
                (number, format!("should be less than or equal to {}", i32::MAX))
            }
            Ok(_) => continue,
            Err(why) => (0, why),
        };
        let path = FieldPath::new(format!(".{}", path.join(".")));
        errors.push(FieldError::invalid(path, number, detail));
    }
    errors
}

/// The integer at a path (apimachinery pkg/apis/meta/v1/unstructured/helpers.go `NestedInt64`).
///
/// # Errors
/// What is there instead, or on the way there.
fn number_at(path: &[String], object: &Value) -> Result<Option<i64>, String> {
    let unlike = |fields: &[String], found: &Value, expected: &str| {
        let (path, kind, shown) = (fields.join("."), go_type(found), go_print(found));
        format!(".{path} accessor error: {shown} is of the type {kind}, expected {expected}")
    };
    let mut found = object;
    for (index, field) in path.iter().enumerate() {
        let Value::Object(members) = found else {
            return match found {
                Value::Null => Ok(None),
                _ => Err(unlike(&path[..=index], found, "map[string]interface{}")),
            };
        };
        match members.get(field) {
            Some(member) => found = member,
            None => return Ok(None),
        }
    }
    match found.as_i64() {
        Some(number) => Ok(Some(number)),
        None => Err(unlike(path, found, "int64")),
    }
}

/// What Go calls the type of a value without one of its own.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_replicas_fit() {
        let path = |text: &str| text.split('.').map(str::to_owned).collect();
        let paths = ScalePaths {
            spec_replicas: path("spec.replicas"),
            status_replicas: path("status.n"),
            selector: None,
        };
        for (object, expect) in [
            (json!({}), &[][..]),
            (json!({"spec": {"replicas": 3}, "status": {"n": 0}}), &[]),
            (
                json!({"spec": 5, "status": 5.5}),
                &[
                    ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 5 is of the type int64, expected map[string]interface{}",
                    ".status.n: Invalid value: 0: .status.n accessor error: 5.5 is of the type float64, expected map[string]interface{}",
                ],
            ),
            (
                json!({"spec": {"replicas": "x"}, "status": [1]}),
                &[
                    ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64",
                    ".status.n: Invalid value: 0: .status.n accessor error: [1] is of the type []interface {}, expected \
                     map[string]interface{}",
                ],
            ),
            (
                json!({"spec": {"replicas": -1}, "status": {"n": 2_147_483_648_u64}}),
                &[
                    ".spec.replicas: Invalid value: -1: should be a non-negative integer",
                    ".status.n: Invalid value: 2147483648: should be less than or equal to 2147483647",
                ],
            ),
        ] {
            let errors: Vec<String> = check_numbers(&paths, &object)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(errors, expect, "{object}");
        }
    }
}
