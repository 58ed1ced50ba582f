//! Conversion webhooks: two versions of a kind, one of them stored, and an HTTPS handler that knows how they differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use kubewright_net::Body;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use crate::harness::*;
use crate::https::{Https, authority, base64, calling_server, define_service};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V1: &str = "/apis/shop.example.com/v1/namespaces/default/orders";
const V2: &str = "/apis/shop.example.com/v2/namespaces/default/orders";

/// What the handler makes of the answer that it would give: the whole of it, to change or to replace.
type Spoil = fn(&mut Value);

/// A handler that converts `spec.count` of v1, a text, to `spec.amount` of v2, a number, and back.
struct Hook {
    https: Https,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// How many reviews came, and with how many objects.
    calls: AtomicUsize,
    objects: AtomicUsize,
    spoil: Mutex<Option<Spoil>>,
    /// A code that is answered instead, with a body.
    refusal: Mutex<Option<(u16, &'static str)>>,
}

impl Hook {
    async fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let answering = shared.clone();
        let answer = move |request| {
            let shared = answering.clone();
            async move { shared.answer(request).await }
        };
        let https = Https::start(answer).await;
        Self { https, shared }
    }

    fn by_url(&self) -> Value {
        self.https.by_url("//convert")
    }

    async fn spoil(&self, spoil: Spoil) {
        *self.shared.spoil.lock().await = Some(spoil);
    }

    fn counts(&self) -> (usize, usize) {
        let Shared { calls, objects, .. } = &*self.shared;
        (calls.swap(0, Ordering::SeqCst), objects.swap(0, Ordering::SeqCst))
    }
}

impl Shared {
    async fn answer(&self, request: http::Request<Body>) -> Response<Body> {
        assert!(
            matches!(request.uri().path(), "/convert" | "//convert"),
            "{}",
            request.uri()
        );
        assert_eq!(request.uri().query(), Some("timeout=30s"));
        let bytes = request.into_body().collect_limited(64 << 20).await.unwrap();
        let mut review: Value = serde_json::from_slice(&bytes).unwrap();
        if let Some((code, text)) = *self.refusal.lock().await {
            return Response::builder().status(code).body(Body::from(text)).unwrap();
        }
        let request = review["request"].take();
        let objects = request["objects"].as_array().unwrap();
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.objects.fetch_add(objects.len(), Ordering::SeqCst);
        let to = request["desiredAPIVersion"].as_str().unwrap();
        let converted: Vec<Value> = objects.iter().map(|object| convert(object, to)).collect();
        let mut answer = json!({
            "apiVersion": review["apiVersion"], "kind": "ConversionReview",
            "response": {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted},
        });
        if let Some(spoil) = *self.spoil.lock().await {
            spoil(&mut answer);
        }
        let text = match &answer {
            Value::String(raw) => raw.clone(),
            other => other.to_string(),
        };
        Response::new(Body::from(text))
    }
}

fn convert(object: &Value, to: &str) -> Value {
    assert_ne!(object["apiVersion"], to, "only what differs is sent");
    let mut object = object.clone();
    object["apiVersion"] = to.into();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return object;
    };
    if to.ends_with("/v2") {
        if let Some(count) = spec.remove("count") {
            spec.insert("amount".into(), text(&count).parse::<i64>().unwrap().into());
        }
    } else if let Some(amount) = spec.remove("amount") {
        spec.insert("count".into(), amount.to_string().into());
    }
    object
}

fn definition(client_config: &Value, stored: &str) -> Value {
    let version = |name: &str, field: &str, ty: &str| {
        json!({
            "name": name, "served": true, "storage": name == stored,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {field: {"type": ty}, "replicas": {"type": "integer"}}},
                "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
            }}},
            "selectableFields": [{"jsonPath": format!(".spec.{field}")}],
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "orders.shop.example.com"},
        "spec": {
            "group": "shop.example.com", "scope": "Namespaced",
            "names": {"plural": "orders", "singular": "order", "kind": "Order", "listKind": "OrderList"},
            "conversion": {"strategy": "Webhook",
                "webhook": {"clientConfig": client_config, "conversionReviewVersions": ["v2", "v1"]}},
            "versions": [version("v1", "count", "string"), version("v2", "amount", "integer")],
        },
    })
}

