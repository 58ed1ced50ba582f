//! Credentials on every request: [`AuthLayer`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use http::{Request, Response, StatusCode, header};
use kubewright_net::{Body, BoxError, HttpService, TransportError};
use tower_layer::Layer;

use super::replay;
use crate::auth::{AuthError, Authenticator, TokenFile};
use crate::call::Call;
use crate::config::ConfigError;
use crate::error::Error;

/// Adds credentials. A request that is answered with 401 is sent once more if it can be and newer credentials are to be
/// had: the server has not acted on it. A request that has an `Authorization` header already is left alone.
///
/// ```
/// # use kubewright_client::AuthLayer;
/// # use kubewright_net::{Body, HttpService};
/// # use tower_layer::Layer as _;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = HttpService::from_fn(|request| async move {
///     assert_eq!(request.headers()["authorization"], "Bearer secret");
///     Ok(http::Response::new(Body::empty()))
/// });
/// let service = AuthLayer::bearer("secret")?.layer(server);
/// service.send(http::Request::get("/version").body(Body::empty())?).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct AuthLayer(pub(crate) Arc<Authenticator>);

impl AuthLayer {
    /// A bearer token that never changes.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Credentials`] if the token holds characters that a header may not hold.
    pub fn bearer(token: &str) -> Result<Self, ConfigError> {
        Self::of(Authenticator::bearer(token))
    }

    /// A bearer token in a file that is read again every minute, and at once after an answer 401. Where that fails the old
    /// token stays in use (client-go `transport/token_source.go`).
    ///
    /// # Errors
    ///
    /// None now; a file that cannot be read fails the request.
    pub fn token_file(path: &Path) -> Result<Self, ConfigError> {
        Self::of(TokenFile::new(path, None).map(Authenticator::TokenFile))
    }

    /// User name and password.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Credentials`] if they cannot be sent in a header.
    pub fn basic(user: &str, password: &str) -> Result<Self, ConfigError> {
        Self::of(Authenticator::basic(user, password))
    }

    fn of(authenticator: Result<Authenticator, AuthError>) -> Result<Self, ConfigError> {
        match authenticator {
            Ok(authenticator) => Ok(Self(Arc::new(authenticator))),
            Err(source) => Err(ConfigError::Credentials {
                source: source.into(),
            }),
        }
    }
}

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
) -> Result<Response<Body>, TransportError> {
    if request.headers().contains_key(header::AUTHORIZATION) {
        return inner.send(request).await;
    }
    let copy = replay(&request);
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
