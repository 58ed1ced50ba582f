//! Volumes that gather files from several sources.
//!
//! Upstream: `validateProjectedVolumeSource` and `validateProjectionSources`.

use std::collections::BTreeSet;

use super::super::field::{Errors, Field};
use super::super::metadata;
use super::super::names::{qualified_name, trust_bundle_name};
use super::super::signer::signer_name;
use super::affinity::check_selector;
use super::mounts::check_not_reserved;
use super::volumes::{check_downward_file, check_key_to_path, check_mode, check_user};
use super::{Findings, Relaxable};

const SOURCES: &[&str] = &[
    "secret",
    "configMap",
    "downwardAPI",
    "serviceAccountToken",
    "clusterTrustBundle",
    "podCertificate",
];

/// The paths that files have so far.
struct Paths<'p, 'v> {
    volume: Field<'p, 'v>,
    seen: BTreeSet<&'v str>,
}

impl<'v> Paths<'_, 'v> {
    /// Reports a path that is taken, under the words that upstream has for the source.
    fn add(&mut self, errors: &mut Errors, path: &'v str, shown: &str) {
        if !self.seen.insert(path) {
            self.volume
                .invalid_as(errors, shown, "conflicting duplicate paths");
        }
    }
}

pub(super) fn check(findings: &mut Findings, volume: &Field<'_, '_>) {
    check_mode(&mut findings.errors, &volume.get("defaultMode"));
    check_user(&mut findings.errors, &volume.get("defaultUser"));
    let mut paths = Paths {
        volume: *volume,
        seen: BTreeSet::new(),
    };
    for source in volume.get("sources").items() {
        let mut given = 0;
        for kind in SOURCES {
            let at = source.get(kind);
            if !at.exists() {
                continue;
            }
            given += 1;
            match *kind {
                "secret" | "configMap" => check_keys(&mut findings.errors, &at, &mut paths),
                "downwardAPI" => check_downward(&mut findings.errors, &at, &mut paths),
                "serviceAccountToken" => check_token(findings, volume, &at),
                "clusterTrustBundle" => check_bundle(&mut findings.errors, &at, &mut paths),
                _ => check_certificate(&mut findings.errors, &at, &mut paths),
            }
        }
        if given > 1 {
            let detail = "may not specify more than 1 volume type per source";
            source.forbidden(&mut findings.errors, detail);
        }
    }
}

fn check_keys<'v>(errors: &mut Errors, at: &Field<'_, 'v>, paths: &mut Paths<'_, 'v>) {
    at.get("name").must_be_set(errors);
    for item in at.get("items").items() {
        check_key_to_path(errors, &item);
        let path = item.get("path").text();
        if !path.is_empty() {
            paths.add(errors, path, at.get("name").text());
        }
    }
}

fn check_downward<'v>(errors: &mut Errors, at: &Field<'_, 'v>, paths: &mut Paths<'_, 'v>) {
    for item in at.get("items").list() {
        check_downward_file(errors, at, item);
        let path = item["path"].as_str().unwrap_or_default();
        if !path.is_empty() {
            paths.add(errors, path, path);
        }
    }
}

/// The shortest life of a token, in seconds.
const TOKEN_SECONDS_MIN: i64 = 600;
/// The longest life of a token, in seconds.
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

fn check_token(findings: &mut Findings, volume: &Field<'_, '_>, at: &Field<'_, '_>) {
    let errors = &mut findings.errors;
    let seconds = at.get("expirationSeconds");
    if !seconds.exists() {
        seconds.required(errors, "");
    } else if seconds.int() < TOKEN_SECONDS_MIN {
        seconds.invalid(errors, "may not specify a duration less than 10 minutes");
    } else if seconds.int() > TOKEN_SECONDS_MAX {
        seconds.invalid(errors, "may not specify a duration larger than 2^32 seconds");
    }
    // Upstream names the path of the volume.
    let shown = volume.get("path");
    let path = shown.with(at.get("path").value);
    if path.must_be_set(errors) {
        findings.relaxable(Relaxable::TokenPath, |errors| {
            check_not_reserved(errors, &path);
        });
    }
    check_user(&mut findings.errors, &at.get("user"));
}

