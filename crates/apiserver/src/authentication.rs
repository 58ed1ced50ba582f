//! Who is asking.
//!
//! In the order of upstream's union (apiserver pkg/authentication/request/union): an identity that the caller in this process
//! brings along, a client certificate, a bearer token. The first that holds decides. A request with none of them is anonymous; one
//! with a certificate or a token that does not hold, and nothing that does, is refused (kubernetes
//! pkg/kubeapiserver/authenticator/config.go sets anonymous requests behind `union.NewFailOnError`).

use std::collections::HashMap;

use http::header::AUTHORIZATION;
use http::request::Parts;
use jiff::Timestamp;
use kubewright_core::{Status, StatusReason};
use kubewright_net::tls::ClientCertificateVerifier;
use kubewright_net::{CertificateInfo, Identity, Peer};
use parking_lot::RwLock;
use rustls_pki_types::CertificateDer;

use crate::error::{ApiError, ApiResult};
use crate::server::{Options, Server};
use crate::service_account::TokenBearer;

/// The group of everybody who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody who is not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user behind a request without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Finds out who is asking.
pub(crate) struct Authenticator {
    tokens: HashMap<String, Identity>,
    certificates: Option<ClientCertificateVerifier>,
    /// Certificates that held, since a signature takes longer to check than most requests take in all. A connection presents
    /// the same one with each request.
    verified: RwLock<HashMap<CertificateDer<'static>, Verified>>,
}

struct Verified {
    identity: Identity,
    until: Timestamp,
}

impl Authenticator {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            tokens: options.tokens.iter().cloned().collect(),
            certificates: options.client_certificates.clone(),
            verified: RwLock::default(),
        }
    }

    /// The identity behind a request.
    ///
    /// # Errors
    /// 401 for credentials that do not hold.
    pub(crate) async fn authenticate(&self, server: &Server, request: &Parts) -> ApiResult<Identity> {
        if let Some(identity) = request.extensions.get::<Identity>() {
            return Ok(authenticated(identity.clone()));
        }
        let by_certificate = match request.extensions.get::<Peer>() {
            Some(peer) => self.by_certificate(peer),
            None => Ok(None),
        };
        if let Ok(Some(identity)) = by_certificate {
            return Ok(identity);
        }
        let Some(header) = request.headers.get(AUTHORIZATION) else {
            return match by_certificate {
                Ok(_) => Ok(Identity::new(ANONYMOUS, [UNAUTHENTICATED])),
                Err(InvalidCertificate) => Err(unauthorized()),
            };
        };
        let token = header.to_str().ok().and_then(bearer).ok_or_else(unauthorized)?;
        let audiences = server.service_accounts.audiences();
        match self.by_token(server, token, audiences).await {
            Ok(bearer) => Ok(bearer.identity),
            Err(why) => {
                tracing::debug!(why, "a bearer token was refused");
                Err(unauthorized())
            }
        }
    }

    /// Who bears a token that is meant for one of `audiences`. Tokens that the options name are meant for the server itself.
    ///
    /// # Errors
    /// Why nobody does, in upstream's words.
    pub(crate) async fn by_token(
        &self,
        server: &Server,
        token: &str,
        audiences: &[String],
    ) -> Result<TokenBearer, String> {
        let accounts = &server.service_accounts;
        if let Some(identity) = self.tokens.get(token) {
            let own = accounts.audiences().iter();
            let audiences: Vec<String> = own.filter(|own| audiences.contains(own)).cloned().collect();
            return match audiences.is_empty() {
                true => Err(INVALID_TOKEN.to_owned()),
                false => Ok(TokenBearer {
                    identity: authenticated(identity.clone()),
                    audiences,
                }),
            };
        }
        let now = Timestamp::now().as_second();
        match accounts
            .authenticate(server.storage(), token, audiences, now)
            .await
        {
            Ok(Some(bearer)) => Ok(bearer),
            Ok(None) => Err(INVALID_TOKEN.to_owned()),
            // Two authenticators were asked, and each says something.
            Err(why) => Err(format!("[{INVALID_TOKEN}, {why}]")),
        }
    }

    /// The common name is the user and the organizations are the groups (authentication/request/x509). `None` without a
    /// certificate, for one that names nobody, and where no authority is configured.
    ///
    /// # Errors
    /// For a certificate that nobody here vouches for.
    fn by_certificate(&self, peer: &Peer) -> Result<Option<Identity>, InvalidCertificate> {
        let (Some(verifier), Some(certificate)) = (self.certificates.as_ref(), peer.certificates.first())
        else {
            return Ok(None);
        };
        let now = Timestamp::now();
        if let Some(known) = self
            .verified
            .read()
            .get(certificate)
            .filter(|known| now < known.until)
        {
            return Ok(Some(known.identity.clone()));
        }
        verifier
            .verify(&peer.certificates, now)
            .map_err(|_| InvalidCertificate)?;
        let info = CertificateInfo::parse(certificate).map_err(|_| InvalidCertificate)?;
        if info.common_name.is_empty() {
            return Ok(None);
        }
        let until = holds_until(info.validity.not_after, &peer.certificates[1..]);
        let identity = authenticated(Identity::new(info.common_name, info.organizations));
        if let Some(until) = until {
            let mut verified = self.verified.write();
            if verified.len() >= MAX_VERIFIED {
                verified.clear();
            }
            let identity = identity.clone();
            verified.insert(certificate.clone(), Verified { identity, until });
        }
        Ok(Some(identity))
    }
}

/// Until when a certificate is known to hold that was found to: none of its chain may have ended by then. `None` where one of them
/// cannot be read, so that it was no part of what made the certificate hold, or was read by other rules than here.
fn holds_until(own: Timestamp, issuers: &[CertificateDer<'static>]) -> Option<Timestamp> {
    issuers.iter().try_fold(own, |until, issuer| {
        let issuer = CertificateInfo::parse(issuer).ok()?;
        Some(until.min(issuer.validity.not_after))
    })
}

/// A certificate was presented that does not hold.
struct InvalidCertificate;

fn unauthorized() -> ApiError {
    Status::failure(StatusReason::Unauthorized, "Unauthorized").into()
}

const INVALID_TOKEN: &str = "invalid bearer token";
/// As many certificates are remembered before all are forgotten.
const MAX_VERIFIED: usize = 1024;

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim())
        .filter(|token| !token.is_empty())
}

fn authenticated(mut identity: Identity) -> Identity {
    if !identity.groups.iter().any(|group| group == AUTHENTICATED) {
        identity.groups.push(AUTHENTICATED.to_owned());
    }
    identity
}

#[cfg(test)]
mod tests {
    use kubewright_net::{CertificateAuthority, Validity};

    use super::*;

    #[test]
    fn a_certificate_is_remembered_as_long_as_its_whole_chain_holds() {
        let time = |seconds| Timestamp::from_second(seconds).unwrap();
        let issuer = |not_after| {
            let validity = Validity {
                not_before: time(0),
                not_after: time(not_after),
            };
            CertificateAuthority::new("a", validity)
                .unwrap()
                .certificate()
                .clone()
        };
        let unreadable = CertificateDer::from(b"no certificate".to_vec());
        for (issuers, expect) in [
            (vec![], Some(1000)),
            (vec![issuer(2000)], Some(1000)),
            (vec![issuer(2000), issuer(500), issuer(700)], Some(500)),
            (vec![issuer(500), unreadable], None),
        ] {
            assert_eq!(
                holds_until(time(1000), &issuers),
                expect.map(time),
                "{}",
                issuers.len()
            );
        }
    }
}
