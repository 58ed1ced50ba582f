//! What Kubernetes 1.37 answers to definitions and custom resources of every oddity, a line of JSON each (`upstream/`).
//!
//! A row has the body that is sent, the code, and what comes back: the causes of an error (in no order, since upstream walks maps in
//! none), its message where there are none, or what the specification of an object has become; and the warnings. Rows are dry runs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, Server, text};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDES: &str = "/apis/e.com/v1/namespaces/d/wides";
const RATCHETS: &str = "/apis/e.com/v1/namespaces/d/ratchets";

/// What differs from a row, if anything does.
fn difference(row: &Value, answer: &Answer) -> Option<String> {
    let mut found = String::new();
    let mut check = |what: &str, expect: &Value, got: &Value| {
        if expect != got {
            // Writing to a string cannot fail.
            let _ = write!(found, "\n  {what}: expected {expect}\n  {what}: answered {got}");
        }
    };
    check("code", &row["code"], &answer.code.into());
    let causes = answer.body["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut causes: Vec<Value> = causes
        .iter()
        .map(|cause| {
            json!([
                text(&cause["field"]),
                text(&cause["reason"]),
                text(&cause["message"])
            ])
        })
        .collect();
    causes.sort_by_key(ToString::to_string);
    let mut expect = row["causes"].as_array().cloned().unwrap_or_default();
    expect.sort_by_key(ToString::to_string);
    check("causes", &expect.into(), &causes.into());
    if let Some(message) = row.get("message") {
        check("message", message, &answer.body["message"]);
    }
    if let Some(spec) = row.get("spec") {
        check("spec", spec, &answer.body["spec"]);
    }
    let mut warnings: Vec<String> = answer
        .warnings()
        .into_iter()
        .filter_map(|warning| warning.strip_prefix("299 - \"")?.strip_suffix('"'))
        .map(|warning| warning.replace("\\\"", "\""))
        .collect();
    warnings.sort_unstable();
    let expect = row.get("warnings").cloned().unwrap_or_else(|| json!([]));
    check("warnings", &expect, &warnings.into());
    (!found.is_empty()).then(|| format!("{}:{found}\n", text(&row["send"])))
}

/// Sends the bodies of a table, one after the other, each as `ask` makes a request of it.
async fn check(server: &Server, rows: &str, ask: impl Fn(&Value, String) -> Ask) {
    let mut wrong = String::new();
    let mut count = 0;
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let ask = ask(&row, text(&row["send"]).to_owned());
        if let Some(difference) = difference(&row, &server.ask(ask).await) {
            wrong.push_str(&difference);
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "of {count} rows differ:\n{wrong}");
}

/// A namespace, and a definition whose objects are at `path`.
async fn define(server: &Server, definition: String, path: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}});
    server.ok(Ask::json("POST /api/v1/namespaces", &namespace)).await;
    server
        .ok(Ask::new(format!("POST {CRDS}")).typed("application/json", definition))
        .await;
    while server.ask(format!("GET {path}")).await.code != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn definitions() {
    let server = Server::start().await;
    check(&server, include_str!("upstream/definitions.jsonl"), |_, body| {
        Ask::new(format!("POST {CRDS}?dryRun=All&fieldValidation=Strict")).typed("application/json", body)
    })
    .await;
}

#[tokio::test]
async fn objects() {
    let server = Server::start().await;
    define(&server, include_str!("upstream/wide.json").to_owned(), WIDES).await;
    check(&server, include_str!("upstream/objects.jsonl"), |row, body| {
        let strict = if row["strict"] == true {
            "&fieldValidation=Strict"
        } else {
            ""
        };
        Ask::new(format!("POST {WIDES}?dryRun=All{strict}")).typed("application/json", body)
    })
    .await;
}

/// Changes of an object that was let in by a definition which has become stricter since (KEP-4008).
#[tokio::test]
async fn ratchets() {
    let server = Server::start().await;
    let setup: Value = serde_json::from_str(include_str!("upstream/ratchet.json")).unwrap();
    define(&server, setup["definition"].to_string(), RATCHETS).await;
    server
        .ok(Ask::json(format!("POST {RATCHETS}"), &setup["object"]))
        .await;
    let stricter = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": setup["schema"]}]);
    server
        .ok(Ask::new(format!("PATCH {CRDS}/ratchets.e.com"))
            .typed("application/json-patch+json", stricter.to_string()))
        .await;
    // The new schema has a default that the old one lacks.
    while server.ok(format!("GET {RATCHETS}/r")).await["spec"]["new"].is_null() {
        tokio::task::yield_now().await;
    }
    check(&server, include_str!("upstream/ratchets.jsonl"), |_, body| {
        Ask::new(format!("PATCH {RATCHETS}/r?dryRun=All")).typed("application/merge-patch+json", body)
    })
    .await;
}
