//! Connections to a server elsewhere: [`connect`] makes a pooled [`HttpService`].

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode, Uri, header};
use hyper::rt::ReadBufCursor;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tower::{Service, ServiceExt};

use crate::body::Body;
use crate::error::{BoxError, CONNECTING, HANDSHAKE, TransportError, io_kind, resets};
use crate::proxy::{Proxies, Proxy, ProxySettings};
use crate::service::HttpService;
use crate::upgrade::Upgrade;

/// How to reach a server. The defaults are client-go's (`rest/transport.go`, `util/net/http.go`).
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// TLS settings, needed for `https` URIs. Default: none, only plain HTTP.
    pub tls: Option<Arc<ClientConfig>>,
    /// Name to ask for and to verify instead of the host of the URI (`tls-server-name`). Default: the host.
    pub server_name: Option<String>,
    /// Proxies. Default: none.
    pub proxy: ProxySettings,
    /// Limit for name resolution and TCP together. Default: 30 s.
    pub connect_timeout: Duration,
    /// Limit for the TLS handshake. Default: 10 s.
    pub handshake_timeout: Duration,
    /// Idle time before TCP keep-alive probes start, and between them. Default: 30 s.
    pub tcp_keepalive: Duration,
    /// How long an HTTP/2 connection may be silent before it is pinged, so that a dead one is noticed; zero for never.
    /// Default: 30 s.
    pub ping_interval: Duration,
    /// How long the answer to a ping may take before the connection counts as lost. Default: 15 s.
    pub ping_timeout: Duration,
    /// How long an unused connection is kept. Default: 90 s.
    pub idle_timeout: Duration,
    /// Unused HTTP/1.1 connections kept per host. Default: 25.
    pub max_idle_per_host: usize,
    /// Whether servers are offered HTTP/2. Default: they are.
    pub http2: Http2,
}

/// Whether a client speaks HTTP/2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Http2 {
    /// With servers that agree to it when TLS begins.
    #[default]
    Offered,
    /// With none.
    Off,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            tls: None,
            server_name: None,
            proxy: ProxySettings::default(),
            connect_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(10),
            tcp_keepalive: Duration::from_secs(30),
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(90),
            max_idle_per_host: 25,
            http2: Http2::Offered,
        }
    }
}

impl ConnectOptions {
    /// Takes from the environment what client-go takes from it (`apimachinery/pkg/util/net/http.go`), through the function that
    /// is given: `HTTP2_READ_IDLE_TIMEOUT_SECONDS` and `HTTP2_PING_TIMEOUT_SECONDS` replace the times of pings, a
    /// `DISABLE_HTTP2` that is not empty turns HTTP/2 off. What is no number of seconds is logged and left out.
    #[must_use]
    pub fn with_env(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let seconds = |name: &str, default: Duration| {
            let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
                return default;
            };
            match text.parse() {
                Ok(seconds) => Duration::from_secs(seconds),
                Err(error) => {
                    tracing::warn!(name, text, %error, "no number of seconds, the default stays");
                    default
                }
            }
        };
        self.ping_interval = seconds("HTTP2_READ_IDLE_TIMEOUT_SECONDS", self.ping_interval);
        // Zero is the default there.
        let timeout = seconds("HTTP2_PING_TIMEOUT_SECONDS", self.ping_timeout);
        self.ping_timeout = if timeout.is_zero() {
            self.ping_timeout
        } else {
            timeout
        };
        if variable("DISABLE_HTTP2").is_some_and(|value| !value.is_empty()) {
            self.http2 = Http2::Off;
        }
        self
    }
}

/// Every open connection of a service, to be closed at once: [`connect_closable`].
#[derive(Debug)]
pub struct Connections(watch::Sender<bool>);

impl Connections {
    /// Closes them. Requests under way fail, streams and upgraded connections end with an error; the service opens no further
    /// connections that last.
    pub fn close(&self) {
        self.0.send_replace(true);
    }
}

/// Bytes in flight that one HTTP/2 stream may receive unread: 4 MiB, as Go's client.
const STREAM_WINDOW: u32 = 4 << 20;
/// Bytes in flight that all streams of one HTTP/2 connection may receive unread: 64 MiB. Each watch that reads slowly
/// holds at most a stream's share of it.
const CONNECTION_WINDOW: u32 = 64 << 20;

