//! Validation, as tables: an object and the messages that it gets.

mod containers;
mod core;
mod groups;
mod kinds;
mod pods;
mod specs;
mod volumes;

use std::collections::BTreeMap;

use super::super::defaults::tests::arbitrary_object;
use super::super::strategy::{Context, Requester, ServicePool, strategy};
use super::names::{NameRule, NameUse};
use super::*;
use kubewright_core::go_json;
use kubewright_kinds::Scope;
use proptest::prelude::*;
use serde_json::json;

/// Validates `object` as new; the texts must be exactly these, in any order.
#[track_caller]
fn check(group: &str, resource: &str, object: &Value, expect: &[&str]) {
    let (validate, scope) = (strategy(group, resource), Scope::Namespaced);
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!("ns");
    if object["metadata"].get("name").is_none() {
        object["metadata"]["name"] = json!("x");
    }
    compare(validate.validate_create(&object, scope), expect, &object);
}

/// As [`check`], for kinds without a namespace.
#[track_caller]
fn check_cluster(group: &str, resource: &str, object: &Value, expect: &[&str]) {
    let mut object = object.clone();
    object["metadata"]["name"] = json!("x");
    compare(
        strategy(group, resource).validate_create(&object, Scope::Cluster),
        expect,
        &object,
    );
}

/// Validates a change; both objects get the metadata that the server would have filled in.
#[track_caller]
fn check_update(group: &str, resource: &str, new: &Value, old: &Value, expect: &[&str]) {
    let complete = |object: &Value| {
        let mut object = object.clone();
        for (field, value) in [("name", "x"), ("namespace", "ns"), ("resourceVersion", "1")] {
            object["metadata"][field] = json!(value);
        }
        object
    };
    let (new, old) = (complete(new), complete(old));
    compare(
        strategy(group, resource).validate_update(&new, &old),
        expect,
        &new,
    );
}

#[track_caller]
fn compare(errors: Vec<FieldError>, expect: &[&str], object: &Value) {
    // What differs is told after the message; its text has a test of its own.
    let text = |error: &FieldError| {
        let text = error.to_string();
        text.split_once("\n@@ ")
            .map_or_else(|| text.clone(), |(text, _)| text.to_owned())
    };
    let mut texts: Vec<String> = errors.iter().map(text).collect();
    let mut expect: Vec<String> = expect.iter().map(|&text| text.to_owned()).collect();
    texts.sort();
    expect.sort();
    assert_eq!(texts, expect, "{object:#}");
}

#[test]
fn names() {
    #[track_caller]
    fn check(rule: NameRule, name: &str, valid: bool) {
        assert_eq!(
            rule.check(name, NameUse::Whole).is_empty(),
            valid,
            "{rule:?} {name}"
        );
    }
    for name in ["a", "a.b", "1.2", "a-b.c", &"a".repeat(63), &["a"; 127].join(".")] {
        check(NameRule::Subdomain, name, true);
    }
    for name in [
        "",
        "A",
        "a_b",
        "-a",
        "a-",
        "a..b",
        ".a",
        "a.",
        "a.-b",
        "ä",
        &"a".repeat(254),
    ] {
        check(NameRule::Subdomain, name, false);
    }
    check(NameRule::Label, "a.b", false);
    check(NameRule::Label, &"a".repeat(64), false);
    check(NameRule::Dns1035Label, "1a", false);
    check(NameRule::Dns1035Label, "a1", true);
    check(NameRule::PathSegment, "system:A b", true);
    check(NameRule::PathSegment, "a/b", false);
    check(NameRule::PathSegment, "..", false);
    check(NameRule::CronJob, &"a".repeat(52), true);
    check(NameRule::CronJob, &"a".repeat(53), false);
    check(NameRule::IpAddress, "10.0.0.1", true);
    check(NameRule::IpAddress, "2001:DB8::1", false);
    assert!(NameRule::Subdomain.check("web-", NameUse::Prefix).is_empty());
    assert!(!NameRule::Subdomain.check("-", NameUse::Prefix).is_empty());
    assert_eq!(
        NameRule::Label.check("A", NameUse::Whole),
        [
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
          an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
          '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
    assert_eq!(
        NameRule::Label.check("a.b", NameUse::Whole),
        ["must not contain dots"]
    );
}

#[test]
fn label_keys_and_values() {
    for key in ["a", "a/b", "example.com/A_b.c-d", "1", &"a".repeat(63)] {
        assert!(names::qualified_name(key).is_empty(), "{key}");
    }
    for key in ["", "/a", "a/", "a/b/c", "-a", "A.com/b", &"a".repeat(64)] {
        assert!(!names::qualified_name(key).is_empty(), "{key}");
    }
    for value in ["", "a", "A_b.c-d"] {
        assert!(names::label_value(value).is_empty(), "{value}");
    }
    for value in ["-", "a b", "a-", &"a".repeat(64)] {
        assert!(!names::label_value(value).is_empty(), "{value}");
    }
}

#[test]
fn metadata_of_new_objects() {
    check("", "configmaps", &json!({}), &[]);
    check(
        "",
        "configmaps",
        &json!({"metadata": {"name": "X"}}),
        &[
            "metadata.name: Invalid value: \"X\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
         characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
         validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"name": ""}}),
        &["metadata.name: Required value: name or generateName is required"],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"annotations": {"a": "x".repeat(256 * 1024)}}}),
        &["metadata.annotations: Too long: may not be more than 262144 bytes"],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"labels": {"a": "b c"}}}),
        &[
            "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric \
         characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
         or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ],
    );
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
    let owners = json!([owner("a"), owner("b")]);
    let text = format!(
        "metadata.ownerReferences: Invalid value: {}: Only one reference can have Controller set to true. Found \
         \"true\" in references for Pod/a and Pod/b",
        go_json(&owners)
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"ownerReferences": owners}}),
        &[&text],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"ownerReferences": [{}]}}),
        &[
            "metadata.ownerReferences[0].apiVersion: Required value: must not be empty",
            "metadata.ownerReferences[0].kind: Required value: must not be empty",
            "metadata.ownerReferences[0].name: Required value: must not be empty",
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ],
    );
    check(
        "",
        "configmaps",
        &json!({"metadata": {"finalizers": ["orphan", "foregroundDeletion"]}}),
        &[
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion \
         cannot be both set",
        ],
    );
    let cluster = strategy("", "nodes");
    let node = json!({"metadata": {"name": "n", "namespace": "x"}});
    compare(
        cluster.validate_create(&node, Scope::Cluster),
        &["metadata.namespace: Forbidden: not allowed on this type"],
        &node,
    );
}

