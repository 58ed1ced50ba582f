//! What a delete does to an object, as a pure step: it goes at once, is marked first, or stays as it is.
//!
//! Upstream: `BeforeDelete` of apiserver `pkg/registry/rest/delete.go` and `updateForGracefulDeletionAndFinalizers` of
//! `pkg/registry/generic/registry/store.go`, with the deletes of their own that namespaces and definitions have
//! (`pkg/registry/core/namespace/storage/storage.go`, apiextensions `pkg/registry/customresourcedefinition/etcd.go`).

use jiff::{SignedDuration, Timestamp};
use kubewright_core::{DeleteOptions, PropagationPolicy};
use serde_json::{Value, json};

use super::super::value::{int_at, list_at, set_condition, str_at};
use super::{Dependents, Strategy};

/// What a delete does to an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeleteStep {
    /// It goes.
    Remove,
    /// It becomes this and stays for now.
    Mark(Value),
    /// It becomes this and goes: who watches sees both.
    MarkThenRemove(Value),
    /// It is ending already, and nothing of it changes.
    Keep,
}

/// What deleting `old` at `now` does.
pub(crate) fn delete(
    strategy: &Strategy,
    old: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> DeleteStep {
    let is_ending = old["metadata"].get("deletionTimestamp").is_some();
    if is_namespace(old) {
        if !is_ending {
            return marked(end_namespace(old, options, now), old);
        }
        if !list_at(old, "/spec/finalizers").is_empty() {
            return DeleteStep::Keep;
        }
    }
    let mut new = old.clone();
    if let Some(finalizer) = strategy.finalizer_on_delete.filter(|_| !is_ending) {
        set(&mut new, "deletionTimestamp", now.to_string());
        add_finalizer(&mut new, finalizer);
        set_condition(&mut new, ending_condition(), &now.to_string());
        return marked(new, old);
    }
    let grace = match begin(strategy, &mut new, options, now) {
        Grace::Pending => return DeleteStep::Keep,
        Grace::Set(seconds) => Some(seconds),
        Grace::None => None,
    };
    set_propagation(&mut new, options.propagation_policy, strategy.dependents);
    let is_held = !list_at(&new, "/metadata/finalizers").is_empty();
    match grace {
        None if is_held => {
            mark_as_deleting(&mut new, now);
            marked(new, old)
        }
        None => DeleteStep::Remove,
        Some(0) if !is_held => DeleteStep::MarkThenRemove(new),
        Some(_) => marked(new, old),
    }
}

/// What a definition of custom resources says once it is to go.
fn ending_condition() -> Value {
    json!({
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    })
}

fn marked(new: Value, old: &Value) -> DeleteStep {
    if new == *old {
        DeleteStep::Keep
    } else {
        DeleteStep::Mark(new)
    }
}

/// What becomes of the time that an object has to end.
enum Grace {
    /// The kind has none, or it is over.
    None,
    /// It is running and stays as it is.
    Pending,
    /// It was set, in seconds.
    Set(i64),
}

/// Begins a graceful end, or brings one that began nearer.
fn begin(strategy: &Strategy, new: &mut Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    let requested = options.grace_period_seconds.map(not_negative);
    let Some(period) = strategy.grace_period(new, requested) else {
        return Grace::None;
    };
    let due = str_at(new, "/metadata/deletionTimestamp");
    if due.is_empty() {
        set_deletion(new, later(now, period), period);
        count(new);
        return Grace::Set(period);
    }
    let present = int_at(new, "/metadata/deletionGracePeriodSeconds").map_or(0, not_negative);
    if present == 0 {
        return Grace::None;
    }
    let Some(mut period) = requested.filter(|period| *period < present) else {
        return Grace::Pending;
    };
    let due = due.parse().unwrap_or(now);
    let mut due = later(later(due, -present), period);
    if due < now {
        due = now;
        // Whoever runs the object is still to end it, so a graceful end stays one.
        period = period.min(1);
    }
    set_deletion(new, due, period);
    Grace::Set(period)
}

/// A negative period is one second (`BeforeDelete`).
fn not_negative(seconds: i64) -> i64 {
    if seconds < 0 { 1 } else { seconds }
}

/// Finalizers hold the object, whose kind has no graceful end or is past it.
fn mark_as_deleting(object: &mut Value, now: Timestamp) {
    let due = str_at(object, "/metadata/deletionTimestamp");
    let is_first = due.is_empty();
    let is_later = due.parse::<Timestamp>().is_ok_and(|due| due > now);
    if is_first {
        count(object);
    }
    if is_first || is_later {
        set(object, "deletionTimestamp", now.to_string());
    }
    set(object, "deletionGracePeriodSeconds", 0);
}

/// The first delete of a namespace: its content goes before it does.
fn end_namespace(old: &Value, options: &DeleteOptions, now: Timestamp) -> Value {
    let mut new = old.clone();
    set(&mut new, "deletionTimestamp", now.to_string());
    if !new["status"].is_object() {
        new["status"] = json!({});
    }
    new["status"]["phase"] = json!("Terminating");
    // Upstream reads the old field otherwise here than anywhere else: what is not orphaned goes first.
    let policy = match options.orphan_dependents {
        Some(true) => Some(PropagationPolicy::Orphan),
        Some(false) => Some(PropagationPolicy::Foreground),
        None => options.propagation_policy,
    };
    set_propagation(&mut new, policy, Dependents::Deleted);
    new
}

/// Whether anything still holds an object that is being deleted: finalizers, and those in the spec of a namespace.
pub(crate) fn is_held(object: &Value) -> bool {
    !list_at(object, "/metadata/finalizers").is_empty()
        || (is_namespace(object) && !list_at(object, "/spec/finalizers").is_empty())
}

fn is_namespace(object: &Value) -> bool {
    object["kind"] == "Namespace" && object["apiVersion"] == "v1"
}

/// Whether a delete that leaves nothing is answered with the last state of the object rather than a `Status`
/// (`ReturnDeletedObject` of the stores in `pkg/registry`).
pub(crate) fn shows_deleted(group: &str, plural: &str) -> bool {
    match group {
        "" => matches!(
            plural,
            "namespaces"
                | "persistentvolumes"
                | "persistentvolumeclaims"
                | "pods"
                | "podtemplates"
                | "resourcequotas"
                | "services"
                | "serviceaccounts"
        ),
        "resource.k8s.io" => matches!(
            plural,
            "deviceclasses"
                | "resourceclaims"
                | "resourceclaimtemplates"
                | "resourcepoolstatusrequests"
                | "resourceslices"
        ),
        "storage.k8s.io" => matches!(
            plural,
            "csidrivers" | "csinodes" | "storageclasses" | "volumeattachments" | "volumeattributesclasses"
        ),
        _ => false,
    }
}

/// The policy is kept as a finalizer, which the garbage collector acts on and removes. Without one, what is there stays, and
/// where nothing is there the kind's default counts (`deletionFinalizersForGarbageCollection`).
fn set_propagation(object: &mut Value, policy: Option<PropagationPolicy>, default: Dependents) {
    let finalizers = list_at(object, "/metadata/finalizers");
    let is_set = finalizers.iter().any(|one| *one == ORPHAN || *one == FOREGROUND);
    let policy = match (default, policy) {
        (Dependents::Unsupported, _) => PropagationPolicy::Background,
        (_, Some(policy)) => policy,
        (Dependents::Deleted, None) => return,
        (Dependents::Orphaned | Dependents::OrphanedWithWarning, None) if is_set => return,
        (Dependents::Orphaned | Dependents::OrphanedWithWarning, None) => PropagationPolicy::Orphan,
    };
    let mut kept: Vec<Value> = finalizers
        .iter()
        .filter(|name| **name != ORPHAN && **name != FOREGROUND)
        .cloned()
        .collect();
    match policy {
        PropagationPolicy::Orphan => kept.push(ORPHAN.into()),
        PropagationPolicy::Foreground => kept.push(FOREGROUND.into()),
        PropagationPolicy::Background => {}
    }
    let is_same = kept.len() == finalizers.len() && kept.iter().all(|name| finalizers.contains(name));
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    if kept.is_empty() {
        metadata.remove("finalizers");
    } else if !is_same {
        metadata.insert("finalizers".into(), kept.into());
    }
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let mut finalizers = list_at(object, "/metadata/finalizers").to_vec();
    if finalizers.iter().all(|one| one != finalizer) {
        finalizers.push(finalizer.into());
        set(object, "finalizers", finalizers);
    }
}

/// An end is a new generation of what has one.
fn count(object: &mut Value) {
    if let Some(generation) = int_at(object, "/metadata/generation").filter(|generation| *generation > 0) {
        set(object, "generation", generation.saturating_add(1));
    }
}

fn set_deletion(object: &mut Value, when: Timestamp, grace: i64) {
    set(object, "deletionTimestamp", when.to_string());
    set(object, "deletionGracePeriodSeconds", grace);
}

fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(field.to_owned(), value.into());
    }
}

