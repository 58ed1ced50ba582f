//! Requests for certificates (PKCS#10, RFC 2986): whether bytes are one, whether the key that it brings signed it, and for whom it is.
//!
//! Faults are in the words of Go's crypto/x509 (`ParseCertificateRequest`, `CheckSignature`), since the API server gives them to
//! clients.

use super::der::SEQUENCE;
#[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
use aws_lc_rs::signature;
#[cfg(feature = "ring")]
use ring::signature;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::der_parser::oid;
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_NIST_EC_P521, OID_PKCS1_MD5WITHRSAENC,
    OID_PKCS1_RSAENCRYPTION, OID_PKCS1_SHA1WITHRSA, OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA,
    OID_PKCS1_SHA512WITHRSA, OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512,
    OID_SIG_ED25519, Oid,
};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::RSAPublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// Why a request for a certificate is none, or not signed by whom it speaks of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The bytes are no request in DER.
    #[error("asn1: {why}")]
    Malformed {
        /// What is wrong with them.
        why: &'static str,
    },
    /// The key is on a curve that certificates do not use.
    #[error("x509: unsupported elliptic curve")]
    UnknownCurve,
    /// The key is too short to be trusted.
    #[error(
        "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
    )]
    ShortKey {
        /// Its length.
        bits: usize,
    },
    /// The signature is made in a way that Go does not know.
    #[error("x509: cannot verify signature: algorithm unimplemented")]
    UnknownAlgorithm,
    /// The signature is made in a way that Go knows and this server does not: the cryptographic backend has the curves P-256 and P-384, each
    /// with SHA-256 and SHA-384 alone.
    #[error(
        "x509: cannot verify signature: algorithm unimplemented (ECDSA with {curve} and {digest}; this server knows P-256 and P-384 with \
         SHA-256 and SHA-384)"
    )]
    UnsupportedEcdsa {
        /// The curve of the key.
        curve: &'static str,
        /// What the signature is of.
        digest: &'static str,
    },
    /// A signature by a short RSA key that the library behind this server does not check.
    #[error(
        "x509: cannot verify signature: algorithm unimplemented (RSA of {bits} bits with SHA-384; this server knows that from 2048 bits on)"
    )]
    UnsupportedRsa {
        /// Bits of the key.
        bits: usize,
    },
    /// The signature is made in a way that is broken.
    #[error("x509: cannot verify signature: insecure algorithm {name}")]
    InsecureAlgorithm {
        /// Its name.
        name: &'static str,
    },
    /// The signature is none by the key.
    #[error("{why}")]
    WrongSignature {
        /// As Go says it of this kind of key.
        why: &'static str,
    },
}

/// Checks that bytes are a request for a certificate in DER, signed by the key that it asks a certificate for.
///
/// # Errors
/// See [`RequestError`].
pub fn check_request(der: &[u8]) -> Result<(), RequestError> {
    let request = parse(der)?;
    let info = &request.certification_request_info;
    let key = &info.subject_pki;
    let algorithm = algorithm(&request.signature_algorithm.algorithm, key)?;
    signature::UnparsedPublicKey::new(algorithm, key.subject_public_key.data.as_ref())
        .verify(info.raw, request.signature_value.data.as_ref())
        .map_err(|_| RequestError::WrongSignature {
            why: failure(&key.algorithm.algorithm),
        })
}

/// The organisations of the subject that a request in DER asks a certificate for, in their order. Whether it is signed is not looked at.
///
/// # Errors
/// [`RequestError::Malformed`], also for a name in an encoding that is no text here (neither UTF-8 nor ASCII).
pub fn requested_organizations(der: &[u8]) -> Result<Vec<String>, RequestError> {
    let request = parse(der)?;
    let names = request.certification_request_info.subject.iter_organization();
    names
        .map(|name| match name.as_str() {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(RequestError::Malformed {
                why: "structure error: an organization is no text",
            }),
        })
        .collect()
}

fn parse(der: &[u8]) -> Result<X509CertificationRequest<'_>, RequestError> {
    check_layout(der)?;
    match X509CertificationRequest::from_der(der) {
        Ok((_, request)) => Ok(request),
        Err(_) => Err(RequestError::Malformed {
            why: "structure error: malformed certificate request",
        }),
    }
}

