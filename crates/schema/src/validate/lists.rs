//! Uniqueness in lists of type set and map (apiextensions `pkg/apiserver/schema/listtype`).

use std::collections::HashMap;

use kubewright_core::json::by_name;
use kubewright_core::{FieldError, FieldPath, go_json};
use serde_json::Value;

use super::MAX_ERRORS;
use crate::number::GoNumber;
use crate::structural::{ListType, StructuralSchema};

pub(super) fn check(schema: &StructuralSchema, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(schema, object, &FieldPath::root(), &mut errors);
    errors
}

fn visit(schema: &StructuralSchema, value: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    match value {
        _ if !schema.within.keyed_lists => {}
        Value::Object(members) => {
            for (name, member) in by_name(members) {
                if let Some(below) = schema.properties.get(name) {
                    // Paths are only made where something can be found.
                    if below.within.keyed_lists {
                        visit(below, member, &path.child(name), errors);
                    }
                } else if let Some(below) = schema.additional_schema()
                    && below.within.keyed_lists
                {
                    visit(below, member, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type {
                Some(ListType::Set) => check_set(items, path, errors),
                Some(ListType::Map) => check_map(&schema.list_map_keys, items, path, errors),
                Some(ListType::Atomic) | None => {}
            }
            if let Some(below) = schema.items.as_deref().filter(|below| below.within.keyed_lists) {
                for (index, item) in items.iter().enumerate() {
                    if matches!(item, Value::Array(_) | Value::Object(_)) {
                        visit(below, item, &path.index(index), errors);
                    }
                }
            }
        }
        _ => {}
    }
}

fn check_set(items: &[Value], path: &FieldPath, errors: &mut Vec<FieldError>) {
    for index in repeated(items.iter().map(Identity::of)) {
        push(
            errors,
            FieldError::duplicate(path.index(index), items[index].clone()),
        );
    }
}

fn check_map(keys: &[String], items: &[Value], path: &FieldPath, errors: &mut Vec<FieldError>) {
    let odd = items
        .iter()
        .enumerate()
        .find(|(_, item)| !item.is_object() && !item.is_null());
    if let Some((index, item)) = odd {
        let detail = "must be an object for an array of list-type map";
        return push(
            errors,
            FieldError::invalid(path.index(index), item.clone(), detail),
        );
    }
    let key_of = |item: &Value| -> Value {
        keys.iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
            .collect()
    };
    let identity = |item: &Value| match keys {
        [key] => item.get(key).map_or(Identity::Absent, Identity::of),
        _ => Identity::Compound(go_json(&key_of(item))),
    };
    for index in repeated(items.iter().map(identity)) {
        push(
            errors,
            FieldError::duplicate(path.index(index), key_of(&items[index])),
        );
    }
}

/// What two items of a list must not have in common (`validateListSet`): scalars are compared as Go's values, so that `1` and `1.0` are
/// two, and others as what Go's encoder writes, where `[1]` and `[1.0]` are one.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    /// A key that is not there.
    Absent,
    Null,
    Boolean(bool),
    Integer(i64),
    /// The bits of a float, of which there is one zero.
    Float(u64),
    String(String),
    Compound(String),
}

impl Identity {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Boolean(*value),
            Value::Number(number) => match GoNumber::of(number) {
                GoNumber::Int(integer) => Self::Integer(integer),
                GoNumber::Float(float) => Self::Float((float + 0.0).to_bits()),
            },
            Value::String(text) => Self::String(text.clone()),
            Value::Array(_) | Value::Object(_) => Self::Compound(go_json(value)),
        }
    }
}

/// The second appearance of everything that appears more than once.
fn repeated(identities: impl Iterator<Item = Identity>) -> Vec<usize> {
    let mut seen: HashMap<Identity, usize> = HashMap::new();
    let mut repeated = Vec::new();
    for (index, identity) in identities.enumerate() {
        let times = seen.entry(identity).or_insert(0);
        *times += 1;
        if *times == 2 {
            repeated.push(index);
        }
    }
    repeated
}

fn push(errors: &mut Vec<FieldError>, error: FieldError) {
    if errors.len() < MAX_ERRORS {
        errors.push(error);
    }
}
