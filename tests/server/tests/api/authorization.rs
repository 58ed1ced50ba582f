//! Who may do what by roles: what a kube-apiserver of 1.37 answered to the same requests in the same order.
//!
//! `upstream/authorization.jsonl` has a line for each: who asks, what, and the code, with the message of a refusal or the status of a
//! review. The roles that a cluster has by default are part of it, as are the ways in which somebody might come to more than they have. That server
//! decided by roles alone, so nodes are not among those who ask.

use std::collections::HashMap;

use kubewright_apiserver::{Authorization, Options};
use kubewright_core::go_json;
use kubewright_net::Identity;
use serde_json::{Value, json};

use crate::harness::*;

const RECORDED: &str = include_str!("upstream/authorization.jsonl");

#[tokio::test]
async fn as_upstream_decides() {
    let server = Server::with(Options {
        authorization: Authorization::Rbac,
        ..Options::default()
    })
    .await;
    let mut identities = HashMap::new();
    let (mut asked, mut wrong) = (0, Vec::new());
    for (number, line) in RECORDED
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#'))
    {
        let row: Value = serde_json::from_str(line).unwrap();
        if let Some(name) = row["identity"].as_str() {
            identities.insert(name.to_owned(), identity(name, &row));
            continue;
        }
        asked += 1;
        let who = row["as"].as_str().map(|name| identities[name].clone());
        let answer = Answer::read(server.send_as(who, request(&row)).await).await;
        let (found, expect) = (told(&row, &answer), expected(&row));
        if found != expect {
            wrong.push(format!(
                "line {}, {} {}:\n  upstream {expect}\n  here     {found}",
                number + 1,
                text(&row["as"]),
                text(&row["ask"])
            ));
        }
    }
    assert!(asked > 400, "only {asked} requests");
    assert!(
        wrong.is_empty(),
        "{} of {asked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn identity(name: &str, row: &Value) -> Identity {
    let groups = row["groups"].as_array().unwrap().iter().map(text);
    let mut identity = Identity::new(text(&row["user"]), groups.chain(["system:authenticated"]));
    identity.uid = format!("uid-{name}");
    identity
}

fn request(row: &Value) -> Ask {
    let mut ask = Ask::new(text(&row["ask"]));
    if let Some(body) = row.get("body") {
        let media_type = row["type"].as_str().unwrap_or("application/json");
        ask = ask.typed(media_type, body.to_string());
    }
    for (name, value) in row["headers"].as_object().into_iter().flatten() {
        ask = ask.header(name, text(value));
    }
    ask
}

/// What upstream answered.
fn expected(row: &Value) -> Value {
    let mut expect = json!({"code": row["code"]});
    for field in ["message", "status"] {
        if let Some(value) = row.get(field) {
            expect[field] = in_one_order(value.clone());
        }
    }
    expect
}

/// What this server answered, as far as upstream's answer was kept.
fn told(row: &Value, answer: &Answer) -> Value {
    let mut told = json!({"code": answer.code});
    if text(&row["ask"]).starts_with("HEAD ") {
        // The message would be the body, which is not sent.
        told["message"] = "".into();
    } else if answer.code >= 400 || row.get("message").is_some() {
        told["message"] = match answer.body["message"].as_str() {
            Some(message) => message.into(),
            None => String::from_utf8_lossy(&answer.bytes).into(),
        };
    }
    if row.get("status").is_some() && answer.code < 400 {
        told["status"] = in_one_order(answer.body["status"].clone());
    }
    told
}

/// Upstream keeps what is bound to somebody in no order.
fn in_one_order(mut status: Value) -> Value {
    for field in ["resourceRules", "nonResourceRules"] {
        if let Some(rules) = status.get_mut(field).and_then(Value::as_array_mut) {
            rules.sort_by_key(go_json);
        }
    }
    status
}
