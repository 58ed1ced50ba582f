//! Strategic merge patch: a merge patch that knows which lists are keyed, as apimachinery's `pkg/util/strategicpatch`
//! applies it.
//!
//! What a plain merge patch cannot say, this one says with the types' help (`patchStrategy`, `patchMergeKey`) and with
//! directives inside the patch:
//!
//! | directive | meaning |
//! |---|---|
//! | `$patch: replace` | the map takes the place of the live one; in a keyed list, the list does |
//! | `$patch: delete` | the map becomes empty; in a keyed list, the item of that key goes |
//! | `$retainKeys: [..]` | members of the live map which are not listed go |
//! | `$setElementOrder/<list>: [..]` | the order that the list shall have |
//! | `$deleteFromPrimitiveList/<list>: [..]` | the values to remove from a list of scalars |
//!
//! The types come through [`MergeTypes`]; [`KindTypes`] has those of the built-in types, [`OpenApiTypes`] reads them
//! from an OpenAPI v3 document.

mod error;
mod kinds;
mod list;
mod map;
mod types;

pub use error::PatchError;
pub use kinds::KindTypes;
pub use types::{Field, LookupError, MergeTypes, OpenApiTypes, Strategy};

use serde_json::Value;

/// The deepest nesting that a patch may have. What the JSON reader accepts by default is a quarter of it.
pub const MAX_DEPTH: usize = 512;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch to an object of the type that `types` describes.
///
/// The result keeps the order rules of upstream's design ("preserve order in strategic merge patch"): the explicit
/// order first, then that of the patch, then that of the live list.
///
/// # Errors
/// See [`PatchError`]; [`PatchError::is_bad_request`] tells which are the patch's fault.
pub fn patch(original: Value, patch: &Value, types: &impl MergeTypes) -> Result<Value, PatchError> {
    let (Value::Object(original), Value::Object(change)) = (original, patch) else {
        return Err(PatchError::NotAnObject);
    };
    if deeper_than(patch, MAX_DEPTH) {
        return Err(PatchError::TooDeep);
    }
    map::merge(original, change.clone(), types).map(Value::Object)
}

fn deeper_than(value: &Value, limit: usize) -> bool {
    let below = |value: &Value| limit == 0 || deeper_than(value, limit - 1);
    match value {
        Value::Array(items) => items.iter().any(below),
        Value::Object(members) => members.values().any(below),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
