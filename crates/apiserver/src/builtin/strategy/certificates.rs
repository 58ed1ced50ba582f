//! Certificate signing requests: who may change what by which subresource.
//!
//! Upstream: pkg/registry/certificates/certificates/strategy.go, pkg/apis/certificates/validation/validation.go
//! (`ValidateCertificateSigningRequestStatusUpdate`, `ValidateCertificateSigningRequestApprovalUpdate`).

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_core::{FieldError, FieldPath};
use kubewright_net::CertificateInfo;
use serde_json::Value;

use super::super::value::{child, list_at, semantically_equal, str_at, str_in};
use super::{Context, restore};

/// Prepares a write to `/status`: decisions stay as they are, for only `/approval` decides. What adds or takes away a decision is
/// left for [`part`] to refuse.
pub(super) fn status(new: &mut Value, old: &Value, context: &Context<'_>) {
    for decision in DECISIONS {
        let kept = of_type(old, decision);
        let changed = new
            .pointer_mut("/status/conditions")
            .and_then(Value::as_array_mut);
        let places: Vec<&mut Value> = changed
            .into_iter()
            .flatten()
            .filter(|condition| condition["type"] == decision)
            .collect();
        if places.len() == kept.len() {
            for (place, kept) in places.into_iter().zip(kept) {
                *place = kept.clone();
            }
        }
    }
    stamp(new, old, context.now);
}

/// Prepares a write to `/approval`, which changes conditions alone.
pub(super) fn approval(new: &mut Value, old: &Value, context: &Context<'_>) {
    stamp(new, old, context.now);
    let conditions = list_at(new, "/status/conditions").to_vec();
    restore(new, old, "spec");
    restore(new, old, "status");
    let Some(status) = new.as_object_mut().and_then(|fields| child(fields, "status")) else {
        return;
    };
    if conditions.is_empty() {
        status.remove("conditions");
    } else {
        status.insert("conditions".to_owned(), conditions.into());
    }
}

/// Checks a write to `/status` or `/approval`.
pub(super) fn part(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("status").child("conditions");
    let mut errors = conditions(new, old, &path);
    for type_ in ["Approved", "Denied", "Failed"] {
        if of_type(new, type_).len() < of_type(old, type_).len() {
            let why = format!("updates may not remove a condition of type {type_:?}");
            errors.push(FieldError::forbidden(path.clone(), why));
        }
    }
    if subresource == "approval" {
        return errors;
    }
    for type_ in DECISIONS {
        let (new, old) = (of_type(new, type_), of_type(old, type_));
        if new.len() > old.len() {
            let why = format!("updates may not add a condition of type {type_:?}");
            errors.push(FieldError::forbidden(path.clone(), why));
        } else if new.len() == old.len()
            && !new
                .iter()
                .zip(&old)
                .all(|(new, old)| semantically_equal(Some(new), Some(old)))
        {
            let why = format!("updates may not modify a condition of type {type_:?}");
            errors.push(FieldError::forbidden(path.clone(), why));
        }
    }
    let path = FieldPath::new("status").child("certificate");
    let (new, old) = (
        str_at(new, "/status/certificate"),
        str_at(old, "/status/certificate"),
    );
    if new != old {
        // What is stored may break a rule that came later.
        if let (Err(why), Ok(())) = (certificate(new), certificate(old)) {
            errors.push(FieldError::invalid(path.clone(), "<certificate data>", why));
        }
        if !old.is_empty() {
            let why = "updates may not modify existing certificate content";
            errors.push(FieldError::forbidden(path, why));
        }
    }
    errors
}

/// Checks conditions; faults that the stored object has are let through.
fn conditions(new: &Value, old: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let types = |object: &Value| -> Vec<String> {
        let all = list_at(object, "/status/conditions").iter();
        all.map(|condition| str_at(condition, "/type").to_owned())
            .collect()
    };
    let before = types(old);
    let had = |type_: &str| before.iter().any(|known| known == type_);
    let may_be_double = before.iter().collect::<HashSet<_>>().len() < before.len();
    let may_be_both = DECISIONS.iter().all(|decision| had(decision));
    let mut seen: HashSet<&str> = HashSet::new();
    for (at, condition) in list_at(new, "/status/conditions").iter().enumerate() {
        let path_at = path.index(at);
        let (type_, status) = (str_at(condition, "/type"), str_at(condition, "/status"));
        if type_.is_empty() && !had("") {
            errors.push(FieldError::required(path_at.child("type"), ""));
        }
        let allowed: &[&str] = match type_ {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        if status.is_empty() {
            errors.push(FieldError::required(path_at.child("status"), ""));
        } else if !allowed.contains(&status) {
            errors.push(FieldError::not_supported(
                path_at.child("status"),
                status,
                allowed,
            ));
        }
        let other = match type_ {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !may_be_both && !other.is_empty() && seen.contains(other) {
            let why = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(path.clone(), type_, why));
        }
        if !seen.insert(type_) && !may_be_double {
            errors.push(FieldError::duplicate(path_at.child("type"), type_));
        }
    }
    errors
}

/// What is wrong with a certificate: text in PEM, which JSON carries in base64. None is none.
fn certificate(text: &str) -> Result<(), String> {
    let pem = STANDARD.decode(text).map_err(|error| error.to_string())?;
    if pem.is_empty() {
        return Ok(());
    }
    let pem = String::from_utf8_lossy(&pem);
    let mut blocks = 0;
    let mut rest = &*pem;
    while let Some((_, begun)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = begun.split_once("-----") else {
            break;
        };
        let Some((body, after)) = body.split_once(&format!("-----END {label}-----")) else {
            break;
        };
        if label != "CERTIFICATE" {
            return Err(format!(
                "only CERTIFICATE PEM blocks are allowed, found {label:?}"
            ));
        }
        if body.contains(':') {
            return Err("no PEM block headers are permitted".to_owned());
        }
        let body: String = body.split_whitespace().collect();
        let der = STANDARD.decode(body).unwrap_or_default();
        CertificateInfo::parse(&der).map_err(|_| "x509: malformed certificate".to_owned())?;
        blocks += 1;
        rest = after;
    }
    if blocks == 0 {
        return Err("must contain at least one CERTIFICATE PEM block".to_owned());
    }
    Ok(())
}

fn of_type<'a>(request: &'a Value, type_: &str) -> Vec<&'a Value> {
    let conditions = list_at(request, "/status/conditions").iter();
    conditions
        .filter(|condition| condition["type"] == type_)
        .collect()
}

