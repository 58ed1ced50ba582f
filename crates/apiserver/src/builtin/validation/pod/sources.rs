//! Sources of volumes, inline in a pod or as persistent volumes.
//!
//! Upstream has one function per source and use (`validate*VolumeSource`, `validate*PersistentVolumeSource`). Most of them only
//! ask for fields, which is a table here.

use super::super::addresses::parse_lenient;
use super::super::field::{Errors, Field};
use super::super::names::{NameRule, NameUse, driver_name, label, no_backsteps, subdomain};
use super::mounts::check_descending;

/// Where a source stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'n> {
    /// In a pod, under the name of a volume.
    Pod(&'n str),
    /// In a persistent volume of this name.
    Persistent(&'n str),
}

/// Fields that must be set.
const REQUIRED: &[(&str, &[&str])] = &[
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("nfs", &["server", "path"]),
    ("glusterfs", &["endpoints", "path"]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &["monitors", "image"]),
    ("cinder", &["volumeID"]),
    ("cephfs", &["monitors"]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
];

/// Checks the source called `name` within a volume or the specification of a persistent one.
pub(crate) fn check(errors: &mut Errors, volume: &Field<'_, '_>, name: &str, place: Place<'_>) {
    // Upstream names two of them differently in paths.
    let shown = volume.get(if name == "gcePersistentDisk" {
        "persistentDisk"
    } else {
        name
    });
    let at = shown.with(volume.get(name).value);
    let fields = REQUIRED.iter().find(|(known, _)| *known == name);
    for field in fields.into_iter().flat_map(|(_, fields)| fields.iter()) {
        at.get(field).must_be_set(errors);
    }
    match name {
        "hostPath" => check_host_path(errors, &at),
        "local" => {
            at.get("path").required_checked(errors, no_backsteps);
        }
        "gitRepo" => {
            at.get("repository").must_be_set(errors);
            check_descending(errors, &at.get("directory"));
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let partition = at.get("partition");
            if !(0..=255).contains(&partition.int()) {
                partition.invalid(errors, "must be between 1 and 255, inclusive");
            }
        }
        "nfs" if !at.get("path").text().starts_with('/') => {
            let path = at.get("path");
            path.invalid_as(errors, path.text(), "must be an absolute path");
        }
        "iscsi" => check_iscsi(errors, volume, &at, place),
        "glusterfs" => check_glusterfs(errors, &at, place),
        "flocker" => check_flocker(errors, &at),
        "cinder" | "storageos" => check_cinder_or_storage_os(errors, &at, name, place),
        "quobyte" => check_quobyte(errors, &at),
        "fc" => check_fibre_channel(errors, &at),
        "flexVolume" => check_flex(errors, &at),
        "azureFile" => check_azure_file(errors, &at, place),
        "azureDisk" => check_azure_disk(errors, &at),
        "csi" => check_csi(errors, &at, place),
        _ => {}
    }
}

const HOST_PATH_TYPES: &[&str] = &[
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

fn check_host_path(errors: &mut Errors, at: &Field<'_, '_>) {
    let path = at.get("path");
    if path.must_be_set(errors) {
        path.checked(errors, no_backsteps);
        at.get("type").one_of(errors, HOST_PATH_TYPES);
    }
}

fn check_iscsi(errors: &mut Errors, volume: &Field<'_, '_>, at: &Field<'_, '_>, place: Place<'_>) {
    const TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                            iscsi.initiatorName is specified.";
    const TOTAL_MAX: usize = 64;
    let (portal, name) = (at.get("targetPortal"), at.get("iqn"));
    let (initiator, secret) = (at.get("initiatorName"), at.get("secretRef"));
    portal.must_be_set(errors);
    let volume_name = match place {
        Place::Pod(name) | Place::Persistent(name) => name,
    };
    if initiator.exists() && volume_name.len() + 1 + portal.text().len() > TOTAL_MAX {
        match place {
            Place::Pod(name) => volume.get("name").invalid_as(errors, name, TOO_LONG),
            Place::Persistent(_) => {
                let shown = at.get("targetportal");
                shown.invalid_as(errors, portal.text(), TOO_LONG);
            }
        }
    }
    if name.must_be_set(errors) {
        check_initiator(errors, &name, name.text(), place);
    }
    if !(0..=255).contains(&at.get("lun").int()) {
        at.get("lun")
            .invalid(errors, "must be between 0 and 255, inclusive");
    }
    let authenticates = ["chapAuthDiscovery", "chapAuthSession"]
        .iter()
        .any(|field| at.get(field).is_true());
    if authenticates && !secret.exists() {
        secret.required(errors, "");
    }
    if matches!(place, Place::Persistent(_)) && secret.exists() {
        secret.get("name").must_be_set(errors);
    }
    if initiator.exists() {
        check_initiator(errors, &at.get("initiatorname"), initiator.text(), place);
    }
}

/// The name of an initiator in one of three notations (RFC 3720).
fn check_initiator(errors: &mut Errors, at: &Field<'_, '_>, name: &str, place: Place<'_>) {
    let is_long = |digits: usize| {
        name.len() == 4 + digits && name.bytes().skip(4).all(|byte| byte.is_ascii_alphanumeric())
    };
    let is_valid = match name.get(..3) {
        Some("iqn") => is_qualified_initiator(name),
        Some("eui") => is_long(16),
        Some("naa") => is_long(32),
        _ => {
            let detail = match place {
                Place::Pod(_) => "must be valid format starting with iqn, eui, or naa",
                Place::Persistent(_) => "must be valid format",
            };
            at.invalid_as(errors, name, detail);
            return;
        }
    };
    if !is_valid {
        at.invalid_as(errors, name, "must be valid format");
    }
}

/// `iqn.`, year and month, a domain, a colon and anything without separators and space. Upstream's expression is not anchored at
/// its start, so it may also begin later in the text.
fn is_qualified_initiator(name: &str) -> bool {
    let starts = name.match_indices("iqn.").map(|(at, _)| &name[at + 4..]);
    let is_date = |date: &[u8]| {
        matches!(date, [y1, y2, y3, y4, b'-', m1, m2, b'.']
            if [y1, y2, y3, y4, m1, m2].iter().all(|digit| digit.is_ascii_digit()))
    };
    starts
        .filter(|rest| rest.as_bytes().get(..8).is_some_and(is_date))
        .any(|rest| {
            rest[8..].split_once(':').is_some_and(|(domain, target)| {
                let is_domain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
                let is_target = |c: char| !",;*&$|".contains(c) && !c.is_ascii_whitespace();
                !domain.is_empty()
                    && domain.bytes().all(is_domain)
                    && !target.is_empty()
                    && target.chars().all(is_target)
            })
        })
}

fn check_glusterfs(errors: &mut Errors, at: &Field<'_, '_>, place: Place<'_>) {
    let namespace = at.get("endpointsNamespace");
    if matches!(place, Place::Pod(_)) || !namespace.exists() {
        return;
    }
    if namespace.text().is_empty() {
        let detail = "if the endpointnamespace is set, it must be a valid namespace name";
        namespace.invalid(errors, detail);
    } else {
        namespace.checked(errors, label);
    }
}

fn check_flocker(errors: &mut Errors, at: &Field<'_, '_>) {
    let (name, uuid) = (at.get("datasetName"), at.get("datasetUUID"));
    match (name.is_set(), uuid.is_set()) {
        (false, false) => at.required(errors, "one of datasetName and datasetUUID is required"),
        (true, true) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            at.invalid_as(errors, "resource", detail);
        }
        _ => {}
    }
    if name.text().contains('/') {
        name.invalid(errors, "must not contain '/'");
    }
}

fn check_cinder_or_storage_os(errors: &mut Errors, at: &Field<'_, '_>, name: &str, place: Place<'_>) {
    if name == "storageos" {
        at.get("volumeName").required_checked(errors, label);
        at.get("volumeNamespace").checked_if_set(errors, label);
    }
    let secret = at.get("secretRef");
    if secret.exists() {
        secret.get("name").must_be_set(errors);
        if matches!(place, Place::Persistent(_)) {
            secret.get("namespace").must_be_set(errors);
        }
    }
}

fn check_quobyte(errors: &mut Errors, at: &Field<'_, '_>) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    const TENANT_MAX: usize = 64;
    let registry = at.get("registry");
    if !registry.is_set() {
        registry.required(errors, PAIRS);
    } else if at.get("tenant").text().len() > TENANT_MAX {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        at.get("tenant").required(errors, detail);
    } else {
        for pair in registry.text().split(',') {
            if !is_host_and_port(pair) {
                registry.invalid(errors, PAIRS);
            }
        }
    }
    at.get("volume").must_be_set(errors);
}

/// As Go's `net.SplitHostPort` has it: any text before the last colon, in brackets if it has colons itself.
fn is_host_and_port(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((host, _)) => match host.strip_prefix('[') {
            Some(inner) => inner
                .strip_suffix(']')
                .is_some_and(|inner| !inner.contains(['[', ']'])),
            None => !host.contains([':', '[', ']']),
        },
        None => false,
    }
}

