//! Values without some of their fields, or with some of them only.

use serde_json::{Map, Value};

use super::Shape;
use super::items::item_element;
use crate::fields::FieldSet;
use crate::types::{ListRef, MapRef, TypeRef};

/// The value without the fields of a set (structured-merge-diff `typed/remove.go`); null where nothing is left.
///
/// Values are removed as a whole where the set has them, and looked into where it has something below them.
pub fn remove_items(value: &Value, fields: &FieldSet, ty: TypeRef<'_>) -> Value {
    visit(value, fields, ty, Mode::Remove)
}

/// The value with nothing but the fields of a set; null where that is nothing.
///
/// Keys of list items are kept only where the set has them. What a set has as a whole, although it has members of
/// its own by now, is emptied of them: they are not in the set.
pub fn extract_items(value: &Value, fields: &FieldSet, ty: TypeRef<'_>) -> Value {
    visit(value, fields, ty, Mode::Extract)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Remove,
    Extract,
}

fn visit(value: &Value, fields: &FieldSet, ty: TypeRef<'_>, mode: Mode) -> Value {
    // What is empty or one value stays in an extract, and goes with what holds it otherwise.
    let whole = || match mode {
        Mode::Extract => value.clone(),
        Mode::Remove => Value::Null,
    };
    match (Shape::of(ty, Some(value)), value) {
        (Some(Shape::Scalar), _) => value.clone(),
        (Some(Shape::Map), Value::Object(members)) => match ty.map() {
            Some(map) if !map.is_atomic() && !members.is_empty() => {
                visit_members(members, fields, &map, mode)
            }
            _ => whole(),
        },
        (Some(Shape::List), Value::Array(items)) => match ty.list() {
            Some(list) if !list.is_atomic() && !items.is_empty() => visit_items(items, fields, &list, mode),
            _ => whole(),
        },
        _ => Value::Null,
    }
}

fn visit_members(members: &Map<String, Value>, fields: &FieldSet, map: &MapRef<'_>, mode: Mode) -> Value {
    let mut kept = Map::new();
    for (name, member) in members {
        let ty = || {
            let declared = map.field(name).or_else(|| map.element());
            declared.unwrap_or(TypeRef::UNTYPED)
        };
        let value = match (fields.field(name), mode) {
            (Some(node), Mode::Remove) if node.member => continue,
            // The whole set, not what it has below: see `extract_items`.
            (Some(node), Mode::Extract) if node.member => visit(member, fields, ty(), mode),
            (Some(node), _) => visit(member, &node.below, ty(), mode),
            (None, Mode::Remove) => member.clone(),
            (None, Mode::Extract) => continue,
        };
        kept.insert(name.clone(), value);
    }
    if kept.is_empty() {
        Value::Null
    } else {
        Value::Object(kept)
    }
}

fn visit_items(items: &[Value], fields: &FieldSet, list: &ListRef<'_>, mode: Mode) -> Value {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        // An item without an element is in no set.
        let element = item_element(list, item).ok();
        let node = element.as_ref().and_then(|element| fields.node(element));
        let (member, below) = match node {
            Some(node) => (node.member, Some(&node.below).filter(|below| !below.is_empty())),
            None => (false, None),
        };
        match (mode, below) {
            (Mode::Remove, _) if member => {}
            (Mode::Extract, None) if !member => {}
            (_, Some(below)) => kept.push(visit(item, below, list.item, mode)),
            (_, None) => kept.push(item.clone()),
        }
    }
    if kept.is_empty() {
        Value::Null
    } else {
        Value::Array(kept)
    }
}
