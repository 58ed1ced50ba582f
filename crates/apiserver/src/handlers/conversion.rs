//! Objects between the version they are stored in and the one they are served in.

use serde_json::Value;

use crate::builtin::conversion;
use crate::registry::Resource;

/// An object as it is stored, in the served version.
pub(crate) fn from_storage(resource: &Resource, mut object: Value) -> Value {
    if let Some(model) = resource.model.custom() {
        model.read(&mut object, &resource.api_version());
        return object;
    }
    if resource.is_storage_version() {
        return object;
    }
    convert(object, &resource.storage_api_version(), &resource.api_version())
}

/// An object in the served version, as it is to be stored.
pub(crate) fn to_storage(resource: &Resource, mut object: Value) -> Value {
    if let Some(model) = resource.model.custom() {
        model.write(&mut object, &resource.storage_api_version());
        return object;
    }
    if resource.is_storage_version() {
        return object;
    }
    convert(object, &resource.api_version(), &resource.storage_api_version())
}

fn convert(mut object: Value, from: &str, to: &str) -> Value {
    conversion::convert(&mut object, from, to);
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".into(), to.into());
    }
    object
}
