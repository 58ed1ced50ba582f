//! JSON patch: RFC 6902 in the dialect of evanphx/json-patch v4, which the API server uses.
//!
//! Where the two differ, the server's behaviour counts, since users' patches were written against it:
//! * a negative array index counts from the end;
//! * the root can be replaced, by an object or a list, but not removed (a path always has at least one token);
//! * `replace` and `copy` take a member that is absent for one that is null;
//! * `test` with a null value succeeds where the member is absent;
//! * error texts are evanphx's, since kubectl prints them.

use serde_json::{Map, Value};
use thiserror::Error;

/// The most operations that one patch may have (`maxJSONPatchOperations` of the API server's patch handler).
pub const MAX_OPERATIONS: usize = 10_000;

/// The most bytes of JSON that the `copy` operations of one patch may add to a document.
///
/// Each copy can double what is there, so without a limit thirty operations would fill any memory. The value is that
/// of the largest request body which the server accepts.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Why a JSON patch could not be read or applied.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch is not an array of objects. The server answers 400.
    #[error("error decoding patch: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The patch has more than [`MAX_OPERATIONS`] operations. The server answers 413.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}")]
    TooManyOperations {
        /// How many it has.
        count: usize,
    },
    /// A `test` operation found another value. The server answers 422.
    #[error("testing value {path} failed: test failed")]
    TestFailed {
        /// The JSON pointer of the operation.
        path: String,
    },
    /// An operation points at something that is not there. The server answers 422.
    #[error("{context}: missing value")]
    Missing {
        /// The operation and the path, in evanphx's words.
        context: String,
    },
    /// An operation names an array index that is out of bounds or no number. The server answers 422.
    #[error("{context}: {reason}")]
    InvalidIndex {
        /// The operation and the path, in evanphx's words.
        context: String,
        /// What is wrong with the index.
        reason: String,
    },
    /// The operation is none of add, remove, replace, move, copy and test. The server answers 422.
    #[error("Unexpected kind: {op}")]
    UnknownOperation {
        /// The operation's name, or `unknown` where there is none.
        op: String,
    },
    /// The copies of the patch add more than [`MAX_COPIED_BYTES`]. The server answers 422.
    #[error(
        "Unable to complete the copy, the accumulated size increase of copy is {size}, exceeding the limit {MAX_COPIED_BYTES}"
    )]
    CopiesTooLarge {
        /// The size reached, in bytes of JSON.
        size: usize,
    },
}

impl PatchError {
    /// Whether a `test` operation of the patch did not hold.
    pub fn is_test_failed(&self) -> bool {
        matches!(self, Self::TestFailed { .. })
    }

    /// Whether the patch itself is unreadable (400), rather than not applicable (422).
    pub fn is_malformed(&self) -> bool {
        matches!(self, Self::Malformed { .. })
    }

    /// Whether the patch has too many operations (413).
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::TooManyOperations { .. })
    }
}

/// A patch whose shape has been checked: a list of operations, not too many.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    operations: Vec<Map<String, Value>>,
}

/// Reads a patch and applies it: [`Patch::new`] and [`Patch::apply`] in one.
///
/// # Errors
/// Those of the two.
pub fn patch(original: Value, patch: &Value) -> Result<Value, PatchError> {
    Patch::new(patch)?.apply(original)
}

impl Patch {
    /// Checks that a value is a list of objects.
    ///
    /// # Errors
    /// [`PatchError::Malformed`] and [`PatchError::TooManyOperations`].
    pub fn new(patch: &Value) -> Result<Self, PatchError> {
        let malformed = |reason: &str| PatchError::Malformed {
            reason: reason.to_owned(),
        };
        let items = patch
            .as_array()
            .ok_or_else(|| malformed("a JSON patch must be an array of operations"))?;
        if items.len() > MAX_OPERATIONS {
            return Err(PatchError::TooManyOperations { count: items.len() });
        }
        let operation = |item: &Value| item.as_object().cloned();
        let operations = items.iter().map(operation).collect::<Option<_>>();
        let operations =
            operations.ok_or_else(|| malformed("an operation of a JSON patch must be an object"))?;
        Ok(Self { operations })
    }

