//! OpenAPI v2: a document that describes no kind.
//!
//! kubectl asks for it where the third version cannot help, above all for `kind: List`, and checks an object by it before sending:
//! kinds that it does not find there are let through (kubectl pkg/validation/schema.go), and the server checks them anyway. Without
//! any document it refuses to send them. What kinds look like is in the third version alone.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kubewright_kinds::KUBERNETES_MINOR;
use kubewright_net::Body;
use serde_json::json;

use crate::codec;
use crate::error::{ApiResult, json_response};
use crate::request::media::{accept_clauses, not_acceptable};

/// The document, in the first form that the client accepts.
///
/// # Errors
/// 406 for a client that takes neither protobuf nor JSON.
pub(super) fn respond(headers: &HeaderMap) -> ApiResult<Response<Body>> {
    for clause in accept_clauses(headers) {
        if clause.essence == PROTOBUF {
            let mut response = json_response(StatusCode::OK, protobuf());
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static(SENT_AS));
            return Ok(response);
        }
        if matches!(clause.essence, "application/json" | "*/*" | "application/*") {
            let document = json!({
                "swagger": "2.0",
                "info": {"title": TITLE, "version": version()},
                "paths": {},
                "definitions": {},
            });
            return Ok(json_response(StatusCode::OK, codec::to_json(&document)));
        }
    }
    Err(not_acceptable(&["application/json", PROTOBUF]))
}

/// The message `openapi.v2.Document` of gnostic: swagger (1), info (2) with title (1) and version (2), paths (8).
fn protobuf() -> Vec<u8> {
    let field = |tag: u8, content: &[u8]| {
        // All are shorter than 128 bytes, so one byte holds the length.
        debug_assert!(
            content.len() < 128,
            "{} bytes need a longer varint",
            content.len()
        );
        let mut bytes = vec![tag << 3 | 2, content.len() as u8];
        bytes.extend_from_slice(content);
        bytes
    };
    let info = [field(1, TITLE.as_bytes()), field(2, version().as_bytes())].concat();
    [field(1, b"2.0"), field(2, &info), field(8, &[])].concat()
}

fn version() -> String {
    format!("v1.{KUBERNETES_MINOR}.0+kubewright")
}

const TITLE: &str = "Kubernetes";
/// What clients ask for; it is no valid media type, so Go could not read it in an answer (kube-openapi pkg/handler).
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const SENT_AS: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
