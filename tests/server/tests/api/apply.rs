//! Server-side apply.

use serde_json::{Value, json};

use crate::harness::*;
use crate::managed_fields::{entries, entry};

fn apply(path: &str, object: &Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed("application/apply-patch+yaml", object.to_string())
}

#[tokio::test]
async fn each_says_what_it_cares_for() {
    let server = Server::start().await;
    let at = |manager: &str| format!("{MAPS}/m?fieldManager={manager}");
    let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data});
    let of = |manager: &str, fields: Value| entry(manager, "Apply", "v1", &fields);

    let created = server
        .ask(apply(&at("a"), &map(json!({"x": "1", "y": "1"}))))
        .await;
    assert_eq!(created.code, 201);
    assert_eq!(
        entries(&created.body),
        [of("a", json!({"f:data": {"f:x": {}, "f:y": {}}}))]
    );
    let before = server.revision().await;
    let again = server
        .ask(apply(&at("a"), &map(json!({"x": "1", "y": "1"}))))
        .await;
    assert_eq!((again.code, &again.body), (200, &created.body));
    assert_eq!(
        server.revision().await,
        before,
        "what is so already is not written"
    );

    // The same value has two owners, another one is a conflict.
    let shared = server
        .ok(apply(&at("b"), &map(json!({"x": "1", "z": "1"}))))
        .await;
    assert_eq!(shared["data"], json!({"x": "1", "y": "1", "z": "1"}));
    let conflict = server
        .refused(
            apply(&at("b"), &map(json!({"x": "2"}))),
            409,
            "Apply failed with 1 conflict: conflict with \"a\": .data.x",
        )
        .await;
    assert_eq!(conflict.body["reason"], "Conflict");
    assert_eq!(
        conflict.body["details"]["causes"],
        json!([{"reason": "FieldManagerConflict", "message": "conflict with \"a\"", "field": ".data.x"}])
    );
    let forced = server
        .ok(apply(&format!("{}&force=true", at("b")), &map(json!({"x": "2"}))))
        .await;
    assert_eq!(
        forced["data"],
        json!({"x": "2", "y": "1"}),
        "and z, which only b had, goes"
    );
    assert_eq!(
        entries(&forced),
        [
            of("a", json!({"f:data": {"f:y": {}}})),
            of("b", json!({"f:data": {"f:x": {}}}))
        ]
    );

    // Updates own, too.
    let ask = Ask::new(format!("PATCH {MAPS}/m?fieldManager=c"));
    server
        .ok(ask.typed("application/merge-patch+json", r#"{"data":{"y":"9"}}"#))
        .await;
    let answer = server.ask(apply(&at("a"), &map(json!({"y": "1"})))).await;
    assert_eq!(answer.code, 409);
    let message = text(&answer.body["message"]);
    assert_eq!(
        message,
        "Apply failed with 1 conflict: conflict with \"c\" using v1: .data.y"
    );
}

#[tokio::test]
async fn lists_are_merged_by_key() {
    let server = Server::start().await;
    let at = |manager: &str| format!("{DEPLOYMENTS}/a?fieldManager={manager}&force=true");
    let mut object = deployment("a");
    server.ok(apply(&at("one"), &object)).await;
    object["spec"] = json!({"template": {"spec": {"containers": [{"name": "side", "image": "side"}]}}});
    let merged = server.ok(apply(&at("two"), &object)).await;
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"]
            .as_array()
            .unwrap();
        containers
            .iter()
            .map(|one| text(&one["name"]).to_owned())
            .collect()
    };
    assert_eq!(names(&merged), ["main", "side"]);
    assert_eq!(
        merged["spec"]["template"]["spec"]["containers"][1]["imagePullPolicy"],
        "Always"
    );
    object["spec"] = json!({"paused": true});
    let less = server.ok(apply(&at("two"), &object)).await;
    assert_eq!(names(&less), ["main"], "what nobody applies any more goes");
    assert_eq!(less["spec"]["paused"], true);
}

