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
        let name = volume.get("name").text();
        for (source, kind, names) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let source = volume.get(source);
            let what = if names.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind} {:?}", source.get(names).text())
            };
            let files = items(&source, "");
            report(warnings, name, &what, &files);
        }
        let projected = volume.get("projected");
        let mut files = Vec::new();
        for source in projected.get("sources").items() {
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
    let list = source.get("items").list();
    list.iter()
        .map(|item| File::new(item["path"].as_str().unwrap_or_default(), what))
        .collect()
}

fn projected_files(source: &Field<'_, '_>) -> Vec<File> {
    let named = |kind: &str, name: &Value| format!("{kind} {:?}", name.as_str().unwrap_or_default());
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let at = source.get(field);
        if !at.get("items").is_empty() {
            return items(&at, &named(kind, at.get("name").value));
        }
    }
    if !source.get("downwardAPI").get("items").is_empty() {
        return items(&source.get("downwardAPI"), "DownwardAPI");
    }
    let token = source.get("serviceAccountToken");
    if token.exists() {
        return vec![File::new(token.get("path").text(), "ServiceAccountToken")];
    }
    let bundle = source.get("clusterTrustBundle");
    if bundle.exists() {
        let name = if bundle.get("name").exists() {
            bundle.get("name")
        } else {
            bundle.get("signerName")
        };
        let what = named("ClusterTrustBundle", name.value);
        return vec![File::new(bundle.get("path").text(), &what)];
    }
    let certificate = source.get("podCertificate");
    [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ]
    .iter()
    .filter(|(field, _)| certificate.get(field).is_set())
    .map(|(field, what)| File::new(certificate.get(field).text(), what))
    .collect()
}
