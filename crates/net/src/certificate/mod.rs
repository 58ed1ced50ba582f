//! Making certificates ([`CertificateAuthority`]) and reading them ([`CertificateInfo`]), and with the feature `certificate-requests` requests for
//! them (`check_request`, `requested_organizations`).
//!
//! Keys are ECDSA P-256 in PKCS#8: making one takes microseconds, so that a whole control plane with an authority, a
//! server and several clients is ready in under a millisecond.

pub(crate) mod der;
#[cfg(feature = "certificate-requests")]
mod ecdsa;
#[cfg(feature = "certificate-requests")]
mod request;
mod subject;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

#[cfg(feature = "certificate-requests")]
pub use self::request::{RequestError, check_request, requested_organizations};
use crate::error::BoxError;
use crate::tls::{CertificateAndKey, certificates_from_pem, pem};

/// The span of time in which a certificate may be used; both ends belong to it. X.509 counts whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// First moment.
    pub not_before: Timestamp,
    /// Last moment.
    pub not_after: Timestamp,
}

impl Validity {
    /// From a little before `now`, since clocks differ, until `lifetime` after it.
    pub fn starting(now: Timestamp, lifetime: Duration) -> Self {
        let saturating = |seconds: i64| Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
        let lifetime = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
        let now = now.as_second();
        Self {
            not_before: saturating(now.saturating_sub(CLOCK_SKEW_SECONDS)),
            not_after: saturating(now.saturating_add(lifetime)),
        }
    }
}

/// How far before now a new certificate becomes valid: 5 minutes.
pub const CLOCK_SKEW_SECONDS: i64 = 300;

/// An authority that issues certificates to servers and clients.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl CertificateAuthority {
    /// Makes a self-signed authority with a new key.
    ///
    /// # Errors
    ///
    /// The random source failed, or `validity` is outside of what X.509 can express.
    pub fn new(common_name: &str, validity: Validity) -> Result<Self, CertificateError> {
        let mut params = params(common_name, &[], validity)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = new_key()?;
        let certificate = params
            .self_signed(&key)
            .map_err(|source| issue_error(common_name, source))?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate: certificate.into(),
        })
    }

    /// Takes over an authority made elsewhere, with a key of any kind that can sign.
    ///
    /// # Errors
    ///
    /// The texts are no certificate and key in PEM.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        let parse = |source: BoxError| CertificateError::Parse {
            what: "certificate authority",
            source,
        };
        let mut certificates = certificates_from_pem(certificate.as_bytes(), "certificate authority")
            .map_err(|source| parse(source.into()))?;
        let key = KeyPair::from_pem(key).map_err(|source| parse(source.into()))?;
        let certificate = certificates.swap_remove(0);
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|source| parse(source.into()))?;
        Ok(Self { issuer, certificate })
    }

    /// Issues a certificate for a server with these DNS names and addresses; the first is the common name.
    ///
    /// # Errors
    ///
    /// A name is not ASCII, or the random source failed.
    pub fn issue_server<S: AsRef<str>>(
        &self,
        names: &[S],
        validity: Validity,
    ) -> Result<CertificateAndKey, CertificateError> {
        let common_name = names.first().map_or("server", AsRef::as_ref);
        let mut params = params(common_name, &[], validity)?;
        for name in names {
            let name = name.as_ref();
            params.subject_alt_names.push(match name.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(
                    name.try_into()
                        .map_err(|source: rcgen::Error| issue_error(name, source))?,
                ),
            });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(common_name, params)
    }

    /// Issues a certificate that makes its holder this user in these groups: Kubernetes reads the user from the common
    /// name and the groups from the organisations.
    ///
    /// # Errors
    ///
    /// The random source failed.
    pub fn issue_client<S: AsRef<str>>(
        &self,
        user: &str,
        groups: &[S],
        validity: Validity,
    ) -> Result<CertificateAndKey, CertificateError> {
        let groups: Vec<&str> = groups.iter().map(AsRef::as_ref).collect();
        let mut params = params(user, &groups, validity)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let issued = self.issue(user, params)?;
        if groups.len() < 2 {
            return Ok(issued);
        }
        let certificate = subject::replace(&issued.chain()[0], user, &groups, self.issuer.key())?;
        Ok(CertificateAndKey::new(
            vec![certificate],
            issued.key().clone_key(),
        ))
    }

    /// The authority's own certificate as PEM: the CA bundle of whoever should trust it.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The authority's private key as PEM. Whoever has it can act as any user.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    fn issue(
        &self,
        name: &str,
        mut params: CertificateParams,
    ) -> Result<CertificateAndKey, CertificateError> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = new_key()?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(|source| issue_error(name, source))?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(CertificateAndKey::new(vec![certificate.into()], key.into()))
    }
}

