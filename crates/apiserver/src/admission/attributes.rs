//! What admission knows of a request besides its object.

use kubewright_core::{DeleteOptions, GroupVersionKind, WriteOptions};
use kubewright_net::Identity;
use serde_json::{Map, Value, json};

use crate::handlers::Call;
use crate::registry::Resource;

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    /// The word in rules and reviews.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A request, as admission sees it (apiserver pkg/admission/attributes.go).
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a Resource,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// The kind of the object that was sent: that of the subresource, where it has one of its own.
    pub(crate) kind: GroupVersionKind,
    /// Empty for what is in none; a namespace counts as in itself.
    pub(crate) namespace: String,
    /// Empty where the server is to make one.
    pub(crate) name: String,
    /// The object as it is.
    pub(crate) old: Option<&'a Value>,
    /// The options of the request, as an object that says what it is.
    pub(crate) options: Value,
    pub(crate) is_dry_run: bool,
    pub(crate) identity: &'a Identity,
}

impl<'a> Attributes<'a> {
    /// Those of a call; `object` is the one that is sent, or that is deleted.
    pub(crate) fn new(
        call: &'a Call<'_>,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&'a Value>,
        options: Value,
    ) -> Self {
        let resource = &*call.resource;
        let name = object.and_then(|object| object["metadata"]["name"].as_str());
        let name = name.or(call.info.name.as_deref()).unwrap_or_default().to_owned();
        let namespace = if is_namespace(resource) {
            name.clone()
        } else {
            call.namespace().unwrap_or_default().to_owned()
        };
        let kind = resource.subresource(call.info.subresource).map_or_else(
            || resource.gvk(),
            |sub| GroupVersionKind::new(&sub.group, &sub.version, &sub.kind),
        );
        Self {
            operation,
            resource,
            subresource: call.info.subresource,
            kind,
            namespace,
            name,
            old,
            is_dry_run: options["dryRun"]
                .as_array()
                .is_some_and(|dry_run| !dry_run.is_empty()),
            options,
            identity: &call.identity,
        }
    }

    /// Whether the object is a namespace.
    pub(super) fn is_namespace(&self) -> bool {
        is_namespace(self.resource)
    }
}

fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

/// The options of a write as reviews have them: `kind` is `CreateOptions`, `UpdateOptions` or `PatchOptions`.
pub(crate) fn write_options(options: &WriteOptions, kind: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("kind".into(), kind.into());
    fields.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    if options.dry_run {
        fields.insert("dryRun".into(), json!(["All"]));
    }
    if options.force {
        fields.insert("force".into(), true.into());
    }
    if !options.field_manager.is_empty() {
        fields.insert("fieldManager".into(), options.field_manager.as_str().into());
    }
    if let Some(validation) = options.field_validation {
        fields.insert("fieldValidation".into(), validation.as_str().into());
    }
    Value::Object(fields)
}

/// The options of a delete as reviews have them.
pub(crate) fn delete_options(options: &DeleteOptions) -> Value {
    let mut value = serde_json::to_value(options).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("kind".into(), "DeleteOptions".into());
        fields.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    }
    value
}
