//! TLS settings of both ends, for a crypto provider that the caller hands in.
//!
//! Both ends offer HTTP/2 and HTTP/1.1 by ALPN and speak TLS 1.2 or 1.3. Trust follows Go's rules: a certificate that is
//! itself in the bundle is trusted even if it is no authority.

mod verify;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ServerConfig};

pub use self::verify::ClientCertificateVerifier;
use self::verify::{AnyClient, BundleVerifier, InsecureSkipVerify};
use crate::error::BoxError;

/// A certificate with its chain and its private key, as a server or a client presents it.
#[derive(PartialEq, Eq)]
pub struct CertificateAndKey {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl CertificateAndKey {
    /// From DER; the first certificate is the holder's own.
    pub fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Self {
        Self { chain, key }
    }

    /// From PEM. The key may be PKCS#8, PKCS#1 or SEC 1.
    ///
    /// # Errors
    ///
    /// One of the two holds no certificate or no key, or is not PEM.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates_from_pem(certificates, "certificate")?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| TlsError::Pem {
            what: "private key",
            source: source.into(),
        })?;
        Ok(Self { chain, key })
    }

    /// The certificates in DER, the holder's own first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The private key in DER.
    pub fn key(&self) -> &PrivateKeyDer<'static> {
        &self.key
    }

    /// The certificates as PEM.
    pub fn certificate_pem(&self) -> String {
        self.chain.iter().map(|der| pem("CERTIFICATE", der)).collect()
    }

    /// The private key as PEM.
    pub fn key_pem(&self) -> String {
        let label = match &self.key {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        pem(label, self.key.secret_der())
    }

    fn certified(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        CertifiedKey::from_der(self.chain.clone(), self.key.clone_key(), provider).map_err(|source| {
            TlsError::Config {
                what: "certificate and key",
                source: source.into(),
            }
        })
    }
}

impl Clone for CertificateAndKey {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
        }
    }
}

impl fmt::Debug for CertificateAndKey {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAndKey")
            .field("chain", &self.chain.len())
            .finish_non_exhaustive()
    }
}

/// How a client decides whether it talks to the right server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerVerification {
    /// The authorities that the operating system trusts.
    #[default]
    System,
    /// The certificates in this PEM bundle and nothing else.
    Bundle(Vec<u8>),
    /// Any certificate of anybody, as `insecure-skip-tls-verify` in a kubeconfig asks. Only for tests: whoever is on
    /// the way can read and change everything.
    InsecureSkipVerify,
}

/// TLS settings of a client.
#[derive(Debug, Clone, Default)]
pub struct ClientTls {
    /// Which servers to trust. Default: those the operating system trusts.
    pub verification: ServerVerification,
    /// The certificate to present if the server asks for one. Default: none.
    pub certificate: Option<CertificateAndKey>,
}

/// Whether a server asks clients for a certificate. Anonymous clients are always let in: authentication is not the
/// listener's work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientAuth {
    /// Do not ask.
    #[default]
    Off,
    /// Ask, and fail the handshake if what is presented was not issued by an authority in this PEM bundle.
    Verified(Vec<u8>),
    /// Ask, and check only that the client holds the key. Whoever reads [`Peer`](crate::Peer) verifies the chain with
    /// a [`ClientCertificateVerifier`], as kube-apiserver does: it has several bundles for several uses, and answers a
    /// bad certificate with status 401.
    Requested,
}

