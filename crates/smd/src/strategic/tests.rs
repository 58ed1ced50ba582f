//! The table follows the cases of upstream's `patch_test.go`; the type is the `MergeItem` of that file.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{MAX_DEPTH, OpenApiTypes, PatchError, patch};

fn components() -> Map<String, Value> {
    let item = json!({"$ref": "#/components/schemas/test.MergeItem"});
    let merging = json!({"type": "array", "items": item, "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"});
    let retaining = json!({"type": "array", "items": item, "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name"});
    let ints = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-patch-strategy": "merge"});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let properties = json!({
        "name": {"type": "string"}, "value": {"type": "string"}, "other": {"type": "string"},
        "mergingList": merging, "nonMergingList": {"type": "array", "items": item},
        "mergingIntList": ints, "nonMergingIntList": {"type": "array", "items": {"type": "integer"}},
        "keylessList": {"type": "array", "items": item, "x-kubernetes-patch-strategy": "merge"},
        "mergeItemPtr": {"allOf": [item]}, "simpleMap": map,
        "replacingItem": {"type": "object", "x-kubernetes-patch-strategy": "replace"},
        "retainKeysMap": {"allOf": [item], "x-kubernetes-patch-strategy": "retainKeys"},
        "retainKeysMergingList": retaining,
    });
    let Value::Object(components) = json!({"test.MergeItem": {"type": "object", "properties": properties}})
    else {
        return Map::new();
    };
    components
}

fn apply(original: &Value, change: &Value) -> Result<Value, PatchError> {
    let components = components();
    let types = OpenApiTypes::new(&components, "test.MergeItem").unwrap();
    patch(original.clone(), change, &types)
}

fn check(original: Value, change: Value, expect: Value) {
    assert_eq!(apply(&original, &change), Ok(expect), "{original} + {change}");
}

fn refuse(original: Value, change: Value, expect: &str) {
    let error = apply(&original, &change).expect_err(expect).to_string();
    assert_eq!(error, expect, "{original} + {change}");
}

#[test]
fn maps() {
    check(json!({}), json!({"name": 1}), json!({"name": 1}));
    check(json!({"name": 1}), json!({}), json!({"name": 1}));
    check(
        json!({"name": 1, "other": "a"}),
        json!({"name": null, "value": 1}),
        json!({"value": 1, "other": "a"}),
    );
    check(
        json!({"simpleMap": {"a": 1, "b": 1}}),
        json!({"simpleMap": {"b": null}}),
        json!({"simpleMap": {"a": 1}}),
    );
    check(
        json!({"simpleMap": {"a": 1}}),
        json!({"simpleMap": {"$patch": "delete"}}),
        json!({"simpleMap": {}}),
    );
    check(
        json!({"name": 1, "value": 1}),
        json!({"$patch": "replace"}),
        json!({}),
    );
    check(
        json!({"name": 1}),
        json!({"other": "a", "$patch": "replace"}),
        json!({"other": "a"}),
    );
    check(
        json!({"replacingItem": {"a": 1}}),
        json!({"replacingItem": {"b": 1}}),
        json!({"replacingItem": {"b": 1}}),
    );
    check(
        json!({"mergeItemPtr": {"name": "x"}}),
        json!({"mergeItemPtr": {"value": "y"}}),
        json!({"mergeItemPtr": {"name": "x", "value": "y"}}),
    );
    check(
        json!({"simpleMap": "x"}),
        json!({"simpleMap": {"a": null, "b": 1}}),
        json!({"simpleMap": {"b": 1}}),
    );
    check(
        json!({}),
        json!({"mergeItemPtr": {"$patch": "delete"}}),
        json!({}),
    );
    check(
        json!({}),
        json!({"mergeItemPtr": {"value": null, "name": "x"}}),
        json!({"mergeItemPtr": {"name": "x"}}),
    );
    check(
        json!({"name": null}),
        json!({"name": {"a": 1}}),
        json!({"name": {"a": 1}}),
    );
    refuse(
        json!({"simpleMap": {}}),
        json!({"simpleMap": {"$patch": "x"}}),
        "unknown patch type: x in map: map[$patch:x]",
    );
    refuse(json!([]), json!({}), "invalid JSON document");
    refuse(
        json!({"unknown": {}}),
        json!({"unknown": {"a": 1}}),
        "unable to find api field in struct MergeItem for the json field \"unknown\"",
    );
    refuse(
        json!({"simpleMap": {"a": {}}}),
        json!({"simpleMap": {"a": {}}}),
        "merging an object in json but data type is not struct, instead is: map",
    );
}

