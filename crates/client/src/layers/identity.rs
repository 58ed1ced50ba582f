//! Who a request in this process comes from: [`IdentityLayer`].

use kubewright_net::{HttpService, Identity};
use tower_layer::Layer;

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
