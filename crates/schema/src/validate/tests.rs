//! The table follows the cases of upstream's `pkg/apiserver/validation/validation_test.go` and `ratcheting_test.go`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::MAX_ERRORS;
use crate::StructuralSchema;

fn texts(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = StructuralSchema::parse(schema).unwrap();
    schema
        .validate(object, old)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Checks the one field of an object; the errors come in any order, as upstream's do.
fn check(field: Value, value: Value, expect: &[&str]) {
    let schema = json!({"type": "object", "properties": {"f": field}});
    let mut errors = texts(&schema, &json!({"f": value}), None);
    errors.sort();
    let mut expect = expect.to_vec();
    expect.sort_unstable();
    assert_eq!(errors, expect, "{field} {value}");
}

fn update(field: Value, old: Value, new: Value, expect: &[&str]) {
    let schema = json!({"type": "object", "properties": {"f": field}});
    assert_eq!(
        texts(&schema, &json!({"f": new}), Some(&json!({"f": old}))),
        expect,
        "{field} {old} {new}"
    );
}

#[test]
fn types() {
    check(json!({"type": "string"}), json!("x"), &[]);
    check(
        json!({"type": "string"}),
        json!(1),
        &["f: Invalid value: \"integer\": f in body must be of type string: \"integer\""],
    );
    check(
        json!({"type": "integer"}),
        json!("x"),
        &["f: Invalid value: \"string\": f in body must be of type integer: \"string\""],
    );
    check(json!({"type": "integer"}), json!(2.0), &[]);
    check(
        json!({"type": "integer"}),
        json!(1.2),
        &[
            "f: Invalid value: \"number\": f in body must be of type integer: \"number\"",
            "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in f",
        ],
    );
    check(json!({"type": "number"}), json!(1), &[]);
    check(
        json!({"type": "object"}),
        json!([]),
        &["f: Invalid value: \"array\": f in body must be of type object: \"array\""],
    );
    check(
        json!({"type": "boolean"}),
        json!(null),
        &["f: Invalid value: \"null\": f in body must be of type boolean: \"null\""],
    );
    check(json!({"type": "boolean", "nullable": true}), json!(null), &[]);
    check(json!({}), json!(null), &[]);
    let list = json!({"type": "array", "items": {"properties": {"a": {"type": "string"}}}});
    check(
        list,
        json!([{"a": "x"}, {"a": 1}]),
        &["f[1].a: Invalid value: \"integer\": f[1].a in body must be of type string: \"integer\""],
    );
}

#[test]
fn int_or_string() {
    let field = || json!({"x-kubernetes-int-or-string": true});
    check(field(), json!(42), &[]);
    check(field(), json!("x"), &[]);
    check(
        field(),
        json!(null),
        &["f: Invalid value: \"null\": f in body must be of type integer,string: \"null\""],
    );
    check(
        field(),
        json!(1.2),
        &["f: Invalid value: \"number\": f in body must be of type integer,string: \"number\""],
    );
    let any_of = || json!([{"type": "integer"}, {"type": "string"}]);
    let with_any = || json!({"x-kubernetes-int-or-string": true, "nullable": true, "anyOf": any_of()});
    check(with_any(), json!(null), &[]);
    check(
        with_any(),
        json!(1.2),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)",
            "f: Invalid value: \"number\": f in body must be of type integer,string: \"number\"",
            "f: Invalid value: \"number\": f in body must be of type integer: \"number\"",
            "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in f",
        ],
    );
    check(
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": any_of()}]}),
        json!([]),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf). None validated",
            "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)",
            "f: Invalid value: \"array\": f in body must be of type integer,string: \"array\"",
            "f: Invalid value: \"array\": f in body must be of type integer: \"array\"",
        ],
    );
}

