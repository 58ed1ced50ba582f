//! Ports of pods: [`PortStream`], and [`PortForwarder`] for those of this machine.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::Method;
use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use super::driver::{self, Ends, MAX_PIPE_BYTES, Running};
use super::machine::{End, Failure, Input, Machine, NO_CODE, NORMAL, Step};
use super::pipe::{PipeReader, PipeWriter, pipe};
use crate::api::Api;
use crate::error::Error;

const PROTOCOLS: &[&str] = &["v4.channel.k8s.io"];
const DATA: u8 = 0;
const ERROR: u8 = 1;
/// Bytes of what a node says of a port: 64 KiB.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Connections of a [`PortForwarder`] at a time: 256. Further ones wait.
pub const MAX_FORWARDED: usize = 256;
/// How long a pod may be silent once the local side has sent all it has: 30 s.
///
/// The pod cannot be told that there is no more, and a local side that left altogether looks the same as one that waits for the rest.
const MAX_SILENCE_AFTER_END: Duration = Duration::from_secs(30);
/// Bytes that are copied at once.
const COPY_BYTES: usize = 16 << 10;

impl Api<Pod> {
    /// Connects to ports of a pod: a stream for each, in the same order. Each has a connection of its own, since with several ports over
    /// one a busy one would stop the others.
    ///
    /// That nothing listens at a port is told by the first read of its stream.
    ///
    /// ```no_run
    /// # async fn example(client: kubewright_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_client::Api;
    /// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    ///
    /// let pods: Api<Pod> = Api::namespaced(&client, "team");
    /// let mut port = pods.port_forward("web", &[80]).await?.remove(0);
    /// port.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
    /// let mut answer = String::new();
    /// port.read_to_string(&mut answer).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`exec`](Self::exec).
    pub async fn port_forward(&self, name: &str, ports: &[u16]) -> Result<Vec<PortStream>, Error> {
        let streams = ports.iter().map(|port| self.port_stream(name, *port));
        futures_util::future::try_join_all(streams).await
    }

    /// Forwards a port of this machine to one of a pod, a connection to the pod for each that is accepted. Port 0 of `local` is any that is free.
    ///
    /// # Errors
    ///
    /// `local` cannot be bound. Nothing is asked of the server before somebody connects.
    pub async fn listen(
        &self,
        name: impl Into<String>,
        port: u16,
        local: SocketAddr,
    ) -> io::Result<PortForwarder> {
        let listener = TcpListener::bind(local).await?;
        let local = listener.local_addr()?;
        let (pods, name) = (self.clone(), name.into());
        let task = tokio::spawn(accept(listener, pods, name, port));
        Ok(PortForwarder {
            local,
            task: task.abort_handle(),
        })
    }

    async fn port_stream(&self, name: &str, port: u16) -> Result<PortStream, Error> {
        let request = self.object_request(Method::GET, name).subresource("portforward");
        let mut request = request.verb("portforward").param("ports", &port.to_string());
        if port == 0 {
            request.refuse("there is no port 0");
        }
        let (socket, _, _) = super::open(request, PROTOCOLS).await?;
        let (input, writer) = pipe(MAX_PIPE_BYTES);
        let (reader, output) = pipe(MAX_PIPE_BYTES);
        let ends = Ends {
            input: Some(input),
            outputs: [Some(output)],
            sizes: None,
        };
        let (running, _) = driver::run(socket, PortChannels::new(port), ends);
        Ok(PortStream {
            reader,
            writer,
            _running: running,
        })
    }
}

/// A connection to a port of a pod. Dropping it ends it; what was not flushed may be lost then.
///
/// Reading ends when the pod closes its side, and with an error if the connection broke or the node could not reach the port. The pod
/// does not learn that the writing side was shut down: the protocol has no word for it.
#[derive(Debug)]
pub struct PortStream {
    reader: PipeReader,
    writer: PipeWriter,
    _running: Running,
}

impl AsyncRead for PortStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(cx, buf)
    }
}

impl AsyncWrite for PortStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

/// A port of this machine that leads into a pod. Dropping it closes the port and all of its connections.
#[derive(Debug)]
pub struct PortForwarder {
    local: SocketAddr,
    task: AbortHandle,
}

