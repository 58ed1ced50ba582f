//! Reading requests for certificates (PKCS#10).

use rustls::pki_types::CertificateSigningRequestDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use super::CertificateError;
use crate::error::BoxError;

/// The organisations of the subject that a request for a certificate asks for, in order; the request is the first in a PEM text.
///
/// # Errors
///
/// The text holds no request, or one that cannot be read, or a name in an encoding that is no text here (neither UTF-8 nor ASCII).
pub fn requested_organizations(text: &[u8]) -> Result<Vec<String>, CertificateError> {
    let parse = |source: BoxError| CertificateError::Parse {
        what: "certificate request",
        source,
    };
    let der = CertificateSigningRequestDer::from_pem_slice(text).map_err(|source| parse(source.into()))?;
    let (_, request) = X509CertificationRequest::from_der(&der).map_err(|source| parse(source.into()))?;
    let subject = &request.certification_request_info.subject;
    let names = subject.iter_organization();
    names
        .map(|name| {
            name.as_str()
                .map(str::to_owned)
                .map_err(|source| parse(source.into()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn the_subject_of_a_request() {
        let check = |organizations: &[&str]| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, "somebody");
            for name in organizations {
                params.distinguished_name.push(DnType::OrganizationName, *name);
            }
            let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
            assert_eq!(
                requested_organizations(request.pem().unwrap().as_bytes()).unwrap(),
                organizations
            );
        };
        check(&[]);
        check(&["system:masters"]);
        for nonsense in [
            "",
            "nonsense",
            "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        ] {
            assert!(
                requested_organizations(nonsense.as_bytes()).is_err(),
                "{nonsense:?}"
            );
        }
    }
}
