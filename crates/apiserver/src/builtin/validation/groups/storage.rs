//! Classes, drivers and attachments of storage.
//!
//! Upstream: `pkg/apis/storage/validation/validation.go`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kubewright_core::{FieldError, Quantity};
use serde_json::Value;

use super::super::NOT_NEGATIVE;
use super::super::field::{Errors, Field};
use super::super::names::{qualified_name, subdomain, subdomain_of_any_case};
use super::super::storage::inline_volume;
use super::format::label_selector;

/// Parameters of a class: their number, and their size together in bytes.
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_SIZE_MAX: usize = 256 * 1024;
/// The longest name of a CSI driver.
pub(super) const DRIVER_NAME_MAX: usize = 63;

/// A class of volumes (`ValidateStorageClass`, `ValidateStorageClassUpdate`).
pub(crate) fn storage_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    if let Some(old) = old {
        let old = Field::root("", old);
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            root.get(field)
                .check_unchanged_declared(&mut errors, &old.get(field));
        }
        return errors;
    }
    provisioner(&mut errors, &root.get("provisioner"));
    parameters(&mut errors, &root.get("parameters"));
    let policy = root.get("reclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&mut errors, &["Delete", "Retain"]);
    }
    let mode = root.get("volumeBindingMode");
    if !mode.exists() {
        mode.required(&mut errors, "");
    }
    mode.one_of(&mut errors, &["Immediate", "WaitForFirstConsumer"]);
    topologies(&mut errors, &root.get("allowedTopologies"));
    errors
}

fn provisioner(errors: &mut Errors, name: &Field<'_, '_>) {
    if name.check_given(errors, "") {
        for message in qualified_name(&name.text().to_lowercase()) {
            name.invalid_as(errors, name.text().to_lowercase(), message);
        }
    }
}

fn parameters(errors: &mut Errors, parameters: &Field<'_, '_>) {
    if parameters.entries().count() > PARAMETERS_MAX {
        return errors.push(FieldError::too_long(parameters.path(), PARAMETERS_MAX));
    }
    if parameters.entries().any(|(key, _)| key.is_empty()) {
        parameters.invalid_as(errors, "", "field can not be empty.");
    }
    if size(parameters) > PARAMETERS_SIZE_MAX {
        errors.push(FieldError::too_long(parameters.path(), PARAMETERS_SIZE_MAX));
    }
}

/// The bytes of all keys and values of a map.
fn size(map: &Field<'_, '_>) -> usize {
    map.entries()
        .map(|(key, value)| key.len() + value.text().len())
        .sum()
}

fn topologies(errors: &mut Errors, terms: &Field<'_, '_>) {
    // Upstream compares with as many empty terms as there are terms.
    let mut seen = HashSet::from([BTreeMap::new()]);
    for term in terms.items() {
        let expressions = term.get("matchLabelExpressions");
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for requirement in expressions.items() {
            let (key, values) = (requirement.get("key"), requirement.get("values"));
            if values.is_empty() {
                values.required(errors, "");
            }
            let mut known = BTreeSet::new();
            for value in values.items() {
                if !known.insert(value.text()) {
                    value.duplicate(errors);
                }
            }
            key.invalid_each(errors, qualified_name(key.text()));
            if labels.insert(key.text(), known).is_some() {
                key.duplicate(errors);
            }
        }
        if !seen.insert(labels) {
            errors.push(FieldError::duplicate(expressions.path(), ""));
        }
    }
}

/// The name of a CSI driver (`ValidateCSIDriverName`).
pub(super) fn driver_name(errors: &mut Errors, name: &Field<'_, '_>) {
    if name.check_given(errors, "") {
        name.check_length(errors, DRIVER_NAME_MAX);
        name.invalid_each(errors, subdomain(&name.text().to_lowercase()));
    }
}

