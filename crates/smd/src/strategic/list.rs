//! Merging and ordering lists, of scalars and of maps with a merge key.
//!
//! Positions are looked up by hash, so that the work grows with the lists' lengths and not with their product.

use std::collections::{HashMap, HashSet};

use kubewright_core::json::Sorted;
use serde_json::{Map, Value};

use super::error::print_list;
use super::{MergeTypes, PATCH, PatchError, map};

/// Merges two lists whose field has the merge strategy, or which lists deletions (upstream's `mergeSlice`).
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    types: &impl MergeTypes,
    key: Option<&str>,
    deletions: bool,
) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !of_maps(&[&original, &patch])? {
        if deletions {
            let gone: HashSet<Identity> = patch.iter().map(Identity::of).collect();
            return Ok(original
                .into_iter()
                .filter(|item| !gone.contains(&Identity::of(item)))
                .collect());
        }
        let mut seen = HashSet::new();
        let mut merged = original.clone();
        merged.extend(patch.iter().cloned());
        merged.retain(|item| seen.insert(Identity::of(item)));
        let (ordered, rest) = partition(merged, &patch, key)?;
        return interleave(ordered, rest, &patch, &original, key, false);
    }
    let Some(key) = key else {
        return Err(PatchError::NoMergeKey {
            kind: types.kind_name().to_owned(),
        });
    };
    let (original, patch) = apply_directives(original, patch, key)?;
    let merged = merge_by_key(original.clone(), &patch, types, key)?;
    let (ordered, rest) = partition(merged, &patch, Some(key))?;
    interleave(ordered, rest, &patch, &original, Some(key), true)
}

/// Whether the items of all lists are maps.
///
/// # Errors
/// Where they are lists, of several types, or where there is none.
pub(super) fn of_maps(lists: &[&[Value]]) -> Result<bool, PatchError> {
    let mut items = lists.iter().flat_map(|list| list.iter());
    let first = items.next().ok_or(PatchError::NoElements)?;
    if first.is_array() {
        return Err(PatchError::ListsOfLists);
    }
    let kind = crate::go::type_name(first);
    if items.any(|item| crate::go::type_name(item) != kind) {
        return Err(PatchError::mixed(lists));
    }
    Ok(first.is_object())
}

/// Handles the items of the patch that carry `$patch`; returns the lists without them.
fn apply_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = HashSet::new();
    let mut replace = false;
    for item in patch {
        let members = as_map(&item)?;
        let Some(directive) = members.get(PATCH) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                deleted.insert(Identity::of(merge_key(members, key)?));
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(PatchError::MergeDirectiveInList),
            _ => return Err(PatchError::unknown_directive(directive, members)),
        }
    }
    if replace {
        return Ok((plain, Vec::new()));
    }
    original.retain(|item| {
        item.get(key)
            .is_none_or(|value| !deleted.contains(&Identity::of(value)))
    });
    Ok((original, plain))
}

fn merge_by_key(
    mut original: Vec<Value>,
    patch: &[Value],
    types: &impl MergeTypes,
    key: &str,
) -> Result<Vec<Value>, PatchError> {
    let mut positions = HashMap::new();
    for (index, item) in original.iter().enumerate() {
        if let Some(value) = as_map_at(item, index)?.get(key) {
            positions.entry(Identity::of(value)).or_insert(index);
        }
    }
    for item in patch {
        let members = as_map(item)?;
        let identity = Identity::of(merge_key(members, key)?);
        let position = *positions.entry(identity).or_insert(original.len());
        match original.get_mut(position) {
            Some(Value::Object(current)) => {
                let merged = map::merge(std::mem::take(current), members.clone(), types)?;
                *current = merged;
            }
            _ => original.push(item.clone()),
        }
    }
    Ok(original)
}

/// Checks that the patch's items come in the order that `$setElementOrder` gives, and are all in it.
pub(super) fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(patch.len());
    for item in patch {
        // Only maps can be directives, and a keyed list can only hold maps.
        if key.is_some() {
            as_map(item)?;
        }
        if item.get(PATCH).is_none() {
            kept.push(item);
        }
    }
    let mut kept = kept.into_iter().peekable();
    for place in order {
        let Some(item) = kept.peek() else { return Ok(()) };
        if identity(item, key)? == identity(place, key)? {
            kept.next();
        }
    }
    if kept.peek().is_none() {
        return Ok(());
    }
    Err(PatchError::OrderMismatch {
        patch: print_list(patch),
        order: print_list(order),
    })
}

