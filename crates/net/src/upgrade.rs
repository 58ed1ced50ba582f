//! Connections that stop speaking HTTP: [`Upgrade`], a socket or a pipe.
//!
//! `exec`, `attach` and `port-forward` start as an HTTP request and go on as a two-way stream of bytes. Over a socket
//! the HTTP library hands the stream over after status 101; inside one process a pipe takes its place. Handlers and
//! clients see the same extension in both cases.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Extensions, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::TransportError;
use crate::service::HttpService;

/// Bytes that a pipe of this process holds before the writer waits: 64 KiB each way.
pub const PIPE_CAPACITY: usize = 64 * 1024;

/// The promise of a two-way stream: an extension of the request (server side) and of the 101 response (client side).
///
/// A server answers status 101 and then awaits [`complete`](Self::complete) in a task of its own, since the stream
/// exists only once the response is out.
#[derive(Clone)]
pub struct Upgrade(Arc<Mutex<Option<Pending>>>);

type Pending = Pin<Box<dyn Future<Output = Result<UpgradedIo, TransportError>> + Send>>;

impl Upgrade {
    /// Takes the upgrade out of the extensions of a request or a response; `None` if there is none.
    pub fn take(extensions: &mut Extensions) -> Option<Self> {
        extensions.remove::<Self>()
    }

    /// An upgrade that is fulfilled by what `stream` resolves to.
    pub fn new<F>(stream: F) -> Self
    where
        F: Future<Output = Result<UpgradedIo, TransportError>> + Send + 'static,
    {
        Self(Arc::new(Mutex::new(Some(Box::pin(stream)))))
    }

    /// Two upgrades whose streams are the ends of one pipe.
    pub fn pipe() -> (Self, Self) {
        let (one, two) = tokio::io::duplex(PIPE_CAPACITY);
        (
            Self::new(async { Ok(UpgradedIo::new(one)) }),
            Self::new(async { Ok(UpgradedIo::new(two)) }),
        )
    }

    /// Waits for the stream.
    ///
    /// # Errors
    ///
    /// The connection closed first, or another clone of this upgrade took the stream.
    pub async fn complete(self) -> Result<UpgradedIo, TransportError> {
        let pending = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match pending {
            Some(pending) => pending.await,
            None => Err(TransportError::other(
                "upgrading a connection",
                "the stream was taken already",
            )),
        }
    }

    pub(crate) fn from_hyper(upgrade: hyper::upgrade::OnUpgrade) -> Self {
        Self::new(async move {
            let upgraded = upgrade
                .await
                .map_err(|error| TransportError::from_hyper("upgrading a connection", error))?;
            Ok(UpgradedIo::new(TokioIo::new(upgraded)))
        })
    }
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upgrade")
    }
}

/// A two-way stream of bytes after an upgrade.
pub struct UpgradedIo(Pin<Box<dyn Io>>);

trait Io: AsyncRead + AsyncWrite + Send {}
impl<T: AsyncRead + AsyncWrite + Send> Io for T {}

impl UpgradedIo {
    /// Wraps any stream.
    pub fn new(io: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        Self(Box::pin(io))
    }
}

impl fmt::Debug for UpgradedIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UpgradedIo")
    }
}

impl AsyncRead for UpgradedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(cx, buf)
    }
}

impl AsyncWrite for UpgradedIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(cx)
    }
}

/// Wraps a service of this process so that requests with an `Upgrade` header get a pipe, as a socket would give.
///
/// The request carries one end; a 101 response carries the other.
pub fn with_pipes(service: HttpService) -> HttpService {
    HttpService::from_fn(move |mut request| {
        let service = service.clone();
        async move {
            if !request.headers().contains_key(header::UPGRADE) {
                return service.send(request).await;
            }
            let (client, server) = Upgrade::pipe();
            request.extensions_mut().insert(server);
            let mut response = service.send(request).await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                response.extensions_mut().insert(client);
            }
            Ok(response)
        }
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use http::{Request, Response};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::body::Body;

    /// A service that answers 101 and then sends back what it reads, in capitals.
    pub(crate) fn shouting_service() -> HttpService {
        HttpService::from_fn(|mut request| async move {
            let mut response = Response::new(Body::empty());
            let Some(upgrade) = Upgrade::take(request.extensions_mut()) else {
                *response.status_mut() = StatusCode::BAD_REQUEST;
                return Ok(response);
            };
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            response
                .headers_mut()
                .insert(header::CONNECTION, "Upgrade".parse().unwrap());
            response
                .headers_mut()
                .insert(header::UPGRADE, "shout".parse().unwrap());
            tokio::spawn(async move {
                let mut io = upgrade.complete().await.unwrap();
                let mut word = [0; 5];
                io.read_exact(&mut word).await.unwrap();
                io.write_all(&word.to_ascii_uppercase()).await.unwrap();
                io.shutdown().await.unwrap();
            });
            Ok(response)
        })
    }

    /// Sends `hello` over an upgraded connection of `service` and returns what comes back.
    pub(crate) async fn shout_over(service: &HttpService, uri: String) -> String {
        let request = Request::builder()
            .uri(uri)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "shout")
            .body(Body::empty())
            .unwrap();
        let mut response = service.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        let upgrade = Upgrade::take(response.extensions_mut()).unwrap();
        let mut io = upgrade.clone().complete().await.unwrap();
        assert!(upgrade.complete().await.is_err(), "the stream exists once");
        io.write_all(b"hello").await.unwrap();
        let mut answer = String::new();
        io.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_pipe_fulfils_an_upgrade_in_process() {
        let service = with_pipes(shouting_service());
        assert_eq!(shout_over(&service, "/exec".into()).await, "HELLO");
        let plain = service.send(Request::new(Body::empty())).await.unwrap();
        assert_eq!(plain.status(), StatusCode::BAD_REQUEST);
    }
}
