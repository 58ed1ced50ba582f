//! Processes in containers: [`RemoteProcess`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Method;
use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

use super::channels::{Channels, PROTOCOLS, StreamProtocol, TerminalSize, exit_code};
use super::driver::{self, Ends, MAX_PIPE_BYTES, Outcome, Running};
use super::options::{AttachOptions, ExecOptions, Stdio, Terminal};
use super::pipe::{PipeReader, PipeWriter, pipe};
use crate::api::Api;
use crate::call::Call;
use crate::error::Error;

impl Api<Pod> {
    /// Starts a command in a container.
    ///
    /// ```no_run
    /// # async fn example(client: kubewright_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_client::{Api, ExecOptions};
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// let pods: Api<Pod> = Api::namespaced(&client, "team");
    /// let mut sort = pods.exec("web", &["sort"], &ExecOptions::of("app").with_stdin()).await?;
    /// let mut stdin = sort.stdin.take().ok_or("asked for")?;
    /// stdin.write_all(b"pear\napple\n").await?;
    /// drop(stdin);
    /// let output = sort.output(1 << 20).await?;
    /// assert!(output.status.is_success());
    /// assert_eq!(output.stdout, "apple\npear\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for options that cannot be; [`Error::Api`] if the server refuses; [`Error::Timeout`] if it does not answer in the
    /// client's time; [`Error::Transport`] and [`Error::Decode`]. That the command cannot be started may also be told later, by
    /// [`RemoteProcess::status`].
    pub async fn exec(
        &self,
        name: &str,
        command: &[&str],
        options: &ExecOptions,
    ) -> Result<RemoteProcess, Error> {
        self.stream_process(name, "exec", Some(command), options).await
    }

    /// Connects to the process that a container runs. What it wrote before is in its [logs](Self::logs) only.
    ///
    /// # Errors
    ///
    /// As [`exec`](Self::exec).
    pub async fn attach(&self, name: &str, options: &AttachOptions) -> Result<RemoteProcess, Error> {
        self.stream_process(name, "attach", None, options).await
    }

    /// Runs a command to its end, and collects what it writes: at most `limit` bytes of each output.
    ///
    /// # Errors
    ///
    /// As [`exec`](Self::exec) and [`RemoteProcess::output`]. A command that fails is no error: see [`ProcessOutput::status`].
    pub async fn exec_output(
        &self,
        name: &str,
        command: &[&str],
        options: &ExecOptions,
        limit: usize,
    ) -> Result<ProcessOutput, Error> {
        self.exec(name, command, options).await?.output(limit).await
    }

    async fn stream_process(
        &self,
        name: &str,
        verb: &'static str,
        command: Option<&[&str]>,
        options: &ExecOptions,
    ) -> Result<RemoteProcess, Error> {
        let mut request = self
            .object_request(Method::GET, name)
            .subresource(verb)
            .verb(verb);
        if let Err(why) = options.check() {
            request.refuse(why);
        }
        if command.is_some_and(<[&str]>::is_empty) {
            request.refuse("there is no command");
        }
        let request = request.query(&options.to_query(command.unwrap_or_default()));
        let (socket, protocol, call) = super::open(request, PROTOCOLS).await?;
        Ok(RemoteProcess::start(
            socket,
            StreamProtocol::named(protocol),
            call,
            options,
        ))
    }
}

/// A process in a container, with those of its streams that were asked for.
///
/// Back-pressure: there is one connection, so when a stream has [`MAX_PIPE_BYTES`] that nobody reads, nothing is read of the
/// connection, and all of the process stands still, its end included. Read the streams you asked for at the same time, or drop those
/// that do not matter: what is written to them is discarded. [`join`](Self::join) and [`output`](Self::output) see to that themselves.
///
/// Dropping it ends the connection at once, and its streams with errors, wherever they are; what a process does whose connection ended is up to
/// the node, which ends it only if it notices. Input that was not [flushed](tokio::io::AsyncWriteExt::flush) may be lost then.
#[derive(Debug)]
pub struct RemoteProcess {
    /// Standard input. Shutting it down or dropping it tells the process that there is no more, if the [`protocol`](Self::protocol) can.
    pub stdin: Option<ProcessInput>,
    /// Standard output; of a process with a terminal, all that appears there.
    pub stdout: Option<RemoteOutput>,
    /// Standard error.
    pub stderr: Option<RemoteOutput>,
    sizes: Option<mpsc::Sender<TerminalSize>>,
    protocol: StreamProtocol,
    exit: Exit,
    call: Call,
    _running: Running,
}

#[derive(Debug)]
enum Exit {
    Awaited(Outcome<Channels>),
    Known(Result<ExitStatus, Arc<Error>>),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitStatus {
    code: i32,
}

impl ExitStatus {
    /// The exit code; by the custom of shells, 128 and the number of the signal that ended it.
    pub fn code(self) -> i32 {
        self.code
    }

