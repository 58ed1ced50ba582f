//! The one error of everything that moves bytes: [`TransportError`].
//!
//! It says what was being done and with whom. It never describes an answer of the API server: a response with status
//! 404 is a successful exchange as far as this crate is concerned.

use std::borrow::Cow;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::io;
use std::time::Duration;

/// An error of any type, boxed: the source of a [`TransportError`].
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a request could not be sent, or its answer could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// No connection could be made: name resolution, TCP or the network failed.
    #[error("could not connect to {address}")]
    Connect {
        /// Host and port, or the URI, that was tried.
        address: String,
        /// What the operating system or the resolver said.
        #[source]
        source: BoxError,
    },
    /// The TLS handshake failed: an unknown issuer, a wrong name, an expired certificate, no common version.
    #[error("TLS handshake with {address} failed")]
    Tls {
        /// Host and port of the other end.
        address: String,
        /// What the TLS library said.
        #[source]
        source: BoxError,
    },
    /// The proxy refused or broke the tunnel.
    #[error("proxy {proxy} could not reach {address}")]
    Proxy {
        /// The proxy, without credentials.
        proxy: String,
        /// Host and port behind the proxy.
        address: String,
        /// What the proxy answered.
        #[source]
        source: BoxError,
    },
    /// A step took longer than it may.
    #[error("{what}{} took longer than {after:?}", in_brackets(address))]
    Timeout {
        /// The step, for example `connecting` or `TLS handshake`.
        what: Cow<'static, str>,
        /// Host and port of the other end; empty where the step does not know it.
        address: String,
        /// The limit that was reached.
        after: Duration,
    },
    /// The other end closed or reset the connection while something was under way.
    #[error("connection closed while {what}")]
    Closed {
        /// The step, for example `sending a request` or `reading a body`.
        what: Cow<'static, str>,
        /// The lower error, where there is one.
        #[source]
        source: Option<BoxError>,
    },
    /// Anything else: a malformed message, a URI that cannot be sent, a failure of a service in this process.
    #[error("{what} failed")]
    Other {
        /// The step that failed.
        what: Cow<'static, str>,
        /// The lower error.
        #[source]
        source: BoxError,
    },
}

fn in_brackets(address: &str) -> String {
    if address.is_empty() {
        String::new()
    } else {
        format!(" ({address})")
    }
}

impl TransportError {
    /// An error of a step that fits no narrower variant.
    pub fn other(what: impl Into<Cow<'static, str>>, source: impl Into<BoxError>) -> Self {
        Self::Other {
            what: what.into(),
            source: source.into(),
        }
    }

    /// A connection that ended before `what` was done, without a lower error.
    pub fn closed(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Closed {
            what: what.into(),
            source: None,
        }
    }

    /// True if no connection was made, so that the request certainly never reached the other end.
    pub fn is_connect(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Tls { .. } | Self::Proxy { .. } => true,
            Self::Timeout { what, .. } => matches!(&**what, CONNECTING | HANDSHAKE),
            _ => false,
        }
    }

    /// True if the other end refused the connection: nothing listens there.
    pub fn is_connection_refused(&self) -> bool {
        match self {
            Self::Connect { source, .. } => {
                io_kind(source.as_ref()) == Some(io::ErrorKind::ConnectionRefused)
            }
            _ => false,
        }
    }

    /// True if a time limit was reached.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Timeout { .. } => true,
            Self::Connect { source, .. } => io_kind(source.as_ref()) == Some(io::ErrorKind::TimedOut),
            _ => false,
        }
    }

    /// True if a connection that existed was closed or reset. Whether the other end acted on the request is unknown.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed { .. })
    }

    /// Sorts an error of `hyper` met while doing `what`.
    pub(crate) fn from_hyper(what: &'static str, error: hyper::Error) -> Self {
        if error.is_closed() || error.is_incomplete_message() || error.is_canceled() || resets(&error) {
            return Self::Closed {
                what: what.into(),
                source: Some(error.into()),
            };
        }
        Self::other(what, error)
    }
}

/// The step of [`TransportError::Timeout`] that opens a TCP connection.
pub(crate) const CONNECTING: &str = "connecting";
/// The step of [`TransportError::Timeout`] that agrees on TLS.
pub(crate) const HANDSHAKE: &str = "TLS handshake";

impl From<Infallible> for TransportError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<io::Error> for TransportError {
    /// A closed connection if the kind says so.
    fn from(error: io::Error) -> Self {
        if is_reset(error.kind()) {
            return Self::Closed {
                what: "using a connection".into(),
                source: Some(error.into()),
            };
        }
        Self::other("using a connection", error)
    }
}

/// True if an I/O error with a kind of a vanished peer is in the chain of `error`, or an HTTP/2 connection was lost.
pub(crate) fn resets(error: &(dyn StdError + 'static)) -> bool {
    io_kind(error).is_some_and(is_reset) || goes_away(error)
}

/// True if the other end, or this one, ended an HTTP/2 connection with streams on it.
fn goes_away(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error
            .downcast_ref::<h2::Error>()
            .is_some_and(h2::Error::is_go_away)
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// The kind of the first I/O error in the chain of `error`.
pub(crate) fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        // Its I/O error is no source of it.
        if let Some(io) = error.downcast_ref::<h2::Error>().and_then(h2::Error::get_io) {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

fn is_reset(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::NotConnected
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_follow_the_variant_and_the_io_kind() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let connect = TransportError::Connect {
            address: "a:1".into(),
            source: refused().into(),
        };
        let after = Duration::from_secs(30);
        let timeout = |what: &'static str| TransportError::Timeout {
            what: what.into(),
            address: "a:1".into(),
            after,
        };
        // error, connect, refused, timeout, closed
        let rows = [
            (connect, true, true, false, false),
            (timeout(CONNECTING), true, false, true, false),
            (timeout("reading"), false, false, true, false),
            (TransportError::closed("reading"), false, false, false, true),
            (
                io::Error::from(io::ErrorKind::BrokenPipe).into(),
                false,
                false,
                false,
                true,
            ),
            (
                io::Error::from(io::ErrorKind::InvalidData).into(),
                false,
                false,
                false,
                false,
            ),
            (TransportError::other("x", refused()), false, false, false, false),
        ];
        for (error, is_connect, is_refused, is_timeout, is_closed) in rows {
            let found = (
                error.is_connect(),
                error.is_connection_refused(),
                error.is_timeout(),
                error.is_closed(),
            );
            assert_eq!(
                found,
                (is_connect, is_refused, is_timeout, is_closed),
                "{error:?}"
            );
        }
    }

    #[test]
    fn display_leaves_the_source_to_the_chain() {
        let error = TransportError::Connect {
            address: "a:1".into(),
            source: "no route".into(),
        };
        assert_eq!(error.to_string(), "could not connect to a:1");
        assert_eq!(
            error.source().map(ToString::to_string).as_deref(),
            Some("no route")
        );
    }
}
