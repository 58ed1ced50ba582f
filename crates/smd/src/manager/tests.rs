//! Rows taken from what upstream's field manager tests and real servers show.

use std::collections::BTreeMap;

use kubewright_core::go_json;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NONE: ResetFields = ResetFields::new();

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

/// A manager of Deployments, at a time.
fn deployments(test: impl FnOnce(&dyn Fn(i64) -> FieldManager<'static>)) {
    let ty = TypeRef::named("io.k8s.api.apps.v1.Deployment").unwrap();
    let versions: &'static OneType<'static, 'static> = Box::leak(Box::new(OneType {
        ty,
        api_versions: &["apps/v1"],
    }));
    let none: &'static ResetFields = Box::leak(Box::new(NONE));
    test(&|seconds| FieldManager {
        versions,
        api_version: "apps/v1",
        kind: "Deployment",
        subresource: "",
        reset_fields: none,
        now: at(seconds),
    });
}

fn deployment(replicas: u32, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "c", "image": image, "ports": [{"containerPort": 80}], "resources": {}},
                ]},
            },
        },
    })
}

/// Manager, operation and fields of each entry.
fn owners(object: &Value) -> Vec<(String, String, Value)> {
    let entries = entries(object)
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    entries
        .iter()
        .map(|entry| {
            (
                text(entry, "manager"),
                text(entry, "operation"),
                entry["fieldsV1"].clone(),
            )
        })
        .collect()
}

#[test]
fn a_create_owns_what_go_does_not_write_anyway() {
    deployments(|manager| {
        let created = manager(0)
            .create(deployment(3, "nginx:1"), "kubectl-create")
            .unwrap();
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
            "f:spec": {
                "f:replicas": {},
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                    "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {
                        ".": {}, "f:name": {}, "f:image": {}, "f:resources": {},
                        "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                    }}},
                },
            },
        });
        assert_eq!(
            owners(&created),
            [("kubectl-create".to_owned(), "Update".to_owned(), fields)]
        );
        assert_eq!(
            created["metadata"]["managedFields"][0]["time"],
            "2023-11-14T22:13:20Z"
        );
        assert_eq!(created["metadata"]["managedFields"][0]["apiVersion"], "apps/v1");
    });
}

#[test]
fn an_update_takes_what_it_changes() {
    deployments(|manager| {
        let created = manager(0).create(deployment(3, "nginx:1"), "a").unwrap();
        let mut scaled = created.clone();
        scaled["spec"]["replicas"] = json!(5);
        let scaled = manager(1).update(&created, scaled, "b").unwrap();
        let owners = owners(&scaled);
        assert_eq!(owners.len(), 2);
        assert_eq!(owners[0].0, "a");
        assert_eq!(owners[0].2["f:spec"].get("f:replicas"), None);
        assert_eq!(
            owners[1],
            (
                "b".to_owned(),
                "Update".to_owned(),
                json!({"f:spec": {"f:replicas": {}}})
            )
        );
        // Nothing changes: no entry, no time.
        let same = manager(2).update(&scaled, scaled.clone(), "c").unwrap();
        assert_eq!(same, scaled);
    });
}

/// The short way of an update that changes nothing gives what the long way does.
#[test]
fn an_update_that_changes_nothing_keeps_the_entries() {
    deployments(|manager| {
        let mut live = manager(0).create(deployment(3, "nginx:1"), "create").unwrap();
        live["metadata"]["uid"] = json!("u");
        let live = manager(1)
            .apply(Some(&live), &deployment(3, "nginx:1"), "apply", Force::No)
            .unwrap();
        let check = |change: fn(&mut Value), short: bool| {
            let mut new = live.clone();
            change(&mut new);
            let given = entries(&new).cloned();
            let way = manager(2).keeps_entries(&live, given.as_ref()) && is_unchanged(&new, &live);
            assert_eq!(way, short, "{new:#}");
            assert_eq!(
                manager(2).update_or_keep(&live, new.clone(), "update"),
                manager(2).update(&live, new, "update").unwrap()
            );
        };
        check(|_| (), true);
        check(|new| new["metadata"]["resourceVersion"] = json!("7"), true);
        check(
            |new| drop(new["metadata"].as_object_mut().unwrap().remove("uid")),
            true,
        );
        check(
            |new| drop(new["metadata"].as_object_mut().unwrap().remove("managedFields")),
            true,
        );
        check(|new| new["metadata"]["managedFields"] = json!([]), false);
        check(
            |new| drop(new["metadata"]["managedFields"].as_array_mut().unwrap().pop()),
            false,
        );
        check(|new| new["metadata"]["labels"] = json!({"app": "other"}), false);
        check(
            |new| drop(new["metadata"].as_object_mut().unwrap().remove("labels")),
            false,
        );
        check(|new| new["spec"]["replicas"] = json!(4), false);
        check(|new| new["spec"]["paused"] = json!(true), false);
        check(|new| new["status"] = json!({}), false);
    });
}

