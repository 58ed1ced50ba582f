//! The listener's side: [`serve`] runs an [`HttpService`] on a TCP listener.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::body::Body;
use crate::cork::{Cork, Corked};
use crate::identity::{Peer, Transport};
use crate::linger::{Lingering, Unread};
use crate::service::HttpService;
use crate::upgrade::Upgrade;

/// Limits of a listener. The defaults are kube-apiserver's where it has the setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeLimits {
    /// Connections open at the same time, those that were upgraded included; further ones wait in the kernel's queue. Default: 10 000.
    pub max_connections: usize,
    /// How long a TLS handshake may take. Default: 10 s.
    pub handshake_timeout: Duration,
    /// How long the first request of a connection may take to come, and the head of each HTTP/1.1 request with the idle
    /// time before it. Default: 90 s.
    pub header_read_timeout: Duration,
    /// Bytes of the head of a request. Default: 1 MiB.
    pub max_header_bytes: u32,
    /// Requests at the same time on one HTTP/2 connection. Default: 250.
    pub max_concurrent_streams: u32,
    /// Interval of HTTP/2 pings and of TCP keep-alive probes, so that dead clients are noticed. Default: 30 s.
    pub ping_interval: Duration,
    /// How long the answer to a ping may take. Default: 15 s.
    pub ping_timeout: Duration,
    /// How long requests in flight may go on after shutdown began. Default: 10 s.
    pub grace: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            handshake_timeout: Duration::from_secs(10),
            header_read_timeout: Duration::from_secs(90),
            max_header_bytes: 1 << 20,
            max_concurrent_streams: 250,
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}

/// How a listener ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Connections that were cut because the grace time ran out with requests in flight.
    pub aborted: usize,
}

/// Serves HTTP/1.1 and HTTP/2, with TLS if there are settings for it and in plain text otherwise, until `shutdown`.
///
/// Each request carries a [`Peer`]; one that asks for an upgrade also carries an [`Upgrade`]. It never carries an
/// [`Identity`](crate::Identity). A panic in the service is answered with status 500 and affects no other request.
///
/// Shutdown is ordered: the listener closes, idle connections close, clients are told to open no more requests, those
/// in flight get `limits.grace`, and what is left is cut. Dropping the future cuts everything at once.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    service: HttpService,
    limits: ServeLimits,
    shutdown: impl Future<Output = ()>,
) -> Drained {
    let slots = Arc::new(Semaphore::new(
        limits.max_connections.clamp(1, Semaphore::MAX_PERMITS),
    ));
    let grace = limits.grace;
    let (stop, stopping) = watch::channel(());
    let listening = Listening {
        tls: tls.map(TlsAcceptor::from),
        service,
        limits: Arc::new(limits),
        stopping,
    };
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut failures = 0;
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            // Reaps as it goes, so that the set holds open connections only.
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, address, slot)) => {
                failures = 0;
                connections.spawn(listening.clone().connection(stream, address, slot));
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                let pause = Duration::from_millis(5 << failures.min(MAX_ACCEPT_DOUBLINGS));
                failures += 1;
                tokio::select! {
                    () = &mut shutdown => break,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }
    drop(listener);
    drop(listening);
    drop(stop);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(grace, drained).await;
    let aborted = connections.len();
    connections.shutdown().await;
    Drained { aborted }
}

/// Pauses after failing accepts (no file descriptors left) grow from 5 ms to 5 ms times two to this power, 640 ms.
const MAX_ACCEPT_DOUBLINGS: u32 = 7;

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(std::io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    Ok((stream, address, slot))
}

/// What every connection of one listener shares.
#[derive(Clone)]
struct Listening {
    tls: Option<TlsAcceptor>,
    service: HttpService,
    limits: Arc<ServeLimits>,
    /// Closed when shutdown begins.
    stopping: watch::Receiver<()>,
}

