//! `exec` and `attach`.

use std::io::ErrorKind;
use std::time::Duration;

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use http::{Response, header};
use kubewright_client::{
    ClientOptions, Error, ExecOptions, MAX_MESSAGE_BYTES, MAX_PIPE_BYTES, MAX_SILENCE, PING_INTERVAL, Stdio,
    StreamProtocol, TerminalSize,
};
use kubewright_net::{Body, HttpService};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

use crate::node::{
    Asked, CLOSE, ERROR, RESIZE, STDERR, STDIN, STDOUT, SUCCESS, Socket, V4, V5, exit, pods, pods_on, service,
};

/// Says what came in, in capitals.
async fn shout(_: String, mut socket: Socket) {
    socket.send(STDOUT, "").await;
    let input = socket.input().await;
    socket.send(STDOUT, input.to_ascii_uppercase()).await;
    socket.send(STDERR, "done").await;
    socket.end(SUCCESS).await;
}

#[tokio::test]
async fn a_process_reads_writes_and_ends() {
    let asked = Asked::default();
    let pods = pods(service(V5, asked.clone(), shout));
    let options = ExecOptions::of("app").with_stdin();
    let mut process = pods.exec("web", &["tr", "a-z"], &options).await.unwrap();
    assert_eq!(process.protocol(), StreamProtocol::V5);
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all("grüß".as_bytes()).await.unwrap();
    stdin.shutdown().await.unwrap();
    let output = process.output(100).await.unwrap();
    assert!(output.status.is_success());
    assert_eq!(output.stdout, "GRüß".as_bytes());
    assert_eq!(output.stderr, "done");
    let path = "/api/v1/namespaces/team/pods/web/exec?command=tr&command=a-z&container=app";
    let expect = format!("GET {path}&stderr=true&stdin=true&stdout=true {V5}, {V4}");
    assert_eq!(asked.all(), [expect]);
}

#[tokio::test]
async fn an_older_server_and_a_code() {
    let pods = pods_on(V4, |_, mut socket: Socket| async move {
        socket.send(STDOUT, "half").await;
        socket.end(exit(7)).await;
    });
    let mut process = pods.attach("web", &ExecOptions::default()).await.unwrap();
    assert_eq!(process.protocol(), StreamProtocol::V4);
    assert_eq!(process.status().await.unwrap().code(), 7);
    // Asked again, and read late.
    assert_eq!(process.status().await.unwrap().code(), 7);
    let mut text = String::new();
    process
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert_eq!(text, "half");
    let output = pods
        .exec_output("web", &["x"], &ExecOptions::default(), 4)
        .await
        .unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (7, &b"half"[..]));
    let larger = pods.exec_output("web", &["x"], &ExecOptions::default(), 3).await;
    assert!(matches!(larger, Err(Error::TooLarge { limit: 3, .. })));
}

#[tokio::test]
async fn terminals_have_sizes() {
    let pods = pods_on(V5, |_, mut socket: Socket| async move {
        let size = socket.receive().await.unwrap();
        assert_eq!(size[0], RESIZE);
        socket.send(STDOUT, &size[1..]).await;
        socket.end(SUCCESS).await;
    });
    let options = ExecOptions::default().with_terminal();
    let process = pods.exec("web", &["sh"], &options).await.unwrap();
    assert!(process.stderr.is_none() && process.stdin.is_none());
    process
        .resize(TerminalSize {
            width: 80,
            height: 24,
        })
        .await
        .unwrap();
    let output = process.output(100).await.unwrap();
    assert_eq!(output.stdout, r#"{"Width":80,"Height":24}"#);
    let without = pods.exec("web", &["sh"], &ExecOptions::default()).await.unwrap();
    let refused = without.resize(TerminalSize { width: 1, height: 1 }).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn what_cannot_be_is_not_sent() {
    let pods = pods(HttpService::from_fn(|request| async move {
        panic!("{request:?}");
    }));
    let both = ExecOptions {
        stderr: Stdio::Piped,
        ..ExecOptions::default().with_terminal()
    };
    for (name, command, options) in [
        ("web", &[][..], ExecOptions::default()),
        ("web", &["x"], both),
        ("we/b", &["x"], ExecOptions::default()),
    ] {
        let error = pods.exec(name, command, &options).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}

/// An answer that is no websocket tells why.
#[tokio::test]
async fn refusals_are_those_of_the_server() {
    let answer = |code: u16, body: &'static str| {
        let service = HttpService::from_fn(move |_| async move {
            let response = Response::builder()
                .status(code)
                .header(header::CONTENT_TYPE, "application/json");
            Ok(response.body(Body::from(body)).unwrap())
        });
        async move {
            let exec = pods(service).exec("web", &["x"], &ExecOptions::default()).await;
            exec.unwrap_err()
        }
    };
    let error = answer(
        500,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"dial tcp 10.0.0.1:10250: this server connects to no nodes","code":500}"#,
    )
    .await;
    assert!(error.is_internal_error());
    assert!(
        error.to_string().contains("exec") && error.to_string().contains("connects to no nodes"),
        "{error}"
    );
    assert!(answer(404, "").await.is_not_found());
    assert!(matches!(answer(200, "{}").await, Error::Decode { .. }));
}

#[tokio::test]
async fn a_server_of_another_protocol() {
    let pods = pods_on("base64.channel.k8s.io", |_, _| async {});
    let error = pods
        .exec("web", &["x"], &ExecOptions::default())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Decode { .. }), "{error}");
}

