//! Where containers have the volumes of their pod.
//!
//! Upstream: `ValidateVolumeMounts` and `ValidateVolumeDevices`.

use std::collections::BTreeSet;

use super::super::field::{Errors, Field};
use super::super::names::{local_path, no_backsteps};
use super::volumes::Volumes;
use serde_json::Value;

/// The names and paths in a list of mounts or devices.
fn taken<'v>(list: &Field<'_, 'v>, path: &str) -> (BTreeSet<&'v str>, BTreeSet<&'v str>) {
    let text = |item: &'v Value, field: &str| item[field].as_str().unwrap_or_default();
    let names = list.list().iter().map(|item| text(item, "name"));
    // Only the last path of a name counts, as in a map.
    let paths: std::collections::BTreeMap<&str, &str> = list
        .list()
        .iter()
        .map(|item| (text(item, "name"), text(item, path)))
        .collect();
    (names.collect(), paths.into_values().collect())
}

pub(super) fn check_mounts(errors: &mut Errors, container: &Field<'_, '_>, volumes: &Volumes<'_>) {
    let (mounts, devices) = (container.get("volumeMounts"), container.get("volumeDevices"));
    let (device_names, device_paths) = taken(&devices, "devicePath");
    let mut paths = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        name.must_be_set(errors);
        if !volumes.contains_key(name.text()) {
            name.not_found(errors, "");
        }
        path.must_be_set(errors);
        if !paths.insert(path.text()) {
            path.invalid_as(errors, path.text(), "must be unique");
        }
        if device_names.contains(name.text()) {
            name.invalid(errors, "must not already exist in volumeDevices");
        }
        if device_paths.contains(path.text()) {
            path.invalid(errors, "must not already exist as a path in volumeDevices");
        }
        check_sub_path(errors, &mounts, &mount);
        check_propagation(errors, &mounts, &mount, container);
        check_recursive_read_only(errors, &mounts, &mount);
    }
}

fn check_sub_path(errors: &mut Errors, mounts: &Field<'_, '_>, mount: &Field<'_, '_>) {
    let (path, expression) = (mount.get("subPath"), mount.get("subPathExpr"));
    if path.is_set() && expression.is_set() {
        expression.invalid(errors, "subPathExpr and subPath are mutually exclusive");
    }
    for (field, name) in [(path, "subPath"), (expression, "subPathExpr")] {
        if field.is_set() {
            // Upstream leaves the index out of these paths.
            check_descending(errors, &mounts.get(name).with(field.value));
        }
    }
}

/// Reports a path that is absolute or goes up.
pub(super) fn check_descending(errors: &mut Errors, path: &Field<'_, '_>) {
    path.checked(errors, local_path);
    path.checked(errors, no_backsteps);
}

/// Reports a path that is absolute, goes up or begins with two dots (`ValidateLocalNonReservedPath`).
pub(super) fn check_not_reserved(errors: &mut Errors, path: &Field<'_, '_>) {
    check_descending(errors, path);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        path.invalid(errors, "must not start with '..'");
    }
}

fn check_propagation(
    errors: &mut Errors,
    mounts: &Field<'_, '_>,
    mount: &Field<'_, '_>,
    container: &Field<'_, '_>,
) {
    let value = mount.get("mountPropagation").value;
    if value.is_null() {
        return;
    }
    let shown = mounts.get("mountPropagation");
    let propagation = shown.with(value);
    propagation.one_of(errors, &["Bidirectional", "HostToContainer", "None"]);
    let context = container.get("securityContext");
    if propagation.text() == "Bidirectional" && !context.get("privileged").is_true() {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        propagation.forbidden(errors, detail);
    }
}

fn check_recursive_read_only(errors: &mut Errors, mounts: &Field<'_, '_>, mount: &Field<'_, '_>) {
    let value = mount.get("recursiveReadOnly").value;
    if value.is_null() {
        return;
    }
    let shown = mounts.get("recursiveReadOnly");
    let mode = shown.with(value);
    mode.one_of(errors, &["Disabled", "Enabled", "IfPossible"]);
    if !matches!(mode.text(), "Enabled" | "IfPossible") {
        return;
    }
    if !mount.get("readOnly").is_true() {
        mode.forbidden(errors, "may only be specified when readOnly is true");
    }
    let propagation = mount.get("mountPropagation");
    if propagation.exists() && propagation.text() != "None" {
        let detail = "may only be specified when mountPropagation is None or not specified";
        mode.forbidden(errors, detail);
    }
}

pub(super) fn check_devices(errors: &mut Errors, container: &Field<'_, '_>, volumes: &Volumes<'_>) {
    let (mounts, devices) = (container.get("volumeMounts"), container.get("volumeDevices"));
    let (mount_names, mount_paths) = taken(&mounts, "mountPath");
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for device in devices.items() {
        let (name, path) = (device.get("name"), device.get("devicePath"));
        name.must_be_set(errors);
        if name.is_set() && names.contains(name.text()) {
            name.invalid(errors, "must be unique");
        }
        match volumes.get(name.text()) {
            None => name.not_found(errors, ""),
            Some(source) if source["persistentVolumeClaim"].is_null() && source["ephemeral"].is_null() => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                name.invalid(errors, detail);
            }
            Some(_) => {}
        }
        path.must_be_set(errors);
        if paths.contains(path.text()) {
            path.invalid_as(errors, path.text(), "must be unique");
        }
        if !no_backsteps(path.text()).is_empty() {
            path.invalid(errors, "can not contain backsteps ('..')");
        } else {
            paths.insert(path.text());
        }
        if mount_names.contains(name.text()) {
            name.invalid(errors, "must not already exist in volumeMounts");
        }
        if mount_paths.contains(path.text()) {
            path.invalid(errors, "must not already exist as a path in volumeMounts");
        }
        names.insert(name.text());
    }
}
