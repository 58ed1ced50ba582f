//! What a disruption budget says to the eviction of a pod (pkg/registry/core/pod/storage/eviction.go).
//!
//! Pure: the handler reads and stores, this decides.

use kubewright_core::{GroupResource, LabelSelector, Status, StatusCause, StatusDetails, StatusReason};
use serde_json::{Map, Value, json};

use super::value::{at, int_at, list_at, set_condition, str_at};
use crate::error::{ApiError, ApiResult};

/// Whether a pod may go whatever its budgets say: it never ran, has ended, or is going already.
pub(crate) fn ignores_budgets(pod: &Value) -> bool {
    has_ended(pod) || str_at(pod, "/status/phase") == "Pending"
}

/// Whether a pod that goes without a budget's leave has to be at the version that was looked at: it could have become one that
/// counts meanwhile.
pub(crate) fn must_be_unchanged(pod: &Value) -> bool {
    !has_ended(pod)
}

fn has_ended(pod: &Value) -> bool {
    matches!(str_at(pod, "/status/phase"), "Succeeded" | "Failed")
        || at(pod, "/metadata/deletionTimestamp").is_some()
}

/// Whether a budget is about a pod of its namespace. One without a selector is about none, and so is one whose selector cannot
/// be read.
pub(crate) fn selects(budget: &Value, pod: &Value) -> bool {
    let Some(spec) = at(budget, "/spec/selector").and_then(|spec| serde_json::from_value(spec.clone()).ok())
    else {
        return false;
    };
    LabelSelector::from_spec(&spec)
        .is_ok_and(|selector| selector.matches(|key| pod["metadata"]["labels"][key].as_str()))
}

/// Whether a pod may go without using up the budget: it is not ready, so nobody misses it, and the budget's policy for such
/// pods lets it.
pub(crate) fn spares(budget: &Value, pod: &Value) -> bool {
    let is_ready = list_at(pod, "/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    if is_ready {
        return false;
    }
    let (current, desired) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    str_at(budget, "/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow" || (current >= desired && desired > 0)
}

/// Takes one disruption out of a budget, for the pod `name` at the time `now`.
///
/// # Errors
/// 429 when the budget allows none now, 403 when its status makes no sense.
pub(crate) fn take(budget: &mut Value, name: &str, now: &str) -> ApiResult<()> {
    let budget_name = str_at(budget, "/metadata/name").to_owned();
    if count(budget, "observedGeneration") < int_at(budget, "/metadata/generation").unwrap_or(0) {
        return Err(ApiError::from(busy(&budget_name)));
    }
    let allowed = count(budget, "disruptionsAllowed");
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        return Err(ApiError::from(senseless(&budget_name, why, why)));
    }
    let disrupted = budget.pointer("/status/disruptedPods").and_then(Value::as_object);
    if disrupted.is_some_and(|pods| pods.len() > MAX_DISRUPTED_PODS) {
        return Err(ApiError::from(senseless(
            &budget_name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            "too many pending evictions not confirmed by PDB controller",
        )));
    }
    if allowed == 0 {
        return Err(ApiError::from(violated(0, refusal(budget, &budget_name))));
    }
    let observed = count(budget, "observedGeneration");
    let status = budget
        .as_object_mut()
        .map(|fields| fields.entry("status").or_insert_with(|| json!({})));
    let Some(status) = status.and_then(Value::as_object_mut) else {
        return Ok(());
    };
    status.insert("disruptionsAllowed".into(), (allowed - 1).into());
    if allowed == 1 {
        set_insufficient(status, observed, now);
    }
    let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
    if let Some(disrupted) = disrupted.as_object_mut() {
        disrupted.insert(name.to_owned(), now.into());
    }
    Ok(())
}

/// The budget is being worked on; the client is to come again.
pub(crate) fn busy(budget: &str) -> Status {
    let why = format!("The disruption budget {budget} is still being processed by the server.");
    violated(RETRY_SECONDS, why)
}

