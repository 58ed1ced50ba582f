//! Acting as somebody else: [`ImpersonationLayer`].

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use kubewright_net::HttpService;
use tower_layer::Layer;

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
