//! One resource in one version, as it is served.

use std::fmt;

use kubewright_core::{GroupKind, GroupResource, GroupVersionKind, Scope};
use serde_json::Value;

use super::Model;
use crate::builtin::connect::Connection;
use crate::builtin::strategy::Strategy;
use crate::fieldmanager::ResetFieldsOf;
use crate::storage::{Key, KeyPrefix, StoredObject};
use crate::table::Printer;

/// A resource in one version: a row of the registry.
///
/// Built-in and custom resources differ in their [`Model`] and [`Strategy`] alone; handlers do not ask which one it is.
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) scope: Scope,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// In alphabetical order.
    pub(crate) verbs: Vec<String>,
    /// By name.
    pub(crate) subresources: Vec<Subresource>,
    /// How objects are stored where that is not how they are served: never the group and version of this resource, as
    /// [`is_storage_version`](Self::is_storage_version) relies on.
    pub(crate) stored_as: Option<StoredAs>,
    /// What objects look like.
    pub(crate) model: Model,
    /// What happens to objects on their way in.
    pub(crate) strategy: &'static Strategy,
    /// What requests do not write of them, whatever they say.
    pub(crate) reset_fields: ResetFieldsOf,
    /// How objects are printed.
    pub(crate) printer: Printer,
    /// What clients are warned of on every request: the version is deprecated.
    pub(crate) deprecation: Option<String>,
}

/// Another group or version that objects are stored in. Two resources may share one storage, as the Events of the core group and of
/// `events.k8s.io` do.
#[derive(Clone, Debug)]
pub(crate) struct StoredAs {
    pub(crate) group: String,
    pub(crate) version: String,
}

/// Something below an object's path.
#[derive(Clone, Debug)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    /// Group, version and kind of what is read and written there.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// In alphabetical order.
    pub(crate) verbs: Vec<String>,
    pub(crate) behaviour: SubresourceKind,
}

/// What a subresource does.
#[derive(Clone, Debug)]
pub(crate) enum SubresourceKind {
    /// The object itself, of which a write changes a part only: the [`Strategy`] knows which.
    Part,
    /// The number of replicas, as `autoscaling/v1` `Scale`.
    Scale(ScalePaths),
    /// The node of a pod, as `v1` `Binding`.
    Binding,
    /// The end of a pod by leave of its disruption budget, as `policy/v1` `Eviction`.
    Eviction,
    /// A token of a service account, as `authentication.k8s.io/v1` `TokenRequest`.
    Token,
    /// What runs on a node, or is reached through it.
    Connect(Connection),
}

/// Where a kind keeps what a `Scale` shows: paths of field names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    /// Where the selector is: an object (`metav1.LabelSelector`), a map of labels or its text.
    pub(crate) selector: Option<Vec<String>>,
}

impl Subresource {
    /// Whether it is something that is done: what is sent is of a kind that nothing is stored of, and has no table.
    pub(crate) fn is_act(&self) -> bool {
        use SubresourceKind::{Binding, Eviction, Token};
        matches!(self.behaviour, Binding | Eviction | Token)
    }
}

impl Resource {
    /// What stands in `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        join(&self.group, &self.version)
    }

    /// The group that objects are stored in.
    pub(crate) fn storage_group(&self) -> &str {
        self.stored_as.as_ref().map_or(&self.group, |other| &other.group)
    }

    /// The version that objects are stored in.
    pub(crate) fn storage_version(&self) -> &str {
        self.stored_as
            .as_ref()
            .map_or(&self.version, |other| &other.version)
    }

    /// What stands in `apiVersion` of stored objects.
    pub(crate) fn storage_api_version(&self) -> String {
        join(self.storage_group(), self.storage_version())
    }

    /// Whether objects are stored in the version that is served here, so that their bytes can be sent as they are.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.stored_as.is_none()
    }

    /// Whether the stored bytes of an object are what [is served](Self::is_storage_version) of it now.
    pub(crate) fn is_current(&self, object: &StoredObject) -> bool {
        let custom = self.model.custom();
        custom.is_none_or(|model| model.is_current(object.revision()))
    }

    /// Group, version and kind of objects.
    pub(crate) fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, &self.version, &self.kind)
    }

    /// The group and plural, for messages.
    pub(crate) fn group_resource(&self) -> GroupResource {
        GroupResource::new(&self.group, &self.plural)
    }

    /// The kind as refusals name it: one that is kept as an object of another group is known by that.
    pub(crate) fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.storage_group(), &self.kind)
    }

    /// The key of an object; the namespace counts only for namespaced resources.
    pub(crate) fn key(&self, namespace: Option<&str>, name: &str) -> Key {
        Key::new(self.storage_group(), &self.plural, self.within(namespace), name)
    }

    /// Where upstream keeps the object in etcd, which some of its messages tell.
    pub(crate) fn etcd_key(&self, namespace: Option<&str>, name: &str) -> String {
        let of = match (self.storage_group(), self.plural.as_str()) {
            ("", "nodes") => "minions".to_owned(),
            ("", "services") => "services/specs".to_owned(),
            ("", "endpoints") => "services/endpoints".to_owned(),
            ("", "replicationcontrollers") => "controllers".to_owned(),
            ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
            (group @ ("apiextensions.k8s.io" | "apiregistration.k8s.io"), plural) => {
                format!("{group}/{plural}")
            }
            (group, plural) if self.model.custom().is_some() => format!("{group}/{plural}"),
            (_, plural) => plural.to_owned(),
        };
        match self.within(namespace) {
            Some(namespace) => format!("/registry/{of}/{namespace}/{name}"),
            None => format!("/registry/{of}/{name}"),
        }
    }

    /// The keys of a namespace's objects, or of all.
    pub(crate) fn prefix(&self, namespace: Option<&str>) -> KeyPrefix {
        match self.within(namespace) {
            Some(namespace) => KeyPrefix::namespace(self.storage_group(), &self.plural, namespace),
            None => KeyPrefix::resource(self.storage_group(), &self.plural),
        }
    }

    /// Whether objects are questions that are answered at once: what can only be created is never stored.
    pub(crate) fn is_review(&self) -> bool {
        self.verbs == ["create"]
    }

    /// Whether the verb is offered on the resource itself.
    pub(crate) fn offers(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    /// The subresource with a name.
    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }

    /// What field selectors may name.
    pub(crate) fn selectable_names(&self) -> Vec<&str> {
        let names = self.strategy.selectable.names();
        let Some(custom) = self.model.custom() else {
            return names.collect();
        };
        // A cluster's objects have no namespace to be selected by (apiextensions pkg/apiserver/conversion/converter.go).
        let is_namespaced = self.scope == Scope::Namespaced;
        let names = names.filter(|name| is_namespaced || *name != "metadata.namespace");
        let names = names.map(|name| -> &str { name });
        names.chain(custom.selectable_names()).collect()
    }

    /// What a selector by another field is told.
    pub(crate) fn refuse_field(&self, field: &str) -> String {
        if self.model.custom().is_some() {
            format!("field label not supported: {field}")
        } else {
            self.strategy.selectable.refuse(&self.gvk(), field)
        }
    }

    /// The value that a field selector compares; `None` when objects cannot be selected by the field.
    pub(crate) fn selectable_field(&self, object: &Value, field: &str) -> Option<String> {
        self.strategy
            .selectable_field(object, field)
            .or_else(|| self.model.selectable_field(object, field))
    }

    fn within<'a>(&self, namespace: Option<&'a str>) -> Option<&'a str> {
        namespace.filter(|_| self.scope == Scope::Namespaced)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({})", self.gvk())
    }
}

fn join(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