#[test]
fn retain_keys() {
    let live = || json!({"retainKeysMap": {"name": "foo", "value": "a"}});
    check(
        live(),
        json!({"retainKeysMap": {"value": "b"}}),
        json!({"retainKeysMap": {"name": "foo", "value": "b"}}),
    );
    check(live(), json!({"retainKeysMap": {}}), live());
    check(
        live(),
        json!({"retainKeysMap": {"$retainKeys": ["name"]}}),
        json!({"retainKeysMap": {"name": "foo"}}),
    );
    check(
        live(),
        json!({"retainKeysMap": {"$retainKeys": ["name", "other"], "other": "x", "value": null}}),
        json!({"retainKeysMap": {"name": "foo", "other": "x"}}),
    );
    check(
        json!({"retainKeysMergingList": [{"name": "bar"}, {"name": "foo", "value": "a"}]}),
        json!({"retainKeysMergingList": [{"$retainKeys": ["name", "other"], "name": "foo", "other": "z"}]}),
        json!({"retainKeysMergingList": [{"name": "bar"}, {"name": "foo", "other": "z"}]}),
    );
    refuse(
        live(),
        json!({"retainKeysMap": {"$retainKeys": "x"}}),
        "invalid patch format of retainKeys",
    );
    refuse(
        live(),
        json!({"retainKeysMap": {"$retainKeys": ["name"], "other": 1}}),
        "invalid patch format of retainKeys",
    );
}

#[test]
fn keyed_lists() {
    let named = |names: &[i32]| json!({"mergingList": names.iter().map(|name| json!({"name": name})).collect::<Value>()});
    // Upstream puts items that the live list does not know before the ones that only it knows.
    check(named(&[1]), named(&[2]), named(&[2, 1]));
    check(
        json!({"mergingList": []}),
        json!({"mergingList": []}),
        json!({"mergingList": []}),
    );
    check(
        named(&[1, 2]),
        json!({"mergingList": [{"$patch": "replace"}]}),
        json!({"mergingList": []}),
    );
    check(
        named(&[1, 2]),
        json!({"mergingList": [{"name": 3}, {"$patch": "replace"}]}),
        named(&[3]),
    );
    check(
        named(&[1, 1, 2, 3, 3]),
        json!({"mergingList": [{"name": 1, "$patch": "delete"}, {"name": 3, "$patch": "delete"}]}),
        named(&[2]),
    );
    check(
        json!({"mergingList": [{"name": 1}, {"name": 2, "value": "b"}, {"name": 3}]}),
        json!({"mergingList": [{"name": 3, "value": "c"}, {"name": 1, "value": "a"}, {"name": 2, "other": "x"}]}),
        json!({"mergingList": [{"name": 3, "value": "c"}, {"name": 1, "value": "a"}, {"name": 2, "value": "b", "other": "x"}]}),
    );
    check(
        json!({"mergingList": [{"name": 1}, {"name": 2}, {"name": 3}]}),
        json!({"mergingList": [{"name": 3, "value": "c"}, {"name": 1}]}),
        json!({"mergingList": [{"name": 2}, {"name": 3, "value": "c"}, {"name": 1}]}),
    );
    check(
        json!({"mergingList": [{"name": 1, "mergingIntList": [1, 2]}]}),
        json!({"mergingList": [{"name": 1, "mergingIntList": [3]}]}),
        json!({"mergingList": [{"name": 1, "mergingIntList": [3, 1, 2]}]}),
    );
    check(
        json!({"nonMergingList": [{"name": 1}]}),
        json!({"nonMergingList": [{"name": 2}]}),
        json!({"nonMergingList": [{"name": 2}]}),
    );
    check(
        json!({}),
        json!({"mergingList": [{"name": 1, "$patch": "delete"}, {"name": 2}]}),
        named(&[2]),
    );
    refuse(
        json!({"mergingList": [{"name": 1, "value": "a"}]}),
        json!({"mergingList": [{"value": "b"}]}),
        "map: map[value:b] does not contain declared merge key: name",
    );
    refuse(
        json!({"keylessList": [{"name": 1}]}),
        json!({"keylessList": [{"name": 1}]}),
        "cannot merge lists without merge key for struct",
    );
    refuse(
        json!({"mergingList": [{"name": 1}, "x"]}),
        json!({"mergingList": [{"name": 1}]}),
        "list element types are not identical: [[map[name:1] x] [map[name:1]]]",
    );
    refuse(
        json!({"mergingList": [[]]}),
        json!({"mergingList": [{"name": 1}]}),
        "lists of lists are not supported",
    );
    refuse(
        named(&[1]),
        json!({"mergingList": [{"name": 1, "$patch": "merge"}]}),
        "merging lists cannot yet be specified in the patch",
    );
}

#[test]
fn scalar_lists() {
    let ints = |ints: &[i32]| json!({"mergingIntList": ints});
    check(ints(&[1, 2]), ints(&[2, 3]), ints(&[1, 2, 3]));
    check(ints(&[1, 2, 3]), ints(&[3, 1, 2]), ints(&[3, 1, 2]));
    check(ints(&[1, 2, 3]), ints(&[3, 1]), ints(&[2, 3, 1]));
    check(
        ints(&[1, 2]),
        json!({"$deleteFromPrimitiveList/mergingIntList": [3]}),
        ints(&[1, 2]),
    );
    check(
        ints(&[1, 2, 3]),
        json!({"$deleteFromPrimitiveList/mergingIntList": [2]}),
        ints(&[1, 3]),
    );
    check(
        json!({"nonMergingIntList": [1, 2, 3]}),
        json!({"$deleteFromPrimitiveList/nonMergingIntList": [2]}),
        json!({"nonMergingIntList": [1, 3]}),
    );
    check(
        json!({"name": 1}),
        json!({"$deleteFromPrimitiveList/mergingIntList": [3]}),
        json!({"name": 1}),
    );
    check(
        json!({"mergingIntList": null}),
        json!({"$deleteFromPrimitiveList/mergingIntList": [3]}),
        json!({"mergingIntList": null}),
    );
    refuse(
        ints(&[1]),
        json!({"$deleteFromPrimitiveList": [3]}),
        "invalid patch format of primitive list",
    );
    refuse(
        ints(&[1]),
        json!({"$deleteFromPrimitiveListX/y": [3]}),
        "invalid patch format of primitive list",
    );
}