#[test]
fn an_apply_conflicts_unless_it_is_forced() {
    deployments(|manager| {
        let mut config = deployment(3, "nginx:1");
        config["metadata"].as_object_mut().unwrap().remove("labels");
        let first = manager(0).apply(None, &config, "one", Force::No).unwrap();
        assert_eq!(owners(&first).len(), 1);
        let error = manager(1)
            .apply(Some(&first), &deployment(3, "nginx:2"), "two", Force::No)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Apply failed with 1 conflict: conflict with \"one\": .spec.template.spec.containers[name=\"c\"].image"
        );
        let conflicts = error.conflicts().unwrap();
        assert_eq!(conflicts.causes()[0].message, "conflict with \"one\"");
        assert_eq!(
            conflicts.causes()[0].field,
            ".spec.template.spec.containers[name=\"c\"].image"
        );
        let forced = manager(1)
            .apply(Some(&first), &deployment(3, "nginx:2"), "two", Force::Yes)
            .unwrap();
        assert_eq!(
            forced["spec"]["template"]["spec"]["containers"][0]["image"],
            "nginx:2"
        );
        assert_eq!(owners(&forced).len(), 2);
        // What the first one does not apply any more goes, where the second one does not own it too.
        let mut less = config.clone();
        less["spec"]["template"]["spec"]["containers"][0] = json!({"name": "c"});
        let less = manager(2).apply(Some(&forced), &less, "one", Force::No).unwrap();
        assert_eq!(less["spec"], forced["spec"]);
    });
}

#[test]
fn applies_are_checked() {
    deployments(|manager| {
        let check = |change: &dyn Fn(&mut Value), expect: &str| {
            let mut config = deployment(1, "x");
            change(&mut config);
            let error = manager(0).apply(None, &config, "m", Force::No).unwrap_err();
            assert_eq!(error.to_string(), expect);
        };
        check(
            &|config| config["apiVersion"] = json!("apps/v1beta1"),
            "invalid object type: apps/v1beta1, Kind=Deployment",
        );
        check(
            &|config| config["kind"] = json!("Pod"),
            "invalid object type: apps/v1, Kind=Pod",
        );
        check(
            &|config| config["metadata"]["managedFields"] = json!([]),
            "metadata.managedFields must be nil",
        );
        check(
            &|config| config["spec"]["replicas"] = json!("3"),
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.replicas: expected \
             numeric (int or float), got string",
        );
        check(
            &|config| config["spec"]["nope"] = json!("3"),
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.nope: field not \
             declared in schema",
        );
        check(
            &|config| {
                let containers = &mut config["spec"]["template"]["spec"]["containers"];
                let twin = containers[0].clone();
                containers.as_array_mut().unwrap().push(twin);
            },
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): \
             .spec.template.spec.containers: duplicate entries for key [name=\"c\"]",
        );
    });
}

