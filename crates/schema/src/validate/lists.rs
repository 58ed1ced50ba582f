//! Uniqueness in lists of type set and map (apiextensions `pkg/apiserver/schema/listtype`).

use std::collections::HashMap;

use kubewright_core::{FieldError, FieldPath};
use serde_json::{Map, Value};

use super::MAX_ERRORS;
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
            for (name, member) in members {
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
    for index in repeated(items.iter().map(Value::to_string)) {
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
    let key_of = |item: &Value| -> Map<String, Value> {
        keys.iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())))
            .collect()
    };
    for index in repeated(items.iter().map(|item| Value::from(key_of(item)).to_string())) {
        push(
            errors,
            FieldError::duplicate(path.index(index), key_of(&items[index])),
        );
    }
}

/// The second appearance of everything that appears more than once.
fn repeated(identities: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
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