/// Makes a service that sends requests with absolute URIs over pooled connections. No connection is opened yet.
///
/// A server that agrees to HTTP/2 gets one connection for all requests. Requests with an `Upgrade` header go over
/// HTTP/1.1 connections of their own, since HTTP/2 has no upgrades. A request is sent again only if the connection it
/// was meant for closed before any of it was written.
///
/// # Errors
///
/// [`TransportError::Other`] if `server_name` is neither a DNS name nor an address, or the URL of a proxy is not one of
/// a supported proxy.
pub fn connect(options: ConnectOptions) -> Result<HttpService, TransportError> {
    open(options, None)
}

/// As [`connect`], with a handle that closes all connections, for when the certificates with which they were opened are
/// replaced. Dropping the handle closes none.
///
/// # Errors
///
/// As [`connect`].
pub fn connect_closable(options: ConnectOptions) -> Result<(HttpService, Connections), TransportError> {
    let (sender, closed) = watch::channel(false);
    Ok((open(options, Some(closed))?, Connections(sender)))
}

fn open(
    options: ConnectOptions,
    closed: Option<watch::Receiver<bool>>,
) -> Result<HttpService, TransportError> {
    let server_name = match &options.server_name {
        None => None,
        Some(name) => Some(server_name(name)?),
    };
    let mut dialer = Dialer::new(&options, server_name)?;
    dialer.closed = closed;
    let shared = match options.http2 {
        Http2::Offered => pool(&options, dialer.clone()),
        Http2::Off => pool(&options, dialer.clone().without_http2()),
    };
    // Streams that were upgraded leave the pool, so this one only ever holds what is being upgraded.
    let upgrades = pool(&options, dialer.without_http2());
    Ok(HttpService::from_fn(move |request| {
        let upgrade = request.headers().contains_key(header::UPGRADE);
        let client = if upgrade { upgrades.clone() } else { shared.clone() };
        async move { send(client, request).await }
    }))
}

fn pool(options: &ConnectOptions, dialer: Dialer) -> Client<Dialer, Body> {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(options.idle_timeout)
        .pool_max_idle_per_host(options.max_idle_per_host)
        .http2_keep_alive_interval(Some(options.ping_interval).filter(|interval| !interval.is_zero()))
        .http2_keep_alive_timeout(options.ping_timeout)
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .build(dialer)
}

async fn send(
    client: Client<Dialer, Body>,
    request: Request<Body>,
) -> Result<Response<Body>, TransportError> {
    let address = address_of(request.uri());
    let mut response = client
        .request(request)
        .await
        .map_err(|error| sort(error, address))?;
    let upgrade = (response.status() == StatusCode::SWITCHING_PROTOCOLS)
        .then(|| Upgrade::from_hyper(hyper::upgrade::on(&mut response)));
    let mut response = response.map(Body::from);
    if let Some(upgrade) = upgrade {
        response.extensions_mut().insert(upgrade);
    }
    Ok(response)
}

/// Finds the variant for an error of the pool.
fn sort(error: legacy::Error, address: String) -> TransportError {
    let mut next: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(cause) = next {
        if let Some(failure) = cause.downcast_ref::<DialError>()
            && let Some(original) = failure.0.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            return original;
        }
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>()
            && (hyper.is_closed()
                || hyper.is_incomplete_message()
                || hyper.is_canceled()
                || hyper.is_timeout())
        {
            return TransportError::Closed {
                what: SENDING.into(),
                source: Some(error.into()),
            };
        }
        if let Some(h2) = cause.downcast_ref::<h2::Error>()
            && (h2.is_go_away() || h2.is_io() || h2.reason() == Some(h2::Reason::REFUSED_STREAM))
        {
            return TransportError::Closed {
                what: SENDING.into(),
                source: Some(error.into()),
            };
        }
        next = cause.source();
    }
    // With TLS 1.3 a server's refusal of the client certificate arrives after the client's handshake. The TLS library
    // reports everything it dislikes as this kind, and HTTP/2 keeps of an I/O error only the kind.
    if io_kind(&error) == Some(io::ErrorKind::InvalidData) {
        return TransportError::Tls {
            address,
            source: error.into(),
        };
    }
    if error.is_connect() {
        return TransportError::Connect {
            address,
            source: error.into(),
        };
    }
    if resets(&error) {
        return TransportError::Closed {
            what: SENDING.into(),
            source: Some(error.into()),
        };
    }
    TransportError::other(SENDING, error)
}

const SENDING: &str = "sending a request";

/// Opens connections: TCP, then a proxy's tunnel, then TLS.
#[derive(Clone)]
struct Dialer {
    tcp: HttpConnector,
    proxies: Arc<Proxies>,
    tls: Option<Arc<ClientConfig>>,
    server_name: Option<ServerName<'static>>,
    connect_timeout: Duration,
    handshake_timeout: Duration,
    /// Turns true when connections are to be closed.
    closed: Option<watch::Receiver<bool>>,
}

