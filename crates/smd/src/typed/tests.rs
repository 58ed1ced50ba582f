//! Rows beside what `tests/upstream.rs` replays: types that change, and properties.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::fields::FieldSet;
use crate::types::{Atom, Field, List, Relationship, Scalar, Schema, TypeSpec};

fn object(fields: &[(&str, TypeSpec)]) -> Atom {
    Atom::map(crate::types::Map {
        fields: fields
            .iter()
            .map(|(name, ty)| ((*name).to_owned(), Field::from(ty.clone())))
            .collect(),
        ..crate::types::Map::default()
    })
}

fn words(relationship: Relationship) -> TypeSpec {
    Atom::list(List {
        item: Atom::scalar(Scalar::String).into(),
        relationship,
        keys: Vec::new(),
    })
    .into()
}

fn inner(relationship: Relationship) -> TypeSpec {
    Atom::map(crate::types::Map {
        element: Some(Atom::scalar(Scalar::String).into()),
        relationship,
        ..crate::types::Map::default()
    })
    .into()
}

/// Here integers and floats are one kind of number (structured-merge-diff `value/value.go` `EqualsUsing`), other than where a set of a custom
/// resource is validated.
#[test]
fn numbers_in_sets() {
    let schema = Schema::single(Atom::list(List {
        item: Atom::scalar(Scalar::Numeric).into(),
        relationship: Relationship::Associative,
        keys: Vec::new(),
    }))
    .unwrap();
    let check = |value: Value, expect: &str| {
        let found = validate(&value, schema.root(), Duplicates::Refused);
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found.err().unwrap_or_default(), expect, "{value}");
    };
    check(json!([1, 2.0]), "");
    check(json!([1, 1.0]), "duplicate entries for key [=1]");
    let merged = merge(&json!([1, 2]), &json!([2.0]), schema.root())
        .unwrap()
        .unwrap();
    assert_eq!(merged, json!([1, 2.0]));
}

