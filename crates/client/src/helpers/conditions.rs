//! What to wait for: conditions for [`Api::wait_for`](crate::Api::wait_for), as `kubectl wait` has them.
//!
//! Any closure over the object, or its absence, is one too.

use kubewright_core::Resource;
use serde::Serialize;
use serde_json::Value;

/// The object is there.
pub fn exists<K>() -> impl FnMut(Option<&K>) -> bool {
    |object| object.is_some()
}

/// The object with this uid is gone; another may have its name by now.
pub fn is_deleted<K: Resource>(uid: impl Into<String>) -> impl FnMut(Option<&K>) -> bool {
    let uid = uid.into();
    move |object| object.is_none_or(|object| object.metadata().uid.as_deref() != Some(&uid))
}

/// The object has a condition of this type with this status, such as `Ready` and `True`, whatever the case of the
/// letters.
///
/// A condition, or a status, that was observed of an older generation of the object does not count (kubectl
/// `pkg/cmd/wait/condition.go`).
pub fn has_condition<K: Serialize>(
    kind: impl Into<String>,
    status: impl Into<String>,
) -> impl FnMut(Option<&K>) -> bool {
    let (kind, status) = (kind.into(), status.into());
    move |object| {
        object
            .and_then(|object| serde_json::to_value(object).ok())
            .is_some_and(|object| condition_is(&object, &kind, &status))
    }
}

/// The field at this JSON pointer (RFC 6901), such as `/status/phase`, has this value.
pub fn has_field<K: Serialize>(
    pointer: impl Into<String>,
    value: impl Into<Value>,
) -> impl FnMut(Option<&K>) -> bool {
    let (pointer, value) = (pointer.into(), value.into());
    move |object| {
        object
            .and_then(|object| serde_json::to_value(object).ok())
            .is_some_and(|object| object.pointer(&pointer) == Some(&value))
    }
}

fn condition_is(object: &Value, kind: &str, status: &str) -> bool {
    let is = |found: &Value, wanted: &str| {
        found
            .as_str()
            .is_some_and(|found| found.eq_ignore_ascii_case(wanted))
    };
    let conditions = object["status"]["conditions"].as_array();
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| is(&condition["type"], kind));
    let Some(condition) = condition else {
        return false;
    };
    let observed = [condition, &object["status"]]
        .into_iter()
        .find_map(|place| place["observedGeneration"].as_i64());
    let generation = object["metadata"]["generation"].as_i64();
    let is_old = observed
        .zip(generation)
        .is_some_and(|(observed, generation)| observed < generation);
    is(&condition["status"], status) && !is_old
}

#[cfg(test)]
mod tests {
    use kubewright_core::DynamicObject;
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_follow_kubectl() {
        let object = |generation: i64, status: Value| json!({ "metadata": { "generation": generation }, "status": status });
        let ready = json!({ "type": "Ready", "status": "True" });
        let seen =
            |generation: i64| json!({ "type": "ready", "status": "true", "observedGeneration": generation });
        let rows = [
            (
                object(2, json!({ "conditions": [{ "type": "Other" }, ready] })),
                true,
            ),
            (
                object(2, json!({ "conditions": [ready], "observedGeneration": 1 })),
                false,
            ),
            (
                object(2, json!({ "conditions": [ready], "observedGeneration": 2 })),
                true,
            ),
            (
                object(2, json!({ "conditions": [seen(1)], "observedGeneration": 2 })),
                false,
            ),
            (
                object(2, json!({ "conditions": [seen(2)], "observedGeneration": 1 })),
                true,
            ),
            (
                object(
                    2,
                    json!({ "conditions": [{ "type": "Ready", "status": "False" }] }),
                ),
                false,
            ),
            (object(2, json!({ "conditions": "none" })), false),
            (json!({ "status": { "conditions": [ready] } }), true),
            (json!({}), false),
        ];
        for (object, expect) in rows {
            let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(has_condition("Ready", "True")(Some(&typed)), expect, "{object}");
        }
        assert!(!has_condition::<DynamicObject>("Ready", "True")(None));
    }

    #[test]
    fn fields_and_deletion() {
        let object: DynamicObject =
            serde_json::from_value(json!({ "metadata": { "uid": "u" }, "status": { "phase": "Running" } }))
                .unwrap();
        assert!(has_field("/status/phase", "Running")(Some(&object)));
        assert!(!has_field("/status/phase", "Failed")(Some(&object)));
        assert!(!has_field("/status/none", Value::Null)(Some(&object)));
        assert!(is_deleted::<DynamicObject>("u")(None));
        assert!(is_deleted("other")(Some(&object)));
        assert!(!is_deleted("u")(Some(&object)));
        assert!(exists()(Some(&object)) && !exists::<DynamicObject>()(None));
    }
}