/// Creates the definition and waits until both versions are served.
async fn define(server: &Server, definition: &Value) {
    server
        .ok(Ask::json(format!("POST {DEFINITIONS}"), definition))
        .await;
    for version in ["v1", "v2"] {
        let path = format!("GET /apis/shop.example.com/{version}");
        while server.ask(path.as_str()).await.code != 200 {
            tokio::task::yield_now().await;
        }
    }
}

fn order(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("shop.example.com/{version}"), "kind": "Order", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn two_versions_read_and_written_through_a_webhook() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define(&server, &definition(&hook.by_url(), "v1")).await;

    let mut first = server.watch(&format!("{V1}?watch=true")).await;
    let mut second = server.watch(&format!("{V2}?watch=true")).await;
    let made = server
        .ok(Ask::json(
            format!("POST {V2}"),
            &order("v2", "a", json!({"amount": 3, "other": 1})),
        ))
        .await;
    assert_eq!(made["spec"], json!({"amount": 3}));
    assert_eq!(made["apiVersion"], "shop.example.com/v2");
    let key = kubewright_apiserver::storage::Key::new("shop.example.com", "orders", Some("default"), "a");
    let stored = server
        .api
        .storage()
        .get(key.clone())
        .await
        .unwrap()
        .unwrap()
        .value();
    assert_eq!(
        (&stored["apiVersion"], &stored["spec"]),
        (&json!("shop.example.com/v1"), &json!({"count": "3"}))
    );

    server
        .ok(Ask::json(
            format!("POST {V1}"),
            &order("v1", "b", json!({"count": "40"})),
        ))
        .await;
    for (path, fields) in [
        (V1, [json!({"count": "3"}), json!({"count": "40"})]),
        (V2, [json!({"amount": 3}), json!({"amount": 40})]),
    ] {
        for (name, field) in ["a", "b"].iter().zip(&fields) {
            assert_eq!(server.ok(format!("GET {path}/{name}")).await["spec"], *field);
        }
        let list = server.ok(format!("GET {path}")).await;
        let specs: Vec<&Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["spec"])
            .collect();
        assert_eq!(specs, fields.iter().collect::<Vec<_>>());
        let events = if path == V1 { &mut first } else { &mut second };
        for field in &fields {
            let event = events.next().await.unwrap();
            assert_eq!(
                (&event["type"], &event["object"]["spec"]),
                (&json!("ADDED"), field)
            );
        }
        // The state that a watch begins with, and what field selectors see.
        let mut events = server
            .watch(&format!("{path}?watch=true&resourceVersion=0"))
            .await;
        assert_eq!(events.names(2).await, ["ADDED a", "ADDED b"]);
    }
    let selected = server
        .ok(format!("GET {V2}?fieldSelector=spec.amount%3D40"))
        .await;
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    let mut selected = server
        .watch(&format!("{V2}?watch=true&fieldSelector=spec.amount%3D4"))
        .await;

    // Every kind of write, at the version that is not stored.
    let patch =
        Ask::new(format!("PATCH {V2}/a")).typed("application/merge-patch+json", r#"{"spec":{"amount":4}}"#);
    assert_eq!(server.ok(patch).await["spec"]["amount"], 4);
    assert_eq!(server.ok(format!("GET {V1}/a")).await["spec"]["count"], "4");
    assert_eq!(selected.names(1).await, ["ADDED a"]);
    let mut object = server.ok(format!("GET {V2}/a")).await;
    let before = version(&object);
    object = server.ok(Ask::json(format!("PUT {V2}/a"), &object)).await;
    assert_eq!(version(&object), before, "nothing changed, so nothing is written");
    object["spec"]["amount"] = 5.into();
    assert_eq!(
        server.ok(Ask::json(format!("PUT {V2}/a"), &object)).await["spec"]["amount"],
        5
    );
    assert_eq!(selected.names(1).await, ["DELETED a"]);
    let scale = Ask::new(format!("PATCH {V2}/a/scale"))
        .typed("application/merge-patch+json", r#"{"spec":{"replicas":7}}"#);
    assert_eq!(server.ok(scale).await["spec"]["replicas"], 7);
    assert_eq!(
        server.ok(format!("GET {V1}/a")).await["spec"],
        json!({"count": "5", "replicas": 7})
    );
    let table =
        Ask::new(format!("GET {V2}")).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    assert_eq!(server.ok(table).await["rows"].as_array().unwrap().len(), 2);
    server.ok(format!("DELETE {V2}/a")).await;
    server.ok(format!("DELETE {V2}")).await;
    assert_eq!(server.ok(format!("GET {V1}")).await["items"], json!([]));
}

#[tokio::test]
async fn old_objects_are_read_and_rewritten_after_the_stored_version_changed() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define(&server, &definition(&hook.by_url(), "v1")).await;
    server
        .ok(Ask::json(
            format!("POST {V1}"),
            &order("v1", "old", json!({"count": "1"})),
        ))
        .await;
    let mut present = server
        .ok(format!("GET {DEFINITIONS}/orders.shop.example.com"))
        .await;
    present["spec"] = definition(&hook.by_url(), "v2")["spec"].clone();
    server
        .ok(Ask::json(
            format!("PUT {DEFINITIONS}/orders.shop.example.com"),
            &present,
        ))
        .await;
    let kept = server
        .ok(format!("GET {DEFINITIONS}/orders.shop.example.com"))
        .await;
    assert_eq!(kept["status"]["storedVersions"], json!(["v1", "v2"]));
    let stored = async |name: &str| {
        let key =
            kubewright_apiserver::storage::Key::new("shop.example.com", "orders", Some("default"), name);
        server.api.storage().get(key).await.unwrap().unwrap().value()["apiVersion"].clone()
    };
    // The definition counts a moment after it was stored.
    let new = Ask::json(format!("POST {V1}"), &order("v1", "new", json!({"count": "2"})));
    server.ok(new.clone()).await;
    while stored("new").await != "shop.example.com/v2" {
        server.ok(format!("DELETE {V1}/new")).await;
        server.ok(new.clone()).await;
    }
    assert_eq!(stored("old").await, "shop.example.com/v1");
    for (path, field, values) in [
        (V1, "count", [json!("2"), json!("1")]),
        (V2, "amount", [json!(2), json!(1)]),
    ] {
        let list = server.ok(format!("GET {path}")).await;
        let found: Vec<&Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["spec"][field])
            .collect();
        assert_eq!(found, values.iter().collect::<Vec<_>>());
    }
    // A write that changes nothing migrates, as the storage version migrator does it.
    let object = server.ok(format!("GET {V2}/old")).await;
    let after = server.ok(Ask::json(format!("PUT {V2}/old"), &object)).await;
    assert_eq!(after["spec"], object["spec"]);
    assert_eq!(stored("old").await, "shop.example.com/v2");
}

