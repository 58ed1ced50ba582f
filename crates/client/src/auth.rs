//! Where credentials come from and how long they last: tokens, token files and plugins.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use http::{HeaderValue, Request, Response, header};
use kubewright_net::{Body, BoxError, HttpService, TransportError};
use tokio::time::Instant;

use crate::exec::ExecPlugin;

/// How often a token file is read again: every minute, less 10 s so that a token is never used in its last moments
/// (client-go `transport/token_source.go`).
const TOKEN_FILE_PERIOD: Duration = Duration::from_secs(50);

/// A source of credentials.
pub(crate) enum Authenticator {
    /// The same for ever: a bearer token or a user name with password.
    Fixed(HeaderValue),
    /// A file that is replaced from time to time, as those of service accounts are.
    TokenFile(TokenFile),
    /// A program.
    Exec(Box<ExecPlugin>),
}

/// Credentials for one request.
#[derive(Clone)]
pub(crate) struct Authorization {
    pub(crate) header: Option<HeaderValue>,
    /// Connections that present the client certificate that belongs to these credentials, where there is one.
    pub(crate) connections: Option<HttpService>,
    /// Which credentials these are, among those of one source.
    pub(crate) generation: u64,
    /// When they were asked for.
    pub(crate) since: Instant,
}

impl PartialEq for Authorization {
    fn eq(&self, other: &Self) -> bool {
        self.generation == other.generation && self.header == other.header
    }
}

impl Authorization {
    pub(crate) async fn send(
        &self,
        default: &HttpService,
        request: &mut Request<Body>,
    ) -> Result<Response<Body>, TransportError> {
        let mut request = std::mem::take(request);
        if let Some(header) = &self.header {
            request
                .headers_mut()
                .insert(header::AUTHORIZATION, header.clone());
        }
        self.connections.as_ref().unwrap_or(default).send(request).await
    }
}

impl Authenticator {
    pub(crate) fn bearer(token: &str) -> Result<Self, AuthError> {
        Ok(Self::Fixed(bearer(token)?))
    }

    pub(crate) fn basic(username: &str, password: &str) -> Result<Self, AuthError> {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"));
        let mut value = HeaderValue::from_str(&format!("Basic {pair}")).map_err(|_| AuthError::Malformed)?;
        value.set_sensitive(true);
        Ok(Self::Fixed(value))
    }

    pub(crate) async fn authorize(&self) -> Result<Authorization, AuthError> {
        match self {
            Self::Fixed(header) => Ok(Authorization {
                header: Some(header.clone()),
                connections: None,
                generation: 0,
                since: Instant::now(),
            }),
            Self::TokenFile(file) => file.authorize(),
            Self::Exec(plugin) => plugin.authorize().await,
        }
    }

    /// The server did not accept these.
    pub(crate) fn reject(&self, used: &Authorization) {
        match self {
            Self::Fixed(_) => {}
            Self::TokenFile(file) => file.reject(used),
            Self::Exec(plugin) => plugin.reject(used),
        }
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed(_) => "Fixed",
            Self::TokenFile(_) => "TokenFile",
            Self::Exec(_) => "Exec",
        })
    }
}

pub(crate) fn bearer(token: &str) -> Result<HeaderValue, AuthError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| AuthError::Malformed)?;
    value.set_sensitive(true);
    Ok(value)
}

/// A bearer token in a file, read anew every [`TOKEN_FILE_PERIOD`]. If that fails, the old one goes on being used.
pub(crate) struct TokenFile {
    path: PathBuf,
    cached: Mutex<Option<CachedToken>>,
}

struct CachedToken {
    header: HeaderValue,
    /// `None` for a token that did not come from the file and only bridges the time until it can be read.
    read: Option<Instant>,
}

impl TokenFile {
    /// Reads `path`; `initial` serves until that works.
    pub(crate) fn new(path: impl Into<PathBuf>, initial: Option<&str>) -> Result<Self, AuthError> {
        let initial = initial
            .map(bearer)
            .transpose()?
            .map(|header| CachedToken { header, read: None });
        Ok(Self {
            path: path.into(),
            cached: Mutex::new(initial),
        })
    }