#[test]
fn entries_of_the_request_count_where_they_may() {
    deployments(|manager| {
        let live = manager(0).create(deployment(1, "x"), "a").unwrap();
        let update = |entries: Option<Value>, subresource: &'static str| {
            let mut new = live.clone();
            new["metadata"]["labels"]["more"] = json!("y");
            match entries {
                Some(entries) => new["metadata"]["managedFields"] = entries,
                None => drop(take_entries(&mut new)),
            }
            // A reset object is not tracked on until it is created or applied.
            new["metadata"]["uid"] = json!("u");
            let mut live = live.clone();
            live["metadata"]["uid"] = json!("u");
            let manager = FieldManager {
                subresource,
                ..manager(1)
            };
            let updated = manager.update(&live, new, "b").unwrap();
            owners(&updated)
                .into_iter()
                .map(|(name, ..)| name)
                .collect::<Vec<_>>()
        };
        let given = json!([{"manager": "given", "operation": "Update", "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
        assert_eq!(update(None, ""), ["a", "b"]);
        assert_eq!(update(Some(json!([])), ""), Vec::<String>::new());
        assert_eq!(update(Some(json!([{}])), ""), Vec::<String>::new());
        assert_eq!(update(Some(given.clone()), ""), ["given", "b"]);
        assert_eq!(update(Some(given), "status"), ["a", "b"]);
        assert_eq!(
            update(Some(json!([{"manager": "no", "operation": "Other"}])), ""),
            ["a", "b"]
        );
        assert_eq!(update(Some(json!("no list")), ""), ["a", "b"]);
    });
}

#[test]
fn the_oldest_updates_are_merged() {
    deployments(|manager| {
        let mut live = manager(0)
            .apply(None, &deployment(1, "x"), "applier", Force::No)
            .unwrap();
        for at in 0..14 {
            let mut new = live.clone();
            new["metadata"]["labels"][format!("l{at}")] = json!("y");
            live = manager(100 + at)
                .update(&live, new, &format!("m{at:02}"))
                .unwrap();
        }
        let owners = owners(&live);
        let names: Vec<&str> = owners.iter().map(|(name, ..)| &**name).collect();
        let expect = [
            "applier",
            "ancient-changes",
            "m05",
            "m06",
            "m07",
            "m08",
            "m09",
            "m10",
            "m11",
            "m12",
            "m13",
        ];
        assert_eq!(names, expect);
        let ancient =
            json!({"f:metadata": {"f:labels": {"f:l0": {}, "f:l1": {}, "f:l2": {}, "f:l3": {}, "f:l4": {}}}});
        assert_eq!(owners[1].2, ancient);
        // It bears the time of the last that was merged.
        assert_eq!(
            live["metadata"]["managedFields"][1]["time"],
            "2023-11-14T22:15:04Z"
        );
    });
}

#[test]
fn kubectl_applies_over_its_annotation() {
    deployments(|manager| {
        let mut config = deployment(1, "x:1");
        let mut live = config.clone();
        live["metadata"]["uid"] = json!("u");
        live["metadata"]["annotations"] = json!({LAST_APPLIED: config.to_string()});
        config["spec"]["replicas"] = json!(2);
        // Who has another name is in conflict with what was there before.
        let error = manager(0)
            .apply(Some(&live), &config, "other", Force::No)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .spec.replicas"
        );
        let applied = manager(0)
            .apply(Some(&live), &config, "kubectl", Force::No)
            .unwrap();
        assert_eq!(applied["spec"]["replicas"], 2);
        let annotation = applied["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap();
        assert_eq!(annotation, format!("{}\n", go_json(&config)));
        // What somebody else has changed since is in conflict also for kubectl.
        live["spec"]["replicas"] = json!(3);
        let error = manager(0)
            .apply(Some(&live), &config, "kubectl", Force::No)
            .unwrap_err();
        assert_eq!(error.conflicts().unwrap().0.len(), 1);
        // An annotation that is too large goes.
        config["metadata"]["annotations"] = json!({"big": "x".repeat(200 << 10)});
        let large = manager(0)
            .apply(Some(&applied), &config, "kubectl", Force::No)
            .unwrap();
        assert_eq!(large["metadata"]["annotations"].get(LAST_APPLIED), None);
    });
}

#[test]
fn times_alone_are_no_change() {
    let old = json!({"metadata": {"name": "a", "managedFields": [{"manager": "m", "time": "1"}]}, "spec": {"x": 1}});
    let check = |change: &dyn Fn(&mut Value), restored: bool| {
        let mut new = old.clone();
        new["metadata"]["managedFields"][0]["time"] = json!("2");
        change(&mut new);
        let before = new.clone();
        restore_times(&mut new, &old);
        assert_eq!(new, if restored { old.clone() } else { before });
    };
    check(&|_| {}, true);
    check(&|new| new["spec"]["x"] = json!(2), false);
    check(&|new| new["metadata"]["name"] = json!("b"), false);
    check(
        &|new| new["metadata"]["managedFields"][0]["manager"] = json!("n"),
        false,
    );
    check(&|new| new["metadata"]["managedFields"] = json!([]), false);
}

#[test]
fn what_was_applied_can_be_extracted_and_applied_again() {
    deployments(|manager| {
        let ty = TypeRef::named("io.k8s.api.apps.v1.Deployment").unwrap();
        let config = deployment(3, "x");
        let applied = manager(0).apply(None, &config, "m", Force::No).unwrap();
        let mut scaled = applied.clone();
        scaled["metadata"]["labels"]["other"] = json!("y");
        scaled["spec"]["paused"] = json!(true);
        let scaled = manager(1).update(&applied, scaled, "other").unwrap();
        let extracted = extract(&scaled, ty, "m", "").unwrap().unwrap();
        let mut expect = config;
        let metadata = expect["metadata"].as_object_mut().unwrap();
        metadata.remove("name");
        metadata.remove("namespace");
        assert_eq!(extracted, expect);
        let mut again = extracted;
        again["metadata"]["name"] = json!("web");
        again["metadata"]["namespace"] = json!("default");
        assert_eq!(
            manager(9).apply(Some(&scaled), &again, "m", Force::No).unwrap(),
            scaled
        );
        assert_eq!(extract(&scaled, ty, "m", "status").unwrap(), None);
        assert_eq!(extract(&scaled, ty, "other", "").unwrap(), None);
    });
}

/// Two versions that name a field differently, and one that cannot be converted to.
struct Renamed(crate::types::Schema);

impl Versions for Renamed {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.0.named(api_version)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        if api_version == "g/broken" {
            let message = "conversion webhook failed".to_owned();
            return Err(ConversionError { message });
        }
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        if let Some(Value::Object(spec)) = object.get_mut("spec") {
            let size = spec.remove("size").or_else(|| spec.remove("replicas"));
            let name = if api_version == "g/v1" { "size" } else { "replicas" };
            spec.extend(size.map(|size| (name.to_owned(), size)));
        }
        Ok(object)
    }
}

#[test]
fn owners_follow_fields_over_versions() {
    use crate::types::{Atom, Scalar, Schema, TypeSpec};
    let map = |fields: &[(&str, TypeSpec)]| {
        Atom::map(crate::types::Map {
            fields: fields
                .iter()
                .map(|(name, ty)| ((*name).to_owned(), ty.clone().into()))
                .collect(),
            ..crate::types::Map::default()
        })
    };
    let root = |field: &str| {
        let text = || TypeSpec::from(Atom::scalar(Scalar::String));
        let spec = map(&[(field, Atom::scalar(Scalar::Numeric).into()), ("x", text())]);
        let metadata = map(&[
            ("name", text()),
            ("uid", text()),
            ("managedFields", TypeSpec::Untyped),
        ]);
        map(&[
            ("apiVersion", text()),
            ("kind", text()),
            ("metadata", metadata.into()),
            ("spec", spec.into()),
        ])
    };
    let types = [
        ("g/v1", root("size")),
        ("g/v2", root("replicas")),
        ("g/broken", root("replicas")),
    ];
    let versions = Renamed(Schema::new(types.map(|(name, atom)| (name.to_owned(), atom)).into()).unwrap());
    let none = NONE;
    let manager = |api_version: &'static str| FieldManager {
        versions: &versions,
        api_version,
        kind: "K",
        subresource: "",
        reset_fields: &none,
        now: at(0),
    };
    let config = |version: &str, spec: Value| json!({"apiVersion": version, "kind": "K", "metadata": {"name": "n"}, "spec": spec});
    let first = manager("g/v1")
        .apply(
            None,
            &config("g/v1", json!({"size": 1, "x": "a"})),
            "one",
            Force::No,
        )
        .unwrap();
    // A conflict over a field with another name; the live object is converted.
    let error = manager("g/v2")
        .apply(
            Some(&first),
            &config("g/v2", json!({"replicas": 2})),
            "two",
            Force::No,
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"one\": .spec.size"
    );
    let shared = manager("g/v2")
        .apply(
            Some(&first),
            &config("g/v2", json!({"replicas": 1})),
            "two",
            Force::No,
        )
        .unwrap();
    // The first one goes over to the new version and drops the field: the second one keeps it.
    let dropped = manager("g/v2")
        .apply(
            Some(&shared),
            &config("g/v2", json!({"x": "b"})),
            "one",
            Force::No,
        )
        .unwrap();
    assert_eq!(dropped["spec"], json!({"replicas": 1, "x": "b"}));
    // Now the second one drops it too.
    let gone = manager("g/v2")
        .apply(Some(&dropped), &config("g/v2", json!({})), "two", Force::No)
        .unwrap();
    assert_eq!(gone["spec"], json!({"x": "b"}));

    // Entries of a version that is gone are forgotten; one that cannot be converted fails, and is kept if need be.
    let owned_in = |version: &str| {
        let mut live = dropped.clone();
        live["metadata"]["uid"] = json!("u");
        // What "two" owns, which comes first since it has no time: its apply changed nothing.
        live["metadata"]["managedFields"][0]["apiVersion"] = json!(version);
        live
    };
    let change = |live: &Value| {
        let mut new = live.clone();
        new["spec"]["x"] = json!("c");
        new
    };
    let live = owned_in("g/gone");
    let updated = manager("g/v2").update(&live, change(&live), "u").unwrap();
    let x = json!({"f:spec": {"f:x": {}}});
    assert_eq!(owners(&updated), [("u".to_owned(), "Update".to_owned(), x)]);
    let live = owned_in("g/broken");
    let error = manager("g/v2").update(&live, change(&live), "u").unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to convert object: conversion webhook failed"
    );
    let kept = manager("g/v2").update_or_keep(&live, change(&live), "u");
    assert_eq!(kept["spec"]["x"], "c");
    assert_eq!(entries(&kept), entries(&live));
}