    /// Whether the code is 0.
    pub fn is_success(self) -> bool {
        self.code == 0
    }
}

/// What a process has written, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output; empty if it was not asked for.
    pub stdout: Bytes,
    /// Standard error; empty if it was not asked for.
    pub stderr: Bytes,
}

impl RemoteProcess {
    fn start(
        socket: kubewright_net::websocket::ClientSocket,
        protocol: StreamProtocol,
        call: Call,
        options: &ExecOptions,
    ) -> Self {
        let stream = |wanted: Stdio| match wanted {
            Stdio::Piped => {
                let (reader, writer) = pipe(MAX_PIPE_BYTES);
                (Some(reader), Some(writer))
            }
            Stdio::Closed => (None, None),
        };
        let (input, stdin) = stream(options.stdin);
        let (stdout, out) = stream(options.stdout);
        let (stderr, err) = stream(options.stderr);
        let (sizes, wanted_sizes) = match options.terminal {
            Terminal::None => (None, None),
            Terminal::Allocated => {
                let (sender, receiver) = driver::sizes();
                (Some(sender), Some(receiver))
            }
        };
        let ends = Ends {
            input,
            outputs: [out, err],
            sizes: wanted_sizes,
        };
        let (running, outcome) = driver::run(socket, Channels::new(protocol), ends);
        Self {
            stdin: stdin.map(ProcessInput),
            stdout: stdout.map(RemoteOutput),
            stderr: stderr.map(RemoteOutput),
            sizes,
            protocol,
            exit: Exit::Awaited(outcome),
            call,
            _running: running,
        }
    }

    /// What is spoken with the server.
    pub fn protocol(&self) -> StreamProtocol {
        self.protocol
    }

    /// Tells the process that its terminal has another size.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if it has no terminal; [`io::ErrorKind::BrokenPipe`] once it ended.
    pub async fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let Some(sizes) = &self.sizes else {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the process has no terminal",
            ));
        };
        let sent = sizes.send(size).await;
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the process has ended"))
    }

    /// Waits for the end of the process, while its streams are read elsewhere. It may be asked several times, and not be awaited to the end.
    ///
    /// # Errors
    ///
    /// [`Error::Api`] if the process could not be run; [`Error::Transport`] if the connection ended first; [`Error::Decode`] if the server
    /// does not say how the process ended; [`Error::TooLarge`].
    pub async fn status(&mut self) -> Result<ExitStatus, Error> {
        if let Exit::Awaited(outcome) = &mut self.exit {
            let known = match outcome.await {
                Ok(Ok(status)) => match exit_code(&status) {
                    Some(code) => Ok(ExitStatus { code }),
                    None => Err(self.call.api(status)),
                },
                Ok(Err(failure)) => Err(failure.into_error(&self.call)),
                // The runtime of the task is gone.
                Err(_) => Err(self
                    .call
                    .transport(kubewright_net::TransportError::closed("running a command"))),
            };
            self.exit = Exit::Known(known.map_err(Arc::new));
        }
        match &self.exit {
            Exit::Known(Ok(status)) => Ok(*status),
            Exit::Known(Err(error)) => Err(Error::Shared(Arc::clone(error))),
            Exit::Awaited(_) => Err(self.call.decode("no outcome")),
        }
    }

    /// Gives no more input, discards the outputs that were not taken, and waits for the end of the process.
    ///
    /// # Errors
    ///
    /// As [`status`](Self::status).
    pub async fn join(mut self) -> Result<ExitStatus, Error> {
        (self.stdin, self.stdout, self.stderr) = (None, None, None);
        self.status().await
    }

    /// Gives no more input, collects what comes of the outputs that were not taken, and waits for the end of the process.
    ///
    /// # Errors
    ///
    /// As [`status`](Self::status); [`Error::TooLarge`] if an output is larger than `limit` bytes, which ends the connection.
    pub async fn output(mut self, limit: usize) -> Result<ProcessOutput, Error> {
        drop(self.stdin.take());
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let call = self.call.clone();
        let (stdout, stderr) = (collect(stdout, limit, &call), collect(stderr, limit, &call));
        let (status, stdout, stderr) = futures_util::future::try_join3(self.status(), stdout, stderr).await?;
        Ok(ProcessOutput {
            status,
            stdout,
            stderr,
        })
    }
}

/// Reads to the end. How the connection ended is left out: the status says it.
async fn collect(stream: Option<RemoteOutput>, limit: usize, call: &Call) -> Result<Bytes, Error> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let one_more = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let _ = stream.take(one_more).read_to_end(&mut bytes).await;
    }
    if bytes.len() > limit {
        return Err(call.too_large(limit));
    }
    Ok(bytes.into())
}

/// Standard input of a process. A flush waits until the connection has taken everything.
#[derive(Debug)]
pub struct ProcessInput(PipeWriter);

/// An output of a process. It ends with the process, or with an error if the connection does first.
#[derive(Debug)]
pub struct RemoteOutput(PipeReader);

impl AsyncRead for RemoteOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for ProcessInput {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
