//! The status of a deployment (kubernetes `pkg/controller/deployment/sync.go`, `progress.go`). Reasons and messages are
//! what `kubectl rollout status` and people know.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::revision::Revision;
use super::rollout::Sizes;
use crate::workload::Workload;

/// The status as JSON, since types of conditions differ between versions of Kubernetes, and after what time the deadline of
/// the present rollout passes.
pub(super) fn status(
    deployment: &Workload<Deployment>,
    revisions: &[Revision],
    current: Option<usize>,
    sizes: &Sizes,
    now: Timestamp,
) -> (Value, Option<Duration>) {
    let sum = |count: fn(&Revision) -> i64| -> i64 { revisions.iter().map(count).sum() };
    let of_current = |count: fn(&Revision) -> i64| current.map_or(0, |at| count(&revisions[at]));
    let available = sum(|revision| revision.available);
    let mut status = json!({
        "observedGeneration": deployment.object.metadata.generation,
        "replicas": sum(|revision| revision.actual),
        "updatedReplicas": of_current(|revision| revision.actual),
        "readyReplicas": sum(|revision| revision.ready),
        "availableReplicas": available,
        "unavailableReplicas": (sum(|revision| revision.replicas) - available).max(0),
    });
    let present = &deployment.value["status"];
    let mut conditions = Conditions {
        list: present["conditions"].as_array().cloned().unwrap_or_default(),
        now,
    };
    if available >= sizes.least() {
        conditions.set(
            "Available",
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        );
    } else {
        conditions.set(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        );
    }
    let name = current.map(|at| revisions[at].name());
    progress(&mut conditions, deployment, present, &status, name, sizes);
    let failure = current.and_then(|at| failure(&revisions[at]));
    conditions
        .list
        .retain(|condition| condition["type"] != "ReplicaFailure");
    conditions.list.extend(failure);
    let again = deadline(deployment, &conditions);
    status["conditions"] = conditions.list.into();
    (status, again)
}

struct Conditions {
    list: Vec<Value>,
    now: Timestamp,
}

impl Conditions {
    fn find(&self, type_: &str) -> Option<&Value> {
        self.list.iter().find(|condition| condition["type"] == type_)
    }

    fn reason(&self, type_: &str) -> &str {
        self.find(type_)
            .and_then(|condition| condition["reason"].as_str())
            .unwrap_or_default()
    }

    /// Sets a condition, unless status and reason are as they were.
    fn set(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let present = self.find(type_);
        if present.is_some_and(|present| present["status"] == status && present["reason"] == reason) {
            return;
        }
        self.renew(type_, status, reason, message);
    }

    /// As [`set`](Self::set), and notes that there was news even if status and reason stay.
    fn renew(&mut self, type_: &str, status: &str, reason: &str, message: &str) {
        let now = json!(Time(self.now));
        let since = self
            .find(type_)
            .filter(|present| present["status"] == status)
            .map_or_else(|| now.clone(), |present| present["lastTransitionTime"].clone());
        self.list.retain(|condition| condition["type"] != type_);
        self.list.push(json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": since,
        }));
    }
}

