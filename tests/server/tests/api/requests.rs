//! What Kubernetes 1.37 answers to requests of every oddity: parameters, options, media types, paths and methods, names, empty and odd
//! bodies, a line of JSON each (`upstream/requests.jsonl`).
//!
//! The rows are one after another, since later ones look at what earlier ones made. A row has what is asked, and of the answer the code, the
//! media type, the kind, the message and the fields of an error, and the warnings. A row without a code is sent for what it does.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, Server, text};

fn ask(row: &Value) -> Ask {
    let ask = Ask::new(text(&row["ask"]));
    let media_type = row["type"].as_str().unwrap_or("application/json");
    let ask = match &row["body"] {
        Value::Null => ask,
        Value::String(body) => ask.typed(media_type, body.clone()),
        body => ask.typed(media_type, body.to_string()),
    };
    match row["accept"].as_str() {
        Some(accept) => ask.header("accept", accept),
        None => ask,
    }
}

/// What differs from a row, if anything does.
fn difference(row: &Value, answer: &Answer) -> Option<String> {
    let mut found = String::new();
    let mut check = |what: &str, got: Value| {
        if row.get(what).is_some_and(|expect| *expect != got) {
            // Writing to a string cannot fail.
            let _ = write!(
                found,
                "\n  {what}: expected {}\n  {what}: answered {got}",
                row[what]
            );
        }
    };
    check("code", answer.code.into());
    check("content", answer.header("content-type").into());
    check("kind", answer.body["kind"].clone());
    check("message", answer.body["message"].clone());
    let causes = answer.body["details"]["causes"].as_array();
    let causes = causes.into_iter().flatten();
    let fields: Vec<Value> = causes
        .map(|cause| json!([text(&cause["reason"]), text(&cause["field"])]))
        .collect();
    check("causes", fields.into());
    let warnings = answer.warnings().into_iter();
    let mut warnings: Vec<String> = warnings
        .filter_map(|warning| warning.strip_prefix("299 - \"")?.strip_suffix('"'))
        .map(|warning| warning.replace("\\\"", "\""))
        .collect();
    warnings.sort_unstable();
    let is_judged = row.get("code").is_some();
    if is_judged && json!(warnings) != row.get("warnings").cloned().unwrap_or_else(|| json!([])) {
        let _ = write!(found, "\n  warnings: {warnings:?}");
    }
    (!found.is_empty()).then(|| format!("{}:{found}\n", row["ask"]))
}

#[tokio::test]
async fn requests_are_answered_as_upstream_answers_them() {
    let server = Server::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}});
    server.ok(Ask::json("POST /api/v1/namespaces", &namespace)).await;
    let rows = include_str!("upstream/requests.jsonl").lines();
    let mut differences = String::new();
    for (number, row) in (1..).zip(rows) {
        let row: Value = serde_json::from_str(row).unwrap();
        let answer = server.ask(ask(&row)).await;
        if answer.body["kind"] == "CustomResourceDefinition" && answer.code == 201 {
            let is_served = until_served(&server, &answer.body["spec"]);
            let is_served = tokio::time::timeout(Duration::from_secs(30), is_served).await;
            assert!(
                is_served.is_ok(),
                "line {number}: what {} defines is not served",
                row["ask"]
            );
        }
        if let Some(found) = difference(&row, &answer) {
            let _ = write!(differences, "line {number}, {found}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Waits until a defined kind is answered for in a version that the definition says is served.
async fn until_served(server: &Server, spec: &Value) {
    let mut versions = spec["versions"].as_array().into_iter().flatten();
    let Some(version) = versions.find(|version| version["served"] == true) else {
        return;
    };
    let path = format!(
        "GET /apis/{}/{}/{}",
        text(&spec["group"]),
        text(&version["name"]),
        text(&spec["names"]["plural"])
    );
    while server.ask(&*path).await.code == 404 {
        tokio::task::yield_now().await;
    }
}
