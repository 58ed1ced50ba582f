//! Keys that sign tokens, and those that tell whether a token was signed by them: JSON Web Signatures (RFC 7515, RFC 7518).
//!
//! Signatures are of the kinds that kube-apiserver makes: `ES256`, `ES384` and `RS256` (kubernetes pkg/serviceaccount/jwt.go).
//! The cryptography is that of the backend which the crate's features choose, the one that certificates are made with.

use std::fmt;
use std::sync::Arc;

#[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
use aws_lc_rs as backend;
#[cfg(feature = "ring")]
use ring as backend;

use backend::rand::SystemRandom;
use backend::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _, RsaKeyPair, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::pki_types::pem::{PemObject as _, SectionKind};
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::public_key;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::certificate::der;

/// Why a key could not be made, read or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    /// The text is not PEM.
    #[error("the key is not PEM: {why}")]
    Pem {
        /// What the reader says.
        why: String,
    },
    /// There is no key of a kind that is understood in the text.
    #[error("there is no RSA or ECDSA key in the text")]
    NoKey,
    /// A key is malformed, or of a kind that is not offered: RSA below 2048 bits, ECDSA on other curves than P-256 and P-384.
    #[error("the key is malformed or of a kind that is not offered: {why}")]
    Rejected {
        /// What the backend says.
        why: String,
    },
    /// The random source of the system failed.
    #[error("the random source of the system failed")]
    Random,
}

/// How signatures are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Algorithm {
    Es256,
    Es384,
    Rs256,
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
        }
    }

    /// The algorithm identifier of a public key: the content of the sequence.
    fn identifier(self) -> Vec<u8> {
        match self {
            Self::Es256 => [EC_PUBLIC_KEY, P_256].concat(),
            Self::Es384 => [EC_PUBLIC_KEY, P_384].concat(),
            Self::Rs256 => [RSA_ENCRYPTION, NULL].concat(),
        }
    }

    /// The algorithm of a curve, for elliptic keys.
    fn curve(self) -> Option<(&'static EcdsaSigningAlgorithm, &'static str)> {
        match self {
            Self::Es256 => Some((&signature::ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")),
            Self::Es384 => Some((&signature::ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")),
            Self::Rs256 => None,
        }
    }
}

/// A private key that signs. Cheap to clone.
#[derive(Clone)]
pub struct SigningKey {
    pair: Arc<Pair>,
    public: PublicKey,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Makes a new key, ECDSA on P-256; this takes some tens of microseconds.
    ///
    /// # Errors
    /// [`SigningError::Random`].
    pub fn generate() -> Result<Self, SigningError> {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| SigningError::Random)?;
        Self::ecdsa(Algorithm::Es256, pkcs8.as_ref())
    }

    /// Reads the first private key of a text in PEM: PKCS#8, PKCS#1 or SEC 1.
    ///
    /// # Errors
    /// See [`SigningError`].
    pub fn from_pem(text: &[u8]) -> Result<Self, SigningError> {
        for section in sections(text)? {
            if let Some(key) = Self::from_section(&section) {
                return key;
            }
        }
        Err(SigningError::NoKey)
    }

    fn from_section((kind, der): &(SectionKind, Vec<u8>)) -> Option<Result<Self, SigningError>> {
        let curve = || {
            let has = |curve: &[u8]| der.windows(curve.len()).any(|window| window == curve);
            [(P_256, Algorithm::Es256), (P_384, Algorithm::Es384)]
                .into_iter()
                .find_map(|(curve, algorithm)| has(curve).then_some(algorithm))
        };
        Some(match (kind, curve()) {
            (SectionKind::RsaPrivateKey, _) => Self::rsa(RsaKeyPair::from_der(der)),
            (SectionKind::PrivateKey, Some(algorithm)) => Self::ecdsa(algorithm, der),
            (SectionKind::PrivateKey, None) => Self::rsa(RsaKeyPair::from_pkcs8(der)),
            (SectionKind::EcPrivateKey, Some(algorithm)) => {
                // PKCS#8 is the same key with its kind in front.
                let identifier = der::element(der::SEQUENCE, &algorithm.identifier());
                let key = der::element(der::OCTET_STRING, der);
                let pkcs8 = [VERSION_0, &identifier, &key].concat();
                Self::ecdsa(algorithm, &der::element(der::SEQUENCE, &pkcs8))
            }
            (SectionKind::EcPrivateKey, None) => Err(SigningError::Rejected {
                why: "the curve is neither P-256 nor P-384".to_owned(),
            }),
            _ => return None,
        })
    }

    fn ecdsa(algorithm: Algorithm, pkcs8: &[u8]) -> Result<Self, SigningError> {
        let Some((signing, _)) = algorithm.curve() else {
            return Err(SigningError::NoKey);
        };
        #[cfg(feature = "ring")]
        let pair = EcdsaKeyPair::from_pkcs8(signing, pkcs8, &SystemRandom::new());
        #[cfg(not(feature = "ring"))]
        let pair = EcdsaKeyPair::from_pkcs8(signing, pkcs8);
        let pair = pair.map_err(rejected)?;
        Ok(Self {
            public: PublicKey::new(algorithm, pair.public_key().as_ref().to_vec()),
            pair: Arc::new(Pair::Ecdsa(pair)),
        })
    }

    fn rsa(pair: Result<RsaKeyPair, impl fmt::Display>) -> Result<Self, SigningError> {
        let pair = pair.map_err(rejected)?;
        Ok(Self {
            public: PublicKey::new(Algorithm::Rs256, pair.public_key().as_ref().to_vec()),
            pair: Arc::new(Pair::Rsa(pair)),
        })
    }

    /// The other half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a message; ECDSA signatures have the fixed length that RFC 7518 asks for.
    ///
    /// # Errors
    /// [`SigningError::Random`].
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        let random = SystemRandom::new();
        match &*self.pair {
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&random, message).map_err(|_| SigningError::Random)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Rsa(pair) => {
                #[cfg(feature = "ring")]
                let length = pair.public().modulus_len();
                #[cfg(not(feature = "ring"))]
                let length = pair.public_modulus_len();
                let mut signature = vec![0; length];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| SigningError::Random)?;
                Ok(signature)
            }
        }
    }
}