#[tokio::test]
async fn owners_of_fields_are_known_in_every_version() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define(&server, &definition(&hook.by_url(), "v1")).await;
    let apply = |path: &str, manager: &str, object: &Value| {
        Ask::new(format!("PATCH {path}/a?fieldManager={manager}"))
            .typed("application/apply-patch+yaml", object.to_string())
    };
    server
        .ok(apply(
            V1,
            "first",
            &order("v1", "a", json!({"count": "1", "replicas": 1})),
        ))
        .await;
    let conflict = server
        .refused(
            apply(
                V2,
                "second",
                &order("v2", "a", json!({"amount": 2, "replicas": 1})),
            ),
            409,
            "conflict with \"first\"",
        )
        .await;
    // As the one sees it whose field it is.
    assert_eq!(conflict.body["details"]["causes"][0]["field"], ".spec.count");
    // The same value is shared, and belongs to the other alone once the first leaves it out.
    server
        .ok(apply(
            V2,
            "second",
            &order("v2", "a", json!({"amount": 1, "replicas": 1})),
        ))
        .await;
    let left = server
        .ok(apply(V1, "first", &order("v1", "a", json!({"replicas": 1}))))
        .await;
    assert_eq!(left["spec"]["count"], "1");
    let left = server
        .ok(apply(V2, "second", &order("v2", "a", json!({"replicas": 1}))))
        .await;
    assert_eq!(left["spec"].get("amount"), None);
    // An update at one version takes a field that was applied at another.
    server
        .ok(apply(
            V1,
            "first",
            &order("v1", "a", json!({"count": "1", "replicas": 1})),
        ))
        .await;
    let patch = Ask::new(format!("PATCH {V2}/a?fieldManager=third"))
        .typed("application/merge-patch+json", r#"{"spec":{"amount":9}}"#);
    server.ok(patch).await;
    server
        .refused(
            apply(
                V1,
                "first",
                &order("v1", "a", json!({"count": "1", "replicas": 1})),
            ),
            409,
            "conflict with \"third\"",
        )
        .await;
}