/// What servers do that they should not, and what becomes of it.
#[tokio::test]
async fn odd_servers() {
    type Check = fn(Result<i32, Error>);
    let lost: Check = |found| assert!(found.unwrap_err().is_connection_closed());
    let undecodable: Check = |found| {
        assert!(matches!(found.unwrap_err(), Error::Shared(error) if matches!(&*error, Error::Decode { .. })))
    };
    let rows: [(&str, Check); 12] = [
        ("close", lost),
        ("cut", lost),
        ("output, cut", lost),
        ("garbage, success", |found| assert_eq!(found.unwrap(), 0)),
        ("status twice", |found| assert_eq!(found.unwrap(), 3)),
        ("status in parts", |found| assert_eq!(found.unwrap(), 4)),
        ("no status", undecodable),
        ("text", undecodable),
        ("huge", |found| {
            assert!(
                matches!(found.unwrap_err(), Error::Shared(error) if matches!(&*error, Error::TooLarge { .. }))
            )
        }),
        ("unmasked nonsense", undecodable),
        ("status, never closed", |found| assert_eq!(found.unwrap(), 0)),
        ("cannot run", |found| {
            let error = found.unwrap_err();
            assert!(
                error.is_internal_error() && error.to_string().contains("no such container"),
                "{error}"
            );
        }),
    ];
    let pods = pods_on(V5, |uri, mut socket: Socket| async move {
        let script = uri.split("command=").nth(1).unwrap().split('&').next().unwrap();
        match script.replace('+', " ").replace("%2C", ",").as_str() {
            "close" => socket.close().await,
            "cut" => {}
            "output, cut" => socket.send(STDOUT, "half").await,
            "garbage, success" => {
                socket.0.send(Message::binary(Vec::new())).await.unwrap();
                for channel in [STDIN, RESIZE, 9, 254, CLOSE] {
                    socket.send(channel, [0xff, 0xfe, 0]).await;
                }
                socket.0.send(Message::Ping("x".into())).await.unwrap();
                socket.end(SUCCESS).await;
            }
            "status twice" => {
                socket.send(ERROR, exit(3)).await;
                socket.end(SUCCESS).await;
            }
            "status in parts" => {
                let status = exit(4);
                for part in status.as_bytes().chunks(50) {
                    socket.send(ERROR, part).await;
                }
                socket.close().await;
            }
            "no status" => socket.end("what?").await,
            "text" => {
                socket.0.send(Message::text("hello")).await.unwrap();
                socket.close().await;
            }
            "huge" => {
                let _ = socket
                    .0
                    .send(Message::binary(vec![STDOUT; MAX_MESSAGE_BYTES + 1]))
                    .await;
            }
            "unmasked nonsense" => {
                let io = socket.0.get_mut();
                io.write_all(&[0x7f; 64]).await.unwrap();
                io.flush().await.unwrap();
                socket.close().await;
            }
            "status, never closed" => {
                socket.send(ERROR, SUCCESS).await;
                std::future::pending::<()>().await;
            }
            "cannot run" => {
                let status = r#"{"metadata":{},"status":"Failure","message":"Internal error occurred: no such container","reason":"InternalError","code":500}"#;
                socket.end(status).await;
            }
            other => panic!("{other}"),
        }
    });
    for (script, check) in rows {
        let mut process = pods
            .exec("web", &[script], &ExecOptions::default())
            .await
            .unwrap();
        let mut stdout = process.stdout.take().unwrap();
        let status = process.status().await.map(|status| status.code());
        // Who reads is told as well.
        let mut text = Vec::new();
        let read = stdout.read_to_end(&mut text).await;
        assert_eq!(
            read.is_err(),
            status.as_ref().is_err_and(|error| !error.is_internal_error()),
            "{script}: {status:?} {read:?}"
        );
        check(status);
    }
}

