//! Names of attributes and capacities of devices: an identifier, with the domain of a driver before it or without.
//!
//! Upstream: `validateQualifiedName` and `validateFullyQualifiedName` in `pkg/apis/resource/validation/validation.go`.

use kubewright_core::FieldError;

use super::super::field::{Errors, Field};
use super::super::names::subdomain;

/// The longest identifier, and the longest domain, in bytes.
const IDENTIFIER_MAX: usize = 32;
const DOMAIN_MAX: usize = 63;

/// A name that says its domain.
pub(super) fn fully_qualified_name(errors: &mut Errors, field: &Field<'_, '_>) {
    identifier_name(errors, field, field.text());
    if !field.text().contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        field.invalid(errors, detail);
    }
}

/// A name, told of at a field that may be what it names.
pub(super) fn identifier_name(errors: &mut Errors, field: &Field<'_, '_>, name: &str) {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [name] => identifier(errors, field, name),
        [domain, name] => {
            if domain.is_empty() {
                field.invalid_as(errors, "", "the domain must not be empty");
            } else {
                if domain.len() > DOMAIN_MAX {
                    errors.push(FieldError::too_long(field.path(), DOMAIN_MAX));
                }
                for message in subdomain(&domain.to_lowercase()) {
                    field.invalid_as(errors, domain, message);
                }
            }
            if name.is_empty() {
                field.invalid_as(errors, "", "the name must not be empty");
            } else {
                identifier(errors, field, name);
            }
        }
        // Upstream lets these pass.
        _ => {}
    }
}

fn identifier(errors: &mut Errors, field: &Field<'_, '_>, name: &str) {
    if name.len() > IDENTIFIER_MAX {
        errors.push(FieldError::too_long(field.path(), IDENTIFIER_MAX));
    }
    let is_first = |c: char| c == '_' || c.is_ascii_alphabetic();
    let is_rest = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if !(name.starts_with(is_first) && name.chars().all(is_rest)) {
        let detail = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                      characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                      '[A-Za-z_][A-Za-z0-9_]*')";
        field.invalid_as(errors, name, detail);
    }
}