#[tokio::test]
async fn a_service_leads_to_the_webhook_and_many_objects_go_together() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define_service(&server).await;
    define(&server, &definition(&hook.https.by_service("/convert"), "v1")).await;
    for index in 0..1001 {
        server
            .ok(Ask::json(
                format!("POST {V1}"),
                &order("v1", &format!("o{index}"), json!({"count": "1"})),
            ))
            .await;
    }
    hook.counts();
    let list = server.ok(format!("GET {V2}")).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1001);
    assert_eq!(hook.counts(), (3, 1001));
}

#[tokio::test]
async fn a_webhook_may_change_labels_and_annotations_only() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define(&server, &definition(&hook.by_url(), "v1")).await;
    let mut object = order("v1", "a", json!({"count": "1"}));
    object["metadata"]["annotations"] = json!({"kept": "no"});
    object["metadata"]["finalizers"] = json!(["example.com/mine"]);
    server.ok(Ask::json(format!("POST {V1}"), &object)).await;
    hook.spoil(|answer| {
        let metadata = &mut answer["response"]["convertedObjects"][0]["metadata"];
        metadata["labels"] = json!({"new": "label"});
        metadata["annotations"] = Value::Null;
        metadata["finalizers"] = json!([]);
        metadata["generation"] = 77.into();
    })
    .await;
    let shown = server.ok(format!("GET {V2}/a")).await;
    assert_eq!(shown["metadata"]["labels"], json!({"new": "label"}));
    assert_eq!(shown["metadata"].get("annotations"), None);
    assert_eq!(shown["metadata"]["finalizers"], json!(["example.com/mine"]));
    assert_eq!(shown["metadata"]["generation"], 1);
}

/// Nothing is stored, nothing is shown, and what was there is there afterwards.
#[tokio::test]
async fn answers_of_a_webhook_that_are_none() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define(&server, &definition(&hook.by_url(), "v1")).await;
    server
        .ok(Ask::json(
            format!("POST {V1}"),
            &order("v1", "a", json!({"count": "1"})),
        ))
        .await;
    let rows: &[(Spoil, &str)] = &[
        (
            |answer| answer["response"]["result"] = json!({"status": "Failed", "message": "out of order"}),
            "failed: out of order",
        ),
        (
            |answer| answer["response"]["result"] = json!({"status": "Odd"}),
            "failed: response.result.status was 'Odd', not 'Success'",
        ),
        (
            |answer| answer["response"]["uid"] = "x".into(),
            "failed: expected response.uid=",
        ),
        (
            |answer| answer["response"] = Value::Null,
            "failed: no response provided",
        ),
        (
            |answer| answer["kind"] = "Other".into(),
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Other",
        ),
        (
            |answer| answer["response"]["convertedObjects"] = json!([]),
            "returned 0 objects, expected 1",
        ),
        (
            |answer| answer["response"]["convertedObjects"] = json!([1]),
            "returned invalid converted object at index 0: it is no object",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["apiVersion"] = "shop.example.com/v3".into(),
            "invalid groupVersion (expected shop.example.com/v2, received shop.example.com/v3)",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["kind"] = "Other".into(),
            "invalid kind (expected Order, received Other)",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["name"] = "b".into(),
            "must have the same name: a != b",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["uid"] = "b".into(),
            "must have the same UID: ",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["labels"] = json!({"a b": "c"}),
            "returned invalid metadata in object at index 0: metadata.labels: Invalid value: \"a b\"",
        ),
        (
            |answer| answer["response"]["convertedObjects"][0]["metadata"]["labels"] = json!({"a": 1}),
            "metadata.labels[a] must be a string",
        ),
        (|answer| *answer = "{".into(), "failed: "),
        (|answer| *answer = "[]".into(), "failed: "),
        (|answer| *answer = "\u{0}".into(), "failed: "),
    ];
    let expect_all_refused = async |text: &str| {
        let starts = "conversion webhook for shop.example.com/v";
        for ask in [
            Ask::new(format!("GET {V2}/a")),
            Ask::new(format!("GET {V2}")),
            Ask::new(format!("GET {V2}/a/scale")),
            Ask::new(format!("PATCH {V2}/a"))
                .typed("application/merge-patch+json", r#"{"spec":{"amount":4}}"#),
            Ask::new(format!("DELETE {V2}/a")),
        ] {
            let answer = server.refused(ask, 500, text).await;
            assert!(text_of(&answer).starts_with(starts), "{:?}", answer.body);
        }
        let mut events = server.watch(&format!("{V2}?watch=true")).await;
        let event = events.next().await.unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["code"]),
            (&json!("ERROR"), &json!(500))
        );
        assert_eq!(events.next().await, None);
        assert_eq!(server.ok(format!("GET {V1}/a")).await["spec"]["count"], "1");
    };
    for (spoil, text) in rows {
        hook.spoil(*spoil).await;
        expect_all_refused(text).await;
    }
    *hook.shared.refusal.lock().await = Some((500, "tired"));
    expect_all_refused("an error on the server (\"tired\") has prevented the request from succeeding").await;
    *hook.shared.refusal.lock().await = Some((404, ""));
    let create = Ask::json(format!("POST {V2}"), &order("v2", "c", json!({"amount": 1})));
    server
        .refused(create, 500, "the server could not find the requested resource")
        .await;
}

