//! What can be wrong with a strategic merge patch, in the words of apimachinery's `pkg/util/mergepatch/errors.go`.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{LookupError, MAX_DEPTH, SET_ELEMENT_ORDER};
use crate::go;

/// Why a strategic merge patch could not be applied.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch or the document is no JSON object.
    #[error("invalid JSON document")]
    NotAnObject,
    /// The patch nests deeper than [`MAX_DEPTH`].
    #[error("the patch is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A `$deleteFromPrimitiveList` key names no list.
    #[error("invalid patch format of primitive list")]
    BadPrimitiveList,
    /// `$retainKeys` is no list, or does not name every field that the patch sets.
    #[error("invalid patch format of retainKeys")]
    BadRetainKeys,
    /// A `$setElementOrder` key names no list, or its value is none.
    #[error("invalid patch format of setElementOrder list")]
    BadSetElementOrder,
    /// A merged list has lists as items.
    #[error("lists of lists are not supported")]
    ListsOfLists,
    /// An item of a keyed list lacks the key.
    #[error("map: {map} does not contain declared merge key: {key}")]
    MissingMergeKey {
        /// The item, as Go prints it.
        map: String,
        /// The merge key that the type declares.
        key: String,
    },
    /// A value is of another JSON type than its place asks for.
    #[error("expected a {expected}, but received a {actual}")]
    WrongType {
        /// The Go name of the type asked for.
        expected: &'static str,
        /// The Go name of the type found.
        actual: &'static str,
    },
    /// `$patch` has another value than merge, replace and delete.
    #[error("unknown patch type: {directive} in map: {map}")]
    UnknownDirective {
        /// The directive's value, as Go prints it.
        directive: String,
        /// The map that holds it, as Go prints it.
        map: String,
    },
    /// The items of a merged list are not all of one JSON type.
    #[error("list element types are not identical: {lists}")]
    MixedList {
        /// The lists, as Go prints them.
        lists: String,
    },
    /// A list to be ordered is empty on both sides.
    #[error("no elements in any of the given slices")]
    NoElements,
    /// A list of maps shall be merged, but its type declares no merge key.
    #[error("cannot merge lists without merge key for {kind}")]
    NoMergeKey {
        /// The kind of the item's type.
        kind: String,
    },
    /// An item of a keyed list says `$patch: merge`.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirectiveInList,
    /// An item of a list that is searched by key is no map.
    #[error("value for key {index} is not a map")]
    ItemNotAMap {
        /// The item's position.
        index: usize,
    },
    /// The items of the patch come in another order than `$setElementOrder` says.
    #[error("The order in patch list:\n{patch}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n")]
    OrderMismatch {
        /// The patch's list, as Go prints it.
        patch: String,
        /// The order's list, as Go prints it.
        order: String,
    },
    /// The type has no such field, or is none that has fields.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

impl PatchError {
    /// Whether the server answers 400 (`interpretStrategicMergePatchError` of the API server's patch handler).
    pub fn is_bad_request(&self) -> bool {
        matches!(
            self,
            Self::NotAnObject
                | Self::TooDeep
                | Self::BadPrimitiveList
                | Self::BadRetainKeys
                | Self::BadSetElementOrder
        )
    }

    /// Whether the server answers 422. An error that is neither this nor a bad request is answered with 500.
    pub fn is_unprocessable(&self) -> bool {
        matches!(self, Self::ListsOfLists)
    }

    pub(super) fn missing_merge_key(map: &Map<String, Value>, key: &str) -> Self {
        Self::MissingMergeKey {
            map: print_map(map),
            key: key.to_owned(),
        }
    }

    pub(super) fn not_a_map(actual: &Value) -> Self {
        Self::WrongType {
            expected: "map[string]interface {}",
            actual: go::type_name(actual),
        }
    }

    pub(super) fn not_a_list(actual: &Value) -> Self {
        Self::WrongType {
            expected: "[]interface {}",
            actual: go::type_name(actual),
        }
    }

    pub(super) fn unknown_directive(directive: &Value, map: &Map<String, Value>) -> Self {
        Self::UnknownDirective {
            directive: go::Verb(directive).to_string(),
            map: print_map(map),
        }
    }

    pub(super) fn mixed(lists: &[&[Value]]) -> Self {
        let printed: Vec<String> = lists.iter().map(|list| print_list(list)).collect();
        Self::MixedList {
            lists: format!("[{}]", printed.join(" ")),
        }
    }
}

pub(super) fn print_list(list: &[Value]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = go::list(&mut text, list);
    text
}

fn print_map(map: &Map<String, Value>) -> String {
    go::Verb(&Value::Object(map.clone())).to_string()
}