#[test]
fn element_order() {
    check(
        json!({"mergingList": [{"name": 1}, {"name": 3}]}),
        json!({
            "$setElementOrder/mergingList": [{"name": 3}, {"name": 2}, {"name": 1}],
            "mergingList": [{"name": 3, "value": 3}, {"name": 1, "value": 1}],
        }),
        json!({"mergingList": [{"name": 3, "value": 3}, {"name": 1, "value": 1}]}),
    );
    check(
        json!({"mergingIntList": [1, 3]}),
        json!({"$setElementOrder/mergingIntList": [3, 2, 1]}),
        json!({"mergingIntList": [3, 1]}),
    );
    check(
        json!({"mergingList": [{"name": "a"}, {"name": "server"}, {"name": "b"}]}),
        json!({"$setElementOrder/mergingList": [{"name": "b"}, {"name": "a"}]}),
        json!({"mergingList": [{"name": "server"}, {"name": "b"}, {"name": "a"}]}),
    );
    check(
        json!({"mergingIntList": [1, 2, 3, 4]}),
        json!({
            "$setElementOrder/mergingIntList": [4, 5, 1],
            "$deleteFromPrimitiveList/mergingIntList": [2],
            "mergingIntList": [5],
        }),
        json!({"mergingIntList": [3, 4, 5, 1]}),
    );
    check(
        json!({}),
        json!({"$setElementOrder/mergingIntList": [2, 1], "mergingIntList": [2, 1]}),
        json!({"mergingIntList": [2, 1]}),
    );
    check(
        json!({}),
        json!({"$setElementOrder/mergingIntList": [2, 1]}),
        json!({}),
    );
    refuse(
        json!({"mergingIntList": [1, 3, 2]}),
        json!({"$setElementOrder/mergingIntList": [1, 2, 3], "mergingIntList": [3, 1]}),
        "The order in patch list:\n[3 1]\n doesn't match $setElementOrder list:\n[1 2 3]\n",
    );
    refuse(
        json!({}),
        json!({"$setElementOrder": []}),
        "invalid patch format of setElementOrder list",
    );
    refuse(
        json!({"mergingIntList": []}),
        json!({"$setElementOrder/mergingIntList": []}),
        "no elements in any of the given slices",
    );
    refuse(
        json!({"mergingIntList": 1}),
        json!({"$setElementOrder/mergingIntList": []}),
        "expected a []interface {}, but received a int64",
    );
}

#[test]
fn refuses_deep_patches() {
    let mut deep = json!(1);
    for _ in 0..=MAX_DEPTH {
        deep = json!({"mergeItemPtr": deep});
    }
    assert_eq!(apply(&json!({}), &deep), Err(PatchError::TooDeep));
}

/// Objects of the test type whose lists hold no duplicates, as every valid object of the API.
fn object() -> impl Strategy<Value = Value> {
    let names = prop::collection::btree_map(0..6_i32, prop::option::of(0..3_i32), 0..5);
    let ints = prop::collection::btree_set(0..6_i32, 0..5);
    (names, ints, prop::option::of("[ab]")).prop_map(|(names, ints, name)| {
        let items: Value = names
            .iter()
            .map(|(name, value)| match value {
                Some(value) => json!({"name": name, "value": value}),
                None => json!({"name": name}),
            })
            .collect();
        let mut object = json!({"mergingList": items, "mergingIntList": ints});
        if let Some(name) = name {
            object["name"] = json!(name);
        }
        object
    })
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing(live in object(), change in object()) {
        let once = apply(&live, &change).unwrap();
        prop_assert_eq!(apply(&once, &change).unwrap(), once);
    }

    #[test]
    fn an_object_is_its_own_patch(live in object()) {
        prop_assert_eq!(apply(&live, &live).unwrap(), live);
    }

    #[test]
    fn deleting_every_item_empties_the_lists(live in object()) {
        let gone: Value = live["mergingList"].as_array().unwrap().iter()
            .map(|item| json!({"name": item["name"], "$patch": "delete"})).collect();
        let change = json!({"mergingList": gone, "$deleteFromPrimitiveList/mergingIntList": live["mergingIntList"]});
        let result = apply(&live, &change).unwrap();
        prop_assert_eq!(&result["mergingList"], &json!([]));
        prop_assert_eq!(&result["mergingIntList"], &json!([]));
    }
}
