//! Helpers that send requests, against scripted servers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Response, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_core::{DynamicObject, Status, StatusReason, WriteOptions};
use kubewright_net::{Body, HttpService, TransportError};
use serde_json::{Value, json};

use super::*;
use crate::api::{Api, DynamicApi};
use crate::client::Client;
use crate::error::Error;

/// What a server does with one request.
#[derive(Clone)]
enum Answer {
    Json(Value),
    Refuse(StatusReason),
    Lost,
    /// A watch that ends after its events.
    Watch(Vec<Value>),
    /// A watch that stays open after its events.
    OpenWatch(Vec<Value>),
}

use Answer::{Json, Lost, OpenWatch, Refuse, Watch};

type Seen = Arc<Mutex<Vec<(Method, String, Value)>>>;

/// Answers in this order, and fails the test beyond it.
fn server(answers: Vec<Answer>) -> (Client, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let service = HttpService::from_fn(move |request| {
        let body = request.body().as_bytes().cloned().unwrap_or_default();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let target = request.uri().to_string();
        log.lock()
            .unwrap()
            .push((request.method().clone(), target.clone(), body));
        let answer = answers.lock().unwrap().next();
        let answer = answer.unwrap_or_else(|| panic!("nobody should have asked for {target}"));
        async move {
            let lines = |events: Vec<Value>| {
                let lines = events.into_iter().map(|event| Ok(format!("{event}\n").into()));
                futures_util::stream::iter(lines)
            };
            Ok(match answer {
                Json(value) => Response::new(Body::from(value.to_string())),
                Refuse(reason) => {
                    let status = Status::failure(reason, "no");
                    let mut response = Response::new(Body::from(serde_json::to_string(&status).unwrap()));
                    *response.status_mut() = StatusCode::from_u16(status.code).unwrap();
                    response
                }
                Lost => return Err(TransportError::closed("reading")),
                Watch(events) => Response::new(Body::stream(lines(events))),
                OpenWatch(events) => {
                    let open = futures_util::stream::pending();
                    Response::new(Body::stream(futures_util::StreamExt::chain(lines(events), open)))
                }
            })
        }
    });
    let client = Client::from_service(service, "team");
    let options = crate::ClientOptions {
        max_retries: 0,
        ..client.options().clone()
    };
    (client.with_client_options(options), seen)
}

fn map(version: u32, colour: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "a", "namespace": "team", "uid": "u", "resourceVersion": version.to_string(),
    }, "data": { "colour": colour, "kept": "yes" } })
}

fn paint(colour: &str) -> impl FnMut(&mut ConfigMap) + Send + use<> {
    let colour = colour.to_owned();
    move |map| {
        map.data
            .get_or_insert_default()
            .insert("colour".to_owned(), colour.clone());
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_becomes_what_it_should_be() {
    let missing = || Refuse(StatusReason::NotFound);
    let conflict = || Refuse(StatusReason::Conflict);
    let red = || Json(map(1, "red"));
    let blue = || Json(map(2, "blue"));
    let contended = || [red(), conflict()];
    // The answers, what came of it, and the methods of the requests.
    let rows: Vec<(Vec<Answer>, Result<WrittenHow, StatusReason>, &str)> = vec![
        (vec![missing(), blue()], Ok(WrittenHow::Created), "GET POST"),
        (vec![red(), blue()], Ok(WrittenHow::Updated), "GET PUT"),
        (vec![blue()], Ok(WrittenHow::Unchanged), "GET"),
        (
            vec![red(), conflict(), red(), blue()],
            Ok(WrittenHow::Updated),
            "GET PUT GET PUT",
        ),
        (
            vec![missing(), Refuse(StatusReason::AlreadyExists), red(), blue()],
            Ok(WrittenHow::Updated),
            "GET POST GET PUT",
        ),
        (
            vec![red(), missing(), missing(), blue()],
            Ok(WrittenHow::Created),
            "GET PUT GET POST",
        ),
        (
            (0..5).flat_map(|_| contended()).collect(),
            Err(StatusReason::Conflict),
            "GET PUT GET PUT GET PUT GET PUT GET PUT",
        ),
        (
            vec![Refuse(StatusReason::Forbidden)],
            Err(StatusReason::Forbidden),
            "GET",
        ),
        (
            // There is no such namespace.
            vec![missing(), missing()],
            Err(StatusReason::NotFound),
            "GET POST",
        ),
    ];
    for (answers, expect, methods) in rows {
        for patch in [false, true] {
            let (client, seen) = server(answers.clone());
            let api: Api<ConfigMap> = Api::namespaced(&client, "team");
            let options = WriteOptions::default();
            let result = if patch {
                api.create_or_patch("a", &options, paint("blue")).await
            } else {
                api.create_or_update("a", &options, paint("blue")).await
            };
            let found = result.as_ref().map(|written| written.how);
            assert_eq!(
                found.map_err(|error| error.reason().unwrap()),
                expect.clone(),
                "{methods}"
            );
            let seen = seen.lock().unwrap();
            let found: Vec<&str> = seen.iter().map(|(method, ..)| method.as_str()).collect();
            let methods = if patch {
                methods.replace("PUT", "PATCH")
            } else {
                methods.to_owned()
            };
            assert_eq!(found.join(" "), methods);
            for (method, _, body) in seen.iter() {
                let expect = match method.as_str() {
                    "POST" => {
                        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team" },
                        "data": { "colour": "blue" } })
                    }
                    "PUT" => map(1, "blue"),
                    "PATCH" => json!({ "data": { "colour": "blue" } }),
                    _ => Value::Null,
                };
                assert_eq!(*body, expect);
            }
        }
    }
}

