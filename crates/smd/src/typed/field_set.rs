//! What fields a value has.

use serde_json::{Map, Value};

use super::Shape;
use super::items::{sorted_items, take_run};
use crate::fields::{FieldSet, PathElement};
use crate::types::{ListRef, MapRef, TypeRef};

/// The fields of a value: what its owner owns who applied it (structured-merge-diff `typed/tofieldset.go`).
///
/// The value is expected to fit its type; what does not fit is not in the set.
pub fn field_set(value: &Value, ty: TypeRef<'_>) -> FieldSet {
    visit(value, ty).below
}

/// What a value adds to the set: its own path, and those below.
#[derive(Default)]
struct Found {
    member: bool,
    below: FieldSet,
}

impl Found {
    fn leaf() -> Self {
        Self {
            member: true,
            below: FieldSet::new(),
        }
    }
}

fn visit(value: &Value, ty: TypeRef<'_>) -> Found {
    match Shape::of(ty, Some(value)) {
        Some(Shape::Scalar) => Found::leaf(),
        Some(Shape::Map) => match (ty.map(), value) {
            (Some(map), _) if map.is_atomic() => Found::leaf(),
            (Some(map), Value::Object(members)) => visit_members(members, &map),
            _ => Found::default(),
        },
        Some(Shape::List) => match (ty.list(), value) {
            (Some(list), _) if list.is_atomic() => Found::leaf(),
            (Some(list), Value::Array(items)) => visit_items(items, &list),
            _ => Found::default(),
        },
        None => Found::default(),
    }
}

fn visit_members(members: &Map<String, Value>, map: &MapRef<'_>) -> Found {
    let mut found = Found::default();
    for (name, member) in members {
        let field = map.field(name);
        let Some(ty) = field.or_else(|| map.element()) else {
            continue;
        };
        let below = visit(member, ty);
        let is_empty = match member {
            Value::Null => true,
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        found.below.push(
            PathElement::field(name.as_str()),
            below.member || is_empty || field.is_none(),
            below.below,
        );
    }
    found
}

fn visit_items(items: &[Value], list: &ListRef<'_>) -> Found {
    let mut found = Found::default();
    let sorted = sorted_items(list, items, |_, _| {});
    let mut rest = &*sorted;
    while let Some((element, item)) = rest.first() {
        // Of items that are there twice only the items themselves are owned, not what is in them.
        let below = match take_run(&mut rest, element) {
            [_] => visit(item, list.item).below,
            _ => FieldSet::new(),
        };
        found.below.push(element.clone(), true, below);
    }
    found
}
