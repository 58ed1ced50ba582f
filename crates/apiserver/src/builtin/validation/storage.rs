//! Persistent volumes and claims.
//!
//! Upstream: `ValidatePersistentVolumeSpec`, `ValidatePersistentVolumeClaimSpec` and their updates in
//! `pkg/apis/core/validation/validation.go`.

use super::super::value::{semantically_equal, str_at};
use super::diff::{diff, diff_part};
use super::field::{Errors, Field};
use super::metadata;
use super::names::{label, qualified_name, subdomain};
use super::pod::sources::{self, Place};
use super::pod::{check_selector, node_selector, node_selector_values};
use super::resources;
use kubewright_core::{FieldError, FieldPath, Quantity};
use serde_json::Value;

const ACCESS_MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: &[&str] = &["Block", "Filesystem"];

/// The sources of a persistent volume in upstream's order, and how a second one is spelt in the message.
const SOURCES: &[(&str, &str)] = &[
    ("hostPath", "hostPath"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("nfs", "nfs"),
    ("rbd", "rbd"),
    ("quobyte", "quobyte"),
    ("cephfs", "cephFS"),
    ("iscsi", "iscsi"),
    ("cinder", "cinder"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("scaleIO", "scaleIO"),
    ("local", "local"),
    ("storageos", "storageos"),
    ("csi", "csi"),
];

/// Checks a persistent volume: a new one, or one that is to replace `old`.
pub(crate) fn persistent_volume(volume: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if let Some(old) = old {
        return persistent_volume_update(volume, old);
    }
    let mut errors = volume_spec(volume);
    node_selector_values(
        &mut errors,
        &Field::of(volume, "spec").get("nodeAffinity").get("required"),
    );
    errors
}

fn volume_spec(volume: &Value) -> Vec<FieldError> {
    let spec = Field::of(volume, "spec");
    let mut errors = Errors::new();
    check_access_modes(&mut errors, &spec, "");
    check_capacity(&mut errors, &spec.get("capacity"));
    spec.get("persistentVolumeReclaimPolicy")
        .one_of(&mut errors, &["Delete", "Recycle", "Retain"]);
    let affinity = spec.get("nodeAffinity");
    if affinity.exists() {
        let required = affinity.get("required");
        if required.exists() {
            node_selector(&mut errors, &required);
        } else {
            required.required(&mut errors, "must specify required node constraints");
        }
    }
    check_volume(&mut errors, str_at(volume, "/metadata/name"), &spec);
    errors
}

/// Checks the volume of an attachment that is not stored for itself (`ValidatePersistentVolumeSpec` for inline volumes).
pub(crate) fn inline_volume(errors: &mut Errors, spec: &Field<'_, '_>) {
    const INLINE: &str = "may not be specified in the context of inline volumes";
    if spec.get("claimRef").exists() {
        spec.get("claimRef").forbidden(errors, INLINE);
    }
    if !spec.get("capacity").is_empty() {
        spec.get("capacity").forbidden(errors, INLINE);
    }
    if !spec.get("csi").exists() {
        let detail = "has to be specified in the context of inline volumes";
        spec.get("csi").required(errors, detail);
    }
    check_access_modes(errors, spec, "");
    let policy = spec.get("persistentVolumeReclaimPolicy");
    if !matches!(policy.text(), "" | "Retain") {
        policy.forbidden(errors, "may only be Retain in the context of inline volumes");
    }
    if spec.get("nodeAffinity").exists() {
        spec.get("nodeAffinity").forbidden(errors, INLINE);
    }
    check_volume(errors, "", spec);
}

/// Checks what volumes have wherever they are written: a source, a class, a mode.
fn check_volume(errors: &mut Errors, name: &str, spec: &Field<'_, '_>) {
    check_sources(errors, name, spec);
    let policy = spec.get("persistentVolumeReclaimPolicy");
    let host_path = spec.get("hostPath");
    let host_path = host_path.get("path").text();
    let is_top = !host_path.is_empty()
        && host_path.starts_with('/')
        && host_path.split('/').all(|segment| matches!(segment, "" | "."));
    if is_top && policy.text() == "Recycle" {
        policy.forbidden(errors, "may not be 'recycle' for a hostPath mount of '/'");
    }
    spec.get("storageClassName").checked_if_set(errors, subdomain);
    spec.get("volumeMode").one_of(errors, VOLUME_MODES);
    let class = spec.get("volumeAttributesClassName");
    if class.exists() {
        if class.text().is_empty() {
            class.required(errors, "an empty string is disallowed");
        } else {
            class.checked(errors, subdomain);
        }
        if !spec.get("csi").exists() {
            let detail = "has to be specified when using volumeAttributesClassName";
            spec.get("csi").required(errors, detail);
        }
    }
}

fn check_capacity(errors: &mut Errors, capacity: &Field<'_, '_>) {
    if capacity.is_empty() {
        capacity.required(errors, "");
    }
    if !capacity.key("storage").exists() || capacity.len() > 1 {
        errors.push(FieldError::not_supported(
            capacity.path(),
            capacity.value.clone(),
            &["storage"],
        ));
    }
    for (_, amount) in capacity.entries() {
        check_not_below_zero(errors, &amount);
        resources::check_positive(errors, &amount);
    }
}

/// `validateBasicResource` upstream.
fn check_not_below_zero(errors: &mut Errors, at: &Field<'_, '_>) {
    if let Some(units) = at.quantity().map(|amount| amount.to_units_rounded_up())
        && units < 0
    {
        at.invalid_as(errors, units, "must be a valid resource quantity");
    }
}

fn check_sources(errors: &mut Errors, name: &str, spec: &Field<'_, '_>) {
    let mut given = SOURCES.iter().filter(|(source, _)| spec.get(source).exists());
    let Some((first, _)) = given.next() else {
        spec.required(errors, "must specify a volume type");
        return;
    };
    let place = Place::Persistent(name);
    sources::check(errors, spec, first, place);
    if *first == "local" && !spec.get("nodeAffinity").exists() {
        let detail = "Local volume requires node affinity";
        spec.get("nodeAffinity").required(errors, detail);
    }
    for (_, shown) in given {
        spec.get(shown)
            .forbidden(errors, "may not specify more than 1 volume type");
    }
}

fn check_access_modes(errors: &mut Errors, spec: &Field<'_, '_>, missing: &str) {
    let modes = spec.get("accessModes");
    if modes.is_empty() {
        modes.required(errors, missing);
    }
    for mode in modes.texts().filter(|mode| !ACCESS_MODES.contains(mode)) {
        errors.push(FieldError::not_supported(modes.path(), mode, ACCESS_MODES));
    }
    let is_exclusive = |mode: &&str| *mode == "ReadWriteOncePod";
    let is_shared = |mode: &&str| !is_exclusive(mode) && ACCESS_MODES.contains(mode);
    if modes.texts().any(|mode| is_exclusive(&mode)) && modes.texts().any(|mode| is_shared(&mode)) {
        modes.forbidden(errors, "may not use ReadWriteOncePod with other access modes");
    }
}

fn persistent_volume_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new_spec, old_spec) = (Field::of(new, "spec"), Field::of(old, "spec"));
    let mut errors = volume_spec(new);
    let required = |spec: &Field<'_, '_>| {
        let mut errors = Errors::new();
        node_selector_values(&mut errors, &spec.get("nodeAffinity").get("required"));
        errors
    };
    if required(&old_spec).is_empty() {
        errors.extend(required(&new_spec));
    }
    let (new_source, old_source) = (source(new), source(old));
    let mut compared = new_source;
    if old_source["csi"].is_object()
        && old_source["csi"]["controllerExpandSecretRef"].is_null()
        && let Some(csi) = compared.get_mut("csi").and_then(Value::as_object_mut)
    {
        // The secret of a volume may be added later.
        csi.remove("controllerExpandSecretRef");
    }
    if !semantically_equal(Some(&compared), Some(&old_source)) {
        let detail = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            diff_part(
                "io.k8s.api.core.v1.PersistentVolumeSpec",
                "PersistentVolumeSource",
                &old_source,
                &compared
            )
        );
        errors.push(FieldError::forbidden(
            FieldPath::new("spec.persistentvolumesource"),
            detail,
        ));
    }
    immutable_mode(&mut errors, &new_spec, &old_spec);
    let affinity = old_spec.get("nodeAffinity");
    if affinity.exists() && !same_but_for_stable_labels(&new_spec.get("nodeAffinity"), &affinity) {
        errors.push(FieldError::invalid(
            FieldPath::new("nodeAffinity"),
            new_spec.get("nodeAffinity").value.clone(),
            "field is immutable, except for updating from beta label to GA",
        ));
    }
    let class = new_spec.get("volumeAttributesClassName");
    if old_spec.get("volumeAttributesClassName").exists() && !class.exists() {
        class.forbidden(&mut errors, "update from non-nil value to nil is forbidden");
    }
    errors
}