/// Each output ends where version 5 says so, and the other goes on.
#[tokio::test]
async fn an_output_may_end_before_the_process() {
    let pods = pods_on(V5, |_, mut socket: Socket| async move {
        socket.send(STDOUT, "a").await;
        socket.send(CLOSE, [STDOUT]).await;
        // The client has seen the end.
        assert_eq!(socket.input().await, b"seen");
        socket.send(STDERR, "b").await;
        socket.end(SUCCESS).await;
    });
    let mut process = pods
        .exec("web", &["x"], &ExecOptions::default().with_stdin())
        .await
        .unwrap();
    let mut text = String::new();
    process
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert_eq!(text, "a");
    process.stdin.take().unwrap().write_all(b"seen").await.unwrap();
    assert_eq!(process.output(9).await.unwrap().stderr, "b");
}

/// A process that writes what it reads stops neither itself nor the client, however much there is.
#[tokio::test]
async fn much_in_both_directions() {
    let pods = pods_on(V5, |_, mut socket: Socket| async move {
        while let Some(message) = socket.receive().await {
            match message.as_ref() {
                [STDIN, bytes @ ..] => socket.send(STDOUT, bytes).await,
                _ => break,
            }
        }
        socket.end(SUCCESS).await;
    });
    let mut process = pods
        .exec("web", &["cat"], &ExecOptions::default().with_stdin())
        .await
        .unwrap();
    let content: Vec<u8> = (0..3_000_000_u32)
        .map(|number| ((number * 31) >> 3) as u8)
        .collect();
    let mut stdin = process.stdin.take().unwrap();
    let sent = content.clone();
    let writing = tokio::spawn(async move {
        stdin.write_all(&sent).await.unwrap();
        stdin.shutdown().await.unwrap();
    });
    let output = process.output(content.len()).await.unwrap();
    writing.await.unwrap();
    assert!(output.stdout == content);
}

/// An output that is not read holds the process; dropping it lets go.
#[tokio::test(start_paused = true)]
async fn what_is_not_read_holds_the_process() {
    let pods = pods_on(V5, |_, mut socket: Socket| async move {
        for _ in 0..100 {
            socket.send(STDERR, vec![b'e'; MAX_PIPE_BYTES / 4]).await;
        }
        socket.end(SUCCESS).await;
    });
    let start = || async { pods.exec("web", &["x"], &ExecOptions::default()).await.unwrap() };
    let mut process = start().await;
    // The time that nothing is read in is not held against the server.
    let waited = tokio::time::timeout(MAX_SILENCE * 3, process.status()).await;
    assert!(waited.is_err());
    let mut stderr = process.stderr.take().unwrap();
    let mut some = vec![0; MAX_PIPE_BYTES * 2];
    stderr.read_exact(&mut some).await.unwrap();
    assert!(process.status().now_or_never().is_none());
    drop(stderr);
    assert!(process.status().await.unwrap().is_success());
    // Who only wants to know how it ends need not care.
    assert!(start().await.join().await.unwrap().is_success());
}