fn check_bundle<'v>(errors: &mut Errors, at: &Field<'_, 'v>, paths: &mut Paths<'_, 'v>) {
    let (name, signer) = (at.get("name"), at.get("signerName"));
    let selector = at.get("labelSelector");
    match (name.exists(), signer.exists()) {
        (true, true) => at.invalid(errors, "only one of name and signerName may be used"),
        (true, false) => {
            if name.text().is_empty() {
                name.required(errors, "must be a valid object name");
            }
            for message in trust_bundle_name(name.text()) {
                name.invalid(errors, format!("not a valid clustertrustbundlename: {message}"));
            }
            if selector.exists() {
                selector.invalid(errors, "labelSelector must be unset if name is specified");
            }
        }
        (false, true) => {
            if signer.text().is_empty() {
                signer.required(errors, "must be a valid signer name");
            }
            signer_name(errors, &signer);
            check_selector(errors, &selector);
        }
        (false, false) => at.required(errors, "either name or signerName must be specified"),
    }
    let path = at.get("path");
    path.must_be_set(errors);
    check_user(errors, &at.get("user"));
    check_not_reserved(errors, &path);
    paths.add(errors, path.text(), path.text());
}

const KEY_TYPES: &[&str] = &[
    "RSA3072",
    "RSA4096",
    "ECDSAP256",
    "ECDSAP384",
    "ECDSAP521",
    "ED25519",
];
/// The shortest life of a certificate, in seconds.
const CERTIFICATE_SECONDS_MIN: i64 = 3600;
/// The longest life of a certificate, in seconds: 91 days.
const CERTIFICATE_SECONDS_MAX: i64 = 91 * 86_400;
/// The same for signers of Kubernetes itself: a day.
const KUBERNETES_SECONDS_MAX: i64 = 86_400;

/// A certificate for the pod (KEP-4317).
fn check_certificate<'v>(errors: &mut Errors, at: &Field<'_, 'v>, paths: &mut Paths<'_, 'v>) {
    let signer = at.get("signerName");
    signer_name(errors, &signer);
    check_user_annotations(errors, &at.get("userAnnotations"));
    check_user(errors, &at.get("user"));
    let key = at.get("keyType");
    if !KEY_TYPES.contains(&key.text()) {
        key.not_supported(errors, KEY_TYPES);
    }
    let seconds = at.get("maxExpirationSeconds");
    if seconds.exists() {
        let host = signer.text().split('/').next().unwrap_or_default();
        let is_own = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        let most = if is_own {
            KUBERNETES_SECONDS_MAX
        } else {
            CERTIFICATE_SECONDS_MAX
        };
        if seconds.int() < CERTIFICATE_SECONDS_MIN {
            let detail = format!("if provided, maxExpirationSeconds must be >= {CERTIFICATE_SECONDS_MIN}");
            seconds.invalid(errors, detail);
        }
        if seconds.int() > most {
            let detail = format!("if provided, maxExpirationSeconds must be <= {most}");
            seconds.invalid(errors, detail);
        }
    }
    let mut has_path = false;
    for field in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = at.get(field);
        if path.is_set() {
            has_path = true;
            check_not_reserved(errors, &path);
            paths.add(errors, path.text(), path.text());
        }
    }
    if !has_path {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        at.required(errors, detail);
    }
}

/// Annotations that the signer gets; each key needs a domain.
fn check_user_annotations(errors: &mut Errors, at: &Field<'_, '_>) {
    let mut size = 0_usize;
    for (key, value) in at.entries() {
        let lower = key.to_lowercase();
        let messages = qualified_name(&lower);
        if lower.is_empty() {
            at.required(errors, "");
        } else if messages.is_empty() && !lower.contains('/') {
            let detail = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            at.invalid_as(errors, lower.as_str(), detail);
        } else {
            for message in messages {
                at.invalid_as(errors, lower.as_str(), message);
            }
        }
        size = size.saturating_add(key.len() + value.text().len());
    }
    if size > metadata::ANNOTATIONS_MAX {
        at.too_long(errors, metadata::ANNOTATIONS_MAX);
    }
}