/// Upstream leaves `spec` out of this path.
fn immutable_mode(errors: &mut Errors, new: &Field<'_, '_>, old: &Field<'_, '_>) {
    let mode = new.get("volumeMode");
    Field::root("volumeMode", mode.value).immutable(errors, &old.get("volumeMode"));
}

fn source(volume: &Value) -> Value {
    let spec = volume["spec"].as_object().into_iter().flatten();
    spec.filter(|(field, value)| SOURCES.iter().any(|(source, _)| source == field) && !value.is_null())
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

/// Labels of nodes and the names they have since they are stable.
const STABLE_LABELS: &[(&str, &str)] = &[
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    (
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ),
];

/// A volume's nodes are fixed, but their labels may be said by the names that they have today.
fn same_but_for_stable_labels(new: &Field<'_, '_>, old: &Field<'_, '_>) -> bool {
    let mut old = old.value.clone();
    let new_terms = new.value.pointer("/required/nodeSelectorTerms");
    let old_terms = old
        .pointer_mut("/required/nodeSelectorTerms")
        .and_then(Value::as_array_mut);
    for (term_at, term) in old_terms.into_iter().flatten().enumerate() {
        for list in ["matchExpressions", "matchFields"] {
            let expressions = term.get_mut(list).and_then(Value::as_array_mut);
            for (at, expression) in expressions.into_iter().flatten().enumerate() {
                let new_key = new_terms.map(|terms| terms[term_at][list][at]["key"].clone());
                let renamed = STABLE_LABELS.iter().any(|(beta, stable)| {
                    expression["key"] == *beta && new_key.as_ref() == Some(&(*stable).into())
                });
                if renamed && let Some(key) = new_key {
                    expression["key"] = key;
                }
            }
        }
    }
    semantically_equal(Some(new.value), Some(&old))
}

/// Checks a claim: a new one, or one that is to replace `old`.
pub(crate) fn persistent_volume_claim(claim: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if let Some(old) = old {
        return persistent_volume_claim_update(claim, old);
    }
    let mut errors = Errors::new();
    check_claim_spec(&mut errors, &Field::of(claim, "spec"), References::Strict);
    errors
}

/// Whether groups in references to sources of data must be domains. Those of claims that had one before need not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum References {
    Strict,
    Lenient,
}

