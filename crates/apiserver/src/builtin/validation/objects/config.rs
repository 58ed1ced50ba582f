//! Secrets and config maps.
//!
//! Upstream: `ValidateSecret`, `ValidateConfigMap` and their updates in `pkg/apis/core/validation/validation.go`.

use super::super::super::value::{map_at, semantically_equal, str_at, true_at};
use super::super::names::config_key;
use super::super::{immutable, invalid_each};
use crate::json;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

/// The most bytes that the values of a config map or secret may have together.
pub(crate) const DATA_MAX: usize = 1024 * 1024;

const SERVICE_ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

pub(crate) fn secret(secret: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let data = FieldPath::new("data");
    let mut size = 0_usize;
    for (key, value) in map_at(secret, "/data") {
        invalid_each(&mut errors, &data.key(key), key, config_key(key));
        size = size.saturating_add(decoded_len(value));
    }
    if size > DATA_MAX {
        errors.push(FieldError::too_long(data.clone(), DATA_MAX));
    }
    let require = |errors: &mut Vec<FieldError>, keys: &[&str]| {
        if keys.iter().all(|key| secret["data"].get(*key).is_none()) {
            errors.extend(keys.iter().map(|key| FieldError::required(data.key(key), "")));
        }
    };
    match str_at(secret, "/type") {
        "kubernetes.io/service-account-token" => {
            let annotation = secret["metadata"]["annotations"][SERVICE_ACCOUNT_NAME].as_str();
            if annotation.is_none_or(str::is_empty) {
                let path = FieldPath::new("metadata")
                    .child("annotations")
                    .key(SERVICE_ACCOUNT_NAME);
                errors.push(FieldError::required(path, ""));
            }
        }
        "kubernetes.io/dockercfg" => json_key(&mut errors, secret, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => json_key(&mut errors, secret, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" => require(&mut errors, &["username", "password"]),
        "kubernetes.io/ssh-auth" if str_at(secret, "/data/ssh-privatekey").is_empty() => {
            errors.push(FieldError::required(data.key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => {
            require(&mut errors, &["tls.crt"]);
            require(&mut errors, &["tls.key"]);
        }
        _ => {}
    }
    errors
}

/// A key that must hold JSON.
fn json_key(errors: &mut Vec<FieldError>, secret: &Value, key: &str) {
    let path = FieldPath::new("data").key(key);
    let Some(text) = secret["data"].get(key).and_then(Value::as_str) else {
        errors.push(FieldError::required(path, ""));
        return;
    };
    let parsed = STANDARD.decode(text).map(|bytes| json::read(&bytes));
    if let Ok(Err(detail)) = parsed {
        errors.push(FieldError::invalid(path, "<secret contents redacted>", detail));
    }
}

/// The length of base64 text once decoded.
fn decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

pub(crate) fn secret_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    immutable(&mut errors, new, old, "/type");
    frozen(&mut errors, new, old, &["data"]);
    errors
}

pub(crate) fn config_map(map: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0_usize;
    for (key, value) in map_at(map, "/data") {
        let path = FieldPath::new("data").key(key);
        invalid_each(&mut errors, &path, key, config_key(key));
        if map["binaryData"].get(key).is_some() {
            errors.push(FieldError::invalid(
                path,
                key.as_str(),
                "duplicate of key present in binaryData",
            ));
        }
        size = size.saturating_add(value.as_str().map_or(0, str::len));
    }
    for (key, value) in map_at(map, "/binaryData") {
        invalid_each(
            &mut errors,
            &FieldPath::new("binaryData").key(key),
            key,
            config_key(key),
        );
        size = size.saturating_add(decoded_len(value));
    }
    if size > DATA_MAX {
        errors.push(FieldError::too_long(FieldPath::new("[]"), DATA_MAX));
    }
    errors
}

pub(crate) fn config_map_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    frozen(&mut errors, new, old, &["data", "binaryData"]);
    errors
}

/// What was once marked immutable stays so, and its data with it.
fn frozen(errors: &mut Vec<FieldError>, new: &Value, old: &Value, fields: &[&str]) {
    const FROZEN: &str = "field is immutable when `immutable` is set";
    if !true_at(old, "/immutable") {
        return;
    }
    if !true_at(new, "/immutable") {
        errors.push(FieldError::forbidden(FieldPath::new("immutable"), FROZEN));
    }
    for field in fields {
        if !semantically_equal(new.get(field), old.get(field)) {
            errors.push(FieldError::forbidden(FieldPath::new(*field), FROZEN));
        }
    }
}
