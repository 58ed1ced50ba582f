//! Calls to webhooks: HTTPS requests of the server itself, to a URL or to a service of the cluster.
//!
//! Upstream: apiserver pkg/util/webhook/client.go. A webhook is whoever its configuration names; what it answers is bounded in time and
//! size, and checked by whoever called it.

mod error;
mod service;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use kubewright_core::Status;
use kubewright_net::{Body, ClientTls, ConnectOptions, HttpService, ServerVerification, connect, tls};
use parking_lot::Mutex;
use rustls::crypto::CryptoProvider;
use serde::Deserialize;

pub(crate) use error::WebhookError;
use error::chain;

use crate::server::Server;

/// Where a webhook is (`WebhookClientConfig` of `apiextensions.k8s.io/v1` and `admissionregistration.k8s.io/v1`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientConfig {
    url: Option<String>,
    service: Option<ServiceReference>,
    /// PEM in base64: who vouches for the webhook. It may be the webhook's own certificate. None means the system's authorities.
    ca_bundle: Option<String>,
}

/// A service of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ServiceReference {
    namespace: String,
    name: String,
    path: Option<String>,
    port: Option<u16>,
}

impl ServiceReference {
    fn port(&self) -> u16 {
        self.port.unwrap_or(443)
    }

    /// The name that the webhook's certificate is for.
    fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// A webhook, and the connections to it.
pub(crate) struct Webhook {
    config: ClientConfig,
    /// How long a call may take.
    timeout: Duration,
    /// Made by the first call.
    connections: Mutex<Option<HttpService>>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook")
            .field("config", &self.config)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that is given `timeout` for each answer. Nothing is connected yet.
    pub(crate) fn new(config: ClientConfig, timeout: Duration) -> Self {
        Self {
            config,
            timeout,
            connections: Mutex::new(None),
        }
    }

