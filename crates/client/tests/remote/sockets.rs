//! Websockets over TLS beside HTTP/2: what is upgraded has a connection of HTTP/1.1 of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Response, Version, header};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kubewright_client::{Api, Client, Config, ExecOptions};
use kubewright_net::{
    Body, CertificateAuthority, ClientAuth, HttpService, ServeLimits, ServerVerification, Validity, serve,
    tls,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::node::{Asked, STDOUT, SUCCESS, Socket, V5, service};

#[tokio::test]
async fn a_process_beside_http2() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let validity = Validity::starting(Timestamp::now(), Duration::from_secs(86_400));
    let authority = CertificateAuthority::new("ca", validity).unwrap();
    let server = authority.issue_server(&["127.0.0.1"], validity).unwrap();
    let settings = tls::server_config(&server, &ClientAuth::Off, Arc::clone(&provider)).unwrap();
    let versions = Arc::new(Mutex::new(Vec::new()));
    let node = service(V5, Asked::default(), |_, mut socket: Socket| async move {
        let input = socket.input().await;
        socket.send(STDOUT, input).await;
        socket.end(SUCCESS).await;
    });
    let seen = Arc::clone(&versions);
    let both = HttpService::from_fn(move |request| {
        seen.lock().unwrap().push(request.version());
        let node = node.clone();
        async move {
            if request.headers().contains_key(header::UPGRADE) {
                return node.send(request).await;
            }
            Ok(Response::new(Body::from("{}")))
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ServeLimits::default();
    tokio::spawn(serve(
        listener,
        Some(settings),
        both,
        limits,
        std::future::pending(),
    ));
    let mut config = Config::new(format!("https://{address}").parse().unwrap());
    config.verification = ServerVerification::Bundle(authority.certificate_pem().into_bytes());
    config.default_namespace = "team".to_owned();
    let client = Client::new(config, provider).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(&client);

    pods.get("web").await.unwrap();
    let content = vec![7; 1 << 20];
    let mut process = pods
        .exec("web", &["cat"], &ExecOptions::default().with_stdin())
        .await
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let sent = content.clone();
    let writing = tokio::spawn(async move {
        stdin.write_all(&sent).await.unwrap();
        stdin.shutdown().await.unwrap();
    });
    let output = process.output(1 << 20).await.unwrap();
    writing.await.unwrap();
    assert!(output.stdout == content);
    pods.get("web").await.unwrap();
    let expect = [Version::HTTP_2, Version::HTTP_11, Version::HTTP_2];
    assert_eq!(*versions.lock().unwrap(), expect);
}
