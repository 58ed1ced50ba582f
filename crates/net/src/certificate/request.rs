//! Requests for certificates (PKCS#10, RFC 2986): whether bytes are one, whether the key that it brings signed it, and for whom it is.
//!
//! Faults are in the words of Go's crypto/x509 (`ParseCertificateRequest`, `CheckSignature`), since the API server gives them to
//! clients.

use super::der::SEQUENCE;
use super::ecdsa::{self, Digest};
#[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
use aws_lc_rs::signature;
#[cfg(feature = "ring")]
use ring::signature;
use x509_parser::asn1_rs::{Any, BitString, Class, Tag};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::der_parser::oid;
use x509_parser::oid_registry::{
    OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_HASH_SHA256, OID_NIST_HASH_SHA384, OID_NIST_HASH_SHA512,
    OID_PKCS1_MD5WITHRSAENC, OID_PKCS1_RSAENCRYPTION, OID_PKCS1_RSASSAPSS, OID_PKCS1_SHA1WITHRSA,
    OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA, OID_PKCS1_SHA512WITHRSA, OID_SIG_ECDSA_WITH_SHA256,
    OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512, OID_SIG_ED25519, Oid,
};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::RSAPublicKey;
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

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
    /// The key does not say on which curve it is.
    #[error("x509: invalid ECDSA parameters")]
    NoCurve,
    /// The key is on a curve that certificates do not use.
    #[error("x509: unsupported elliptic curve")]
    UnknownCurve,
    /// The key is a point that is compressed, or none.
    #[error("ecdsa: invalid uncompressed public key")]
    CompressedPoint,
    /// The key is no point of its curve.
    #[error("{curve} point not on curve")]
    NotOnCurve {
        /// The name of the curve.
        curve: &'static str,
    },
    /// The key is none of its kind.
    #[error("x509: {why}")]
    MalformedKey {
        /// What is wrong with it.
        why: &'static str,
    },
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
    /// A signature by a short RSA key that the library behind this server does not check.
    #[error(
        "x509: cannot verify signature: algorithm unimplemented ({scheme} of {bits} bits; this server knows that from 2048 bits on)"
    )]
    UnsupportedRsa {
        /// How the signature is made.
        scheme: &'static str,
        /// Bits of the key.
        bits: usize,
    },
    /// The signature is not of the kind of the key.
    #[error(
        "x509: signature algorithm specifies an {signature} public key, but have public key of type {key}"
    )]
    OtherKey {
        /// The kind of key that makes such signatures.
        signature: &'static str,
        /// Go's type of the key.
        key: &'static str,
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
    let key = Key::parse(&info.subject_pki)?;
    let signature = whole_bytes(&request.signature_value);
    let algorithm = Algorithm::of(&request.signature_algorithm)?;
    let (verified, why) = match (&key, algorithm) {
        (Key::Rsa { key, bits }, Algorithm::Rsa(scheme)) => {
            let scheme = scheme.verified_by(*bits)?;
            (
                verifies(scheme, key, info.raw, signature),
                "crypto/rsa: verification error",
            )
        }
        (Key::Ecdsa(key), Algorithm::Ecdsa(digest)) => (
            key.verifies(&digest.of(info.raw), signature),
            "x509: ECDSA verification failure",
        ),
        (Key::Ed25519(key), Algorithm::Ed25519) => {
            let verified = verifies(&signature::ED25519, key, info.raw, signature);
            (verified, "x509: Ed25519 verification failure")
        }
        (Key::Other, _) => return Err(RequestError::UnknownAlgorithm),
        (key, algorithm) => {
            return Err(RequestError::OtherKey {
                signature: algorithm.kind(),
                key: key.go_type(),
            });
        }
    };
    if verified {
        Ok(())
    } else {
        Err(RequestError::WrongSignature { why })
    }
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

/// The key that a request asks a certificate for.
enum Key<'a> {
    Rsa {
        key: &'a [u8],
        bits: usize,
    },
    Ecdsa(Box<dyn ecdsa::Key>),
    Ed25519(&'a [u8]),
    /// Of a kind of which no signature is checked.
    Other,
}

impl<'a> Key<'a> {
    fn parse(info: &'a SubjectPublicKeyInfo<'_>) -> Result<Self, RequestError> {
        let (kind, parameters) = (&info.algorithm.algorithm, info.algorithm.parameters.as_ref());
        let key = whole_bytes(&info.subject_public_key);
        let malformed = |why| Err(RequestError::MalformedKey { why });
        match () {
            () if *kind == OID_PKCS1_RSAENCRYPTION => {
                if !parameters.is_some_and(is_null) {
                    return malformed("RSA key missing NULL parameters");
                }
                match RSAPublicKey::from_der(key) {
                    Ok((_, parsed)) => Ok(Self::Rsa {
                        key,
                        bits: bits_of(parsed.modulus),
                    }),
                    Err(_) => malformed("invalid RSA public key"),
                }
            }
            () if *kind == OID_KEY_TYPE_EC_PUBLIC_KEY => {
                let curve = parameters.and_then(|curve| curve.as_oid().ok());
                ecdsa::key(&curve.ok_or(RequestError::NoCurve)?, key).map(Self::Ecdsa)
            }
            () if *kind == OID_SIG_ED25519 && parameters.is_some() => {
                malformed("Ed25519 key encoded with illegal parameters")
            }
            () if *kind == OID_SIG_ED25519 && key.len() != ED25519_BYTES => {
                malformed("wrong Ed25519 public key size")
            }
            () if *kind == OID_SIG_ED25519 => Ok(Self::Ed25519(key)),
            () => Ok(Self::Other),
        }
    }

    fn go_type(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "*rsa.PublicKey",
            Self::Ecdsa(_) => "*ecdsa.PublicKey",
            Self::Ed25519(_) => "ed25519.PublicKey",
            Self::Other => "<nil>",
        }
    }
}

