//! Files of one volume that would be written over each other.
//!
//! Upstream: `warningsForOverlappingVirtualPaths` in `pkg/api/pod/warnings.go`.

use super::super::validation::field::Field;
use serde_json::Value;

/// A path, and what is written there if the volume has several sources.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn new(path: &str, source: &str) -> Self {
        Self {
            path: path.trim_end_matches('/').to_owned(),
            source: source.to_owned(),
        }
    }

    fn words(&self) -> String {
        if self.source.is_empty() {
            format!("{:?}", self.path)
        } else {
            format!("{:?} ({})", self.path, self.source)
        }
    }

    /// Whether one is the other or is below it.
    fn overlaps(&self, other: &Self) -> bool {
        let below = |one: &str, other: &str| format!("{one}/").starts_with(&format!("{other}/"));
        !self.path.is_empty()
            && !other.path.is_empty()
            && (below(&self.path, &other.path) || below(&other.path, &self.path))
    }
}

pub(super) fn check(warnings: &mut Vec<String>, volumes: &Field<'_, '_>) {
    for volume in volumes.items() {
        let name = volume.child("name").text();
        for (source, kind, names) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let source = volume.child(source);
            let what = if names.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind} {:?}", source.child(names).text())
            };
            let files = items(&source, "");
            report(warnings, name, &what, &files);
        }
        let projected = volume.child("projected");
        let mut files = Vec::new();
        for source in projected.child("sources").items() {
            if !source.is_set() {
                warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
                continue;
            }
            files.extend(projected_files(&source));
        }
        report(warnings, name, "Projected", &files);
    }
}

fn report(warnings: &mut Vec<String>, volume: &str, what: &str, files: &[File]) {
    for (index, file) in files.iter().enumerate() {
        for other in files[..index].iter().filter(|other| file.overlaps(other)) {
            warnings.push(format!(
                "volume {volume:?} ({what}): overlapping paths: {} with {}",
                file.words(),
                other.words()
            ));
        }
    }
}

fn items(source: &Field<'_, '_>, what: &str) -> Vec<File> {
    let list = source.child("items").list();
    list.iter()
        .map(|item| File::new(item["path"].as_str().unwrap_or_default(), what))
        .collect()
}

fn projected_files(source: &Field<'_, '_>) -> Vec<File> {
    let named = |kind: &str, name: &Value| format!("{kind} {:?}", name.as_str().unwrap_or_default());
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let at = source.child(field);
        if !at.child("items").is_empty() {
            return items(&at, &named(kind, at.child("name").value));
        }
    }
    if !source.child("downwardAPI").child("items").is_empty() {
        return items(&source.child("downwardAPI"), "DownwardAPI");
    }
    let token = source.child("serviceAccountToken");
    if token.exists() {
        return vec![File::new(token.child("path").text(), "ServiceAccountToken")];
    }
    let bundle = source.child("clusterTrustBundle");
    if bundle.exists() {
        let name = if bundle.child("name").exists() {
            bundle.child("name")
        } else {
            bundle.child("signerName")
        };
        let what = named("ClusterTrustBundle", name.value);
        return vec![File::new(bundle.child("path").text(), &what)];
    }
    let certificate = source.child("podCertificate");
    [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ]
    .iter()
    .filter(|(field, _)| certificate.child(field).is_set())
    .map(|(field, what)| File::new(certificate.child(field).text(), what))
    .collect()
}