/// Says of a pod that it goes by an eviction, at the time `now`.
pub(crate) fn mark_pod(pod: &mut Value, now: &str) {
    set_condition(
        pod,
        json!({
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }),
        now,
    );
}

fn count(budget: &Value, field: &str) -> i64 {
    budget["status"][field].as_i64().unwrap_or(0)
}

/// Why a budget without disruptions left refuses. Its numbers mean nothing while it is out of step with its pods.
fn refusal(budget: &Value, name: &str) -> String {
    let condition = list_at(budget, "/status/conditions")
        .iter()
        .find(|condition| condition["type"] == DISRUPTION_ALLOWED && condition["status"] == "False");
    let text = |field| condition.map_or("", |condition| condition[field].as_str().unwrap_or_default());
    let (reason, message) = (text("reason"), text("message"));
    let (current, desired) = (count(budget, "currentHealthy"), count(budget, "desiredHealthy"));
    let refuses = format!("The disruption budget {name} does not allow evicting pods currently");
    if reason == "SyncFailed" && !message.is_empty() {
        format!("{refuses} because it failed sync: {message}")
    } else if current <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
    } else if !message.is_empty() {
        format!("{refuses} ({reason}): {message}")
    } else {
        refuses
    }
}

fn violated(retry_after_seconds: u32, why: String) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status::failure(StatusReason::TooManyRequests, message).with_details(StatusDetails {
        causes: vec![cause(why)],
        retry_after_seconds,
        ..StatusDetails::default()
    })
}

fn senseless(budget: &str, why: &str, cause_why: &str) -> Status {
    let mut status = Status::forbidden(&GroupResource::new("policy", "poddisruptionbudget"), budget, why);
    let details = status.details.get_or_insert_with(StatusDetails::default);
    details.causes.push(cause(format!(
        "The disruption budget {budget} does not allow evicting pods currently: {cause_why}"
    )));
    status
}

fn cause(message: String) -> StatusCause {
    StatusCause {
        reason: "DisruptionBudget".into(),
        message,
        field: String::new(),
    }
}

