//! Real sockets on the loopback interface: TLS both ways, HTTP/1.1 and HTTP/2, upgrades, limits and shutdown.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version, header};
use jiff::Timestamp;
use kubewright_net::{
    Body, CertificateAndKey, CertificateAuthority, CertificateInfo, ClientAuth, ClientTls, ConnectOptions,
    Drained, HttpService, Identity, Peer, ProxySettings, ServeLimits, ServerVerification, TransportError,
    Upgrade, UpgradedIo, Validity, connect, serve, tls,
};
use rustls::crypto::CryptoProvider;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn a_day() -> Validity {
    Validity::starting(Timestamp::now(), Duration::from_secs(86_400))
}

struct Pki {
    authority: CertificateAuthority,
    server: CertificateAndKey,
    client: CertificateAndKey,
}

fn pki() -> Pki {
    let authority = CertificateAuthority::new("test-ca", a_day()).unwrap();
    let server = authority
        .issue_server(&["localhost", "127.0.0.1"], a_day())
        .unwrap();
    let client = authority
        .issue_client("jane", &["system:masters", "dev"], a_day())
        .unwrap();
    Pki {
        authority,
        server,
        client,
    }
}

struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Drained>,
}

async fn start(service: HttpService, tls: Option<Arc<rustls::ServerConfig>>, limits: ServeLimits) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(serve(listener, tls, service, limits, async move {
        let _ = stopped.await;
    }));
    Running { address, stop, ended }
}

fn client(verification: ServerVerification, certificate: Option<CertificateAndKey>) -> HttpService {
    let tls = tls::client_config(
        &ClientTls {
            verification,
            certificate,
        },
        provider(),
    )
    .unwrap();
    connect(ConnectOptions {
        tls: Some(tls),
        ..ConnectOptions::default()
    })
    .unwrap()
}

