//! One value merged into another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::Shape;
use super::compare::zip;
use super::error::TypeErrors;
use super::items::item_element;
use super::validate::{Duplicates, scalar_mismatch};
use crate::fields::PathElement;
use crate::types::{ListRef, MapRef, TypeRef};

/// Merges the right value into the left one: what both have is the right one's (structured-merge-diff
/// `typed/merge.go`).
///
/// Items that both lists have come in the order of the right list; those of the left one alone keep their places among
/// them as well as can be. `None` where nothing is left.
///
/// # Errors
/// Where a value does not fit its type, or the right one has items twice.
pub fn merge(left: &Value, right: &Value, ty: TypeRef<'_>) -> Result<Option<Value>, TypeErrors> {
    let mut errors = TypeErrors::default();
    let merged = visit(Some(left), Some(right), ty, &mut errors);
    errors.into_result()?;
    Ok(merged)
}

/// One of the values must be there.
fn visit(
    left: Option<&Value>,
    right: Option<&Value>,
    ty: TypeRef<'_>,
    errors: &mut TypeErrors,
) -> Option<Value> {
    if let (Some(old), Some(new)) = (left, right)
        && !Shape::same(ty, old, new)
    {
        // Only for its errors: the right value counts.
        visit_as(Shape::of(ty, left), left, right, ty, errors);
    }
    visit_as(Shape::of(ty, right.or(left)), left, right, ty, errors)
}

fn visit_as(
    shape: Option<Shape>,
    left: Option<&Value>,
    right: Option<&Value>,
    ty: TypeRef<'_>,
    errors: &mut TypeErrors,
) -> Option<Value> {
    let leaf = || right.or(left).cloned();
    match shape {
        Some(Shape::Scalar) => {
            let scalar = ty.scalar()?;
            let wrong = (
                scalar_mismatch(scalar, left, "lhs: "),
                scalar_mismatch(scalar, right, "rhs: "),
            );
            if let (Some(left), Some(right)) = wrong {
                errors.push(left);
                errors.push(right);
                return None;
            }
            leaf()
        }
        Some(Shape::Map) => {
            let map = ty.map()?;
            let (left_members, right_members) =
                (left.and_then(Value::as_object), right.and_then(Value::as_object));
            let is_empty = |members: Option<&Map<String, Value>>| members.is_none_or(Map::is_empty);
            if map.is_atomic() || (is_empty(left_members) && is_empty(right_members)) {
                return leaf();
            }
            merge_members(left_members, right_members, &map, errors)
        }
        Some(Shape::List) => {
            let list = ty.list()?;
            let left_items = left.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let right_items = right.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if list.is_atomic() || (left_items.is_empty() && right_items.is_empty()) {
                return leaf();
            }
            merge_items(left_items, right_items, &list, errors)
        }
        None => {
            errors.push("schema error: invalid atom: inlined");
            None
        }
    }
}

fn merge_members(
    left: Option<&Map<String, Value>>,
    right: Option<&Map<String, Value>>,
    map: &MapRef<'_>,
    errors: &mut TypeErrors,
) -> Option<Value> {
    let mut merged = Map::new();
    for (name, left, right) in zip(left, right) {
        let Some(ty) = map.field(name).or_else(|| map.element()) else {
            continue;
        };
        let first = errors.0.len();
        let value = visit(left, right, ty, errors);
        errors.prefix(first, &format_args!(".{name}"));
        if let Some(value) = value {
            merged.insert(name.to_owned(), value);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// The items of one side: their elements in the order of the list, and the item of each element.
struct Index<'v> {
    elements: Vec<PathElement>,
    /// `None` for an element that items share: such items are not merged.
    items: BTreeMap<PathElement, Option<&'v Value>>,
}

impl<'v> Index<'v> {
    fn of(items: &'v [Value], list: &ListRef<'_>, duplicates: Duplicates, errors: &mut TypeErrors) -> Self {
        let mut index = Self {
            elements: Vec::with_capacity(items.len()),
            items: BTreeMap::new(),
        };
        for (at, item) in items.iter().enumerate() {
            let element = match item_element(list, item) {
                Ok(element) => element,
                Err(message) => {
                    errors.push(format!("element {at}: {message}"));
                    continue;
                }
            };
            match (index.items.contains_key(&element), duplicates) {
                (true, Duplicates::Refused) => {
                    errors.push(format!("duplicate entries for key {element}"));
                    continue;
                }
                (found, _) => index.items.insert(element.clone(), (!found).then_some(item)),
            };
            index.elements.push(element);
        }
        index
    }

    fn has(&self, element: &PathElement) -> bool {
        self.items.contains_key(element)
    }

    fn item(&self, element: &PathElement) -> Option<&'v Value> {
        self.items.get(element).copied().flatten()
    }
}

fn merge_items(
    left_items: &[Value],
    right_items: &[Value],
    list: &ListRef<'_>,
    errors: &mut TypeErrors,
) -> Option<Value> {
    let first = errors.0.len();
    let right = Index::of(right_items, list, Duplicates::Refused, errors);
    let left = Index::of(left_items, list, Duplicates::Allowed, errors);
    if errors.0.len() > first {
        return None;
    }
    // What does not fit in an item that is merged does not matter: upstream drops these errors.
    let merge_item = |left: Option<&Value>, right: Option<&Value>| {
        visit(left, right, list.item, &mut TypeErrors::default())
    };

    // Elements that both lists have, in the order in which they shall be.
    let mut shared: VecDeque<&PathElement> = right
        .elements
        .iter()
        .filter(|element| left.has(element))
        .collect();
    let mut merged = Vec::with_capacity(left.elements.len().max(right.elements.len()));
    let mut taken: BTreeSet<&PathElement> = BTreeSet::new();
    let (mut at_left, mut at_right) = (0, 0);
    while at_left < left.elements.len() || at_right < right.elements.len() {
        let next = (left.elements.get(at_left), right.elements.get(at_right));
        if let (Some(left_element), Some(right_element)) = next {
            if left_element == right_element {
                taken.insert(right_element);
                merged.extend(merge_item(left.item(left_element), right.item(right_element)));
                at_left += 1;
                at_right += 1;
                shared.pop_front();
                continue;
            }
            if right.has(left_element) && shared.front().is_some_and(|next| *next != left_element) {
                // It is shared, but not the one whose turn it is.
                at_left += 1;
                continue;
            }
        }
        if let Some(element) = next.0 {
            if !right.has(element) {
                // The item at this place: of items that are there twice each is kept.
                merged.extend(merge_item(left_items.get(at_left), None));
                at_left += 1;
                continue;
            }
            if taken.contains(element) {
                at_left += 1;
            }
        }
        if let Some(element) = next.1 {
            taken.insert(element);
            merged.extend(merge_item(left.item(element), right.item(element)));
            at_right += 1;
            if shared.front() == Some(&element) {
                shared.pop_front();
            }
        }
    }
    (!merged.is_empty()).then_some(Value::Array(merged))
}
