//! Delete and deletecollection.

use serde_json::{Value, json};

use crate::harness::*;

fn delete(path: &str, options: &Value) -> Ask {
    Ask::json(format!("DELETE {path}"), options)
}

#[tokio::test]
async fn an_object_goes_at_once() {
    let server = Server::start().await;
    let made = server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let status = server.ok(format!("DELETE {MAPS}/a")).await;
    assert_eq!(
        (text(&status["kind"]), text(&status["status"])),
        ("Status", "Success")
    );
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]})
    );
    server
        .refused(format!("GET {MAPS}/a"), 404, "configmaps \"a\" not found")
        .await;
    server
        .refused(format!("DELETE {MAPS}/a"), 404, "configmaps \"a\" not found")
        .await;
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let server = Server::start().await;
    server.define_widgets().await;
    for (path, mut object) in [(MAPS, config_map("a", "1")), (WIDGETS, widget("a"))] {
        object["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two"]);
        server.ok(Ask::json(format!("POST {path}"), &object)).await;
        let ending = server.ok(format!("DELETE {path}/a")).await;
        assert_ne!(ending["metadata"]["deletionTimestamp"], Value::Null);
        assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 0);
        if path == WIDGETS {
            assert_eq!(ending["metadata"]["generation"], 2);
        }
        let before = server.revision().await;
        assert_eq!(
            server.ok(format!("DELETE {path}/a")).await,
            ending,
            "a second delete changes nothing"
        );
        assert_eq!(server.revision().await, before);

        let mut more = ending.clone();
        more["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two", "example.com/three"]);
        server
            .refused(
                Ask::json(format!("PUT {path}/a"), &more),
                422,
                "metadata.finalizers",
            )
            .await;

        let mut less = ending.clone();
        less["metadata"]["finalizers"] = json!(["example.com/two"]);
        let left = server.ok(Ask::json(format!("PUT {path}/a"), &less)).await;
        let last = json!({"metadata": {"finalizers": null}}).to_string();
        let gone = server
            .ok(Ask::new(format!("PATCH {path}/a")).typed("application/merge-patch+json", last))
            .await;
        assert_eq!(gone["metadata"]["uid"], left["metadata"]["uid"]);
        server.refused(format!("GET {path}/a"), 404, "not found").await;
    }
}

