//! Values with their types: what fields they have, how they differ, how they are merged.
//!
//! Upstream: structured-merge-diff `typed/`. Nothing here clones a value to look at it, and two values that are the
//! same cost no allocation to compare, lists of items with keys aside.

mod compare;
mod error;
mod field_set;
mod items;
mod merge;
mod reconcile;
mod remove;
#[cfg(test)]
mod tests;
mod validate;

pub use compare::{Comparison, compare};
pub use error::{Mismatch, TypeErrors};
pub use field_set::field_set;
pub use merge::merge;
pub use reconcile::reconcile;
pub use remove::{extract_items, remove_items};
pub use validate::{Duplicates, validate};

use serde_json::Value;

use crate::types::TypeRef;

/// Which of the shapes of a type a value is looked at as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shapes {
    scalar: bool,
    list: bool,
    map: bool,
}

/// The shape in which a value is to be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Map,
    Scalar,
    List,
}

impl Shapes {
    /// Narrows a type to what the value is, if the type allows it (upstream's `deduceAtom`).
    fn of(ty: TypeRef<'_>, value: Option<&Value>) -> Self {
        let all = Self {
            scalar: ty.scalar().is_some(),
            list: ty.list().is_some(),
            map: ty.map().is_some(),
        };
        let none = Self {
            scalar: false,
            list: false,
            map: false,
        };
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if all.scalar => {
                Self { scalar: true, ..none }
            }
            Some(Value::Array(_)) if all.list => Self { list: true, ..none },
            Some(Value::Object(_)) if all.map => Self { map: true, ..none },
            _ => all,
        }
    }

    /// The first that applies, in upstream's order.
    fn first(self) -> Option<Shape> {
        if self.map {
            Some(Shape::Map)
        } else if self.scalar {
            Some(Shape::Scalar)
        } else if self.list {
            Some(Shape::List)
        } else {
            None
        }
    }
}
