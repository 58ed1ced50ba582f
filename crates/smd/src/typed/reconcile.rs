//! Sets that were written when types were other ones.

use crate::fields::{FieldSet, PathElement};
use crate::types::TypeRef;

/// The set in terms of the type as it is now, if that differs (structured-merge-diff `typed/reconcile_schema.go`).
///
/// Whoever owned something in a map or list that has become atomic now owns it as a whole. The other way there is
/// nothing to do: who owned the whole owns the whole.
pub fn reconcile(set: &FieldSet, ty: TypeRef<'_>) -> Option<FieldSet> {
    match visit(set, ty, Standing::Above) {
        Change::To(set) => Some(set),
        // The object itself is in no set.
        Change::None | Change::ToLeaf => None,
    }
}

enum Change {
    None,
    /// To the value as a whole.
    ToLeaf,
    To(FieldSet),
}

/// What the set says of the value that is visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is a member, and nothing below it is.
    Leaf,
    /// Something below it is.
    Above,
}

fn visit(set: &FieldSet, ty: TypeRef<'_>, standing: Standing) -> Change {
    if let Some(map) = ty.map() {
        if map.is_deduced() {
            return Change::None;
        }
        if standing != Standing::Leaf && map.is_atomic() {
            return if set.is_empty() {
                Change::None
            } else {
                Change::ToLeaf
            };
        }
        if set.is_empty() {
            return Change::None;
        }
        return visit_below(set, |element| match element {
            PathElement::Field(name) => map.field(name).or_else(|| map.element()),
            _ => map.element(),
        });
    }
    if ty.scalar().is_some() {
        return Change::None;
    }
    match ty.list() {
        Some(list) if standing != Standing::Leaf && list.is_atomic() => Change::ToLeaf,
        Some(list) => visit_below(set, |_| Some(list.item)),
        None => Change::None,
    }
}

fn visit_below<'t>(set: &FieldSet, ty: impl Fn(&PathElement) -> Option<TypeRef<'t>>) -> Change {
    let mut changed: Option<FieldSet> = None;
    for (at, node) in set.nodes().iter().enumerate() {
        let standing = match (node.member, node.below.is_empty()) {
            (true, true) => Standing::Leaf,
            _ => Standing::Above,
        };
        let change = match ty(&node.element) {
            Some(ty) => visit(&node.below, ty, standing),
            None => Change::None,
        };
        let (member, below) = match change {
            Change::None => continue,
            Change::ToLeaf => (true, FieldSet::new()),
            Change::To(below) => (node.member, below),
        };
        changed
            .get_or_insert_with(|| set.clone())
            .replace(at, member, below);
    }
    changed.map_or(Change::None, Change::To)
}
