//! Who owns which fields after writes that are no apply.

use serde_json::{Value, json};

use crate::harness::*;

const MERGE: &str = "application/merge-patch+json";

/// The entries of an object without their times. Who comes to own what is so already by an apply has none, as upstream.
pub(crate) fn entries(object: &Value) -> Vec<Value> {
    let entries = object["metadata"]["managedFields"].as_array().cloned();
    let mut entries = entries.unwrap_or_default();
    for entry in &mut entries {
        entry.as_object_mut().unwrap().remove("time");
    }
    entries
}

pub(crate) fn entry(manager: &str, operation: &str, version: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields})
}

fn of_subresource(mut entry: Value, subresource: &str) -> Value {
    entry["subresource"] = subresource.into();
    entry
}

fn patch(path: &str, body: &Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed(MERGE, body.to_string())
}

#[tokio::test]
async fn every_write_has_an_owner() {
    let server = Server::start().await;
    let update = |manager: &str, fields: Value| entry(manager, "Update", "v1", &fields);
    let made = server
        .ok(Ask::json(
            format!("POST {MAPS}?fieldManager=a"),
            &config_map("m", "1"),
        ))
        .await;
    assert_eq!(
        entries(&made),
        [update("a", json!({"f:data": {".": {}, "f:key": {}}}))]
    );
    assert_eq!(
        made["metadata"]["managedFields"][0]["time"],
        made["metadata"]["creationTimestamp"]
    );

    // What is changed has another owner; what is not keeps its own.
    let agent = patch(&format!("{MAPS}/m"), &json!({"data": {"key": "2", "more": "3"}}));
    let changed = server.ok(agent.header("user-agent", "tool/v1 (linux)")).await;
    assert_eq!(
        entries(&changed),
        [
            update("a", json!({"f:data": {}})),
            update("tool", json!({"f:data": {"f:key": {}, "f:more": {}}}))
        ]
    );

    // Who changes nothing owns nothing, and nothing is written.
    let before = server.revision().await;
    let same = server
        .ok(Ask::json(format!("PUT {MAPS}/m?fieldManager=b"), &changed))
        .await;
    assert_eq!(same, changed);
    let mut bare = changed.clone();
    bare["metadata"].as_object_mut().unwrap().remove("managedFields");
    let same = server
        .ok(Ask::json(format!("PUT {MAPS}/m?fieldManager=b"), &bare))
        .await;
    assert_eq!(
        same, changed,
        "who does not send the owners does not take them away"
    );
    assert_eq!(server.revision().await, before);

    // What goes has no owner.
    let less = server
        .ok(patch(
            &format!("{MAPS}/m?fieldManager=b"),
            &json!({"data": {"key": null}}),
        ))
        .await;
    assert_eq!(
        entries(&less),
        [
            update("a", json!({"f:data": {}})),
            update("tool", json!({"f:data": {"f:more": {}}}))
        ]
    );
}

#[tokio::test]
async fn a_dry_run_shows_the_owners() {
    let server = Server::start().await;
    let before = server.revision().await;
    let ask = Ask::json(
        format!("POST {MAPS}?fieldManager=a&dryRun=All"),
        &config_map("m", "1"),
    );
    let fields = json!({"f:data": {".": {}, "f:key": {}}});
    assert_eq!(
        entries(&server.ok(ask).await),
        [entry("a", "Update", "v1", &fields)]
    );
    assert_eq!(server.revision().await, before);
}

