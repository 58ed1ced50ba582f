//! The metadata of an object on its way in: where it belongs, and what the server alone may say of it.
//!
//! Upstream: apiserver `pkg/registry/rest/{meta,update}.go`, `pkg/endpoints/handlers/rest.go`.

use kubewright_core::{Scope, Status, StatusReason};
use serde_json::{Map, Value};

use super::Call;
use super::write::{meta, metadata};
use crate::error::{ApiError, ApiResult};

/// Puts the object into the namespace of the path and gives it the name of the path where it has none.
///
/// # Errors
/// 400 when it says it belongs elsewhere, or has another name than the path.
pub(super) fn place(call: &Call<'_>, object: &mut Value) -> ApiResult<()> {
    place_in_namespace(call, object)?;
    let Some(name) = call.info.name.as_deref() else {
        return Ok(());
    };
    if meta(object, "name").is_empty() {
        metadata(object).map(|metadata| metadata.insert("name".into(), name.into()));
    }
    check_name(object, name)
}

/// The same for a write to an object that is there, which has to name it.
///
/// # Errors
/// 400 when it says it belongs elsewhere, or has another name than the path, or none.
pub(super) fn place_named(call: &Call<'_>, object: &mut Value) -> ApiResult<()> {
    place_in_namespace(call, object)?;
    check_name(object, call.name()?)
}

/// `EnsureObjectNamespaceMatchesRequestNamespace` of pkg/registry/rest/meta.go.
///
/// # Errors
/// 400 when the object says it belongs elsewhere.
pub(super) fn place_in_namespace(call: &Call<'_>, object: &mut Value) -> ApiResult<()> {
    let found = meta(object, "namespace");
    match (call.resource.scope, call.namespace()) {
        (Scope::Namespaced, Some(namespace)) => {
            if found.is_empty() {
                metadata(object).map(|metadata| metadata.insert("namespace".into(), namespace.into()));
            } else if found != namespace {
                return Err(Status::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                )
                .into());
            }
        }
        _ if !found.is_empty() => {
            metadata(object).map(|metadata| metadata.remove("namespace"));
        }
        _ => {}
    }
    Ok(())
}

/// `checkName` of pkg/endpoints/handlers/rest.go.
///
/// # Errors
/// 400 when the object has another name, or none.
pub(super) fn check_name(object: &Value, name: &str) -> ApiResult<()> {
    let why = match meta(object, "name") {
        found if found == name => return Ok(()),
        "" => {
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided")
        }
        found => format!("the name of the object ({found}) does not match the name on the URL ({name})"),
    };
    Err(Status::bad_request(why).into())
}

/// Takes out what a client may not say of a new object (`WipeObjectMetaSystemFields`).
pub(super) fn wipe(object: &mut Value) {
    if let Some(metadata) = metadata(object) {
        for field in [
            "creationTimestamp",
            "uid",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            metadata.remove(field);
        }
    }
}

/// Restores what an update cannot change and need not repeat (`BeforeUpdate`). What is left may still differ from the stored
/// object, for validation to refuse.
pub(super) fn restore(new: &mut Value, old: &Value) {
    let old = &old["metadata"];
    let Some(new) = metadata(new) else { return };
    keep(new, old, "resourceVersion", Keep::Always);
    keep(new, old, "generation", Keep::Always);
    keep(new, old, "uid", Keep::WhereAbsent);
    keep(new, old, "creationTimestamp", Keep::WhereSet);
    keep(new, old, "deletionTimestamp", Keep::WhereSet);
    keep(new, old, "deletionGracePeriodSeconds", Keep::WhereAbsent);
}

/// When a field keeps its stored value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// In any case.
    Always,
    /// When there is a stored value.
    WhereSet,
    /// When the new object has none.
    WhereAbsent,
}

fn keep(new: &mut Map<String, Value>, old: &Value, field: &str, when: Keep) {
    let (found, stored) = (new.get(field), old.get(field));
    if found == stored {
        return;
    }
    let is_absent = found.is_none_or(|value| value.is_null() || *value == "");
    match stored {
        _ if when == Keep::WhereAbsent && !is_absent => {}
        Some(value) => {
            new.insert(field.to_owned(), value.clone());
        }
        None if when == Keep::Always => {
            new.remove(field);
        }
        None => {}
    }
}

/// Where an owner stands in an update, for the words of the warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnersOf {
    /// A body: owners that are named twice are dropped before anything else happens.
    Body,
    /// What admission left, of a patch too.
    Admitted,
}

