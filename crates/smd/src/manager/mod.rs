//! The field manager: what a write does to `metadata.managedFields`, and server-side apply.
//!
//! Upstream: apimachinery `pkg/util/managedfields/internal`, a chain of managers around each other. Here the chain is
//! one type with one function for each link, and the clock is an argument.

mod cap;
mod conflict;
mod error;
mod extract;
mod last_applied;
mod same_owner;
#[cfg(test)]
mod tests;
mod timestamps;
mod unchanged;
mod versions;

use std::borrow::Cow;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;

use cap::cap_update_managers;
pub use conflict::{Conflict, Conflicts};
pub use error::ManagerError;
pub use extract::extract;
pub use last_applied::LAST_APPLIED;
use last_applied::{KUBECTL, update_annotation};
pub use timestamps::restore_times;
pub use versions::{ConversionError, OneType, Versions};

use crate::fields::{FieldSet, Path, ResetFields};
use crate::managed::{Managed, ManagerId, Managers, Operation, rows};
use crate::typed::{Duplicates, TypeErrors, fits, validate};
use crate::types::TypeRef;
use crate::updater::Updater;
use same_owner::Outcome;
use unchanged::is_unchanged;

/// The most entries that updates may have in an object: the oldest are merged beyond that
/// (`DefaultMaxUpdateManagers`).
pub const MAX_UPDATE_MANAGERS: usize = 10;

/// Whether an apply may take fields that others own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Force {
    /// Conflicts are errors.
    No,
    /// Conflicting fields are taken.
    Yes,
}

/// Tracks the owners of fields over the writes to one resource or subresource in one version.
///
/// Holds no state: what it needs is in the objects. Make one for each request.
#[derive(Clone, Copy)]
pub struct FieldManager<'a> {
    /// The types of the kind.
    pub versions: &'a dyn Versions,
    /// The version of the request, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind of the request.
    pub kind: &'a str,
    /// The subresource of the request, empty for the resource itself.
    pub subresource: &'a str,
    /// What requests to it do not write, whatever they say.
    pub reset_fields: &'a ResetFields,
    /// When the request happens.
    pub now: Timestamp,
}

impl std::fmt::Debug for FieldManager<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FieldManager")
            .field("api_version", &self.api_version)
            .field("kind", &self.kind)
            .field("subresource", &self.subresource)
            .finish_non_exhaustive()
    }
}

