//! The registry strategies of the built-in kinds: what happens to an object between decoding and storing it.
//!
//! Upstream has one Go type per kind (`pkg/registry/*/strategy.go`) with mostly identical methods. Here a [`Strategy`]
//! is a row: choices as values, and a hook only where a kind truly differs. [`strategy`] finds the row of a resource.

mod allocator;
mod certificates;
pub(crate) mod deletion;
mod fields;
mod gates;
mod groups;
mod job;
mod kinds;
mod namespace;
mod node_ports;
mod pod;
mod service;
mod subresource;
mod table;

pub(crate) use allocator::{Allocator, Purpose, ServicePool};
pub(crate) use fields::FieldLabels;
pub(crate) use pod::qos_class;
pub(crate) use table::{CUSTOM, CUSTOM_WITH_STATUS, strategy};

use super::validation::declared::{Declared, tell_last};
use super::validation::metadata;
use super::validation::names::NameRule;
use super::value::{Object, semantically_equal};
use kubewright_core::FieldError;
use serde_json::Value;
use std::collections::BTreeMap;

/// How objects of one resource are prepared, checked, selected and deleted.
pub(crate) struct Strategy {
    /// Which names are valid.
    pub(crate) name: NameRule,
    /// Which names of finalizers are.
    finalizers: FinalizerRule,
    /// What becomes of `status` on writes to the object itself.
    pub(crate) status: StatusRule,
    /// Which metadata a write to `/status` may change.
    pub(crate) status_metadata: StatusMetadata,
    /// When `metadata.generation` counts up.
    pub(crate) generation: Generation,
    /// Whether a PUT to a name that does not exist creates the object.
    pub(crate) create_on_update: CreateOnUpdate,
    /// Whether a PUT may leave out `metadata.resourceVersion`.
    pub(crate) unconditional_update: UnconditionalUpdate,
    /// Whether deletion waits for a grace period.
    pub(crate) deletion: Deletion,
    /// Whether preparation hands out numbers that no two objects may share.
    pub(crate) allocation: Allocation,
    /// What becomes of the objects that an object owns when a delete does not say.
    pub(crate) dependents: Dependents,
    /// The finalizer that a delete puts on the object, so that it stays until the server has cleaned up after it.
    pub(crate) finalizer_on_delete: Option<&'static str>,
    /// What field selectors may name.
    pub(crate) selectable: FieldLabels,
    /// What is behind feature gates that are off.
    gated: gates::Gated,
    /// Runs after the general preparation of a create (`old` is `None`) or an update.
    prepare: Prepare,
    /// Checks what the schema cannot say.
    validate: fn(&Value) -> Vec<FieldError>,
    /// Checks what an update may change; `validate` runs besides.
    validate_update: fn(new: &Value, old: &Value) -> Vec<FieldError>,
    /// Both of them in one, for kinds whose rules look at the stored object (`None` on create) besides the new one.
    rules: fn(object: &Value, old: Option<&Value>) -> Vec<FieldError>,
    /// Checks what a write to a subresource that carries the object (`status`, `approval`, `finalize`, `ephemeralcontainers`,
    /// `resize`) may change.
    validate_part: fn(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError>,
    /// The faults that are told of last.
    declared: &'static [Declared],
    /// What the client is to be warned of when a valid object is created (`old` is `None`) or updated.
    warnings: fn(object: &Value, old: Option<&Value>) -> Vec<String>,
    /// The same for a valid write to a subresource that carries the object.
    part_warnings: fn(subresource: &str, new: &Value) -> Vec<String>,
}

/// A kind's own preparation. It returns what went wrong, such as an address that is taken.
type Prepare = fn(object: &mut Value, old: Option<&Value>, context: &mut Context<'_>) -> Vec<FieldError>;

/// Which names of finalizers are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinalizerRule {
    /// Names with a domain, and the few without that Kubernetes itself uses (`ValidateObjectMeta` in
    /// `pkg/apis/core/validation`).
    OwnOrQualified,
    /// Every name that a label could have: kinds that apimachinery's `ValidateObjectMeta` is enough for.
    Any,
}

/// What becomes of `status` on writes to the object itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusRule {
    /// The kind has no status of its own standing: every write may set every field.
    None,
    /// A create starts with this status (JSON text), an update keeps the stored one.
    Reset(&'static str),
    /// A create keeps the status that was sent, an update the stored one: nodes register with their status.
    KeptOnCreate,
    /// A create leaves out the status, an update keeps the stored one: custom resources with a status subresource.
    Absent,
}

/// Which metadata a write to `/status` may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusMetadata {
    /// Everything that an ordinary update may change.
    Editable,
    /// Everything except labels.
    ExceptLabels,
    /// Everything except owner references, and no deletion timestamp.
    ExceptOwners,
    /// Nothing (`metav1.ResetObjectMetaForStatus`): what most kinds since 1.20 and all custom resources do.
    Reset,
}

