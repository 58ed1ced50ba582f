//! What a [driver](super::driver) asks of a protocol: a [`Machine`] that makes steps of messages and messages of input.

use std::time::Duration;

use bytes::Bytes;
use kubewright_core::{Status, StatusReason};
use kubewright_net::TransportError;
use kubewright_net::websocket::SocketError;

use super::channels::TerminalSize;
use crate::call::Call;
use crate::error::Error;

/// A protocol over a websocket, without the websocket.
pub(super) trait Machine {
    /// What becomes of a connection that ends as it should.
    type Outcome;

    /// What a message of the server means.
    fn receive(&mut self, message: Bytes) -> Result<Step, Failure>;

    /// The message for something to send; `None` if the protocol has none for it.
    fn send(&mut self, input: Input) -> Option<Bytes>;

    /// What has become of it, now that it ended. Asked once.
    fn outcome(&mut self, end: End) -> Result<Self::Outcome, Failure>;
}

/// What is to be done about a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Nothing,
    /// Bytes for one of the outputs.
    Output(usize, Bytes),
    /// An output has ended.
    OutputEnd(usize),
    /// The outcome is known, although the connection still lasts.
    Done,
}

/// What goes to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// Input.
    Bytes(Bytes),
    /// There is no more input.
    End,
    /// The terminal has another size.
    Resize(TerminalSize),
}

/// How a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// The server closed it and said so.
    Closed { code: u16, reason: String },
    /// It was closed without a word.
    Cut,
    /// Nothing came for so long, pongs included.
    Silent(Duration),
    /// It broke.
    Broken(SocketError),
}

/// Code of a connection that is closed because all is done (RFC 6455, section 7.4.1).
pub(super) const NORMAL: u16 = 1000;
/// What stands for the code of a close frame without one.
pub(super) const NO_CODE: u16 = 1005;

impl End {
    pub(super) fn into_failure(self, what: &'static str) -> Failure {
        match self {
            Self::Broken(SocketError::TooLarge { limit }) => Failure::TooLarge { limit },
            Self::Broken(SocketError::Transport(source)) => Failure::Ended {
                source: TransportError::other(what, source),
            },
            Self::Broken(error) => Failure::Unexpected {
                why: error.to_string(),
            },
            Self::Silent(after) => Failure::Ended {
                source: TransportError::Timeout {
                    what: "waiting for a sign of life".into(),
                    address: String::new(),
                    after,
                },
            },
            Self::Closed { code, reason } if !matches!(code, NORMAL | NO_CODE) => Failure::Ended {
                source: TransportError::Closed {
                    what: what.into(),
                    source: Some(format!("the server closed with code {code} {reason:?}").into()),
                },
            },
            Self::Closed { .. } | Self::Cut => Failure::Ended {
                source: TransportError::closed(what),
            },
        }
    }
}

/// Why there is no outcome.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection ended too early.
    Ended { source: TransportError },
    /// Something is larger than it may be.
    TooLarge { limit: usize },
    /// What should be a status is none.
    NoStatus { text: String },
    /// The server does what it should not.
    Unexpected { why: String },
    /// The node says that it cannot.
    Refused { text: String },
}

impl Failure {
    pub(super) fn into_error(self, call: &Call) -> Error {
        match self {
            Self::Ended { source } => call.transport(source),
            Self::TooLarge { limit } => call.too_large(limit),
            Self::NoStatus { text } => call.decode(format!("no status: {text:?}")),
            Self::Unexpected { why } => call.decode(why),
            Self::Refused { text } => call.api(Status::failure(StatusReason::InternalError, text)),
        }
    }

    /// For those who read an output.
    pub(super) fn text(&self) -> (std::io::ErrorKind, String) {
        use std::io::ErrorKind;
        match self {
            Self::Ended {
                source: TransportError::Timeout { .. },
            } => (ErrorKind::TimedOut, "the server gives no sign of life".to_owned()),
            Self::Ended { .. } => (
                ErrorKind::ConnectionReset,
                "the connection ended too early".to_owned(),
            ),
            Self::TooLarge { limit } => (
                ErrorKind::InvalidData,
                format!("a message is larger than the limit of {limit} bytes"),
            ),
            Self::NoStatus { text } => (ErrorKind::InvalidData, format!("no status: {text:?}")),
            Self::Unexpected { why } => (ErrorKind::InvalidData, why.clone()),
            Self::Refused { text } => (ErrorKind::Other, text.clone()),
        }
    }
}