#[tokio::test]
async fn a_change_leaves_the_name_alone() {
    let (client, _) = server(vec![Json(map(1, "red"))]);
    let api: Api<ConfigMap> = Api::namespaced(&client, "team");
    let rename = |map: &mut ConfigMap| map.metadata.name = Some("b".to_owned());
    let error = api
        .create_or_update("a", &WriteOptions::default(), rename)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}

#[tokio::test]
async fn dynamic_objects_are_created_with_their_kind() {
    let (client, seen) = server(vec![Refuse(StatusReason::NotFound), Json(map(1, "red"))]);
    let resource = <ConfigMap as kubewright_core::StaticResource>::api_resource();
    let api = DynamicApi::dynamic_namespaced(&client, &resource, "team");
    let change = |object: &mut DynamicObject| drop(object.data.insert("data".to_owned(), json!({})));
    api.create_or_update("a", &WriteOptions::default(), change)
        .await
        .unwrap();
    let body = &seen.lock().unwrap()[1].2;
    assert_eq!(
        (&body["kind"], &body["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
}

fn list(items: &[Value]) -> Answer {
    Json(
        json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": "7" }, "items": items }),
    )
}

fn event(kind: &str, object: Value) -> Value {
    json!({ "type": kind, "object": object })
}

async fn wait_for_blue(answers: Vec<Answer>) -> (Result<Option<ConfigMap>, WaitError>, Vec<String>) {
    let (client, seen) = server(answers);
    let api: Api<ConfigMap> = Api::namespaced(&client, "team");
    let limit = Duration::from_secs(60);
    let result = api
        .wait_for("a", limit, conditions::has_field("/data/colour", "blue"))
        .await;
    let seen = seen
        .lock()
        .unwrap()
        .iter()
        .map(|(_, target, _)| target.clone())
        .collect();
    (result, seen)
}

#[tokio::test(start_paused = true)]
async fn waiting_survives_what_passes() {
    let red = || event("MODIFIED", map(8, "red"));
    let blue = || event("MODIFIED", map(9, "blue"));
    let gone = || event("DELETED", map(8, "red"));
    let expired = event(
        "ERROR",
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410 }),
    );
    let rows: Vec<Vec<Answer>> = vec![
        vec![list(&[map(1, "blue")])],
        vec![list(&[]), OpenWatch(vec![red(), gone(), blue()])],
        vec![
            list(&[map(1, "red")]),
            Watch(vec![red()]),
            list(&[map(9, "blue")]),
        ],
        vec![list(&[]), Watch(vec![]), list(&[]), OpenWatch(vec![blue()])],
        vec![list(&[]), Watch(vec![expired]), list(&[map(9, "blue")])],
        vec![Lost, list(&[]), Lost, list(&[map(9, "blue")])],
        vec![
            Refuse(StatusReason::ServiceUnavailable),
            Refuse(StatusReason::TooManyRequests),
            list(&[]),
            Refuse(StatusReason::Expired),
            list(&[map(9, "blue")]),
        ],
    ];
    for (row, answers) in rows.into_iter().enumerate() {
        let count = answers.len();
        let (result, seen) = wait_for_blue(answers).await;
        let found = result.unwrap().unwrap();
        assert_eq!(found.data.unwrap()["colour"], "blue", "{row}");
        assert_eq!(seen.len(), count, "{row}");
        let path = "/api/v1/namespaces/team/configmaps?fieldSelector=metadata.name%3Da";
        assert_eq!(seen[0], path);
        if row == 1 {
            assert_eq!(seen[1], format!("{path}&resourceVersion=7&watch=true"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_what_does_not_pass() {
    for reason in [
        StatusReason::Forbidden,
        StatusReason::NotFound,
        StatusReason::Unauthorized,
    ] {
        let (result, _) = wait_for_blue(vec![Refuse(reason.clone())]).await;
        let Err(WaitError::Client(error)) = result else {
            panic!("{result:?}")
        };
        assert_eq!(error.reason(), Some(reason));
    }
    let start = tokio::time::Instant::now();
    let (result, _) = wait_for_blue(vec![list(&[map(1, "red")]), OpenWatch(vec![])]).await;
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    assert_eq!(
        result.unwrap_err().to_string(),
        "timed out waiting for the condition on configmaps/a after 60s: the object is at version 1"
    );
    let (result, seen) = wait_for_blue(vec![Lost; 100]).await;
    let error = result.unwrap_err();
    assert!(std::error::Error::source(&error).is_some(), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("the server did not tell of the object"),
        "{error}"
    );
    // A server that is away is not hammered at.
    assert!(seen.len() < 20, "{}", seen.len());
}