impl SigningKey {
    /// A JSON Web Token that carries claims, in its compact form (RFC 7519, RFC 7515): three parts in base64, of which the last signs the first
    /// two. The header names the key.
    ///
    /// # Errors
    /// [`SigningError::Random`].
    pub fn token(&self, claims: &Value) -> Result<String, SigningError> {
        let header = json!({"alg": self.public.algorithm(), "kid": self.public.id()});
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }
}

impl fmt::Debug for SigningKey {
    /// Without the private half.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// A public key that tells whether a signature is its private half's.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// The content of the bit string of a public key: a point of the curve, or modulus and exponent.
    key: Vec<u8>,
    id: String,
}

impl PublicKey {
    fn new(algorithm: Algorithm, key: Vec<u8>) -> Self {
        let identifier = der::element(der::SEQUENCE, &algorithm.identifier());
        // Zero unused bits in front of the key.
        let bits = der::element(der::BIT_STRING, &[&[0], key.as_slice()].concat());
        let info = der::element(der::SEQUENCE, &[identifier, bits].concat());
        let digest = backend::digest::digest(&backend::digest::SHA256, &info);
        Self {
            algorithm,
            key,
            id: URL_SAFE_NO_PAD.encode(digest),
        }
    }

    /// Reads every key of a text in PEM: public keys, those in certificates, and the public halves of private keys.
    ///
    /// # Errors
    /// See [`SigningError`].
    pub fn all_from_pem(text: &[u8]) -> Result<Vec<Self>, SigningError> {
        let mut keys = Vec::new();
        for section in sections(text)? {
            let (kind, der) = &section;
            let key = match kind {
                SectionKind::PublicKey => {
                    let info = SubjectPublicKeyInfo::from_der(der).map_err(rejected)?;
                    Some(Self::from_info(&info.1)?)
                }
                SectionKind::Certificate => {
                    let certificate = X509Certificate::from_der(der).map_err(rejected)?;
                    Some(Self::from_info(certificate.1.public_key())?)
                }
                _ => SigningKey::from_section(&section)
                    .transpose()?
                    .map(|key| key.public),
            };
            keys.extend(key);
        }
        if keys.is_empty() {
            return Err(SigningError::NoKey);
        }
        Ok(keys)
    }