/// When `metadata.generation` counts up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The kind has none.
    None,
    /// One on create, then never again.
    Constant,
    /// Counts changes of anything except metadata and status.
    Content,
    /// Counts the same, from nothing: a new object has none.
    Changes,
    /// Counts these and changes of annotations.
    ContentAndAnnotations,
    /// Counts changes of anything except metadata: custom resources whose status is a field like any other.
    ContentAndStatus,
}

/// Whether a PUT to a name that does not exist creates the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CreateOnUpdate {
    /// It answers 404.
    Refused,
    /// It creates.
    Allowed,
}

/// Whether a PUT may leave out `metadata.resourceVersion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnconditionalUpdate {
    /// It answers 422.
    Refused,
    /// It overwrites whatever is stored.
    Allowed,
}

/// Whether deletion waits for a grace period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The object goes at once, finalizers aside.
    Immediate,
    /// The object stays until its kubelet deletes it with a grace period of zero, or the period is zero from the start.
    GracefulPod,
}

/// What becomes of the objects that an object owns when a delete does not say (`DefaultGarbageCollectionPolicy` in
/// `pkg/registry/*/*/strategy.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// They are deleted.
    Deleted,
    /// The collector has nothing to do with them, whatever a delete says.
    Unsupported,
    /// They are left: kinds that are older than the garbage collector.
    Orphaned,
    /// The same, and the client is warned of it.
    OrphanedWithWarning,
}

/// Whether preparation hands out numbers that no two objects may share, so that writes have to wait for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// It does not look at [`Context::allocator`].
    None,
    /// It takes addresses and node ports, so the allocator must know all services.
    Service,
}

/// What preparation needs from outside.
pub(crate) struct Context<'a> {
    /// The time of the request, RFC 3339 with seconds.
    pub(crate) now: &'a str,
    /// Who asks.
    pub(crate) requester: Requester<'a>,
    /// Addresses and node ports of services. The caller holds its lock until the object is stored.
    pub(crate) allocator: &'a mut dyn Allocator,
}

/// The authenticated user, for kinds that record it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requester<'a> {
    /// The user name.
    pub(crate) username: &'a str,
    /// The user's unique id; may be empty.
    pub(crate) uid: &'a str,
    /// The groups.
    pub(crate) groups: &'a [String],
    /// Whatever the authenticator adds.
    pub(crate) extra: &'a BTreeMap<String, Vec<String>>,
}

/// The finalizers, owner references and so on that [`StatusMetadata::Reset`] restores.
const RESET_METADATA: &[&str] = &[
    "deletionTimestamp",
    "generation",
    "selfLink",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
];