#[test]
fn objects() {
    let nested = || json!({"type": "object", "required": ["a"], "properties": {"a": {}}});
    check(nested(), json!({}), &["f.a: Required value"]);
    check(nested(), json!({"a": null}), &[]);
    check(
        json!({"type": "object", "minProperties": 1}),
        json!({}),
        &["f: Invalid value: 0: f in body should have at least 1 properties"],
    );
    check(
        json!({"type": "object", "maxProperties": 2}),
        json!({"a": 1, "b": 1, "c": 1}),
        &["f: Too many: 3: must have at most 2 items"],
    );
    check(
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"k": "x"}),
        &["f.k: Invalid value: \"string\": f.k in body must be of type integer: \"string\""],
    );
    check(
        json!({"additionalProperties": false}),
        json!({"k": 1}),
        &["f: Invalid value: \"k\": f.k in body is a forbidden property"],
    );
    let root = json!({"type": "object", "required": ["spec"]});
    assert_eq!(texts(&root, &json!({}), None), ["spec: Required value"]);
}

#[test]
fn lists() {
    check(
        json!({"type": "array", "minItems": 1}),
        json!([]),
        &["f: Invalid value: 0: f in body should have at least 1 items"],
    );
    check(
        json!({"type": "array", "maxItems": 2}),
        json!([1, 2, 3]),
        &["f: Too many: 3: must have at most 2 items"],
    );
    check(
        json!({"type": "array", "uniqueItems": true}),
        json!([1, 1]),
        &["f: Invalid value: \"\": f in body shouldn't contain duplicates"],
    );
    check(
        json!({"type": "array", "x-kubernetes-list-type": "set"}),
        json!(["a", "b", "a", "a"]),
        &["f[2]: Duplicate value: \"a\""],
    );
    let map = |keys: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys});
    check(
        map(json!(["a"])),
        json!([{"a": 1}, {"a": 2}, {"a": 1, "b": 3}]),
        &["f[2]: Duplicate value: {\"a\":1}"],
    );
    check(
        map(json!(["a", "b"])),
        json!([{"a": 1}, {"a": 1}]),
        &["f[1]: Duplicate value: {\"a\":1}"],
    );
    check(map(json!(["a"])), json!([{}, {}]), &["f[1]: Duplicate value: {}"]);
    check(
        map(json!(["a"])),
        json!([{"a": null}, {}, null]),
        &["f[2]: Duplicate value: {}"],
    );
    check(
        map(json!(["a"])),
        json!([1]),
        &["f[0]: Invalid value: 1: must be an object for an array of list-type map"],
    );
}

/// Integers and floats are different keys of a map in Go, and the same text in JSON.
#[test]
fn numbers_in_lists() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set"});
    check(set.clone(), json!([1, 1.0]), &[]);
    check(set.clone(), json!([1.0, 1, 1e0]), &["f[2]: Duplicate value: 1"]);
    check(set.clone(), json!([0.0, -0.0]), &["f[1]: Duplicate value: -0"]);
    check(set.clone(), json!(["1", 1, true, "true", null, "null"]), &[]);
    check(set, json!([[1], [1.0]]), &["f[1]: Duplicate value: [1]"]);
    let map = |keys: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys});
    check(map(json!(["a"])), json!([{"a": 1}, {"a": 1.0}]), &[]);
    check(
        map(json!(["a", "b"])),
        json!([{"a": 1}, {"a": 1.0}]),
        &["f[1]: Duplicate value: {\"a\":1}"],
    );
}