impl fmt::Debug for CertificateAuthority {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority").finish_non_exhaustive()
    }
}

/// What a certificate says about its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateInfo {
    /// First common name of the subject; empty if there is none. The user name in Kubernetes.
    pub common_name: String,
    /// Organisations of the subject, in order. The groups in Kubernetes.
    pub organizations: Vec<String>,
    /// DNS names in the subject alternative name extension.
    pub dns_names: Vec<String>,
    /// Addresses in the subject alternative name extension.
    pub addresses: Vec<IpAddr>,
    /// When the certificate may be used.
    pub validity: Validity,
    /// Whether its holder may issue certificates.
    pub is_authority: bool,
}

impl CertificateInfo {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    ///
    /// The bytes are no X.509 certificate.
    pub fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        let parse = |source: BoxError| CertificateError::Parse {
            what: "certificate",
            source,
        };
        let (_, certificate) = X509Certificate::from_der(der).map_err(|source| parse(source.into()))?;
        let time = |seconds: i64| Timestamp::from_second(seconds).map_err(|source| parse(source.into()));
        let text = |value: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            value.as_str().map(str::to_owned).unwrap_or_default()
        };
        let (dns_names, addresses) = alternative_names(&certificate).map_err(parse)?;
        Ok(Self {
            common_name: certificate
                .subject()
                .iter_common_name()
                .next()
                .map(text)
                .unwrap_or_default(),
            organizations: certificate.subject().iter_organization().map(text).collect(),
            dns_names,
            addresses,
            validity: Validity {
                not_before: time(certificate.validity().not_before.timestamp())?,
                not_after: time(certificate.validity().not_after.timestamp())?,
            },
            is_authority: certificate.is_ca(),
        })
    }

    /// Reads every certificate of a PEM text.
    ///
    /// # Errors
    ///
    /// The text is no PEM, or holds no certificate, or one that cannot be read.
    pub fn parse_pem(text: &[u8]) -> Result<Vec<Self>, CertificateError> {
        let certificates =
            certificates_from_pem(text, "certificate").map_err(|source| CertificateError::Parse {
                what: "certificate",
                source: source.into(),
            })?;
        certificates.iter().map(|der| Self::parse(der)).collect()
    }
}

/// Why a certificate could not be made or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// It could not be made.
    #[error("certificate for {name:?} could not be issued")]
    Issue {
        /// The common name or the alternative name at fault.
        name: String,
        /// The library's message.
        #[source]
        source: BoxError,
    },
    /// No key could be made: the random source of the system failed.
    #[error("private key could not be generated")]
    Key {
        /// The library's message.
        #[source]
        source: BoxError,
    },
    /// It could not be read.
    #[error("{what} could not be parsed")]
    Parse {
        /// What was read.
        what: &'static str,
        /// The library's message.
        #[source]
        source: BoxError,
    },
}

fn issue_error(name: &str, source: rcgen::Error) -> CertificateError {
    CertificateError::Issue {
        name: name.to_owned(),
        source: source.into(),
    }
}

fn new_key() -> Result<KeyPair, CertificateError> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|source| CertificateError::Key {
        source: source.into(),
    })
}

fn params(
    common_name: &str,
    organizations: &[&str],
    validity: Validity,
) -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    // The generator keeps one value per attribute; see `subject` for the others.
    if let Some(organization) = organizations.first() {
        subject.push(DnType::OrganizationName, *organization);
    }
    params.distinguished_name = subject;
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let seconds = |time: Timestamp| {
        let seconds = u64::try_from(time.as_second()).unwrap_or(0).min(LAST_SECOND);
        epoch + Duration::from_secs(seconds)
    };
    params.not_before = seconds(validity.not_before);
    params.not_after = seconds(validity.not_after);
    Ok(params)
}

/// 9999-12-31T23:59:59Z, which RFC 5280 reserves for certificates that do not expire.
const LAST_SECOND: u64 = 253_402_300_799;

fn alternative_names(certificate: &X509Certificate<'_>) -> Result<(Vec<String>, Vec<IpAddr>), BoxError> {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    let Some(extension) = certificate.subject_alternative_name()? else {
        return Ok((names, addresses));
    };
    for name in &extension.value.general_names {
        match name {
            GeneralName::DNSName(name) => names.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => {
                if let Ok(bytes) = <[u8; 4]>::try_from(*bytes) {
                    addresses.push(bytes.into());
                } else if let Ok(bytes) = <[u8; 16]>::try_from(*bytes) {
                    addresses.push(bytes.into());
                }
            }
            _ => {}
        }
    }
    Ok((names, addresses))
}