fn check_fibre_channel(errors: &mut Errors, at: &Field<'_, '_>) {
    let (targets, ids) = (at.get("targetWWNs"), at.get("wwids"));
    let lun = at.get("lun");
    match (!targets.is_empty(), !ids.is_empty()) {
        (false, false) => targets.required(errors, "must specify either targetWWNs or wwids, but not both"),
        (true, true) => {
            targets.invalid(errors, "targetWWNs and wwids can not be specified simultaneously");
        }
        _ => {}
    }
    if !targets.is_empty() {
        if lun.exists() {
            lun.within(errors, 0..=255);
        } else {
            lun.required(errors, "lun is required if targetWWNs is specified");
        }
    }
}

fn check_flex(errors: &mut Errors, at: &Field<'_, '_>) {
    for (key, option) in at.get("options").entries() {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        let domain = format!(".{}", namespace.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            option.invalid_as(errors, key, detail);
        }
    }
}

fn check_azure_file(errors: &mut Errors, at: &Field<'_, '_>, place: Place<'_>) {
    let namespace = at.get("secretNamespace");
    if matches!(place, Place::Persistent(_)) && namespace.exists() {
        namespace.must_be_set(errors);
    }
}

fn check_azure_disk(errors: &mut Errors, at: &Field<'_, '_>) {
    let (kind, uri) = (at.get("kind"), at.get("diskURI"));
    at.get("cachingMode")
        .one_of(errors, &["None", "ReadOnly", "ReadWrite"]);
    kind.one_of(errors, &["Dedicated", "Managed", "Shared"]);
    if !kind.exists() {
        return;
    }
    let (prefix, form) = if kind.text() == "Managed" {
        (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        )
    } else {
        (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        )
    };
    if !uri.text().starts_with(prefix) {
        uri.not_supported(errors, &[form]);
    }
}

