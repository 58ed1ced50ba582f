//! Values with their types: what fields they have, how they differ, how they are merged.
//!
//! Upstream: structured-merge-diff `typed/`. Nothing here clones a value to look at it, and two values that are the
//! same cost no allocation to compare, lists of items with keys aside.

mod compare;
mod error;
mod field_set;
mod fits;
mod items;
mod merge;
mod reconcile;
mod remove;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use compare::compare_fitting;
pub use compare::{Comparison, compare};
pub use error::{Mismatch, TypeErrors};
pub use field_set::field_set;
pub(crate) use fits::fits;
pub use merge::merge;
pub use reconcile::reconcile;
pub use remove::{extract_items, remove_items};
pub use validate::{Duplicates, validate};

use serde_json::Value;

use crate::types::TypeRef;

/// The shape in which a value is to be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Map,
    Scalar,
    List,
}

impl Shape {
    /// What the value is, if the type allows that; or else the first shape that the type has, in upstream's order.
    fn of(ty: TypeRef<'_>, value: Option<&Value>) -> Option<Self> {
        match value {
            Some(Value::Object(_)) if ty.map().is_some() => Some(Self::Map),
            Some(Value::Array(_)) if ty.list().is_some() => Some(Self::List),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if ty.scalar().is_some() => {
                Some(Self::Scalar)
            }
            _ if ty.map().is_some() => Some(Self::Map),
            _ if ty.scalar().is_some() => Some(Self::Scalar),
            _ if ty.list().is_some() => Some(Self::List),
            _ => None,
        }
    }

    /// Whether the type looks the same to both values (upstream's `deduceAtom` gives the same for both).
    fn same(ty: TypeRef<'_>, left: &Value, right: &Value) -> bool {
        use Value::{Array, Bool, Number, Object, String};
        match (left, right) {
            (Object(_), Object(_))
            | (Array(_), Array(_))
            | (Bool(_) | Number(_) | String(_), Bool(_) | Number(_) | String(_)) => true,
            _ => Self::mask(ty, left) == Self::mask(ty, right),
        }
    }

    /// The shapes that the type has left for a value: one if the value is of it, all otherwise.
    fn mask(ty: TypeRef<'_>, value: &Value) -> [bool; 3] {
        let all = [ty.map().is_some(), ty.scalar().is_some(), ty.list().is_some()];
        match value {
            Value::Object(_) if all[0] => [true, false, false],
            Value::Bool(_) | Value::Number(_) | Value::String(_) if all[1] => [false, true, false],
            Value::Array(_) if all[2] => [false, false, true],
            _ => all,
        }
    }
}