#[tokio::test]
async fn status_is_applied_apart() {
    let server = Server::start().await;
    server.define_widgets().await;
    server
        .ok(Ask::json(format!("POST {DEPLOYMENTS}"), &deployment("a")))
        .await;
    server
        .ok(Ask::json(format!("POST {WIDGETS}"), &widget("a")))
        .await;
    for (path, version, kind) in [
        (DEPLOYMENTS, "apps/v1", "Deployment"),
        (WIDGETS, "example.com/v1", "Widget"),
    ] {
        let status = if path == WIDGETS {
            json!({"phase": "Done"})
        } else {
            json!({"replicas": 4})
        };
        let config =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "status": status});
        let changed = server
            .ok(apply(&format!("{path}/a/status?fieldManager=s"), &config))
            .await;
        for (field, value) in status.as_object().unwrap() {
            assert_eq!(&changed["status"][field], value, "{path}");
        }
        // To the object itself, nothing of it counts, and nobody owns it.
        let before = server.revision().await;
        let main = server
            .ok(apply(&format!("{path}/a?fieldManager=s"), &config))
            .await;
        assert_eq!(main["status"], changed["status"], "{path}");
        assert!(server.revision().await <= before + 1);
        let absent =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "absent"}, "status": status});
        let ask = apply(&format!("{path}/absent/status?fieldManager=s"), &absent);
        server.refused(ask, 404, "not found").await;
    }
}

#[tokio::test]
async fn custom_objects() {
    let server = Server::start().await;
    server.define_widgets().await;
    let widget = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
    let at = |manager: &str| format!("{WIDGETS}/w?fieldManager={manager}");
    let created = server.ask(apply(&at("a"), &widget(json!({"size": 1})))).await;
    assert_eq!(created.code, 201);
    assert_eq!(created.body["spec"], json!({"size": 1, "color": "red"}));
    assert_eq!(created.body["metadata"]["generation"], 1);
    let changed = server.ok(apply(&at("b"), &widget(json!({"note": "n"})))).await;
    assert_eq!(changed["spec"], json!({"size": 1, "color": "red", "note": "n"}));
    assert_eq!(changed["metadata"]["generation"], 2);
    let before = server.revision().await;
    assert_eq!(
        server.ok(apply(&at("b"), &widget(json!({"note": "n"})))).await,
        changed
    );
    assert_eq!(server.revision().await, before);
    server
        .refused(apply(&at("b"), &widget(json!({"size": 2}))), 409, ".spec.size")
        .await;
    server
        .refused(
            apply(&at("b"), &widget(json!({"unheard": 1}))),
            500,
            ".spec.unheard: field not declared in schema",
        )
        .await;
}

/// Each manager owns in the version it wrote in.
#[tokio::test]
async fn one_object_in_several_versions() {
    let server = Server::start().await;
    let scaler = |version: &str, max: i64| {
        json!({"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": {"maxReplicas": max,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}})
    };
    let at = |version: &str, manager: &str| {
        format!("/apis/{version}/namespaces/default/horizontalpodautoscalers/h?fieldManager={manager}")
    };
    let mut first = scaler("autoscaling/v1", 3);
    first["spec"]["targetCPUUtilizationPercentage"] = json!(50);
    server.ok(apply(&at("autoscaling/v1", "a"), &first)).await;
    let shared = server
        .ok(apply(&at("autoscaling/v2", "b"), &scaler("autoscaling/v2", 3)))
        .await;
    assert_eq!(
        shared["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        50
    );
    let owners: Vec<(String, String)> = entries(&shared)
        .iter()
        .map(|entry| {
            (
                text(&entry["manager"]).to_owned(),
                text(&entry["apiVersion"]).to_owned(),
            )
        })
        .collect();
    let pair = |manager: &str, version: &str| (manager.to_owned(), version.to_owned());
    // Entries without a time come first.
    assert_eq!(owners, [pair("b", "autoscaling/v2"), pair("a", "autoscaling/v1")]);
    server
        .refused(
            apply(&at("autoscaling/v2", "b"), &scaler("autoscaling/v2", 4)),
            409,
            "Apply failed with 1 conflict: conflict with \"a\": .spec.maxReplicas",
        )
        .await;
    // An update in another version takes the field from the one who applied it.
    let mut changed = server.ok(format!("GET {}", at("autoscaling/v2", ""))).await;
    changed["spec"]["maxReplicas"] = json!(7);
    server
        .ok(Ask::json(format!("PUT {}", at("autoscaling/v2", "c")), &changed))
        .await;
    server
        .refused(
            apply(&at("autoscaling/v1", "a"), &first),
            409,
            "conflict with \"c\" using autoscaling/v2: .spec.maxReplicas",
        )
        .await;
}

/// Objects that were never applied are owned by what was there before.
#[tokio::test]
async fn what_was_there_before() {
    let server = Server::start().await;
    let mut object = config_map("m", "1");
    object["metadata"]["managedFields"] = json!([]);
    server
        .ok(Ask::json(format!("POST {MAPS}?fieldManager=old"), &object))
        .await;
    let found = server.ok(format!("GET {MAPS}/m")).await;
    let reset = json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]);
    let ask = Ask::new(format!("PATCH {MAPS}/m"));
    let bare = server
        .ok(ask.typed("application/json-patch+json", reset.to_string()))
        .await;
    assert_eq!(bare["metadata"].get("managedFields"), None, "{found}");
    server
        .refused(
            apply(&format!("{MAPS}/m?fieldManager=new"), &config_map("m", "2")),
            409,
            "conflict with \"before-first-apply\" using v1: .data.key",
        )
        .await;
}

