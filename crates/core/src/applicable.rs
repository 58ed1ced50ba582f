//! What can be applied as an object of which kind.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{DynamicObject, Resource};

/// A value that holds some fields of an object of kind `K`, for server-side apply.
///
/// The generated types of `kubewright-apply` implement it for their own kind, and every kind for itself. Applying the kind's own type
/// is sound if no field of it is written without having been set; otherwise it takes fields that nobody meant. For a kind of your own,
/// write a type with the fields that your controller sets and tie it to the kind:
///
/// ```
/// use kubewright_core::Applicable;
/// # use k8s_openapi::api::core::v1::ConfigMap;
///
/// #[derive(serde::Serialize)]
/// struct Labels {
///     // apiVersion, kind, metadata.labels
/// }
///
/// impl Applicable<ConfigMap> for Labels {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be applied as `{K}`",
    note = "give the kind's type from `kubewright-apply`, or wrap any JSON in `Untyped`"
)]
pub trait Applicable<K>: Serialize {}

impl<K: Serialize> Applicable<K> for K {}

impl Applicable<DynamicObject> for Value {}

/// Any JSON, which says itself of which kind it is: applied as it is, whatever the kind of the client.
///
/// ```
/// use kubewright_core::{Applicable, Untyped};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// fn apply(object: &impl Applicable<ConfigMap>) {}
///
/// apply(&Untyped(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "green"}})));
/// ```
///
/// Without it, the compiler asks for a type of the kind:
///
/// ```compile_fail
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// fn apply(object: &impl kubewright_core::Applicable<ConfigMap>) {}
///
/// apply(&serde_json::json!({"apiVersion": "v1", "kind": "Secret"}));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Untyped<T>(pub T);

impl<T: Serialize> Serialize for Untyped<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Untyped<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

impl<K: Resource, T: Serialize> Applicable<K> for Untyped<T> {}
