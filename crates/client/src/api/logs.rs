//! What containers have written: [`Logs`].

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use form_urlencoded::Serializer;
use futures_core::Stream;
use http::Method;
use http_body::Body as _;
use k8s_openapi::api::core::v1::Pod;
use kubewright_net::Body;

use super::Api;
use crate::call::Call;
use crate::error::Error;

/// What to read of the logs of a pod (`PodLogOptions`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The container. Default: the only one there is.
    pub container: Option<String>,
    /// Which output. Default: [`LogOutput::All`], in which both are mixed.
    pub output: LogOutput,
    /// Whether to go on as the container writes. Default: [`LogEnd::Now`].
    pub end: LogEnd,
    /// Whose logs. Default: [`LogOf::Current`].
    pub of: LogOf,
    /// From when on. Default: from the beginning.
    pub since: Option<LogSince>,
    /// Lines from the end. Default: all.
    pub tail_lines: Option<u64>,
    /// Bytes after which it ends, in the middle of a line or not. Default: no limit.
    pub limit_bytes: Option<u64>,
    /// Whether each line begins with its time. Default: [`LogTimestamps::Hide`].
    pub timestamps: LogTimestamps,
}

/// Which output of a container; other than all needs Kubernetes 1.32 (KEP-3288).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogOutput {
    /// Both.
    #[default]
    All,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// When a log ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogEnd {
    /// With what is there now.
    #[default]
    Now,
    /// When the container does.
    Follow,
}

/// Whose log of a container's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogOf {
    /// The one that runs or ran last.
    #[default]
    Current,
    /// The one before it was started again.
    Previous,
}

/// Whether lines have their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogTimestamps {
    /// They have not.
    #[default]
    Hide,
    /// In front of each line, in RFC 3339 with nanoseconds.
    Show,
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSince {
    /// So many seconds ago.
    Seconds(u32),
    /// This time.
    Time(jiff::Timestamp),
}

impl LogOptions {
    /// All there is of a container.
    pub fn of(container: impl Into<String>) -> Self {
        Self {
            container: Some(container.into()),
            ..Self::default()
        }
    }

    /// Goes on as the container writes.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.end = LogEnd::Follow;
        self
    }

    pub(super) fn to_query(&self) -> String {
        let mut query = Serializer::new(String::new());
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        };
        let yes = |yes: bool| yes.then(|| "true".to_owned());
        add("container", self.container.clone());
        add("follow", yes(self.end == LogEnd::Follow));
        add("previous", yes(self.of == LogOf::Previous));
        add("timestamps", yes(self.timestamps == LogTimestamps::Show));
        match self.since {
            None => {}
            Some(LogSince::Seconds(seconds)) => add("sinceSeconds", Some(seconds.to_string())),
            Some(LogSince::Time(time)) => {
                // metav1.Time has seconds only.
                add("sinceTime", Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
            }
        }
        add("tailLines", self.tail_lines.map(|lines| lines.to_string()));
        add("limitBytes", self.limit_bytes.map(|bytes| bytes.to_string()));
        match self.output {
            LogOutput::All => {}
            LogOutput::Stdout => add("stream", Some("Stdout".to_owned())),
            LogOutput::Stderr => add("stream", Some("Stderr".to_owned())),
        }
        query.finish()
    }
}

impl Api<Pod> {
    /// What a container of a pod has written.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); [`Error::is_bad_request`] if the container has not started, or if there are several and none is named.
    pub async fn logs(&self, name: &str, options: &LogOptions) -> Result<Logs, Error> {
        let request = self.object_request(Method::GET, name).subresource("log");
        let request = request.query(&options.to_query()).accept("*/*");
        let call = request.call();
        Ok(Logs {
            body: Some(request.stream().await?.into_body()),
            rest: BytesMut::new(),
            scanned: 0,
            call,
        })
    }
}

/// A log: a stream of its bytes as they come, or by [`next_line`](Self::next_line) of its lines.
#[derive(Debug)]
pub struct Logs {
    /// `None` once it has ended.
    body: Option<Body>,
    /// The beginning of a line.
    rest: BytesMut,
    /// How much of it has no end of a line.
    scanned: usize,
    call: Call,
}

/// Bytes of a line after which it is cut: 1 MiB. Container runtimes cut at 16 KiB, but nothing holds a program to lines.
pub const MAX_LINE_BYTES: usize = 1 << 20;

impl Logs {
    /// The next line, without its end; `None` after the last one. A line longer than [`MAX_LINE_BYTES`] comes in parts.
    ///
    /// # Errors
    ///
    /// [`Error::Transport`] if the connection breaks; nothing follows.
    pub async fn next_line(&mut self) -> Option<Result<Bytes, Error>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.rest[self.scanned..]) {
                let mut line = self.rest.split_to(self.scanned + at + 1);
                self.scanned = 0;
                line.truncate(line.len() - 1);
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len() - 1);
                }
                return Some(Ok(line.freeze()));
            }
            self.scanned = self.rest.len();
            if self.rest.len() >= MAX_LINE_BYTES {
                self.scanned = 0;
                return Some(Ok(self.rest.split_to(MAX_LINE_BYTES).freeze()));
            }
            match std::future::poll_fn(|cx| self.poll_chunk(cx)).await {
                Some(Ok(chunk)) => self.rest.extend_from_slice(&chunk),
                Some(Err(error)) => return Some(Err(error)),
                None if self.rest.is_empty() => return None,
                None => {
                    self.scanned = 0;
                    return Some(Ok(self.rest.split().freeze()));
                }
            }
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        loop {
            let Some(body) = &mut self.body else {
                return Poll::Ready(None);
            };
            match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        return Poll::Ready(Some(Ok(chunk)));
                    }
                }
                Some(Err(error)) => {
                    self.body = None;
                    return Poll::Ready(Some(Err(self.call.transport(error))));
                }
                None => self.body = None,
            }
        }
    }
}

impl Stream for Logs {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // What is left of lines that were read comes first.
        if !self.rest.is_empty() {
            self.scanned = 0;
            return Poll::Ready(Some(Ok(self.rest.split().freeze())));
        }
        self.poll_chunk(cx)
    }
}