impl FieldManager<'_> {
    /// The new object with its `managedFields`, where there was none before.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn create(&self, new: Value, manager: &str) -> Result<Value, ManagerError> {
        self.update(&self.empty_object()?, new, manager)
    }

    /// As [`create`](Self::create), but without entries where that fails.
    pub fn create_or_keep(&self, new: Value, manager: &str) -> Value {
        let live = self.empty_object().unwrap_or_default();
        self.update_or_keep(&live, new, manager)
    }

    /// The object after an update or a patch that is no apply, with its `managedFields`: what differs from the live
    /// object now belongs to the manager alone.
    ///
    /// Entries that the new object brings along count, unless the write is to a subresource or they do not read; a list
    /// with one empty entry resets them. Both objects may be in any version that [`Versions`] knows; the answer is
    /// the new one as it came.
    ///
    /// # Errors
    /// Where an object does not fit its type, or cannot be converted.
    pub fn update(&self, live: &Value, mut new: Value, manager: &str) -> Result<Value, ManagerError> {
        let given = take_entries(&mut new);
        let managed = self.updated_entries(live, &new, given.as_ref(), manager)?;
        set_entries(&mut new, managed.encode());
        Ok(new)
    }

    /// As [`update`](Self::update), but keeps the entries of the live object where that fails: a write is not refused
    /// because its owner cannot be recorded (`UpdateNoErrors`).
    ///
    /// What is as it was keeps its entries without the cost of a comparison field by field.
    pub fn update_or_keep(&self, live: &Value, mut new: Value, manager: &str) -> Value {
        let given = take_entries(&mut new);
        // Entries that a user sends do not count in a write to a subresource.
        let before = given.as_ref().filter(|_| self.subresource.is_empty());
        if let Some(before) = before.or_else(|| entries(live))
            && let Some(outcome) = self.same_owners(live, &new, before, manager)
        {
            let given = given.filter(|_| self.subresource.is_empty());
            let mut after = given.or_else(|| entries(live).cloned()).unwrap_or_default();
            if let Outcome::Renewed(index) = outcome {
                rows::renew(&mut after, index, self.now);
            }
            set_entries(&mut new, Some(after));
            return new;
        }
        if self.keeps_entries(live, given.as_ref()) && is_unchanged(&new, live) {
            set_entries(&mut new, entries(live).cloned());
            return new;
        }
        let entries = match self.updated_entries(live, &new, given.as_ref(), manager) {
            Ok(managed) => managed.encode(),
            Err(_) => entries(live).cloned(),
        };
        set_entries(&mut new, entries);
        new
    }

    /// Server-side apply: merges what is applied into the live object, removes what the manager applied before and
    /// does not any more, and records what it owns now.
    ///
    /// The answer is an object in the request's version, not yet defaulted. Where nothing would change, it is the live
    /// object, and the times in its entries stay. Without a live object one is created.
    ///
    /// # Errors
    /// Where what is applied is of another type, does not fit its type, or conflicts with what others own.
    pub fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        manager: &str,
        force: Force,
    ) -> Result<Value, ManagerError> {
        self.check_type(config)?;
        let empty;
        let live = match live {
            Some(live) => live,
            None => {
                empty = self.empty_object()?;
                &empty
            }
        };
        let entries = entries(live).unwrap_or(&Value::Null);
        let managed = Managed::decode(entries).map_err(ManagerError::Decode)?;
        let (mut object, managed) = self.apply_as_kubectl(live, config, managed, manager, force)?;
        if manager == KUBECTL {
            update_annotation(&mut object, config);
        }
        set_entries(&mut object, managed.encode());
        Ok(object)
    }

    fn check_type(&self, config: &Value) -> Result<(), ManagerError> {
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion") == self.api_version && text("kind") == self.kind {
            return Ok(());
        }
        let separator = if text("apiVersion").contains('/') { "" } else { "/" };
        Err(ManagerError::WrongType {
            found: format!("{separator}{}, Kind={}", text("apiVersion"), text("kind")),
        })
    }

    /// The object that a create is compared with.
    fn empty_object(&self) -> Result<Value, ManagerError> {
        let ty = self.type_of_request()?;
        let mut empty = ty.zero_value();
        empty["apiVersion"] = Value::from(self.api_version);
        empty["kind"] = Value::from(self.kind);
        Ok(empty)
    }

    fn type_of_request(&self) -> Result<TypeRef<'_>, ManagerError> {
        self.versions
            .type_of(self.api_version)
            .ok_or_else(|| ManagerError::NoSuchVersion {
                found: format!("{}, Kind={}", self.api_version, self.kind),
            })
    }

    /// The object in the version of the request.
    fn in_version<'v>(&self, object: &'v Value) -> Result<Cow<'v, Value>, ManagerError> {
        match object.get("apiVersion").and_then(Value::as_str) {
            Some(version) if version != self.api_version => self
                .versions
                .convert(object, self.api_version)
                .map(Cow::Owned)
                .map_err(ManagerError::Convert),
            _ => Ok(Cow::Borrowed(object)),
        }
    }

    fn updater(&self) -> Updater<'_> {
        Updater {
            versions: self.versions,
            reset_fields: self.reset_fields,
        }
    }

    /// The entries before an update: those that the user sends, or else those of the live object.
    fn entries_before(&self, live: &Value, given: Option<&Value>) -> Managed {
        let of_live = || {
            let entries = entries(live).unwrap_or(&Value::Null);
            Managed::decode(entries).unwrap_or_default()
        };
        if !self.subresource.is_empty() {
            return of_live();
        }
        match given {
            Some(given) if is_reset(given) => Managed::default(),
            Some(given) => match Managed::decode(given) {
                Ok(managed) if !managed.managers.is_empty() => managed,
                _ => of_live(),
            },
            None => of_live(),
        }
    }

    /// Whether an update that changes nothing leaves the entries of the live object alone: the user sends no others, and
    /// all are of the request's version, so none is of a version that is gone.
    fn keeps_entries(&self, live: &Value, given: Option<&Value>) -> bool {
        let entries = entries(live);
        let of_request =
            |entry: &Value| entry.get("apiVersion").and_then(Value::as_str) == Some(self.api_version);
        (given.is_none() || given == entries || !self.subresource.is_empty())
            && entries
                .and_then(Value::as_array)
                .is_some_and(|entries| !entries.is_empty() && entries.iter().all(of_request))
    }

    fn updated_entries(
        &self,
        live: &Value,
        new: &Value,
        given: Option<&Value>,
        manager: &str,
    ) -> Result<Managed, ManagerError> {
        let managed = self.entries_before(live, given);
        // An object whose fields are not tracked is tracked from its first apply on.
        let is_create = live
            .get("metadata")
            .and_then(|metadata| metadata.get("uid"))
            .and_then(Value::as_str)
            .is_none_or(str::is_empty);
        if managed.managers.is_empty() && !is_create {
            return Ok(managed);
        }
        self.track_update(live, new, managed, manager)
    }

    /// Records an update: under a name of its own first, so that what it changed is known.
    fn track_update(
        &self,
        live: &Value,
        new: &Value,
        mut managed: Managed,
        manager: &str,
    ) -> Result<Managed, ManagerError> {
        let ty = self.type_of_request()?;
        let (live, new) = (self.in_version(live)?, self.in_version(new)?);
        check(&new, ty).map_err(|errors| ManagerError::New {
            object: self.name_of(&new),
            errors,
        })?;
        check(&live, ty).map_err(|errors| ManagerError::Live {
            object: self.name_of(&live),
            errors,
        })?;
        let operation = ManagerId::new(CURRENT_OPERATION, Operation::Update, "", "");
        let managers = std::mem::take(&mut managed.managers);
        managed.managers = self
            .updater()
            .update(&live, &new, self.api_version, managers, &operation)?;
        strip_meta(&mut managed.managers, &operation);
        if let Some(mut owned) = managed.managers.remove(&operation) {
            let id = ManagerId::new(manager, Operation::Update, self.api_version, self.subresource);
            if let Some(before) = managed.managers.remove(&id) {
                owned.set = owned.set.union(before.set);
            }
            managed.managers.insert(id.clone(), owned);
            managed.times.insert(id, self.now);
        }
        cap_update_managers(&mut managed);
        Ok(managed)
    }

    /// An apply; by kubectl also over what it applied before there was server-side apply.
    fn apply_as_kubectl(
        &self,
        live: &Value,
        config: &Value,
        managed: Managed,
        manager: &str,
        force: Force,
    ) -> Result<(Value, Managed), ManagerError> {
        if manager != KUBECTL {
            return self.track_apply(live, config, managed, manager, force);
        }
        let conflicts = match self.track_apply(live, config, managed.clone(), manager, force) {
            Err(ManagerError::Conflicts(conflicts)) => conflicts,
            done => return done,
        };
        match self.conflicts_beyond_last_applied(live, &conflicts) {
            Some(rest) if rest.0.is_empty() => self.track_apply(live, config, managed, manager, Force::Yes),
            Some(rest) => Err(ManagerError::Conflicts(rest)),
            None => Err(ManagerError::Conflicts(conflicts)),
        }
    }

    fn track_apply(
        &self,
        live: &Value,
        config: &Value,
        mut managed: Managed,
        manager: &str,
        force: Force,
    ) -> Result<(Value, Managed), ManagerError> {
        if managed.managers.is_empty() {
            managed = self.track_update(&self.empty_object()?, live, managed, BEFORE_FIRST_APPLY)?;
        }
        if entries(config).is_some_and(|entries| !entries.is_null()) {
            return Err(ManagerError::ManagedFieldsGiven);
        }
        let ty = self.type_of_request()?;
        let live = self.in_version(live)?;
        validate(config, ty, Duplicates::Refused).map_err(|errors| ManagerError::Config {
            object: self.name_of(config),
            errors,
        })?;
        check(&live, ty).map_err(|errors| ManagerError::Live {
            object: self.name_of(&live),
            errors,
        })?;
        let id = ManagerId::new(manager, Operation::Apply, self.api_version, self.subresource);
        let managers = std::mem::take(&mut managed.managers);
        let (object, managers) =
            self.updater()
                .apply(&live, config, self.api_version, managers, &id, force)?;
        managed.managers = managers;
        strip_meta(&mut managed.managers, &id);
        let object = match object {
            Some(object) => {
                managed.times.insert(id, self.now);
                object
            }
            None => live.into_owned(),
        };
        Ok((object, managed))
    }

    /// An object as messages name it.
    fn name_of(&self, object: &Value) -> String {
        let text = |name: &str| {
            let metadata = object.get("metadata");
            let text = metadata
                .and_then(|metadata| metadata.get(name))
                .and_then(Value::as_str);
            text.unwrap_or_default()
        };
        let separator = if self.api_version.contains('/') { "" } else { "/" };
        format!(
            "{}/{}; {separator}{}, Kind={}",
            text("namespace"),
            text("name"),
            self.api_version,
            self.kind
        )
    }
}