/// How a signature is made.
#[derive(Clone, Copy)]
enum Algorithm {
    Rsa(Rsa),
    Ecdsa(Digest),
    Ed25519,
}

/// What is signed by an RSA key.
#[derive(Clone, Copy)]
enum Rsa {
    /// A digest, filled up as PKCS#1 v1.5 has it.
    Pkcs1(Digest),
    /// A digest with a salt, by RSASSA-PSS of one of the forms that Go knows.
    Pss(PssDigest),
}

/// The digests of RSASSA-PSS that Go knows.
#[derive(Clone, Copy)]
enum PssDigest {
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    fn of(identifier: &AlgorithmIdentifier<'_>) -> Result<Self, RequestError> {
        let oid = &identifier.algorithm;
        if *oid == OID_PKCS1_RSASSAPSS {
            return pss(identifier)
                .map(|digest| Self::Rsa(Rsa::Pss(digest)))
                .ok_or(RequestError::UnknownAlgorithm);
        }
        // RFC 8410, section 3: these have none, not even a NULL.
        if *oid == OID_SIG_ED25519 && identifier.parameters.is_some() {
            return Err(RequestError::UnknownAlgorithm);
        }
        if *oid == OID_PKCS1_MD5WITHRSAENC {
            return Err(RequestError::InsecureAlgorithm { name: "MD5-RSA" });
        }
        let known = [
            (OID_PKCS1_SHA1WITHRSA, Self::Rsa(Rsa::Pkcs1(Digest::Sha1))),
            (ISO_SHA1_WITH_RSA, Self::Rsa(Rsa::Pkcs1(Digest::Sha1))),
            (OID_PKCS1_SHA256WITHRSA, Self::Rsa(Rsa::Pkcs1(Digest::Sha256))),
            (OID_PKCS1_SHA384WITHRSA, Self::Rsa(Rsa::Pkcs1(Digest::Sha384))),
            (OID_PKCS1_SHA512WITHRSA, Self::Rsa(Rsa::Pkcs1(Digest::Sha512))),
            (ECDSA_WITH_SHA1, Self::Ecdsa(Digest::Sha1)),
            (OID_SIG_ECDSA_WITH_SHA256, Self::Ecdsa(Digest::Sha256)),
            (OID_SIG_ECDSA_WITH_SHA384, Self::Ecdsa(Digest::Sha384)),
            (OID_SIG_ECDSA_WITH_SHA512, Self::Ecdsa(Digest::Sha512)),
            (OID_SIG_ED25519, Self::Ed25519),
        ];
        let found = known.into_iter().find(|(known, _)| known == oid);
        found
            .map(|(_, algorithm)| algorithm)
            .ok_or(RequestError::UnknownAlgorithm)
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Rsa(_) => "RSA",
            Self::Ecdsa(_) => "ECDSA",
            Self::Ed25519 => "Ed25519",
        }
    }
}