fn text_of(answer: &Answer) -> &str {
    text(&answer.body["message"])
}

#[tokio::test]
async fn webhooks_that_cannot_be_reached() {
    let hook = Hook::start().await;
    let other = authority("other");
    let refusing = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let mut untrusted = hook.by_url();
    untrusted["caBundle"] = base64(&other.certificate_pem()).into();
    let none = json!({"service": {"namespace": "default", "name": "none"}});
    for (config, text) in [
        (
            json!({"url": format!("https://{refusing}/convert")}),
            format!("Post \"https://{refusing}/convert?timeout=30s\": could not connect"),
        ),
        (untrusted, "TLS handshake with".to_owned()),
        (
            none,
            "Post \"https://none.default.svc:443/?timeout=30s\": service \"none\" not found".to_owned(),
        ),
    ] {
        let server = calling_server().await;
        define(&server, &definition(&config, "v1")).await;
        server
            .ok(Ask::json(
                format!("POST {V1}"),
                &order("v1", "a", json!({"count": "1"})),
            ))
            .await;
        server.refused(format!("GET {V2}/a"), 500, &text).await;
        server.ok(format!("DELETE {V1}/a")).await;
    }
    let server = Server::start().await;
    define(&server, &definition(&hook.by_url(), "v1")).await;
    server
        .ok(Ask::json(
            format!("POST {V1}"),
            &order("v1", "a", json!({"count": "1"})),
        ))
        .await;
    server
        .refused(format!("GET {V2}/a"), 500, "Options::crypto")
        .await;
}

/// Long before a bookmark would be due.
#[tokio::test]
async fn watches_of_a_version_that_is_no_longer_served_end() {
    let (hook, server) = (Hook::start().await, calling_server().await);
    define(&server, &definition(&hook.by_url(), "v1")).await;
    let mut ends = server.watch(&format!("{V2}?watch=true")).await;
    let mut goes_on = server.watch(&format!("{V1}?watch=true")).await;
    let path = format!("{DEFINITIONS}/orders.shop.example.com");
    let mut present = server.ok(format!("GET {path}")).await;
    present["spec"]["versions"][1]["served"] = false.into();
    server.ok(Ask::json(format!("PUT {path}"), &present)).await;
    assert_eq!(ends.next().await, None);
    server
        .ok(Ask::json(format!("POST {V1}"), &order("v1", "a", json!({}))))
        .await;
    assert_eq!(goes_on.names(1).await, ["ADDED a"]);
}