    /// Applies the operations in order.
    ///
    /// # Errors
    /// The first operation that does not apply ends the patch.
    pub fn apply(&self, original: Value) -> Result<Value, PatchError> {
        let mut document = original;
        let mut copied = 0;
        for operation in &self.operations {
            apply_one(&mut document, operation, &mut copied)?;
        }
        Ok(document)
    }
}

fn apply_one(
    document: &mut Value,
    operation: &Map<String, Value>,
    copied: &mut usize,
) -> Result<(), PatchError> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let op = text("op").unwrap_or("unknown");
    if !matches!(op, "add" | "remove" | "replace" | "move" | "copy" | "test") {
        return Err(PatchError::UnknownOperation { op: op.to_owned() });
    }
    let member = |name: &str| {
        text(name).ok_or_else(|| {
            missing(format!(
                "{op} operation failed to decode {name}: operation missing {name} field"
            ))
        })
    };
    let path = member("path")?;
    let value = operation.get("value").unwrap_or(&Value::Null);
    match op {
        "add" => {
            let (parent, key) = locate(document, path).ok_or_else(|| {
                missing(format!(
                    "add operation does not apply: doc is missing path: \"{path}\""
                ))
            })?;
            insert(parent, &key, value.clone(), || {
                format!("error in add for path: '{path}'")
            })
        }
        "remove" => {
            let (parent, key) = locate(document, path).ok_or_else(|| {
                missing(format!(
                    "remove operation does not apply: doc is missing path: \"{path}\""
                ))
            })?;
            take(parent, &key, || format!("error in remove for path: '{path}'")).map(drop)
        }
        "replace" if path.is_empty() && (value.is_object() || value.is_array()) => {
            *document = value.clone();
            Ok(())
        }
        "replace" => {
            let (parent, key) = locate(document, path).ok_or_else(|| {
                missing(format!(
                    "replace operation does not apply: doc is missing path: {path}"
                ))
            })?;
            // A member that is not there is one with nothing in it.
            if let Value::Object(members) = parent {
                members.insert(key, value.clone());
                return Ok(());
            }
            let slot = child(parent, &key).ok_or_else(|| {
                missing(format!(
                    "replace operation does not apply: doc is missing key: {path}"
                ))
            })?;
            *slot = value.clone();
            Ok(())
        }
        "test" => test(document, path, value),
        "move" => {
            let from = member("from")?;
            let (parent, key) = locate(document, from).ok_or_else(|| {
                missing(format!(
                    "move operation does not apply: doc is missing from path: {from}"
                ))
            })?;
            let moved = take(parent, &key, || format!("error in move for path: '{key}'"))?;
            place(document, path, moved, op)
        }
        _ => {
            let from = member("from")?;
            let (parent, key) = locate(document, from).ok_or_else(|| {
                missing(format!(
                    "copy operation does not apply: doc is missing from path: {from}"
                ))
            })?;
            let is_object = parent.is_object();
            let source = match child(parent, &key) {
                Some(source) => &*source,
                None if is_object => &Value::Null,
                None => {
                    return Err(missing(format!(
                        "error in copy for from: '{from}': unable to get nonexistent key: {key}"
                    )));
                }
            };
            *copied = copied.saturating_add(source.to_string().len());
            if *copied > MAX_COPIED_BYTES {
                return Err(PatchError::CopiesTooLarge { size: *copied });
            }
            let copy = source.clone();
            place(document, path, copy, op)
        }
    }
}

fn place(document: &mut Value, path: &str, value: Value, op: &str) -> Result<(), PatchError> {
    let (parent, key) = locate(document, path).ok_or_else(|| {
        missing(format!(
            "{op} operation does not apply: doc is missing destination path: {path}"
        ))
    })?;
    insert(parent, &key, value, || match op {
        "copy" => "error while adding value during copy".to_owned(),
        _ => format!("error in {op} for path: '{path}'"),
    })
}