/// So many seconds later, as far as time goes.
fn later(from: Timestamp, seconds: i64) -> Timestamp {
    from.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(from)
}

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

#[cfg(test)]
mod tests {
    use super::super::strategy;
    use super::*;

    const NOW: &str = "2026-01-01T00:01:00Z";

    fn options(options: Value) -> DeleteOptions {
        serde_json::from_value(options).unwrap()
    }

    /// `metadata` is what the object has, `expect` the metadata it gets; `None` where it goes at once.
    fn check(plural: &str, object: Value, how: Value, expect: &DeleteStep) {
        let found = delete(
            strategy("", plural),
            &object,
            &options(how.clone()),
            NOW.parse().unwrap(),
        );
        assert_eq!(found, *expect, "{plural} {object} {how}");
    }

    fn pod(metadata: Value) -> Value {
        json!({"metadata": metadata, "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}})
    }

    #[test]
    fn pods_have_time_to_end() {
        let ending = |due: &str, grace: i64| {
            pod(json!({"deletionTimestamp": due, "deletionGracePeriodSeconds": grace}))
        };
        let (in_20, in_10, ago) = (
            "2026-01-01T00:01:20Z",
            "2026-01-01T00:01:10Z",
            "2026-01-01T00:00:00Z",
        );
        for (object, how, expect) in [
            (
                pod(json!({})),
                json!({}),
                DeleteStep::Mark(ending("2026-01-01T00:01:30Z", 30)),
            ),
            (
                pod(json!({})),
                json!({"gracePeriodSeconds": 10}),
                DeleteStep::Mark(ending(in_10, 10)),
            ),
            (
                pod(json!({})),
                json!({"gracePeriodSeconds": -5}),
                DeleteStep::Mark(ending("2026-01-01T00:01:01Z", 1)),
            ),
            (
                pod(json!({})),
                json!({"gracePeriodSeconds": 0}),
                DeleteStep::MarkThenRemove(ending(NOW, 0)),
            ),
            // Only a shorter period counts, from when the first began.
            (ending(in_20, 30), json!({}), DeleteStep::Keep),
            (
                ending(in_20, 30),
                json!({"gracePeriodSeconds": 30}),
                DeleteStep::Keep,
            ),
            (
                ending(in_20, 30),
                json!({"gracePeriodSeconds": 20}),
                DeleteStep::Mark(ending(in_10, 20)),
            ),
            (
                ending(in_20, 30),
                json!({"gracePeriodSeconds": 5}),
                DeleteStep::Mark(ending(NOW, 1)),
            ),
            (
                ending(in_20, 30),
                json!({"gracePeriodSeconds": 0}),
                DeleteStep::MarkThenRemove(ending(NOW, 0)),
            ),
            (ending(ago, 0), json!({}), DeleteStep::Remove),
        ] {
            check("pods", object, how, &expect);
        }
        let mut unscheduled = pod(json!({"generation": 3}));
        unscheduled["spec"]["nodeName"] = json!("");
        let mut gone = unscheduled.clone();
        gone["metadata"] =
            json!({"generation": 4, "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0});
        check("pods", unscheduled, json!({}), &DeleteStep::MarkThenRemove(gone));
        let held = pod(json!({"finalizers": ["a/b"]}));
        let marked =
            pod(json!({"finalizers": ["a/b"], "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}));
        check(
            "pods",
            held,
            json!({"gracePeriodSeconds": 0}),
            &DeleteStep::Mark(marked),
        );
    }

    #[test]
    fn finalizers_hold() {
        let with = |metadata: Value| json!({"metadata": metadata});
        let held = |finalizers: Value| {
            with(json!({"finalizers": finalizers, "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}))
        };
        for (metadata, how, expect) in [
            (json!({}), json!({}), DeleteStep::Remove),
            (
                json!({"finalizers": ["a/b"]}),
                json!({}),
                DeleteStep::Mark(held(json!(["a/b"]))),
            ),
            (
                json!({}),
                json!({"propagationPolicy": "Orphan"}),
                DeleteStep::Mark(held(json!(["orphan"]))),
            ),
            (
                json!({}),
                json!({"propagationPolicy": "Foreground"}),
                DeleteStep::Mark(held(json!(["foregroundDeletion"]))),
            ),
            (
                json!({"finalizers": ["orphan"]}),
                json!({"propagationPolicy": "Background"}),
                DeleteStep::Remove,
            ),
            (
                json!({"finalizers": ["orphan"]}),
                json!({}),
                DeleteStep::Mark(held(json!(["orphan"]))),
            ),
            (
                json!({"finalizers": ["orphan", "a/b"]}),
                json!({"propagationPolicy": "Foreground"}),
                DeleteStep::Mark(held(json!(["a/b", "foregroundDeletion"]))),
            ),
            (
                held(json!(["a/b"]))["metadata"].clone(),
                json!({}),
                DeleteStep::Keep,
            ),
        ] {
            check("configmaps", with(metadata), how, &expect);
        }
        check(
            "events",
            with(json!({})),
            json!({"propagationPolicy": "Orphan"}),
            &DeleteStep::Remove,
        );
        let counted = with(json!({"generation": 1, "finalizers": ["a/b"]}));
        let marked = with(
            json!({"generation": 2, "finalizers": ["a/b"], "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}),
        );
        check("podtemplates", counted, json!({}), &DeleteStep::Mark(marked));
    }

    #[test]
    fn namespaces_end_in_two_steps() {
        let namespace = |metadata: Value, finalizers: Value, phase: &str| {
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata,
                "spec": {"finalizers": finalizers}, "status": {"phase": phase}})
        };
        let of = json!(["kubernetes"]);
        let fresh = namespace(json!({}), of.clone(), "Active");
        let ending = |finalizers: Option<Value>| {
            let mut metadata = json!({"deletionTimestamp": NOW});
            if let Some(finalizers) = finalizers {
                metadata["finalizers"] = finalizers;
            }
            namespace(metadata, of.clone(), "Terminating")
        };
        for (object, how, expect) in [
            (fresh.clone(), json!({}), DeleteStep::Mark(ending(None))),
            (
                fresh.clone(),
                json!({"propagationPolicy": "Orphan"}),
                DeleteStep::Mark(ending(Some(json!(["orphan"])))),
            ),
            (
                fresh,
                json!({"orphanDependents": false}),
                DeleteStep::Mark(ending(Some(json!(["foregroundDeletion"])))),
            ),
            (ending(None), json!({}), DeleteStep::Keep),
            (
                namespace(json!({"deletionTimestamp": NOW}), json!([]), "Terminating"),
                json!({}),
                DeleteStep::Remove,
            ),
        ] {
            check("namespaces", object, how, &expect);
        }
    }
}