impl PortForwarder {
    /// The address that it listens at.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for PortForwarder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts for ever. The connections are tasks of a set, which end with it.
async fn accept(listener: TcpListener, pods: Api<Pod>, name: String, port: u16) {
    let room = Arc::new(Semaphore::new(MAX_FORWARDED));
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let local = match listener.accept().await {
            Ok((local, _)) => local,
            Err(error) => {
                // Such as too many open files: that may pass.
                tracing::warn!(%error, "a connection to a forwarded port was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let (pods, name) = (pods.clone(), name.clone());
        connections.spawn(async move {
            let _place = place;
            match pods.port_stream(&name, port).await {
                Ok(remote) => {
                    if let Err(error) = forward(local, remote, MAX_SILENCE_AFTER_END).await {
                        tracing::warn!(pod = name, port, %error, "a forwarded connection broke");
                    }
                }
                Err(error) => tracing::warn!(pod = name, port, %error, "a port could not be forwarded"),
            }
        });
    }
}

const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Copies in both directions until the pod closes. Neither waits for the other: who sends all before it reads is not stopped.
///
/// # Errors
///
/// Either side broke, or the pod was silent for too long when the local side had sent all it had.
async fn forward(
    mut local: TcpStream,
    remote: impl AsyncRead + AsyncWrite,
    max_silence: Duration,
) -> io::Result<()> {
    let (mut from_local, mut to_local) = local.split();
    let (mut from_pod, mut to_pod) = tokio::io::split(remote);
    let mut up = pin!(async {
        tokio::io::copy(&mut from_local, &mut to_pod).await?;
        to_pod.shutdown().await
    });
    // How often the pod was heard, and whether it is waited for.
    let (heard, is_waiting) = (AtomicU64::new(0), AtomicBool::new(true));
    let mut down = pin!(async {
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            is_waiting.store(true, Ordering::Relaxed);
            let length = from_pod.read(&mut buffer).await?;
            is_waiting.store(false, Ordering::Relaxed);
            heard.fetch_add(1, Ordering::Relaxed);
            if length == 0 {
                return to_local.shutdown().await;
            }
            to_local.write_all(&buffer[..length]).await?;
        }
    });
    tokio::select! {
        ended = &mut down => return ended,
        sent = &mut up => match sent {
            // That the pod takes no more is told by what is read of it.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        },
    }
    loop {
        let before = heard.load(Ordering::Relaxed);
        tokio::select! {
            ended = &mut down => return ended,
            () = tokio::time::sleep(max_silence) => {
                if is_waiting.load(Ordering::Relaxed) && heard.load(Ordering::Relaxed) == before {
                    let why = "the pod was silent for too long after the local side had sent all it had";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
            }
        }
    }
}

/// The state of a connection of one port (k8s.io/cri-streaming pkg/streaming/portforward/websocket.go): bytes on one channel, errors on
/// another, and on each at first the number of the port in two bytes.
#[derive(Debug)]
struct PortChannels {
    port: u16,
    announced: [Announced; 2],
    error: BytesMut,
}

/// What has come of the number of a port.
#[derive(Debug, Default)]
struct Announced(BytesMut);

impl Announced {
    /// Takes what is missing from the front of a message.
    fn take(&mut self, message: &mut Bytes, port: u16) -> Result<(), Failure> {
        let missing = 2_usize.saturating_sub(self.0.len()).min(message.len());
        if missing == 0 {
            return Ok(());
        }
        self.0.extend_from_slice(&message.split_to(missing));
        match self.0.as_ref() {
            [low, high] if u16::from_le_bytes([*low, *high]) != port => Err(Failure::Unexpected {
                why: format!(
                    "the server forwards port {} instead of {port}",
                    u16::from_le_bytes([*low, *high])
                ),
            }),
            _ => Ok(()),
        }
    }
}

impl PortChannels {
    fn new(port: u16) -> Self {
        Self {
            port,
            announced: Default::default(),
            error: BytesMut::new(),
        }
    }
}

impl Machine for PortChannels {
    type Outcome = ();

    fn receive(&mut self, mut message: Bytes) -> Result<Step, Failure> {
        if message.is_empty() {
            return Ok(Step::Nothing);
        }
        let channel = message.split_to(1)[0];
        let Some(announced) = self.announced.get_mut(usize::from(channel)) else {
            return Ok(Step::Nothing);
        };
        announced.take(&mut message, self.port)?;
        Ok(match channel {
            _ if message.is_empty() => Step::Nothing,
            DATA => Step::Output(0, message),
            _ => {
                debug_assert_eq!(channel, ERROR);
                let room = MAX_ERROR_BYTES.saturating_sub(self.error.len());
                message.truncate(room);
                self.error.extend_from_slice(&message);
                Step::Nothing
            }
        })
    }

    fn send(&mut self, input: Input) -> Option<Bytes> {
        let Input::Bytes(bytes) = input else {
            return None;
        };
        let mut message = BytesMut::with_capacity(bytes.len() + 1);
        message.put_u8(DATA);
        message.extend_from_slice(&bytes);
        Some(message.freeze())
    }

    fn outcome(&mut self, end: End) -> Result<(), Failure> {
        if !self.error.is_empty() {
            let text = String::from_utf8_lossy(&self.error).into_owned();
            return Err(Failure::Refused { text });
        }
        match end {
            End::Closed {
                code: NORMAL | NO_CODE,
                ..
            } => Ok(()),
            end => Err(end.into_failure("forwarding a port")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of messages, and how it ends.
    fn run(messages: &[&[u8]], end: End) -> Result<Vec<u8>, Failure> {
        let mut channels = PortChannels::new(0x0150);
        let mut read = Vec::new();
        for message in messages {
            match channels.receive(Bytes::copy_from_slice(message))? {
                Step::Output(0, bytes) => read.extend_from_slice(&bytes),
                Step::Nothing => {}
                other => panic!("{other:?}"),
            }
        }
        channels.outcome(end).map(|()| read)
    }

    fn closed(code: u16) -> End {
        End::Closed {
            code,
            reason: String::new(),
        }
    }

    #[test]
    fn messages_of_a_port() {
        let port: &[&[u8]] = &[b"\x00\x50\x01", b"\x01\x50\x01"];
        let after = |rest: &[&'static [u8]]| [port, rest].concat();
        for (messages, expect) in [
            (after(&[]), &b""[..]),
            (after(&[b"\x00ab", b"\x00", b"", b"\x00c\xff"]), b"abc\xff"),
            // The number may come in parts, and with what follows it.
            (vec![&b"\x00\x50"[..], b"\x00\x01", b"\x00x"], b"x"),
            (vec![&b"\x00\x50\x01rest"[..]], b"rest"),
            // What belongs to no channel is dropped.
            (after(&[b"\x02zz", b"\xff\x00", b"\x00y"]), b"y"),
        ] {
            assert_eq!(run(&messages, closed(1000)).unwrap(), expect, "{messages:?}");
        }
        let refused = run(&after(&[b"\x01error forwarding ", b"\x01port 80"]), closed(1000));
        assert!(matches!(refused, Err(Failure::Refused { text }) if text == "error forwarding port 80"));
        let other = run(&[b"\x00\x51\x01"], closed(1000));
        assert!(matches!(other, Err(Failure::Unexpected { why }) if why.contains("337 instead of 336")));
        assert!(run(port, closed(1005)).is_ok());
        for end in [End::Cut, closed(1001), closed(1011)] {
            assert!(matches!(run(port, end), Err(Failure::Ended { .. })));
        }
        let long = [&[ERROR][..], &vec![b'x'; MAX_ERROR_BYTES * 2]].concat();
        let Err(Failure::Refused { text }) = run(&[port[1], &long], End::Cut) else {
            panic!("no refusal");
        };
        assert_eq!(text.len(), MAX_ERROR_BYTES);
    }

    #[test]
    fn only_bytes_are_sent() {
        let mut channels = PortChannels::new(80);
        let sent = channels.send(Input::Bytes(Bytes::from_static(b"ab")));
        assert_eq!(sent.as_deref(), Some(&b"\x00ab"[..]));
        assert_eq!(channels.send(Input::End), None);
    }

    /// A connection of this machine, both ends.
    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (listener.accept().await.unwrap().0, there)
    }

    #[tokio::test]
    async fn who_sends_all_before_it_reads_is_not_stopped() {
        const BYTES: usize = 16 << 20;
        let (local, mut client) = pair().await;
        let (remote, pod) = tokio::io::duplex(4096);
        let forwarding = tokio::spawn(forward(local, remote, Duration::from_secs(60)));
        let (mut from_client, mut to_client) = tokio::io::split(pod);
        let answering = tokio::spawn(async move {
            to_client.write_all(&vec![b'a'; BYTES]).await.unwrap();
            to_client
        });
        let counting = tokio::spawn(async move {
            let mut bytes = vec![0; BYTES];
            from_client.read_exact(&mut bytes).await.unwrap();
            from_client
        });
        client.write_all(&vec![b'q'; BYTES]).await.unwrap();
        let from_client = counting.await.unwrap();
        let mut answer = vec![0; BYTES];
        client.read_exact(&mut answer).await.unwrap();
        drop((answering.await.unwrap(), from_client));
        assert_eq!(client.read(&mut answer).await.unwrap(), 0);
        forwarding.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn silence_after_the_end_is_an_error() {
        let (local, mut client) = pair().await;
        let (remote, mut pod) = tokio::io::duplex(4096);
        let forwarding = tokio::spawn(forward(local, remote, Duration::from_millis(20)));
        client.write_all(b"q").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(pod.read_u8().await.unwrap(), b'q');
        let error = forwarding.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