/// Whether the bytes are one sequence and nothing else.
fn check_layout(der: &[u8]) -> Result<(), RequestError> {
    let malformed = |why| Err(RequestError::Malformed { why });
    let length = match *der {
        [] => return malformed("syntax error: sequence truncated"),
        [_] | [_, 0x81] | [_, 0x82] | [_, 0x82, _] => {
            return malformed("syntax error: truncated tag or length");
        }
        [_, 0x80, ..] => return malformed("syntax error: indefinite length found (not DER)"),
        [_, length @ ..0x80, ..] => 2 + usize::from(length),
        [_, 0x81, ..0x80, ..] | [_, 0x82, 0, ..] => return malformed("structure error: non-minimal length"),
        [_, 0x81, length, ..] => 3 + usize::from(length),
        [_, 0x82, high, low, ..] => 4 + usize::from(u16::from_be_bytes([high, low])),
        // A body is smaller.
        _ => return malformed("structure error: length too large"),
    };
    if der[0] != SEQUENCE {
        return malformed("structure error: tags don't match");
    }
    match der.len() {
        found if found < length => malformed("syntax error: data truncated"),
        found if found > length => malformed("syntax error: trailing data"),
        2 => malformed("syntax error: sequence truncated"),
        _ => Ok(()),
    }
}

/// How the signature is checked.
fn algorithm(
    signed_with: &Oid<'_>,
    key: &SubjectPublicKeyInfo<'_>,
) -> Result<&'static dyn signature::VerificationAlgorithm, RequestError> {
    let kind = &key.algorithm.algorithm;
    let found: Option<&'static dyn signature::VerificationAlgorithm> = if *kind == OID_PKCS1_RSAENCRYPTION {
        if *signed_with == OID_PKCS1_MD5WITHRSAENC {
            return Err(RequestError::InsecureAlgorithm { name: "MD5-RSA" });
        }
        let modulus = RSAPublicKey::from_der(&key.subject_public_key.data);
        let bits = modulus.map_or(0, |(_, key)| key.key_size());
        if bits < SHORTEST_RSA_BITS {
            return Err(RequestError::ShortKey { bits });
        }
        let is = |oid: &Oid<'_>| signed_with == oid;
        match () {
            () if is(&OID_PKCS1_SHA1WITHRSA) => {
                Some(&signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY)
            }
            () if is(&OID_PKCS1_SHA256WITHRSA) => {
                Some(&signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)
            }
            () if is(&OID_PKCS1_SHA384WITHRSA) && bits < SHORTEST_RSA_BITS_OF_SHA384 => {
                return Err(RequestError::UnsupportedRsa { bits });
            }
            () if is(&OID_PKCS1_SHA384WITHRSA) => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
            () if is(&OID_PKCS1_SHA512WITHRSA) => {
                Some(&signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY)
            }
            () => None,
        }
    } else if *kind == OID_KEY_TYPE_EC_PUBLIC_KEY {
        let curve = key
            .algorithm
            .parameters
            .as_ref()
            .and_then(|curve| curve.as_oid().ok());
        let curve = curve.ok_or(RequestError::UnknownCurve)?;
        return ecdsa(&curve, signed_with);
    } else if *kind == OID_SIG_ED25519 && *signed_with == OID_SIG_ED25519 {
        Some(&signature::ED25519)
    } else {
        None
    };
    found.ok_or(RequestError::UnknownAlgorithm)
}

/// How a signature by a key on a curve is checked.
fn ecdsa(
    curve: &Oid<'_>,
    signed_with: &Oid<'_>,
) -> Result<&'static dyn signature::VerificationAlgorithm, RequestError> {
    let curves = [
        (OID_EC_P256, "P-256"),
        (OID_NIST_EC_P384, "P-384"),
        (OID_NIST_EC_P521, "P-521"),
        (P_224, "P-224"),
    ];
    let digests = [
        (OID_SIG_ECDSA_WITH_SHA256, "SHA-256"),
        (OID_SIG_ECDSA_WITH_SHA384, "SHA-384"),
        (OID_SIG_ECDSA_WITH_SHA512, "SHA-512"),
        (ECDSA_WITH_SHA1, "SHA-1"),
    ];
    let known = curves.iter().find(|(oid, _)| oid == curve);
    let (_, curve) = *known.ok_or(RequestError::UnknownCurve)?;
    let known = digests.iter().find(|(oid, _)| oid == signed_with);
    let (_, digest) = *known.ok_or(RequestError::UnknownAlgorithm)?;
    match (curve, digest) {
        ("P-256", "SHA-256") => Ok(&signature::ECDSA_P256_SHA256_ASN1),
        ("P-256", "SHA-384") => Ok(&signature::ECDSA_P256_SHA384_ASN1),
        ("P-384", "SHA-256") => Ok(&signature::ECDSA_P384_SHA256_ASN1),
        ("P-384", "SHA-384") => Ok(&signature::ECDSA_P384_SHA384_ASN1),
        _ => Err(RequestError::UnsupportedEcdsa { curve, digest }),
    }
}

