//! The client against a scripted server in this process: what it sends, and what it makes of answers.
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

mod rest;
mod script;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{Method, Request, Response, header};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use kubewright_client::{
    Api, ApplyOptions, Client, ClientOptions, Config, DeleteOptions, Deleted, DynamicApi, Error, ListOptions,
    LogOptions, Patch, Preconditions, PropagationPolicy, ResourcePath, WarningHandler, WatchEvent,
    WatchEventKind, WriteOptions,
};
use kubewright_core::{DynamicObject, StaticResource};
use kubewright_net::{Body, HttpService, Identity, TransportError, Upgrade};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::script::{Answer, Script, answer, ok, pod, status};

#[tokio::test]
async fn every_verb_has_its_method_path_query_and_media_type() {
    let success = r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#;
    let script = Script::new((0..20).map(|number| match number {
        10 | 11 => ok(success),
        _ => ok(pod("web")),
    }));
    let client = script.client();
    let pods: Api<Pod> = Api::default_namespaced(&client);
    let object = Pod {
        metadata: kubewright_core::ObjectMeta {
            name: Some("web".into()),
            ..Default::default()
        },
        ..Default::default()
    };
    let strict = WriteOptions {
        dry_run: true,
        field_manager: "me".to_owned(),
        field_validation: Some(kubewright_client::FieldValidation::Strict),
        ..WriteOptions::default()
    };
    let plain = WriteOptions::default();
    let merge = Patch::Merge(json!({ "metadata": {} }));
    pods.get("web").await.unwrap();
    pods.create(&object, &strict).await.unwrap();
    pods.replace("web", &object, &plain).await.unwrap();
    pods.patch("web", &merge, &plain).await.unwrap();
    pods.patch("web", &Patch::Json(json!([])), &plain).await.unwrap();
    pods.patch("web", &Patch::Strategic(json!({})), &plain)
        .await
        .unwrap();
    pods.apply("web", &object, &ApplyOptions::new("me").force())
        .await
        .unwrap();
    pods.get_status("web").await.unwrap();
    pods.replace_status("web", &object, &plain).await.unwrap();
    pods.patch_status("web", &merge, &plain).await.unwrap();
    let uid = Preconditions {
        uid: Some("u".to_owned()),
        resource_version: None,
    };
    let delete = DeleteOptions {
        grace_period_seconds: Some(0),
        propagation_policy: Some(PropagationPolicy::Foreground),
        preconditions: Some(uid),
        ..DeleteOptions::default()
    };
    assert!(matches!(
        pods.delete("web", &delete).await.unwrap(),
        Deleted::Status(_)
    ));
    let selection = ListOptions {
        label_selector: "app=web".parse().unwrap(),
        ..ListOptions::default()
    };
    pods.delete_collection(&DeleteOptions::default(), &selection)
        .await
        .unwrap();
    assert!(matches!(
        pods.delete("web", &DeleteOptions::default()).await.unwrap(),
        Deleted::Object(_)
    ));
    pods.patch_scale("web", &merge, &plain).await.unwrap_err();
    pods.evict("web", Some(&delete)).await.unwrap();
    pods.metadata_only().get("web").await.unwrap();

    let base = "/api/v1/namespaces/team/pods";
    let expect = [
        format!("GET {base}/web"),
        format!("POST {base}?dryRun=All&fieldManager=me&fieldValidation=Strict"),
        format!("PUT {base}/web"),
        format!("PATCH {base}/web"),
        format!("PATCH {base}/web"),
        format!("PATCH {base}/web"),
        format!("PATCH {base}/web?fieldManager=me&force=true"),
        format!("GET {base}/web/status"),
        format!("PUT {base}/web/status"),
        format!("PATCH {base}/web/status"),
        format!("DELETE {base}/web"),
        format!("DELETE {base}?labelSelector=app%3Dweb"),
        format!("DELETE {base}/web"),
        format!("PATCH {base}/web/scale"),
        format!("POST {base}/web/eviction"),
        format!("GET {base}/web"),
    ];
    assert_eq!(script.lines(), expect);
    let seen = script.seen();
    let media_types: Vec<&str> = seen.iter().map(|seen| seen.header("content-type")).collect();
    assert_eq!(media_types[0], "");
    assert_eq!(
        media_types[1..8],
        [
            "application/json",
            "application/json",
            "application/merge-patch+json",
            "application/json-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "",
        ]
    );
    let body: Value = serde_json::from_str(&seen[10].body).unwrap();
    assert_eq!(
        body,
        json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Foreground", "preconditions": { "uid": "u" } })
    );
    let eviction: Value = serde_json::from_str(&seen[14].body).unwrap();
    assert_eq!(eviction["kind"], "Eviction");
    assert_eq!(eviction["deleteOptions"]["gracePeriodSeconds"], 0);
    assert!(
        seen[15]
            .header("accept")
            .starts_with("application/json;as=PartialObjectMetadata;")
    );
    assert!(seen[0].header("user-agent").starts_with("kubewright/"));
}