#[test]
fn sets_follow_types_that_have_changed() {
    let schema = Schema::single(object(&[
        ("atomicMap", inner(Relationship::Atomic)),
        ("map", inner(Relationship::Separable)),
        ("atomicList", words(Relationship::Atomic)),
        ("list", words(Relationship::Associative)),
        ("free", TypeSpec::Deduced),
        ("any", TypeSpec::Untyped),
    ]))
    .unwrap();
    let check = |before: &str, expect: Option<&str>| {
        let after = reconcile(&FieldSet::from_json(before).unwrap(), schema.root());
        assert_eq!(after.map(|set| set.to_json()).as_deref(), expect, "{before}");
    };
    check(r#"{"f:map":{"f:a":{}},"f:list":{"v:\"x\"":{}}}"#, None);
    check(r#"{"f:atomicMap":{},"f:atomicList":{},"f:any":{}}"#, None);
    check(
        r#"{"f:atomicMap":{"f:a":{}},"f:map":{}}"#,
        Some(r#"{"f:atomicMap":{},"f:map":{}}"#),
    );
    check(
        r#"{"f:atomicMap":{".":{},"f:a":{}}}"#,
        Some(r#"{"f:atomicMap":{}}"#),
    );
    check(
        r#"{"f:atomicList":{"v:\"x\"":{}}}"#,
        Some(r#"{"f:atomicList":{}}"#),
    );
    check(r#"{"f:any":{"f:x":{"f:y":{}}}}"#, Some(r#"{"f:any":{}}"#));
    // What is deduced was never anything else, and what has no type stays as it is.
    check(r#"{"f:free":{"f:x":{"f:y":{}}},"f:gone":{"f:a":{}}}"#, None);
    // From atomic to granular there is nothing to do.
    check(r#"{"f:map":{},"f:list":{}}"#, None);
}

#[test]
fn built_in_types_know_their_lists() {
    let pod = TypeRef::named("io.k8s.api.core.v1.Pod").unwrap();
    let check = |value: Value, expect: &str| assert_eq!(field_set(&value, pod).to_string(), expect);
    check(
        json!({"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}], "args": ["x"]}]}}),
        ".spec.containers[name=\"a\"]\n.spec.containers[name=\"a\"].args\n.spec.containers[name=\"a\"].name\n\
         .spec.containers[name=\"a\"].ports[containerPort=80,protocol=\"TCP\"]\n\
         .spec.containers[name=\"a\"].ports[containerPort=80,protocol=\"TCP\"].containerPort",
    );
    check(
        json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["f"], "ownerReferences": [{"uid": "u", "name": "n"}]}}),
        ".metadata.finalizers[=\"f\"]\n.metadata.labels.a\n.metadata.ownerReferences[uid=\"u\"]",
    );
    check(
        json!({"spec": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k"}], "imagePullSecrets": [{"name": "s"}]}}),
        ".spec.nodeSelector\n.spec.tolerations\n.spec.imagePullSecrets[name=\"s\"]",
    );
    // A key that Go always writes is there even where it is not.
    check(
        json!({"spec": {"containers": [{"image": "x"}]}}),
        ".spec.containers[name=\"\"]\n.spec.containers[name=\"\"].image",
    );
    let volume = TypeRef::named("io.k8s.api.core.v1.PersistentVolume").unwrap();
    let claim = json!({"spec": {"claimRef": {"name": "c"}, "capacity": {"storage": "1Gi"}}});
    assert_eq!(
        field_set(&claim, volume).to_string(),
        ".spec.capacity.storage\n.spec.claimRef.name"
    );
}

/// Any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3i64).prop_map(Value::from),
        Just(json!(1.5)),
        "[a-c]?".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |below| {
        let name = prop_oneof![
            Just("metadata"),
            Just("spec"),
            Just("containers"),
            Just("name"),
            Just("ports"),
            Just("containerPort"),
            Just("protocol"),
            Just("volumes"),
            Just("labels"),
            Just("x"),
        ];
        prop_oneof![
            prop::collection::vec(below.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((name, below), 0..4).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_panics_on_any_json(left in any_json(), right in any_json()) {
        for ty in [TypeRef::named("io.k8s.api.core.v1.Pod").unwrap(), TypeRef::DEDUCED, TypeRef::UNTYPED] {
            let _ = validate(&left, ty, Duplicates::Refused);
            prop_assert_eq!(fits(&left, ty), validate(&left, ty, Duplicates::Allowed).is_ok());
            let fitting = compare_fitting(&left, &right, ty, &[]);
            let both_fit = fits(&left, ty) && fits(&right, ty);
            // Of a built-in type, it may also be what is the same in both that does not fit.
            prop_assert!(fitting.is_none() || both_fit || ty.is_built_in());
            prop_assert!(fitting.is_some() || !both_fit);
            if let Some(fitting) = fitting.filter(|_| both_fit) {
                prop_assert_eq!(Ok(fitting), compare::compare_any(&left, &right, ty));
            }
            let set = field_set(&left, ty);
            let _ = compare(&left, &right, ty);
            let _ = merge(&left, &right, ty);
            remove_items(&right, &set, ty);
            extract_items(&right, &set, ty);
            reconcile(&set, ty);
        }
    }

    #[test]
    fn a_comparison_tells_what_changed(left in any_json(), right in any_json()) {
        let ty = TypeRef::DEDUCED;
        prop_assert!(compare(&left, &left, ty).unwrap().is_same());
        let there = compare(&left, &right, ty).unwrap();
        let back = compare(&right, &left, ty).unwrap();
        prop_assert_eq!(there.modified, back.modified);
        let (has, had) = (field_set(&right, ty), field_set(&left, ty));
        prop_assert!(there.added.leaves().is_subset(&has));
        prop_assert!(there.removed.leaves().is_subset(&had));
    }

    #[test]
    fn what_was_merged_is_there(left in any_json(), right in any_json()) {
        let ty = TypeRef::DEDUCED;
        if let Some(merged) = merge(&left, &right, ty).unwrap() {
            prop_assert_eq!(merge(&merged, &right, ty).unwrap(), Some(merged.clone()));
            let lost = compare(&right, &merged, ty).unwrap();
            prop_assert!(lost.removed.is_empty() && lost.modified.is_empty(), "{:?}", lost);
        }
    }
}
