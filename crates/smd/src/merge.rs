//! JSON merge patch: RFC 7386 as the API server applies it.

use serde_json::{Map, Value};

/// Applies a JSON merge patch.
///
/// Members of `patch` that are null delete the member of the same name, objects are merged, everything else replaces.
/// A patch that is not an object replaces the document; whoever needs an object has to check the result.
///
/// The Kubernetes API server uses evanphx/json-patch (`merge.go`), which goes one step further than the RFC: where an
/// array of the patch takes the place of something that is not an object, null members of the objects in that array
/// are dropped too. This function does the same, and like the original keeps null *elements* of arrays.
pub fn patch(original: Value, patch: &Value) -> Value {
    match (original, patch) {
        (Value::Object(mut document), Value::Object(patch)) => {
            merge_members(&mut document, patch);
            Value::Object(document)
        }
        (_, patch) => without_null_members(patch),
    }
}

fn merge_members(document: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, change) in patch {
        if change.is_null() {
            document.remove(key);
            continue;
        }
        match (document.get_mut(key), change) {
            (Some(Value::Object(current)), Value::Object(change)) => merge_members(current, change),
            (Some(current @ Value::Object(_)), change) => *current = change.clone(),
            (_, change) => {
                document.insert(key.clone(), without_null_members(change));
            }
        }
    }
}

fn without_null_members(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(key, member)| (key.clone(), without_null_members(member)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(without_null_members).collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(original: Value, change: Value, expect: Value) {
        assert_eq!(patch(original.clone(), &change), expect, "{original} + {change}");
    }

    /// The table of RFC 7386 appendix A, and below the line where evanphx/json-patch says more.
    #[test]
    fn applies() {
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}));
        check(json!({"a": "b"}), json!({"a": null}), json!({}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}));
        check(
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        );
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"]));
        check(json!({"a": "b"}), json!(["c"]), json!(["c"]));
        check(json!({"a": "foo"}), json!(null), json!(null));
        check(json!({"a": "foo"}), json!("bar"), json!("bar"));
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"}));
        check(
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        );

        check(
            json!({}),
            json!({"a": [{"b": null, "c": 1}, null]}),
            json!({"a": [{"c": 1}, null]}),
        );
        check(json!({"a": [1]}), json!({"a": [{"b": null}]}), json!({"a": [{}]}));
        check(
            json!({"a": {"x": 1}}),
            json!({"a": [{"b": null}]}),
            json!({"a": [{"b": null}]}),
        );
    }
}