/// Stands for the manager of an update while it is not known whether that changes anything.
const CURRENT_OPERATION: &str = "current-operation";

/// Who owns what an object had before its first apply, if its fields were not tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The fields of `metadata` that nobody owns (`stripMeta` of apimachinery pkg/util/managedfields/internal).
const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Checks an object that may have the same item twice: what is there is not refused for that.
fn check(object: &Value, ty: TypeRef<'_>) -> Result<(), TypeErrors> {
    if fits(object, ty) {
        return Ok(());
    }
    validate(object, ty, Duplicates::Allowed)
}

/// What says which object it is, or is the server's, is owned by nobody.
fn strip_meta(managers: &mut Managers, id: &ManagerId) {
    if let Some(mut owned) = managers.remove(id) {
        owned.set = strip_unowned(owned.set);
        if !owned.set.is_empty() {
            managers.insert(id.clone(), owned);
        }
    }
}

/// A set without what nobody owns.
fn strip_unowned(set: FieldSet) -> FieldSet {
    static STRIPPED: LazyLock<FieldSet> = LazyLock::new(|| {
        let top = ["apiVersion", "kind", "metadata"].map(|name| Path::of_fields([name]));
        let metadata = UNOWNED_METADATA.map(|name| Path::of_fields(["metadata", name]));
        top.into_iter().chain(metadata).collect()
    });
    set.difference(&STRIPPED)
}

/// Whether entries that a user sends mean that there shall be none: an empty list, or one with one empty entry.
fn is_reset(entries: &Value) -> bool {
    match entries {
        Value::Array(entries) => match &**entries {
            [] => true,
            [Value::Object(entry)] => entry.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

fn entries(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn take_entries(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Sets or removes `metadata.managedFields`. Objects without metadata have none.
fn set_entries(object: &mut Value, entries: Option<Value>) {
    match entries {
        None => {
            take_entries(object);
        }
        Some(entries) => {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.insert("managedFields".to_owned(), entries);
            }
        }
    }
}
