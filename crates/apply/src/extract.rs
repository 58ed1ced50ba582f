//! What an applier owns, read back from an object.

use kubewright_core::{Applicable, StaticResource};
use kubewright_smd::managed::DecodeError;
use kubewright_smd::manager;
use kubewright_smd::types::TypeRef;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why [`extract()`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The kind is no built-in one, so it is not known which lists are owned item by item.
    #[error("{kind} of {group}/{version} is no built-in kind")]
    UnknownKind {
        /// The group.
        group: &'static str,
        /// The version.
        version: &'static str,
        /// The kind.
        kind: &'static str,
    },
    /// The entries in `metadata.managedFields` cannot be read.
    #[error("who owns the fields of {name} cannot be read")]
    ManagedFields {
        /// The object's name.
        name: String,
        /// What is wrong with them.
        #[source]
        source: DecodeError,
    },
    /// The object or what was taken from it has no such form.
    #[error("{name} cannot be converted")]
    Convert {
        /// The object's name.
        name: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// The fields of a live object that a field manager has applied, as client-go's `Extract` functions give them
/// (`applyconfigurations/internal`): to be changed and applied again, so that a controller need not keep what it has applied before. `None` if
/// the manager has applied nothing.
///
/// `subresource` is the one through which it applied, such as `status`; `None` for the object itself. What was set by updates and other
/// patches belongs to nobody's apply and is not in the result. The object must be as the server gave it, in the version in which it was applied.
///
/// # Errors
///
/// [`ExtractError::UnknownKind`] for kinds that are not built in: [`kubewright_smd::manager::extract`] takes their types from a schema.
pub fn extract<K, A>(
    object: &K,
    field_manager: &str,
    subresource: Option<&str>,
) -> Result<Option<A>, ExtractError>
where
    K: StaticResource + Serialize,
    A: Applicable<K> + DeserializeOwned,
{
    let ty = TypeRef::kind(K::GROUP, K::VERSION, K::KIND).ok_or(ExtractError::UnknownKind {
        group: K::GROUP,
        version: K::VERSION,
        kind: K::KIND,
    })?;
    let name = || object.name().to_owned();
    let convert = |source| ExtractError::Convert { name: name(), source };
    let live = serde_json::to_value(object).map_err(convert)?;
    let owned = manager::extract(&live, ty, field_manager, subresource.unwrap_or_default());
    let Some(mut owned) = owned.map_err(|source| ExtractError::ManagedFields { name: name(), source })?
    else {
        return Ok(None);
    };
    for key in ["name", "namespace"] {
        if let Value::String(value) = &live["metadata"][key] {
            owned["metadata"][key] = Value::String(value.clone());
        }
    }
    A::deserialize(owned).map(Some).map_err(convert)
}