impl Dialer {
    fn new(
        options: &ConnectOptions,
        server_name: Option<ServerName<'static>>,
    ) -> Result<Self, TransportError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(options.connect_timeout));
        tcp.set_keepalive(Some(options.tcp_keepalive));
        tcp.set_keepalive_interval(Some(options.tcp_keepalive));
        Ok(Self {
            tcp,
            proxies: Arc::new(Proxies::new(&options.proxy)?),
            tls: options.tls.clone(),
            server_name,
            connect_timeout: options.connect_timeout,
            handshake_timeout: options.handshake_timeout,
            closed: None,
        })
    }

    fn without_http2(mut self) -> Self {
        self.tls = self.tls.map(|tls| with_alpn(&tls, vec![b"http/1.1".to_vec()]));
        self
    }

    async fn dial(self, uri: Uri) -> Result<Stream, TransportError> {
        let address = address_of(&uri);
        let io = match self.proxies.proxy_for(&uri) {
            None => self.tcp(uri.clone(), &address).await?,
            Some(proxy) => self.tunnel(proxy, &uri, &address).await?,
        };
        if uri.scheme() != Some(&http::uri::Scheme::HTTPS) {
            return Ok(Stream::new(io, false, self.closed));
        }
        let Some(tls) = &self.tls else {
            return Err(TransportError::Tls {
                address,
                source: "no TLS settings for an https address".into(),
            });
        };
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => server_name(uri.host().unwrap_or_default())?,
        };
        self.handshake(tls, io, name, address).await
    }

    async fn tcp(&self, uri: Uri, address: &str) -> Result<BoxIo, TransportError> {
        let connecting = self.tcp.clone().oneshot(uri);
        match tokio::time::timeout(self.connect_timeout, connecting).await {
            Ok(Ok(io)) => Ok(Box::new(io.into_inner())),
            Ok(Err(error)) if io_kind(&error) != Some(io::ErrorKind::TimedOut) => {
                Err(TransportError::Connect {
                    address: address.to_owned(),
                    source: error.into(),
                })
            }
            _ => Err(TransportError::Timeout {
                what: CONNECTING.into(),
                address: address.to_owned(),
                after: self.connect_timeout,
            }),
        }
    }

    /// A stream to the target through a proxy, which may itself be reached over TLS.
    async fn tunnel(&self, proxy: Proxy, target: &Uri, address: &str) -> Result<BoxIo, TransportError> {
        let name = address_of(&proxy.uri);
        let fail = |source: BoxError| TransportError::Proxy {
            proxy: name.clone(),
            address: address.to_owned(),
            source,
        };
        let dialer = ProxyDialer(self.clone());
        // The proxy needs the port; a URI may leave it to the scheme.
        let target: Uri = format!("https://{address}")
            .parse()
            .map_err(|error: http::uri::InvalidUri| fail(format!("{target}: {error}").into()))?;
        let tunneled = async {
            match proxy.uri.scheme_str() {
                Some("socks5" | "socks5h") => {
                    let socks = SocksV5::new(proxy.uri.clone(), dialer);
                    let mut socks = match proxy.credentials {
                        Some((user, password)) => socks.with_auth(user, password),
                        None => socks,
                    };
                    socks.call(target).await.map_err(|error| fail(error.into()))
                }
                Some("http" | "https") => {
                    let tunnel = Tunnel::new(proxy.uri.clone(), dialer);
                    let mut tunnel = match proxy.authorization {
                        Some(authorization) => tunnel.with_auth(authorization),
                        None => tunnel,
                    };
                    tunnel.call(target).await.map_err(|error| fail(error.into()))
                }
                _ => Err(fail("only http, https and socks5 proxies are supported".into())),
            }
        };
        match tokio::time::timeout(self.connect_timeout, tunneled).await {
            Ok(stream) => Ok(stream?.io.into_inner()),
            Err(_) => Err(TransportError::Timeout {
                what: CONNECTING.into(),
                address: name,
                after: self.connect_timeout,
            }),
        }
    }

    async fn handshake(
        &self,
        tls: &Arc<ClientConfig>,
        io: BoxIo,
        name: ServerName<'static>,
        address: String,
    ) -> Result<Stream, TransportError> {
        let connecting = TlsConnector::from(Arc::clone(tls)).connect(name, io);
        match tokio::time::timeout(self.handshake_timeout, connecting).await {
            Ok(Ok(stream)) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                Ok(Stream::new(Box::new(stream), http2, self.closed.clone()))
            }
            Ok(Err(error)) => Err(TransportError::Tls {
                address,
                source: error.into(),
            }),
            Err(_) => Err(TransportError::Timeout {
                what: HANDSHAKE.into(),
                address,
                after: self.handshake_timeout,
            }),
        }
    }
}