    /// Posts a JSON text and gives the text of the answer.
    ///
    /// # Errors
    /// Where the webhook is not reached, does not answer in time, answers with more than [`MAX_ANSWER_BYTES`], or with a code that means a
    /// failure.
    pub(crate) async fn post(&self, server: &Server, body: Bytes) -> Result<Bytes, WebhookError> {
        let url = self.shown_url();
        let failed = |why: String| WebhookError::Call {
            url: url.clone(),
            why,
        };
        match tokio::time::timeout(self.timeout, self.exchange(server, body)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Failure::Unreached(why))) => Err(failed(why)),
            Ok(Err(Failure::Answered(why))) => Err(WebhookError::Answer(why)),
            // As Go says it, which people search for.
            Err(_) => Err(failed("context deadline exceeded".to_owned())),
        }
    }

    async fn exchange(&self, server: &Server, body: Bytes) -> Result<Bytes, Failure> {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri(server).await?;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, */*"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if let Some(service) = &self.config.service
            && let Ok(host) = HeaderValue::try_from(format!("{}:{}", service.host(), service.port()))
        {
            headers.insert(header::HOST, host);
        }
        let connections = self.connections(server)?;
        let response = connections
            .send(request)
            .await
            .map_err(|error| Failure::Unreached(chain(&error)))?;
        let (head, body) = response.into_parts();
        let body = body
            .collect_limited(MAX_ANSWER_BYTES)
            .await
            .map_err(|error| Failure::Unreached(chain(&error)))?;
        if head.status.is_success() {
            return Ok(body);
        }
        Err(Failure::Answered(refusal(&Response::from_parts(head, body))))
    }

    /// Where to connect to now: services are looked up each time.
    async fn uri(&self, server: &Server) -> Result<Uri, Failure> {
        let timeout = self.timeout.as_secs();
        let text = match (&self.config.url, &self.config.service) {
            (Some(url), _) => format!("{url}?timeout={timeout}s"),
            (None, Some(reference)) => {
                let address = service::resolve(server.storage(), reference)
                    .await
                    .map_err(Failure::Unreached)?;
                let path = reference.path.as_deref().unwrap_or("/");
                format!(
                    "https://{address}/{}?timeout={timeout}s",
                    path.strip_prefix('/').unwrap_or(path)
                )
            }
            (None, None) => {
                return Err(Failure::Unreached(
                    "the configuration names neither a URL nor a service".to_owned(),
                ));
            }
        };
        parse_url(&text).map_err(|why| Failure::Unreached(format!("{text:?} is no URL: {why}")))
    }

    fn connections(&self, server: &Server) -> Result<HttpService, Failure> {
        let mut kept = self.connections.lock();
        if let Some(connections) = &*kept {
            return Ok(connections.clone());
        }
        let made = self
            .connect(server.options.crypto.clone())
            .map_err(Failure::Unreached)?;
        Ok(kept.insert(made).clone())
    }

    fn connect(&self, provider: Option<Arc<CryptoProvider>>) -> Result<HttpService, String> {
        let provider = provider
            .or_else(|| CryptoProvider::get_default().cloned())
            .ok_or("this server was given no cryptography to call webhooks with (Options::crypto)")?;
        let bundle = self.config.ca_bundle.as_deref().unwrap_or_default();
        let bundle = STANDARD
            .decode(bundle)
            .map_err(|error| format!("the CA bundle is no base64: {error}"))?;
        let tls = ClientTls {
            verification: if bundle.trim_ascii().is_empty() {
                ServerVerification::System
            } else {
                ServerVerification::Bundle(bundle)
            },
            certificate: None,
        };
        connect(ConnectOptions {
            tls: Some(tls::client_config(&tls, provider).map_err(|error| chain(&error))?),
            server_name: self.config.service.as_ref().map(ServiceReference::host),
            ..ConnectOptions::default()
        })
        .map_err(|error| chain(&error))
    }

    /// The URL as messages have it.
    fn shown_url(&self) -> String {
        let base = match (&self.config.url, &self.config.service) {
            (Some(url), _) => url.clone(),
            (None, Some(service)) => format!(
                "https://{}:{}{}",
                service.host(),
                service.port(),
                service.path.as_deref().unwrap_or("/")
            ),
            (None, None) => String::new(),
        };
        format!("{base}?timeout={}s", self.timeout.as_secs())
    }
}

/// Why there is no answer to use.
enum Failure {
    /// There is none.
    Unreached(String),
    /// There is one, which says why not.
    Answered(String),
}

/// What an answer with a code of failure says (client-go rest/request.go `transformResponse`, apimachinery pkg/api/errors/errors.go
/// `NewGenericServerResponse`).
fn refusal(response: &Response<Bytes>) -> String {
    let body = response.body();
    if let Ok(status) = serde_json::from_slice::<Status>(body)
        && status.kind == "Status"
        && status.status == "Failure"
        && !status.message.is_empty()
    {
        return status.message;
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
    let text = text.trim();
    match response.status().as_u16() {
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 if text.is_empty() => "unknown".to_owned(),
        403 => text.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        413 => "the request is too large".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".to_owned(),
        500.. => {
            let text = if text.is_empty() { "unknown" } else { text };
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        code => format!("the server responded with the status code {code} but did not return more information"),
    }
}

/// The largest answer that is read: 16 MiB. What a webhook is sent is a quarter of that at most, but for a single object that is larger.
pub(crate) const MAX_ANSWER_BYTES: usize = 16 << 20;
/// How much of an answer that tells of a failure is passed on.
const SHOWN_BYTES: usize = 2048;
const USER_AGENT: &str = concat!("kubewright-apiserver/", env!("CARGO_PKG_VERSION"));

/// A URL with a port that is one: the library reads what is none as no port, and the request would go to another.
fn parse_url(text: &str) -> Result<Uri, String> {
    let uri: Uri = text
        .parse()
        .map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // None behind the colon is the scheme's, as for Go.
    let authority = authority.strip_suffix(':').unwrap_or(authority);
    match uri.port().is_some() || authority.ends_with(uri.host().unwrap_or_default()) {
        true => Ok(uri),
        false => Err("its port is no number up to 65535".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_code_of_failure_says() {
        for (code, body, expect) in [
            (404, "", "the server could not find the requested resource"),
            (
                500,
                "",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                502,
                " oh\n",
                "an error on the server (\"oh\") has prevented the request from succeeding",
            ),
            (403, "no", "no"),
            (
                418,
                "tea",
                "the server responded with the status code 418 but did not return more information",
            ),
            (
                500,
                r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not today"}"#,
                "not today",
            ),
        ] {
            let response = Response::builder().status(code).body(Bytes::from(body)).unwrap();
            assert_eq!(refusal(&response), expect, "{code} {body}");
        }
        let long = Response::builder()
            .status(403)
            .body(Bytes::from("x".repeat(1 << 20)))
            .unwrap();
        assert_eq!(refusal(&long).len(), SHOWN_BYTES);
    }

    #[test]
    fn where_messages_say_it_is() {
        let url = |config: &str| {
            let config = serde_json::from_str(config).unwrap();
            Webhook::new(config, Duration::from_secs(30)).shown_url()
        };
        for (config, expect) in [
            (
                r#"{"url": "https://a.io/convert"}"#,
                "https://a.io/convert?timeout=30s",
            ),
            (
                r#"{"service": {"namespace": "n", "name": "s"}}"#,
                "https://s.n.svc:443/?timeout=30s",
            ),
            (
                r#"{"service": {"namespace": "n", "name": "s", "path": "/a//b", "port": 8443}, "caBundle": null}"#,
                "https://s.n.svc:8443/a//b?timeout=30s",
            ),
        ] {
            assert_eq!(url(config), expect);
        }
    }

    #[test]
    fn ports_of_urls() {
        for (text, expect) in [
            ("https://a.io/x", Ok(None)),
            ("https://[::1]/x", Ok(None)),
            ("https://[::1]:8443/x", Ok(Some(8443))),
            ("https://user@a.io:1/", Ok(Some(1))),
            (
                "https://127.0.0.1:99999/",
                Err("its port is no number up to 65535"),
            ),
            ("https://127.0.0.1:/", Ok(None)),
        ] {
            let found = parse_url(text).map(|uri| uri.port_u16());
            assert_eq!(found, expect.map_err(str::to_owned), "{text}");
        }
    }
}