#[tokio::test]
async fn whoever_scales_by_apply() {
    let server = Server::start().await;
    let mut object = deployment("a");
    object["spec"]["replicas"] = json!(2);
    server
        .ok(apply(&format!("{DEPLOYMENTS}/a?fieldManager=user"), &object))
        .await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"replicas": 5}});
    let at = format!("{DEPLOYMENTS}/a/scale?fieldManager=scaler");
    server
        .refused(apply(&at, &scale), 409, "conflict with \"user\": .spec.replicas")
        .await;
    assert_eq!(
        server.ok(apply(&format!("{at}&force=true"), &scale)).await["spec"]["replicas"],
        5
    );
    server
        .refused(
            apply(&format!("{DEPLOYMENTS}/a?fieldManager=user"), &object),
            409,
            "conflict with \"scaler\" with subresource \"scale\": .spec.replicas",
        )
        .await;
    // Who leaves the number to the scaler has no conflict.
    object["spec"].as_object_mut().unwrap().remove("replicas");
    let left = server
        .ok(apply(&format!("{DEPLOYMENTS}/a?fieldManager=user"), &object))
        .await;
    assert_eq!(left["spec"]["replicas"], 5);
}

#[tokio::test]
async fn what_is_refused() {
    let server = Server::start().await;
    let map = |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}});
    let a = map(json!({"name": "a"}));
    for (query, object, code, why) in [
        (
            "",
            a.clone(),
            422,
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
        ),
        (
            "?fieldManager=m",
            map(json!({"name": "a", "managedFields": []})),
            400,
            "metadata.managedFields must be nil",
        ),
        (
            "?fieldManager=m",
            map(json!({"name": "b"})),
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            "?fieldManager=m",
            map(json!({"name": "a", "namespace": "other"})),
            400,
            "the namespace of the provided object does not match",
        ),
        (
            "?fieldManager=m",
            map(json!({"name": "a", "uid": "u"})),
            409,
            "uid mismatch: the provided object specified uid u, and no existing object was found",
        ),
        (
            "?fieldManager=m",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
            400,
            "",
        ),
        ("?fieldManager=m", json!({"metadata": {"name": "a"}}), 400, ""),
        ("?fieldManager=m", json!([]), 400, "error decoding patch"),
        (
            "?fieldManager=m",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "extra": 1}),
            500,
            ".extra: field not declared in schema",
        ),
        (
            "?fieldManager=m",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": 1}}),
            500,
            ".data.k: expected string, got ",
        ),
    ] {
        server
            .refused(apply(&format!("{MAPS}/a{query}"), &object), code, why)
            .await;
    }
    let text = |query: &str, body: &'static str| {
        Ask::new(format!("PATCH {MAPS}/a?fieldManager=m{query}")).typed("application/apply-patch+yaml", body)
    };
    server
        .refused(
            text("", "a: [b"),
            400,
            "error encoding patch: yaml: line 1: did not find expected ',' or ']'",
        )
        .await;
    const TWICE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: a\n  k: b\n";
    let strict = server
        .refused(
            text("&fieldValidation=Strict", TWICE),
            400,
            "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key \"k\" already set",
        )
        .await;
    assert_eq!(strict.body["reason"], "BadRequest");
    let warned = server.ask(text("", TWICE)).await;
    assert_eq!(warned.code, 201);
    assert_eq!(
        warned.warnings(),
        ["299 - \"line 7: key \\\"k\\\" already set in map\""]
    );
}

