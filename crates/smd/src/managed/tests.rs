//! Rows from upstream's tests of entries, their order and their validation.

use serde_json::{Value, json};

use super::*;

#[test]
fn times_are_written_as_they_are_recognised() {
    for (text, expect) in [
        ("2026-11-28T05:39:01Z", true),
        ("1971-01-01T00:00:00Z", true),
        ("9998-12-31T23:59:59Z", true),
        ("2024-02-29T00:00:00Z", true),
        ("2023-02-29T00:00:00Z", false),
        ("2023-04-31T00:00:00Z", false),
        ("2026-13-01T00:00:00Z", false),
        ("2026-00-01T00:00:00Z", false),
        ("2026-01-00T00:00:00Z", false),
        ("2026-01-01T24:00:00Z", false),
        ("2026-01-01T00:60:00Z", false),
        ("2026-01-01T00:00:60Z", false),
        ("1970-01-01T00:00:00Z", false),
        ("9999-01-01T00:00:00Z", false),
        ("2026-01-01t00:00:00Z", false),
        ("2026-01-01T00:00:00z", false),
        ("2026-01-01T00:00:00.0Z", false),
        ("2026-01-01T00:00:00+00:00", false),
        ("+026-01-01T00:00:00Z", false),
        ("", false),
    ] {
        assert_eq!(is_time(text), expect, "{text}");
        if expect {
            assert_eq!(time_text(text.parse().unwrap()), text);
        }
    }
    for seconds in [-62_135_596_801, -1, 0, 951_782_400, 253_370_764_800] {
        let time = Timestamp::from_second(seconds).unwrap();
        assert_eq!(time_text(time), time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
}

#[test]
fn entries_are_sorted() {
    let entry = |manager: &str, operation: &str, version: &str, subresource: &str, time: &str| {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": version,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}},
        });
        for (name, value) in [("subresource", subresource), ("time", time)] {
            if !value.is_empty() {
                entry[name] = json!(value);
            }
        }
        entry
    };
    let sorted = [
        entry("b", "Apply", "v1", "", ""),
        entry("a", "Apply", "v1", "", "2001-01-01T00:00:00Z"),
        entry("c", "Apply", "v1", "", "2001-01-01T00:00:00Z"),
        entry("a", "Update", "v1", "", "2000-01-01T00:00:00Z"),
        entry("a", "Update", "v1", "status", "2000-01-01T00:00:00Z"),
        entry("a", "Update", "v2", "", "2000-01-01T00:00:00Z"),
        entry("b", "Update", "v1", "", "2000-01-01T00:00:00Z"),
        entry("0", "Update", "v1", "", "2002-01-01T00:00:00Z"),
    ];
    let mut shuffled = sorted.clone();
    shuffled.reverse();
    shuffled.swap(1, 5);
    let managed = Managed::decode(&json!(shuffled)).unwrap();
    assert_eq!(managed.encode(), Some(json!(sorted)));
}

#[test]
fn times_have_seconds() {
    let entries = json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "time": "2020-01-01T01:00:00.5+01:00"}]);
    let encoded = Managed::decode(&entries).unwrap().encode().unwrap();
    assert_eq!(encoded[0]["time"], "2020-01-01T00:00:00Z");
    assert_eq!(encoded[0]["fieldsV1"], json!({}));
}

#[test]
fn entries_that_do_not_read_are_refused() {
    let check = |change: Value, expect: &str| {
        let mut entry = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:a": {}}});
        entry
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let error = Managed::decode(&json!([entry])).unwrap_err().to_string();
        assert!(error.starts_with(expect), "{error}");
    };
    check(json!({"operation": ""}), "operation must be `Apply` or `Update`");
    check(
        json!({"operation": "Replace"}),
        "operation must be `Apply` or `Update`",
    );
    check(json!({"apiVersion": null}), "apiVersion must not be empty");
    check(
        json!({"fieldsType": ""}),
        "missing fieldsType in managed fields entry 0",
    );
    check(
        json!({"fieldsType": "V2"}),
        "invalid fieldsType \"V2\" in managed fields entry 0",
    );
    check(
        json!({"fieldsV1": {"fa": {}}}),
        "error decoding versioned set of manager \"m\": error decoding set: missing",
    );
    check(json!({"fieldsV1": []}), "error decoding versioned set");
    check(
        json!({"manager": 1}),
        "managed fields cannot be read: invalid type",
    );
    check(json!({"time": "yesterday"}), "managed fields cannot be read: ");
    assert!(Managed::decode(&json!({})).is_err());
    assert_eq!(Managed::decode(&Value::Null).unwrap().encode(), None);
}

#[test]
fn managers_are_named_as_upstream_prints_them() {
    for (id, expect) in [
        (ManagerId::new("a", Operation::Apply, "v1", ""), "\"a\""),
        (
            ManagerId::new("a", Operation::Apply, "v1", "status"),
            "\"a\" with subresource \"status\"",
        ),
        (
            ManagerId::new("", Operation::Update, "apps/v1", ""),
            "\"unknown\" using apps/v1",
        ),
        (
            ManagerId::new("a", Operation::Update, "v1", "scale"),
            "\"a\" with subresource \"scale\" using v1",
        ),
    ] {
        assert_eq!(id.to_string(), expect);
    }
}

#[test]
fn managers_are_named_after_their_user_agents() {
    let long = "x".repeat(200);
    for (given, agent, expect) in [
        ("given", "kubectl/v1.37", "given"),
        ("", "kubectl/v1.37.0 (linux/amd64) kubernetes/abc", "kubectl"),
        ("", "", ""),
        ("", "a\u{7}b\u{a0}c/x", "abc"),
        ("", &long, &long[..128]),
    ] {
        assert_eq!(manager_name(given, agent), expect);
    }
}

#[test]
fn entries_of_users_are_validated() {
    let check = |entry: Value, expect: &[&str]| {
        let errors = validate_entries(
            &json!([entry]),
            &FieldPath::new("metadata").child("managedFields"),
        );
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expect);
    };
    check(
        json!({"operation": "Apply", "fieldsType": "FieldsV1", "manager": "m"}),
        &[],
    );
    check(
        json!({}),
        &["metadata.managedFields[0].operation: Required value: must not be empty"],
    );
    check(
        json!({"operation": "Replace", "fieldsType": "V2"}),
        &[
            "metadata.managedFields[0].operation: Unsupported value: \"Replace\": supported values: \"Apply\", \"Update\"",
            "metadata.managedFields[0].fieldsType: Invalid value: \"V2\": must be `FieldsV1`",
        ],
    );
    check(
        json!({"operation": "Update", "manager": "a\nb", "subresource": "s".repeat(257)}),
        &[
            "metadata.managedFields[0].manager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)",
            "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
        ],
    );
    check(
        json!({"operation": "Update", "manager": "m".repeat(129)}),
        &["metadata.managedFields[0].manager: Too long: may not be more than 128 bytes"],
    );
}