#[tokio::test]
async fn preconditions_must_hold() {
    let server = Server::start().await;
    let made = server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let path = format!("{MAPS}/a");
    for (wanted, text) in [
        (
            json!({"uid": "other"}),
            "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (other) does not match the UID in record (",
        ),
        (
            json!({"resourceVersion": "1"}),
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (",
        ),
    ] {
        server
            .refused(delete(&path, &json!({"preconditions": wanted})), 409, text)
            .await;
    }
    let right =
        json!({"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]});
    server.ok(delete(&path, &json!({"preconditions": right}))).await;
}

#[tokio::test]
async fn the_policy_of_propagation_is_kept_as_a_finalizer() {
    let server = Server::start().await;
    for (i, (options, query, expect)) in [
        (
            json!({"propagationPolicy": "Foreground"}),
            "",
            Some("foregroundDeletion"),
        ),
        (json!({"propagationPolicy": "Orphan"}), "", Some("orphan")),
        (json!({"propagationPolicy": "Background"}), "", None),
        (json!({"orphanDependents": true}), "", Some("orphan")),
        (json!({"orphanDependents": false}), "", None),
        (json!({}), "", None),
        (
            Value::Null,
            "?propagationPolicy=Foreground",
            Some("foregroundDeletion"),
        ),
        (Value::Null, "?propagationPolicy=Orphan", Some("orphan")),
        (Value::Null, "?orphanDependents=true", Some("orphan")),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("m{i}");
        server
            .ok(Ask::json(format!("POST {MAPS}"), &config_map(&name, "1")))
            .await;
        let path = format!("{MAPS}/{name}{query}");
        let ask = if options.is_null() {
            Ask::new(format!("DELETE {path}"))
        } else {
            delete(&path, &options)
        };
        let answer = server.ok(ask).await;
        match expect {
            Some(finalizer) => {
                assert_eq!(
                    answer["metadata"]["finalizers"],
                    json!([finalizer]),
                    "{options}{query}"
                );
                let other = delete(
                    &format!("{MAPS}/{name}"),
                    &json!({"propagationPolicy": "Background"}),
                );
                assert_eq!(
                    server.ok(other).await["kind"],
                    "Status",
                    "background takes {finalizer} away"
                );
            }
            None => assert_eq!(answer["kind"], "Status", "{options}{query}"),
        }
        assert_eq!(server.ask(format!("GET {MAPS}/{name}")).await.code, 404);
    }
}

#[tokio::test]
async fn options_that_make_no_sense() {
    let server = Server::start().await;
    server
        .ok(Ask::json(format!("POST {MAPS}"), &config_map("a", "1")))
        .await;
    let path = format!("{MAPS}/a");
    for (options, code) in [
        (json!({"propagationPolicy": "Sideways"}), 422),
        (
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            422,
        ),
        (json!({"dryRun": ["Some"]}), 422),
        (json!({"kind": "ConfigMap", "apiVersion": "v1"}), 400),
        (json!({"gracePeriodSeconds": "long"}), 400),
        (json!({"preconditions": 5}), 400),
        (json!([]), 400),
    ] {
        server.refused(delete(&path, &options), code, "").await;
    }
    for (query, code) in [
        ("propagationPolicy=Sideways", 422),
        ("gracePeriodSeconds=x", 400),
        ("gracePeriodSeconds=", 400),
        ("propagationPolicy=", 422),
        ("ignoreStoreReadErrorWithClusterBreakingPotential=true", 409),
        (
            "ignoreStoreReadErrorWithClusterBreakingPotential=true&gracePeriodSeconds=1",
            422,
        ),
        ("dryRun=Some", 422),
    ] {
        server.refused(format!("DELETE {path}?{query}"), code, "").await;
    }
    let unsafely = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
    let why = "is not allowed with DELETECOLLECTION";
    server
        .refused(format!("DELETE {MAPS}?{unsafely}"), 422, why)
        .await;
    let why = "Key: /registry/configmaps/default/a, ResourceVersion: 0";
    server
        .refused(format!("DELETE {path}?{unsafely}"), 409, why)
        .await;
}

#[tokio::test]
async fn pods_end_gracefully() {
    let server = Server::start().await;
    let scheduled = |name: &str| {
        let mut pod = pod(name);
        pod["spec"]["nodeName"] = json!("node");
        pod
    };
    server
        .ok(Ask::json(format!("POST {PODS}"), &pod("unscheduled")))
        .await;
    server.ok(format!("DELETE {PODS}/unscheduled")).await;
    assert_eq!(server.ask(format!("GET {PODS}/unscheduled")).await.code, 404);

    server
        .ok(Ask::json(format!("POST {PODS}"), &scheduled("a")))
        .await;
    let path = format!("{PODS}/a");
    for (grace, left) in [(None, 30), (Some(60), 30), (Some(10), 10), (None, 10)] {
        let options = grace.map_or_else(|| json!({}), |grace| json!({"gracePeriodSeconds": grace}));
        let ending = server.ok(delete(&path, &options)).await;
        assert_eq!(
            ending["metadata"]["deletionGracePeriodSeconds"], left,
            "{grace:?}"
        );
        assert_ne!(ending["metadata"]["deletionTimestamp"], Value::Null);
    }
    server.ok(delete(&path, &json!({"gracePeriodSeconds": 0}))).await;
    assert_eq!(server.ask(format!("GET {path}")).await.code, 404);

    server
        .ok(Ask::json(format!("POST {PODS}"), &scheduled("over")))
        .await;
    let over = json!({"status": {"phase": "Succeeded"}}).to_string();
    server
        .ok(Ask::new(format!("PATCH {PODS}/over/status")).typed("application/merge-patch+json", over))
        .await;
    server.ok(format!("DELETE {PODS}/over")).await;
    assert_eq!(
        server.ask(format!("GET {PODS}/over")).await.code,
        404,
        "a pod that is over goes at once"
    );
}

/// Watchers see that a pod is marked before it goes, and the answer is the pod.
#[tokio::test]
async fn a_pod_is_marked_before_it_goes() {
    let server = Server::start().await;
    let made = server.ok(Ask::json(format!("POST {PODS}"), &pod("a"))).await;
    let version = text(&made["metadata"]["resourceVersion"]);
    let mut events = server
        .watch(&format!("{PODS}?watch=true&resourceVersion={version}"))
        .await;
    let gone = server.ok(format!("DELETE {PODS}/a")).await;
    let seen = [events.next().await.unwrap(), events.next().await.unwrap()];
    assert_eq!(
        seen.each_ref().map(|event| text(&event["type"])),
        ["MODIFIED", "DELETED"]
    );
    assert_eq!(seen[0]["object"]["metadata"]["generation"], 2);
    assert_eq!(seen[0]["object"]["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(seen[1]["object"], gone);
}

/// Most kinds answer with a status, some with what they were.
#[tokio::test]
async fn some_kinds_show_what_is_gone() {
    let server = Server::start().await;
    const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
    for (path, object, kind) in [
        (MAPS, config_map("a", "1"), "Status"),
        (DEPLOYMENTS, deployment("a"), "Status"),
        (ACCOUNTS, json!({"metadata": {"name": "a"}}), "ServiceAccount"),
        (PODS, pod("a"), "Pod"),
    ] {
        for query in ["?dryRun=All", ""] {
            if !query.is_empty() {
                server.ok(Ask::json(format!("POST {path}"), &object)).await;
            }
            assert_eq!(
                server.ok(format!("DELETE {path}/a{query}")).await["kind"],
                kind,
                "{path}{query}"
            );
        }
        assert_eq!(server.ask(format!("GET {path}/a")).await.code, 404, "{path}");
    }
}

/// The query counts where there is no body, and the body where there is one.
#[tokio::test]
async fn the_query_counts_without_a_body() {
    let server = Server::start().await;
    for (query, body, is_gone) in [
        ("?dryRun=All", None, false),
        ("", Some(json!({"dryRun": ["All"]})), false),
        ("?dryRun=All", Some(json!({})), true),
    ] {
        let name = format!("m{is_gone}{}", query.len());
        server
            .ok(Ask::json(format!("POST {MAPS}"), &config_map(&name, "1")))
            .await;
        let path = format!("{MAPS}/{name}{query}");
        let ask = body
            .as_ref()
            .map_or_else(|| Ask::new(format!("DELETE {path}")), |body| delete(&path, body));
        server.ok(ask).await;
        let found = server.ask(format!("GET {MAPS}/{name}")).await.code;
        assert_eq!(found == 404, is_gone, "{query} {body:?}");
    }
}

#[tokio::test]
async fn a_collection_is_deleted_by_selectors() {
    let server = Server::start().await;
    for (name, label) in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")] {
        let mut object = config_map(name, "1");
        object["metadata"]["labels"] = json!({"l": label});
        server.ok(Ask::json(format!("POST {MAPS}"), &object)).await;
    }
    let before = server.revision().await;
    let dry = server.ok(format!("DELETE {MAPS}?dryRun=All")).await;
    assert_eq!(dry["items"].as_array().unwrap().len(), 4);
    assert_eq!(server.revision().await, before);
    for (query, gone, left) in [
        ("?labelSelector=l%3Dx", vec!["a", "b"], vec!["c", "d"]),
        ("?fieldSelector=metadata.name%3Dd", vec!["d"], vec!["c"]),
        ("?labelSelector=l%3Dz", vec![], vec!["c"]),
        ("", vec!["c"], vec![]),
    ] {
        let list = server.ok(format!("DELETE {MAPS}{query}")).await;
        assert_eq!(list["kind"], "ConfigMapList");
        assert_eq!(names(&list), gone, "{query}");
        assert_eq!(names(&server.ok(format!("GET {MAPS}")).await), left, "{query}");
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| text(&item["metadata"]["name"]))
        .collect()
}

#[tokio::test]
async fn namespaces_end_by_finalizing() {
    let server = Server::start().await;
    for name in ["default", "kube-system", "kube-public"] {
        server
            .refused(
                format!("DELETE /api/v1/namespaces/{name}"),
                403,
                "this namespace may not be deleted",
            )
            .await;
    }
    let made = server
        .ok(Ask::json(
            "POST /api/v1/namespaces",
            &json!({"metadata": {"name": "n"}}),
        ))
        .await;
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "n");
    let mut ending = server.ok("DELETE /api/v1/namespaces/n").await;
    assert_eq!(ending["status"]["phase"], "Terminating");
    ending["spec"]["finalizers"] = json!([]);
    server
        .ok(Ask::json("PUT /api/v1/namespaces/n/finalize", &ending))
        .await;
    assert_eq!(server.ask("GET /api/v1/namespaces/n").await.code, 404);
}

#[tokio::test]
async fn what_is_older_than_the_collector_leaves_its_dependents() {
    let server = Server::start().await;
    let template = json!({"metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}});
    let mut always = template.clone();
    always["spec"]["restartPolicy"] = json!("Always");
    let job = json!({"metadata": {"name": "a"}, "spec": {"template": template}});
    let controller =
        json!({"metadata": {"name": "a"}, "spec": {"selector": {"app": "a"}, "template": always}});
    const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
    const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";
    let warning = "299 - \"child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
         them or set propagationPolicy=Orphan to suppress this warning\"";
    for (path, object, options, finalizer, warnings) in [
        (JOBS, &job, json!({}), Some("orphan"), &[warning][..]),
        (CONTROLLERS, &controller, json!({}), Some("orphan"), &[]),
        (
            JOBS,
            &job,
            json!({"propagationPolicy": "Orphan"}),
            Some("orphan"),
            &[],
        ),
        (JOBS, &job, json!({"orphanDependents": true}), Some("orphan"), &[]),
        (
            JOBS,
            &job,
            json!({"propagationPolicy": "Foreground"}),
            Some("foregroundDeletion"),
            &[],
        ),
        (JOBS, &job, json!({"propagationPolicy": "Background"}), None, &[]),
        (JOBS, &job, json!({"orphanDependents": false}), None, &[]),
        (DEPLOYMENTS, &deployment("a"), json!({}), None, &[]),
    ] {
        server.ok(Ask::json(format!("POST {path}"), object)).await;
        let answer = server.ask(delete(&format!("{path}/a"), &options)).await;
        assert_eq!(answer.code, 200, "{path} {options}");
        assert_eq!(answer.warnings(), warnings, "{path} {options}");
        let found = &answer.body["metadata"]["finalizers"];
        assert_eq!(
            found.get(0).and_then(Value::as_str),
            finalizer,
            "{path} {options}"
        );
        if finalizer.is_some() {
            let free = Ask::new(format!("PATCH {path}/a"));
            let free = free.typed(
                "application/merge-patch+json",
                r#"{"metadata":{"finalizers":null}}"#,
            );
            server.ok(free).await;
        }
        server.refused(format!("GET {path}/a"), 404, "not found").await;
    }
}

#[tokio::test]
async fn a_definition_that_is_deleted_says_that_it_ends() {
    let server = Server::start().await;
    server.define_widgets().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let ending = server.ok(format!("DELETE {path}")).await;
    assert!(ending["metadata"]["deletionTimestamp"].is_string());
    let conditions = ending["status"]["conditions"].as_array().unwrap();
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == "Terminating");
    let found = found.map(|found| (text(&found["status"]), text(&found["reason"])));
    assert_eq!(found, Some(("True", "InstanceDeletionPending")));
    // Nothing of its kind is there, so it goes at once.
    while server.ask(format!("GET {path}")).await.code != 404 {
        tokio::task::yield_now().await;
    }
}
