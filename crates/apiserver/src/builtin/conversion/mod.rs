//! Conversion between the served versions of a built-in kind, for the few that differ in shape.
//!
//! Upstream: `pkg/apis/{events/v1,autoscaling/v1,resource/v1beta1,certificates/v1}/conversion.go`. All other kinds have the same
//! fields in every version that is served, which the tests check against the table of kinds.
//!
//! Objects are converted as they are, without defaults, so the same functions serve reads, writes and what a manager of fields
//! applied in another version.

mod autoscaling;
mod order;
mod resource;

use super::defaults::TEMPLATE_GENERATION;
use super::value::Object;
use serde_json::Value;

/// Rewrites an object of `apiVersion` `from` into the shape it has in `to`. Setting `apiVersion` is the caller's part.
pub(crate) fn convert(object: &mut Value, from: &str, to: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
    match (kind, from, to) {
        ("Event", "v1", "events.k8s.io/v1") => rename(fields, EVENT_FIELDS),
        ("Event", "events.k8s.io/v1", "v1") => {
            rename(fields, &EVENT_FIELDS.map(|(core, events)| (events, core)))
        }
        ("HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1") => autoscaling::to_first(fields),
        ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2") => autoscaling::from_first(fields),
        ("PodCertificateRequest", _, "certificates.k8s.io/v1") => {
            // The request that is signed says both.
            if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("pkixPublicKey");
                spec.remove("proofOfPossession");
            }
        }
        (_, FLAT_DEVICES, FLAT_DEVICES) => {}
        (_, FLAT_DEVICES, _) => resource::from_flat(kind_of(fields), fields),
        (_, _, FLAT_DEVICES) => resource::to_flat(kind_of(fields), fields),
        _ => {}
    }
}

/// The metadata of an object where it is shown alone. Annotations that a conversion makes are in the object of that version only:
/// upstream takes the metadata from what the version is made of.
pub(crate) fn shown_metadata(object: &Value) -> Value {
    let mut metadata = object
        .get("metadata")
        .cloned()
        .unwrap_or_else(|| Value::Object(Object::new()));
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let made: &[&str] = match (text("apiVersion"), text("kind")) {
        ("apps/v1", "DaemonSet") => &[TEMPLATE_GENERATION],
        ("autoscaling/v1", "HorizontalPodAutoscaler") => autoscaling::ANNOTATIONS,
        _ => &[],
    };
    if let Some(fields) = metadata.as_object_mut()
        && let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut)
        && !made.is_empty()
    {
        made.iter().for_each(|name| drop(annotations.remove(*name)));
        if annotations.is_empty() {
            fields.remove("annotations");
        }
    }
    metadata
}

/// The version whose requests for devices and devices are built differently.
const FLAT_DEVICES: &str = "resource.k8s.io/v1beta1";

fn kind_of(fields: &Object) -> resource::Kind {
    match fields.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "ResourceClaim" => resource::Kind::Claim,
        "ResourceClaimTemplate" => resource::Kind::Template,
        "ResourceSlice" => resource::Kind::Slice,
        _ => resource::Kind::Other,
    }
}

/// Fields of an Event: the name in the core group and the name in `events.k8s.io`.
const EVENT_FIELDS: &[(&str, &str); 7] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename(fields: &mut Object, names: &[(&str, &str)]) {
    for (old, new) in names {
        if let Some(value) = fields.remove(*old) {
            fields.insert((*new).to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests;
