//! What is added to every request on its way out, as tower layers: identity, user agent, impersonation, credentials.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use kubewright_net::{Body, BoxError, HttpService, Identity, TransportError};
use tower_layer::Layer;

use crate::auth::{AuthError, Authenticator};
use crate::call::Call;
use crate::error::Error;

/// Sets the [`Identity`] extension that a server in this process trusts.
#[derive(Debug, Clone)]
pub struct IdentityLayer(Identity);

impl IdentityLayer {
    /// Acts as `identity`.
    pub fn new(identity: Identity) -> Self {
        Self(identity)
    }
}

impl Layer<HttpService> for IdentityLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let identity = self.0.clone();
        HttpService::from_fn(move |mut request| {
            request.extensions_mut().insert(identity.clone());
            inner.send(request)
        })
    }
}

/// Sets the `User-Agent` header where there is none.
#[derive(Debug, Clone)]
pub struct UserAgentLayer(HeaderValue);

impl UserAgentLayer {
    /// Calls the client `agent`.
    ///
    /// # Errors
    ///
    /// The name holds characters that a header may not hold.
    pub fn new(agent: &str) -> Result<Self, http::Error> {
        Ok(Self(HeaderValue::from_str(agent)?))
    }
}

impl Layer<HttpService> for UserAgentLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let agent = self.0.clone();
        HttpService::from_fn(move |mut request| {
            request
                .headers_mut()
                .entry(header::USER_AGENT)
                .or_insert_with(|| agent.clone());
            inner.send(request)
        })
    }
}

/// As whom to act instead of oneself; the server checks the right to do so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// The user. Needed for any of the others.
    pub user: String,
    /// The uid. Default: none.
    pub uid: Option<String>,
    /// The groups. Default: none.
    pub groups: Vec<String>,
    /// Further attributes. Default: none.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Sets the `Impersonate-*` headers, unless the request has some already.
#[derive(Debug, Clone)]
pub struct ImpersonationLayer(HeaderMap);

impl ImpersonationLayer {
    /// Acts as described. Keys of `extra` are percent-encoded, as client-go's `transport/round_trippers.go`.
    ///
    /// # Errors
    ///
    /// A value holds characters that a header may not hold.
    pub fn new(impersonation: &Impersonation) -> Result<Self, http::Error> {
        let mut headers = HeaderMap::new();
        headers.insert(USER, HeaderValue::from_str(&impersonation.user)?);
        if let Some(uid) = &impersonation.uid {
            headers.insert(UID, HeaderValue::from_str(uid)?);
        }
        for group in &impersonation.groups {
            headers.append(GROUP, HeaderValue::from_str(group)?);
        }
        for (key, values) in &impersonation.extra {
            let name: HeaderName = format!("impersonate-extra-{}", escape(key)).parse()?;
            for value in values {
                headers.append(name.clone(), HeaderValue::from_str(value)?);
            }
        }
        Ok(Self(headers))
    }
}

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");

impl Layer<HttpService> for ImpersonationLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let impersonation = self.0.clone();
        HttpService::from_fn(move |mut request| {
            if !request.headers().contains_key(USER) {
                for (name, value) in &impersonation {
                    request.headers_mut().append(name, value.clone());
                }
            }
            inner.send(request)
        })
    }
}

/// Percent-encodes what may not stand in a header name, and `%` itself; upper case is encoded too, since header names
/// lose it.
fn escape(key: &str) -> String {
    let mut escaped = String::new();
    for byte in key.bytes() {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$&'*+-.^_`|~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Adds credentials. A request that is answered with 401 is sent once more if it can be and newer credentials are to be
/// had: the server has not acted on it.
#[derive(Debug, Clone)]
pub(crate) struct AuthLayer(pub(crate) Arc<Authenticator>);

impl Layer<HttpService> for AuthLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let authenticator = Arc::clone(&self.0);
        HttpService::from_fn(move |request| {
            let (authenticator, inner) = (Arc::clone(&authenticator), inner.clone());
            async move { authenticated(&authenticator, &inner, request).await }
        })
    }
}

async fn authenticated(
    authenticator: &Authenticator,
    inner: &HttpService,
    mut request: Request<Body>,
) -> Result<http::Response<Body>, TransportError> {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return inner.send(request).await;
    }
    let copy = request.body().as_bytes().map(|body| {
        let mut copy = Request::new(Body::from(body.clone()));
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        copy
    });
    let used = authenticator.authorize().await.map_err(failed)?;
    let response = used.send(inner, &mut request).await?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    authenticator.reject(&used);
    let Some(mut copy) = copy else { return Ok(response) };
    match authenticator.authorize().await {
        Ok(fresh) if fresh != used => fresh.send(inner, &mut copy).await,
        _ => Ok(response),
    }
}

/// Carries an [`AuthError`] through the transport's error type.
fn failed(error: AuthError) -> TransportError {
    TransportError::other("authenticating", CredentialsFailure(error))
}

#[derive(Debug)]
struct CredentialsFailure(AuthError);

impl fmt::Display for CredentialsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for CredentialsFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

pub(crate) fn error_from_layers(call: &Call, error: TransportError) -> Error {
    match error {
        TransportError::Other { source, .. } if source.is::<CredentialsFailure>() => {
            let source: BoxError = match source.downcast::<CredentialsFailure>() {
                Ok(failure) => failure.0.into(),
                Err(other) => other,
            };
            Error::Credentials {
                call: call.clone(),
                source,
            }
        }
        source => Error::Transport {
            call: call.clone(),
            source,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_keys_are_escaped() {
        let rows = [
            ("scopes", "scopes"),
            ("example.com/Team", "example.com%2F%54eam"),
            ("a%b", "a%25b"),
        ];
        for (key, expect) in rows {
            assert_eq!(escape(key), expect);
        }
    }
}
