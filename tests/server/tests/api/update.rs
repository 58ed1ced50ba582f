//! Update and the `status` subresource.

use serde_json::{Value, json};

use crate::harness::*;

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

#[tokio::test]
async fn an_update_conflicts_with_a_newer_state() {
    let server = Server::start().await;
    let first = server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let mut changed = first.clone();
    changed["data"]["key"] = json!("2");
    let second = server.ok(Ask::json(format!("PUT {MAPS}/a"), &changed)).await;
    assert!(version(&second) > version(&first));
    let message = format!("Operation cannot be fulfilled on configmaps \"a\": {MODIFIED}");
    let answer = server
        .refused(Ask::json(format!("PUT {MAPS}/a"), &changed), 409, &message)
        .await;
    assert_eq!(answer.body["reason"], "Conflict");
    assert_eq!(answer.body["details"], json!({"name": "a", "kind": "configmaps"}));

    let mut other = second.clone();
    other["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    server
        .refused(
            Ask::json(format!("PUT {MAPS}/a"), &other),
            409,
            "Precondition failed: UID",
        )
        .await;
    other["metadata"]["resourceVersion"] = json!("");
    server
        .refused(
            Ask::json(format!("PUT {MAPS}/a"), &other),
            409,
            "Precondition failed: UID",
        )
        .await;
}

/// What an update that names no version does differs from kind to kind.
#[tokio::test]
async fn an_update_without_version() {
    let server = Server::start().await;
    server.define_widgets().await;
    let lease = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}});
    for (path, object, allowed) in [
        (MAPS, config_map("a", "1"), true),
        (DEPLOYMENTS, deployment("a"), true),
        (WIDGETS, widget("a"), false),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            lease,
            false,
        ),
    ] {
        server.ok(Ask::json(format!("POST {path}"), &object)).await;
        let mut changed = object.clone();
        changed["metadata"]["labels"] = json!({"changed": "yes"});
        let ask = Ask::json(format!("PUT {path}/a"), &changed);
        if allowed {
            assert_eq!(
                server.ok(ask).await["metadata"]["labels"]["changed"],
                "yes",
                "{path}"
            );
        } else {
            server
                .refused(
                    ask,
                    422,
                    "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
                )
                .await;
        }
    }
}

#[tokio::test]
async fn what_changes_nothing_is_not_written() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object) in [
        (MAPS, config_map("a", "1")),
        (PODS, pod("a")),
        (DEPLOYMENTS, deployment("a")),
        (WIDGETS, widget("a")),
    ] {
        let made = server.ok(Ask::json(format!("POST {path}"), &object)).await;
        let before = server.revision().await;
        let same = server.ok(Ask::json(format!("PUT {path}/a"), &made)).await;
        assert_eq!(same, made);
        let patch = json!({"metadata": {"name": "a"}}).to_string();
        let same = server
            .ok(Ask::new(format!("PATCH {path}/a")).typed("application/merge-patch+json", patch))
            .await;
        assert_eq!(same, made);
        assert_eq!(server.revision().await, before, "{path}");
    }
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart() {
    let server = Server::start().await;
    server.define_widgets().await;
    let mut new_pod = pod("a");
    new_pod["status"] = json!({"phase": "Running"});
    let mut new_widget = widget("a");
    new_widget["status"] = json!({"phase": "Done"});
    let mut new_deployment = deployment("a");
    new_deployment["status"] = json!({"replicas": 5});
    for (path, object, status, at, initial) in [
        (
            PODS,
            new_pod,
            json!({"phase": "Running"}),
            "/status/phase",
            Some(json!("Pending")),
        ),
        (
            WIDGETS,
            new_widget,
            json!({"phase": "Done"}),
            "/status/phase",
            None,
        ),
        (
            DEPLOYMENTS,
            new_deployment,
            json!({"replicas": 5}),
            "/status/replicas",
            None,
        ),
    ] {
        let made = server.ok(Ask::json(format!("POST {path}"), &object)).await;
        assert_eq!(
            made.pointer(at),
            initial.as_ref(),
            "{path}: create takes no status"
        );

        let mut changed = made.clone();
        changed["status"] = status.clone();
        changed["metadata"]["labels"] = json!({"by": "main"});
        let main = server.ok(Ask::json(format!("PUT {path}/a"), &changed)).await;
        assert_eq!(
            main.pointer(at),
            initial.as_ref(),
            "{path}: update takes no status"
        );
        assert_eq!(main["metadata"]["labels"]["by"], "main");

        let mut changed = main.clone();
        changed["status"] = status.clone();
        changed["spec"] = json!({"size": 9, "replicas": 9, "containers": [{"name": "other", "image": "other"}],
            "selector": {"matchLabels": {"app": "a"}}, "template": main["spec"]["template"].clone()});
        let ask = Ask::json(format!("PUT {path}/a/status?fieldValidation=Ignore"), &changed);
        let by_status = server.ok(ask).await;
        assert_eq!(
            by_status.pointer(at),
            status.pointer(&at["/status".len()..]),
            "{path}: status is written"
        );
        assert_eq!(by_status["spec"], main["spec"], "{path}: and nothing else");
        assert_eq!(
            by_status["metadata"]["generation"], main["metadata"]["generation"],
            "{path}"
        );

        let shown = server.ok(format!("GET {path}/a/status")).await;
        assert_eq!(shown, by_status);
    }
}

