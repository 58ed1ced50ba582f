//! How two values differ.

use std::cmp::Ordering;

use kubewright_core::json::by_name;
use serde_json::{Map, Value};

use super::Shape;
use super::error::TypeErrors;
use super::fits::fits;
use super::items::{sorted_items, take_run};
use super::validate::scalar_mismatch;
use crate::fields::{FieldSet, Filter, PathElement, equal};
use crate::types::{ListRef, MapRef, TypeRef};

/// How a value differs from another one (structured-merge-diff `typed/compare.go`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Fields that only the first value has.
    pub removed: FieldSet,
    /// Fields that both have, with different values.
    pub modified: FieldSet,
    /// Fields that only the second value has.
    pub added: FieldSet,
}

impl Comparison {
    /// Whether the values are the same.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// The differences without those that a filter leaves out.
    #[must_use]
    pub fn filter(self, filter: &Filter) -> Self {
        Self {
            removed: filter.apply(self.removed),
            modified: filter.apply(self.modified),
            added: filter.apply(self.added),
        }
    }
}

/// Compares two values of one type.
///
/// # Errors
/// Where a value does not fit its type so that it cannot be compared.
pub fn compare(left: &Value, right: &Value, ty: TypeRef<'_>) -> Result<Comparison, TypeErrors> {
    if let Some(comparison) = compare_fitting(left, right, ty, &[]) {
        return Ok(comparison);
    }
    compare_any(left, right, ty)
}

/// The same for values that need not fit the type.
pub(super) fn compare_any(left: &Value, right: &Value, ty: TypeRef<'_>) -> Result<Comparison, TypeErrors> {
    let mut walk = Walk::default();
    let difference = walk.visit(Some(left), Some(right), ty);
    walk.errors.into_result()?;
    Ok(difference.into_comparison())
}

/// Compares two values of one type, of which most is the same; `None` where one does not fit the type
/// ([`validate`](super::validate())). What is the same in both is not looked into where the type is a built-in one: it was
/// decoded by its type before. `but` is the path of a member that is left out, of an object with members of its own.
pub(crate) fn compare_fitting(
    left: &Value,
    right: &Value,
    ty: TypeRef<'_>,
    but: &[&str],
) -> Option<Comparison> {
    let mut walk = Walk::default();
    let difference = walk.visit_fitting(left, right, ty, but)?;
    walk.errors.0.is_empty().then(|| difference.into_comparison())
}

#[derive(Default)]
struct Part {
    member: bool,
    below: FieldSet,
}

impl Part {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

/// What a value and those below it contribute to the three sets.
#[derive(Default)]
struct Difference {
    removed: Part,
    modified: Part,
    added: Part,
    /// The value was compared as a whole.
    leaf: bool,
}

impl Difference {
    fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    fn into_comparison(self) -> Comparison {
        Comparison {
            removed: self.removed.below,
            modified: self.modified.below,
            added: self.added.below,
        }
    }

    /// Takes in the difference of a value below.
    fn push(&mut self, below: Self, element: impl FnOnce() -> PathElement) {
        if below.is_same() {
            return;
        }
        let element = element();
        for (own, part) in [
            (&mut self.removed, below.removed),
            (&mut self.modified, below.modified),
            (&mut self.added, below.added),
        ] {
            if !part.is_empty() {
                own.below.push(element.clone(), part.member, part.below);
            }
        }
    }

    /// Compares a value as a whole. Of a value within one that was compared, nothing more is said.
    fn set_leaf(&mut self, left: Option<&Value>, right: Option<&Value>) {
        if self.leaf {
            return;
        }
        self.leaf = true;
        match (left, right) {
            (None, _) => self.added.member = true,
            (_, None) => self.removed.member = true,
            (Some(left), Some(right)) => self.modified.member |= !equal(left, right),
        }
    }
}

#[derive(Default)]
struct Walk {
    errors: TypeErrors,
}

impl Walk {
    /// What [`visit`](Self::visit) says of two values that fit the type; `None` where one does not.
    fn visit_fitting(
        &mut self,
        left: &Value,
        right: &Value,
        ty: TypeRef<'_>,
        but: &[&str],
    ) -> Option<Difference> {
        if let (Value::Object(old), Value::Object(new)) = (left, right)
            && let Some(map) = ty.map().filter(|map| !map.is_atomic())
        {
            let mut difference = Difference::default();
            let is_decoded = ty.is_built_in();
            for (name, left, right) in zip(Some(old), Some(new)) {
                let below = but.strip_prefix(&[name]);
                if below.is_some_and(<[_]>::is_empty) || is_decoded && left == right {
                    continue;
                }
                let but = below.unwrap_or_default();
                let ty = map.field(name).or_else(|| map.element())?;
                let below = match (left, right) {
                    (Some(left), Some(right)) => self.visit_fitting(left, right, ty, but)?,
                    (left, right) => {
                        left.or(right).filter(|value| fits(value, ty))?;
                        self.visit(left, right, ty)
                    }
                };
                difference.push(below, || PathElement::field(name));
            }
            return Some(difference);
        }
        if !fits(right, ty) {
            return None;
        }
        if left == right {
            return Some(Difference::default());
        }
        fits(left, ty).then(|| self.visit(Some(left), Some(right), ty))
    }

