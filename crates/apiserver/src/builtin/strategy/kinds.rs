//! Preparation of the kinds that need a few lines each.

use super::super::defaults::TEMPLATE_GENERATION;
use super::super::value::{Object, at, child, is_nil, list_at, semantically_equal, str_at, str_in};
use super::{Context, restore};
use kubewright_core::FieldError;
use serde_json::{Value, json};

/// The finalizer in `spec.finalizers` that the namespace controller removes when the namespace is empty.
const NAMESPACE_FINALIZER: &str = "kubernetes";

/// Upstream: `pkg/registry/core/namespace/strategy.go`. Only `/finalize` changes the finalizers of the specification.
pub(super) fn namespace(namespace: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    let name = str_at(namespace, "/metadata/name").to_owned();
    let Some(fields) = namespace.as_object_mut() else {
        return Vec::new();
    };
    if let Some(labels) = child(fields, "metadata").and_then(|metadata| child(metadata, "labels")) {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
    let Some(spec) = child(fields, "spec") else {
        return Vec::new();
    };
    let mut finalizers = match old {
        Some(old) => list_at(old, "/spec/finalizers").to_vec(),
        None => spec
            .get("finalizers")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
    };
    if old.is_none()
        && !finalizers
            .iter()
            .any(|finalizer| finalizer == NAMESPACE_FINALIZER)
    {
        finalizers.push(NAMESPACE_FINALIZER.into());
    }
    if finalizers.is_empty() {
        spec.remove("finalizers");
    } else {
        spec.insert("finalizers".to_owned(), finalizers.into());
    }
    Vec::new()
}

/// What a kubelet says of its configuration is no longer taken from who creates its node (`dropDisabledFields` in
/// `pkg/registry/core/node/strategy.go`).
pub(super) fn node(node: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    if let Some(status) = node.get_mut("status").and_then(Value::as_object_mut)
        && old.is_none()
    {
        status.remove("config");
    }
    Vec::new()
}

/// The status of a persistent volume begins with a time.
pub(super) fn persistent_volume(
    volume: &mut Value,
    old: Option<&Value>,
    context: &mut Context<'_>,
) -> Vec<FieldError> {
    if let Some(status) = volume.as_object_mut().and_then(|volume| child(volume, "status"))
        && old.is_none()
    {
        status.insert("lastPhaseTransitionTime".to_owned(), context.now.into());
    }
    Vec::new()
}

/// `dataSource` and `dataSourceRef` are kept equal (`EnforceDataSourceBackwardsCompatibility` and `NormalizeDataSources` in
/// `pkg/api/persistentvolumeclaim/util.go`).
pub(super) fn persistent_volume_claim(
    claim: &mut Value,
    old: Option<&Value>,
    _: &mut Context<'_>,
) -> Vec<FieldError> {
    let had = |source: &str| old.is_some_and(|old| !old["spec"][source].is_null());
    let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) else {
        return Vec::new();
    };
    let is_elsewhere = |spec: &Object| {
        let reference = spec.get("dataSourceRef");
        reference.is_some_and(|reference| !str_at(reference, "/namespace").is_empty())
    };
    // Sources in other namespaces are behind a feature gate that is off.
    if is_elsewhere(spec) && !had("dataSourceRef") {
        spec.remove("dataSourceRef");
    }
    let had_any = had("dataSource") || had("dataSourceRef");
    if !had_any && is_nil(spec, "dataSourceRef") && !spec.get("dataSource").is_some_and(is_claim_or_snapshot)
    {
        // Whoever named another kind in the older field was always given an empty volume.
        spec.remove("dataSource");
    }
    match (is_nil(spec, "dataSource"), is_nil(spec, "dataSourceRef")) {
        (false, true) => mirror(spec, "dataSource", "dataSourceRef"),
        (true, false) if !is_elsewhere(spec) => {
            mirror(spec, "dataSourceRef", "dataSource");
            if let Some(source) = child(spec, "dataSource") {
                source.remove("namespace");
            }
        }
        _ => {}
    }
    Vec::new()
}

