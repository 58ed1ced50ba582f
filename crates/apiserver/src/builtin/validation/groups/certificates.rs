//! Bundles of trust and requests for certificates, of users and of pods.
//!
//! Upstream: `pkg/apis/certificates/validation/validation.go`. What is decided of a request is checked with its
//! strategy. The contents of certificates of a bundle are not looked at: a block is checked for what it says it is.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_net::certificate;
use serde_json::Value;

use super::super::field::{Errors, Field};
use super::super::names::subdomain;
use super::super::signer::signer_name;
use crate::builtin::pem;

/// The most bytes of a bundle.
const BUNDLE_MAX: usize = 1024 * 1024;
const UID_MAX: usize = 128;
/// The shortest and longest validity that a pod may ask for, in seconds, and the longest from signers of Kubernetes.
const SECONDS_MIN: i64 = 3600;
const SECONDS_MAX: i64 = 91 * 86_400;
const KUBERNETES_SECONDS_MAX: i64 = 86_400;

/// The shortest validity that a user may ask for, in seconds.
const REQUEST_SECONDS_MIN: i64 = 600;

/// What a key may be used for, in the order in which messages list it.
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// A user's request for a certificate (`ValidateCertificateSigningRequestCreate`). It never changes, so what is stored is not
/// checked again.
pub(crate) fn signing_request(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    if old.is_some() {
        return errors;
    }
    let root = Field::root("", object);
    let spec = root.get("spec");
    let request = spec.get("request");
    if let Err(why) = check_request(request.text()) {
        request.invalid(&mut errors, why);
    }
    let usages = spec.get("usages");
    if usages.is_empty() {
        usages.required(&mut errors, "");
    }
    for usage in usages.items() {
        usage.one_of(&mut errors, USAGES);
    }
    let mut seen = BTreeSet::new();
    for usage in usages.items().filter(|usage| !seen.insert(usage.text())) {
        usage.duplicate(&mut errors);
    }
    let signer = spec.get("signerName");
    if signer.text() == "kubernetes.io/legacy-unknown" {
        let detail = "the legacy signerName is not allowed via this API version";
        signer.invalid(&mut errors, detail);
    } else {
        signer_name(&mut errors, &signer);
    }
    let seconds = spec.get("expirationSeconds");
    if seconds.exists() && seconds.int() < REQUEST_SECONDS_MIN {
        let detail =
            format!("may not specify a duration less than {REQUEST_SECONDS_MIN} seconds (10 minutes)");
        seconds.invalid(&mut errors, detail);
    }
    errors
}

/// Checks that a text in base64 is a request in PEM, signed by its key.
fn check_request(text: &str) -> Result<(), String> {
    let der = request_der(text).ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    certificate::check_request(&der).map_err(|error| error.to_string())
}

/// The request that a text in base64 holds in PEM; what follows the first block is nobody's.
pub(crate) fn request_der(text: &str) -> Option<Vec<u8>> {
    let pem = STANDARD.decode(text).ok()?;
    let pem = String::from_utf8_lossy(&pem);
    let block = pem::blocks(&pem).next()?;
    (block.label == "CERTIFICATE REQUEST").then_some(block.contents)
}

/// A bundle of trust (`ValidateClusterTrustBundle`, `ValidateClusterTrustBundleUpdate`).
pub(crate) fn trust_bundle(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let (signer, bundle) = (spec.get("signerName"), spec.get("trustBundle"));
    let metadata = root.get("metadata");
    let name = metadata.get("name");
    if !signer.is_empty() {
        signer_name(&mut errors, &signer);
    }
    let old = old.map(|object| Field::root("", object));
    let old_spec = old.as_ref().map(|old| old.get("spec"));
    match &old_spec {
        Some(old) => {
            signer.immutable(&mut errors, &old.get("signerName"));
            if bundle.same(&old.get("trustBundle")) {
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

fn bundle_name(errors: &mut Errors, name: &Field<'_, '_>, signer: &str) {
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
fn anchors(errors: &mut Errors, bundle: &Field<'_, '_>) {
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
    let root = Field::root("", object);
    let spec = root.get("spec");
    if let Some(old) = old {
        spec.immutable(&mut errors, &Field::root("", old).get("spec"));
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
    if !seconds.exists() {
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
    if !(SECONDS_MIN..=most).contains(&seconds.int()) {
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
