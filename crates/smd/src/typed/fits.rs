//! Whether a value fits its type, for who need not be told why it does not.

use serde_json::{Map, Value};

use super::Shape;
use super::items::{has_element, item_element};
use crate::types::{ListRef, MapRef, Scalar, TypeRef};

/// Whether [`validate`](super::validate()) finds nothing wrong with a value whose lists may have duplicates.
pub(crate) fn fits(value: &Value, ty: TypeRef<'_>) -> bool {
    if ty.takes_anything() {
        return true;
    }
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            if let Some(scalar) = ty.scalar() {
                return scalar_fits(scalar, value);
            }
        }
        Value::Object(members) => {
            if let Some(map) = ty.map() {
                return members_fit(members, &map);
            }
        }
        _ => {}
    }
    match Shape::of(ty, Some(value)) {
        Some(Shape::Map) => match (value, ty.map()) {
            (Value::Object(members), Some(map)) => members_fit(members, &map),
            (Value::Null, _) => true,
            _ => false,
        },
        Some(Shape::Scalar) => ty.scalar().is_none_or(|scalar| scalar_fits(scalar, value)),
        Some(Shape::List) => match (value, ty.list()) {
            (Value::Array(items), Some(list)) => items.iter().all(|item| item_fits(item, &list)),
            (Value::Null, _) => true,
            _ => false,
        },
        None => false,
    }
}

fn members_fit(members: &Map<String, Value>, map: &MapRef<'_>) -> bool {
    members.iter().all(|(name, member)| {
        let ty = map.field(name).or_else(|| map.element());
        ty.is_some_and(|ty| fits(member, ty))
    })
}

/// Null fits every scalar.
fn scalar_fits(scalar: Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Numeric => value.is_number() || value.is_null(),
        Scalar::String => value.is_string() || value.is_null(),
        Scalar::Boolean => value.is_boolean() || value.is_null(),
        Scalar::Untyped => !value.is_array() && !value.is_object(),
    }
}

fn item_fits(item: &Value, list: &ListRef<'_>) -> bool {
    if list.is_atomic() {
        return fits(item, list.item);
    }
    if has_element(list, item) {
        // What is wrong in an item that cannot be named is not told.
        return fits(item, list.item) || item_element(list, item).is_err();
    }
    item_element(list, item).is_ok() && fits(item, list.item)
}