fn is_claim_or_snapshot(source: &Value) -> bool {
    matches!(
        (str_at(source, "/apiGroup"), str_at(source, "/kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

fn mirror(spec: &mut Object, from: &str, to: &str) {
    if let Some(value) = spec.get(from).cloned() {
        spec.insert(to.to_owned(), value);
    }
}

/// What an autoscaler measures is a list from the start, if one of nothing, in the version that has it.
pub(super) fn autoscaler(
    autoscaler: &mut Value,
    old: Option<&Value>,
    _: &mut Context<'_>,
) -> Vec<FieldError> {
    if old.is_none() && autoscaler["apiVersion"] == "autoscaling/v2" {
        autoscaler["status"]["currentMetrics"] = Value::Null;
    }
    Vec::new()
}

/// Who asks for a certificate is recorded by the server, and the request never changes
/// (`pkg/registry/certificates/certificates/strategy.go`).
pub(super) fn signing_request(
    request: &mut Value,
    old: Option<&Value>,
    context: &mut Context<'_>,
) -> Vec<FieldError> {
    if let Some(old) = old {
        restore(request, old, "spec");
        return Vec::new();
    }
    let requester = context.requester;
    let Some(spec) = request.as_object_mut().and_then(|request| child(request, "spec")) else {
        return Vec::new();
    };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    for (field, text) in [("username", requester.username), ("uid", requester.uid)] {
        if !text.is_empty() {
            spec.insert(field.to_owned(), text.into());
        }
    }
    if !requester.groups.is_empty() {
        spec.insert("groups".to_owned(), requester.groups.into());
    }
    if !requester.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(requester.extra));
    }
    Vec::new()
}

/// Of the secrets that a service account names, only the names count.
pub(super) fn service_account(
    account: &mut Value,
    _: Option<&Value>,
    _: &mut Context<'_>,
) -> Vec<FieldError> {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten() {
        *secret = json!({"name": str_at(secret, "/name")});
    }
    Vec::new()
}

/// A version that objects are stored in counts as stored from then on, until somebody who migrated them says otherwise.
pub(super) fn custom_resource_definition(
    definition: &mut Value,
    old: Option<&Value>,
    _: &mut Context<'_>,
) -> Vec<FieldError> {
    let versions = list_at(definition, "/spec/versions");
    let stored = versions.iter().find(|version| version["storage"] == true);
    let Some(stored) = stored
        .and_then(|version| version["name"].as_str())
        .map(str::to_owned)
    else {
        return Vec::new();
    };
    let Some(fields) = definition.as_object_mut() else {
        return Vec::new();
    };
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if let Some(status) = status.as_object_mut() {
        // Go writes the names although nobody has accepted any yet.
        status
            .entry("acceptedNames")
            .or_insert_with(|| json!({"kind": "", "plural": ""}));
        if old.is_none() {
            status.insert("conditions".to_owned(), Value::Null);
        }
        match status.get_mut("storedVersions").and_then(Value::as_array_mut) {
            Some(known) if known.iter().any(|version| *version == stored) => {}
            Some(known) => known.push(stored.into()),
            None => {
                status.insert("storedVersions".to_owned(), json!([stored]));
            }
        }
    }
    Vec::new()
}

/// Taints of devices carry the time at which they came (`SetDefaults_DeviceTaint` in `pkg/apis/resource/v1`).
pub(super) fn resource_slice(
    slice: &mut Value,
    _: Option<&Value>,
    context: &mut Context<'_>,
) -> Vec<FieldError> {
    let devices = slice.pointer_mut("/spec/devices").and_then(Value::as_array_mut);
    for device in devices.into_iter().flatten() {
        let taints = device.get_mut("taints").and_then(Value::as_array_mut);
        for taint in taints.into_iter().flatten().filter_map(Value::as_object_mut) {
            stamp(taint, context.now);
        }
    }
    Vec::new()
}

/// As [`resource_slice`], for the taint of a rule.
pub(super) fn device_taint_rule(
    rule: &mut Value,
    _: Option<&Value>,
    context: &mut Context<'_>,
) -> Vec<FieldError> {
    if let Some(taint) = rule.pointer_mut("/spec/taint").and_then(Value::as_object_mut) {
        stamp(taint, context.now);
    }
    Vec::new()
}

fn stamp(taint: &mut Object, now: &str) {
    if str_in(taint, "timeAdded").is_empty() {
        taint.insert("timeAdded".to_owned(), now.into());
    }
}

/// A service without a backend is served by this process, so it is available from the start.
pub(super) fn api_service(service: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    if old.is_none()
        && at(service, "/spec/service").is_none()
        && let Some(status) = service
            .as_object_mut()
            .and_then(|service| child(service, "status"))
    {
        let condition = json!([{
            "type": "Available",
            "status": "True",
            "lastTransitionTime": null,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }]);
        status.insert("conditions".to_owned(), condition);
    }
    Vec::new()
}

/// Counts changes of the template of a daemon set.
pub(super) fn daemon_set(set: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    let number = old.map_or(1, |old| {
        let before: i64 = old["metadata"]["annotations"][TEMPLATE_GENERATION]
            .as_str()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let template = "/spec/template";
        let changed = !semantically_equal(set.pointer(template), old.pointer(template));
        before.saturating_add(i64::from(changed))
    });
    if let Some(annotations) = set
        .as_object_mut()
        .and_then(|set| child(set, "metadata"))
        .and_then(|metadata| child(metadata, "annotations"))
    {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), number.to_string().into());
    }
    Vec::new()
}