/// The attachment of a volume to a node (`ValidateVolumeAttachment`, `ValidateVolumeAttachmentUpdate`).
pub(crate) fn volume_attachment(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let attacher = spec.get("attacher");
    if attacher.check_given(&mut errors, "") {
        if attacher.text().chars().count() > DRIVER_NAME_MAX {
            errors.push(FieldError {
                detail: format!("may not be more than {DRIVER_NAME_MAX} characters"),
                ..FieldError::too_long(attacher.path(), DRIVER_NAME_MAX)
            });
        }
        attacher.invalid_each(&mut errors, subdomain_of_any_case(attacher.text()));
    }
    let source = spec.get("source");
    let (inline, volume) = (source.get("inlineVolumeSpec"), source.get("persistentVolumeName"));
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.exists(), volume.exists()) {
        (false, false) => source.required(&mut errors, one),
        (true, true) => source.forbidden(&mut errors, one),
        (false, true) if volume.is_empty() => {
            volume.required(&mut errors, "must specify non empty persistentVolumeName");
        }
        (true, false) => inline_volume(&mut errors, &inline),
        _ => {}
    }
    if volume.exists() {
        volume.invalid_each(&mut errors, subdomain(volume.text()));
    }
    let node = spec.get("nodeName");
    for message in subdomain(node.text()) {
        node.invalid_as(&mut errors, node.text(), message);
    }
    attachment_status(&mut errors, &root.get("status"));
    if let Some(old) = old {
        spec.check_unchanged_declared(&mut errors, &Field::root("", old).get("spec"));
    }
    errors
}

fn attachment_status(errors: &mut Errors, status: &Field<'_, '_>) {
    const METADATA_MAX: usize = 256 * 1024;
    const MESSAGE_MAX: usize = 1024;
    let metadata = status.get("attachmentMetadata");
    if size(&metadata) > METADATA_MAX {
        errors.push(FieldError::too_long(metadata.path(), METADATA_MAX));
    }
    for field in ["attachError", "detachError"] {
        let error = status.get(field);
        error.get("message").check_length(errors, MESSAGE_MAX);
        let code = error.get("errorCode");
        if code.int() < 0 {
            code.invalid(errors, "must be between 0 and 2147483647, inclusive");
        }
    }
}

/// What an attacher reports.
pub(crate) fn volume_attachment_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    match subresource {
        "status" => volume_attachment(new, Some(old)),
        _ => Errors::new(),
    }
}

/// A driver (`ValidateCSIDriver`, `ValidateCSIDriverUpdate`).
pub(crate) fn csi_driver(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    for (field, name) in [
        // Upstream calls it so.
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
        ("seLinuxMount", "seLinuxMount"),
        ("preventPodSchedulingIfMissing", "preventPodSchedulingIfMissing"),
    ] {
        if !spec.get(field).exists() {
            spec.get(name).required(&mut errors, "");
        }
    }
    spec.get("fsGroupPolicy")
        .one_of(&mut errors, &["File", "None", "ReadWriteOnceWithFSType"]);
    let requests = spec.get("tokenRequests");
    token_requests(&mut errors, &requests);
    let modes = spec.get("volumeLifecycleModes");
    for mode in modes.items() {
        if !matches!(mode.text(), "Persistent" | "Ephemeral") {
            modes.not_supported_as(&mut errors, mode.text(), &["Persistent", "Ephemeral"]);
        }
    }
    let period = spec.get("nodeAllocatableUpdatePeriodSeconds");
    if period.value.as_i64().is_some_and(|seconds| seconds < 10) {
        period.invalid(&mut errors, "must be greater than or equal to 10 seconds");
    }
    let in_secrets = spec.get("serviceAccountTokenInSecrets");
    if in_secrets.exists() && requests.is_empty() {
        in_secrets.invalid(
            &mut errors,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        );
    }
    if let Some(old) = old {
        let old = Field::root("", old);
        let old = old.get("spec");
        let required = spec.get("attachRequired");
        if !required.same(&old.get("attachRequired")) {
            spec.get("attachedRequired").invalid_as(
                &mut errors,
                required.value.clone(),
                super::super::IMMUTABLE,
            );
        }
        spec.check_fixed(&mut errors, &old, &["volumeLifecycleModes"]);
    }
    errors
}