async fn text(service: &HttpService, uri: &str) -> Result<(StatusCode, String), TransportError> {
    let response = service
        .send(Request::get(uri).body(Body::empty()).unwrap())
        .await?;
    let status = response.status();
    let body = response.into_body().collect_limited(1 << 20).await.unwrap();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

fn service<F, Fut>(function: F) -> HttpService
where
    F: Fn(Request<Body>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Response<Body>> + Send + 'static,
{
    let function = Arc::new(function);
    HttpService::new(tower::service_fn(move |request| {
        let answer = function(request);
        async move { Ok::<_, Infallible>(answer.await) }
    }))
}

/// Answers with version, user and groups of the certificate, and whether an identity was set.
fn whoami() -> HttpService {
    service(|request| async move {
        let peer = request.extensions().get::<Peer>().unwrap();
        assert!(peer.address.ip().is_loopback());
        let who = match peer.certificates.first() {
            None => "anonymous".to_owned(),
            Some(der) => {
                let info = CertificateInfo::parse(der).unwrap();
                format!("{} {:?}", info.common_name, info.organizations)
            }
        };
        let trusted = request.extensions().get::<Identity>().is_some();
        Response::new(Body::from(format!("{:?} {who} {trusted}", request.version())))
    })
}

#[tokio::test]
async fn certificates_are_checked_both_ways() {
    let (pki, stranger) = (pki(), pki());
    let ca = pki.authority.certificate_pem().into_bytes();
    let other_ca = stranger.authority.certificate_pem().into_bytes();
    let own = pki.server.certificate_pem().into_bytes();
    let bundle = |pem: &Vec<u8>| ServerVerification::Bundle(pem.clone());
    let verified = tls::server_config(&pki.server, &ClientAuth::Verified(ca.clone()), provider()).unwrap();
    let requested = tls::server_config(&pki.server, &ClientAuth::Requested, provider()).unwrap();
    let off = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let jane = "HTTP/2.0 jane [\"system:masters\", \"dev\"] false";
    let anonymous = "HTTP/2.0 anonymous false";
    let (mine, foreign) = (Some(pki.client.clone()), Some(stranger.client.clone()));
    // server, what the client trusts, what it presents, host, answer or None for a failed handshake
    let rows = [
        (&verified, bundle(&ca), None, "127.0.0.1", Some(anonymous)),
        (&verified, bundle(&ca), mine.clone(), "localhost", Some(jane)),
        (&verified, bundle(&ca), foreign.clone(), "127.0.0.1", None),
        (&requested, bundle(&ca), mine.clone(), "127.0.0.1", Some(jane)),
        (&requested, bundle(&ca), foreign, "127.0.0.1", Some(jane)),
        (&off, bundle(&ca), mine, "127.0.0.1", Some(anonymous)),
        // The server's own certificate as bundle, as Go allows.
        (&off, bundle(&own), None, "127.0.0.1", Some(anonymous)),
        (&off, bundle(&other_ca), None, "127.0.0.1", None),
        (
            &off,
            ServerVerification::InsecureSkipVerify,
            None,
            "127.0.0.1",
            Some(anonymous),
        ),
    ];
    for (number, (server, verification, certificate, host, expect)) in rows.into_iter().enumerate() {
        let running = start(whoami(), Some(Arc::clone(server)), ServeLimits::default()).await;
        let uri = format!("https://{host}:{}/", running.address.port());
        let found = text(&client(verification, certificate), &uri).await;
        match expect {
            Some(expect) => assert_eq!(found.unwrap().1, expect, "row {number}"),
            None => {
                let error = found.unwrap_err();
                assert!(
                    matches!(error, TransportError::Tls { .. }),
                    "row {number}: {error:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn names_are_checked_even_for_a_trusted_leaf() {
    let authority = CertificateAuthority::new("ca", a_day()).unwrap();
    let server = authority.issue_server(&["kubernetes"], a_day()).unwrap();
    let config = tls::server_config(&server, &ClientAuth::Off, provider()).unwrap();
    let running = start(whoami(), Some(config), ServeLimits::default()).await;
    let uri = format!("https://{}/", running.address);
    for bundle in [authority.certificate_pem(), server.certificate_pem()] {
        let verification = ServerVerification::Bundle(bundle.into_bytes());
        let tls = tls::client_config(
            &ClientTls {
                verification,
                certificate: None,
            },
            provider(),
        )
        .unwrap();
        let options = |name: Option<&str>| ConnectOptions {
            tls: Some(Arc::clone(&tls)),
            server_name: name.map(str::to_owned),
            ..ConnectOptions::default()
        };
        let wrong = connect(options(None)).unwrap();
        let error = text(&wrong, &uri).await.unwrap_err();
        assert!(
            matches!(error, TransportError::Tls { .. }) && error.is_connect(),
            "{error:?}"
        );
        let right = connect(options(Some("kubernetes"))).unwrap();
        assert_eq!(text(&right, &uri).await.unwrap().0, StatusCode::OK);
    }
}

#[tokio::test]
async fn an_expired_leaf_is_refused_although_listed() {
    let authority = CertificateAuthority::new("ca", a_day()).unwrap();
    let past = Validity::starting(
        Timestamp::from_second(1_000_000_000).unwrap(),
        Duration::from_secs(60),
    );
    let server = authority.issue_server(&["localhost"], past).unwrap();
    let config = tls::server_config(&server, &ClientAuth::Off, provider()).unwrap();
    let running = start(whoami(), Some(config), ServeLimits::default()).await;
    let client = client(
        ServerVerification::Bundle(server.certificate_pem().into_bytes()),
        None,
    );
    let error = text(&client, &format!("https://localhost:{}/", running.address.port()))
        .await
        .unwrap_err();
    assert!(matches!(error, TransportError::Tls { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_certificate_can_be_replaced() {
    let (old, new) = (pki(), pki());
    let (handle, config) = tls::rotating_server_config(&old.server, &ClientAuth::Off, provider()).unwrap();
    let running = start(whoami(), Some(config), ServeLimits::default()).await;
    let uri = format!("https://{}/", running.address);
    let trusts = |pki: &Pki| {
        client(
            ServerVerification::Bundle(pki.authority.certificate_pem().into_bytes()),
            None,
        )
    };
    assert!(text(&trusts(&new), &uri).await.is_err());
    handle.replace(&new.server).unwrap();
    assert!(text(&trusts(&new), &uri).await.is_ok());
    assert!(text(&trusts(&old), &uri).await.is_err());
}

#[tokio::test]
async fn plain_http_streams_and_reports_lengths() {
    let echo = service(|request| async move {
        let length = request.headers().get(header::CONTENT_LENGTH).cloned();
        let mut response = Response::new(request.into_body());
        if let Some(length) = length {
            response.headers_mut().insert("x-length", length);
        }
        response
    });
    let running = start(echo, None, ServeLimits::default()).await;
    let client = connect(ConnectOptions::default()).unwrap();
    let uri = format!("http://{}/", running.address);
    let pieces = futures_util::stream::iter(["a", "b"].map(|piece| Ok(Bytes::from_static(piece.as_bytes()))));
    for (body, length) in [(Body::from("ab"), Some("2")), (Body::stream(pieces), None)] {
        let response = client
            .send(Request::post(&uri).body(body).unwrap())
            .await
            .unwrap();
        assert_eq!(response.version(), Version::HTTP_11);
        assert_eq!(
            response
                .headers()
                .get("x-length")
                .map(|value| value.to_str().unwrap()),
            length
        );
        assert_eq!(response.into_body().collect_limited(10).await.unwrap(), "ab");
    }
}

/// Each piece reaches each stream of one HTTP/2 connection before the next is sent, however many share a write; and an answer that
/// comes whole is not held up by streams that are silent.
#[tokio::test]
async fn many_streams_of_one_connection() {
    const STREAMS: usize = 20;
    const ROUNDS: usize = 50;
    let pki = pki();
    let (told, _) = tokio::sync::broadcast::channel::<Bytes>(4);
    let telling = told.clone();
    let streams = service(move |request| {
        let told = telling.subscribe();
        async move {
            assert_eq!(request.version(), Version::HTTP_2);
            if request.uri().path() == "/whole" {
                return Response::new(Body::from("whole"));
            }
            Response::new(Body::stream(futures_util::stream::unfold(
                told,
                async |mut told| {
                    let piece = told.recv().await.ok()?;
                    Some((Ok(piece), told))
                },
            )))
        }
    });
    let tls = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let running = start(streams, Some(tls), ServeLimits::default()).await;
    let client = client(
        ServerVerification::Bundle(pki.authority.certificate_pem().into_bytes()),
        None,
    );
    let uri = |path: &str| format!("https://localhost:{}{path}", running.address.port());
    let mut bodies = Vec::new();
    for _ in 0..STREAMS {
        let request = Request::get(uri("/stream")).body(Body::empty()).unwrap();
        bodies.push(client.send(request).await.unwrap().into_body());
    }
    for round in 0..ROUNDS {
        let piece = Bytes::from(vec![u8::try_from(round).unwrap(); 1 + round * 40]);
        told.send(piece.clone()).unwrap();
        for body in &mut bodies {
            assert_eq!(body.chunk().await.unwrap().unwrap(), piece);
        }
        assert_eq!(text(&client, &uri("/whole")).await.unwrap().1, "whole");
    }
    drop(bodies);
    assert_eq!(text(&client, &uri("/whole")).await.unwrap().1, "whole");
}

#[tokio::test]
async fn a_panic_is_answered_and_hurts_nobody_else() {
    let pki = pki();
    let config = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let fragile = service(|request| async move {
        assert_ne!(request.uri().path(), "/panic", "asked for");
        Response::new(Body::from("fine"))
    });
    let running = start(fragile, Some(config), ServeLimits::default()).await;
    let client = client(
        ServerVerification::Bundle(pki.authority.certificate_pem().into_bytes()),
        None,
    );
    let uri = |path: &str| format!("https://{}{path}", running.address);
    for (path, status) in [("/a", 200), ("/panic", 500), ("/b", 200)] {
        assert_eq!(
            text(&client, &uri(path)).await.unwrap().0.as_u16(),
            status,
            "{path}"
        );
    }
}

async fn shout(mut io: UpgradedIo) {
    let mut word = [0; 5];
    io.read_exact(&mut word).await.unwrap();
    io.write_all(&word.to_ascii_uppercase()).await.unwrap();
    io.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_socket_fulfils_an_upgrade() {
    let pki = pki();
    let config = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let upgrading = || {
        service(|mut request| async move {
            let upgrade = Upgrade::take(request.extensions_mut()).unwrap();
            tokio::spawn(async move { shout(upgrade.complete().await.unwrap()).await });
            Response::builder()
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header(header::CONNECTION, "Upgrade")
                .header(header::UPGRADE, "shout")
                .body(Body::empty())
                .unwrap()
        })
    };
    let secure = start(upgrading(), Some(config), ServeLimits::default()).await;
    let plain = start(upgrading(), None, ServeLimits::default()).await;
    let client = client(
        ServerVerification::Bundle(pki.authority.certificate_pem().into_bytes()),
        None,
    );
    for uri in [
        format!("https://{}/", secure.address),
        format!("http://{}/", plain.address),
    ] {
        let request = Request::get(uri)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "shout")
            .body(Body::empty())
            .unwrap();
        let mut response = client.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        let mut io = Upgrade::take(response.extensions_mut())
            .unwrap()
            .complete()
            .await
            .unwrap();
        io.write_all(b"hello").await.unwrap();
        let mut answer = String::new();
        io.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "HELLO");
    }
}

/// A service whose answers wait for a permit, and a count of the requests that have arrived.
fn gated() -> (HttpService, Arc<Semaphore>, Arc<Semaphore>) {
    let (gate, arrived) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (inner_gate, inner_arrived) = (Arc::clone(&gate), Arc::clone(&arrived));
    let service = service(move |_| {
        let gate = Arc::clone(&inner_gate);
        inner_arrived.add_permits(1);
        async move {
            gate.acquire().await.unwrap().forget();
            Response::new(Body::from("done"))
        }
    });
    (service, gate, arrived)
}

#[tokio::test]
async fn shutdown_lets_requests_in_flight_finish() {
    let (service, gate, arrived) = gated();
    let running = start(service, None, ServeLimits::default()).await;
    let client = connect(ConnectOptions::default()).unwrap();
    let uri = format!("http://{}/", running.address);
    let in_flight = tokio::spawn({
        let (client, uri) = (client.clone(), uri.clone());
        async move { text(&client, &uri).await }
    });
    arrived.acquire().await.unwrap().forget();
    running.stop.send(()).unwrap();
    // Once the listener is closed, nothing new gets in.
    loop {
        match TcpStream::connect(running.address).await {
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => break,
            _ => tokio::task::yield_now().await,
        }
    }
    assert!(text(&client, &uri).await.unwrap_err().is_connection_refused());
    gate.add_permits(1);
    assert_eq!(in_flight.await.unwrap().unwrap().1, "done");
    assert_eq!(running.ended.await.unwrap().aborted, 0);
}

#[tokio::test]
async fn shutdown_cuts_what_outlasts_the_grace_time() {
    let pki = pki();
    let config = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let client = client(
        ServerVerification::Bundle(pki.authority.certificate_pem().into_bytes()),
        None,
    );
    // HTTP/1.1 and HTTP/2
    for (tls, scheme) in [(None, "http"), (Some(config), "https")] {
        let (service, _gate, arrived) = gated();
        let limits = ServeLimits {
            grace: Duration::from_millis(20),
            ..ServeLimits::default()
        };
        let running = start(service, tls, limits).await;
        let uri = format!("{scheme}://{}/", running.address);
        let in_flight = tokio::spawn({
            let client = client.clone();
            async move { text(&client, &uri).await }
        });
        arrived.acquire().await.unwrap().forget();
        running.stop.send(()).unwrap();
        assert_eq!(running.ended.await.unwrap().aborted, 1);
        let error = in_flight.await.unwrap().unwrap_err();
        assert!(error.is_closed(), "{scheme}: {error:?}");
    }
}

/// A connection that was handed over to speak something else is open as long as it is spoken.
#[tokio::test]
async fn an_upgraded_connection_keeps_its_slot() {
    let streams = Arc::new(Semaphore::new(0));
    let held = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (counter, holder) = (streams.clone(), held.clone());
    let service = HttpService::from_fn(move |mut request| {
        let (counter, holder) = (counter.clone(), holder.clone());
        async move {
            let upgrade = Upgrade::take(request.extensions_mut()).unwrap();
            tokio::spawn(async move {
                let stream = upgrade.complete().await.unwrap();
                holder.lock().unwrap().push(stream);
                counter.add_permits(1);
            });
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            response
                .headers_mut()
                .insert(header::CONNECTION, "Upgrade".parse().unwrap());
            response
                .headers_mut()
                .insert(header::UPGRADE, "test".parse().unwrap());
            Ok(response)
        }
    });
    let limits = ServeLimits {
        max_connections: 1,
        ..ServeLimits::default()
    };
    let running = start(service, None, limits).await;
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n";
    let mut first = TcpStream::connect(running.address).await.unwrap();
    first.write_all(request).await.unwrap();
    streams.acquire().await.unwrap().forget();
    let mut second = TcpStream::connect(running.address).await.unwrap();
    second.write_all(request).await.unwrap();
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(streams.available_permits(), 0, "the second must wait");
    held.lock().unwrap().clear();
    streams.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn further_connections_wait_for_a_slot() {
    let (service, gate, arrived) = gated();
    let limits = ServeLimits {
        max_connections: 1,
        ..ServeLimits::default()
    };
    let running = start(service, None, limits).await;
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let mut first = TcpStream::connect(running.address).await.unwrap();
    first.write_all(request).await.unwrap();
    arrived.acquire().await.unwrap().forget();
    let mut second = TcpStream::connect(running.address).await.unwrap();
    second.write_all(request).await.unwrap();
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        arrived.available_permits(),
        0,
        "the second request must not have arrived"
    );
    gate.add_permits(2);
    for stream in [&mut first, &mut second] {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("done"), "{answer}");
    }
}

#[tokio::test]
async fn slow_handshakes_and_heads_are_cut() {
    let pki = pki();
    let config = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let limits = ServeLimits {
        handshake_timeout: Duration::from_millis(20),
        header_read_timeout: Duration::from_millis(20),
        ..ServeLimits::default()
    };
    let head: &[u8] = b"GET / HT";
    let preface: &[u8] = b"PRI * HTTP/2";
    for (tls, sent) in [(Some(config), head), (None, head), (None, preface), (None, b"")] {
        let running = start(whoami(), tls, limits.clone()).await;
        let mut silent = TcpStream::connect(running.address).await.unwrap();
        silent.write_all(sent).await.unwrap();
        let mut answer = Vec::new();
        // Ends only because the server closes.
        let _ = silent.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn a_connection_that_asked_may_be_silent_while_it_waits() {
    let (service, gate, arrived) = gated();
    let limits = ServeLimits {
        header_read_timeout: Duration::from_millis(5),
        ..ServeLimits::default()
    };
    let running = start(service, None, limits).await;
    let client = connect(ConnectOptions::default()).unwrap();
    let uri = format!("http://{}/", running.address);
    let in_flight = tokio::spawn(async move { text(&client, &uri).await });
    arrived.acquire().await.unwrap().forget();
    // Another connection that says nothing shows that the time is over.
    let mut silent = TcpStream::connect(running.address).await.unwrap();
    let _ = silent.read_to_end(&mut Vec::new()).await;
    gate.add_permits(1);
    assert_eq!(in_flight.await.unwrap().unwrap().1, "done");
}

/// Which proxy to play.
#[derive(Clone, Copy, PartialEq)]
enum ProxyKind {
    Http,
    Https,
    Socks5,
}

/// A proxy for one connection, which reports what it was told to do.
async fn proxy(kind: ProxyKind, tls: Arc<rustls::ServerConfig>) -> (SocketAddr, oneshot::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (report, reported) = oneshot::channel();
    tokio::spawn(async move {
        let (inbound, _) = listener.accept().await.unwrap();
        let mut inbound = match kind {
            ProxyKind::Https => {
                let acceptor = tokio_rustls::TlsAcceptor::from(tls);
                UpgradedIo::new(acceptor.accept(inbound).await.unwrap())
            }
            _ => UpgradedIo::new(inbound),
        };
        let target = match kind {
            ProxyKind::Socks5 => socks5(&mut inbound, report).await,
            _ => http_connect(&mut inbound, report).await,
        };
        let mut outbound = TcpStream::connect(target).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut inbound, &mut outbound).await;
    });
    (address, reported)
}

async fn http_connect(inbound: &mut UpgradedIo, report: oneshot::Sender<String>) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(inbound.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.split(' ').nth(1).unwrap().to_owned();
    report.send(head).unwrap();
    inbound.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    target
}

/// RFC 1928 with user name and password (RFC 1929), for one IPv4 target.
async fn socks5(inbound: &mut UpgradedIo, report: oneshot::Sender<String>) -> String {
    let mut greeting = [0; 2];
    inbound.read_exact(&mut greeting).await.unwrap();
    let mut methods = vec![0; usize::from(greeting[1])];
    inbound.read_exact(&mut methods).await.unwrap();
    assert!(methods.contains(&2), "{methods:?}");
    inbound.write_all(&[5, 2]).await.unwrap();
    let mut login = [0; 11];
    inbound.read_exact(&mut login).await.unwrap();
    assert_eq!(&login, b"\x01\x04user\x04pass");
    inbound.write_all(&[1, 0]).await.unwrap();
    let mut request = [0; 10];
    inbound.read_exact(&mut request).await.unwrap();
    let [5, 1, 0, 1, a, b, c, d, high, low] = request else {
        panic!("{request:?}")
    };
    inbound.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let target = format!("{a}.{b}.{c}.{d}:{}", u16::from_be_bytes([high, low]));
    report.send(format!("SOCKS {target} ")).unwrap();
    target
}

#[tokio::test]
async fn proxies_tunnel_tls() {
    let pki = pki();
    let config = tls::server_config(&pki.server, &ClientAuth::Off, provider()).unwrap();
    let running = start(whoami(), Some(Arc::clone(&config)), ServeLimits::default()).await;
    let verification = ServerVerification::Bundle(pki.authority.certificate_pem().into_bytes());
    let tls = tls::client_config(
        &ClientTls {
            verification,
            certificate: None,
        },
        provider(),
    )
    .unwrap();
    let rows = [
        (ProxyKind::Http, "http", "CONNECT"),
        (ProxyKind::Https, "https", "CONNECT"),
        (ProxyKind::Socks5, "socks5", "SOCKS"),
    ];
    for (kind, scheme, verb) in rows {
        let (address, reported) = proxy(kind, Arc::clone(&config)).await;
        let client = connect(ConnectOptions {
            tls: Some(Arc::clone(&tls)),
            proxy: ProxySettings::all(format!("{scheme}://user:pass@{address}")),
            ..ConnectOptions::default()
        })
        .unwrap();
        let uri = format!("https://{}/", running.address);
        assert_eq!(
            text(&client, &uri).await.unwrap().1,
            "HTTP/2.0 anonymous false",
            "{scheme}"
        );
        let told = reported.await.unwrap();
        assert!(
            told.starts_with(&format!("{verb} {} ", running.address)),
            "{told}"
        );
        let authorized = told
            .to_lowercase()
            .contains("proxy-authorization: basic dxnlcjpwyxnz");
        assert_eq!(authorized, kind != ProxyKind::Socks5, "{told}");
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let refusing = service(|_| async {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::FORBIDDEN;
        response
    });
    tokio::spawn(serve(
        listener,
        None,
        refusing,
        ServeLimits::default(),
        std::future::pending(),
    ));
    let tls = tls::client_config(
        &ClientTls {
            verification: ServerVerification::InsecureSkipVerify,
            certificate: None,
        },
        provider(),
    )
    .unwrap();
    let client = connect(ConnectOptions {
        tls: Some(tls),
        proxy: ProxySettings::all(format!("http://user:s3cret@{address}")),
        ..ConnectOptions::default()
    })
    .unwrap();
    let error = text(&client, "https://kube.example:6443/").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("proxy {address} could not reach kube.example:6443")
    );
    assert!(
        error.is_connect() && !format!("{error:?}").contains("s3cret"),
        "{error:?}"
    );
}

#[tokio::test]
async fn connection_errors_say_with_whom() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = connect(ConnectOptions::default()).unwrap();
    let error = text(&client, &format!("http://{address}/")).await.unwrap_err();
    assert!(error.is_connect() && error.is_connection_refused(), "{error:?}");
    assert_eq!(error.to_string(), format!("could not connect to {address}"));
    let error = text(&client, &format!("https://{address}/")).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}