/// Drops owner references that are there already, of which the client is warned (`dedupOwnerReferences`).
pub(super) fn dedup_owners(call: &Call<'_>, object: &mut Value, of: OwnersOf) {
    call.warnings
        .add(without_duplicates(object, of).into_iter().collect());
}

fn without_duplicates(object: &mut Value, of: OwnersOf) -> Option<String> {
    let owners = metadata(object)?
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut)
        .filter(|owners| owners.len() > 1)?;
    let mut distinct: Vec<Value> = Vec::with_capacity(owners.len());
    let mut duplicates = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for owner in owners.drain(..) {
        let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
        if !seen.insert(uid.clone()) && distinct.contains(&owner) {
            duplicates.push(uid);
        } else {
            distinct.push(owner);
        }
    }
    *owners = distinct;
    if duplicates.is_empty() {
        return None;
    }
    let when = match of {
        OwnersOf::Body => "",
        OwnersOf::Admitted => " after mutating admission happens",
    };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject \
         such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ))
}

/// The version that a write names; 0 where it names none (`APIObjectVersioner.ObjectResourceVersion` of pkg/storage).
///
/// # Errors
/// 500, as upstream has it, for one that is no number.
pub(super) fn version(object: &Value) -> ApiResult<u64> {
    let text = meta(object, "resourceVersion");
    if text.is_empty() {
        return Ok(0);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or_else(|| {
        let why = if is_number {
            "value out of range"
        } else {
            "invalid syntax"
        };
        server_error(format!("strconv.ParseUint: parsing {text:?}: {why}"))
    })
}

/// 500 without a reason: what upstream answers with where an error is none of its own kinds.
pub(super) fn server_error(message: impl Into<String>) -> ApiError {
    Status::failure(StatusReason::Unknown, message).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions() {
        for (version_text, expect) in [
            ("", Ok(0)),
            ("0", Ok(0)),
            ("17", Ok(17)),
            ("x", Err("strconv.ParseUint: parsing \"x\": invalid syntax")),
            ("+1", Err("strconv.ParseUint: parsing \"+1\": invalid syntax")),
            ("-1", Err("strconv.ParseUint: parsing \"-1\": invalid syntax")),
            (
                "99999999999999999999",
                Err("strconv.ParseUint: parsing \"99999999999999999999\": value out of range"),
            ),
        ] {
            let found = version(&json!({"metadata": {"resourceVersion": version_text}}));
            let found = found.map_err(|error| (error.status().code, error.status().message.clone()));
            assert_eq!(
                found,
                expect.map_err(|message: &str| (500, message.to_owned())),
                "{version_text}"
            );
        }
    }

    #[test]
    fn owners_are_named_once() {
        let owner = |uid: &str, name: &str| json!({"uid": uid, "name": name});
        let mut object = json!({"metadata": {"ownerReferences":
            [owner("1", "a"), owner("1", "b"), owner("2", "a"), owner("1", "a"), owner("2", "a")]}});
        let warning = without_duplicates(&mut object, OwnersOf::Body).unwrap();
        assert!(warning.ends_with("duplicate UID(s) observed: 1, 2"), "{warning}");
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([owner("1", "a"), owner("1", "b"), owner("2", "a")])
        );
        assert_eq!(without_duplicates(&mut object, OwnersOf::Body), None);
    }

    #[test]
    fn what_an_update_keeps() {
        for (new, old, expect) in [
            (
                json!({"generation": 7, "resourceVersion": "1", "generateName": "x-"}),
                json!({"uid": "u", "creationTimestamp": "t", "generation": 2, "resourceVersion": "9"}),
                json!({"uid": "u", "creationTimestamp": "t", "generation": 2, "resourceVersion": "9", "generateName": "x-"}),
            ),
            (
                json!({"uid": "v", "creationTimestamp": "s", "generation": 7, "deletionTimestamp": "d"}),
                json!({"uid": "u", "creationTimestamp": "t"}),
                json!({"uid": "v", "creationTimestamp": "t", "deletionTimestamp": "d"}),
            ),
            (
                json!({"deletionTimestamp": "e", "deletionGracePeriodSeconds": 3}),
                json!({"deletionTimestamp": "d", "deletionGracePeriodSeconds": 5}),
                json!({"deletionTimestamp": "d", "deletionGracePeriodSeconds": 3}),
            ),
            (
                json!({}),
                json!({"deletionTimestamp": "d", "deletionGracePeriodSeconds": 5}),
                json!({"deletionTimestamp": "d", "deletionGracePeriodSeconds": 5}),
            ),
        ] {
            let mut object = json!({"metadata": new});
            restore(&mut object, &json!({"metadata": old}));
            assert_eq!(object["metadata"], expect);
        }
    }
}
