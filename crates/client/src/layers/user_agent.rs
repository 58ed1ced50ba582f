//! What the client calls itself: [`UserAgentLayer`].

use http::{HeaderValue, header};
use kubewright_net::HttpService;
use tower_layer::Layer;

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
