//! Rows from upstream's tests of `fieldpath/`, and the laws of the algebra.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn set(json: &str) -> FieldSet {
    FieldSet::from_json(json).unwrap()
}

#[test]
fn reads_and_writes_fields_v1() {
    let check = |json: &str, expect: &str| {
        let set = set(json);
        assert_eq!(set.to_json(), expect);
        assert_eq!(serde_json::to_string(&set).unwrap(), expect);
        assert_eq!(FieldSet::from_value(&set.to_value()).unwrap(), set);
    };
    for (json, expect) in [
        ("{}", "{}"),
        ("null", "{}"),
        (r#"{"f:a":{}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":null}"#, r#"{"f:a":{}}"#),
        // The own path of the object is in no set.
        (r#"{".":{},"f:a":{}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":{".":{}}}"#, r#"{"f:a":{}}"#),
        (r#"{"f:a":{"f:b":{},".":{}}}"#, r#"{"f:a":{".":{},"f:b":{}}}"#),
        // Sorted by kind of element, and numbers by their value.
        (
            r#"{"i:2":{},"v:\"b\"":{},"v:10":{},"v:9":{},"k:{\"n\":10}":{},"k:{\"n\":9}":{},"f:b":{},"f:a":{},"v:true":{}}"#,
            r#"{"f:a":{},"f:b":{},"k:{\"n\":9}":{},"k:{\"n\":10}":{},"v:9":{},"v:10":{},"v:\"b\"":{},"v:true":{},"i:2":{}}"#,
        ),
        // Keys of an element are sorted by name.
        (
            r#"{"k:{\"protocol\":\"TCP\",\"port\":80}":{}}"#,
            r#"{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}"#,
        ),
        // Elements of other versions are dropped, with all below them.
        (r#"{"x:a":{"f:b":{}},"f:a":{}}"#, r#"{"f:a":{}}"#),
        // Twice the same name adds up.
        (
            r#"{"f:a":{"f:b":{}},"f:a":{"f:c":{}}}"#,
            r#"{"f:a":{"f:b":{},"f:c":{}}}"#,
        ),
        (r#"{"f:a/b.c~\"d\"":{}}"#, r#"{"f:a/b.c~\"d\"":{}}"#),
        (r#"{"v:\"a<b\"":{}}"#, r#"{"v:\"a\\u003cb\"":{}}"#),
    ] {
        check(json, expect);
    }
}

#[test]
fn refuses_what_is_no_fields_v1() {
    let deep = format!("{}{}", r#"{"f:a":"#.repeat(200), "}".repeat(200));
    for (json, expect) in [
        ("", "EOF while parsing"),
        ("[]", "invalid type: sequence, expected a map of path elements"),
        (r#"{"f:a":1}"#, "invalid type: integer `1`"),
        (r#"{"f":{}}"#, "key must be 2 characters long:"),
        (r#"{"fa":{}}"#, "missing colon: fa"),
        (r#"{"é":{}}"#, "missing colon: é"),
        (r#"{"k:1":{}}"#, "parsing key as path element: k:1"),
        (r#"{"k:{}x":{}}"#, "trailing characters"),
        (r#"{"v:":{}}"#, "EOF while parsing"),
        (r#"{"i:x":{}}"#, "invalid syntax"),
        (r#"{"f:a":{}} x"#, "trailing characters"),
        (&deep, "recursion limit exceeded"),
    ] {
        let error = FieldSet::from_json(json).unwrap_err().to_string();
        assert!(error.contains(expect), "{json}: {error}");
    }
    // Values have no limit of their own.
    let mut value = json!({});
    for _ in 0..200 {
        value = json!({"f:a": value});
    }
    let error = FieldSet::from_value(&value).unwrap_err().to_string();
    assert!(error.contains("nested deeper than"), "{error}");
}

#[test]
fn prints_paths_as_upstream_does() {
    for (json, expect) in [
        (r#"{"f:spec":{"f:replicas":{}}}"#, ".spec.replicas"),
        (r#"{"k:{\"name\":\"a\"}":{"f:image":{}}}"#, r#"[name="a"].image"#),
        (
            r#"{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{}}"#,
            r#"[containerPort=80,protocol="TCP"]"#,
        ),
        (r#"{"v:\"a\"":{}}"#, r#"[="a"]"#),
        (r#"{"v:1.5":{}}"#, "[=1.5]"),
        (r#"{"v:false":{}}"#, "[=false]"),
        (r#"{"v:null":{}}"#, "[=null]"),
        (r#"{"i:3":{}}"#, "[3]"),
        (r#"{"f:b":{},"f:a":{"f:c":{}}}"#, ".b\n.a.c"),
    ] {
        assert_eq!(set(json).to_string(), expect);
    }
}

#[test]
fn filters_leave_out_what_requests_do_not_write() {
    let before = set(r#"{"f:spec":{"f:a":{},"f:b":{".":{},"f:c":{}}},"f:status":{"f:d":{}}}"#);
    let check = |filter: Filter, expect: &str| assert_eq!(filter.apply(before.clone()).to_json(), expect);
    check(
        Filter::exclude([&["status"][..]]),
        r#"{"f:spec":{"f:a":{},"f:b":{".":{},"f:c":{}}}}"#,
    );
    check(
        Filter::exclude([&["status"][..], &["spec", "b"]]),
        r#"{"f:spec":{"f:a":{}}}"#,
    );
    check(Filter::exclude([]), &before.to_json());
    check(
        Filter::Include(vec![vec![Step::field("status")]]),
        r#"{"f:status":{"f:d":{}}}"#,
    );
    check(
        Filter::Include(vec![vec![Step::field("spec"), Step::Any, Step::field("c")]]),
        r#"{"f:spec":{"f:a":{},"f:b":{".":{},"f:c":{}}}}"#,
    );
    check(Filter::Include(vec![vec![]]), &before.to_json());
    check(Filter::Include(vec![]), "{}");
}

#[test]
fn a_recursive_difference_takes_what_is_below() {
    let (left, right) = (
        set(r#"{"f:a":{".":{},"f:b":{}},"f:c":{"f:d":{}}}"#),
        set(r#"{"f:a":{},"f:c":{}}"#),
    );
    assert_eq!(
        left.clone().difference(&right).to_json(),
        r#"{"f:a":{"f:b":{}},"f:c":{"f:d":{}}}"#
    );
    assert!(left.recursive_difference(&right).is_empty());
}

fn element() -> impl Strategy<Value = PathElement> {
    let scalar = prop_oneof![
        (0..3i64).prop_map(Value::from),
        "[a-c]".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    prop_oneof![
        4 => "[a-c<\"é]".prop_map(PathElement::field),
        1 => scalar.clone().prop_map(PathElement::Value),
        1 => ("[a-b]", scalar).prop_map(|(name, value)| PathElement::key([(name, value)])),
        1 => (0..3i64).prop_map(PathElement::Index),
    ]
}

fn some_set() -> impl Strategy<Value = FieldSet> {
    let path = prop::collection::vec(element(), 1..4).prop_map(Path);
    prop::collection::vec(path, 0..12).prop_map(|paths| paths.into_iter().collect())
}

proptest! {
    #[test]
    fn the_algebra_has_its_laws(a in some_set(), b in some_set(), c in some_set()) {
        let (union, both) = (a.clone().union(b.clone()), a.intersection(&b));
        prop_assert_eq!(&union, &b.clone().union(a.clone()));
        prop_assert_eq!(&both, &b.intersection(&a));
        prop_assert_eq!(union.clone().union(c.clone()), a.clone().union(b.clone().union(c.clone())));
        prop_assert_eq!(a.intersection(&b.clone().union(c.clone())), a.intersection(&b).union(a.intersection(&c)));
        prop_assert_eq!(&a.clone().difference(&b).union(both.clone()), &a);
        prop_assert!(a.clone().difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(union.len(), a.len() + b.len() - both.len());
        prop_assert!(a.is_subset(&union) && both.is_subset(&a) && both.is_subset(&b));
        prop_assert_eq!(a.is_subset(&b), a.clone().difference(&b).is_empty());
        prop_assert!(a.clone().recursive_difference(&b).is_subset(&a.clone().difference(&b)));
        prop_assert!(a.leaves().is_subset(&a));
        prop_assert_eq!(a.leaves().is_empty(), a.is_empty());
        prop_assert_eq!(a.iter().count(), a.len());
        for path in a.iter() {
            prop_assert!(a.has(&path) && union.has(&path));
            prop_assert_eq!(both.has(&path), b.has(&path));
        }
    }

    #[test]
    fn what_is_written_reads_back(a in some_set()) {
        let text = a.to_json();
        prop_assert_eq!(&FieldSet::from_json(&text).unwrap(), &a);
        prop_assert_eq!(serde_json::to_string(&a).unwrap(), text);
        prop_assert_eq!(&FieldSet::from_value(&a.to_value()).unwrap(), &a);
        prop_assert_eq!(serde_json::to_value(&a).unwrap(), a.to_value());
        for path in a.iter() {
            for element in path.0 {
                prop_assert_eq!(PathElement::parse(&element.encode()), Ok(element));
            }
        }
    }

    #[test]
    fn garbage_does_not_panic(text in ".{0,40}") {
        let _ = FieldSet::from_json(&text);
        let _ = PathElement::parse(&text);
    }
}