/// What Go says of a signature that is none by a key of this kind.
fn failure(kind: &Oid<'_>) -> &'static str {
    match () {
        () if *kind == OID_PKCS1_RSAENCRYPTION => "crypto/rsa: verification error",
        () if *kind == OID_KEY_TYPE_EC_PUBLIC_KEY => "x509: ECDSA verification failure",
        () => "x509: Ed25519 verification failure",
    }
}

/// ecdsa-with-SHA1, which Go takes in requests, if not in certificates.
const ECDSA_WITH_SHA1: Oid<'static> = oid!(1.2.840.10045.4.1);
/// secp224r1, which Go knows.
const P_224: Oid<'static> = oid!(1.3.132.0.33);
/// Below this Go trusts no RSA key.
const SHORTEST_RSA_BITS: usize = 1024;
/// Bits from which the library behind checks RSA with SHA-384.
const SHORTEST_RSA_BITS_OF_SHA384: usize = 2048;

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, DnType, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SignatureAlgorithm,
    };

    use super::*;

    fn request(algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let params = CertificateParams::new(["a.example.com".to_owned()]).unwrap();
        params.serialize_request(&key).unwrap().der().to_vec()
    }

    #[track_caller]
    fn check(der: &[u8], expect: &str) {
        let found = check_request(der).map_err(|error| error.to_string());
        assert_eq!(found.err().unwrap_or_default(), expect);
    }

    #[test]
    fn requests_are_signed_by_their_keys() {
        for (algorithm, failure) in [
            (&rcgen::PKCS_ECDSA_P256_SHA256, "x509: ECDSA verification failure"),
            (&PKCS_ECDSA_P384_SHA384, "x509: ECDSA verification failure"),
            (&PKCS_ED25519, "x509: Ed25519 verification failure"),
        ] {
            let der = request(algorithm);
            check(&der, "");
            let mut other = der.clone();
            let last = other.len() - 3;
            other[last] ^= 1;
            check(&other, failure);
            check(&[&der[..], &[0]].concat(), "asn1: syntax error: trailing data");
            check(&der[..der.len() - 1], "asn1: syntax error: data truncated");
        }
    }

    /// Made by openssl.
    #[test]
    fn rsa() {
        let (_, pem) = x509_parser::pem::parse_x509_pem(include_bytes!("rsa1024.csr")).unwrap();
        check(&pem.contents, "");
        let mut other = pem.contents;
        let last = other.len() - 1;
        other[last] ^= 1;
        check(&other, "crypto/rsa: verification error");
        let (_, pem) = x509_parser::pem::parse_x509_pem(include_bytes!("rsa512.csr")).unwrap();
        let short =
            "crypto/rsa: 512-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)";
        check(&pem.contents, short);
    }

    /// Made by openssl.
    #[test]
    fn what_the_backend_lacks_is_named() {
        for (pem, what) in [
            (&include_bytes!("p521.csr")[..], "ECDSA with P-521 and SHA-512"),
            (include_bytes!("p256_sha512.csr"), "ECDSA with P-256 and SHA-512"),
        ] {
            let (_, pem) = x509_parser::pem::parse_x509_pem(pem).unwrap();
            let known = "this server knows P-256 and P-384 with SHA-256 and SHA-384";
            check(
                &pem.contents,
                &format!("x509: cannot verify signature: algorithm unimplemented ({what}; {known})"),
            );
        }
        let pem = include_bytes!("rsa1024_sha384.csr");
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem).unwrap();
        check(
            &pem.contents,
            "x509: cannot verify signature: algorithm unimplemented (RSA of 1024 bits with SHA-384; this server knows that from 2048 bits on)",
        );
    }

    #[test]
    fn whom_a_request_is_for() {
        for organizations in [&[][..], &["system:masters"]] {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, "somebody");
            for name in organizations {
                params.distinguished_name.push(DnType::OrganizationName, *name);
            }
            let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
            assert_eq!(requested_organizations(request.der()).unwrap(), organizations);
        }
        assert!(requested_organizations(b"nonsense").is_err());
    }

    #[test]
    fn what_is_no_request() {
        for (der, expect) in [
            (&b""[..], "syntax error: sequence truncated"),
            (b"\x30", "syntax error: truncated tag or length"),
            (b"\x30\x82\x01", "syntax error: truncated tag or length"),
            (b"\x30\x00", "syntax error: sequence truncated"),
            (b"\x30\x80\0\0", "syntax error: indefinite length found (not DER)"),
            (b"\x30\x81\x01\0", "structure error: non-minimal length"),
            (
                b"\x30\x85\x01\x01\x01\x01\x01",
                "structure error: length too large",
            ),
            (b"\x02\x01\x05", "structure error: tags don't match"),
            (
                b"\x30\x03\x02\x01\x05",
                "structure error: malformed certificate request",
            ),
        ] {
            check(der, &format!("asn1: {expect}"));
        }
    }
}