/// Who owns what, by name: `manager operation version subresource fields`.
fn owners(object: &Value) -> Vec<String> {
    let mut owners: Vec<String> = entries(object)
        .iter()
        .map(|entry| {
            let of = |name: &str| text(&entry[name]).to_owned();
            let parts = [
                of("manager"),
                of("operation"),
                of("apiVersion"),
                of("subresource"),
            ];
            format!("{} {}", parts.join(" "), entry["fieldsV1"])
        })
        .collect();
    owners.sort();
    owners
}

fn merge(path: &str, patch: &Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed("application/merge-patch+json", patch.to_string())
}

fn strategic(path: &str, patch: &Value) -> Ask {
    Ask::new(format!("PATCH {path}")).typed("application/strategic-merge-patch+json", patch.to_string())
}

#[tokio::test]
async fn one_custom_object_in_two_versions() {
    let server = Server::start().await;
    server.define_widgets().await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let mut both = server.ok(format!("GET {definition}")).await;
    let mut second = both["spec"]["versions"][0].clone();
    (second["name"], second["storage"]) = (json!("v2"), json!(false));
    both["spec"]["versions"].as_array_mut().unwrap().push(second);
    server.ok(Ask::json(format!("PUT {definition}"), &both)).await;
    while server.ask("GET /apis/example.com/v2").await.code != 200 {
        tokio::task::yield_now().await;
    }
    let widget = |version: &str, spec: Value| json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
    let at = |version: &str, manager: &str| {
        format!("/apis/example.com/{version}/namespaces/default/widgets/w?fieldManager={manager}")
    };
    const SIZE: &str = r#"{"f:spec":{"f:size":{}}}"#;
    const NOTE: &str = r#"{"f:spec":{"f:note":{}}}"#;
    let apply_in =
        |version: &str, manager: &str, spec: Value| apply(&at(version, manager), &widget(version, spec));

    server.ok(apply_in("v1", "a", json!({"size": 1}))).await;
    let made = server.ok(apply_in("v2", "b", json!({"note": "n"}))).await;
    assert_eq!(made["spec"], json!({"size": 1, "note": "n", "color": "red"}));
    assert_eq!(
        owners(&made),
        [
            format!("a Apply example.com/v1  {SIZE}"),
            format!("b Apply example.com/v2  {NOTE}")
        ]
    );
    server
        .refused(
            apply_in("v2", "b", json!({"note": "n", "size": 2})),
            409,
            "Apply failed with 1 conflict: conflict with \"a\": .spec.size",
        )
        .await;
    server
        .ok(merge(&at("v2", "c"), &json!({"spec": {"note": "c"}})))
        .await;
    server
        .refused(
            apply_in("v1", "a", json!({"size": 1, "note": "a"})),
            409,
            "Apply failed with 1 conflict: conflict with \"c\" using example.com/v2: .spec.note",
        )
        .await;
    // Who applies has one entry, in the version of the last time; who updates has one for each version.
    let moved = server.ok(apply_in("v2", "a", json!({"size": 3}))).await;
    assert_eq!(
        owners(&moved),
        [
            format!("a Apply example.com/v2  {SIZE}"),
            format!("c Update example.com/v2  {NOTE}")
        ]
    );
    let taken = server
        .ok(merge(&at("v1", "c"), &json!({"spec": {"size": 4}})))
        .await;
    assert_eq!(
        owners(&taken),
        [
            format!("c Update example.com/v1  {SIZE}"),
            format!("c Update example.com/v2  {NOTE}")
        ]
    );
    let forced = server
        .ok(apply(
            &format!("{}&force=true", at("v1", "a")),
            &widget("v1", json!({"size": 5})),
        ))
        .await;
    assert_eq!(
        owners(&forced),
        [
            format!("a Apply example.com/v1  {SIZE}"),
            format!("c Update example.com/v2  {NOTE}")
        ]
    );
    server
        .refused(
            apply(&at("v1", "a"), &widget("v2", json!({"size": 5}))),
            400,
            "invalid object type: example.com/v2, Kind=Widget",
        )
        .await;
}