/// component-helpers apps/poddisruptionbudget `UpdateDisruptionAllowedCondition`, for a budget that is used up.
fn set_insufficient(status: &mut Map<String, Value>, observed: i64, now: &str) {
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let present = conditions
        .iter()
        .position(|condition| condition["type"] == DISRUPTION_ALLOWED);
    let since = match present.map(|at| &conditions[at]) {
        Some(present) if present["status"] == "False" => present["lastTransitionTime"].clone(),
        _ => now.into(),
    };
    let condition = json!({
        "type": DISRUPTION_ALLOWED,
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": observed,
        "lastTransitionTime": since,
    });
    match present {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";
/// Evictions that the controller has not yet seen through, at most (`MaxDisruptedPodSize`).
const MAX_DISRUPTED_PODS: usize = 2000;
/// When a client whose budget is being worked on is to come again, in seconds.
const RETRY_SECONDS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn budget(status: Value) -> Value {
        json!({
            "metadata": {"name": "b", "generation": 2},
            "spec": {"selector": {"matchLabels": {"app": "a"}}},
            "status": status,
        })
    }

    #[test]
    fn budgets_refuse_in_upstreams_words() {
        #[track_caller]
        fn check(status: Value, code: u16, retry: u32, why: &str) {
            let refused = take(&mut budget(status), "p", NOW).unwrap_err();
            let refused = refused.status();
            assert_eq!(refused.code, code);
            let details = refused.details.as_ref().unwrap();
            assert_eq!(details.retry_after_seconds, retry);
            assert_eq!(details.causes[0].reason, "DisruptionBudget");
            assert_eq!(details.causes[0].message, why);
        }
        check(
            json!({"observedGeneration": 1, "disruptionsAllowed": 3}),
            429,
            10,
            "The disruption budget b is still being processed by the server.",
        );
        check(
            json!({"observedGeneration": 2, "disruptionsAllowed": -1}),
            403,
            0,
            "The disruption budget b does not allow evicting pods currently: pdb disruptions allowed is negative",
        );
        let many: Map<String, Value> = (0..=MAX_DISRUPTED_PODS)
            .map(|i| (i.to_string(), json!(NOW)))
            .collect();
        check(
            json!({"observedGeneration": 2, "disruptionsAllowed": 1, "disruptedPods": many}),
            403,
            0,
            "The disruption budget b does not allow evicting pods currently: too many pending evictions not confirmed by PDB \
             controller",
        );
        check(
            json!({"observedGeneration": 2, "currentHealthy": 2, "desiredHealthy": 3}),
            429,
            0,
            "The disruption budget b needs 3 healthy pods and has 2 currently",
        );
        let condition = |reason: &str| json!([{"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": "m"}]);
        check(
            json!({"observedGeneration": 2, "conditions": condition("SyncFailed")}),
            429,
            0,
            "The disruption budget b does not allow evicting pods currently because it failed sync: m",
        );
        check(
            json!({"observedGeneration": 2, "currentHealthy": 4, "desiredHealthy": 3, "conditions": condition("InsufficientPods")}),
            429,
            0,
            "The disruption budget b does not allow evicting pods currently (InsufficientPods): m",
        );
        check(
            json!({"observedGeneration": 2, "currentHealthy": 4, "desiredHealthy": 3}),
            429,
            0,
            "The disruption budget b does not allow evicting pods currently",
        );
    }

    #[test]
    fn an_eviction_is_noted() {
        let mut budget = budget(json!({"observedGeneration": 2, "disruptionsAllowed": 2}));
        take(&mut budget, "p", NOW).unwrap();
        assert_eq!(
            budget["status"],
            json!({"observedGeneration": 2, "disruptionsAllowed": 1, "disruptedPods": {"p": NOW}})
        );
        take(&mut budget, "q", NOW).unwrap();
        assert_eq!(budget["status"]["disruptionsAllowed"], 0);
        assert_eq!(budget["status"]["conditions"][0]["reason"], "InsufficientPods");
        assert!(take(&mut budget, "r", NOW).is_err());
    }

    #[test]
    fn which_pods_a_budget_is_about() {
        #[track_caller]
        fn check(selector: Value, labels: Value, expect: bool) {
            let budget = json!({"spec": {"selector": selector}});
            assert_eq!(selects(&budget, &json!({"metadata": {"labels": labels}})), expect);
        }
        check(json!({"matchLabels": {"app": "a"}}), json!({"app": "a"}), true);
        check(json!({"matchLabels": {"app": "a"}}), json!({"app": "b"}), false);
        check(json!({}), json!({"app": "b"}), true);
        check(json!(null), json!({"app": "b"}), false);
        check(
            json!({"matchExpressions": [{"key": "app", "operator": "Strange"}]}),
            json!({"app": "b"}),
            false,
        );
    }

    #[test]
    fn unready_pods_and_the_policy_for_them() {
        #[track_caller]
        fn check(policy: &str, status: Value, ready: &str, expect: bool) {
            let mut budget = budget(status);
            budget["spec"]["unhealthyPodEvictionPolicy"] = policy.into();
            let pod = json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}});
            assert_eq!(spares(&budget, &pod), expect);
        }
        check("AlwaysAllow", json!({}), "False", true);
        check("AlwaysAllow", json!({}), "True", false);
        check("", json!({}), "False", false);
        check(
            "IfHealthyBudget",
            json!({"currentHealthy": 2, "desiredHealthy": 2}),
            "False",
            true,
        );
        check(
            "IfHealthyBudget",
            json!({"currentHealthy": 1, "desiredHealthy": 2}),
            "False",
            false,
        );
    }
}
