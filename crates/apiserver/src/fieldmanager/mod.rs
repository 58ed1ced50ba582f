//! Who owns which fields of an object: the field manager of one request.
//!
//! The algebra is `kubewright_smd`'s; here it is told what this server knows: the types and versions of a kind, what its
//! strategies reset, and who asks. Upstream: apiserver `pkg/endpoints/installer.go`, where each scope gets its field manager,
//! and `pkg/endpoints/handlers/create.go` `managerOrUserAgent`.

mod conversions;
mod reset_fields;
mod scale;
mod versions;

use std::sync::Arc;

use http::HeaderMap;
use http::header::USER_AGENT;
use jiff::Timestamp;
use kubewright_core::GroupVersionKind;
use kubewright_kinds as kinds;
use kubewright_smd::fields::ResetFields;
use kubewright_smd::managed::manager_name;
use kubewright_smd::manager::{FieldManager, Force, ManagerError, OneType};
use kubewright_smd::types::TypeRef;
use serde_json::Value;

pub(crate) use conversions::{Asked, Conversions};
pub(crate) use reset_fields::ResetFieldsOf;
pub(crate) use scale::ScaleOwners;
use versions::KindVersions;

use crate::registry::{Registry, Resource};

/// The field manager of a request to a resource or a subresource that is a part of its objects.
///
/// Objects are in the version of the request, as everywhere in the handlers.
pub(crate) struct Owners<'a> {
    versions: KindVersions<'a>,
    api_version: String,
    kind: &'a str,
    subresource: &'a str,
    reset_fields: &'a ResetFields,
    now: Timestamp,
    /// Who writes.
    name: String,
}

impl<'a> Owners<'a> {
    /// The field manager of a request to `subresource`, or to the object itself where that is empty. `given` is the name that
    /// the query has for who writes.
    pub(crate) fn new(
        resource: &'a Resource,
        registry: Arc<Registry>,
        conversions: &'a Conversions,
        subresource: &'a str,
        given: &str,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Self {
        Self {
            versions: KindVersions {
                resource,
                conversions,
                registry,
            },
            api_version: resource.api_version(),
            kind: &resource.kind,
            subresource,
            reset_fields: reset_fields::of(resource, subresource),
            now,
            name: who(given, headers),
        }
    }

    /// A new object with its managers.
    pub(crate) fn create(&self, new: Value) -> Value {
        self.manager().create_or_keep(new, &self.name)
    }

    /// An object after an update or a patch, with its managers.
    pub(crate) fn update(&self, live: &Value, new: Value) -> Value {
        self.manager().update_or_keep(live, new, &self.name)
    }

    /// What applying `config` makes of the object; of none where it is not there.
    ///
    /// # Errors
    /// Where others own the fields, or what is applied does not fit the type.
    pub(crate) fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        force: Force,
    ) -> Result<Value, ManagerError> {
        self.manager().apply(live, config, &self.name, force)
    }

    fn manager(&self) -> FieldManager<'_> {
        FieldManager {
            versions: &self.versions,
            api_version: &self.api_version,
            kind: self.kind,
            subresource: self.subresource,
            reset_fields: self.reset_fields,
            now: self.now,
        }
    }
}

/// An object that is answered and not stored, with its managers: of a kind that is not the resource's own, such as what is posted to
/// a subresource.
pub(crate) fn own_answer(
    gvk: &GroupVersionKind,
    subresource: &str,
    object: Value,
    given: &str,
    headers: &HeaderMap,
    now: Timestamp,
) -> Value {
    let api_version = gvk.api_version();
    let ty = kinds::table().kind(&gvk.group, &gvk.version, &gvk.kind);
    let versions = OneType {
        ty: ty.map_or(TypeRef::DEDUCED, TypeRef::from),
        api_versions: &[&api_version],
    };
    let manager = FieldManager {
        versions: &versions,
        api_version: &api_version,
        kind: &gvk.kind,
        subresource,
        reset_fields: &ResetFields::new(),
        now,
    };
    manager.create_or_keep(object, &who(given, headers))
}

/// Who writes: the name in the query, or else the product that sends the request.
fn who(given: &str, headers: &HeaderMap) -> String {
    let agent = headers
        .get(USER_AGENT)
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    manager_name(given, agent.as_deref().unwrap_or_default())
}
