//! How the items of a list are told apart.

use serde_json::Value;

use crate::fields::{PathElement, quote};
use crate::types::ListRef;

/// The element of an item of an associative list; an error in upstream's words where the item can have none.
pub(super) fn item_element(list: &ListRef<'_>, item: &Value) -> Result<PathElement, String> {
    if list.key_count() > 0 {
        keyed_item(list, item)
    } else {
        set_item(item).map(|value| PathElement::Value(value.clone()))
    }
}

fn keyed_item(list: &ListRef<'_>, item: &Value) -> Result<PathElement, String> {
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut keys: Vec<(Box<str>, Value)> = Vec::with_capacity(list.key_count());
    for name in list.keys() {
        if let Some(value) = members.get(name) {
            keys.push((name.into(), value.clone()));
            continue;
        }
        let Some(map) = list.item.map() else {
            return Err(format!(
                "couldn't find default value for {name}: associative list may not have non-map types"
            ));
        };
        // Without a default the key is left out: an item that lacks it is another item.
        if let Some(default) = map.default(name) {
            keys.push((name.into(), default.into_owned()));
        }
    }
    if keys.is_empty() {
        let mut names = String::new();
        for (index, name) in list.keys().enumerate() {
            names.push_str(if index == 0 { "" } else { " " });
            // Writing to a string cannot fail.
            let _ = quote(&mut names, name);
        }
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{names}] (and doesn't have default \
             values for any key fields)"
        ));
    }
    Ok(PathElement::key(keys))
}

fn set_item(item: &Value) -> Result<&Value, String> {
    let wrong = match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        scalar => return Ok(scalar),
    };
    Err(wrong.to_owned())
}

/// Whether an item has an element, without making it.
pub(super) fn has_element(list: &ListRef<'_>, item: &Value) -> bool {
    match item {
        Value::Object(members) => list.keys().any(|name| members.contains_key(name)),
        Value::Array(_) | Value::Null => false,
        _ => list.key_count() == 0,
    }
}

/// The items of an associative list by their elements, in order of the elements; items of one element in order of the
/// list.
pub(super) fn sorted_items<'v>(
    list: &ListRef<'_>,
    items: &'v [Value],
    mut wrong: impl FnMut(usize, String),
) -> Vec<(PathElement, &'v Value)> {
    let mut sorted = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item_element(list, item) {
            Ok(element) => sorted.push((element, item)),
            Err(message) => wrong(index, message),
        }
    }
    sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
    sorted
}

/// The leading items of a sorted list that have this element, taken off it.
pub(super) fn take_run<'s, 'v>(
    sorted: &mut &'s [(PathElement, &'v Value)],
    element: &PathElement,
) -> &'s [(PathElement, &'v Value)] {
    let length = sorted.iter().take_while(|(own, _)| own == element).count();
    let (run, rest) = sorted.split_at(length);
    *sorted = rest;
    run
}