#[test]
fn strings() {
    check(
        json!({"type": "string", "maxLength": 2}),
        json!("abc"),
        &["f: Too long: may not be more than 2 bytes"],
    );
    check(json!({"type": "string", "maxLength": 2}), json!("éé"), &[]);
    check(
        json!({"type": "string", "minLength": 2}),
        json!("é"),
        &["f: Invalid value: \"é\": f in body should be at least 2 chars long"],
    );
    check(
        json!({"type": "string", "pattern": "^a+$"}),
        json!("b"),
        &["f: Invalid value: \"b\": f in body should match '^a+$'"],
    );
    check(
        json!({"type": "string", "pattern": "+"}),
        json!("foo"),
        &[
            "f: Invalid value: \"foo\": f in body should match '+, but pattern is invalid: error parsing regexp: missing argument to repetition operator: `+`'",
        ],
    );
    check(
        json!({"type": "string", "format": "date-time"}),
        json!("x"),
        &["f: Invalid value: \"x\": f in body must be of type date-time: \"x\""],
    );
    check(
        json!({"type": "string", "format": "byte"}),
        json!(1),
        &["f: Invalid value: \"int64\": f in body must be of type byte: \"int64\""],
    );
    check(json!({"type": "string", "format": "unheard-of"}), json!("x"), &[]);
    check(
        json!({"type": "string", "enum": ["a", "b"]}),
        json!("x"),
        &["f: Unsupported value: \"x\": supported values: \"a\", \"b\""],
    );
    check(
        json!({"type": "integer", "enum": [1, 2]}),
        json!("x"),
        &[
            "f: Invalid value: \"string\": f in body must be of type integer: \"string\"",
            "f: Unsupported value: \"x\": supported values: \"1\", \"2\"",
        ],
    );
}

#[test]
fn numbers() {
    check(
        json!({"type": "integer", "minimum": 1}),
        json!(0),
        &["f: Invalid value: 0: f in body should be greater than or equal to 1"],
    );
    check(
        json!({"type": "integer", "maximum": 1, "exclusiveMaximum": true}),
        json!(1),
        &["f: Invalid value: 1: f in body should be less than 1"],
    );
    check(
        json!({"type": "number", "minimum": 0.5, "exclusiveMinimum": true}),
        json!(0.5),
        &["f: Invalid value: 0.5: f in body should be greater than 0.5"],
    );
    check(
        json!({"type": "integer", "multipleOf": 3}),
        json!(4),
        &["f: Invalid value: 4: f in body should be a multiple of 3"],
    );
    check(json!({"type": "number", "multipleOf": 0.1}), json!(0.3), &[]);
    check(
        json!({"type": "integer", "format": "int32"}),
        json!(2_147_483_648_i64),
        &["<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in f"],
    );
    check(
        json!({"type": "integer", "format": "int64"}),
        json!(i64::MIN),
        &[],
    );
    check(
        json!({"type": "integer", "format": "int64"}),
        json!(1e30),
        &[
            "f: Invalid value: \"float64\": f in body must be of type int64: \"float64\"",
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int64 in f",
        ],
    );
    check(
        json!({"type": "number", "format": "float"}),
        json!(1e39),
        &["<nil>: Invalid value: \"\": Checked value must be of type number with format float in f"],
    );
}

#[test]
fn junctors() {
    let one_of = || json!({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    check(one_of(), json!({"a": 1}), &[]);
    check(
        one_of(),
        json!({"a": 1, "b": 1}),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ],
    );
    check(
        one_of(),
        json!({}),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found none valid",
            "f.a: Required value",
        ],
    );
    check(
        json!({"type": "integer", "not": {"minimum": 3}}),
        json!(4),
        &["<nil>: Invalid value: \"\": \"f\" must not validate the schema (not)"],
    );
    check(
        json!({"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]}),
        json!(2),
        &[
            "<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf)",
            "f: Invalid value: 2: f in body should be greater than or equal to 3",
        ],
    );
}

#[test]
fn embedded_resources() {
    let field = || json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    check(field(), json!({"apiVersion": "v1", "kind": "Pod"}), &[]);
    check(
        field(),
        json!({"metadata": {}}),
        &["f.apiVersion: Required value", "f.kind: Required value"],
    );
    check(
        field(),
        json!({"apiVersion": "a/b/c", "kind": 1}),
        &[
            "f.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            "f.kind: Invalid value: 1: must be a string",
        ],
    );
}

#[test]
fn ratchets() {
    let short = || json!({"type": "string", "maxLength": 1});
    let object = || json!({"type": "object", "properties": {"a": short(), "b": short()}});
    update(object(), json!({"a": "xx"}), json!({"a": "xx", "b": "y"}), &[]);
    update(
        object(),
        json!({"a": "xx"}),
        json!({"a": "zz"}),
        &["f.a: Too long: may not be more than 1 byte"],
    );
    update(
        object(),
        json!({}),
        json!({"a": "xx"}),
        &["f.a: Too long: may not be more than 1 byte"],
    );
    let list = |list_type: Value| {
        json!({"type": "array", "x-kubernetes-list-type": list_type, "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": short()}}})
    };
    let old = || json!([{"k": "1", "v": "xx"}]);
    let new = || json!([{"k": "2", "v": "y"}, {"k": "1", "v": "xx"}]);
    update(list(json!("map")), old(), new(), &[]);
    update(
        list(json!("atomic")),
        old(),
        new(),
        &["f[1].v: Too long: may not be more than 1 byte"],
    );
    update(list(json!("atomic")), old(), old(), &[]);
    let set = || json!({"type": "array", "x-kubernetes-list-type": "set"});
    update(set(), json!(["a", "a"]), json!(["a", "a", "b"]), &[]);
    update(
        set(),
        json!(["a"]),
        json!(["a", "a"]),
        &["f[1]: Duplicate value: \"a\""],
    );
    let any_of = json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"properties": {"a": {"maxLength": 1}}}]});
    update(
        any_of,
        json!({"a": "xx", "x": 1}),
        json!({"a": "xx", "x": 2}),
        &[],
    );
}

