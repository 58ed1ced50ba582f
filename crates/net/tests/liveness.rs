//! How a client learns that its connection is of no use any more.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Request, Response};
use jiff::Timestamp;
use kubewright_net::{
    Body, CertificateAuthority, ClientAuth, ClientTls, ConnectOptions, Http2, HttpService, ServeLimits,
    ServerVerification, Validity, connect, connect_closable, serve, tls,
};
use rustls::crypto::CryptoProvider;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A server that answers with one event and is silent from then on; how to reach it.
async fn silent() -> (SocketAddr, ConnectOptions) {
    let validity = Validity::starting(Timestamp::now(), Duration::from_secs(86_400));
    let authority = CertificateAuthority::new("test-ca", validity).unwrap();
    let server = authority.issue_server(&["127.0.0.1"], validity).unwrap();
    let config = tls::server_config(&server, &ClientAuth::Off, provider()).unwrap();
    let service = HttpService::from_fn(|_| async {
        let first = stream::iter([Ok(Bytes::from_static(b"event"))]);
        Ok(Response::new(Body::stream(first.chain(stream::pending()))))
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(
        listener,
        Some(config),
        service,
        ServeLimits::default(),
        std::future::pending(),
    ));
    let settings = ClientTls {
        verification: ServerVerification::Bundle(authority.certificate_pem().into_bytes()),
        certificate: None,
    };
    let options = ConnectOptions {
        tls: Some(tls::client_config(&settings, provider()).unwrap()),
        ..ConnectOptions::default()
    };
    (address, options)
}

/// The answer of the server, whose first event has come.
async fn watch(client: &HttpService, address: SocketAddr) -> Body {
    let request = Request::get(format!("https://{address}/"))
        .body(Body::empty())
        .unwrap();
    let mut watch = client.send(request).await.unwrap().into_body();
    assert_eq!(watch.chunk().await.unwrap().as_deref(), Some(&b"event"[..]));
    watch
}

/// A server behind a relay that can be told to pass on nothing more while both connections stay open, as a network does that was cut.
async fn half_open(target: SocketAddr) -> (SocketAddr, Arc<Semaphore>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let cut = Arc::new(Semaphore::new(0));
    let told = Arc::clone(&cut);
    tokio::spawn(async move {
        let (mut inbound, _) = listener.accept().await.unwrap();
        let mut outbound = TcpStream::connect(target).await.unwrap();
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut inbound, &mut outbound) => {}
            _ = told.acquire() => {}
        }
        // Neither end learns anything.
        std::future::pending::<()>().await;
        drop((inbound, outbound));
    });
    (address, cut)
}

#[tokio::test]
async fn pings_find_a_connection_that_is_dead() {
    let (server, options) = silent().await;
    // Pings are answered as long as the network is there, so silence alone is no reason to give up. Then it is cut, and the other
    // client does not wait for an answer for long.
    for (ping_timeout, is_cut) in [
        (Duration::from_secs(60), false),
        (Duration::from_millis(30), true),
    ] {
        let (address, cut) = half_open(server).await;
        let client = connect(ConnectOptions {
            ping_interval: Duration::from_millis(30),
            ping_timeout,
            ..options.clone()
        })
        .unwrap();
        let mut watch = watch(&client, address).await;
        if is_cut {
            cut.add_permits(1);
            let error = watch.chunk().await.unwrap_err();
            assert!(error.is_closed(), "{error:?}");
        } else {
            let silence = tokio::time::timeout(Duration::from_millis(150), watch.chunk()).await;
            assert!(silence.is_err(), "{silence:?}");
        }
    }
}

#[tokio::test]
async fn connections_can_be_closed_all_at_once() {
    for http2 in [Http2::Offered, Http2::Off] {
        let (address, options) = silent().await;
        let (client, connections) = connect_closable(ConnectOptions { http2, ..options }).unwrap();
        let mut watch = watch(&client, address).await;
        connections.close();
        assert!(watch.chunk().await.unwrap_err().is_closed(), "{http2:?}");
    }
}
