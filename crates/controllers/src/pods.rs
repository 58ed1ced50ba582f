//! What controllers ask of pods.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition};

/// Whether a pod counts for its owner: neither over nor on its way out (client-go has it as `IsPodActive`).
pub(crate) fn is_active(pod: &Pod) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed") && pod.metadata.deletion_timestamp.is_none()
}

/// Whether a pod is on its way out, but not over yet.
pub(crate) fn is_terminating(pod: &Pod) -> bool {
    !matches!(phase(pod), "Succeeded" | "Failed") && pod.metadata.deletion_timestamp.is_some()
}

pub(crate) fn phase(pod: &Pod) -> &str {
    let status = pod.status.as_ref();
    status
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

pub(crate) fn condition<'a>(pod: &'a Pod, type_: &str) -> Option<&'a PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Since when a pod is ready; `None` if it is not.
pub(crate) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|condition| condition.status == "True")?;
    let since = ready.last_transition_time.as_ref();
    Some(since.map_or(Timestamp::UNIX_EPOCH, |time| time.0))
}

/// How long it takes until a pod is available: zero if it is, `None` if it is not even ready.
pub(crate) fn available_in(pod: &Pod, min_ready: Duration, now: Timestamp) -> Option<Duration> {
    let since = ready_since(pod)?;
    let elapsed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    Some(min_ready.saturating_sub(elapsed))
}

/// `minReadySeconds` and its like.
pub(crate) fn seconds(value: Option<i32>) -> Duration {
    Duration::from_secs(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
}
