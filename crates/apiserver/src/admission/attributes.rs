//! What admission knows of a request besides its object.

use kubewright_core::{DeleteOptions, GroupVersionKind, Status, WriteOptions};
use serde_json::{Map, Value, json};

use crate::error::ApiError;
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

/// The options of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestOptions<'a> {
    /// A connection has none: its object is made of them.
    None,
    /// Those of a write, and their kind: `CreateOptions`, `UpdateOptions` or `PatchOptions`.
    Write(&'a WriteOptions, &'static str),
    Delete(&'a DeleteOptions),
}

/// A request, as admission sees it (apiserver pkg/admission/attributes.go).
pub(crate) struct Attributes<'a> {
    /// The request itself.
    pub(crate) call: &'a Call<'a>,
    pub(crate) operation: Operation,
    /// Empty where the server is to make one.
    pub(crate) name: String,
    /// The object as it is.
    pub(crate) old: Option<&'a Value>,
    options: RequestOptions<'a>,
}

impl<'a> Attributes<'a> {
    /// Those of a call; `object` is the one that is sent, or that is deleted.
    pub(crate) fn new(
        call: &'a Call<'_>,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&'a Value>,
        options: RequestOptions<'a>,
    ) -> Self {
        let name = object.and_then(|object| object["metadata"]["name"].as_str());
        let name = name.or(call.info.name.as_deref()).unwrap_or_default().to_owned();
        Self {
            call,
            operation,
            name,
            old,
            options,
        }
    }

    /// What is written to.
    pub(crate) fn resource(&self) -> &'a Resource {
        &self.call.resource
    }

    /// Empty for the object itself.
    pub(crate) fn subresource(&self) -> &'a str {
        self.call.info.subresource
    }

    /// Empty for what is in none; a namespace counts as in itself.
    pub(crate) fn namespace(&self) -> &str {
        match self.is_namespace() {
            true => &self.name,
            false => self.call.namespace().unwrap_or_default(),
        }
    }

    /// The kind of the object that was sent: that of the subresource, where it has one of its own.
    pub(crate) fn kind(&self) -> GroupVersionKind {
        let resource = self.resource();
        resource.subresource(self.subresource()).map_or_else(
            || resource.gvk(),
            |sub| GroupVersionKind::new(&sub.group, &sub.version, &sub.kind),
        )
    }

    /// Whether this writes nothing.
    pub(crate) fn is_dry_run(&self) -> bool {
        match self.options {
            RequestOptions::None => false,
            RequestOptions::Write(options, _) => options.dry_run,
            RequestOptions::Delete(options) => options.is_dry_run(),
        }
    }

    /// The options as reviews have them: an object that says what it is.
    pub(crate) fn options(&self) -> Value {
        match self.options {
            RequestOptions::None => Value::Null,
            RequestOptions::Write(options, kind) => write_options(options, kind),
            RequestOptions::Delete(options) => delete_options(options),
        }
    }

    /// Whether the object is a namespace.
    pub(super) fn is_namespace(&self) -> bool {
        let resource = self.resource();
        resource.group.is_empty() && resource.plural == "namespaces"
    }

    /// 403 for the object that was sent (apiserver pkg/admission/errors.go `NewForbidden`).
    pub(super) fn forbidden(&self, object: Option<&Value>, why: impl std::fmt::Display) -> ApiError {
        let text = |field: &str| object.and_then(|object| object["metadata"][field].as_str());
        let names = [Some(self.name.as_str()), text("name"), text("generateName")];
        let name = names.into_iter().flatten().find(|name| !name.is_empty());
        Status::forbidden(&self.call.group_resource(), name.unwrap_or("Unknown"), why).into()
    }
}

fn write_options(options: &WriteOptions, kind: &str) -> Value {
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

fn delete_options(options: &DeleteOptions) -> Value {
    let mut value = serde_json::to_value(options).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("kind".into(), "DeleteOptions".into());
        fields.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    }
    value
}