#[tokio::test]
async fn generations_count_what_was_asked_for() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, object, spec) in [
        (WIDGETS, widget("a"), json!({"spec": {"size": 2}})),
        (DEPLOYMENTS, deployment("a"), json!({"spec": {"replicas": 2}})),
    ] {
        server.ok(Ask::json(format!("POST {path}"), &object)).await;
        for (part, patch, generation) in [
            ("", json!({"metadata": {"labels": {"a": "b"}}}), 1),
            ("/status", json!({"status": {"phase": "Done", "replicas": 1}}), 1),
            ("", spec, 2),
            ("", json!({"metadata": {"labels": {"a": "c"}}}), 2),
        ] {
            let ask = Ask::new(format!("PATCH {path}/a{part}?fieldValidation=Ignore"));
            let changed = server
                .ok(ask.typed("application/merge-patch+json", patch.to_string()))
                .await;
            assert_eq!(
                changed["metadata"]["generation"], generation,
                "{path}{part} {patch}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_refused() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    server
        .ok(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("a")))
        .await;
    let versioned = |version: &str| {
        let mut object = config_map("a", "2");
        object["metadata"]["resourceVersion"] = json!(version);
        object
    };
    // No version at all, for a kind that may be written without one.
    server
        .ok(Ask::json(format!("PUT {MAPS}/a"), &versioned("0")))
        .await;
    let mut other_selector = deployment("a");
    other_selector["spec"]["selector"] = json!({"matchLabels": {"app": "b"}});
    other_selector["spec"]["template"]["metadata"]["labels"] = json!({"app": "b"});
    for (line, object, code, why) in [
        (
            format!("PUT {MAPS}/absent"),
            config_map("absent", "1"),
            404,
            "configmaps \"absent\" not found",
        ),
        (
            format!("PUT {MAPS}/a"),
            config_map("b", "1"),
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            format!("PUT {MAPS}/a"),
            json!({"metadata": {}, "data": {}}),
            400,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        ),
        (
            format!("PUT {MAPS}/a"),
            versioned("x"),
            500,
            "strconv.ParseUint: parsing \"x\": invalid syntax",
        ),
        (
            format!("PUT {MAPS}/a?dryRun=Some"),
            config_map("a", "2"),
            422,
            "dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
        ),
        (
            format!("PUT {MAPS}/a?dryRun="),
            config_map("a", "2"),
            422,
            "dryRun: Unsupported value: [\"\"]: supported values: \"All\"",
        ),
        (
            format!("PUT {DEPLOYMENTS}/a"),
            other_selector,
            422,
            "field is immutable",
        ),
        (format!("PUT {MAPS}/a/status"), config_map("a", "1"), 404, ""),
    ] {
        server.refused(Ask::json(line, &object), code, why).await;
    }
}

/// A lease, like some other kinds, may be created by an update.
#[tokio::test]
async fn some_kinds_are_created_by_an_update() {
    let server = Server::start().await;
    let object = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}});
    let answer = server
        .ask(Ask::json(
            "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/a",
            &object,
        ))
        .await;
    assert_eq!(answer.code, 201, "{:#}", answer.body);
    assert_ne!(answer.body["metadata"]["uid"], Value::Null);
    let mut other = object;
    other["metadata"] = json!({"name": "b", "uid": "u"});
    let why = "Operation cannot be fulfilled on leases.coordination.k8s.io \"b\": StorageError: invalid object, Code: 4, \
         Key: /registry/leases/default/b, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, \
         UID in object meta: ";
    let ask = Ask::json(
        "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/b",
        &other,
    );
    server.refused(ask, 409, why).await;
}

/// Whoever writes without a version wins over whoever wrote in between, also where the write is the last of an object.
#[tokio::test]
async fn what_the_server_set_cannot_be_changed() {
    let server = Server::start().await;
    let made = server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let time = json!("2001-01-01T00:00:00Z");
    for (field, value, refused) in [
        ("creationTimestamp", time.clone(), false),
        ("generation", json!(3), false),
        ("uid", json!(""), false),
        ("selfLink", json!("/x"), false),
        ("deletionTimestamp", time, true),
        ("deletionGracePeriodSeconds", json!(3), true),
    ] {
        let mut changed = made.clone();
        changed["metadata"][field] = value;
        let ask = Ask::json(format!("PUT {MAPS}/a"), &changed);
        if refused {
            server
                .refused(ask, 422, &format!("metadata.{field}: Invalid value: "))
                .await;
        } else {
            assert_eq!(server.ok(ask).await, made, "{field}");
        }
    }
}