/// Whether the rollout goes on, is complete, or takes too long.
fn progress(
    conditions: &mut Conditions,
    deployment: &Workload<Deployment>,
    before: &Value,
    after: &Value,
    set: Option<&str>,
    sizes: &Sizes,
) {
    let Some(limit) = limit(deployment) else {
        conditions
            .list
            .retain(|condition| condition["type"] != PROGRESSING);
        return;
    };
    if deployment.spec.paused {
        conditions.set(PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused");
        return;
    }
    if conditions.reason(PROGRESSING) == "DeploymentPaused" {
        conditions.set(
            PROGRESSING,
            "Unknown",
            "DeploymentResumed",
            "Deployment is resumed",
        );
    }
    let count = |status: &Value, field: &str| status[field].as_i64().unwrap_or(0);
    let (updated, replicas) = (count(after, "updatedReplicas"), count(after, "replicas"));
    // A complete rollout stays complete until the template changes, even when a pod is lost.
    if conditions.reason(PROGRESSING) == "NewReplicaSetAvailable" && updated == replicas {
        return;
    }
    let what = match set {
        Some(name) => format!("ReplicaSet \"{name}\""),
        None => format!(
            "Deployment \"{}\"",
            deployment.object.metadata.name.as_deref().unwrap_or_default()
        ),
    };
    let is_complete = set.is_some()
        && [updated, replicas, count(after, "availableReplicas")]
            .iter()
            .all(|count| *count == sizes.desired);
    let has_progressed = updated > count(before, "updatedReplicas")
        || replicas - updated < count(before, "replicas") - count(before, "updatedReplicas")
        || count(after, "readyReplicas") > count(before, "readyReplicas")
        || count(after, "availableReplicas") > count(before, "availableReplicas");
    if is_complete {
        let message = format!("{what} has successfully progressed.");
        conditions.set(PROGRESSING, "True", "NewReplicaSetAvailable", &message);
    } else if has_progressed {
        let message = format!("{what} is progressing.");
        conditions.renew(PROGRESSING, "True", "ReplicaSetUpdated", &message);
    } else if is_late(conditions, limit) {
        let message = format!("{what} has timed out progressing.");
        conditions.set(PROGRESSING, "False", "ProgressDeadlineExceeded", &message);
    } else if let Some(name) = set
        && matches!(conditions.reason(PROGRESSING), "" | "NewReplicaSetAvailable")
    {
        let message = format!("Created new replica set \"{name}\"");
        conditions.renew(PROGRESSING, "True", "NewReplicaSetCreated", &message);
    }
}

/// `None` where no deadline is wanted: the largest number says so.
fn limit(deployment: &Workload<Deployment>) -> Option<Duration> {
    let seconds = deployment.spec.progress_deadline_seconds.unwrap_or(600);
    let seconds = Some(seconds).filter(|seconds| *seconds != i32::MAX)?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Whether the rollout has had no news for too long. The time since a rollout that was complete says nothing of the one
/// that follows it (upstream's `DeploymentTimedOut`).
fn is_late(conditions: &Conditions, limit: Duration) -> bool {
    match conditions.reason(PROGRESSING) {
        "NewReplicaSetAvailable" => false,
        "ProgressDeadlineExceeded" => true,
        _ => left(conditions, limit).is_some_and(|left| left.is_zero()),
    }
}

/// How long the rollout may go on without news.
fn left(conditions: &Conditions, limit: Duration) -> Option<Duration> {
    let condition = conditions.find(PROGRESSING)?;
    let since: Time = serde_json::from_value(condition["lastUpdateTime"].clone()).ok()?;
    let passed = Duration::try_from(conditions.now.duration_since(since.0)).unwrap_or_default();
    Some(limit.saturating_sub(passed))
}

fn deadline(deployment: &Workload<Deployment>, conditions: &Conditions) -> Option<Duration> {
    let running = ["ReplicaSetUpdated", "NewReplicaSetCreated", "DeploymentResumed"];
    if !running.contains(&conditions.reason(PROGRESSING)) {
        return None;
    }
    // Times are in whole seconds: a moment later it has surely passed.
    Some(left(conditions, limit(deployment)?)? + Duration::from_secs(1))
}

/// What keeps the new replica set from having its pods.
fn failure(revision: &Revision) -> Option<Value> {
    let conditions = revision.set.value["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == "ReplicaFailure")?;
    let mut failure = found.clone();
    failure["lastUpdateTime"] = found["lastTransitionTime"].clone();
    Some(failure)
}

const PROGRESSING: &str = "Progressing";

#[cfg(test)]
mod tests {
    use kubewright_cache::Cached;

    use super::*;

    /// Pods of all templates, of the present one, and those of them that are available.
    type Counts = (i64, i64, i64);

    /// The reason after `elapsed` seconds without a condition written, and when the next look is due.
    fn reason_after(
        before: (&str, Counts),
        after: Counts,
        elapsed: i64,
        spec: &Value,
    ) -> (String, Option<Duration>) {
        let start = Timestamp::from_second(1_000_000).unwrap();
        let (reason, (replicas, updated, available)) = before;
        let conditions = if reason.is_empty() {
            json!([])
        } else {
            json!([{"type": PROGRESSING, "status": "True", "reason": reason,
                "lastUpdateTime": Time(start), "lastTransitionTime": Time(start)}])
        };
        let mut deployment = json!({
            "metadata": {"name": "d", "resourceVersion": "1"},
            "spec": {"replicas": 3, "progressDeadlineSeconds": 600, "selector": {}},
            "status": {"replicas": replicas, "updatedReplicas": updated, "readyReplicas": available,
                "availableReplicas": available, "conditions": conditions},
        });
        for (field, value) in spec.as_object().unwrap() {
            deployment["spec"][field] = value.clone();
        }
        let deployment: Cached<Deployment> = Cached::from_json(deployment.to_string().as_bytes()).unwrap();
        let deployment = Workload::of(&deployment).unwrap();
        let (replicas, updated, available) = after;
        let set = |name: &str, replicas: i64, available: i64| {
            let set = json!({
                "metadata": {"name": name, "resourceVersion": "1"},
                "spec": {"replicas": replicas, "selector": {}},
                "status": {"replicas": replicas, "readyReplicas": available, "availableReplicas": available},
            });
            Revision::of(&Cached::from_json(set.to_string().as_bytes()).unwrap()).unwrap()
        };
        let new = available.min(updated);
        let revisions = [
            set("old", replicas - updated, available - new),
            set("new", updated, new),
        ];
        let sizes = Sizes::of(&deployment.spec);
        let now = start + jiff::SignedDuration::from_secs(elapsed);
        let (status, again) = status(&deployment, &revisions, Some(1), &sizes, now);
        let conditions = status["conditions"].as_array().unwrap();
        let found = conditions
            .iter()
            .find(|condition| condition["type"] == PROGRESSING);
        let reason = found.map_or("", |found| found["reason"].as_str().unwrap());
        (reason.to_owned(), again)
    }

    #[test]
    fn progress_is_reported_from_what_was_and_is() {
        const COMPLETE: &str = "NewReplicaSetAvailable";
        const CREATED: &str = "NewReplicaSetCreated";
        const UPDATED: &str = "ReplicaSetUpdated";
        const LATE: &str = "ProgressDeadlineExceeded";
        let (all_old, all_new, mixed) = ((3, 0, 3), (3, 3, 3), (4, 1, 3));
        let none = json!({});
        // reason and counts before, counts after, seconds in between, more of the spec, expected reason
        for (before, after, elapsed, spec, expect) in [
            // The first rollout.
            (("", (0, 0, 0)), (0, 0, 0), 0, &none, CREATED),
            ((CREATED, (0, 0, 0)), (3, 3, 0), 1, &none, UPDATED),
            ((UPDATED, (3, 3, 0)), all_new, 1, &none, COMPLETE),
            // A complete one stays so, also with a pod lost.
            ((COMPLETE, all_new), all_new, 100_000, &none, COMPLETE),
            ((COMPLETE, all_new), (3, 3, 2), 100_000, &none, COMPLETE),
            // A new template long after: the quiet time is not held against it.
            ((COMPLETE, all_old), all_old, 100_000, &none, CREATED),
            ((COMPLETE, all_old), mixed, 100_000, &none, UPDATED),
            // No news for as long as the deadline, just before it, and after it was missed.
            ((UPDATED, mixed), mixed, 600, &none, LATE),
            ((CREATED, mixed), mixed, 600, &none, LATE),
            ((UPDATED, mixed), mixed, 599, &none, UPDATED),
            ((LATE, mixed), mixed, 1, &none, LATE),
            ((LATE, mixed), (4, 2, 3), 1, &none, UPDATED),
            ((LATE, mixed), all_new, 1, &none, COMPLETE),
            // Neither paused nor without a deadline can anything be late; resuming begins anew.
            (
                (UPDATED, mixed),
                mixed,
                100_000,
                &json!({"paused": true}),
                "DeploymentPaused",
            ),
            (
                ("DeploymentPaused", mixed),
                mixed,
                100_000,
                &none,
                "DeploymentResumed",
            ),
            (
                (UPDATED, mixed),
                mixed,
                100_000,
                &json!({"progressDeadlineSeconds": i32::MAX}),
                "",
            ),
        ] {
            let (reason, _) = reason_after(before, after, elapsed, spec);
            assert_eq!(
                reason, expect,
                "{before:?} to {after:?} after {elapsed} s, {spec}"
            );
        }
    }

    #[test]
    fn the_deadline_is_looked_at_when_it_passes() {
        let mixed = (4, 1, 3);
        for (reason, elapsed, expect) in [
            ("ReplicaSetUpdated", 100, Some(501)),
            ("NewReplicaSetAvailable", 100_000, Some(601)),
            ("ProgressDeadlineExceeded", 0, None),
        ] {
            let (_, again) = reason_after((reason, mixed), mixed, elapsed, &json!({}));
            assert_eq!(again, expect.map(Duration::from_secs), "{reason}");
        }
    }
}
