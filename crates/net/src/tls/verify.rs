//! Who is trusted, by Go's rules where they differ from the strict ones of `webpki`.
//!
//! Go's `x509.Certificate.Verify` accepts a certificate that is itself in the pool of roots, authority or not; test
//! tools for controllers depend on it (they hand a server's own certificate around as its CA bundle). So each verifier
//! here first compares the presented certificate with the bundle, byte by byte, then checks what is left to check:
//! validity and, for servers, the name. Anything else goes the strict way through the chain.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{TlsError, certificates_from_pem};

/// Signature checks of the handshake, the same in every verifier: only the holder of the key can make them pass.
macro_rules! check_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls12_signature(message, certificate, signed, &self.algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, certificate, signed, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }
    };
}

/// Verifies servers against a bundle of authorities and single certificates.
#[derive(Debug)]
pub(super) struct BundleVerifier {
    bundle: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl BundleVerifier {
    pub(super) fn new(
        bundle: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let chains = WebPkiServerVerifier::builder_with_provider(roots(&bundle), Arc::clone(provider))
            .build()
            .map_err(|source| TlsError::Config {
                what: "CA bundle",
                source: source.into(),
            })?;
        Ok(Self {
            bundle,
            chains,
            algorithms: provider.signature_verification_algorithms,
        })
    }
}

impl ServerCertVerifier for BundleVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.bundle.iter().any(|trusted| trusted == end_entity) {
            return self.chains.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            );
        }
        check_validity(end_entity, now)?;
        rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    check_signatures!();
}

/// Trusts every server that holds the key of the certificate it shows.
#[derive(Debug)]
pub(super) struct InsecureSkipVerify {
    algorithms: WebPkiSupportedAlgorithms,
}

impl InsecureSkipVerify {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ServerCertVerifier for InsecureSkipVerify {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    check_signatures!();
}

/// Lets in every client, with or without certificate, as Go's `tls.RequestClientCert`.
#[derive(Debug)]
pub(super) struct AnyClient {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyClient {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    check_signatures!();
}

/// Decides whether a client certificate was issued by an authority in a bundle.
///
/// A TLS listener can use it during the handshake ([`ClientAuth::Verified`](super::ClientAuth)), or an authenticator
/// afterwards on the certificates in [`Peer`](crate::Peer).
#[derive(Clone)]
pub struct ClientCertificateVerifier {
    bundle: Arc<[CertificateDer<'static>]>,
    chains: Arc<dyn ClientCertVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertificateVerifier {
    /// Trusts what is in this PEM bundle.
    ///
    /// # Errors
    ///
    /// The bundle holds no certificate.
    pub fn new(bundle_pem: &[u8], provider: &Arc<CryptoProvider>) -> Result<Self, TlsError> {
        let bundle = certificates_from_pem(bundle_pem, "client CA bundle")?;
        let chains = WebPkiClientVerifier::builder_with_provider(roots(&bundle), Arc::clone(provider))
            .allow_unauthenticated()
            .build()
            .map_err(|source| TlsError::Config {
                what: "client CA bundle",
                source: source.into(),
            })?;
        Ok(Self {
            bundle: bundle.into(),
            chains,
            algorithms: provider.signature_verification_algorithms,
        })
    }

    /// Checks a chain, the client's own certificate first, at the time `now`.
    ///
    /// # Errors
    ///
    /// [`TlsError::NoCertificate`] for an empty chain; [`TlsError::Untrusted`] for an unknown issuer, a certificate
    /// that is not valid at that time, or one not meant for clients.
    pub fn verify(&self, chain: &[CertificateDer<'_>], now: jiff::Timestamp) -> Result<(), TlsError> {
        let Some((end_entity, intermediates)) = chain.split_first() else {
            return Err(TlsError::NoCertificate {
                what: "client certificate chain",
            });
        };
        let seconds = u64::try_from(now.as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        self.verify_client_cert(end_entity, intermediates, now)
            .map(|_| ())
            .map_err(|source| TlsError::Untrusted {
                source: source.into(),
            })
    }
}

impl ClientCertVerifier for ClientCertificateVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chains.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if !self.bundle.iter().any(|trusted| trusted == end_entity) {
            return self.chains.verify_client_cert(end_entity, intermediates, now);
        }
        check_validity(end_entity, now)?;
        Ok(ClientCertVerified::assertion())
    }

    check_signatures!();
}

impl fmt::Debug for ClientCertificateVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificateVerifier")
            .field("bundle", &self.bundle.len())
            .finish_non_exhaustive()
    }
}

fn roots(bundle: &[CertificateDer<'static>]) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    // What does not parse as an authority can still be trusted byte by byte.
    roots.add_parsable_certificates(bundle.iter().cloned());
    Arc::new(roots)
}

fn check_validity(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let (_, parsed) = X509Certificate::from_der(certificate)
        .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let problem = if seconds < parsed.validity().not_before.timestamp() {
        CertificateError::NotValidYet
    } else if seconds > parsed.validity().not_after.timestamp() {
        CertificateError::Expired
    } else {
        return Ok(());
    };
    Err(Error::InvalidCertificate(problem))
}