fn token_requests(errors: &mut Errors, requests: &Field<'_, '_>) {
    const SECONDS_MIN: i64 = 600;
    const SECONDS_MAX: i64 = 1 << 32;
    let mut audiences = HashSet::new();
    for request in requests.items() {
        let audience = request.get("audience");
        if !audiences.insert(audience.text()) {
            errors.push(FieldError::duplicate(audience.path(), audience.text()));
            continue;
        }
        let seconds = request.get("expirationSeconds");
        match seconds.value.as_i64() {
            Some(number) if number < SECONDS_MIN => {
                seconds.invalid(errors, "may not specify a duration less than 10 minutes");
            }
            Some(number) if number > SECONDS_MAX => {
                seconds.invalid(errors, "may not specify a duration larger than 2^32 seconds");
            }
            _ => {}
        }
    }
}

/// The drivers of a node (`ValidateCSINode`, `ValidateCSINodeUpdate`).
pub(crate) fn csi_node(object: &Value, old: Option<&Value>) -> Errors {
    const NODE_ID_MAX: usize = 256;
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let drivers = root.get("spec.drivers");
    let mut names = HashSet::new();
    for driver in drivers.items() {
        let (name, id) = (driver.get("name"), driver.get("nodeID"));
        driver_name(&mut errors, &name);
        if id.check_given(&mut errors, "") && id.text().len() > NODE_ID_MAX {
            id.invalid(&mut errors, format!("must be {NODE_ID_MAX} characters or less"));
        }
        driver.get("allocatable.count").not_negative(&mut errors);
        if !names.insert(name.text()) {
            name.duplicate(&mut errors);
        }
        let mut keys = HashSet::new();
        for key in driver.get("topologyKeys").items() {
            // Upstream tells of the driver, not of the key.
            if key.is_empty() {
                driver.required(&mut errors, "");
            }
            if !keys.insert(key.text()) {
                errors.push(FieldError::duplicate(driver.path(), key.text()));
            }
            for message in qualified_name(key.text()) {
                driver.invalid_as(&mut errors, key.text(), message);
            }
        }
    }
    if let Some(old) = old {
        // How many volumes fit may change; a driver that is there is otherwise fixed.
        let fixed = |driver: &Value| {
            let mut driver = driver.clone();
            driver.as_object_mut().map(|driver| driver.remove("allocatable"));
            driver
        };
        let old = Field::root("", old);
        for before in old.get("spec.drivers").items() {
            let same = drivers
                .items()
                .find(|driver| driver.value["name"] == before.value["name"]);
            let Some(now) = same else { continue };
            let (now, before) = (fixed(now.value), fixed(before.value));
            if !Field::root("", &now).same(&Field::root("", &before)) {
                drivers.invalid_as(&mut errors, now, super::super::IMMUTABLE);
            }
        }
    }
    errors
}

/// What fits into storage (`ValidateCSIStorageCapacity`, `ValidateCSIStorageCapacityUpdate`).
pub(crate) fn storage_capacity(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let class = root.get("storageClassName");
    if let Some(old) = old {
        root.check_fixed(
            &mut errors,
            &Field::root("", old),
            &["nodeTopology", "storageClassName"],
        );
        return errors;
    }
    label_selector(&mut errors, &root.get("nodeTopology"));
    for message in subdomain(class.text()) {
        class.invalid_as(&mut errors, class.text(), message);
    }
    let capacity = root.get("capacity");
    if capacity
        .text()
        .parse()
        .is_ok_and(|capacity: Quantity| capacity.is_negative())
    {
        capacity.invalid(&mut errors, NOT_NEGATIVE);
    }
    errors
}

/// A class of attributes (`ValidateVolumeAttributesClass`, `ValidateVolumeAttributesClassUpdate`).
pub(crate) fn attributes_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    if let Some(old) = old {
        let old = Field::root("", old);
        for field in ["driverName", "parameters"] {
            let node = root.get(field);
            if !node.same(&old.get(field)) {
                node.forbidden(&mut errors, format!("updates to {field} are forbidden."));
            }
        }
    }
    provisioner(&mut errors, &root.get("driverName"));
    let all = root.get("parameters");
    parameters(&mut errors, &all);
    if all.is_empty() {
        all.required(&mut errors, "must contain at least one key/value pair");
    }
    errors
}
