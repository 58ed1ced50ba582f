//! Names of signers of certificates.
//!
//! Upstream: `ValidateSignerName` in `pkg/apis/core/validation/names.go`.

use super::field::{Errors, Field};
use super::names::{LABEL_MAX, SUBDOMAIN_MAX, label, subdomain};

/// The longest path of a signer: a namespace, a dot and a name.
const PATH_MAX: usize = SUBDOMAIN_MAX + LABEL_MAX + 1;

/// Checks a name of the form `example.com/signer-name`.
pub(crate) fn signer_name(errors: &mut Errors, at: &Field<'_, '_>) {
    let name = at.text();
    if name.is_empty() {
        at.required(errors, "");
        return;
    }
    let (domain, path) = match name.split_once('/') {
        Some((domain, path)) if !path.contains('/') => (domain, path),
        _ => {
            let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            at.invalid(errors, detail);
            return;
        }
    };
    if domain.len() > SUBDOMAIN_MAX {
        at.too_long(errors, SUBDOMAIN_MAX);
    }
    check_labels(errors, at, domain, label);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        at.invalid_as(errors, domain, detail);
    }
    check_labels(errors, at, path, subdomain);
    if name.len() > SUBDOMAIN_MAX + PATH_MAX + 1 {
        at.too_long(errors, SUBDOMAIN_MAX + PATH_MAX + 1);
    }
}

/// Reports what is wrong with the first label that is.
fn check_labels(errors: &mut Errors, at: &Field<'_, '_>, text: &str, check: fn(&str) -> Vec<String>) {
    let faulty = text
        .split('.')
        .map(|label| (label, check(label)))
        .find(|(_, messages)| !messages.is_empty());
    for (label, message) in faulty
        .iter()
        .flat_map(|(label, messages)| messages.iter().map(move |message| (label, message)))
    {
        at.invalid_as(errors, text, format!("validating label {label:?}: {message}"));
    }
}