#[tokio::test]
async fn a_dry_run_of_a_delete_says_so_twice() {
    let script = Script::new((0..2).map(|_| ok(pod("web"))));
    let pods: Api<Pod> = Api::default_namespaced(&script.client());
    for dry_run in [vec![], vec!["All".to_owned()]] {
        let options = DeleteOptions {
            dry_run,
            ..DeleteOptions::default()
        };
        pods.delete("web", &options).await.unwrap();
    }
    let path = "DELETE /api/v1/namespaces/team/pods/web";
    assert_eq!(script.lines(), [path.to_owned(), format!("{path}?dryRun=All")]);
    assert_eq!(script.seen()[1].body, r#"{"dryRun":["All"]}"#);
}

#[tokio::test]
async fn scopes_decide_the_path_and_what_can_be_asked() {
    let script = Script::new((0..6).map(|_| ok(r#"{"items":[],"metadata":{"name":"x"}}"#)));
    let client = script.client();
    Api::<Namespace>::cluster(&client).get("x").await.unwrap();
    Api::<Pod>::all(&client)
        .list(&ListOptions::default())
        .await
        .unwrap();
    let deployments = Deployment::api_resource();
    DynamicApi::dynamic_all(&client, &deployments)
        .list(&ListOptions::default())
        .await
        .unwrap();
    DynamicApi::dynamic_namespaced(&client, &deployments, "n")
        .list(&ListOptions::default())
        .await
        .unwrap();
    let namespaces = Namespace::api_resource();
    DynamicApi::dynamic_namespaced(&client, &namespaces, "n")
        .get("x")
        .await
        .unwrap();
    assert_eq!(
        script.lines(),
        [
            "GET /api/v1/namespaces/x",
            "GET /api/v1/pods",
            "GET /apis/apps/v1/deployments",
            "GET /apis/apps/v1/namespaces/n/deployments",
            "GET /api/v1/namespaces/x",
        ]
    );
    let everywhere = DynamicApi::dynamic_all(&client, &deployments);
    let deployment = DynamicObject::new(&deployments, "x");
    let pods = Api::<Pod>::namespaced(&client, "n");
    let forced = WriteOptions {
        force: true,
        ..WriteOptions::default()
    };
    let rows = [
        everywhere.get("x").await.unwrap_err(),
        everywhere
            .create(&deployment, &WriteOptions::default())
            .await
            .unwrap_err(),
        everywhere
            .delete_collection(&DeleteOptions::default(), &ListOptions::default())
            .await
            .unwrap_err(),
        pods.get("").await.unwrap_err(),
        pods.get("..").await.unwrap_err(),
        pods.get("x/status").await.unwrap_err(),
        pods.within("").list(&ListOptions::default()).await.unwrap_err(),
        pods.patch("x", &Patch::Merge(json!({})), &forced)
            .await
            .unwrap_err(),
    ];
    for error in rows {
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
    assert_eq!(script.lines().len(), 5, "invalid requests are not sent");
}

#[tokio::test]
async fn dynamic_items_of_lists_know_their_kind() {
    let list = r#"{"kind":"PodList","metadata":{"resourceVersion":"5","continue":"c"},"items":[{"metadata":{"name":"a"}}]}"#;
    let script = Script::new([ok(list), ok(list)]);
    let client = script.client();
    let dynamic: DynamicApi = Api::dynamic_namespaced(&client, &Pod::api_resource(), "n");
    let found: kubewright_client::List<DynamicObject> = dynamic.list(&ListOptions::default()).await.unwrap();
    assert_eq!(
        (
            found.items[0].types.api_version.as_str(),
            found.items[0].types.kind.as_str()
        ),
        ("v1", "Pod")
    );
    assert_eq!(
        (
            found.metadata.resource_version.as_str(),
            found.metadata.continue_token.as_str()
        ),
        ("5", "c")
    );
    let raw = client
        .list_raw(
            &dynamic.path(),
            &ListOptions {
                watch: true,
                ..ListOptions::default()
            },
        )
        .await
        .unwrap();
    assert_eq!(raw.items, [Bytes::from_static(br#"{"metadata":{"name":"a"}}"#)]);
    assert_eq!(script.lines()[1], "GET /api/v1/namespaces/n/pods");
}

#[tokio::test]
async fn errors_carry_the_status_and_the_request() {
    let script = Script::new([
        status("NotFound", 404),
        status("NotFound", 404),
        answer(502, &[("content-type", "text/html")], "<html>bad gateway</html>"),
        ok("not json"),
        Err(TransportError::Connect {
            address: "a:1".to_owned(),
            source: std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into(),
        }),
        status("AlreadyExists", 409),
    ]);
    let pods: Api<Pod> = Api::default_namespaced(&script.client());
    let error = pods.get("web").await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        "get /api/v1/namespaces/team/pods/web: because NotFound (NotFound)"
    );
    assert!(pods.get_opt("web").await.unwrap().is_none());
    let error = pods.get("web").await.unwrap_err();
    assert!(
        error.is_internal_error() && error.status().unwrap().code == 502,
        "{error:?}"
    );
    assert!(matches!(pods.get("web").await.unwrap_err(), Error::Decode { .. }));
    assert!(pods.get("web").await.unwrap_err().is_connection_refused());
    assert!(
        pods.create(&Pod::default(), &WriteOptions::default())
            .await
            .unwrap_err()
            .is_already_exists()
    );
}

fn busy(seconds: &str) -> Answer {
    answer(503, &[("retry-after", seconds)], "")
}

#[tokio::test(start_paused = true)]
async fn requests_are_sent_again_only_where_that_is_safe() {
    let lost = || Err(TransportError::closed("testing"));
    type Row = (&'static str, Method, Vec<Answer>, usize, u64, bool);
    // name, method, answers, requests sent, seconds waited, success
    let rows: [Row; 7] = [
        (
            "asked to",
            Method::POST,
            vec![busy("2"), busy("3"), ok("{}")],
            3,
            5,
            true,
        ),
        (
            "not asked to",
            Method::GET,
            vec![answer(503, &[], "")],
            1,
            0,
            false,
        ),
        (
            "a read loses its connection",
            Method::GET,
            vec![lost(), ok("{}")],
            2,
            1,
            true,
        ),
        (
            "a write loses its connection",
            Method::PUT,
            vec![lost()],
            1,
            0,
            false,
        ),
        (
            "too often",
            Method::GET,
            (0..11).map(|_| busy("1")).collect(),
            11,
            10,
            false,
        ),
        (
            "later than the time limit",
            Method::GET,
            vec![busy("120")],
            1,
            0,
            false,
        ),
        (
            "throttled",
            Method::PATCH,
            vec![answer(429, &[("retry-after", "1")], ""), ok("{}")],
            2,
            1,
            true,
        ),
    ];
    for (name, method, answers, requests, seconds, success) in rows {
        let script = Script::new(answers);
        let start = Instant::now();
        let request = Request::builder()
            .method(method)
            .uri("/x")
            .body(b"body".to_vec())
            .unwrap();
        let result = script.client().request_bytes(request).await;
        assert_eq!(result.is_ok(), success, "{name}: {result:?}");
        assert_eq!(script.seen().len(), requests, "{name}");
        assert!(script.seen().iter().all(|seen| seen.body == "body"), "{name}");
        assert_eq!(start.elapsed().as_secs(), seconds, "{name}");
    }
}

#[tokio::test]
async fn a_streamed_body_is_never_sent_again() {
    let script = Script::new([busy("0")]);
    let body = Body::stream(stream::iter([Ok(Bytes::from_static(b"once"))]));
    let response = script
        .client()
        .request_stream(Request::post("/x").body(body).unwrap())
        .await
        .unwrap();
    assert_eq!(
        (response.status().as_u16(), script.seen()[0].body.as_str()),
        (503, "once")
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_has_a_time_limit_and_a_watch_has_none() {
    let forever = HttpService::from_fn(|request| async move {
        if request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"))
        {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            return ok("");
        }
        std::future::pending().await
    });
    let client = Client::from_service(forever, "default");
    let start = Instant::now();
    let pods: Api<Pod> = Api::default_namespaced(&client);
    let error = pods.get("x").await.unwrap_err();
    assert!(
        error.is_timeout() && start.elapsed() == Duration::from_secs(60),
        "{error}"
    );
    let mut watch = pods.watch(&ListOptions::default()).await.unwrap();
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn answers_are_bounded() {
    let script = Script::new([
        ok("0123456789"),
        ok("{\"type\":\"ADDED\",\"object\":{\"a\":\"0123456789\"}}"),
    ]);
    let options = ClientOptions {
        max_response_bytes: 9,
        max_event_bytes: 30,
        ..ClientOptions::default()
    };
    let client = script.client().with_client_options(options);
    let pods: Api<Pod> = Api::default_namespaced(&client);
    assert!(matches!(
        pods.get("x").await.unwrap_err(),
        Error::TooLarge { limit: 9, .. }
    ));
    let mut watch = client
        .watch_raw(&pods.path(), &ListOptions::default())
        .await
        .unwrap();
    assert!(matches!(
        watch.next().await.unwrap().unwrap_err(),
        Error::TooLarge { limit: 30, .. }
    ));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn warnings_reach_the_handler() {
    let script = Script::new([answer(200, &[("warning", r#"299 - "deprecated""#)], "{}")]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let warnings = WarningHandler::new(move |text| sink.lock().unwrap().push(text.to_owned()));
    let client = script.client().with_client_options(ClientOptions {
        warnings,
        ..ClientOptions::default()
    });
    client
        .request_bytes(Request::get("/x").body(Vec::new()).unwrap())
        .await
        .unwrap();
    assert_eq!(*told.lock().unwrap(), ["deprecated"]);
}

fn chunks(parts: &[&'static str]) -> Answer {
    let parts: Vec<_> = parts
        .iter()
        .map(|part| Ok(Bytes::from_static(part.as_bytes())))
        .collect();
    Ok(Response::new(Body::stream(stream::iter(parts))))
}

#[tokio::test]
async fn raw_watches_cut_events_out_of_any_chunks() {
    let script = Script::new([chunks(&[
        "{\"type\":\"ADD",
        "ED\",\"object\":{\"n\":\"}\"}}\n{\"type\":\"MODIFIED\",\"object\":{}}",
        "\n",
        "{\n \"type\": \"ERROR\",\n \"object\": {\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Expired\",\"code\":410}\n}\n",
        "{\"type\":\"BOOKMARK\",\"object\":{\"a\":1}}\n{\"type\":",
    ])]);
    let path = ResourcePath::from("/api/v1/pods").metadata_only();
    let options = ListOptions {
        resource_version: "7".to_owned(),
        allow_bookmarks: true,
        ..ListOptions::default()
    };
    let mut watch = script.client().watch_raw(&path, &options).await.unwrap();
    assert_eq!(
        script.lines(),
        ["GET /api/v1/pods?resourceVersion=7&watch=true&allowWatchBookmarks=true"]
    );
    assert!(
        script.seen()[0]
            .header("accept")
            .starts_with("application/json;as=PartialObjectMetadata;")
    );
    let expect = [
        (WatchEventKind::Added, r#"{"n":"}"}"#),
        (WatchEventKind::Modified, "{}"),
        (
            WatchEventKind::Error,
            r#"{"kind":"Status","apiVersion":"v1","reason":"Expired","code":410}"#,
        ),
        (WatchEventKind::Bookmark, r#"{"a":1}"#),
    ];
    for (kind, object) in expect {
        let event = watch.next().await.unwrap().unwrap();
        assert_eq!((event.kind, event.object.as_ref()), (kind, object.as_bytes()));
        assert_eq!(
            event.status().map(|status| status.code),
            (kind == WatchEventKind::Error).then_some(410)
        );
    }
    assert!(watch.next().await.unwrap().unwrap_err().is_connection_closed());
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_watch_that_is_refused_is_an_error_and_no_events() {
    let script = Script::new([
        status("Expired", 410),
        answer(403, &[], "{\n \"pretty\": true\n}"),
    ]);
    let pods = Api::<Pod>::all(&script.client());
    assert!(
        pods.watch(&ListOptions::default())
            .await
            .unwrap_err()
            .is_expired()
    );
    assert!(
        pods.watch(&ListOptions::default())
            .await
            .unwrap_err()
            .is_forbidden()
    );
}

#[tokio::test]
async fn typed_watches_decode_and_go_on_after_what_they_cannot() {
    let script = Script::new([chunks(&[
        r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}}"#,
        r#"{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}}"#,
        r#"{"type":"DELETED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}"#,
        r#"{"type":"ADDED","object":{}}"#,
    ])]);
    let maps = Api::<ConfigMap>::all(&script.client());
    let events: Vec<_> = maps.watch(&ListOptions::default()).await.unwrap().collect().await;
    assert_eq!(events.len(), 5);
    assert!(matches!(&events[0], Ok(WatchEvent::Added(map)) if map.data.as_ref().unwrap()["k"] == "v"));
    assert!(matches!(&events[1], Err(Error::Decode { .. })));
    assert!(matches!(&events[2], Ok(WatchEvent::Deleted(map)) if map.metadata.name.as_deref() == Some("b")));
    let Ok(WatchEvent::Bookmark {
        resource_version,
        initial_events_end,
    }) = &events[3]
    else {
        panic!("{:?}", events[3])
    };
    assert_eq!((resource_version.as_str(), *initial_events_end), ("9", true));
    assert!(events[4].as_ref().unwrap_err().is_expired());
}

#[tokio::test]
async fn an_in_process_client_says_who_it_is_and_can_upgrade() {
    let service = HttpService::from_fn(|mut request| async move {
        let identity = request.extensions().get::<Identity>().cloned().unwrap();
        if let Some(upgrade) = Upgrade::take(request.extensions_mut()) {
            drop(upgrade);
            return answer(101, &[], "");
        }
        ok(format!(
            "{} {:?} {}",
            identity.user,
            identity.groups,
            request.uri()
        ))
    });
    let client = Client::in_process(service, Identity::new("jane", ["dev"]), "team");
    assert_eq!(client.default_namespace(), "team");
    let body = client
        .request_bytes(Request::get("/x?y=z").body(Vec::new()).unwrap())
        .await
        .unwrap();
    assert_eq!(body, "jane [\"dev\"] /x?y=z");
    let request = Request::get("/exec")
        .header(header::UPGRADE, "websocket")
        .body(Vec::new())
        .unwrap();
    let mut response = client.request(request).await.unwrap();
    assert!(Upgrade::take(response.extensions_mut()).is_some());
}

#[tokio::test]
async fn logs_are_a_stream_and_tokens_an_object() {
    let token = json!({ "spec": { "audiences": [] }, "status": { "token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z" } });
    let script = Script::new([
        chunks(&["on", "e\r\ntw", "o\nth", "ree"]),
        ok(token.to_string()),
        status("BadRequest", 400),
    ]);
    let client = script.client();
    let pods: Api<Pod> = Api::default_namespaced(&client);
    let mut log = pods.logs("web", &LogOptions::of("main").follow()).await.unwrap();
    for expect in ["one", "tw", "o", "three"] {
        let found = match expect {
            "tw" => log.try_next().await.unwrap().unwrap(),
            _ => log.next_line().await.unwrap().unwrap(),
        };
        assert_eq!(found, expect);
    }
    assert!(log.next_line().await.is_none());
    let accounts: Api<ServiceAccount> = Api::default_namespaced(&client);
    let answer = accounts.create_token("robot", &Default::default()).await.unwrap();
    assert_eq!(serde_json::to_value(answer).unwrap()["status"]["token"], "t");
    assert!(
        pods.logs("web", &LogOptions::default())
            .await
            .unwrap_err()
            .is_bad_request()
    );
    assert_eq!(
        script.lines(),
        [
            "GET /api/v1/namespaces/team/pods/web/log?container=main&follow=true",
            "POST /api/v1/namespaces/team/serviceaccounts/robot/token",
            "GET /api/v1/namespaces/team/pods/web/log",
        ]
    );
}

#[tokio::test]
async fn a_layer_sees_every_request() {
    let script = Script::new([busy("0"), ok("{}")]);
    let agent = kubewright_client::UserAgentLayer::new("layered").unwrap();
    let impersonation = kubewright_client::ImpersonationLayer::new(&kubewright_client::Impersonation {
        user: "jane".to_owned(),
        groups: vec!["a".to_owned(), "b".to_owned()],
        extra: [("Example.com/x".to_owned(), vec!["1".to_owned()])].into(),
        uid: Some("u".to_owned()),
    })
    .unwrap();
    let client = script.client().layer(&impersonation).layer(&agent);
    client
        .request_bytes(Request::get("/x").body(Vec::new()).unwrap())
        .await
        .unwrap();
    for seen in script.seen() {
        assert!(
            seen.header("user-agent").starts_with("kubewright/"),
            "the client's own name comes first"
        );
        assert_eq!(seen.header("impersonate-user"), "jane");
        assert_eq!(seen.headers.get_all("impersonate-group").iter().count(), 2);
        assert_eq!(seen.header("impersonate-extra-%45xample.com%2Fx"), "1");
    }
    assert_eq!(script.seen().len(), 2);
}

#[tokio::test]
async fn the_user_agent_can_be_set_by_client_and_by_request() {
    let script = Script::new([ok("{}"), ok("{}")]);
    let named = |name: &str| {
        let options = ClientOptions {
            user_agent: name.to_owned(),
            ..ClientOptions::default()
        };
        script.client().with_client_options(options)
    };
    let request = || Request::get("/x").body(Vec::new()).unwrap();
    named("operator/1").request_bytes(request()).await.unwrap();
    let mut own = request();
    own.headers_mut()
        .insert(header::USER_AGENT, "own/2".parse().unwrap());
    named("operator/1").request_bytes(own).await.unwrap();
    let agents: Vec<String> = script
        .seen()
        .iter()
        .map(|seen| seen.header("user-agent").to_owned())
        .collect();
    assert_eq!(agents, ["operator/1", "own/2"]);
    let error = named("line\nbreak").request_bytes(request()).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}

#[test]
fn plain_http_needs_no_trust_store() {
    let config = Config::new("http://localhost:8080".parse().unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = Client::new(config, provider).unwrap();
    assert_eq!(client.default_namespace(), "default");
}
