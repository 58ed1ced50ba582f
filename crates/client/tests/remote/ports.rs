//! Ports of pods, proxies, and ports of this machine that lead there.

use std::net::{Ipv4Addr, SocketAddr};

use http::{Method, Response};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kubewright_client::{Api, Error, ProxyTarget};
use kubewright_net::{Body, HttpService};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::node::{Asked, Socket, V4, pods, pods_on, service};

const DATA: u8 = 0;
const ERROR: u8 = 1;

/// A node on whose port 80 each word is said again in capitals until `bye`, and on whose other ports nothing listens.
async fn shout(uri: String, mut socket: Socket) {
    let port: u16 = uri.rsplit_once('=').unwrap().1.parse().unwrap();
    socket.send(DATA, port.to_le_bytes()).await;
    socket.send(ERROR, port.to_le_bytes()).await;
    if port != 80 {
        socket
            .send(
                ERROR,
                format!("error forwarding port {port} to pod web: connection refused"),
            )
            .await;
        return socket.close().await;
    }
    let mut word = Vec::new();
    while let Some(message) = socket.receive().await {
        assert_eq!(message[0], DATA);
        word.extend_from_slice(&message[1..]);
        socket.send(DATA, message[1..].to_ascii_uppercase()).await;
        if word.ends_with(b"bye") {
            return socket.close().await;
        }
    }
}

#[tokio::test]
async fn a_stream_for_each_port() {
    let asked = Asked::default();
    let pods = pods(service(V4, asked.clone(), shout));
    let mut streams = pods.port_forward("web", &[80, 81]).await.unwrap();
    let path = "GET /api/v1/namespaces/team/pods/web/portforward?ports=";
    assert_eq!(asked.all(), [format!("{path}80 {V4}"), format!("{path}81 {V4}")]);
    let (mut nobody, mut shouting) = (streams.pop().unwrap(), streams.pop().unwrap());
    let error = nobody.read_u8().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("port 81 to pod web: connection refused"),
        "{error}"
    );
    shouting.write_all("grüß".as_bytes()).await.unwrap();
    shouting.write_all(b" bye").await.unwrap();
    let mut text = String::new();
    shouting.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "GRüß BYE");
    let none = pods.port_forward("web", &[0]).await.unwrap_err();
    assert!(matches!(none, Error::Invalid { .. }));
}

#[tokio::test]
async fn a_connection_that_breaks_is_no_end() {
    let pods = pods_on(V4, |_, mut socket: Socket| async move {
        socket.send(DATA, [80, 0]).await;
        socket.send(DATA, "half").await;
    });
    let mut stream = pods.port_forward("web", &[80]).await.unwrap().remove(0);
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap_err();
    assert_eq!(text, b"half");
}

#[tokio::test]
async fn a_port_of_this_machine() {
    let pods = pods_on(V4, shout);
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let forwarder = pods.listen("web", 80, any).await.unwrap();
    let mut connections = Vec::new();
    for _ in 0..3 {
        connections.push(TcpStream::connect(forwarder.local_addr()).await.unwrap());
    }
    for (number, connection) in connections.iter_mut().enumerate() {
        connection
            .write_all(format!("{number} bye").as_bytes())
            .await
            .unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, format!("{number} BYE"));
    }
    // One where nothing listens is closed.
    let nobody = pods.listen("web", 81, any).await.unwrap();
    let mut connection = TcpStream::connect(nobody.local_addr()).await.unwrap();
    assert_eq!(connection.read(&mut [0]).await.unwrap_or(0), 0);
    let mut open = TcpStream::connect(forwarder.local_addr()).await.unwrap();
    open.write_all(b"x").await.unwrap();
    open.read_exact(&mut [0]).await.unwrap();
    let address = forwarder.local_addr();
    drop(forwarder);
    assert_eq!(open.read(&mut [0]).await.unwrap_or(0), 0);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn proxies() {
    let service = HttpService::from_fn(|request| async move {
        Ok(Response::new(Body::from(format!(
            "{} {}",
            request.method(),
            request.uri()
        ))))
    });
    let pods = pods(service);
    let services: Api<Service> = Api::namespaced(pods.client(), "team");
    let nodes: Api<Node> = Api::cluster(pods.client());
    let web = ProxyTarget::new("web");
    for (request, expect) in [
        (
            pods.proxy(Method::GET, &web, "/metrics").param("name", "a b"),
            "GET /api/v1/namespaces/team/pods/web/proxy/metrics?name=a+b",
        ),
        (
            pods.proxy(Method::POST, &web.clone().port(8080), "a%2Fb/"),
            "POST /api/v1/namespaces/team/pods/web:8080/proxy/a%2Fb/",
        ),
        (
            services.proxy(Method::GET, &web.clone().port("http").https(), ""),
            "GET /api/v1/namespaces/team/services/https:web:http/proxy/",
        ),
        (
            services.proxy(Method::GET, &web.clone().https(), "/"),
            "GET /api/v1/namespaces/team/services/https:web:/proxy/",
        ),
        (
            nodes.proxy(Method::GET, &"worker".into(), "/healthz"),
            "GET /api/v1/nodes/worker/proxy/healthz",
        ),
    ] {
        assert_eq!(request.bytes().await.unwrap(), expect);
    }
    let pods: Api<Pod> = pods;
    for request in [
        pods.proxy(Method::GET, &web, "/a?b"),
        pods.proxy(Method::GET, &ProxyTarget::new("a:b"), "/"),
        pods.proxy(Method::GET, &ProxyTarget::new("a/b"), "/"),
    ] {
        assert!(matches!(request.bytes().await, Err(Error::Invalid { .. })));
    }
}
