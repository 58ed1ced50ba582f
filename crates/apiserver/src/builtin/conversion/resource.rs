//! `resource.k8s.io/v1beta1`, where a request for devices holds its details itself and a device keeps them in `basic`.
//!
//! Upstream: `pkg/apis/resource/v1beta1/conversion.go`.

use super::super::value::{Object, is_zero};
use serde_json::Value;

/// Kinds with devices in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Claim,
    Template,
    Slice,
    /// Without.
    Other,
}

/// Details of a request: fields of the request in this version, of its `exactly` in the others.
const EXACT: &[&str] = &[
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
];

/// Out of this version into another.
pub(super) fn from_flat(kind: Kind, fields: &mut Object) {
    for request in requests(kind, fields) {
        let mut exact = Object::new();
        for field in EXACT {
            if let Some(value) = request.remove(*field) {
                exact.insert((*field).to_owned(), value);
            }
        }
        if !exact.is_empty() {
            request.insert("exactly".to_owned(), exact.into());
        }
    }
    let Some(spec) = slice(kind, fields) else { return };
    for field in ["nodeName", "allNodes"] {
        // A pointer in the other versions, which the zero value stands for here.
        if spec.get(field).is_some_and(is_zero) {
            spec.remove(field);
        }
    }
    for device in devices(spec) {
        if let Some(Value::Object(basic)) = device.remove("basic") {
            device.extend(basic);
        }
    }
}

/// Out of another version into this one.
pub(super) fn to_flat(kind: Kind, fields: &mut Object) {
    for request in requests(kind, fields) {
        if let Some(Value::Object(exact)) = request.remove("exactly") {
            request.extend(exact);
        }
    }
    let Some(spec) = slice(kind, fields) else { return };
    for device in devices(spec) {
        let name = device.remove("name");
        let mut basic = std::mem::take(device);
        basic.retain(|_, value| !value.is_null());
        device.extend(name.map(|name| ("name".to_owned(), name)));
        device.insert("basic".to_owned(), basic.into());
    }
}

fn requests(kind: Kind, fields: &mut Object) -> impl Iterator<Item = &mut Object> {
    let spec = fields.get_mut("spec");
    let claim = match kind {
        Kind::Claim => spec,
        Kind::Template => spec.and_then(|spec| spec.get_mut("spec")),
        Kind::Slice | Kind::Other => None,
    };
    let requests = claim.and_then(|claim| claim.pointer_mut("/devices/requests"));
    objects(requests)
}

fn slice(kind: Kind, fields: &mut Object) -> Option<&mut Object> {
    fields
        .get_mut("spec")
        .filter(|_| kind == Kind::Slice)?
        .as_object_mut()
}

fn devices(spec: &mut Object) -> impl Iterator<Item = &mut Object> {
    let devices = spec.get_mut("devices");
    objects(devices)
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Object> {
    let items = list.and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}
