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

fn is_late(conditions: &Conditions, limit: Duration) -> bool {
    conditions.reason(PROGRESSING) == "ProgressDeadlineExceeded"
        || left(conditions, limit).is_some_and(|left| left.is_zero())
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
