//! How objects are converted between versions: by changing the name of the version alone, or by a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_core::{FieldError, FieldPath};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};

use super::super::super::super::pem;
use super::super::super::super::value::true_at;
use super::super::super::groups::admission::check_webhook_client;
use super::super::super::names::dns_1035_label;
use super::super::super::supported;
use super::{Errors, PRESERVE, is_established};

/// Checks `spec.conversion`. Upstream reports on the form in which it keeps it, which has no `webhook` in between.
///
/// A bundle of certificates that cannot be read is let pass where it cannot make things worse: before the definition is established,
/// and where there was such a one already (`allowInvalidCABundle`).
pub(super) fn check(errors: &mut Errors, definition: &Value, old: Option<&Value>) {
    let conversion = &definition["spec"]["conversion"];
    if !conversion.is_object() {
        return;
    }
    let path = FieldPath::new("spec").child("conversion");
    let strategy = conversion["strategy"].as_str().unwrap_or_default();
    if strategy != "None" && true_at(definition, PRESERVE) {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(path.child("strategy"), strategy, detail));
    }
    if strategy.is_empty() {
        errors.push(FieldError::required(path.child("strategy"), ""));
    }
    let strategies = &["None", "Webhook"];
    supported(
        errors,
        path.child("strategy"),
        conversion.get("strategy"),
        strategies,
    );
    let client = &conversion["webhook"]["clientConfig"];
    let versions = conversion["webhook"]["conversionReviewVersions"].as_array();
    let versions = versions.map(Vec::as_slice).unwrap_or_default();
    let versions_path = path.child("conversionReviewVersions");
    if strategy == "Webhook" {
        check_client(errors, client, &path.child("webhookClientConfig"));
        let must_be_valid = old.is_some_and(|old| {
            let bundle = &old["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
            is_established(old) && bundle_problem(bundle).is_none()
        });
        if let Some(problem) = bundle_problem(&client["caBundle"]).filter(|_| must_be_valid) {
            let path = path.child("webhookClientConfig").child("caBundle");
            errors.push(FieldError::invalid(path, client["caBundle"].clone(), problem));
        }
        check_review_versions(errors, versions, &versions_path);
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if !client.is_null() {
        errors.push(FieldError::forbidden(path.child("webhookClientConfig"), detail));
    }
    if !versions.is_empty() {
        errors.push(FieldError::forbidden(versions_path, detail));
    }
}

fn check_client(errors: &mut Errors, client: &Value, path: &FieldPath) {
    if client.is_null() {
        let detail = "required when strategy is set to Webhook";
        return errors.push(FieldError::required(path.clone(), detail));
    }
    let shown = json!({"spec": {"conversion": {"webhookClientConfig": client}}});
    check_webhook_client(errors, &shown, "spec.conversion.webhookClientConfig");
}

/// Why no certificate can be had from a bundle, if none can (client-go `transport`); nothing is wrong with an empty one.
fn bundle_problem(bundle: &Value) -> Option<String> {
    let text = bundle.as_str().filter(|text| !text.is_empty())?;
    let decoded = STANDARD.decode(text).unwrap_or_default();
    let decoded = String::from_utf8_lossy(&decoded);
    let mut why = "unable to parse bytes as PEM block".to_owned();
    let certificates =
        pem::blocks(&decoded).inspect(|_| why = "no valid certificate authority data seen".to_owned());
    let mut faults = Vec::new();
    for block in certificates.filter(|block| block.label == "CERTIFICATE" && !block.has_headers) {
        match RootCertStore::empty().add(CertificateDer::from(block.contents)) {
            Ok(()) => return None,
            Err(fault) => faults.push(format!("failed to parse certificate: {fault}")),
        }
    }
    let why = faults.into_iter().next().unwrap_or(why);
    Some(format!("unable to load root certificates: {why}"))
}

fn check_review_versions(errors: &mut Errors, versions: &[Value], path: &FieldPath) {
    if versions.is_empty() {
        return errors.push(FieldError::required(path.clone(), ""));
    }
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(path, version.clone(), "duplicate version"));
            continue;
        }
        for wrong in dns_1035_label(version.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(path.clone(), version.clone(), wrong));
        }
    }
    let is_known = |version: &Value| version == "v1" || version == "v1beta1";
    if !versions.iter().any(is_known) {
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path.clone(), versions.to_vec(), detail));
    }
}
