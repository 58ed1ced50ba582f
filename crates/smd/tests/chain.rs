//! What apimachinery's field manager v0.37.2 answers to generated histories of updates and applies of a Deployment:
//! `upstream/chain.json` has the requests and the answers. Times are the same in both, and not compared further.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its cases has failed")]

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use kubewright_smd::fields::{Filter, ResetFields};
use kubewright_smd::manager::{FieldManager, Force, OneType};
use kubewright_smd::types::{Atom, Map, Scalar, Schema, TypeSpec};
use serde_json::{Value, json};

/// A Deployment whose empty object is empty, as that of custom resources is: the generator has no Go types.
fn deployment() -> Schema {
    let built_in = |name: &str| TypeSpec::BuiltIn(format!("io.k8s.{name}"));
    let text = || TypeSpec::from(Atom::scalar(Scalar::String));
    let fields = [
        ("apiVersion", text()),
        ("kind", text()),
        ("metadata", built_in("apimachinery.pkg.apis.meta.v1.ObjectMeta")),
        ("spec", built_in("api.apps.v1.DeploymentSpec")),
        ("status", built_in("api.apps.v1.DeploymentStatus")),
    ];
    let fields = fields.map(|(name, ty)| (name.to_owned(), ty.into()));
    Schema::single(Atom::map(Map {
        fields: fields.into(),
        ..Map::default()
    }))
    .unwrap()
}

fn without_entries(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    object
}

/// The entries, with times that only say that there is one.
fn entries(object: &Value) -> Value {
    let mut entries = object["metadata"]
        .get("managedFields")
        .cloned()
        .unwrap_or(json!([]));
    for entry in entries.as_array_mut().unwrap() {
        if let Some(time) = entry.get_mut("time") {
            *time = json!(true);
        }
    }
    entries
}

fn sorted(mut entries: Value) -> Vec<String> {
    entries.sort_all_objects();
    let entries = entries.as_array().unwrap();
    let mut texts: Vec<String> = entries.iter().map(Value::to_string).collect();
    texts.sort_unstable();
    texts
}

/// All writes but those that a request dates itself happened at one time.
fn settle_times(object: &mut Value) {
    let entries = object["metadata"].get_mut("managedFields");
    for entry in entries.and_then(Value::as_array_mut).into_iter().flatten() {
        match entry.get_mut("time") {
            Some(time) if time != "2020-01-01T00:00:00Z" => *time = json!("2024-01-01T00:00:00Z"),
            _ => {}
        }
    }
}

#[test]
fn histories() {
    let file = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/chain.json");
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let schema = deployment();
    let versions = OneType {
        ty: schema.root(),
        api_versions: &["apps/v1"],
    };
    let status: &[&str] = &["status"];
    let reset = BTreeMap::from([("apps/v1".to_owned(), Filter::exclude([status]))]);
    let none = ResetFields::new();
    for (index, case) in cases.iter().enumerate() {
        let manager = FieldManager {
            versions: &versions,
            api_version: "apps/v1",
            kind: "Deployment",
            subresource: case["subresource"].as_str().unwrap(),
            reset_fields: if case["reset"] == true { &reset } else { &none },
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
        };
        let mut live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}});
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            if let Some(object) = step.get("set") {
                live = object.clone();
                continue;
            }
            let name = step["manager"].as_str().unwrap();
            let result = match step.get("update") {
                Some(new) => {
                    let updated = manager.update(&live, new.clone(), name);
                    // A server updates by another road, which is shorter where owners stay who they are. What changes nothing does
                    // not put entries in order whose times were settled here.
                    if let Ok(updated) = &updated {
                        let short = manager.update_or_keep(&live, new.clone(), name);
                        let place = format!("case {index}, step {at}");
                        assert_eq!(without_entries(&short), without_entries(updated), "{place}");
                        assert_eq!(sorted(entries(&short)), sorted(entries(updated)), "{place}");
                    }
                    updated
                }
                None => {
                    let force = if step["force"] == true {
                        Force::Yes
                    } else {
                        Force::No
                    };
                    manager.apply(Some(&live), &step["apply"], name, force)
                }
            };
            let place = format!("case {index}, step {at}: {step}");
            match result {
                Ok(object) => {
                    assert_eq!(without_entries(&object), step["live"], "{place}");
                    assert_eq!(entries(&object), step["entries"], "{place}");
                    live = object;
                    settle_times(&mut live);
                }
                Err(error) => match error.conflicts() {
                    Some(conflicts) => {
                        let causes = conflicts.causes();
                        let mut causes: Vec<String> = causes
                            .iter()
                            .map(|cause| format!("{} | {}", cause.message, cause.field))
                            .collect();
                        causes.sort_unstable();
                        assert_eq!(json!(causes), step["causes"], "{place}");
                        assert_eq!(error.to_string(), step["message"], "{place}");
                    }
                    None => assert_eq!(error.to_string(), step["error"], "{place}"),
                },
            }
        }
    }
}