impl Strategy {
    /// Prepares a new object. Name, uid and creation timestamp must have been filled in.
    ///
    /// # Errors
    ///
    /// What the kind's own preparation refuses, such as a service's address that is taken.
    pub(crate) fn prepare_for_create(
        &self,
        object: &mut Value,
        context: &mut Context<'_>,
    ) -> Result<(), Vec<FieldError>> {
        if let Some(fields) = object.as_object_mut() {
            if let StatusRule::Reset(initial) = self.status {
                let status = serde_json::from_str(initial).unwrap_or_else(|_| Value::Object(Object::new()));
                fields.insert("status".to_owned(), status);
            } else if self.status == StatusRule::Absent {
                fields.remove("status");
            }
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                // A kind that counts none keeps what the client sends, as upstream does.
                if !matches!(self.generation, Generation::None | Generation::Changes) {
                    metadata.insert("generation".to_owned(), 1.into());
                }
            }
        }
        self.gated.drop_unused(object, None);
        errors_or_ok((self.prepare)(object, None, context))
    }

    /// Prepares a changed object: restores the status, runs the kind's hook, counts the generation.
    ///
    /// # Errors
    ///
    /// What the kind's own preparation refuses.
    pub(crate) fn prepare_for_update(
        &self,
        new: &mut Value,
        old: &Value,
        context: &mut Context<'_>,
    ) -> Result<(), Vec<FieldError>> {
        if self.status != StatusRule::None {
            restore(new, old, "status");
        }
        self.gated.drop_unused(new, Some(old));
        let errors = (self.prepare)(new, Some(old), context);
        self.count_generation(new, old);
        errors_or_ok(errors)
    }

    /// Prepares a write to `/status`: everything else is restored, metadata as the kind has it.
    pub(crate) fn prepare_for_status_update(&self, new: &mut Value, old: &Value, context: &mut Context<'_>) {
        subresource::restore_all_but(new, old, &["metadata", "status"]);
        self.gated.drop_unused(new, Some(old));
        match self.status_metadata {
            StatusMetadata::Editable => {}
            StatusMetadata::ExceptLabels => restore_metadata(new, old, &["labels"]),
            StatusMetadata::ExceptOwners => {
                restore_metadata(new, old, &["deletionTimestamp", "ownerReferences"])
            }
            StatusMetadata::Reset => restore_metadata(new, old, RESET_METADATA),
        }
        restore_metadata(new, old, &["generation"]);
        subresource::status_of_kind(new, old, context);
    }

    /// Prepares a write to a subresource that carries the object itself (`finalize`, `approval`,
    /// `ephemeralcontainers`, `resize`); `status` goes to [`Self::prepare_for_status_update`].
    pub(crate) fn prepare_for_subresource(
        &self,
        name: &str,
        new: &mut Value,
        old: &Value,
        context: &mut Context<'_>,
    ) {
        if name == "status" {
            self.prepare_for_status_update(new, old, context);
        } else {
            subresource::prepare(name, new, old, context);
            self.count_generation(new, old);
        }
    }

    /// Checks a new object, metadata included.
    pub(crate) fn validate_create(&self, object: &Value, scope: kubewright_kinds::Scope) -> Vec<FieldError> {
        let mut errors = metadata::create(object, scope, self.name);
        self.validate_finalizers(&mut errors, object);
        errors.extend((self.validate)(object));
        errors.extend((self.rules)(object, None));
        tell_last(&mut errors, self.declared);
        errors
    }

    /// Checks a changed object, metadata included.
    pub(crate) fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = metadata::update(new, old);
        self.validate_finalizers(&mut errors, new);
        errors.extend((self.validate)(new));
        errors.extend((self.validate_update)(new, old));
        errors.extend((self.rules)(new, Some(old)));
        tell_last(&mut errors, self.declared);
        errors
    }

    /// Checks a write to a subresource, metadata included. What it may not change was restored, so only what the
    /// subresource is there to change is exempt from the rules of ordinary updates.
    pub(crate) fn validate_subresource_update(
        &self,
        name: &str,
        new: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        match name {
            // What is stored may break a rule that came later; a controller must still be able to report on it.
            "status" | "approval" | "finalize" | "ephemeralcontainers" | "resize" | "binding" => {
                let mut errors = metadata::update(new, old);
                self.validate_finalizers(&mut errors, new);
                errors.extend((self.validate_part)(name, new, old));
                errors
            }
            _ => self.validate_update(new, old),
        }
    }

    fn validate_finalizers(&self, errors: &mut Vec<FieldError>, object: &Value) {
        match self.finalizers {
            FinalizerRule::OwnOrQualified => metadata::own_or_qualified_finalizers(errors, object),
            FinalizerRule::Any => {}
        }
    }

    /// What the client is to be warned of about a valid object (`WarningsOnCreate` and `WarningsOnUpdate` upstream).
    pub(crate) fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        (self.warnings)(object, old)
    }

    /// The same for a valid write to a subresource that carries the object, such as `status`.
    pub(crate) fn part_warnings(&self, subresource: &str, new: &Value) -> Vec<String> {
        (self.part_warnings)(subresource, new)
    }

    /// The value that a field selector compares, or `None` if the kind cannot be selected by this field.
    pub(crate) fn selectable_field(&self, object: &Value, field: &str) -> Option<String> {
        self.selectable.select(object, field)
    }

    /// The grace period in seconds that a delete of `object` gets, or `None` where the kind has no graceful deletion.
    pub(crate) fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        match self.deletion {
            Deletion::Immediate => None,
            Deletion::GracefulPod => Some(pod::grace_period(object, requested)),
        }
    }

    /// Counts the generation of a changed object, both in the same version.
    pub(crate) fn count_generation(&self, new: &mut Value, old: &Value) {
        let counts = |field: &str| {
            !NOT_CONTENT.contains(&field)
                || (self.generation == Generation::ContentAndStatus && field == "status")
        };
        let differs = |one: &Value, other: &Value| {
            let mut fields = one.as_object().into_iter().flatten();
            fields.any(|(field, value)| counts(field) && !semantically_equal(Some(value), other.get(field)))
        };
        let annotations = "/metadata/annotations";
        let changed = match self.generation {
            Generation::None | Generation::Constant => false,
            Generation::Content
            | Generation::Changes
            | Generation::ContentAndAnnotations
            | Generation::ContentAndStatus => differs(new, old) || differs(old, new),
        };
        let annotated = self.generation == Generation::ContentAndAnnotations
            && !semantically_equal(new.pointer(annotations), old.pointer(annotations));
        restore_metadata(new, old, &["generation"]);
        if changed || annotated {
            let next = old
                .pointer("/metadata/generation")
                .and_then(Value::as_i64)
                .unwrap_or(0)
                .saturating_add(1);
            if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("generation".to_owned(), next.into());
            }
        }
    }
}

/// The top-level fields that are not content in the sense of [`Generation::Content`].
const NOT_CONTENT: &[&str] = &["apiVersion", "kind", "metadata", "status"];

fn errors_or_ok(errors: Vec<FieldError>) -> Result<(), Vec<FieldError>> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Makes a top-level field of `new` what it is in `old`.
fn restore(new: &mut Value, old: &Value, field: &str) {
    let Some(object) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => {
            object.insert(field.to_owned(), value.clone());
        }
        None => {
            object.remove(field);
        }
    }
}

fn restore_metadata(new: &mut Value, old: &Value, fields: &[&str]) {
    let (Some(metadata), Some(old)) = (new.get_mut("metadata"), old.get("metadata")) else {
        return;
    };
    for field in fields {
        restore(metadata, old, field);
    }
}

/// The hook of kinds that need none.
fn no_preparation(_: &mut Value, _: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    Vec::new()
}

#[cfg(test)]
mod tests;
