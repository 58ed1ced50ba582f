//! `AdmissionReview`: what a webhook is asked, and what its answer says (apiserver pkg/admission/plugin/webhook/request,
//! pkg/admission/plugin/webhook/errors).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_core::{
    AdmissionRequest, AdmissionResponse, AdmissionReview, GroupVersionKind, GroupVersionResource, Status,
    UserInfo,
};
use serde::Deserialize;
use serde_json::Value;

use super::attributes::Attributes;
use super::hook::Invocation;
use super::hooks::Kind;
use crate::json;
use crate::registry::Resource;

/// The text of a question.
pub(super) fn request(
    api_version: &str,
    uid: &str,
    attributes: &Attributes<'_>,
    invocation: &Invocation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Vec<u8> {
    let sent = match invocation {
        Invocation::Same => attributes.resource(),
        Invocation::As(other) => other,
    };
    let identity = &attributes.call.identity;
    let review = AdmissionReview {
        api_version: api_version.to_owned(),
        kind: AdmissionReview::KIND.to_owned(),
        request: Some(AdmissionRequest {
            uid: uid.to_owned(),
            kind: kind_of(attributes, invocation),
            resource: resource_of(sent),
            sub_resource: attributes.subresource().to_owned(),
            request_kind: Some(attributes.kind()),
            request_resource: Some(resource_of(attributes.resource())),
            request_sub_resource: attributes.subresource().to_owned(),
            name: attributes.name.clone(),
            namespace: attributes.namespace().to_owned(),
            operation: attributes.operation.as_str().to_owned(),
            user_info: UserInfo {
                username: identity.user.clone(),
                uid: identity.uid.clone(),
                groups: identity.groups.clone(),
                extra: identity.extra.clone(),
            },
            object: object.cloned().unwrap_or_default(),
            old_object: old.cloned().unwrap_or_default(),
            dry_run: Some(attributes.is_dry_run()),
            options: attributes.options(),
        }),
        response: None,
    };
    serde_json::to_vec(&review).unwrap_or_default()
}

/// The kind of the object as it is sent: a subresource with a kind of its own has it in every version.
fn kind_of(attributes: &Attributes<'_>, invocation: &Invocation) -> GroupVersionKind {
    match invocation {
        Invocation::As(other) if attributes.kind() == attributes.resource().gvk() => other.gvk(),
        _ => attributes.kind(),
    }
}

fn resource_of(resource: &Resource) -> GroupVersionResource {
    GroupVersionResource {
        group: resource.group.clone(),
        version: resource.version.clone(),
        resource: resource.plural.clone(),
    }
}

/// What a webhook answered.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    /// Why the request is refused, if it is.
    pub(super) refusal: Option<Option<Status>>,
    /// The patch of the object, read as JSON.
    pub(super) patch: Option<Value>,
    pub(super) warnings: Vec<String>,
}

/// Reads an answer.
///
/// # Errors
/// Why it is none.
pub(super) fn read(answer: &[u8], api_version: &str, uid: &str, kind: Kind) -> Result<Verdict, String> {
    let invalid = |why: String| format!("received invalid webhook response: {why}");
    let called = |why: String| format!("failed to call webhook: {why}");
    let answer = json::read(answer).map_err(called)?.value;
    let review = AdmissionReview::deserialize(answer).map_err(|error| called(error.to_string()))?;
    let is_v1 = api_version == V1;
    let response = review
        .response
        .ok_or_else(|| invalid("webhook response was absent".to_owned()))?;
    if is_v1 && response.uid != uid {
        return Err(invalid(format!(
            "expected response.uid={uid:?}, got {:?}",
            response.uid
        )));
    }
    if is_v1 && (review.api_version != V1 || review.kind != AdmissionReview::KIND) {
        let (group, version) = review
            .api_version
            .split_once('/')
            .unwrap_or(("", &review.api_version));
        return Err(invalid(format!(
            "expected webhook response of {V1}, Kind=AdmissionReview, got {group}/{version}, Kind={}",
            review.kind
        )));
    }
    let patch = patch_of(&response, is_v1, kind).map_err(invalid)?;
    let patch = patch.map(|patch| decode(&patch)).transpose()?;
    let AdmissionResponse {
        allowed,
        result,
        warnings,
        ..
    } = response;
    Ok(Verdict {
        refusal: (!allowed).then_some(result),
        // A patch of nothing is none.
        patch: patch.filter(|patch| patch.as_array().is_none_or(|operations| !operations.is_empty())),
        warnings: warnings.unwrap_or_default(),
    })
}

/// The patch in base64, if there is one.
fn patch_of(response: &AdmissionResponse, is_v1: bool, kind: Kind) -> Result<Option<String>, String> {
    let patch = response.patch.clone().filter(|patch| !patch.is_empty());
    match (kind, patch, &response.patch_type) {
        (Kind::Validating, Some(_), _) if is_v1 => {
            Err("validating webhook may not return response.patch".to_owned())
        }
        (Kind::Validating, _, Some(_)) if is_v1 => {
            Err("validating webhook may not return response.patchType".to_owned())
        }
        (Kind::Validating, ..) => Ok(None),
        (Kind::Mutating, Some(_), None) if is_v1 => {
            Err("webhook returned response.patch but not response.patchType".to_owned())
        }
        (Kind::Mutating, None, Some(_)) if is_v1 => {
            Err("webhook returned response.patchType but not response.patch".to_owned())
        }
        (Kind::Mutating, Some(_), Some(patch_type)) if is_v1 && patch_type != "JSONPatch" => {
            Err(match patch_type.is_empty() {
                true => format!("webhook returned invalid response.patchType of {patch_type:?}"),
                false => format!("unsupported patch type {patch_type:?}"),
            })
        }
        (Kind::Mutating, patch, _) => Ok(patch),
    }
}

