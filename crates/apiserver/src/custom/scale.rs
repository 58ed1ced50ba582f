//! What the scale subresource demands of objects: numbers of replicas that fit (apiextensions
//! `pkg/registry/customresource/validator.go` `ValidateScaleSpec` and `ValidateScaleStatus`).

use kubewright_core::{FieldError, FieldPath};
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
        let found = path.iter().try_fold(object, |value, field| value.get(field));
        let Some(number) = found.and_then(Value::as_i64) else {
            continue;
        };
        let detail = match number {
            ..0 => "should be a non-negative integer".to_owned(),
            _ if i32::try_from(number).is_err() => format!("should be less than or equal to {}", i32::MAX),
            _ => continue,
        };
        let path = FieldPath::new(format!(".{}", path.join(".")));
        errors.push(FieldError::invalid(path, number, detail));
    }
    errors
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
