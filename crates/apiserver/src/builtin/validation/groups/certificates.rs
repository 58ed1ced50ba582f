//! Bundles of trust and requests for certificates of pods. Requests of users are checked with their decisions.
//!
//! Upstream: `pkg/apis/certificates/validation/validation.go`. The contents of certificates and keys are not looked at: a block is
//! checked for what it says it is.

use kubewright_core::FieldError;
use serde_json::Value;

use super::super::names::{LABEL_MAX, SUBDOMAIN_MAX, label, subdomain};
use super::node::{Errors, Node};

/// The most bytes of a bundle.
const BUNDLE_MAX: usize = 1024 * 1024;
const UID_MAX: usize = 128;
/// The shortest and longest validity that a pod may ask for, in seconds, and the longest from signers of Kubernetes.
const SECONDS_MIN: i64 = 3600;
const SECONDS_MAX: i64 = 91 * 86_400;
const KUBERNETES_SECONDS_MAX: i64 = 86_400;

/// The name of a signer: a domain of at least two parts and a path (`ValidateSignerName`).
fn signer_name(errors: &mut Errors, node: &Node<'_, '_>) {
    if !node.check_given(errors, "") {
        return;
    }
    let parts: Vec<&str> = node.text().split('/').collect();
    let [domain, path] = parts[..] else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return node.invalid(errors, detail);
    };
    if domain.len() > SUBDOMAIN_MAX {
        errors.push(FieldError::too_long(node.path(), SUBDOMAIN_MAX));
    }
    first_fault(errors, node, domain, label);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        node.invalid_as(errors, domain, detail);
    }
    first_fault(errors, node, path, subdomain);
    let longest = SUBDOMAIN_MAX + LABEL_MAX + 1;
    if path.len() > longest {
        errors.push(FieldError::too_long(node.path(), longest));
    }
}

/// What is wrong with the first part that is wrong.
fn first_fault(errors: &mut Errors, node: &Node<'_, '_>, text: &str, check: fn(&str) -> Vec<String>) {
    let mut parts = text.split('.').map(|part| (part, check(part)));
    if let Some((part, messages)) = parts.find(|(_, messages)| !messages.is_empty()) {
        for message in messages {
            node.invalid_as(errors, text, format!("validating label {part:?}: {message}"));
        }
    }
}

/// A bundle of trust (`ValidateClusterTrustBundle`, `ValidateClusterTrustBundleUpdate`).
pub(crate) fn trust_bundle(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Node::root(object);
    let spec = root.get("spec");
    let (signer, bundle) = (spec.get("signerName"), spec.get("trustBundle"));
    let metadata = root.get("metadata");
    let name = metadata.get("name");
    if !signer.is_empty() {
        signer_name(&mut errors, &signer);
    }
    let old = old.map(Node::root);
    let old_spec = old.as_ref().map(|old| old.get("spec"));
    match &old_spec {
        Some(old) => {
            signer.check_unchanged(&mut errors, &old.get("signerName"));
            if bundle.equals(&old.get("trustBundle")) {
                return errors;
            }
        }
        None => bundle_name(&mut errors, &name, signer.text()),
    }
    if bundle.check_length(&mut errors, BUNDLE_MAX) {
        anchors(&mut errors, &bundle);
    }
    errors
}

fn bundle_name(errors: &mut Errors, name: &Node<'_, '_>, signer: &str) {
    let text = name.text();
    if signer.is_empty() {
        if text.contains(':') {
            let detail = "ClusterTrustBundle without signer name must not have \":\" in its name";
            name.invalid(errors, detail);
        }
        return;
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    if !text.starts_with(&prefix) {
        let detail = format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}");
        name.invalid(errors, detail);
    }
}

/// The blocks of a bundle: certificates without headers, each once.
fn anchors(errors: &mut Errors, bundle: &Node<'_, '_>) {
    const OMITTED: &str = "<value omitted>";
    let before = errors.len();
    let mut anchors: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, block) in bundle.text().split("-----BEGIN ").skip(1).enumerate() {
        let (kind, rest) = block.split_once("-----").unwrap_or((block, ""));
        let body = rest.split("-----END ").next().unwrap_or_default().trim();
        if kind != "CERTIFICATE" {
            bundle.invalid_as(
                errors,
                OMITTED,
                format!("entry {index} has bad block type: {kind}"),
            );
        } else if body.contains(':') {
            bundle.invalid_as(errors, OMITTED, format!("entry {index} has PEM block headers"));
        } else if let Some((_, indices)) = anchors.iter_mut().find(|(known, _)| *known == body) {
            indices.push(index);
        } else {
            anchors.push((body, vec![index]));
        }
    }
    if errors.len() > before {
        return;
    }
    if anchors.is_empty() {
        bundle.invalid_as(errors, OMITTED, "at least one trust anchor must be provided");
    }
    for (_, indices) in anchors.iter().filter(|(_, indices)| indices.len() > 1) {
        let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
        let detail = format!("duplicate trust anchor (indices [{}])", indices.join(" "));
        bundle.invalid_as(errors, OMITTED, detail);
    }
}

/// A pod's request for a certificate (`ValidatePodCertificateRequestCreate`, `ValidatePodCertificateRequestUpdate`).
pub(crate) fn pod_request(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Node::root(object);
    let spec = root.get("spec");
    if let Some(old) = old {
        spec.check_unchanged(&mut errors, &Node::root(old).get("spec"));
        return errors;
    }
    let signer = spec.get("signerName");
    signer_name(&mut errors, &signer);
    for field in ["podName", "serviceAccountName", "nodeName"] {
        let name = spec.get(field);
        for message in subdomain(name.text()) {
            name.invalid_as(&mut errors, name.text(), message);
        }
    }
    for field in ["podUID", "serviceAccountUID", "nodeUID"] {
        let uid = spec.get(field);
        if uid.is_empty() {
            uid.invalid_as(&mut errors, "", "must not be empty");
        }
        uid.check_length(&mut errors, UID_MAX);
    }
    let seconds = spec.get("maxExpirationSeconds");
    if seconds.is_nil() {
        seconds.required(&mut errors, "must be set");
        return errors;
    }
    let domain = signer.text().split('/').next().unwrap_or_default();
    let is_own = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
    let most = if is_own {
        KUBERNETES_SECONDS_MAX
    } else {
        SECONDS_MAX
    };
    if !(SECONDS_MIN..=most).contains(&seconds.number()) {
        let detail = format!("must be in the range [{SECONDS_MIN}, {most}]");
        seconds.invalid(&mut errors, detail);
    }
    let has = |field: &str| !spec.get(field).is_empty();
    let choice = (
        has("stubPKCS10Request"),
        has("pkixPublicKey"),
        has("proofOfPossession"),
    );
    if !matches!(choice, (true, false, false) | (false, true, true)) {
        let detail = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        spec.invalid_unshown(&mut errors, detail);
    }
    errors
}
