//! The one service type in which client and server meet: [`HttpService`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower::{Service, ServiceExt};

use crate::body::Body;
use crate::error::TransportError;

/// What a call of an [`HttpService`] returns until the response has come.
pub type HttpFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, TransportError>> + Send>>;

/// A boxed service from a request to a response: a server in this process, or a connection pool to one elsewhere.
///
/// Cloning costs one reference count. It is always ready; whoever wraps a service with limits waits inside the call.
///
/// ```
/// use kubewright_net::{Body, HttpService};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let echo = HttpService::from_fn(|request| async move { Ok(http::Response::new(request.into_body())) });
/// let response = echo.send(http::Request::new(Body::from("hello"))).await?;
/// assert_eq!(response.into_body().collect_limited(100).await?, "hello");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct HttpService(Arc<dyn Call>);

trait Call: Send + Sync {
    fn call(&self, request: Request<Body>) -> HttpFuture;
}

impl HttpService {
    /// Boxes a tower service. Each call works on a clone of it, once that clone is ready.
    pub fn new<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
        S::Error: Into<TransportError> + Send,
        S::Future: Send,
    {
        struct Tower<S>(S);
        impl<S> Call for Tower<S>
        where
            S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + Sync + 'static,
            S::Error: Into<TransportError> + Send,
            S::Future: Send,
        {
            fn call(&self, request: Request<Body>) -> HttpFuture {
                let response = self.0.clone().oneshot(request);
                Box::pin(async move { response.await.map_err(Into::into) })
            }
        }
        Self(Arc::new(Tower(service)))
    }

    /// Boxes an async function.
    pub fn from_fn<F, Fut>(function: F) -> Self
    where
        F: Fn(Request<Body>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Body>, TransportError>> + Send + 'static,
    {
        struct Function<F>(F);
        impl<F, Fut> Call for Function<F>
        where
            F: Fn(Request<Body>) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<Response<Body>, TransportError>> + Send + 'static,
        {
            fn call(&self, request: Request<Body>) -> HttpFuture {
                Box::pin((self.0)(request))
            }
        }
        Self(Arc::new(Function(function)))
    }

    /// Sends one request. The same as [`Service::call`], for callers that hold the service by reference.
    pub fn send(&self, request: Request<Body>) -> HttpFuture {
        self.0.call(request)
    }
}

impl Service<Request<Body>> for HttpService {
    type Response = Response<Body>;
    type Error = TransportError;
    type Future = HttpFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> HttpFuture {
        self.0.call(request)
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpService")
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test]
    async fn boxes_tower_services_and_functions() {
        let tower = HttpService::new(tower::service_fn(|request: Request<Body>| async move {
            Ok::<_, Infallible>(Response::new(Body::from(request.uri().path().to_owned())))
        }));
        let function = HttpService::from_fn(|_| async { Err(TransportError::closed("testing")) });
        let request = || Request::builder().uri("/x").body(Body::empty()).unwrap();
        let response = tower.clone().oneshot(request()).await.unwrap();
        assert_eq!(response.into_body().collect_limited(9).await.unwrap(), "/x");
        assert!(function.send(request()).await.unwrap_err().is_closed());
    }
}
