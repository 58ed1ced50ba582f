//! What others check tokens by: OpenID Connect Discovery (kubernetes pkg/serviceaccount/openidmetadata.go, pkg/routes/openidmetadata.go).

use std::net::SocketAddr;

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_net::Body;
use serde_json::{Value, json};

use super::ServiceAccounts;
use crate::error::json_response;

/// Where the description of the issuer is.
const CONFIGURATION: &str = "/.well-known/openid-configuration";
/// Where its keys are.
const KEYS: &str = "/openid/v1/jwks";

impl ServiceAccounts {
    /// The answer to a path of OpenID Connect Discovery; `None` for another path, and for all where the issuer is none in the sense
    /// of that specification: an https URL without query and fragment. `address` is where this server is reached.
    pub(crate) fn respond(&self, path: &str, address: SocketAddr) -> Option<Response<Body>> {
        if !matches!(path, CONFIGURATION | KEYS) {
            return None;
        }
        let issuer = self.issuer();
        let is_url = issuer.starts_with("https://") && !issuer.contains(['?', '#']);
        let keys = self.keys().ok().filter(|_| is_url)?;
        let (body, media_type) = if path == KEYS {
            let keys: Vec<Value> = keys.public.iter().map(|key| key.to_jwk()).collect();
            (json!({"keys": keys}), "application/jwk-set+json")
        } else {
            let mut algorithms: Vec<&str> = keys.public.iter().map(|key| key.algorithm()).collect();
            algorithms.sort_unstable();
            algorithms.dedup();
            let configuration = json!({
                "issuer": issuer,
                "jwks_uri": format!("https://{address}{KEYS}"),
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": algorithms,
            });
            (configuration, "application/json")
        };
        let mut response = json_response(StatusCode::OK, body.to_string());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(
            header::CACHE_CONTROL,
            HeaderValue::from_static("public, max-age=3600"),
        );
        Some(response)
    }
}
