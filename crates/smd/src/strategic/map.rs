//! Merging one map into another.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    DELETE_FROM_PRIMITIVE_LIST, MergeTypes, PATCH, PatchError, RETAIN_KEYS, SET_ELEMENT_ORDER, Strategy, list,
};

type Object = Map<String, Value>;

/// Merges `patch` into `original` (upstream's `mergeMap`).
pub(super) fn merge(
    mut original: Object,
    mut patch: Object,
    types: &impl MergeTypes,
) -> Result<Object, PatchError> {
    if let Some(directive) = patch.get(PATCH) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(PatchError::unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, types)?;
    for (key, change) in patch {
        merge_member(&mut original, &key, change, types)?;
    }
    Ok(original)
}

fn merge_member(
    original: &mut Object,
    key: &str,
    change: Value,
    types: &impl MergeTypes,
) -> Result<(), PatchError> {
    let deletions = key.starts_with(DELETE_FROM_PRIMITIVE_LIST);
    let name = if deletions {
        directive_target(key, PatchError::BadPrimitiveList)?
    } else {
        key
    };
    // Upstream treats a directive without a list name as a field of that odd name.
    let name = if name.is_empty() { key } else { name };
    if change.is_null() {
        original.remove(name);
        return Ok(());
    }
    let current = original.get_mut(name);
    match (current, change) {
        (Some(Value::Object(current)), Value::Object(change)) => {
            let field = types.object_field(name)?;
            *current = match field.strategy {
                Strategy::Replace => change,
                Strategy::Unset | Strategy::Merge => merge(std::mem::take(current), change, &field.types)?,
            };
        }
        (Some(Value::Array(current)), Value::Array(change)) => {
            let field = types.list_field(name)?;
            // A deletion list is honoured whatever the strategy of the field.
            if field.strategy == Strategy::Merge || deletions {
                let key = field.merge_key.as_deref();
                *current = list::merge(std::mem::take(current), change, &field.types, key, deletions)?;
            } else {
                *current = change;
            }
        }
        (Some(current), change) if same_type(current, &change) => set(original, name, change),
        (_, change) if !deletions => set(original, name, without_nulls(change)),
        _ => {}
    }
    Ok(())
}

/// Stores a value of the patch, without what is meant as a directive.
fn set(original: &mut Object, name: &str, change: Value) {
    match without_directives(change) {
        Some(value) => original.insert(name.to_owned(), value),
        None => original.remove(name),
    };
}

fn same_type(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.is_f64() == right.is_f64(),
        (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}

/// `$retainKeys`: what it does not list goes; it has to list all that the patch sets.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(keys) = directive else {
        return Err(PatchError::BadRetainKeys);
    };
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let listed = |name: &str| keys.contains(name);
    for (name, change) in patch.iter() {
        let directive = name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
        if !change.is_null() && !directive && !listed(name) {
            return Err(PatchError::BadRetainKeys);
        }
    }
    original.retain(|name, _| listed(name));
    Ok(())
}

/// Handles every `$setElementOrder` of the patch together with the list that it orders, and takes both out of the
/// patch (upstream's `mergePatchIntoOriginal`).
fn order_lists(original: &mut Object, patch: &mut Object, types: &impl MergeTypes) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(PatchError::not_a_list(&order));
        };
        let name = directive_target(&directive, PatchError::BadSetElementOrder)?;
        let live = as_list(original.get(name))?;
        let change = as_list(patch.get(name))?;
        let field = types.list_field(name)?;
        let key = field.merge_key.as_deref();
        list::check_order(change.unwrap_or_default(), &order, key)?;
        let of_maps = list::of_maps(&[live.unwrap_or_default(), change.unwrap_or_default()]);
        let live = live.map(<[Value]>::to_vec);
        let change = change.map(<[Value]>::to_vec);
        let merged = match (live.clone(), change) {
            (None, None) => continue,
            (Some(live), None) => live,
            (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
            (Some(live), Some(change)) if field.strategy == Strategy::Merge => {
                list::merge(live, change, &field.types, key, false)?
            }
            (Some(_), Some(change)) => change,
        };
        let (ordered, rest) = list::partition(merged, &order, key)?;
        let of_maps = of_maps?;
        let merged = list::interleave(ordered, rest, &order, &live.unwrap_or_default(), key, of_maps)?;
        original.insert(name.to_owned(), Value::Array(merged));
        patch.remove(name);
    }
    Ok(())
}

fn as_list(value: Option<&Value>) -> Result<Option<&[Value]>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(PatchError::not_a_list(other)),
    }
}

/// The name after the slash of a directive's key.
fn directive_target(key: &str, error: PatchError) -> Result<&str, PatchError> {
    match key.split_once('/') {
        Some((DELETE_FROM_PRIMITIVE_LIST | SET_ELEMENT_ORDER, name)) => Ok(name),
        _ => Err(error),
    }
}

/// Drops every map that carries `$patch`; `None` if the value is such a map itself.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(PATCH) => None,
        Value::Object(members) => Some(Value::Object(
            members
                .into_iter()
                .filter_map(|(key, member)| Some((key, without_directives(member)?)))
                .collect(),
        )),
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        scalar => Some(scalar),
    }
}

/// Drops null members at every level: where there was nothing, there is nothing to delete.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(key, member)| (key, without_nulls(member)))
            .collect::<Object>()
            .into(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        scalar => scalar,
    }
}