#[tokio::test]
async fn subresources_have_entries_of_their_own() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object, version) in [
        (DEPLOYMENTS, deployment("a"), "apps/v1"),
        (WIDGETS, widget("a"), "example.com/v1"),
    ] {
        let made = server
            .ok(Ask::json(format!("POST {path}?fieldManager=user"), &object))
            .await;
        assert_eq!(entries(&made).len(), 1, "{path}");
        let status =
            json!({"metadata": {"labels": {"no": "no"}}, "status": {"replicas": 3, "phase": "Done"}});
        let ask = patch(
            &format!("{path}/a/status?fieldManager=controller&fieldValidation=Ignore"),
            &status,
        );
        let changed = server.ok(ask).await;
        let found = entries(&changed);
        assert_eq!(found.len(), 2, "{path}: {found:?}");
        let fields = if path == WIDGETS {
            json!({"f:status": {".": {}, "f:phase": {}}})
        } else {
            // Labels may not be written with the status, so nobody owns them.
            json!({"f:status": {"f:replicas": {}}})
        };
        let expect = of_subresource(entry("controller", "Update", version, &fields), "status");
        assert!(found.contains(&expect), "{path}: {found:#?}");
    }
}

#[tokio::test]
async fn clients_may_write_the_entries() {
    let server = Server::start().await;
    let made = server
        .ok(Ask::json(
            format!("POST {MAPS}?fieldManager=a"),
            &config_map("m", "1"),
        ))
        .await;
    let send = |managed: Value| {
        let mut object = made.clone();
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        object["metadata"]["managedFields"] = managed;
        Ask::json(format!("PUT {MAPS}/m?fieldManager=b"), &object)
    };
    let mut other = made["metadata"]["managedFields"].clone();
    other[0]["manager"] = "other".into();
    for (managed, names) in [
        // What does not read is as if it were not there.
        (json!([{"manager": "x", "operation": "Invent"}]), &["a"][..]),
        (other, &["other"]),
        (Value::Null, &["other"]),
        (json!([{}]), &[]),
    ] {
        let found = server.ok(send(managed.clone())).await;
        let found = entries(&found);
        let found: Vec<&str> = found.iter().map(|entry| text(&entry["manager"])).collect();
        assert_eq!(found, names, "{managed}");
    }
    // Nobody owns anything any more, until somebody applies.
    let changed = server
        .ok(patch(
            &format!("{MAPS}/m?fieldManager=b"),
            &json!({"data": {"key": "7"}}),
        ))
        .await;
    assert_eq!(changed["metadata"].get("managedFields"), None);
}

#[tokio::test]
async fn names_of_managers_are_checked() {
    let server = Server::start().await;
    let long = "x".repeat(129);
    for (manager, why) in [
        (
            long.as_str(),
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes",
        ),
        (
            "a%07",
            "fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)",
        ),
        ("%E2%80%8B", "invalid character U+200B (at position 0)"),
    ] {
        let ask = Ask::json(
            format!("POST {MAPS}?fieldManager={manager}"),
            &config_map("m", "1"),
        );
        server.refused(ask, 422, why).await;
    }
}

#[tokio::test]
async fn whoever_scales_owns_the_number() {
    let server = Server::start().await;
    let mut object = deployment("a");
    object["spec"]["replicas"] = json!(2);
    server
        .ok(Ask::json(
            format!("POST {DEPLOYMENTS}?fieldManager=user"),
            &object,
        ))
        .await;
    let scale = server.ok(format!("GET {DEPLOYMENTS}/a/scale")).await;
    assert_eq!(scale["metadata"].get("managedFields"), None);
    let ask = patch(
        &format!("{DEPLOYMENTS}/a/scale?fieldManager=scaler"),
        &json!({"spec": {"replicas": 5}}),
    );
    assert_eq!(server.ok(ask).await["spec"]["replicas"], 5);
    let scaled = server.ok(format!("GET {DEPLOYMENTS}/a")).await;
    let found = scaled["metadata"]["managedFields"].as_array().unwrap();
    let owners: Vec<(&str, &str)> = found
        .iter()
        .filter(|entry| entry["fieldsV1"].pointer("/f:spec/f:replicas").is_some())
        .map(|entry| (text(&entry["manager"]), text(&entry["subresource"])))
        .collect();
    assert_eq!(owners, [("scaler", "scale")]);
    assert_eq!(found.len(), 2);
}