fn decode(patch: &str) -> Result<Value, String> {
    let undecodable = |why: String| format!("received undecodable patch in webhook response: {why}");
    let text = STANDARD
        .decode(patch)
        .map_err(|error| undecodable(error.to_string()))?;
    let patch = json::read(&text).map_err(undecodable)?.value;
    if patch.is_array() || patch.is_null() {
        return Ok(patch);
    }
    Err(undecodable("it is no list of operations".to_owned()))
}

/// What the client of a refused request is told.
pub(super) fn denial(hook: &str, result: Option<Status>) -> Status {
    let mut status = result.unwrap_or_default();
    // A refusal with a code of success is none.
    status.code = status.code.max(400);
    if matches!(status.status.as_str(), "" | "Success") {
        status.status = "Failure".to_owned();
    }
    let denied = format!("admission webhook {hook:?} denied the request");
    let reason = status.reason.as_str().to_owned();
    status.message = match (status.message.as_str(), reason.as_str()) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    status
}

const V1: &str = "admission.k8s.io/v1";

#[cfg(test)]
mod tests {
    use kubewright_core::StatusReason;
    use serde_json::json;

    use super::*;

    fn answer(response: Value) -> Vec<u8> {
        json!({"apiVersion": V1, "kind": "AdmissionReview", "response": response})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn answers_and_what_is_wrong_with_them() {
        let patch = STANDARD.encode(r#"[{"op":"remove","path":"/a"}]"#);
        let nothing = STANDARD.encode("[]");
        for (kind, response, expect) in [
            (Kind::Mutating, json!({"uid": "u", "allowed": true}), Ok(None)),
            (
                Kind::Mutating,
                json!({"uid": "u", "allowed": true, "patch": patch, "patchType": "JSONPatch"}),
                Ok(Some(json!([{"op": "remove", "path": "/a"}]))),
            ),
            (
                Kind::Mutating,
                json!({"uid": "u", "allowed": true, "patch": nothing, "patchType": "JSONPatch"}),
                Ok(None),
            ),
            (
                Kind::Mutating,
                json!({"uid": "u", "allowed": true, "patch": patch}),
                Err("webhook returned response.patch but not response.patchType"),
            ),
            (
                Kind::Mutating,
                json!({"uid": "u", "allowed": true, "patchType": "JSONPatch"}),
                Err("webhook returned response.patchType but not response.patch"),
            ),
            (
                Kind::Mutating,
                json!({"uid": "u", "allowed": true, "patch": patch, "patchType": "Odd"}),
                Err("unsupported patch type \"Odd\""),
            ),
            (
                Kind::Mutating,
                json!({"uid": "u", "allowed": true, "patch": "?", "patchType": "JSONPatch"}),
                Err("received undecodable patch"),
            ),
            (
                Kind::Validating,
                json!({"uid": "u", "allowed": true, "patch": patch}),
                Err("validating webhook may not return response.patch"),
            ),
            (
                Kind::Validating,
                json!({"uid": "u", "allowed": true, "patchType": "JSONPatch"}),
                Err("validating webhook may not return response.patchType"),
            ),
            (
                Kind::Validating,
                json!({"uid": "v", "allowed": true}),
                Err("expected response.uid=\"u\", got \"v\""),
            ),
            (Kind::Validating, Value::Null, Err("webhook response was absent")),
        ] {
            let found = read(&answer(response.clone()), V1, "u", kind);
            match expect {
                Ok(patch) => assert_eq!(found.unwrap().patch, patch, "{response}"),
                Err(text) => assert!(found.unwrap_err().contains(text), "{response}"),
            }
        }
        let other = json!({"apiVersion": "v1", "kind": "Status", "response": {"uid": "u"}}).to_string();
        assert_eq!(
            read(other.as_bytes(), V1, "u", Kind::Validating).unwrap_err(),
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /v1, Kind=Status"
        );
        // The old version was never looked at so closely.
        let old = json!({"response": {"allowed": true, "patch": patch}}).to_string();
        let verdict = read(old.as_bytes(), "admission.k8s.io/v1beta1", "u", Kind::Mutating).unwrap();
        assert!(verdict.patch.is_some());
    }

    #[test]
    fn what_a_refused_client_is_told() {
        let status = |message: &str, reason: StatusReason, code: u16| {
            Some(Status {
                message: message.into(),
                reason,
                code,
                ..Status::default()
            })
        };
        for (result, code, text) in [
            (None, 400, "denied the request without explanation"),
            (status("", StatusReason::Unknown, 200), 400, "without explanation"),
            (
                status("no", StatusReason::Forbidden, 403),
                403,
                "denied the request: no",
            ),
            (
                status("", StatusReason::Forbidden, 0),
                400,
                "denied the request: Forbidden",
            ),
        ] {
            let denied = denial("a.b.c", result);
            assert_eq!((denied.code, denied.status.as_str()), (code, "Failure"));
            assert!(denied.message.ends_with(text), "{}", denied.message);
        }
    }
}