/// The parameters of RSASSA-PSS, in one of the three forms that Go takes: the mask is made with the digest of the message, and the salt is as
/// long as that (crypto/x509 `getSignatureAlgorithmFromAI`).
fn pss(identifier: &AlgorithmIdentifier<'_>) -> Option<PssDigest> {
    let is_sequence = |any: &&Any<'_>| any.class() == Class::Universal && any.header.constructed();
    let params = identifier.parameters.as_ref().filter(is_sequence)?;
    let params = RsaSsaPssParams::try_from(params).ok()?;
    let hash = params.hash_algorithm()?;
    let mask = params.mask_gen_algorithm_raw()?;
    let mask_hash = mask.parameters.as_ref().filter(is_sequence)?;
    let mask_hash = AlgorithmIdentifier::try_from(mask_hash.clone()).ok()?;
    let is_plain = is_bare(hash)
        && is_bare(&mask_hash)
        && mask.algorithm == MGF1
        && mask_hash.algorithm == hash.algorithm
        && params.trailer_field() == 1;
    let known = [
        (OID_NIST_HASH_SHA256, 32, PssDigest::Sha256),
        (OID_NIST_HASH_SHA384, 48, PssDigest::Sha384),
        (OID_NIST_HASH_SHA512, 64, PssDigest::Sha512),
    ];
    let found = known
        .into_iter()
        .find(|(oid, salt, _)| *oid == hash.algorithm && *salt == params.salt_length());
    found.filter(|_| is_plain).map(|(_, _, digest)| digest)
}

/// Whether there are no parameters but perhaps a NULL.
fn is_bare(identifier: &AlgorithmIdentifier<'_>) -> bool {
    identifier.parameters.as_ref().is_none_or(is_null)
}

/// The parser looks at the number of a tag alone.
fn is_null(any: &Any<'_>) -> bool {
    let is_plain = any.class() == Class::Universal && !any.header.constructed();
    is_plain && any.tag() == Tag::Null && any.data.is_empty()
}

/// Of a string of bits that are no bytes, nothing: no key and no signature is one.
fn whole_bytes<'a>(bits: &'a BitString<'_>) -> &'a [u8] {
    match bits.unused_bits {
        0 => &bits.data,
        _ => &[],
    }
}

/// How many bits a number has.
fn bits_of(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let first = number.get(zeros).map_or(0, |byte| byte.leading_zeros() as usize);
    8 * (number.len() - zeros) - first
}

impl Rsa {
    /// What verifies it by a key of so many bits.
    fn verified_by(self, bits: usize) -> Result<&'static dyn signature::VerificationAlgorithm, RequestError> {
        // The library behind checks some of them from 2048 bits on.
        let legacy = SHORTEST_RSA_BITS;
        let (shortest, scheme): (_, &'static dyn signature::VerificationAlgorithm) = match self {
            Self::Pkcs1(Digest::Sha1) => (legacy, &signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY),
            Self::Pkcs1(Digest::Sha256) => {
                (legacy, &signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)
            }
            Self::Pkcs1(Digest::Sha384) => (2048, &signature::RSA_PKCS1_2048_8192_SHA384),
            Self::Pkcs1(Digest::Sha512) => {
                (legacy, &signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY)
            }
            Self::Pss(PssDigest::Sha256) => (2048, &signature::RSA_PSS_2048_8192_SHA256),
            Self::Pss(PssDigest::Sha384) => (2048, &signature::RSA_PSS_2048_8192_SHA384),
            Self::Pss(PssDigest::Sha512) => (2048, &signature::RSA_PSS_2048_8192_SHA512),
        };
        match bits {
            ..SHORTEST_RSA_BITS => Err(RequestError::ShortKey { bits }),
            // The library behind counts bytes.
            bits if bits.next_multiple_of(8) < shortest => Err(RequestError::UnsupportedRsa {
                scheme: self.name(),
                bits,
            }),
            _ => Ok(scheme),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pkcs1(Digest::Sha1) => "RSA with SHA-1",
            Self::Pkcs1(Digest::Sha256) => "RSA with SHA-256",
            Self::Pkcs1(Digest::Sha384) => "RSA with SHA-384",
            Self::Pkcs1(Digest::Sha512) => "RSA with SHA-512",
            Self::Pss(_) => "RSASSA-PSS",
        }
    }
}

