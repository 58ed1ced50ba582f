//! What only shows on the wire: answers to requests that are refused early, and requests that are none.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use kubewright_net::{Body, HttpService, ServeLimits, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Reads what it is sent, up to a kilobyte, and answers with the path and the length. What is sent to `/refused` is not read.
async fn start(limits: ServeLimits) -> SocketAddr {
    let service = HttpService::new(tower::service_fn(|request: Request<Body>| async move {
        if request.uri().path() == "/refused" {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::FORBIDDEN;
            return Ok::<_, Infallible>(response);
        }
        let path = request.uri().to_string();
        let (status, text) = match request.into_body().collect_limited(1024).await {
            Ok(body) => (StatusCode::OK, format!("{path} {}", body.len())),
            Err(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too large".to_owned()),
        };
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = status;
        Ok::<_, Infallible>(response)
    }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, None, service, limits, std::future::pending()));
    address
}

/// Sends all of it, then reads to the end.
async fn exchange(address: SocketAddr, pieces: &[&[u8]]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    for piece in pieces {
        stream.write_all(piece).await?;
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test]
async fn an_answer_is_read_although_the_body_was_not() {
    let address = start(ServeLimits::default()).await;
    let body = vec![b'x'; 6 << 20];
    let chunks = [
        format!("{:x}\r\n", body.len()).as_bytes(),
        &body,
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let announced = format!(
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let chunked = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    for (head, body) in [(announced.as_str(), &body), (chunked, &chunks)] {
        // The client is one that first sends everything.
        let answer = exchange(address, &[head.as_bytes(), body]).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        assert!(answer.ends_with("too large"), "{answer}");
    }
}

/// The type of a frame of HTTP/2, its flags and its stream (RFC 9113 section 4.1).
type FrameHead = (u8, u8, u32);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

async fn write_frame(stream: &mut TcpStream, (kind, flags, id): FrameHead, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &id.to_be_bytes()].concat();
    stream.write_all(&[&head, payload].concat()).await.unwrap();
}

async fn read_frame(stream: &mut TcpStream) -> FrameHead {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    let [a, b, c, kind, flags, id @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]).try_into().unwrap()];
    stream.read_exact(&mut payload).await.unwrap();
    (kind, flags, u32::from_be_bytes(id))
}

/// What is not read is neither an error of the client's nor the end of the connection, however often it happens.
#[tokio::test]
async fn a_connection_outlives_bodies_that_nobody_reads() {
    let address = start(ServeLimits::default()).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    write_frame(&mut stream, (SETTINGS, 0, 0), &[]).await;
    // POST http://a/refused: two entries of the static table, a path and an authority (RFC 7541 section 6).
    let head = [&[0x83, 0x86, 0x04, 8][..], b"/refused", &[0x41, 1, b'a']].concat();
    for id in (1..5000).step_by(2) {
        write_frame(&mut stream, (HEADERS, END_HEADERS, id), &head).await;
        let answer = loop {
            let (kind, flags, of) = read_frame(&mut stream).await;
            // The rest is about the connection.
            if of != 0 || !matches!(kind, SETTINGS | WINDOW_UPDATE) {
                break (kind, flags, of);
            }
        };
        assert_eq!(answer, (HEADERS, END_HEADERS | END_STREAM, id));
        write_frame(&mut stream, (DATA, END_STREAM, id), b"late").await;
    }
}

#[tokio::test]
async fn a_client_that_waits_for_leave_gets_it_or_an_answer() {
    let address = start(ServeLimits::default()).await;
    for (length, expect) in [(3, "HTTP/1.1 100 "), (1 << 20, "HTTP/1.1 413 ")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut first = [0; 13];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&first), expect);
        if length == 3 {
            stream.write_all(b"abc").await.unwrap();
            let mut rest = String::new();
            stream.read_to_string(&mut rest).await.unwrap();
            assert!(rest.ends_with("/a 3"), "{rest}");
        }
    }
}

/// Each is one connection; whatever comes back ends it.
#[tokio::test]
async fn what_is_no_request_is_refused() {
    let limits = ServeLimits {
        max_header_bytes: 16 << 10,
        header_read_timeout: Duration::from_secs(5),
        ..ServeLimits::default()
    };
    let address = start(limits).await;
    let many = format!("GET / HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(200));
    let long = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "x".repeat(70_000));
    let large = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(40_000));
    for (request, expect) in [
        (
            "GET /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 200",
        ),
        (
            "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\nGET /smuggled",
            "HTTP/1.1 200",
        ),
        ("nonsense\r\n\r\n", "HTTP/1.1 400"),
        ("GET /a b HTTP/1.1\r\nhost: a\r\n\r\n", "HTTP/1.1 400"),
        ("GET / HTTP/3.7\r\nhost: a\r\n\r\n", "HTTP/1.1 400"),
        ("GET / HTTP/1.1\r\nhost : a\r\n\r\n", "HTTP/1.1 400"),
        ("GET / HTTP/1.1\r\nhost: a\r\n folded: b\r\n\r\n", "HTTP/1.1 400"),
        ("GET / HTTP/1.1\r\nx: a\0b\r\n\r\n", "HTTP/1.1 400"),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 400",
        ),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\na",
            "HTTP/1.1 400",
        ),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
            "HTTP/1.1 400",
        ),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 400",
        ),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
            "HTTP/1.1 400",
        ),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, identity\r\n\r\n",
            "HTTP/1.1 400",
        ),
        (
            "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 400",
        ),
        (&many, "HTTP/1.1 431"),
        (&large, "HTTP/1.1 431"),
        (&long, "HTTP/1.1 431"),
    ] {
        let answer = exchange(address, &[request.as_bytes()]).await;
        let shown = request.escape_debug().to_string();
        let shown = &shown[..shown.len().min(90)];
        let answer = answer.unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert!(answer.starts_with(expect), "{shown}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{shown}: {answer}");
    }
}

/// With both lengths the chunks count, so that what follows them is not part of the body, and the connection ends.
#[tokio::test]
async fn two_lengths_are_one() {
    let address = start(ServeLimits::default()).await;
    let request = "POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 40\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let answer = exchange(address, &[request.as_bytes()]).await.unwrap();
    assert!(answer.contains("/a 3"), "{answer}");
}
