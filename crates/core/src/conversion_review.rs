//! `apiextensions.k8s.io` `ConversionReview`: how the server has a webhook turn custom resources from one version into another.
//!
//! Forms and rules are those of apiextensions-apiserver pkg/apis/apiextensions/v1/types.go.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Status;

/// A request for conversion, or the answer to one: the answer repeats `apiVersion` and `kind`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConversionReview {
    /// `apiextensions.k8s.io/v1`, or `v1beta1` where the webhook understands no other.
    pub api_version: String,
    /// `ConversionReview`.
    pub kind: String,
    /// What is to be converted: there in a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ConversionRequest>,
    /// What it became: there in an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ConversionResponse>,
}

/// What is to be converted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConversionRequest {
    /// Tells this request from others; the answer repeats it.
    pub uid: String,
    /// The version that all objects are to have, such as `example.com/v1`.
    #[serde(rename = "desiredAPIVersion")]
    pub desired_api_version: String,
    /// The objects, each in a version of its own.
    #[serde(deserialize_with = "crate::list::null_as_default")]
    pub objects: Vec<Value>,
}

/// What became of the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConversionResponse {
    /// The uid of the request.
    pub uid: String,
    /// The objects in the version that was asked for, in the order of the request. Only labels and annotations of their metadata may
    /// differ; the rest of it is passed over.
    #[serde(deserialize_with = "crate::list::null_as_default")]
    pub converted_objects: Vec<Value>,
    /// `Success`, or why there are no objects; the client is told its message.
    pub result: Status,
}

impl ConversionReview {
    /// The group of the kind.
    pub const GROUP: &'static str = "apiextensions.k8s.io";
    /// The kind.
    pub const KIND: &'static str = "ConversionReview";
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reviews_read_and_write_as_upstream_s() {
        let request = json!({
            "kind": "ConversionReview",
            "apiVersion": "apiextensions.k8s.io/v1",
            "request": {"uid": "u", "desiredAPIVersion": "a.io/v2", "objects": [{"apiVersion": "a.io/v1", "n": 9_007_199_254_740_993_u64}]},
        });
        let review: ConversionReview = serde_json::from_value(request.clone()).unwrap();
        assert_eq!(serde_json::to_value(&review).unwrap(), request);

        for (text, objects, status) in [
            (
                r#"{"response": {"uid": "u", "convertedObjects": null, "result": {"status": "Failed", "message": "no"}}}"#,
                0,
                "Failed",
            ),
            (
                r#"{"response": {"uid": "u", "convertedObjects": [{}], "result": {"metadata": {}, "status": "Success"}}}"#,
                1,
                "Success",
            ),
            (r#"{"response": {}, "more": 1}"#, 0, ""),
        ] {
            let review: ConversionReview = serde_json::from_str(text).unwrap();
            let response = review.response.unwrap();
            assert_eq!(response.converted_objects.len(), objects, "{text}");
            assert_eq!(response.result.status, status, "{text}");
        }
        let nothing: ConversionReview = serde_json::from_str("{}").unwrap();
        assert_eq!(nothing, ConversionReview::default());
    }
}
