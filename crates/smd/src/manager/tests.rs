//! Rows taken from what upstream's field manager tests and real servers show.

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
