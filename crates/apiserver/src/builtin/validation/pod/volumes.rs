//! Volumes of pods.
//!
//! Upstream: `ValidateVolumes` and `validateVolumeSource`.

use std::collections::{BTreeMap, BTreeSet};

use super::super::field::{Errors, Field};
use super::super::names::{label, user_id};
use super::super::storage;
use super::environment::{Place as FieldPlace, check_field_ref, check_resource_ref};
use super::mounts::check_not_reserved;
use super::sources::{self, Place};
use super::{Findings, Owner, Relaxable, container, projected};
use serde_json::Value;

/// The volumes that containers may use, by name. One that is itself at fault is none of them, as upstream has it.
pub(super) type Volumes<'v> = BTreeMap<&'v str, &'v Value>;

/// The sources in the order in which upstream looks at them, which decides about the field that a second one is reported for;
/// some of these have a spelling of their own in that message.
const SOURCES: &[(&str, &str)] = &[
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

pub(super) fn check<'v>(findings: &mut Findings, spec: &Field<'_, 'v>, owner: Owner<'_>) -> Volumes<'v> {
    let volumes = spec.get("volumes");
    let pod_name = match owner {
        Owner::Pod(meta) => meta["name"].as_str().unwrap_or_default(),
        Owner::Template => "",
    };
    let text = |volume: &'v Value, pointer: &str| {
        volume
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let made: BTreeSet<String> = volumes
        .list()
        .iter()
        .filter(|volume| !pod_name.is_empty() && !volume["ephemeral"].is_null())
        .map(|volume| format!("{pod_name}-{}", text(volume, "/name")))
        .collect();
    let mut known = Volumes::new();
    for volume in volumes.items() {
        let before = findings.errors.len();
        check_source(findings, &volume, pod_name);
        let errors = &mut findings.errors;
        let name = volume.get("name");
        name.required_checked(errors, label);
        if known.contains_key(name.text()) {
            name.duplicate(errors);
        }
        if errors.len() == before {
            known.insert(text(volume.value, "/name"), volume.value);
        }
        let claim = volume.get("persistentVolumeClaim");
        let claim = claim.get("claimName");
        if made.contains(claim.text()) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            claim.invalid(errors, detail);
        }
    }
    known
}

fn check_source(findings: &mut Findings, volume: &Field<'_, '_>, pod_name: &str) {
    let mut given = SOURCES.iter().filter(|(source, _)| volume.get(source).exists());
    let Some((first, _)) = given.next() else {
        volume.required(&mut findings.errors, "must specify a volume type");
        return;
    };
    check_of_kind(findings, volume, first, pod_name);
    for (_, shown) in given {
        let detail = "may not specify more than 1 volume type";
        volume.get(shown).forbidden(&mut findings.errors, detail);
    }
}

fn check_of_kind(findings: &mut Findings, volume: &Field<'_, '_>, kind: &str, pod_name: &str) {
    let at = volume.get(kind);
    let errors = &mut findings.errors;
    match kind {
        "emptyDir" => {
            let limit = at.get("sizeLimit");
            if limit.quantity().is_some_and(|limit| limit.is_negative()) {
                limit.forbidden(errors, "SizeLimit field must be a valid resource quantity");
            }
        }
        "secret" | "configMap" => {
            let name = if kind == "secret" { "secretName" } else { "name" };
            at.get(name).must_be_set(errors);
            check_mode(errors, &at.get("defaultMode"));
            for item in at.get("items").items() {
                check_key_to_path(errors, &item);
            }
        }
        "downwardAPI" => {
            check_mode(errors, &at.get("defaultMode"));
            for item in at.get("items").list() {
                check_downward_file(errors, &at, item);
            }
        }
        "projected" => projected::check(findings, &at),
        "ephemeral" => check_ephemeral(errors, volume, &at, pod_name),
        "image" => {
            let reference = at.get("reference");
            findings.relaxable(Relaxable::EmptyImageReference, |errors| {
                reference.must_be_set(errors);
            });
            at.get("pullPolicy")
                .required_one_of(&mut findings.errors, container::PULL_POLICIES);
        }
        _ => sources::check(errors, volume, kind, Place::Pod(volume.get("name").text())),
    }
}

fn check_ephemeral(errors: &mut Errors, volume: &Field<'_, '_>, at: &Field<'_, '_>, pod_name: &str) {
    let template = at.get("volumeClaimTemplate");
    if template.exists() {
        storage::check_claim_template(errors, &template);
    } else {
        template.required(errors, "");
    }
    let name = volume.get("name");
    if !pod_name.is_empty() && name.is_set() {
        let claim = format!("{pod_name}-{}", name.text());
        for message in sources::claim_name_faults(&claim) {
            name.invalid(errors, format!("PVC name {claim:?}: {message}"));
        }
    }
}

/// The permissions of a file.
pub(super) fn check_mode(errors: &mut Errors, mode: &Field<'_, '_>) {
    if mode.exists() && !(0..=0o777).contains(&mode.int()) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        mode.invalid(errors, detail);
    }
}

/// The owner of a file, where one is named.
pub(super) fn check_user(errors: &mut Errors, user: &Field<'_, '_>) {
    if user.exists() {
        for message in user_id(user.int()) {
            user.invalid(errors, message);
        }
    }
}

/// Checks which key becomes which file.
pub(super) fn check_key_to_path(errors: &mut Errors, item: &Field<'_, '_>) {
    item.get("key").must_be_set(errors);
    item.get("path").must_be_set(errors);
    check_not_reserved(errors, &item.get("path"));
    check_mode(errors, &item.get("mode"));
    check_user(errors, &item.get("user"));
}

/// What files can be made from.
const FILE_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Checks a file with a part of the pod. Upstream names it by the list that it is in.
pub(super) fn check_downward_file(errors: &mut Errors, list: &Field<'_, '_>, item: &Value) {
    let file = list.with(item);
    file.get("path").must_be_set(errors);
    check_not_reserved(errors, &file.get("path"));
    let (field, resource) = (file.get("fieldRef"), file.get("resourceFieldRef"));
    if field.exists() {
        check_field_ref(errors, &field, FILE_FIELDS);
        if resource.exists() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            file.invalid_as(errors, "resource", detail);
        }
    } else if resource.exists() {
        check_resource_ref(errors, &resource, FieldPlace::Volume);
    } else {
        file.required(errors, "one of fieldRef and resourceFieldRef is required");
    }
    check_mode(errors, &file.get("mode"));
    check_user(errors, &file.get("user"));
}
