//! Whether a value fits its type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Shape;
use super::error::{TypeErrors, shown, shown_as_source};
use super::items::{has_element, item_element};
use crate::fields::PathElement;
use crate::go;
use crate::types::{ListRef, MapRef, Scalar, TypeRef};

/// Whether items of a list may have the same keys, or the same value in a set.
///
/// Live objects may have them, since validation let them through once; what is applied may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// They may.
    Allowed,
    /// They are errors.
    Refused,
}

/// Checks a value against its type.
///
/// # Errors
/// All places that do not fit.
pub fn validate(value: &Value, ty: TypeRef<'_>, duplicates: Duplicates) -> Result<(), TypeErrors> {
    visit(value, ty, duplicates).into_result()
}

fn visit(value: &Value, ty: TypeRef<'_>, duplicates: Duplicates) -> TypeErrors {
    let mut errors = TypeErrors::default();
    match Shape::of(ty, Some(value)) {
        Some(Shape::Map) => match (value, ty.map()) {
            (Value::Object(members), Some(map)) => visit_members(members, &map, duplicates, &mut errors),
            (Value::Null, _) => {}
            _ => errors.push(format!("expected map, got {}", shown(value))),
        },
        Some(Shape::Scalar) => {
            if let Some(message) = ty
                .scalar()
                .and_then(|scalar| scalar_mismatch(scalar, Some(value), ""))
            {
                errors.push(message);
            }
        }
        Some(Shape::List) => match (value, ty.list()) {
            (Value::Array(items), Some(list)) => visit_items(items, &list, duplicates, &mut errors),
            (Value::Null, _) => {}
            _ => errors.push(format!("expected list, got {}", shown(value))),
        },
        None => errors.push("schema error: invalid atom: inlined"),
    }
    errors
}

fn visit_members(
    members: &Map<String, Value>,
    map: &MapRef<'_>,
    duplicates: Duplicates,
    errors: &mut TypeErrors,
) {
    for (name, member) in members {
        let Some(ty) = map.field(name).or_else(|| map.element()) else {
            let mut undeclared = TypeErrors::default();
            undeclared.push("field not declared in schema");
            errors.append(&format_args!(".{name}"), undeclared);
            // Upstream stops at the first one.
            return;
        };
        let below = visit(member, ty, duplicates);
        errors.append(&format_args!(".{name}"), below);
    }
}

fn visit_items(items: &[Value], list: &ListRef<'_>, duplicates: Duplicates, errors: &mut TypeErrors) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        if list.is_atomic() {
            errors.append(&format_args!("[{index}]"), visit(item, list.item, duplicates));
            continue;
        }
        if duplicates == Duplicates::Allowed && has_element(list, item) {
            let below = visit(item, list.item, duplicates);
            if !below.0.is_empty()
                && let Ok(element) = item_element(list, item)
            {
                errors.append(&element, below);
            }
            continue;
        }
        let element: PathElement = match item_element(list, item) {
            Ok(element) => element,
            Err(message) => {
                errors.push(format!("element {index}: {message}"));
                return;
            }
        };
        if duplicates == Duplicates::Refused && seen.contains(&element) {
            errors.push(format!("duplicate entries for key {element}"));
        }
        errors.append(&element, visit(item, list.item, duplicates));
        seen.insert(element);
    }
}

/// What is wrong with a scalar, if anything. No value and null fit every scalar.
pub(super) fn scalar_mismatch(scalar: Scalar, value: Option<&Value>, prefix: &str) -> Option<String> {
    let value = value.filter(|value| !value.is_null())?;
    let text = match scalar {
        Scalar::Numeric if !value.is_number() => {
            format!("expected numeric (int or float), got {}", go::type_name(value))
        }
        Scalar::String if !value.is_string() => format!("expected string, got {}", shown_as_source(value)),
        Scalar::Boolean if !value.is_boolean() => format!("expected boolean, got {}", shown(value)),
        Scalar::Untyped if value.is_array() || value.is_object() => {
            format!("expected any scalar, got {}", shown(value))
        }
        _ => return None,
    };
    Some(format!("{prefix}{text}"))
}
