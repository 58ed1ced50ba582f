//! Budgets for disruptions of pods.
//!
//! Upstream: `pkg/apis/policy/validation/validation.go`.

use serde_json::Value;

use super::super::field::{Errors, Field};
use super::format::{at_most_all, conditions, int_or_percent, label_selector};

/// A budget (`ValidatePodDisruptionBudget`).
pub(crate) fn budget(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let (available, unavailable) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    if available.exists() && unavailable.exists() {
        spec.invalid(&mut errors, "minAvailable and maxUnavailable cannot be both set");
    }
    for node in [&available, &unavailable] {
        int_or_percent(&mut errors, node);
        at_most_all(&mut errors, node);
    }
    label_selector(&mut errors, &spec.get("selector"));
    spec.get("unhealthyPodEvictionPolicy")
        .one_of(&mut errors, &["AlwaysAllow", "IfHealthyBudget"]);
    errors
}

/// What the controller reports (`ValidatePodDisruptionBudgetStatusUpdate`).
pub(crate) fn budget_status(subresource: &str, new: &Value, _: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource == "status" {
        let root = Field::root("", new);
        let status = root.get("status");
        conditions(&mut errors, &status.get("conditions"));
        let counters = [
            "disruptionsAllowed",
            "currentHealthy",
            "desiredHealthy",
            "expectedPods",
        ];
        status.check_counters(&mut errors, &counters);
    }
    errors
}
