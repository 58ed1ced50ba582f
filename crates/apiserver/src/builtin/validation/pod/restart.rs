//! Restart policies of single containers (KEP-753 for sidecars, KEP-5307 for rules).
//!
//! Upstream: `validateContainerRestartPolicy` and `validateInitContainerRestartPolicy`.

use super::super::field::{Errors, Field};
use kubewright_core::FieldError;

/// The most rules of one container.
const RULES_MAX: usize = 20;
/// The most exit codes of one rule: there are no more.
const EXIT_CODES_MAX: usize = 255;

pub(super) fn check(errors: &mut Errors, container: &Field<'_, '_>) {
    let (policy, rules) = (
        container.get("restartPolicy"),
        container.get("restartPolicyRules"),
    );
    if !policy.exists() {
        if rules.is_empty() {
            return;
        }
        policy.required(errors, "must specify restartPolicy when restart rules are used");
    }
    policy.one_of(errors, &["Always", "Never", "OnFailure"]);
    if rules.len() > RULES_MAX {
        errors.push(FieldError::too_many(rules.path(), rules.len(), RULES_MAX));
    }
    for rule in rules.items() {
        let actions = ["Restart", "RestartAllContainers"];
        if !actions.contains(&rule.get("action").text()) {
            rule.get("action").not_supported(errors, &actions);
        }
        let codes = rule.get("exitCodes");
        if !codes.exists() {
            codes.required(errors, "must be specified");
            continue;
        }
        let operators = ["In", "NotIn"];
        if !operators.contains(&codes.get("operator").text()) {
            codes.get("operator").not_supported(errors, &operators);
        }
        let values = codes.get("values");
        if values.len() > EXIT_CODES_MAX {
            errors.push(FieldError::too_many(values.path(), values.len(), EXIT_CODES_MAX));
        }
    }
}