/// Makes the TLS settings of a client.
///
/// # Errors
///
/// The bundle holds no certificate, or certificate and key do not fit each other.
pub fn client_config(
    options: &ClientTls,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let verifier: Arc<dyn rustls::client::danger::ServerCertVerifier> = match &options.verification {
        ServerVerification::System => Arc::new(BundleVerifier::new(system_roots()?, &provider)?),
        ServerVerification::Bundle(pem) => Arc::new(BundleVerifier::new(
            certificates_from_pem(pem, "CA bundle")?,
            &provider,
        )?),
        ServerVerification::InsecureSkipVerify => Arc::new(InsecureSkipVerify::new(&provider)),
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(VERSIONS)
        .map_err(|source| TlsError::Config {
            what: "protocol versions",
            source: source.into(),
        })?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &options.certificate {
        None => builder.with_no_client_auth(),
        Some(certificate) => builder
            .with_client_auth_cert(certificate.chain.clone(), certificate.key.clone_key())
            .map_err(|source| TlsError::Config {
                what: "client certificate and key",
                source: source.into(),
            })?,
    };
    config.alpn_protocols = alpn();
    Ok(Arc::new(config))
}

/// Makes the TLS settings of a server that presents one certificate.
///
/// # Errors
///
/// The client bundle holds no certificate, or certificate and key do not fit each other.
pub fn server_config(
    certificate: &CertificateAndKey,
    client_auth: &ClientAuth,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<ServerConfig>, TlsError> {
    let (_, config) = rotating_server_config(certificate, client_auth, provider)?;
    Ok(config)
}

/// As [`server_config`], with a handle that replaces the certificate while the server runs.
///
/// # Errors
///
/// As [`server_config`].
pub fn rotating_server_config(
    certificate: &CertificateAndKey,
    client_auth: &ClientAuth,
    provider: Arc<CryptoProvider>,
) -> Result<(RotatingCertificate, Arc<ServerConfig>), TlsError> {
    let verifier: Arc<dyn rustls::server::danger::ClientCertVerifier> = match client_auth {
        ClientAuth::Off => rustls::server::WebPkiClientVerifier::no_client_auth(),
        ClientAuth::Verified(pem) => Arc::new(ClientCertificateVerifier::new(pem, &provider)?),
        ClientAuth::Requested => Arc::new(AnyClient::new(&provider)),
    };
    let current = Arc::new(Current(RwLock::new(Arc::new(certificate.certified(&provider)?))));
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(VERSIONS)
        .map_err(|source| TlsError::Config {
            what: "protocol versions",
            source: source.into(),
        })?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
    config.alpn_protocols = alpn();
    Ok((RotatingCertificate { current, provider }, Arc::new(config)))
}

/// The certificate of a running server: replacing it affects handshakes from then on, not open connections.
#[derive(Debug, Clone)]
pub struct RotatingCertificate {
    current: Arc<Current>,
    provider: Arc<CryptoProvider>,
}

impl RotatingCertificate {
    /// Presents `certificate` from now on.
    ///
    /// # Errors
    ///
    /// Certificate and key do not fit each other; the old one stays.
    pub fn replace(&self, certificate: &CertificateAndKey) -> Result<(), TlsError> {
        let certified = Arc::new(certificate.certified(&self.provider)?);
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }
}

#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Why TLS settings are unusable, or a certificate is not trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// Text that should be PEM is not.
    #[error("{what} is not valid PEM")]
    Pem {
        /// What was read, for example `private key`.
        what: &'static str,
        /// The parser's message.
        #[source]
        source: BoxError,
    },
    /// PEM without a certificate in it.
    #[error("{what} contains no certificate")]
    NoCertificate {
        /// What was read, for example `CA bundle`.
        what: &'static str,
    },
    /// Settings that do not fit together.
    #[error("{what} cannot be used for TLS")]
    Config {
        /// The setting.
        what: &'static str,
        /// The TLS library's message.
        #[source]
        source: BoxError,
    },
    /// A client certificate that no authority in the bundle vouches for, or that has expired.
    #[error("client certificate is not trusted")]
    Untrusted {
        /// The TLS library's message.
        #[source]
        source: BoxError,
    },
}

/// The certificates of a PEM text; other sections are skipped.
pub(crate) fn certificates_from_pem(
    text: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|source| TlsError::Pem {
            what,
            source: source.into(),
        })?;
    if certificates.is_empty() {
        return Err(TlsError::NoCertificate { what });
    }
    Ok(certificates)
}

/// One PEM section, lines of 64 characters (RFC 7468).
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;

    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = tail;
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

fn system_roots() -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    // Some unreadable files are normal; nothing readable at all is what the user must hear of.
    match found.errors.into_iter().next() {
        Some(error) if found.certs.is_empty() => Err(TlsError::Config {
            what: "system trust store",
            source: error.into(),
        }),
        _ if found.certs.is_empty() => Err(TlsError::NoCertificate {
            what: "system trust store",
        }),
        _ => Ok(found.certs),
    }
}

fn alpn() -> Vec<Vec<u8>> {
    vec![b"h2".to_vec(), b"http/1.1".to_vec()]
}

static VERSIONS: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];