fn test(document: &mut Value, path: &str, expected: &Value) -> Result<(), PatchError> {
    let (parent, key) = locate(document, path)
        .ok_or_else(|| missing(format!("test operation does not apply: is missing path: {path}")))?;
    if let Value::Array(items) = parent
        && index(items.len(), &key).is_none()
    {
        return Err(invalid_index(format!("error in test for path: '{path}'"), &key));
    }
    let actual = child(parent, &key).map_or(&Value::Null, |value| &*value);
    if same(actual, expected) {
        Ok(())
    } else {
        Err(PatchError::TestFailed {
            path: path.to_owned(),
        })
    }
}

/// RFC 6902 section 4.6: numbers are equal where their values are.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// Finds the container of a path's last token. `None` where the way there does not exist or is a scalar.
fn locate<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let mut tokens = path.split('/').skip(1).map(decode);
    let mut key = tokens.next()?;
    let mut parent = document;
    for next in tokens {
        parent = child(parent, &key)?;
        key = next;
    }
    (parent.is_object() || parent.is_array()).then_some((parent, key))
}

/// RFC 6901 section 4: `~1` first, then `~0`.
fn decode(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

fn child<'a>(parent: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match parent {
        Value::Object(members) => members.get_mut(key),
        Value::Array(items) => {
            let index = index(items.len(), key)?;
            items.get_mut(index)
        }
        _ => None,
    }
}

/// The position that a token names in an array of some length; negative ones count from the end.
fn index(len: usize, key: &str) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let len = i64::try_from(len).ok()?;
    let index = if index < 0 { index.checked_add(len)? } else { index };
    if (0..len).contains(&index) {
        usize::try_from(index).ok()
    } else {
        None
    }
}