/// Splits a list into the items that are in `by` and those that are not.
pub(super) fn partition(
    list: Vec<Value>,
    by: &[Value],
    key: Option<&str>,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut known = HashSet::with_capacity(by.len());
    for (index, item) in by.iter().enumerate() {
        match key {
            None => {
                known.insert(Identity::of(item));
            }
            Some(key) => {
                known.extend(as_map_at(item, index)?.get(key).map(Identity::of));
            }
        }
    }
    let mut inside = Vec::with_capacity(known.len());
    let mut outside = Vec::new();
    for item in list {
        let known = known.contains(&identity(&item, key)?);
        if known {
            inside.push(item)
        } else {
            outside.push(item)
        }
    }
    Ok((inside, outside))
}

/// Sorts `ordered` by `order` and `rest` by `live`, then merges the two: an item of the rest comes before the first
/// ordered item that follows it in the live list (upstream's `normalizeElementOrder` and `mergeSortedSlice`).
pub(super) fn interleave(
    ordered: Vec<Value>,
    rest: Vec<Value>,
    order: &[Value],
    live: &[Value],
    key: Option<&str>,
    of_maps: bool,
) -> Result<Vec<Value>, PatchError> {
    let key = key.filter(|_| of_maps);
    if let Some(key) = key {
        for item in ordered.iter().chain(&rest).chain(order).chain(live) {
            merge_key(as_map(item)?, key)?;
        }
    }
    let live = positions(live, key);
    let mut ordered = sort(ordered, &positions(order, key), key).into_iter().peekable();
    let mut rest = sort(rest, &live, key).into_iter().peekable();
    let place = |item: &Value| live.get(&loose_identity(item, key)).copied();
    let mut merged = Vec::with_capacity(ordered.len() + rest.len());
    while let (Some(left), Some(right)) = (rest.peek(), ordered.peek()) {
        let first = match (place(left), place(right)) {
            (Some(left), Some(right)) if left < right => rest.next(),
            _ => ordered.next(),
        };
        merged.extend(first);
    }
    merged.extend(ordered);
    merged.extend(rest);
    Ok(merged)
}

fn positions(list: &[Value], key: Option<&str>) -> HashMap<Identity, usize> {
    let mut positions = HashMap::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        positions.entry(loose_identity(item, key)).or_insert(index);
    }
    positions
}

/// Sorts by position; items to be deleted go to the end, as do those without a position.
fn sort(mut list: Vec<Value>, positions: &HashMap<Identity, usize>, key: Option<&str>) -> Vec<Value> {
    list.sort_by_cached_key(|item| {
        let deleted = item.get(PATCH).and_then(Value::as_str) == Some("delete");
        let position = positions
            .get(&loose_identity(item, key))
            .copied()
            .unwrap_or(usize::MAX);
        (deleted, position)
    });
    list
}

/// What makes two items the same: scalars by type and value, as Go compares interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    Absent,
    Text(String),
    Json(String),
}

impl Identity {
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            other => Self::Json(serde_json::to_string(&Sorted(other)).unwrap_or_default()),
        }
    }
}

fn identity(item: &Value, key: Option<&str>) -> Result<Identity, PatchError> {
    match key {
        None => Ok(Identity::of(item)),
        Some(key) => Ok(Identity::of(merge_key(as_map(item)?, key)?)),
    }
}

fn loose_identity(item: &Value, key: Option<&str>) -> Identity {
    match key {
        None => Identity::of(item),
        Some(key) => item.get(key).map_or(Identity::Absent, Identity::of),
    }
}

fn merge_key<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a Value, PatchError> {
    map.get(key)
        .ok_or_else(|| PatchError::missing_merge_key(map, key))
}

fn as_map(item: &Value) -> Result<&Map<String, Value>, PatchError> {
    item.as_object().ok_or_else(|| PatchError::not_a_map(item))
}

fn as_map_at(item: &Value, index: usize) -> Result<&Map<String, Value>, PatchError> {
    item.as_object().ok_or(PatchError::ItemNotAMap { index })
}