/// Fills in times that are missing; the time of the last transition is that of the stored condition with this status.
fn stamp(new: &mut Value, old: &Value, now: &str) {
    let conditions = new
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        if str_in(condition, "lastUpdateTime").is_empty() {
            condition.insert("lastUpdateTime".to_owned(), now.into());
        }
        if str_in(condition, "lastTransitionTime").is_empty() {
            let known = list_at(old, "/status/conditions").iter().find(|known| {
                ["type", "status"]
                    .iter()
                    .all(|field| str_at(known, &format!("/{field}")) == str_in(condition, field))
                    && !str_at(known, "/lastTransitionTime").is_empty()
            });
            let since = known.map_or(now, |known| str_at(known, "/lastTransitionTime"));
            condition.insert("lastTransitionTime".to_owned(), since.into());
        }
    }
}

const DECISIONS: [&str; 2] = ["Approved", "Denied"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(conditions: &Value) -> Value {
        json!({"status": {"conditions": conditions}})
    }

    #[test]
    fn conditions_by_subresource() {
        #[track_caller]
        fn check(subresource: &str, old: Value, new: Value, expect: &[&str]) {
            let errors = part(subresource, &request(&new), &request(&old));
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors, expect);
        }
        let is = |type_: &str, status: &str| json!({"type": type_, "status": status});
        check("approval", json!([]), json!([is("Approved", "True")]), &[]);
        check(
            "status",
            json!([]),
            json!([is("Approved", "True")]),
            &["status.conditions: Forbidden: updates may not add a condition of type \"Approved\""],
        );
        check(
            "approval",
            json!([is("Approved", "True")]),
            json!([]),
            &["status.conditions: Forbidden: updates may not remove a condition of type \"Approved\""],
        );
        check(
            "approval",
            json!([]),
            json!([is("Approved", "True"), is("Denied", "True")]),
            &[
                "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive",
            ],
        );
        check(
            "approval",
            json!([]),
            json!([is("Approved", "False")]),
            &["status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\""],
        );
        check(
            "status",
            json!([]),
            json!([is("", ""), is("Other", "Maybe"), is("Other", "True")]),
            &[
                "status.conditions[0].type: Required value",
                "status.conditions[0].status: Required value",
                "status.conditions[1].status: Unsupported value: \"Maybe\": supported values: \"False\", \"True\", \"Unknown\"",
                "status.conditions[2].type: Duplicate value: \"Other\"",
            ],
        );
        check("status", json!([]), json!([is("Failed", "True")]), &[]);
    }

    #[test]
    fn certificates_are_pem() {
        #[track_caller]
        fn check(old: &str, new: &str, expect: &str) {
            let with = |text: &str| json!({"status": {"certificate": STANDARD.encode(text)}});
            let errors = part("status", &with(new), &with(old));
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(errors.join("; "), expect);
        }
        let validity = kubewright_net::Validity::starting(
            jiff::Timestamp::UNIX_EPOCH,
            std::time::Duration::from_secs(60),
        );
        let authority = kubewright_net::CertificateAuthority::new("a", validity).unwrap();
        let good = authority.certificate_pem();
        check("", &good, "");
        check("", &format!("{good}{good}"), "");
        check(
            "",
            "text",
            "status.certificate: Invalid value: \"<certificate data>\": must contain at least one CERTIFICATE PEM block",
        );
        check(
            "",
            &authority.key_pem(),
            "status.certificate: Invalid value: \"<certificate data>\": only CERTIFICATE PEM blocks are allowed, found \"PRIVATE KEY\"",
        );
        check(
            &good,
            &format!("{good}{good}"),
            "status.certificate: Forbidden: updates may not modify existing certificate content",
        );
    }
}
