//! What a manager applied, read back from an object.

use serde_json::Value;

use crate::managed::{DecodeError, Managed, ManagerId, Operation};
use crate::typed::extract_items;
use crate::types::TypeRef;

/// The part of an object that a manager applied: what client-go's `Extract` functions give (apimachinery
/// `pkg/util/managedfields/extract.go`). `None` if the manager has applied nothing.
///
/// Applying the result again changes nothing, so a controller can change its last configuration without keeping it.
/// It has `apiVersion` and `kind`, but no name: the caller knows that.
///
/// # Errors
/// Where the entries of the object cannot be read.
pub fn extract(
    object: &Value,
    ty: TypeRef<'_>,
    manager: &str,
    subresource: &str,
) -> Result<Option<Value>, DecodeError> {
    let entries = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"));
    let managed = Managed::decode(entries.unwrap_or(&Value::Null))?;
    let id = ManagerId::new(manager, Operation::Apply, "", subresource);
    let Some(owned) = managed.managers.get(&id) else {
        return Ok(None);
    };
    let mut extracted = extract_items(object, &owned.set.leaves(), ty);
    if !extracted.is_object() {
        extracted = Value::Object(serde_json::Map::new());
    }
    for name in ["apiVersion", "kind"] {
        if let Some(value) = object.get(name) {
            extracted[name] = value.clone();
        }
    }
    Ok(Some(extracted))
}