/// Checks the template of the claim that an ephemeral volume makes (`ValidatePersistentVolumeClaimTemplate`).
pub(super) fn check_claim_template(errors: &mut Errors, template: &Field<'_, '_>) {
    let meta = template.get("metadata");
    let (labels, annotations) = (meta.get("labels"), meta.get("annotations"));
    metadata::annotations(errors, annotations.value, "", &annotations.path());
    metadata::labels(errors, labels.value, "", &labels.path());
    for (field, _) in meta.entries() {
        let field = meta.get(field);
        if field.is_set()
            && !matches!(
                field.path().as_str().rsplit('.').next(),
                Some("labels" | "annotations")
            )
        {
            field.forbidden(errors, "cannot be set");
        }
    }
    check_claim_spec(errors, &template.get("spec"), References::Strict);
}

fn check_claim_spec(errors: &mut Errors, spec: &Field<'_, '_>, references: References) {
    let modes = spec.get("accessModes");
    if modes.is_empty() {
        modes.required(errors, "at least 1 access mode is required");
    }
    check_selector(errors, &spec.get("selector"));
    if !modes.is_empty() {
        check_access_modes(errors, spec, "");
    }
    let resources = spec.get("resources");
    let requests = resources.get("requests");
    // Upstream leaves the list out of this path.
    let shown = resources.key("storage");
    let storage = shown.with(requests.key("storage").value);
    if !storage.exists() {
        storage.required(errors, "");
    } else {
        resources::check_positive(errors, &storage);
    }
    spec.get("storageClassName").checked_if_set(errors, subdomain);
    spec.get("volumeMode").one_of(errors, VOLUME_MODES);
    check_data_sources(errors, spec, references);
    spec.get("volumeAttributesClassName")
        .checked_if_set(errors, subdomain);
}

