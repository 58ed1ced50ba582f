//! Who is at the other end: [`Identity`] of a caller in this process, [`Peer`] of one behind a socket.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;

/// The user a caller in this process acts as: a request extension.
///
/// A server trusts it as already authenticated. That is safe because extensions do not travel: [`serve`](crate::serve)
/// never sets it, whatever bytes or headers a client sends. The fields are those of `UserInfo` in `authentication.k8s.io`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name of the user, for example `system:serviceaccount:default:operator`.
    pub user: String,
    /// Unique among users of all times; empty if unknown.
    pub uid: String,
    /// Groups. A server adds `system:authenticated` itself.
    pub groups: Vec<String>,
    /// Further attributes for authorizers.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// A user in some groups, without uid or extra attributes.
    pub fn new<G: Into<String>>(user: impl Into<String>, groups: impl IntoIterator<Item = G>) -> Self {
        Self {
            user: user.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// The other end of the connection a request came over: a request extension set by [`serve`](crate::serve).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// Address of the client.
    pub address: SocketAddr,
    /// The certificates the client presented, its own first, in DER. Empty without TLS and for anonymous clients.
    /// Whether they were verified depends on [`ClientAuth`](crate::tls::ClientAuth); that the client holds the key was.
    pub certificates: Arc<[CertificateDer<'static>]>,
    /// Whether the connection is encrypted.
    pub transport: Transport,
}

impl Peer {
    /// A client at `address` that presented these certificates.
    pub fn new(
        address: SocketAddr,
        certificates: impl IntoIterator<Item = CertificateDer<'static>>,
        transport: Transport,
    ) -> Self {
        Self {
            address,
            certificates: certificates.into_iter().collect(),
            transport,
        }
    }
}

/// How the bytes of a connection travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// Plain HTTP.
    Plain,
    /// HTTP over TLS.
    Tls,
}