fn insert(
    parent: &mut Value,
    key: &str,
    value: Value,
    context: impl Fn() -> String,
) -> Result<(), PatchError> {
    match parent {
        Value::Object(members) => {
            members.insert(key.to_owned(), value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let index = index(items.len() + 1, key).ok_or_else(|| invalid_index(context(), key))?;
            items.insert(index, value);
        }
        _ => return Err(missing(context())),
    }
    Ok(())
}

fn take(parent: &mut Value, key: &str, context: impl Fn() -> String) -> Result<Value, PatchError> {
    match parent {
        Value::Object(members) => members
            .remove(key)
            .ok_or_else(|| missing(format!("{}: unable to remove nonexistent key: {key}", context()))),
        Value::Array(items) => match index(items.len(), key) {
            Some(index) => Ok(items.remove(index)),
            None => Err(invalid_index(context(), key)),
        },
        _ => Err(missing(context())),
    }
}

fn missing(context: String) -> PatchError {
    PatchError::Missing { context }
}

fn invalid_index(context: String, key: &str) -> PatchError {
    let reason = match key.parse::<i64>() {
        Ok(index) => format!("unable to access invalid index: {index}: invalid index referenced"),
        Err(_) => format!("strconv.Atoi: parsing {key:?}: invalid syntax"),
    };
    PatchError::InvalidIndex { context, reason }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(original: Value, operations: Value, expect: Result<Value, &str>) {
        let result = patch(original, &operations).map_err(|error| error.to_string());
        assert_eq!(result, expect.map_err(str::to_owned), "{operations}");
    }

    #[test]
    fn applies() {
        let doc = || json!({"a": {"b": 1}, "l": [1, 2, 3], "s/t~": "x"});
        for (operation, expect) in [
            (
                json!({"op": "add", "path": "/a/c", "value": 2}),
                json!({"a": {"b": 1, "c": 2}, "l": [1, 2, 3], "s/t~": "x"}),
            ),
            (
                json!({"op": "add", "path": "/l/-", "value": 4}),
                json!({"a": {"b": 1}, "l": [1, 2, 3, 4], "s/t~": "x"}),
            ),
            (
                json!({"op": "add", "path": "/l/0", "value": 0}),
                json!({"a": {"b": 1}, "l": [0, 1, 2, 3], "s/t~": "x"}),
            ),
            (
                json!({"op": "add", "path": "/l/-1", "value": 9}),
                json!({"a": {"b": 1}, "l": [1, 2, 3, 9], "s/t~": "x"}),
            ),
            (
                json!({"op": "remove", "path": "/l/-1"}),
                json!({"a": {"b": 1}, "l": [1, 2], "s/t~": "x"}),
            ),
            (
                json!({"op": "remove", "path": "/s~1t~0"}),
                json!({"a": {"b": 1}, "l": [1, 2, 3]}),
            ),
            (
                json!({"op": "replace", "path": "/a/b", "value": {}}),
                json!({"a": {"b": {}}, "l": [1, 2, 3], "s/t~": "x"}),
            ),
            (
                json!({"op": "move", "from": "/a/b", "path": "/m"}),
                json!({"a": {}, "l": [1, 2, 3], "m": 1, "s/t~": "x"}),
            ),
            (
                json!({"op": "copy", "from": "/l", "path": "/a/b"}),
                json!({"a": {"b": [1, 2, 3]}, "l": [1, 2, 3], "s/t~": "x"}),
            ),
            (json!({"op": "test", "path": "/a", "value": {"b": 1.0}}), doc()),
            (json!({"op": "test", "path": "/nowhere", "value": null}), doc()),
        ] {
            check(doc(), json!([operation]), Ok(expect));
        }
    }

    #[test]
    fn refuses() {
        for (operation, expect) in [
            (
                json!({"op": "test", "path": "/a", "value": 2}),
                "testing value /a failed: test failed",
            ),
            (
                json!({"op": "test", "path": "/x", "value": 2}),
                "testing value /x failed: test failed",
            ),
            (
                json!({"op": "test", "path": "/x/y", "value": 2}),
                "test operation does not apply: is missing path: /x/y: missing value",
            ),
            (
                json!({"op": "remove", "path": "/x"}),
                "error in remove for path: '/x': unable to remove nonexistent key: x: missing value",
            ),
            (
                json!({"op": "remove", "path": ""}),
                "remove operation does not apply: doc is missing path: \"\": missing value",
            ),
            (
                json!({"op": "replace", "path": "/l/7", "value": 1}),
                "replace operation does not apply: doc is missing key: /l/7: missing value",
            ),
            (
                json!({"op": "add", "path": "/x/y", "value": 1}),
                "add operation does not apply: doc is missing path: \"/x/y\": missing value",
            ),
            (
                json!({"op": "add", "path": "/l/7", "value": 1}),
                "error in add for path: '/l/7': unable to access invalid index: 7: invalid index referenced",
            ),
            (
                json!({"op": "add", "path": "/l/z", "value": 1}),
                "error in add for path: '/l/z': strconv.Atoi: parsing \"z\": invalid syntax",
            ),
            (
                json!({"op": "copy", "from": "/l/7", "path": "/y"}),
                "error in copy for from: '/l/7': unable to get nonexistent key: 7: missing value",
            ),
            (json!({"op": "jump", "path": "/a"}), "Unexpected kind: jump"),
            (
                json!({"op": "add"}),
                "add operation failed to decode path: operation missing path field: missing value",
            ),
        ] {
            check(json!({"a": 1, "l": [1]}), json!([operation]), Err(expect));
        }
        check(
            json!({"a": 1}),
            json!([{"op": "replace", "path": "/x", "value": 1}, {"op": "copy", "from": "/y", "path": "/z"}]),
            Ok(json!({"a": 1, "x": 1, "z": null})),
        );
        check(
            json!({"a": 1}),
            json!([{"op": "replace", "path": "", "value": {}}]),
            Ok(json!({})),
        );
        check(
            json!({}),
            json!({}),
            Err("error decoding patch: a JSON patch must be an array of operations"),
        );
    }

    #[test]
    fn limits() {
        let operation = json!({"op": "test", "path": "/x", "value": null});
        let most = Value::Array(vec![operation.clone(); MAX_OPERATIONS]);
        assert_eq!(patch(json!({}), &most), Ok(json!({})));
        let more = Value::Array(vec![operation; MAX_OPERATIONS + 1]);
        assert!(patch(json!({}), &more).is_err_and(|error| error.is_too_large()));

        let doubling = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        let bomb = Value::Array(vec![doubling; 40]);
        let result = patch(json!({"a": ["0123456789"]}), &bomb);
        assert!(
            matches!(result, Err(PatchError::CopiesTooLarge { .. })),
            "{result:?}"
        );
    }
}