/// Where the first content of a volume comes from (KEP-1495, KEP-3294).
fn check_data_sources(errors: &mut Errors, spec: &Field<'_, '_>, references: References) {
    let (local, any) = (spec.get("dataSource"), spec.get("dataSourceRef"));
    for source in [&local, &any] {
        if !source.exists() {
            continue;
        }
        let (kind, group) = (source.get("kind"), source.get("apiGroup"));
        source.get("name").must_be_set(errors);
        kind.must_be_set(errors);
        if !group.is_set() && kind.text() != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            source.invalid_as(errors, kind.text(), detail);
        }
        if references == References::Strict {
            group.checked_if_set(errors, subdomain);
        }
    }
    any.get("namespace").checked_if_set(errors, label);
    if !local.exists() || !any.exists() {
        return;
    }
    let detail = if any.get("namespace").is_set() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|field| local.get(field).value != any.get(field).value)
    {
        "must match dataSourceRef"
    } else {
        return;
    };
    // Upstream gives the path of a field as the value that is wrong, which prints as an empty object.
    spec.invalid_as(errors, Value::Object(serde_json::Map::new()), detail);
}

/// The annotation that was the storage class before there was a field.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// A claim is fixed, except that it may be bound, grow once bound, and change its attributes class.
fn persistent_volume_claim_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let (new_spec, old_spec) = (Field::of(new, "spec"), Field::of(old, "spec"));
    let had_group = ["dataSource", "dataSourceRef"]
        .iter()
        .any(|source| old_spec.get(source).get("apiGroup").exists());
    let references = if had_group {
        References::Lenient
    } else {
        References::Strict
    };
    check_claim_spec(&mut errors, &new_spec, references);
    let munged = munged_claim_spec(&mut errors, new, old);
    let mut fixed = old_spec.value.clone();
    let bound_to = new_spec.get("volumeName");
    if !old_spec.get("volumeName").is_set()
        && bound_to.is_set()
        && let Some(fixed) = fixed.as_object_mut()
    {
        fixed.insert("volumeName".to_owned(), bound_to.value.clone());
    }
    if !semantically_equal(Some(&munged), Some(&fixed)) {
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{}",
            diff("io.k8s.api.core.v1.PersistentVolumeClaimSpec", &fixed, &munged)
        );
        errors.push(FieldError::forbidden(FieldPath::new("spec"), detail));
    }
    let size = |claim: &Value, pointer: &str| {
        claim
            .pointer(pointer)
            .and_then(super::field::quantity)
            .unwrap_or_else(|| Quantity::from_units(0))
    };
    let requested = "/spec/resources/requests/storage";
    let (after, before) = (size(new, requested), size(old, requested));
    if after < before && after <= size(old, "/status/capacity/storage") {
        errors.push(FieldError::forbidden(
            FieldPath::new("spec.resources.requests.storage"),
            "field can not be less than status.capacity",
        ));
    }
    immutable_mode(&mut errors, &new_spec, &old_spec);
    check_attributes_class(&mut errors, &new_spec, old);
    errors
}

