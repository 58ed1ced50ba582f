//! Small readers over JSON objects that see them as Go would: absent, `null` and the zero value are one thing.

use kubewright_core::json::by_name;
use serde_json::{Map, Value, json};

/// A JSON object, as the built-in tables hand it round.
pub(crate) type Object = Map<String, Value>;

/// The value at a JSON pointer (RFC 6901), as [`Value::pointer`] finds it: that makes two texts of each name on the way, where this
/// one makes none.
pub(crate) fn pointer<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.contains('~') {
        return value.pointer(pointer);
    }
    if pointer.is_empty() {
        return Some(value);
    }
    let (mut value, mut rest) = (value, pointer.strip_prefix('/')?);
    loop {
        // Names are short: to look for their end in another way than byte by byte takes longer.
        let end = rest.bytes().position(|byte| byte == b'/');
        let name = end.map_or(rest, |end| &rest[..end]);
        value = match value {
            Value::Object(fields) => fields.get(name)?,
            Value::Array(items) => items.get(index(name)?)?,
            _ => return None,
        };
        match end {
            Some(end) => rest = &rest[end + 1..],
            None => return Some(value),
        }
    }
}

/// A place in a list: digits without a sign, and without zeros before others.
fn index(name: &str) -> Option<usize> {
    if name.starts_with('+') || name.len() > 1 && name.starts_with('0') {
        return None;
    }
    name.parse().ok()
}

/// The string at a JSON pointer, or the empty string if it is absent or of another type.
pub(crate) fn str_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    self::pointer(value, pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The value at a JSON pointer, unless it is absent or null.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    self::pointer(value, pointer).filter(|found| !found.is_null())
}

/// The items of the list at a JSON pointer; empty if there is none.
pub(crate) fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    self::pointer(value, pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The entries of the map at a JSON pointer; empty if there is none.
pub(crate) fn map_at<'a>(
    value: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    self::pointer(value, pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(by_name)
}

/// Whether the boolean at a JSON pointer is true.
pub(crate) fn true_at(value: &Value, pointer: &str) -> bool {
    self::pointer(value, pointer)
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

/// The integer at a JSON pointer.
pub(crate) fn int_at(value: &Value, pointer: &str) -> Option<i64> {
    self::pointer(value, pointer).and_then(Value::as_i64)
}

/// The string in `field`, or the empty string.
pub(crate) fn str_in<'a>(object: &'a Object, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Whether `field` is absent or null: a nil pointer, map or slice in Go.
pub(crate) fn is_nil(object: &Object, field: &str) -> bool {
    object.get(field).is_none_or(Value::is_null)
}

/// Whether a value is the zero value of its Go type: null, `""`, `0`, `false`, an empty list or map.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// The object in `field`, made if it is absent or null; `None` if something else is there.
pub(crate) fn child<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    if is_nil(object, field) {
        object.insert(field.to_owned(), Value::Object(Object::new()));
    }
    object.get_mut(field)?.as_object_mut()
}

/// Equality as `apiequality.Semantic.DeepEqual` sees it for JSON: absent, null, empty list and empty map are equal,
/// at every depth. Quantities must have been canonicalised before.
pub(crate) fn semantically_equal(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            left.iter()
                .all(|(key, value)| semantically_equal(Some(value), right.get(key)))
                && right
                    .iter()
                    .all(|(key, value)| left.contains_key(key) || is_empty(Some(value)))
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| semantically_equal(Some(left), Some(right)))
        }
        (Some(left), Some(right)) if left == right => true,
        (left, right) => is_empty(left) && is_empty(right),
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.values().all(|value| is_empty(Some(value))),
        Some(_) => false,
    }
}

/// Sets a condition in the status of an object; the time of its last transition stays where its own status does (pkg/api/pod/util.go
/// `UpdatePodCondition`, apiextensions pkg/apihelpers `SetCRDCondition`).
pub(crate) fn set_condition(object: &mut Value, mut condition: Value, now: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let present = conditions
        .iter_mut()
        .find(|present| present["type"] == condition["type"]);
    let since = match &present {
        Some(present)
            if present["status"] == condition["status"] && present["lastTransitionTime"].is_string() =>
        {
            present["lastTransitionTime"].clone()
        }
        _ => now.into(),
    };
    condition["lastTransitionTime"] = since;
    match present {
        Some(present) => *present = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_find_what_those_of_serde_json_find() {
        let value = json!({"a": {"": 1, "b/c": 2, "d": [3, {"e": 4}]}, "0": 5});
        for text in [
            "",
            "/",
            "a",
            "/a",
            "/a/",
            "/a/b~1c",
            "/a/d",
            "/a/d/0",
            "/a/d/1/e",
            "/a/d/1/e/f",
            "/a/d/2",
            "/a/d/01",
            "/a/d/+1",
            "/a/d/-",
            "/a/d/00",
            "/0",
            "/a//",
            "//",
        ] {
            assert_eq!(pointer(&value, text), value.pointer(text), "{text:?}");
        }
    }

    #[test]
    fn semantic_equality_takes_nil_and_empty_as_one() {
        #[track_caller]
        fn check(left: Value, right: Value, equal: bool) {
            assert_eq!(
                semantically_equal(Some(&left), Some(&right)),
                equal,
                "{left} {right}"
            );
            assert_eq!(
                semantically_equal(Some(&right), Some(&left)),
                equal,
                "{right} {left}"
            );
        }
        check(json!({}), json!({"a": null, "b": [], "c": {"d": {}}}), true);
        check(json!({"a": 1}), json!({"a": 1}), true);
        check(json!({"a": 1}), json!({}), false);
        check(json!([{"a": []}]), json!([{}]), true);
        check(json!([1, 2]), json!([2, 1]), false);
        check(json!(null), json!(""), false);
    }
}