    fn from_info(info: &SubjectPublicKeyInfo<'_>) -> Result<Self, SigningError> {
        let raw = info.raw;
        let has = |id: &[u8]| raw.windows(id.len()).any(|window| window == id);
        let algorithm = match info.parsed().map_err(rejected)? {
            public_key::PublicKey::RSA(_) => Algorithm::Rs256,
            public_key::PublicKey::EC(_) if has(P_256) => Algorithm::Es256,
            public_key::PublicKey::EC(_) if has(P_384) => Algorithm::Es384,
            _ => {
                return Err(SigningError::Rejected {
                    why: "neither RSA nor ECDSA on P-256 or P-384".to_owned(),
                });
            }
        };
        Ok(Self::new(algorithm, info.subject_public_key.data.to_vec()))
    }

    /// The id by which tokens name their key: a digest of it, from which it cannot be computed back.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the kind of signature: `ES256`, `ES384` or `RS256`.
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    /// Whether `signature` is one of `message` by the private half.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn signature::VerificationAlgorithm = match self.algorithm {
            Algorithm::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Algorithm::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        };
        UnparsedPublicKey::new(algorithm, &self.key)
            .verify(message, signature)
            .is_ok()
    }

    /// The key as a JSON Web Key (RFC 7517).
    pub fn to_jwk(&self) -> Value {
        let mut jwk = json!({"use": "sig", "kid": self.id, "alg": self.algorithm()});
        let mut set = |field: &str, bytes: &[u8]| jwk[field] = URL_SAFE_NO_PAD.encode(bytes).into();
        match self.algorithm.curve() {
            Some((_, curve)) => {
                // An uncompressed point: a byte that says so, and two halves.
                let point = self.key.get(1..).unwrap_or_default();
                let (x, y) = point.split_at(point.len() / 2);
                set("x", x);
                set("y", y);
                jwk["kty"] = "EC".into();
                jwk["crv"] = curve.into();
            }
            None => {
                if let Ok((_, key)) = public_key::RSAPublicKey::from_der(&self.key) {
                    let unsigned = |number: &[u8]| {
                        let zeros = number.iter().take_while(|byte| **byte == 0).count();
                        number[zeros..].to_vec()
                    };
                    set("n", &unsigned(key.modulus));
                    set("e", &unsigned(key.exponent));
                }
                jwk["kty"] = "RSA".into();
            }
        }
        jwk
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} {})", self.algorithm(), self.id)
    }
}

fn sections(text: &[u8]) -> Result<Vec<(SectionKind, Vec<u8>)>, SigningError> {
    let mut sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(text);
    sections
        .by_ref()
        .take(MAX_SECTIONS)
        .collect::<Result<_, _>>()
        .map_err(|why| SigningError::Pem { why: why.to_string() })
}

fn rejected(why: impl fmt::Display) -> SigningError {
    SigningError::Rejected { why: why.to_string() }
}