/// Nothing comes from a server that is gone, and pings keep a silent one.
#[tokio::test(start_paused = true)]
async fn silence() {
    let pods = pods_on(V5, |uri, mut socket: Socket| async move {
        if uri.contains("command=dead") {
            // It reads nothing, so it answers no pings.
            tokio::time::sleep(MAX_SILENCE * 2).await;
            return;
        }
        let until = tokio::time::Instant::now() + MAX_SILENCE * 2;
        let mut pings = 0;
        while let Ok(message) = tokio::time::timeout_at(until, socket.0.next()).await {
            match message.unwrap().unwrap() {
                Message::Ping(_) => pings += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(pings, (MAX_SILENCE * 2).as_secs() / PING_INTERVAL.as_secs());
        socket.end(SUCCESS).await;
    });
    let began = tokio::time::Instant::now();
    let mut dead = pods
        .exec("web", &["dead"], &ExecOptions::default())
        .await
        .unwrap();
    let error = dead.status().await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(began.elapsed().as_secs(), MAX_SILENCE.as_secs());
    let read = dead.stdout.take().unwrap().read_u8().await.unwrap_err();
    assert_eq!(read.kind(), ErrorKind::TimedOut);
    let silent = pods
        .exec("web", &["sleep"], &ExecOptions::default())
        .await
        .unwrap();
    assert!(silent.join().await.unwrap().is_success());
}

/// A server that never answers the handshake is waited for as long as any request, and not sent another.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers() {
    let service = HttpService::from_fn(|_| std::future::pending());
    let pods = pods(service);
    let client = pods.client().with_client_options(ClientOptions {
        timeout: Some(Duration::from_secs(7)),
        ..ClientOptions::default()
    });
    let pods = kubewright_client::Api::<k8s_openapi::api::core::v1::Pod>::default_namespaced(&client);
    let error = pods
        .exec("web", &["x"], &ExecOptions::default())
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Timeout { after, .. } if after.as_secs() == 7),
        "{error}"
    );
}

/// A command whose request was lost may have run: it is not run again.
#[tokio::test]
async fn a_lost_request_is_not_sent_again() {
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = tries.clone();
    let pods = pods(HttpService::from_fn(move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Err(kubewright_net::TransportError::closed("testing")) }
    }));
    let error = pods
        .exec("web", &["x"], &ExecOptions::default())
        .await
        .unwrap_err();
    assert!(error.is_connection_closed());
    assert_eq!(tries.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// Dropping the process ends the connection and the streams, wherever they are.
#[tokio::test]
async fn dropping_it_ends_it() {
    let (sender, mut ended) = tokio::sync::mpsc::channel(1);
    let pods = pods_on(V5, move |_, mut socket: Socket| {
        let sender = sender.clone();
        async move {
            sender.send(socket.receive().await).await.unwrap();
        }
    });
    let mut process = pods
        .exec("web", &["x"], &ExecOptions::default().with_stdin())
        .await
        .unwrap();
    let (mut stdin, mut stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    drop(process);
    let ended = tokio::time::timeout(Duration::from_secs(30), ended.recv()).await;
    assert_eq!(ended, Ok(Some(None)), "the node sees the end, and nothing else");
    assert_eq!(
        stdout.read_u8().await.unwrap_err().kind(),
        ErrorKind::ConnectionAborted
    );
    assert_eq!(
        stdin.write_all(b"x").await.unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
}

/// Both outputs byte by byte and in pieces of any size, read and written by several threads: nothing is lost, moved, or waited for in vain.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn pieces_of_any_size() {
    let text = "grüß 你好 🦀 ".repeat(300);
    let sent = text.clone();
    let pods = pods_on(V5, move |_, mut socket: Socket| {
        let text = sent.clone();
        async move {
            let (mut out, mut err) = (text.as_bytes().chunks(1), text.as_bytes().chunks(7));
            loop {
                match (out.next(), err.next()) {
                    (None, None) => break,
                    (one, two) => {
                        for (channel, bytes) in [(STDOUT, one), (STDERR, two)] {
                            if let Some(bytes) = bytes {
                                socket.send(channel, bytes).await;
                            }
                        }
                    }
                }
            }
            socket.end(SUCCESS).await;
        }
    });
    let read = |mut stream: kubewright_client::RemoteOutput, size: usize| {
        tokio::spawn(async move {
            let (mut all, mut piece) = (Vec::new(), vec![0; size]);
            loop {
                match stream.read(&mut piece).await.unwrap() {
                    0 => return String::from_utf8(all).unwrap(),
                    length => all.extend_from_slice(&piece[..length]),
                }
            }
        })
    };
    for size in [1, 3, 10_000] {
        let mut process = pods.exec("web", &["x"], &ExecOptions::default()).await.unwrap();
        let stdout = read(process.stdout.take().unwrap(), size);
        let stderr = read(process.stderr.take().unwrap(), size + 1);
        assert!(process.status().await.unwrap().is_success());
        assert!(stdout.await.unwrap() == text && stderr.await.unwrap() == text);
    }
}