/// The new specification with what may change set back to what it was.
fn munged_claim_spec(errors: &mut Errors, new: &Value, old: &Value) -> Value {
    let mut munged = new["spec"].clone();
    let (old_spec, new_class) = (&old["spec"], new["spec"]["storageClassName"].as_str());
    let annotation = |claim: &Value| {
        claim["metadata"]["annotations"]
            .get(BETA_CLASS)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let (old_annotation, new_annotation) = (annotation(old), annotation(new));
    let had_none = old_spec["storageClassName"].is_null();
    let moved = had_none
        && old_annotation.is_some()
        && new_class == old_annotation.as_deref()
        && (new_annotation.is_none() || new_annotation == old_annotation);
    let is_bound = str_at(new, "/status/phase") == "Bound";
    if !moved && new_annotation != old_annotation {
        let path = FieldPath::new("metadata").child("annotations").child(BETA_CLASS);
        let value = new_annotation.unwrap_or_default();
        errors.push(FieldError::invalid(path, value, super::IMMUTABLE));
    }
    let Some(fields) = munged.as_object_mut() else {
        return munged;
    };
    // A class that was only an annotation, or a default class that came later (KEP-3333), is filled in.
    let filled_in = had_none
        && new_class.is_some()
        && (old_annotation.is_none() || old_annotation.as_deref() == new_class);
    if moved || filled_in {
        fields.remove("storageClassName");
    }
    if is_bound {
        match old_spec.get("volumeAttributesClassName") {
            Some(class) => fields.insert("volumeAttributesClassName".to_owned(), class.clone()),
            None => fields.remove("volumeAttributesClassName"),
        };
        let requests = fields
            .get_mut("resources")
            .and_then(|resources| resources.get_mut("requests"))
            .and_then(Value::as_object_mut);
        if let Some(requests) = requests {
            requests.insert(
                "storage".to_owned(),
                old_spec["resources"]["requests"]["storage"].clone(),
            );
        }
    }
    munged
}

fn check_attributes_class(errors: &mut Errors, spec: &Field<'_, '_>, old: &Value) {
    let class = spec.get("volumeAttributesClassName");
    let changed = class.value != Field::of(old, "spec").get("volumeAttributesClassName").value;
    if !changed || old["status"]["currentVolumeAttributesClassName"].is_null() {
        return;
    }
    const WHEN: &str = "is forbidden when status.currentVolumeAttributesClassName is not nil";
    if !class.exists() {
        class.forbidden(errors, format!("update to nil {WHEN}"));
    } else if class.text().is_empty() {
        class.forbidden(errors, format!("update to empty string {WHEN}"));
    }
}

const RESIZE_STATUSES: &[&str] = &[
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// Checks the status that a controller reports about a claim (`ValidatePersistentVolumeClaimStatusUpdate`).
pub(crate) fn persistent_volume_claim_status(new: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    if Field::of(new, "spec").get("accessModes").is_empty() {
        errors.push(FieldError::required(FieldPath::new("Spec.accessModes"), ""));
    }
    let status = Field::of(new, "status");
    for (_, amount) in status.get("capacity").entries() {
        check_not_below_zero(&mut errors, &amount);
    }
    let statuses = status.get("allocatedResourceStatuses");
    for (name, entry) in statuses.entries() {
        check_claim_resource(&mut errors, &statuses, name);
        if !RESIZE_STATUSES.contains(&entry.text()) {
            errors.push(FieldError::not_supported(statuses.path(), name, RESIZE_STATUSES));
        }
    }
    let allocated = status.get("allocatedResources");
    for (name, amount) in allocated.entries() {
        if check_claim_resource(&mut errors, &allocated, name) {
            check_not_below_zero(&mut errors, &amount);
        }
    }
    errors
}

/// A claim has storage, and whatever others define.
fn check_claim_resource(errors: &mut Errors, at: &Field<'_, '_>, name: &str) -> bool {
    let messages = qualified_name(name);
    let is_qualified = messages.is_empty();
    for message in messages {
        at.invalid_as(errors, name, message);
    }
    let is_foreign = is_qualified && resources::is_native(name) && name != "storage";
    if is_foreign {
        errors.push(FieldError::not_supported(at.path(), name, &["storage"]));
    }
    is_qualified && !is_foreign
}
