//! Who is asking.
//!
//! In the order of upstream's union (apiserver pkg/authentication/request/union): an identity that the caller in this process
//! brings along, a client certificate, a bearer token. The first that holds decides. A request with none of them is anonymous,
//! whatever credentials of another sort it has; one with a certificate or a token that does not hold, and nothing that does, is refused (kubernetes
//! pkg/kubeapiserver/authenticator/config.go sets anonymous requests behind `union.NewFailOnError`).

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use jiff::Timestamp;
use kubewright_core::{Status, StatusReason};
use kubewright_net::tls::ClientCertificateVerifier;
use kubewright_net::{CertificateInfo, Identity, Peer, websocket};
use parking_lot::RwLock;
use rustls_pki_types::CertificateDer;

use crate::error::{ApiError, ApiResult};
use crate::handlers::Recorder;
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
    verified: RwLock<HashMap<Ending, Verified>>,
}

/// The last bytes of a certificate, which are of its signature, so that the whole need not be hashed with each request. Two that end alike would
/// only displace each other: the whole is compared before one counts.
type Ending = [u8; 16];

struct Verified {
    certificate: CertificateDer<'static>,
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

    /// The identity behind a request. A token that is passed over is told of in `warnings`.
    ///
    /// # Errors
    /// 401 for credentials that do not hold.
    pub(crate) async fn authenticate(
        &self,
        server: &Server,
        request: &Parts,
        warnings: &Recorder,
    ) -> ApiResult<Identity> {
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
        let mut is_refused = by_certificate.is_err();
        let audiences = server.service_accounts.audiences();
        let by_header = match by_header(&request.headers) {
            Header::Token(token) => Some(token),
            Header::Spaced => {
                warnings.add(vec![SPACED_TOKEN.to_owned()]);
                None
            }
            Header::Other => None,
        };
        for token in [Ok(by_header), by_protocol(&request.headers)] {
            let bearer = match token {
                Ok(None) => continue,
                Ok(Some(token)) => self.by_token(server, &token, audiences).await,
                Err(why) => Err(why.to_owned()),
            };
            match bearer {
                Ok(bearer) => {
                    warnings.add(bearer.warning.map(str::to_owned).into_iter().collect());
                    return Ok(bearer.identity);
                }
                Err(why) => {
                    tracing::debug!(why, "a bearer token was refused");
                    is_refused = true;
                }
            }
        }
        match is_refused {
            true => Err(unauthorized()),
            false => Ok(Identity::new(ANONYMOUS, [UNAUTHENTICATED])),
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
                    warning: None,
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
        let ending = certificate.last_chunk().copied().ok_or(InvalidCertificate)?;
        if let Some(known) = self
            .verified
            .read()
            .get(&ending)
            .filter(|known| known.certificate == *certificate && now < known.until)
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
            let known = Verified {
                certificate: certificate.clone(),
                identity: identity.clone(),
                until,
            };
            verified.insert(ending, known);
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
const SPACED_TOKEN: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";
/// What precedes a token that is offered as the sub-protocol of a websocket.
pub(crate) const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";
/// As many certificates are remembered before all are forgotten.
const MAX_VERIFIED: usize = 1024;

/// What is in the header that is made for credentials.
#[derive(Debug, PartialEq, Eq)]
enum Header<'a> {
    Token(Cow<'a, str>),
    /// A token after more than one space, which is not looked at.
    Spaced,
    /// Nothing, or credentials of another sort: they say nothing of who is asking.
    Other,
}

/// Reads that header (apiserver pkg/authentication/request/bearertoken). What follows the token is passed over.
fn by_header(headers: &HeaderMap) -> Header<'_> {
    let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let mut parts = header
        .unwrap_or_default()
        .trim_ascii()
        .splitn(3, |byte| *byte == b' ');
    let is_bearer = parts
        .next()
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer"));
    match parts.next().filter(|_| is_bearer) {
        None => Header::Other,
        Some([]) => Header::Spaced,
        Some(token) => Header::Token(String::from_utf8_lossy(token)),
    }
}

/// The token among the sub-protocols of a websocket, for browsers, which can set no header (apiserver
/// pkg/authentication/request/websocket/protocol.go). Another one has to be offered with it, to be agreed on.
fn by_protocol(headers: &HeaderMap) -> Result<Option<Cow<'_, str>>, &'static str> {
    if !websocket::is_request(headers) {
        return Ok(None);
    }
    let (tokens, others): (Vec<&str>, Vec<&str>) =
        websocket::protocols(headers).partition(|protocol| protocol.starts_with(BEARER_PROTOCOL));
    let encoded = match tokens.as_slice() {
        [] => return Ok(None),
        [one] => one.strip_prefix(BEARER_PROTOCOL).unwrap_or_default(),
        _ => return Err("multiple base64.bearer.authorization tokens specified"),
    };
    let token = URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|_| "invalid base64.bearer.authorization token encoding")?;
    let token = String::from_utf8(token).map_err(|_| "invalid base64.bearer.authorization token")?;
    match (token.is_empty(), others.is_empty()) {
        (true, _) => Ok(None),
        (false, true) => Err("missing additional subprotocol"),
        (false, false) => Ok(Some(token.into())),
    }
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
    fn tokens_in_their_header() {
        let token = |text: &'static str| Header::Token(text.into());
        for (header, expect) in [
            (&b""[..], Header::Other),
            (b"Bearer secret", token("secret")),
            (b" bEARER secret ", token("secret")),
            (b"Bearer secret and more", token("secret")),
            (b"Bearer  secret", Header::Spaced),
            (b"Bearer", Header::Other),
            (b"Bearer ", Header::Other),
            (b"Basic c2VjcmV0", Header::Other),
            (b"Basic  c2VjcmV0", Header::Other),
            (b"secret", Header::Other),
            (b"Bearer \xff", token("\u{fffd}")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_bytes(header).unwrap());
            assert_eq!(by_header(&headers), expect, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn tokens_among_the_protocols_of_a_websocket() {
        const TOKEN: &str = "base64url.bearer.authorization.k8s.io.c2VjcmV0";
        for (protocols, expect) in [
            ("", Ok(None)),
            ("a, b", Ok(None)),
            (&*format!("{TOKEN}, a"), Ok(Some("secret"))),
            (&*format!("a,{TOKEN}"), Ok(Some("secret"))),
            (TOKEN, Err("missing additional subprotocol")),
            (
                &*format!("{TOKEN}, a, {TOKEN}"),
                Err("multiple base64.bearer.authorization tokens specified"),
            ),
            (
                "a, base64url.bearer.authorization.k8s.io.c2VjcmV0==",
                Err("invalid base64.bearer.authorization token encoding"),
            ),
            (
                "a, base64url.bearer.authorization.k8s.io._w",
                Err("invalid base64.bearer.authorization token"),
            ),
            ("base64url.bearer.authorization.k8s.io.", Ok(None)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("sec-websocket-protocol", protocols.parse().unwrap());
            assert_eq!(by_protocol(&headers), Ok(None), "no websocket: {protocols}");
            headers.insert("upgrade", "websocket".parse().unwrap());
            headers.insert("connection", "Upgrade".parse().unwrap());
            let found = by_protocol(&headers);
            assert_eq!(
                found.as_ref().map(Option::as_deref).map_err(|why| *why),
                expect,
                "{protocols}"
            );
        }
    }

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