fn verifies(
    scheme: &'static dyn signature::VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    signature::UnparsedPublicKey::new(scheme, key)
        .verify(message, signature)
        .is_ok()
}

/// ecdsa-with-SHA1, which Go takes in requests, if not in certificates.
const ECDSA_WITH_SHA1: Oid<'static> = oid!(1.2.840.10045.4.1);
/// sha1WithRSASignature, another name for the same that Go knows.
const ISO_SHA1_WITH_RSA: Oid<'static> = oid!(1.3.14.3.2.29);
/// The length of a key on Ed25519.
const ED25519_BYTES: usize = 32;
/// Below this Go trusts no RSA key.
const SHORTEST_RSA_BITS: usize = 1024;
/// id-mgf1 (RFC 8017, appendix B.2.1).
const MGF1: Oid<'static> = oid!(1.2.840.113549.1.1.8);

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, DnType, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SignatureAlgorithm,
    };

    use x509_parser::pem::Pem;

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

    /// The parser takes what is signed as it is, so the identifier behind it can grow by a NULL, and the whole with it.
    #[test]
    fn ed25519_has_no_parameters() {
        let der = request(&PKCS_ED25519);
        let name = [0x30, 5, 6, 3, 0x2b, 0x65, 0x70];
        let at = der.windows(name.len()).rposition(|bytes| bytes == name).unwrap();
        let null = [0x30, 7, 6, 3, 0x2b, 0x65, 0x70, 5, 0];
        let mut other = [&der[..at], &null, &der[at + name.len()..]].concat();
        // The length is the byte, or the two, behind the tag.
        let length = match other[1] {
            0x81 => 2,
            0x82 => 3,
            _ => 1,
        };
        other[length] += 2;
        check(&other, "x509: cannot verify signature: algorithm unimplemented");
    }

    /// Made by openssl: with SHA-256, SHA-384 and SHA-512, salts as long; then what Go does not take: SHA-1, a short salt, another digest for the
    /// mask.
    #[test]
    fn rsa_with_salt() {
        let all = |pem: &'static [u8]| {
            let requests = Pem::iter_from_buffer(pem).map(|request| request.unwrap().contents);
            let requests: Vec<_> = requests.collect();
            assert_eq!(requests.len(), 3);
            requests
        };
        for mut request in all(include_bytes!("rsa_pss.csr")) {
            check(&request, "");
            let last = request.len() - 1;
            request[last] ^= 1;
            check(&request, "crypto/rsa: verification error");
        }
        // Parameters of the digest of the message, and of that of the mask, that are no NULL but something else without a length.
        let whole = all(include_bytes!("rsa_pss.csr")).remove(0);
        let sha256_and_null = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0];
        let places = whole.windows(sha256_and_null.len()).enumerate();
        let places: Vec<_> = places.filter(|(_, bytes)| *bytes == sha256_and_null).collect();
        assert_eq!(places.len(), 2);
        for (at, _) in places {
            let mut request = whole.clone();
            request[at + 9] = 4;
            check(&request, "x509: cannot verify signature: algorithm unimplemented");
        }
        for request in all(include_bytes!("rsa_pss_other.csr")) {
            check(&request, "x509: cannot verify signature: algorithm unimplemented");
        }
    }

    /// Made by openssl: P-224, P-256, P-384 and P-521, each with SHA-1, SHA-256, SHA-384 and SHA-512. Go takes them all.
    #[test]
    fn all_curves_and_digests() {
        let requests: Vec<_> = Pem::iter_from_buffer(include_bytes!("ecdsa.csr"))
            .map(Result::unwrap)
            .collect();
        assert_eq!(requests.len(), 16);
        for request in &requests {
            check(&request.contents, "");
            let mut other = request.contents.clone();
            // In the subject.
            other[20] ^= 1;
            check(&other, "x509: ECDSA verification failure");
        }
    }

    /// Whatever is changed of what is signed and of the signature, something is wrong; and nothing panics. The parser is not strict about the
    /// tags between the two.
    #[test]
    fn changed_requests_are_refused() {
        let requests = Pem::iter_from_buffer(include_bytes!("ecdsa.csr")).map(Result::unwrap);
        for request in requests.step_by(5) {
            let der = request.contents;
            let parsed = parse(&der).unwrap();
            let signature = der.len() - parsed.signature_value.data.len();
            let info = parsed.certification_request_info.raw;
            let signed = der.windows(info.len()).position(|bytes| bytes == info).unwrap() + info.len();
            for at in 0..der.len() {
                let mut other = der.clone();
                other[at] ^= 1;
                let is_refused = check_request(&other).is_err();
                assert!(is_refused || (signed..signature).contains(&at), "byte {at}");
            }
        }
    }

    #[test]
    fn bits_are_counted_from_the_first_that_is_set() {
        for (number, expect) in [
            (&[][..], 0),
            (&[0, 0], 0),
            (&[1], 1),
            (&[0, 0x80, 0], 16),
            (&[7, 0xff], 11),
        ] {
            assert_eq!(bits_of(number), expect, "{number:?}");
        }
    }

    /// What is signed is changed as well, but a key that is none is told of first.
    #[test]
    fn keys_with_other_parameters() {
        let (_, pem) = x509_parser::pem::parse_x509_pem(include_bytes!("rsa1024.csr")).unwrap();
        let name_and_null = [0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0];
        let places = pem.contents.windows(name_and_null.len());
        let at = places
            .into_iter()
            .position(|bytes| bytes == name_and_null)
            .unwrap();
        // No NULL but another tag, and the tag of another class.
        for tag in [4, 0x85] {
            let mut other = pem.contents.clone();
            other[at + 9] = tag;
            check(&other, "x509: RSA key missing NULL parameters");
        }
        let der = request(&PKCS_ED25519);
        let name = [6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
        let at = der.windows(name.len()).position(|bytes| bytes == name).unwrap();
        let mut other = der;
        // The last bit of the key is none of it; where that is set, the parser refuses it.
        other[at + 7] = 1;
        other[at + 7 + ED25519_BYTES] &= 0xfe;
        check(&other, "x509: wrong Ed25519 public key size");
    }

    #[test]
    fn keys_that_are_none() {
        let point = request(&rcgen::PKCS_ECDSA_P256_SHA256);
        let start = point.windows(4).position(|bytes| bytes == [3, 66, 0, 4]).unwrap() + 3;
        for (at, byte, expect) in [
            (start, 2, "ecdsa: invalid uncompressed public key"),
            (start + 1, point[start + 1] ^ 1, "P256 point not on curve"),
            // The last part of the curve's identifier.
            (start - 4, 6, "x509: unsupported elliptic curve"),
        ] {
            let mut other = point.clone();
            other[at] = byte;
            check(&other, expect);
        }
    }

    /// The name of another algorithm in place of `sha256WithRSAEncryption`, filled up with parameters, which Go passes over.
    #[test]
    fn signatures_are_of_the_kind_of_the_key() {
        let (_, pem) = x509_parser::pem::parse_x509_pem(include_bytes!("rsa1024.csr")).unwrap();
        let name = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 11, 5, 0];
        let found = pem.contents.windows(name.len()).rposition(|bytes| bytes == name);
        let at = found.unwrap();
        for (name, expect) in [
            (
                [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2, 4, 1, 0],
                "x509: signature algorithm specifies an ECDSA public key, but have public key of type *rsa.PublicKey",
            ),
            (
                [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 1, 4, 1, 0],
                "x509: cannot verify signature: algorithm unimplemented",
            ),
            (
                [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 4, 5, 0],
                "x509: cannot verify signature: insecure algorithm MD5-RSA",
            ),
        ] {
            let mut other = pem.contents.clone();
            other[at..at + name.len()].copy_from_slice(&name);
            check(&other, expect);
        }
    }

    /// Made by openssl.
    #[test]
    fn what_the_backend_lacks_is_named() {
        let sha384 = &include_bytes!("rsa1024_sha384.csr")[..];
        let pss = &include_bytes!("rsa1024_pss.csr")[..];
        for (pem, scheme) in [(sha384, "RSA with SHA-384"), (pss, "RSASSA-PSS")] {
            let (_, pem) = x509_parser::pem::parse_x509_pem(pem).unwrap();
            check(
                &pem.contents,
                &format!(
                    "x509: cannot verify signature: algorithm unimplemented ({scheme} of 1024 bits; this server knows that from 2048 \
                     bits on)"
                ),
            );
        }
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
