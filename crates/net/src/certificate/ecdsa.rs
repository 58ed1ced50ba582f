//! Keys and signatures of ECDSA on the curves that Go knows (FIPS 186-4), for requests for certificates.
//!
//! TLS and tokens use the backend of the process, which has P-256 and P-384 with SHA-256 and SHA-384 alone. Of requests upstream takes each
//! of four curves with each of four digests; only verifying is needed, of public data, so that neither speed nor time that gives a secret
//! away matters. Upstream: Go's crypto/x509 (`parsePublicKey`, `checkSignature`), crypto/ecdsa (`ParseUncompressedPublicKey`).

use std::fmt;
use std::ops::Add;

use ::ecdsa::{EcdsaCurve, Signature, der, hazmat};
use p256::elliptic_curve::array::ArraySize;
use p256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use p256::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize, PublicKey};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use x509_parser::der_parser::oid;
use x509_parser::oid_registry::{OID_EC_P256, OID_NIST_EC_P384, OID_NIST_EC_P521, Oid};

use super::request::RequestError;

/// A point on some curve.
pub(super) trait Key: fmt::Debug {
    /// Whether a signature in DER of a message with this digest is by the key.
    fn verifies(&self, digest: &[u8], signature: &[u8]) -> bool;
}

/// What is signed in place of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digest {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Digest {
    pub(super) fn of(self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(message).to_vec(),
            Self::Sha256 => Sha256::digest(message).to_vec(),
            Self::Sha384 => Sha384::digest(message).to_vec(),
            Self::Sha512 => Sha512::digest(message).to_vec(),
        }
    }
}

/// Reads a point, which must not be compressed.
pub(super) fn key(curve: &Oid<'_>, point: &[u8]) -> Result<Box<dyn Key>, RequestError> {
    match () {
        () if *curve == P_224 => on_curve::<p224::NistP224>("P224", point),
        () if *curve == OID_EC_P256 => on_curve::<p256::NistP256>("P256", point),
        () if *curve == OID_NIST_EC_P384 => on_curve::<p384::NistP384>("P384", point),
        () if *curve == OID_NIST_EC_P521 => on_curve::<p521::NistP521>("P521", point),
        () => Err(RequestError::UnknownCurve),
    }
}

fn on_curve<C>(curve: &'static str, point: &[u8]) -> Result<Box<dyn Key>, RequestError>
where
    C: EcdsaCurve + CurveArithmetic + fmt::Debug,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
    der::MaxSize<C>: ArraySize,
    <FieldBytesSize<C> as Add>::Output: Add<der::MaxOverhead> + ArraySize,
{
    if point.first() != Some(&UNCOMPRESSED) {
        return Err(RequestError::CompressedPoint);
    }
    let read = PublicKey::<C>::from_sec1_bytes(point);
    let key = read.map_err(|_| RequestError::NotOnCurve { curve })?;
    Ok(Box::new(key))
}

impl<C> Key for PublicKey<C>
where
    C: EcdsaCurve + CurveArithmetic + fmt::Debug,
    der::MaxSize<C>: ArraySize,
    <FieldBytesSize<C> as Add>::Output: Add<der::MaxOverhead> + ArraySize,
{
    fn verifies(&self, digest: &[u8], signature: &[u8]) -> bool {
        Signature::<C>::from_der(signature).is_ok_and(|signature| {
            hazmat::verify_prehashed(&self.to_projective(), digest, &signature).is_ok()
        })
    }
}

/// secp224r1, which is not in the register of the parser.
const P_224: Oid<'static> = oid!(1.3.132.0.33);
/// What an uncompressed point begins with (SEC 1, 2.3.3).
const UNCOMPRESSED: u8 = 4;