    fn authorize(&self) -> Result<Authorization, AuthError> {
        let now = Instant::now();
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |token: &CachedToken| token.read.is_some_and(|read| now < read + TOKEN_FILE_PERIOD);
        if !cached.as_ref().is_some_and(fresh) {
            match (read_token(&self.path), cached.is_some()) {
                (Ok(header), _) => {
                    *cached = Some(CachedToken {
                        header,
                        read: Some(now),
                    })
                }
                (Err(error), false) => return Err(error),
                (Err(error), true) => tracing::warn!(
                    path = %self.path.display(),
                    error = &error as &dyn std::error::Error,
                    "token file could not be read, the old token stays in use"
                ),
            }
        }
        let header = cached.as_ref().map(|token| token.header.clone());
        Ok(Authorization {
            header,
            connections: None,
            generation: 0,
            since: now,
        })
    }

    /// Forgets the token unless it was read after the request had been made.
    fn reject(&self, used: &Authorization) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if cached
            .as_ref()
            .is_some_and(|token| token.read.is_none_or(|read| read <= used.since))
        {
            *cached = None;
        }
    }
}

fn read_token(path: &Path) -> Result<HeaderValue, AuthError> {
    let fail = |source: BoxError| AuthError::TokenFile {
        path: path.to_owned(),
        source,
    };
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.into()))?;
    match text.trim() {
        "" => Err(fail("the file is empty".into())),
        token => bearer(token),
    }
}

/// Why no credentials could be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AuthError {
    #[error("token file {} cannot be used", path.display())]
    TokenFile {
        path: PathBuf,
        #[source]
        source: BoxError,
    },
    #[error("credentials hold characters that cannot be sent in a header")]
    Malformed,
    #[error("exec plugin {command:?} failed")]
    Exec {
        command: String,
        #[source]
        source: BoxError,
    },
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    async fn token(authenticator: &Authenticator) -> Result<String, AuthError> {
        let header = authenticator.authorize().await?.header.unwrap();
        Ok(header.to_str().unwrap().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_file_is_read_again_and_an_old_token_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let source = Authenticator::TokenFile(TokenFile::new(&path, None).unwrap());
        assert!(matches!(token(&source).await, Err(AuthError::TokenFile { .. })));
        fs::write(&path, "one\n").unwrap();
        assert_eq!(token(&source).await.unwrap(), "Bearer one");
        fs::write(&path, "two").unwrap();
        assert_eq!(token(&source).await.unwrap(), "Bearer one");
        tokio::time::advance(TOKEN_FILE_PERIOD).await;
        assert_eq!(token(&source).await.unwrap(), "Bearer two");
        fs::remove_file(&path).unwrap();
        tokio::time::advance(TOKEN_FILE_PERIOD).await;
        assert_eq!(token(&source).await.unwrap(), "Bearer two");
        fs::write(&path, " ").unwrap();
        assert_eq!(token(&source).await.unwrap(), "Bearer two");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_token_is_dropped_unless_it_is_newer_than_the_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "one").unwrap();
        let source = Authenticator::TokenFile(TokenFile::new(&path, None).unwrap());
        let first = source.authorize().await.unwrap();
        fs::write(&path, "two").unwrap();
        source.reject(&first);
        assert_eq!(token(&source).await.unwrap(), "Bearer two");
        tokio::time::advance(Duration::from_secs(1)).await;
        let later = source.authorize().await.unwrap();
        source.reject(&later);
        fs::write(&path, "three").unwrap();
        assert_eq!(token(&source).await.unwrap(), "Bearer three");
        // A late answer to the first request says nothing about the third token.
        source.reject(&first);
        fs::write(&path, "four").unwrap();
        assert_eq!(token(&source).await.unwrap(), "Bearer three");
    }

    #[tokio::test]
    async fn a_token_beside_the_file_serves_until_the_file_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let source = Authenticator::TokenFile(TokenFile::new(&path, Some("initial")).unwrap());
        assert_eq!(token(&source).await.unwrap(), "Bearer initial");
        fs::write(&path, "real").unwrap();
        assert_eq!(token(&source).await.unwrap(), "Bearer real");
    }

    #[tokio::test]
    async fn fixed_credentials() {
        let basic = Authenticator::basic("user", "pass").unwrap();
        assert_eq!(token(&basic).await.unwrap(), "Basic dXNlcjpwYXNz");
        assert!(matches!(Authenticator::bearer("a\nb"), Err(AuthError::Malformed)));
    }
}
