//! Which served versions of built-in kinds are deprecated, and what clients are told about it.
//!
//! Upstream: the `APILifecycle*` methods of `k8s.io/api` (generated from the `prerelease-lifecycle-gen` tags) and
//! `pkg/endpoints/deprecation` of apiserver. A version that will be deprecated in a later release is not listed.

/// The warning for a version of a kind, if it is deprecated in 1.37.
pub(crate) fn warning(group: &str, version: &str, kind: &str) -> Option<String> {
    let row = DEPRECATED
        .iter()
        .find(|row| row.group == group && row.version == version && row.kinds.contains(&kind))?;
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut text = format!("{api_version} {kind} is deprecated in v1.{}+", row.since);
    if let Some(gone) = row.gone {
        text.push_str(&format!(", unavailable in v1.{gone}+"));
    }
    match row.instead {
        Instead::Nothing => {}
        Instead::Version(version) => text.push_str(&format!("; use {group}/{version} {kind}")),
        Instead::Kind(kind) => text.push_str(&format!("; use {kind}")),
    }
    Some(text)
}

/// Some kinds of one version, all deprecated at the same time.
struct Deprecated {
    group: &'static str,
    version: &'static str,
    kinds: &'static [&'static str],
    /// The minor release since which it is deprecated.
    since: u8,
    /// The minor release that no longer has it.
    gone: Option<u8>,
    instead: Instead,
}

/// What to use from now on.
enum Instead {
    /// Upstream names nothing.
    Nothing,
    /// The same kind in another version of the group.
    Version(&'static str),
    /// Another kind.
    Kind(&'static str),
}

const RESOURCE: &[&str] = &[
    "DeviceClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
];
const MUTATING: &[&str] = &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"];

const fn row(
    (group, version): (&'static str, &'static str),
    kinds: &'static [&'static str],
    (since, gone): (u8, Option<u8>),
    instead: Instead,
) -> Deprecated {
    Deprecated {
        group,
        version,
        kinds,
        since,
        gone,
        instead,
    }
}

const DEPRECATED: &[Deprecated] = &[
    row(("", "v1"), &["ComponentStatus"], (19, None), Instead::Nothing),
    row(
        ("", "v1"),
        &["Endpoints"],
        (33, None),
        Instead::Kind("discovery.k8s.io/v1 EndpointSlice"),
    ),
    row(
        ("admissionregistration.k8s.io", "v1alpha1"),
        MUTATING,
        (35, Some(38)),
        Instead::Nothing,
    ),
    row(
        ("admissionregistration.k8s.io", "v1beta1"),
        MUTATING,
        (37, Some(40)),
        Instead::Version("v1"),
    ),
    row(
        ("certificates.k8s.io", "v1beta1"),
        &["ClusterTrustBundle", "PodCertificateRequest"],
        (37, Some(40)),
        Instead::Version("v1"),
    ),
    row(
        ("coordination.k8s.io", "v1alpha2"),
        &["LeaseCandidate"],
        (35, Some(38)),
        Instead::Nothing,
    ),
    row(
        ("coordination.k8s.io", "v1beta1"),
        &["LeaseCandidate"],
        (36, Some(39)),
        Instead::Nothing,
    ),
    row(
        ("resource.k8s.io", "v1beta1"),
        RESOURCE,
        (35, Some(38)),
        Instead::Nothing,
    ),
    row(
        ("resource.k8s.io", "v1beta2"),
        RESOURCE,
        (36, Some(39)),
        Instead::Nothing,
    ),
    row(
        ("resource.k8s.io", "v1alpha3"),
        &["DeviceTaintRule"],
        (36, Some(39)),
        Instead::Nothing,
    ),
    row(
        ("storagemigration.k8s.io", "v1beta1"),
        &["StorageVersionMigration"],
        (37, Some(40)),
        Instead::Version("v1"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deprecated_versions_say_until_when_and_what_instead() {
        #[track_caller]
        fn check(group: &str, version: &str, kind: &str, expect: Option<&str>) {
            assert_eq!(warning(group, version, kind).as_deref(), expect);
        }
        check("apps", "v1", "Deployment", None);
        check("resource.k8s.io", "v1", "DeviceClass", None);
        check("resource.k8s.io", "v1beta2", "DeviceTaintRule", None);
        check(
            "",
            "v1",
            "ComponentStatus",
            Some("v1 ComponentStatus is deprecated in v1.19+"),
        );
        check(
            "",
            "v1",
            "Endpoints",
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
        );
        check(
            "resource.k8s.io",
            "v1beta1",
            "ResourceSlice",
            Some("resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+"),
        );
        check(
            "certificates.k8s.io",
            "v1beta1",
            "ClusterTrustBundle",
            Some(
                "certificates.k8s.io/v1beta1 ClusterTrustBundle is deprecated in v1.37+, unavailable in v1.40+; use \
                 certificates.k8s.io/v1 ClusterTrustBundle",
            ),
        );
    }

    #[test]
    fn every_row_is_a_served_kind() {
        for row in DEPRECATED {
            for kind in row.kinds {
                let found = kubewright_kinds::table().resource_of_kind(row.group, row.version, kind);
                assert!(found.is_some(), "{}/{} {kind}", row.group, row.version);
            }
        }
    }
}