    /// One of the values must be there.
    fn visit(&mut self, left: Option<&Value>, right: Option<&Value>, ty: TypeRef<'_>) -> Difference {
        let mut difference = Difference::default();
        match (left, right) {
            // A value of another shape: it leaves the old one and enters the new one.
            (Some(old), Some(new)) if !Shape::same(ty, old, new) => {
                self.visit_as(Shape::of(ty, left), left, right, ty, &mut difference);
                difference.leaf = false;
                self.visit_as(Shape::of(ty, right), left, right, ty, &mut difference);
            }
            _ => self.visit_as(Shape::of(ty, right.or(left)), left, right, ty, &mut difference),
        }
        if !difference.leaf {
            difference.added.member |= left.is_none();
            difference.removed.member |= right.is_none() && left.is_some();
        }
        difference
    }

    fn visit_as(
        &mut self,
        shape: Option<Shape>,
        left: Option<&Value>,
        right: Option<&Value>,
        ty: TypeRef<'_>,
        difference: &mut Difference,
    ) {
        match shape {
            Some(Shape::Scalar) => {
                let Some(scalar) = ty.scalar() else { return };
                let wrong = (
                    scalar_mismatch(scalar, left, "lhs: "),
                    scalar_mismatch(scalar, right, "rhs: "),
                );
                if let (Some(left), Some(right)) = wrong {
                    self.errors.push(left);
                    self.errors.push(right);
                    return;
                }
                difference.set_leaf(left, right);
            }
            Some(Shape::Map) => {
                let Some(map) = ty.map() else { return };
                let (left_members, right_members) =
                    (left.and_then(Value::as_object), right.and_then(Value::as_object));
                let is_empty = |members: Option<&Map<String, Value>>| members.is_none_or(Map::is_empty);
                if map.is_atomic() || (is_empty(left_members) && is_empty(right_members)) {
                    difference.set_leaf(left, right);
                    return;
                }
                self.visit_members(left_members, right_members, &map, difference);
            }
            Some(Shape::List) => {
                let Some(list) = ty.list() else { return };
                let left_items = left.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let right_items = right.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                if list.is_atomic() || (left_items.is_empty() && right_items.is_empty()) {
                    difference.set_leaf(left, right);
                    return;
                }
                self.visit_items(left_items, right_items, &list, difference);
            }
            None => self.errors.push("schema error: invalid atom: inlined"),
        }
    }

    fn visit_members(
        &mut self,
        left: Option<&Map<String, Value>>,
        right: Option<&Map<String, Value>>,
        map: &MapRef<'_>,
        difference: &mut Difference,
    ) {
        for (name, left, right) in zip(left, right) {
            let Some(ty) = map.field(name).or_else(|| map.element()) else {
                continue;
            };
            let errors = self.errors.0.len();
            let below = self.visit(left, right, ty);
            self.errors.prefix(errors, &format_args!(".{name}"));
            difference.push(below, || PathElement::field(name));
        }
    }

    fn visit_items(
        &mut self,
        left: &[Value],
        right: &[Value],
        list: &ListRef<'_>,
        difference: &mut Difference,
    ) {
        // Most lists are the same, and then nothing has to be sorted.
        if left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right)) {
            return;
        }
        let errors = &mut self.errors;
        let left = sorted_items(list, left, |index, message| {
            errors.push(format!("element {index}: {message}"));
        });
        let right = sorted_items(list, right, |index, message| {
            errors.push(format!("element {index}: {message}"));
        });
        let (mut left, mut right) = (&*left, &*right);
        loop {
            let element = match (left.first(), right.first()) {
                (Some((left, _)), Some((right, _))) => left.min(right),
                (Some((one, _)), None) | (None, Some((one, _))) => one,
                (None, None) => return,
            };
            let lefts = take_run(&mut left, element);
            let rights = take_run(&mut right, element);
            let errors = self.errors.0.len();
            let below = self.visit_runs(lefts, rights, list);
            self.errors.prefix(errors, element);
            difference.push(below, || element.clone());
        }
    }

    /// Compares the items of one element. Items that are there twice are compared as a whole.
    fn visit_runs(
        &mut self,
        left: &[(PathElement, &Value)],
        right: &[(PathElement, &Value)],
        list: &ListRef<'_>,
    ) -> Difference {
        let mut below = Difference::default();
        match (left, right) {
            ([] | [_], [] | [_]) => {
                return self.visit(
                    left.first().map(|(_, item)| *item),
                    right.first().map(|(_, item)| *item),
                    list.item,
                );
            }
            ([_, _, ..], [_, _, ..]) => {
                let same = left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|((_, left), (_, right))| equal(left, right));
                below.modified.member = !same;
            }
            ([_, _, ..], rest) => {
                if let Some((_, item)) = rest.first() {
                    below = self.visit(None, Some(item), list.item);
                }
                below.removed.member = true;
            }
            (rest, _) => {
                if let Some((_, item)) = rest.first() {
                    below = self.visit(Some(item), None, list.item);
                }
                below.added.member = true;
            }
        }
        below
    }
}

/// The members of two maps by name, each with the values that the maps have.
pub(super) fn zip<'v>(
    left: Option<&'v Map<String, Value>>,
    right: Option<&'v Map<String, Value>>,
) -> impl Iterator<Item = (&'v str, Option<&'v Value>, Option<&'v Value>)> {
    let mut left = left.into_iter().flat_map(by_name).peekable();
    let mut right = right.into_iter().flat_map(by_name).peekable();
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let left = if order.is_le() { left.next() } else { None };
        let right = if order.is_ge() { right.next() } else { None };
        let (name, _) = left.or(right)?;
        Some((
            name.as_str(),
            left.map(|(_, value)| value),
            right.map(|(_, value)| value),
        ))
    })
}