/// The subresources of pods that change the object itself have owners of their own.
#[tokio::test]
async fn sizes_and_ephemeral_containers_of_pods() {
    let server = Server::start().await;
    let at = |subresource: &str, manager: &str| format!("{PODS}/x{subresource}?fieldManager={manager}");
    let config =
        |spec: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec});
    let whole = config(json!({"containers": [{
        "name": "main", "image": "nginx", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    }]}));
    const DEBUG: &str = "debug Update v1 ephemeralcontainers {\"f:spec\":{\"f:ephemeralContainers\":{\".\":{},\
        \"k:{\\\"name\\\":\\\"e\\\"}\":{\".\":{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{},\
        \"f:terminationMessagePath\":{},\"f:terminationMessagePolicy\":{}}}}}";
    let of_main = |manager: &str, fields: Value| {
        let fields = json!({"f:spec": {"f:containers": {r#"k:{"name":"main"}"#: fields}}});
        format!("{manager} {fields}")
    };
    let (cpu, own) = (json!({"f:cpu": {}}), json!({}));

    server.ok(apply(&at("", "user"), &whole)).await;
    let debugged = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}});
    let debugged = server
        .ok(strategic(&at("/ephemeralcontainers", "debug"), &debugged))
        .await;
    let resources = json!({"f:limits": cpu, "f:requests": cpu});
    let user = json!({".": own, "f:image": own, "f:name": own, "f:resources": resources});
    assert_eq!(
        owners(&debugged),
        [DEBUG.to_owned(), of_main("user Apply v1 ", user)]
    );

    let more = config(json!({"containers": [{"name": "main", "resources": {"requests": {"cpu": "1500m"}}}]}));
    const REQUEST: &str = ".spec.containers[name=\"main\"].resources.requests.cpu";
    server
        .refused(
            apply(&at("/resize", "sizer"), &more),
            409,
            &format!("Apply failed with 1 conflict: conflict with \"user\": {REQUEST}"),
        )
        .await;
    let sized = server
        .ok(apply(&format!("{}&force=true", at("/resize", "sizer")), &more))
        .await;
    assert_eq!(
        sized["spec"]["containers"][0]["resources"]["requests"]["cpu"],
        "1500m"
    );
    let sizer = json!({".": own, "f:name": own, "f:resources": {"f:requests": cpu}});
    let sizer = of_main("sizer Apply v1 resize", sizer);
    let user = json!({".": own, "f:image": own, "f:name": own, "f:resources": {"f:limits": cpu}});
    assert_eq!(
        owners(&sized),
        [DEBUG.to_owned(), sizer.clone(), of_main("user Apply v1 ", user)]
    );
    server
        .refused(
            apply(&at("", "user"), &whole),
            409,
            &format!("conflict with \"sizer\" with subresource \"resize\": {REQUEST}"),
        )
        .await;
    let limit = json!({"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "3"}}}]}});
    let limited = server.ok(strategic(&at("/resize", "patcher"), &limit)).await;
    let user = json!({".": own, "f:image": own, "f:name": own});
    let patcher = json!({"f:resources": {"f:limits": cpu}});
    assert_eq!(
        owners(&limited),
        [
            DEBUG.to_owned(),
            of_main("patcher Update v1 resize", patcher),
            sizer,
            of_main("user Apply v1 ", user)
        ]
    );
}