#[test]
fn limits_the_errors() {
    let schema =
        json!({"type": "object", "properties": {"f": {"type": "array", "items": {"type": "string"}}}});
    let numbers: Vec<u32> = (0..2000).collect();
    assert_eq!(texts(&schema, &json!({"f": numbers}), None).len(), MAX_ERRORS);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn schema_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "maxLength": 2, "pattern": "^a"})),
        Just(json!({"type": "integer", "minimum": 0, "format": "int32", "default": 1})),
        Just(json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "boolean", "nullable": true})),
        Just(json!({"type": "string", "default": "a", "enum": ["a", "b"]})),
        Just(json!({"type": "number", "nullable": true, "default": 0.5, "maximum": 1})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-c]", inner.clone(), 0..4).prop_map(
                |properties| json!({"type": "object", "properties": properties, "required": ["a"]})
            ),
            inner
                .clone()
                .prop_map(|below| json!({"type": "object", "additionalProperties": below})),
            inner.clone().prop_map(
                |below| json!({"type": "object", "properties": {"a": below}, "default": {}, "x-kubernetes-preserve-unknown-fields": true})
            ),
            inner.clone().prop_map(
                |below| json!({"type": "object", "properties": {"b": below}, "x-kubernetes-embedded-resource": true})
            ),
            inner.clone().prop_map(|below| json!({
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}, "b": below}},
            })),
            inner.prop_map(|below| json!({"type": "array", "items": below, "x-kubernetes-list-type": "set"})),
        ]
    })
}

proptest! {
    #[test]
    fn an_old_object_only_excuses(schema in schema_value(), object in json_value(), old in json_value()) {
        let schema = StructuralSchema::parse(&json!({"type": "object", "properties": {"f": schema}})).unwrap();
        let (object, old) = (json!({"f": object}), json!({"f": old}));
        let all = schema.validate(&object, None);
        for old in [&object, &old] {
            for error in schema.validate(&object, Some(old)) {
                prop_assert!(all.contains(&error), "{error}");
            }
        }
    }

    #[test]
    fn pruning_and_defaulting_settle(schema in schema_value(), object in json_value()) {
        let schema = StructuralSchema::parse(&json!({"type": "object", "properties": {"f": schema}})).unwrap();
        let mut object = json!({"f": object});
        schema.prune(&mut object);
        schema.drop_nulls(&mut object);
        schema.default(&mut object);
        let once = object.clone();
        let faults = schema.validate(&object, None);
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        schema.drop_nulls(&mut object);
        schema.default(&mut object);
        prop_assert_eq!(&object, &once);
        // A check sees what there is, and nothing else.
        prop_assert_eq!(schema.validate(&object, None), faults);
        prop_assert_eq!(&object, &once);
    }
}