impl Service<Uri> for Dialer {
    type Response = Stream;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, DialError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dial = self.clone().dial(uri);
        Box::pin(async move { dial.await.map_err(|error| DialError(Mutex::new(Some(error)))) })
    }
}

/// Opens connections to a proxy itself.
#[derive(Clone)]
struct ProxyDialer(Dialer);

impl Service<Uri> for ProxyDialer {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = self.0.clone();
        Box::pin(async move {
            let address = address_of(&uri);
            let io = dialer.tcp(uri.clone(), &address).await?;
            if uri.scheme() != Some(&http::uri::Scheme::HTTPS) {
                return Ok(Stream::new(io, false, None));
            }
            let Some(tls) = &dialer.tls else {
                return Err("no TLS settings for an https proxy".into());
            };
            let tls = with_alpn(tls, Vec::new());
            let name = server_name(uri.host().unwrap_or_default())?;
            Ok(dialer.handshake(&tls, io, name, address).await?)
        })
    }
}

/// Carries a [`TransportError`] through the pool, which only knows boxed errors behind references.
#[derive(Debug)]
struct DialError(Mutex<Option<TransportError>>);

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("could not connect")
    }
}

impl StdError for DialError {}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}
type BoxIo = Box<dyn Io>;

/// An open connection, as the pool wants it.
struct Stream {
    io: TokioIo<BoxIo>,
    http2: bool,
    /// Ends when the connection is to be closed; `None` once it has ended, or if nobody can close it.
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    is_closed: bool,
}

impl Stream {
    fn new(io: BoxIo, http2: bool, closed: Option<watch::Receiver<bool>>) -> Self {
        let closed = closed.map(|mut closed| -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(async move {
                if closed.wait_for(|closed| *closed).await.is_err() {
                    // Nobody is left who could close it.
                    std::future::pending::<()>().await;
                }
            })
        });
        Self {
            io: TokioIo::new(io),
            http2,
            closed,
            is_closed: false,
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.http2 {
            connected.negotiated_h2()
        } else {
            connected
        }
    }
}

impl hyper::rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // Somebody reads as long as a connection is open, so this is where the task learns of it.
        if let Some(closed) = &mut self.closed
            && closed.as_mut().poll(cx).is_ready()
        {
            self.closed = None;
            self.is_closed = true;
        }
        if self.is_closed {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}

/// Host and port of a URI, with the scheme's port where it names none.
fn address_of(uri: &Uri) -> String {
    let port = uri.port_u16().unwrap_or_else(|| match uri.scheme_str() {
        Some("https") => 443,
        Some("socks5" | "socks5h") => 1080,
        _ => 80,
    });
    format!("{}:{port}", uri.host().unwrap_or_default())
}

fn server_name(host: &str) -> Result<ServerName<'static>, TransportError> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_owned())
        .map_err(|error| TransportError::other(format!("reading the TLS server name {host:?}"), error))
}

fn with_alpn(tls: &Arc<ClientConfig>, protocols: Vec<Vec<u8>>) -> Arc<ClientConfig> {
    let mut tls = ClientConfig::clone(tls);
    tls.alpn_protocols = protocols;
    Arc::new(tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_follow_the_environment() {
        type Row = (&'static [(&'static str, &'static str)], u64, u64, Http2);
        let rows: [Row; 6] = [
            (&[], 30, 15, Http2::Offered),
            (
                &[
                    ("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "5"),
                    ("HTTP2_PING_TIMEOUT_SECONDS", "3"),
                ],
                5,
                3,
                Http2::Offered,
            ),
            (&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "0")], 0, 15, Http2::Offered),
            (&[("HTTP2_PING_TIMEOUT_SECONDS", "soon")], 30, 15, Http2::Offered),
            (&[("HTTP2_PING_TIMEOUT_SECONDS", "0")], 30, 15, Http2::Offered),
            (
                &[("DISABLE_HTTP2", "1"), ("HTTP2_PING_TIMEOUT_SECONDS", "")],
                30,
                15,
                Http2::Off,
            ),
        ];
        for (variables, interval, timeout, http2) in rows {
            let options = ConnectOptions::default().with_env(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            let found = (
                options.ping_interval.as_secs(),
                options.ping_timeout.as_secs(),
                options.http2,
            );
            assert_eq!(found, (interval, timeout, http2), "{variables:?}");
        }
    }
}