/// A custom resource of which nothing is known.
fn custom(seconds: i64) -> FieldManager<'static> {
    static VERSIONS: OneType<'static, 'static> = OneType {
        ty: TypeRef::DEDUCED,
        api_versions: &["g/v1"],
    };
    static NONE: ResetFields = ResetFields::new();
    FieldManager {
        versions: &VERSIONS,
        api_version: "g/v1",
        kind: "K",
        subresource: "",
        reset_fields: &NONE,
        now: at(seconds),
    }
}

/// A configuration whose fields all begin with a letter.
fn config(letter: char) -> impl Strategy<Value = Value> {
    let name = "[a-c]".prop_map(move |name| format!("{letter}{name}"));
    let leaf = prop_oneof![(0..3i64).prop_map(Value::from), "[a-b]".prop_map(Value::from)];
    let below = prop::collection::btree_map("[a-c]", leaf.clone(), 1..3);
    let member = prop_oneof![leaf, below.prop_map(|members| json!(members))];
    prop::collection::btree_map(name, member, 1..4)
        .prop_map(|spec| json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}, "spec": spec}))
}

/// Some histories of updates, by the road that compares all and by the one that is shorter where owners stay who they are.
#[test]
fn owners_that_stay_are_found_out() {
    let mut stayed = BTreeMap::<_, usize>::new();
    let mut check = |live: &Value, new: Value, name: &str, seconds: i64| {
        let manager = custom(seconds);
        let given = new["metadata"].get("managedFields");
        let bare = {
            let mut bare = new.clone();
            bare["metadata"].as_object_mut().unwrap().remove("managedFields");
            bare
        };
        let before = given.or_else(|| entries(live)).unwrap();
        let outcome = manager.same_owners(live, &bare, before, name);
        *stayed.entry(format!("{outcome:?}")).or_default() += 1;
        let expect = manager.update(live, new.clone(), name).unwrap();
        assert_eq!(manager.update_or_keep(live, new, name), expect, "{outcome:?}");
        expect
    };
    let with = |live: &Value, member: &str, value: Value| {
        let mut new = live.clone();
        new["spec"][member] = value;
        new
    };
    let config = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n", "uid": "u"}, "spec": {"x": 1, "y": {"z": 1}}});
    let first = custom(0).apply(None, &config, "applier", Force::No).unwrap();
    let one = check(&first, with(&first, "a", json!(1)), "one", 1);
    let two = check(&one, with(&one, "b", json!({"c": [1]})), "two", 2);
    // Who wrote first has written last now, and its entry goes behind the other's.
    let later = check(&two, with(&two, "a", json!(2)), "one", 3);
    assert_eq!(entries(&later).unwrap()[2]["manager"], "one");
    check(&later, with(&later, "a", json!(3)), "", 3);
    check(&later, with(&later, "b", json!({"c": [1, 2]})), "one", 4);
    check(&later, with(&later, "x", json!(2)), "one", 4);
    check(&later, with(&later, "y", json!({"z": 2})), "two", 4);
    check(&later, with(&later, "b", json!({})), "two", 4);
    // What nobody owns.
    let mut moved = later.clone();
    moved["metadata"]["generation"] = json!(7);
    check(&later, moved, "one", 5);
    check(&later, with(&later, "a", json!(4)), "one", 5);
    // Entries that are not as they are written.
    let mut odd = with(&later, "a", json!(9));
    odd["metadata"]["managedFields"][2]["fieldsV1"]["f:spec"]["f:gone"] = json!({"k:{\"n\": 1}": {}});
    check(&later, odd, "one", 5);
    let mut doubled = with(&later, "a", json!(9));
    let entry = entries(&later).unwrap()[2].clone();
    doubled["metadata"]["managedFields"]
        .as_array_mut()
        .unwrap()
        .push(entry);
    check(&later, doubled, "one", 5);
    let mut without_times = with(&later, "a", json!(9));
    for entry in without_times["metadata"]["managedFields"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("time");
    }
    check(&later, without_times, "one", 5);
    let expect = [
        ("None", 10),
        ("Some(Renewed(1))", 1),
        ("Some(Renewed(2))", 1),
        ("Some(Same)", 1),
    ];
    assert_eq!(
        stayed,
        expect.map(|(outcome, count)| (outcome.to_owned(), count)).into()
    );
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(before in config('a'), after in config('a')) {
        let live = custom(0).apply(None, &before, "one", Force::No).unwrap();
        let once = custom(1).apply(Some(&live), &after, "one", Force::No).unwrap();
        // What nobody applies any more is gone.
        prop_assert_eq!(&once["spec"], &after["spec"]);
        let twice = custom(2).apply(Some(&once), &after, "one", Force::No).unwrap();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn appliers_of_other_fields_do_not_matter(one in config('a'), two in config('b'), one_later in config('a')) {
        let apply = |live: Option<&Value>, config: &Value, name: &str| {
            custom(0).apply(live, config, name, Force::No).unwrap()
        };
        let there = apply(Some(&apply(None, &one, "one")), &two, "two");
        let back = apply(Some(&apply(None, &two, "two")), &one, "one");
        prop_assert_eq!(&there, &back);
        // Nor does what the other one owns change.
        let later = apply(Some(&there), &one_later, "one");
        prop_assert_eq!(&owners(&later)[1], &owners(&there)[1]);
        let mut updated = later.clone();
        updated["spec"]["zz"] = json!(1);
        let updated = custom(1).update(&later, updated, "user").unwrap();
        prop_assert_eq!(&owners(&updated)[..2], &owners(&later)[..]);
    }
}
