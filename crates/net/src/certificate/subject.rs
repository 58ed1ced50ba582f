//! Subjects with several organisations, which the certificate generator cannot write.
//!
//! A user in several groups has one organisation attribute for each. The generator keeps one value per attribute, so
//! the certificate it made gets its subject replaced and is signed once more (RFC 5280, section 4.1).

use rcgen::{KeyPair, SigningKey};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::der::{BIT_STRING, SEQUENCE, element};
use super::{CertificateError, issue_error};

/// The certificate with the subject `CN=common_name` and all `organizations`, signed by `key`.
pub(super) fn replace(
    certificate: &CertificateDer<'_>,
    common_name: &str,
    organizations: &[&str],
    key: &KeyPair,
) -> Result<CertificateDer<'static>, CertificateError> {
    let fail = |source: Box<dyn std::error::Error + Send + Sync>| CertificateError::Issue {
        name: common_name.to_owned(),
        source,
    };
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|source| fail(source.into()))?;
    let whole = parsed.tbs_certificate.as_ref();
    let old = parsed.tbs_certificate.subject.as_raw();
    // The subject stands directly in the sequence, so only the length of the sequence changes with it.
    let content = &whole[header_length(whole)..];
    let serial_and_issuer = offset_of(content, old).ok_or_else(|| fail("subject not found".into()))?;
    let mut to_be_signed = content[..serial_and_issuer].to_vec();
    to_be_signed.extend(name(common_name, organizations));
    to_be_signed.extend(&content[serial_and_issuer + old.len()..]);
    let to_be_signed = element(SEQUENCE, &to_be_signed);

    let signature = key
        .sign(&to_be_signed)
        .map_err(|source| issue_error(common_name, source))?;
    // Zero unused bits in front of the signature.
    let signature = element(BIT_STRING, &[&[0], signature.as_slice()].concat());
    let after_tbs = &certificate[header_length(certificate) + whole.len()..];
    let algorithm_length = after_tbs
        .len()
        .checked_sub(element_length(&parsed.signature_value.data))
        .ok_or_else(|| fail("signature not found".into()))?;
    let content = [&to_be_signed, &after_tbs[..algorithm_length], &signature].concat();
    Ok(element(SEQUENCE, &content).into())
}

const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
/// 2.5.4.10
const ORGANIZATION_NAME: [u8; 3] = [0x55, 0x04, 0x0a];
/// 2.5.4.3
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

fn name(common_name: &str, organizations: &[&str]) -> Vec<u8> {
    let attributes = organizations.iter().map(|value| (ORGANIZATION_NAME, *value));
    let attributes = attributes.chain([(COMMON_NAME, common_name)]);
    let relative_names: Vec<u8> = attributes
        .flat_map(|(kind, value)| {
            let pair = [
                element(OBJECT_IDENTIFIER, &kind),
                element(UTF8_STRING, value.as_bytes()),
            ]
            .concat();
            element(SET, &element(SEQUENCE, &pair))
        })
        .collect();
    element(SEQUENCE, &relative_names)
}

/// Bytes of tag and length in front of the content.
fn header_length(element: &[u8]) -> usize {
    match element.get(1) {
        Some(length) if *length >= 0x80 => 2 + usize::from(length & 0x7f),
        _ => 2,
    }
}

/// Bytes of the bit string that holds `signature`, with its header and its count of unused bits.
fn element_length(signature: &[u8]) -> usize {
    element(BIT_STRING, &[&[0], signature].concat()).len()
}

/// Where `part`, a subslice of `whole` by address, starts.
fn offset_of(whole: &[u8], part: &[u8]) -> Option<usize> {
    let offset = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (offset + part.len() <= whole.len()).then_some(offset)
}