/// As many keys are read from one text.
const MAX_SECTIONS: usize = 1024;
/// 1.2.840.10045.2.1, as an element.
const EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// 1.2.840.10045.3.1.7, as an element.
const P_256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// 1.3.132.0.34, as an element.
const P_384: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
/// 1.2.840.113549.1.1.1, as an element.
const RSA_ENCRYPTION: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const NULL: &[u8] = &[0x05, 0x00];
/// The integer 0, as an element.
const VERSION_0: &[u8] = &[0x02, 0x01, 0x00];

#[cfg(test)]
mod tests {
    use super::*;

    /// Signs with the key of a text and verifies with all forms of its public half.
    #[track_caller]
    fn check(private: &str, public: &str, algorithm: &str, signature_length: usize) {
        let key = SigningKey::from_pem(private.as_bytes()).unwrap();
        assert_eq!(key.public().algorithm(), algorithm);
        let signature = key.sign(b"message").unwrap();
        assert_eq!(signature.len(), signature_length);
        for text in [private, public] {
            let keys = PublicKey::all_from_pem(text.as_bytes()).unwrap();
            assert_eq!(keys, [key.public().clone()]);
            assert!(keys[0].verifies(b"message", &signature));
            assert!(!keys[0].verifies(b"another", &signature));
        }
    }

    #[test]
    fn keys_of_all_kinds() {
        check(SEC1_PRIVATE, P256_PUBLIC, "ES256", 64);
        check(PKCS8_PRIVATE, P256_PUBLIC, "ES256", 64);
        check(P384_PRIVATE, P384_PUBLIC, "ES384", 96);
        check(RSA_PRIVATE, RSA_PUBLIC, "RS256", 256);
    }

    #[test]
    fn a_certificate_holds_a_key() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let validity = crate::Validity::starting(now, std::time::Duration::from_secs(60));
        let authority = crate::CertificateAuthority::new("a", validity).unwrap();
        let keys = PublicKey::all_from_pem(authority.certificate_pem().as_bytes()).unwrap();
        let key = SigningKey::from_pem(authority.key_pem().as_bytes()).unwrap();
        assert_eq!(keys, [key.public().clone()]);
    }

    #[test]
    fn a_new_key_and_its_web_form() {
        let key = SigningKey::generate().unwrap();
        let jwk = key.public().to_jwk();
        assert_eq!(jwk["kty"], "EC");
        assert_eq!(jwk["crv"], "P-256");
        assert_eq!(jwk["alg"], "ES256");
        assert_eq!(jwk["kid"], key.public().id());
        assert_eq!(
            URL_SAFE_NO_PAD.decode(jwk["x"].as_str().unwrap()).unwrap().len(),
            32
        );
        let rsa = &PublicKey::all_from_pem(RSA_PUBLIC.as_bytes()).unwrap()[0].to_jwk();
        assert_eq!((&rsa["kty"], &rsa["e"]), (&json!("RSA"), &json!("AQAB")));
        assert_ne!(SigningKey::generate().unwrap().public(), key.public());
    }

    #[test]
    fn what_is_no_key() {
        for text in ["", "no key", RSA_PUBLIC] {
            assert!(SigningKey::from_pem(text.as_bytes()).is_err(), "{text}");
        }
        let broken = SEC1_PRIVATE.replace("MHc", "MHd");
        for text in [
            "",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            &broken,
        ] {
            assert!(PublicKey::all_from_pem(text.as_bytes()).is_err(), "{text}");
        }
    }

    // Made for these tests, and used by nothing else.
    const SEC1_PRIVATE: &str = include_str!("signing_keys/sec1.pem");
    const PKCS8_PRIVATE: &str = include_str!("signing_keys/pkcs8.pem");
    const P256_PUBLIC: &str = include_str!("signing_keys/p256pub.pem");
    const P384_PRIVATE: &str = include_str!("signing_keys/p384.pem");
    const P384_PUBLIC: &str = include_str!("signing_keys/p384pub.pem");
    const RSA_PRIVATE: &str = include_str!("signing_keys/rsa.pem");
    const RSA_PUBLIC: &str = include_str!("signing_keys/rsapub.pem");
}
