//! Reviews: questions that are posted and answered at once, and never stored.
//!
//! Who am I, may I, may somebody else, is this token good (groups `authentication.k8s.io` and `authorization.k8s.io`). The answers are
//! those of the server's own authenticator and authorizer.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{GroupKind, Status};
use kubewright_net::{Body, Identity};
use serde_json::{Map, Value, json};

use super::Call;
use super::response::Rendering;
use super::write::{self, Written};
use crate::authorization::{Access, Attempt, Decision};
use crate::builtin::validation::groups::authorization::{self, Asks};
use crate::error::ApiResult;

/// Answers the review in the body.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = write::options(call)?;
    let review = write::read(call, body, &options)?;
    let mut review = call.own(&call.owners(&options), review).await?;
    let spec = review.get("spec").cloned().unwrap_or_default();
    let status = match call.resource.kind.as_str() {
        "SelfSubjectReview" => {
            review["metadata"]["creationTimestamp"] = call.server.now().to_string().into();
            json!({"userInfo": user_info(&call.identity)})
        }
        "TokenReview" => token(call, &spec).await?,
        "SelfSubjectRulesReview" => {
            // The answer is another object.
            review["metadata"] = json!({});
            review["spec"] = json!({});
            rules(call, &spec).await?
        }
        "SelfSubjectAccessReview" => {
            check(&review, Asks::Oneself)?;
            access(call, &call.identity, &spec).await?
        }
        "SubjectAccessReview" => {
            check(&review, Asks::Anyone)?;
            access(call, &subject(&spec), &spec).await?
        }
        "LocalSubjectAccessReview" => {
            check(&review, Asks::AnyoneHere)?;
            access(call, &subject(&spec), &spec).await?
        }
        _ => return Err(Status::method_not_allowed(&call.group_resource(), "create").into()),
    };
    review["status"] = status;
    let shown = Written::Shown(review);
    write::answer(call, &rendering, StatusCode::CREATED, &shown).await
}

fn user_info(identity: &Identity) -> Value {
    let mut info = Map::new();
    info.insert("username".into(), identity.user.as_str().into());
    if !identity.uid.is_empty() {
        info.insert("uid".into(), identity.uid.as_str().into());
    }
    if !identity.groups.is_empty() {
        info.insert("groups".into(), json!(identity.groups));
    }
    if !identity.extra.is_empty() {
        info.insert("extra".into(), json!(identity.extra));
    }
    Value::Object(info)
}

/// Whether a token holds for the audiences that are asked about, and who bears it (pkg/registry/authentication/tokenreview).
async fn token(call: &Call<'_>, spec: &Value) -> ApiResult<Value> {
    let token = spec["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication").into());
    }
    let server = call.server;
    let asked: Vec<String> = spec["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|audience| audience.as_str().map(str::to_owned))
        .collect();
    let audiences = match asked.as_slice() {
        [] => server.service_accounts.audiences(),
        asked => asked,
    };
    Ok(
        match server.authenticator.by_token(server, token, audiences).await {
            Ok(bearer) => {
                call.warnings
                    .add(bearer.warning.map(str::to_owned).into_iter().collect());
                json!({
                    "authenticated": true,
                    "user": user_info(&bearer.identity),
                    "audiences": bearer.audiences,
                })
            }
            Err(error) => json!({"user": {}, "error": error}),
        },
    )
}

async fn rules(call: &Call<'_>, spec: &Value) -> ApiResult<Value> {
    let namespace = spec["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request").into());
    }
    Ok(call.server.rules().await?.review(&call.identity, namespace))
}

/// Checks a review of access. Upstream names no kind in the answer, since the decoded review has none.
///
/// # Errors
/// 422 with all that is wrong.
fn check(review: &Value, asks: Asks) -> ApiResult<()> {
    match authorization::access_review(review, asks) {
        errors if errors.is_empty() => Ok(()),
        errors => Err(Status::invalid(&GroupKind::new("authorization.k8s.io", ""), "", &errors).into()),
    }
}

async fn access(call: &Call<'_>, who: &Identity, spec: &Value) -> ApiResult<Value> {
    Ok(match call.server.rules().await?.decide(who, &asked(spec)) {
        Decision::Allowed(None) => json!({"allowed": true}),
        Decision::Allowed(Some(source)) => {
            json!({"allowed": true, "reason": format!("RBAC: allowed by {source}")})
        }
        Decision::Refused(reason) if reason.is_empty() => json!({"allowed": false}),
        Decision::Refused(reason) => json!({"allowed": false, "reason": reason}),
    })
}

/// What a review asks about.
fn asked(spec: &Value) -> Access<'_> {
    match (spec.get("resourceAttributes"), spec.get("nonResourceAttributes")) {
        (None | Some(Value::Null), Some(attributes)) => Access::Path {
            verb: attributes["verb"].as_str().unwrap_or_default(),
            path: attributes["path"].as_str().unwrap_or_default(),
        },
        (attributes, _) => {
            let text = |field: &str| {
                let value = attributes.and_then(|attributes| attributes.get(field));
                value.and_then(Value::as_str).unwrap_or_default()
            };
            Access::Resource(Attempt {
                verb: text("verb"),
                group: text("group"),
                resource: text("resource"),
                subresource: text("subresource"),
                namespace: Some(text("namespace")).filter(|namespace| !namespace.is_empty()),
                name: text("name"),
            })
        }
    }
}

/// The user that a review asks about.
fn subject(spec: &Value) -> Identity {
    let texts = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    let user = spec["user"].as_str().unwrap_or_default().to_owned();
    let groups = texts(&spec["groups"]);
    let extra: BTreeMap<String, Vec<String>> = spec["extra"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, values)| (key.clone(), texts(values)))
        .collect();
    Identity {
        user,
        uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
        groups,
        extra,
    }
}