impl Listening {
    async fn connection(mut self, stream: TcpStream, address: SocketAddr, slot: OwnedSemaphorePermit) {
        configure(&stream, self.limits.ping_interval);
        let Some(tls) = self.tls.take() else {
            let peer = Peer {
                address,
                certificates: Arc::new([]),
                transport: Transport::Plain,
            };
            return self.http(stream, peer, slot).await;
        };
        let handshake = tokio::time::timeout(self.limits.handshake_timeout, tls.accept(stream));
        let accepted = tokio::select! {
            accepted = handshake => accepted,
            _ = self.stopping.changed() => return,
        };
        match accepted {
            Ok(Ok(stream)) => {
                let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let certificates = certificates.iter().cloned().collect();
                self.http(
                    stream,
                    Peer {
                        address,
                        certificates,
                        transport: Transport::Tls,
                    },
                    slot,
                )
                .await;
            }
            Ok(Err(error)) => tracing::debug!(%address, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(%address, "TLS handshake took too long"),
        }
    }

    async fn http<S>(mut self, stream: S, peer: Peer, slot: OwnedSemaphorePermit)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let address = peer.address;
        let service = self.service;
        let builder = builder(&self.limits);
        let asked = Arc::new(AtomicBool::new(false));
        let silence = silence(self.limits.header_read_timeout, Arc::clone(&asked));
        let unread = Unread::default();
        let cork = Cork::default();
        let (reads, writes) = (unread.clone(), cork.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            // HTTP/1.1 has one answer at a time: nothing could share a write with it.
            let cork = (request.version() == Version::HTTP_2).then(|| writes.clone());
            let answer = answer(service.clone(), peer.clone(), reads.clone(), request);
            answer.map(|response| {
                Ok::<_, Infallible>(match cork {
                    Some(cork) => response.map(|body| cork.watch(body)),
                    None => response,
                })
            })
        });
        let stream = Corked::new(Lingering::new(stream, unread, slot), cork.clone());
        let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let result = tokio::select! {
            result = cork.drive(connection.as_mut()) => result,
            () = silence => {
                tracing::debug!(%address, "no request came in time");
                return;
            }
            _ = self.stopping.changed() => {
                connection.as_mut().graceful_shutdown();
                cork.drive(connection).await
            }
        };
        if let Err(error) = result {
            tracing::debug!(%address, %error, "connection ended with an error");
        }
    }
}

/// Ends after `limit` if there was no request until then, and never otherwise. The HTTP library has a limit for heads
/// of requests, but none for the bytes by which it tells HTTP/1.1 and HTTP/2 apart.
async fn silence(limit: Duration, asked: Arc<AtomicBool>) {
    tokio::time::sleep(limit).await;
    if asked.load(Ordering::Relaxed) {
        std::future::pending().await
    }
}

fn builder(limits: &ServeLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read_timeout)
        .max_buf_size(
            usize::try_from(limits.max_header_bytes)
                .unwrap_or(usize::MAX)
                .max(MIN_HTTP1_BUFFER),
        );
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.max_concurrent_streams)
        .max_header_list_size(limits.max_header_bytes)
        .initial_stream_window_size(UPLOAD_STREAM_WINDOW)
        .initial_connection_window_size(UPLOAD_CONNECTION_WINDOW)
        .keep_alive_interval(limits.ping_interval)
        .keep_alive_timeout(limits.ping_timeout);
    builder
}

/// The HTTP library refuses smaller buffers: 8 KiB.
const MIN_HTTP1_BUFFER: usize = 8192;
/// Request bytes in flight per HTTP/2 stream: 256 KiB, as kube-apiserver.
const UPLOAD_STREAM_WINDOW: u32 = 256 << 10;
/// Request bytes in flight per HTTP/2 connection: 4 MiB.
const UPLOAD_CONNECTION_WINDOW: u32 = 4 << 20;

async fn answer(
    service: HttpService,
    peer: Peer,
    unread: Unread,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let upgrade = request
        .headers()
        .contains_key(header::UPGRADE)
        .then(|| Upgrade::from_hyper(hyper::upgrade::on(&mut request)));
    let version = request.version();
    let mut request = request.map(|body| unread.watch(Body::from(body), version));
    request.extensions_mut().insert(peer);
    if let Some(upgrade) = upgrade {
        request.extensions_mut().insert(upgrade);
    }
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let called = AssertUnwindSafe(async move { service.send(request).await })
        .catch_unwind()
        .await;
    let message = match called {
        Ok(Ok(response)) => return response,
        Ok(Err(error)) => {
            tracing::warn!(%method, path, error = &error as &dyn std::error::Error, "service failed");
            error.to_string()
        }
        Err(panic) => {
            let reason = panic_message(panic.as_ref());
            tracing::error!(%method, path, reason, "panic while answering a request");
            format!("This request caused apiserver to panic. Look in the logs for details: {method} {path}")
        }
    };
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown")
}

fn configure(stream: &TcpStream, keepalive: Duration) {
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(keepalive)
        .with_interval(keepalive);
    let options = stream
        .set_nodelay(true)
        .and_then(|()| socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive));
    if let Err(error) = options {
        tracing::debug!(%error, "socket options could not be set");
    }
}