fn check_csi(errors: &mut Errors, at: &Field<'_, '_>, place: Place<'_>) {
    check_driver(errors, &at.get("driver"));
    match place {
        Place::Pod(_) => {
            let secret = at.get("nodePublishSecretRef");
            let name = secret.get("name");
            if secret.exists() && name.must_be_set(errors) {
                for message in subdomain(name.text()) {
                    // Upstream leaves the reference out of this path.
                    at.get("name").invalid_as(errors, name.text(), message);
                }
            }
        }
        Place::Persistent(_) => {
            at.get("volumeHandle").must_be_set(errors);
            for secret in [
                "controllerPublishSecretRef",
                "controllerExpandSecretRef",
                "nodePublishSecretRef",
                "nodeExpandSecretRef",
            ] {
                let secret = at.get(secret);
                if secret.exists() {
                    secret.get("name").required_checked(errors, subdomain);
                    secret.get("namespace").required_checked(errors, label);
                }
            }
        }
    }
}

/// Checks the name of a CSI driver (`ValidateCSIDriverName`).
pub(crate) fn check_driver(errors: &mut Errors, driver: &Field<'_, '_>) {
    const DRIVER_MAX: usize = 63;
    if !driver.must_be_set(errors) {
        return;
    }
    if driver.text().len() > DRIVER_MAX {
        driver.too_long(errors, DRIVER_MAX);
    }
    driver.invalid_each(errors, driver_name(driver.text()));
}

/// Whether the name of a claim made for an ephemeral volume would be a valid one.
pub(super) fn claim_name_faults(name: &str) -> Vec<String> {
    NameRule::Subdomain.check(name, NameUse::Whole)
}

/// Whether a text is an address, for fields that must be names.
pub(crate) fn is_address(text: &str) -> bool {
    parse_lenient(text).is_some()
}
