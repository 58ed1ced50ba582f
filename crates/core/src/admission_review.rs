//! `admission.k8s.io` `AdmissionReview`: how the server asks a webhook whether a request may pass, and what to change of its object.
//!
//! Forms are those of k8s.io/api admission/v1/types.go; `v1beta1` has the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{GroupVersionKind, GroupVersionResource, Status};

/// A question to an admission webhook, or its answer: that repeats `apiVersion` and `kind`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionReview {
    /// `admission.k8s.io/v1`, or `v1beta1` where the webhook understands no other.
    pub api_version: String,
    /// `AdmissionReview`.
    pub kind: String,
    /// What is asked: there in a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<AdmissionRequest>,
    /// What is decided: there in an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<AdmissionResponse>,
}

/// A request to the API server, as an admission webhook sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionRequest {
    /// Tells this call from others; the answer repeats it.
    pub uid: String,
    /// The kind of the object, in the version that the webhook asked for.
    pub kind: GroupVersionKind,
    /// The resource, likewise.
    pub resource: GroupVersionResource,
    /// The subresource; empty for the object itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_resource: String,
    /// The kind that the client sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_kind: Option<GroupVersionKind>,
    /// The resource that the client wrote to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_resource: Option<GroupVersionResource>,
    /// The subresource that the client wrote to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_sub_resource: String,
    /// The name of the object; empty where the server is to make one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace of the object; empty for one that is in none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// Who asks.
    pub user_info: UserInfo,
    /// The object as it is to become; null where there is none.
    pub object: Value,
    /// The object as it is; null where there is none.
    pub old_object: Value,
    /// Whether nothing will be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// The options of the request, such as `CreateOptions`.
    pub options: Value,
}

/// Who asks: `UserInfo` of `authentication.k8s.io/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserInfo {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// Unique among users of all times.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Further attributes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What a webhook decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionResponse {
    /// The uid of the request.
    pub uid: String,
    /// Whether the request may pass.
    pub allowed: bool,
    /// Why not, as the client is to be told.
    #[serde(rename = "status", skip_serializing_if = "Option::is_none")]
    pub result: Option<Status>,
    /// A patch of the object, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// `JSONPatch`, where there is a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<String>,
    /// Notes for the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_annotations: Option<BTreeMap<String, String>>,
    /// What the client is to be warned of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

impl AdmissionReview {
    /// The group of the kind.
    pub const GROUP: &'static str = "admission.k8s.io";
    /// The kind.
    pub const KIND: &'static str = "AdmissionReview";
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reviews_read_and_write_as_upstream_s() {
        let request = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": "u", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
                "requestKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                "requestResource": {"group": "apps", "version": "v1", "resource": "deployments"},
                "subResource": "status", "requestSubResource": "status",
                "name": "a", "namespace": "b", "operation": "UPDATE", "userInfo": {"username": "me", "groups": ["g"]},
                "object": {"kind": "Deployment"}, "oldObject": null, "dryRun": false, "options": null,
            },
        });
        let review: AdmissionReview = serde_json::from_value(request.clone()).unwrap();
        assert_eq!(serde_json::to_value(&review).unwrap(), request);
        let answer = r#"{"response": {"uid": "u", "allowed": true, "patch": "W10=", "patchType": "JSONPatch", "status": {"code": 403}, "warnings": null}}"#;
        let review: AdmissionReview = serde_json::from_str(answer).unwrap();
        let response = review.response.unwrap();
        assert!(response.allowed && response.warnings.is_none());
        assert_eq!(response.result.unwrap().code, 403);
    }
}