#[test]
fn metadata_of_changed_objects() {
    let object = |metadata: Value| json!({"metadata": metadata});
    check_update(
        "",
        "configmaps",
        &object(json!({"uid": "2"})),
        &object(json!({"uid": "1"})),
        &["metadata.uid: Invalid value: \"2\": field is immutable"],
    );
    check_update(
        "",
        "configmaps",
        &object(json!({"generation": 1})),
        &object(json!({"generation": 2})),
        &["metadata.generation: Invalid value: 1: must not be decremented"],
    );
    let deleted = json!({"deletionTimestamp": "t", "finalizers": ["a/a"]});
    let added = json!({"deletionTimestamp": "t", "finalizers": ["a/a", "b/c"]});
    check_update(
        "",
        "configmaps",
        &object(added),
        &object(deleted),
        &[
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{\"b/c\"}",
        ],
    );
}

#[test]
fn two_validators_report_a_fault_once() {
    let path = FieldPath::new("spec");
    let mut errors = vec![FieldError::required(path.child("selector"), "by hand")];
    let more = vec![
        FieldError::required(path.child("selector"), ""),
        FieldError::forbidden(path.child("selector"), "x"),
        FieldError::not_supported(path.child("selector"), "y", &["z"]),
    ];
    merge(&mut errors, more);
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0].detail, "by hand");

    // So many, as a body has room for, that looking through all for each would take minutes.
    let many = |from: usize| -> Vec<FieldError> {
        let errors = (from..from + 100_000).map(|i| FieldError::required(path.index(i), ""));
        errors.collect()
    };
    let mut errors = many(0)[..600].to_vec();
    merge(&mut errors, many(400));
    assert_eq!(errors.len(), MAX_ERRORS);
    assert_eq!(
        errors[600].path,
        path.index(600),
        "those known already are left out"
    );
}

proptest! {
    // Each case goes through every resource of the table.
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_object_is_survived(new in arbitrary_object(), old in arbitrary_object()) {
        let (groups, extra) = (Vec::new(), BTreeMap::new());
        for resource in kubewright_kinds::table().resources() {
            let strategy = strategy(resource.group, resource.plural);
            let mut pool = ServicePool::default();
            let requester = Requester { username: "", uid: "", groups: &groups, extra: &extra };
            let mut context = Context { now: "2026-01-02T03:04:05Z", requester, allocator: &mut pool };
            let mut created = new.clone();
            let _ = strategy.prepare_for_create(&mut created, &mut context);
            let mut updated = new.clone();
            let _ = strategy.prepare_for_update(&mut updated, &old, &mut context);
            for name in ["status", "finalize", "approval", "ephemeralcontainers", "resize"] {
                let mut part = new.clone();
                strategy.prepare_for_subresource(name, &mut part, &old, &mut context);
                let _ = strategy.validate_subresource_update(name, &part, &old);
            }
            let _ = strategy.validate_create(&created, resource.scope);
            let _ = strategy.validate_update(&updated, &old);
            let _ = strategy.grace_period(&new, None);
        }
    }
}
