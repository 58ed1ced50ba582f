//! Jobs: their specification and what may change of it.
//!
//! Upstream: `pkg/apis/batch/validation/validation.go` and `pkg/registry/batch/job/strategy.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::super::warnings;
use super::super::field::{Errors, Field};
use super::super::names::{label, qualified_name};
use super::apps::mismatch;
use super::format::{domain_prefixed_path, label_selector, pod_name_warning, pod_template, selects};

/// As many pods as an indexed job may run at once: the list of completed indexes has to stay short.
const INDEXED_PARALLELISM_MAX: i64 = 100_000;
/// As many of its indexes may fail.
const FAILED_INDEXES_MAX: i64 = 100_000;
/// A job with more completions than this has narrower limits.
const COMPLETIONS_SOFT_LIMIT: i64 = 100_000;
/// Its parallelism and failed indexes.
const HIGH_COMPLETIONS_MAX: i64 = 10_000;
/// Rules of a policy for failed pods, and of one for success.
const POLICY_RULES_MAX: usize = 20;
/// Exit codes of one rule.
const EXIT_CODES_MAX: usize = 255;
/// Conditions of one rule.
const POD_CONDITIONS_MAX: usize = 20;
/// Bytes of the name of the controller.
const MANAGED_BY_MAX: usize = 63;
/// Bytes of a list of indexes.
const INDEXES_MAX: usize = 64 * 1024;

const LEGACY_UID: &str = "controller-uid";
const LEGACY_NAME: &str = "job-name";
const UID: &str = "batch.kubernetes.io/controller-uid";
const NAME: &str = "batch.kubernetes.io/job-name";

/// A job (`ValidateJobCreate`, `ValidateJobUpdate`).
pub(crate) fn job(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    if old.is_none() {
        generated_selector(&mut errors, &root);
    }
    job_spec(&mut errors, &spec);
    let (selector, template) = (spec.get("selector"), spec.get("template"));
    if !selector.exists() {
        selector.required(&mut errors, "");
    }
    label_selector(&mut errors, &selector);
    if selects(&selector, &template.get("metadata.labels")) == Some(false) {
        mismatch(&mut errors, &template);
    }
    if let Some(old) = old {
        job_update(&mut errors, &spec, &Field::root("", old));
    }
    name_allows_completions(&mut errors, &root);
    errors
}

/// Unless the user selects by hand, the labels are those that the server generates (`validateGeneratedSelector`).
fn generated_selector(errors: &mut Errors, job: &Field<'_, '_>) {
    let spec = job.get("spec");
    let selector = spec.get("selector");
    if spec.get("manualSelector").is_true() || !selector.exists() {
        return;
    }
    let metadata = job.get("metadata");
    let (uid, name) = (metadata.get("uid"), metadata.get("name").text());
    uid.check_given(errors, "");
    let expected = [
        (LEGACY_UID, uid.text()),
        (LEGACY_NAME, name),
        (UID, uid.text()),
        (NAME, name),
    ];
    let template = spec.get("template");
    let template_metadata = template.get("metadata");
    let labels = template_metadata.get("labels");
    for (key, value) in expected {
        let found = labels.key(key);
        if !found.exists() {
            found.required(errors, format!("must be '{value}'"));
        } else if found.text() != value {
            found.invalid_as(errors, labels.value.clone(), format!("must be '{value}'"));
        }
    }
    let labels: Value = expected
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(*value)))
        .collect();
    if selects(&selector, &Field::root("", &labels)) == Some(false) {
        selector.invalid(errors, "`selector` not auto-generated");
    }
}

/// The pods of an indexed job are named after their index.
fn name_allows_completions(errors: &mut Errors, job: &Field<'_, '_>) {
    let (spec, metadata) = (job.get("spec"), job.get("metadata"));
    let completions = spec.get("completions").int();
    if is_indexed(&spec) && completions > 0 {
        let name = metadata.get("name");
        let longest = format!("{}-{}", name.text(), completions - 1);
        if !label(&longest).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {longest}");
            name.invalid(errors, detail);
        }
    }
}

pub(super) fn is_indexed(spec: &Field<'_, '_>) -> bool {
    spec.get("completionMode").text() == "Indexed"
}

/// The specification without its selector, which a cron job leaves out (`validateJobSpec`).
pub(super) fn job_spec(errors: &mut Errors, spec: &Field<'_, '_>) {
    spec.check_counters(
        errors,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
    );
    if spec.get("maxFailedIndexes").exists() && !spec.get("backoffLimitPerIndex").exists() {
        spec.get("backoffLimitPerIndex")
            .required(errors, "when maxFailedIndexes is specified");
    }
    let manager = spec.get("managedBy");
    if manager.exists() {
        domain_prefixed_path(errors, &manager);
        manager.check_length(errors, MANAGED_BY_MAX);
    }
    completion_mode(errors, spec);
    let failure = spec.get("podFailurePolicy");
    if failure.exists() {
        failure_policy(errors, spec, &failure);
    }
    success_policy(errors, spec);
    let replacement = spec.get("podReplacementPolicy");
    if failure.exists() {
        replacement.one_of(errors, &["Failed"]);
    } else {
        replacement.one_of(errors, &["Failed", "TerminatingOrFailed"]);
    }
    let template = spec.get("template");
    pod_template(errors, &template);
    let pod = template.get("spec");
    let restart = pod.get("restartPolicy");
    match restart.text() {
        "" | "Always" => restart.required(errors, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if failure.exists() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            restart.invalid(errors, detail);
        }
        "OnFailure" | "Never" => {}
        _ => restart.not_supported(errors, &["OnFailure", "Never"]),
    }
}

fn completion_mode(errors: &mut Errors, spec: &Field<'_, '_>) {
    let mode = spec.get("completionMode");
    mode.one_of(errors, &["NonIndexed", "Indexed"]);
    let (completions, parallelism) = (spec.get("completions"), spec.get("parallelism"));
    let (failed, backoff) = (spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex"));
    if !is_indexed(spec) {
        if !mode.exists() || mode.text() == "NonIndexed" {
            for field in [&backoff, &failed] {
                if field.exists() {
                    field.invalid(errors, "requires indexed completion mode");
                }
            }
        }
        return;
    }
    if !completions.exists() {
        completions.required(errors, "when completion mode is Indexed");
    }
    if parallelism.int() > INDEXED_PARALLELISM_MAX {
        let detail = format!(
            "must be less than or equal to {INDEXED_PARALLELISM_MAX} when completion mode is Indexed"
        );
        parallelism.invalid(errors, detail);
    }
    if completions.exists() && failed.exists() && failed.int() > completions.int() {
        failed.invalid(errors, "must be less than or equal to completions");
    }
    if failed.int() > FAILED_INDEXES_MAX {
        failed.invalid(
            errors,
            format!("must be less than or equal to {FAILED_INDEXES_MAX}"),
        );
    }
    if completions.int() > COMPLETIONS_SOFT_LIMIT && backoff.exists() {
        if !failed.exists() {
            let detail = format!("must be specified when completions is above {COMPLETIONS_SOFT_LIMIT}");
            failed.required(errors, detail);
        }
        for field in [&parallelism, &failed] {
            if field.int() > HIGH_COMPLETIONS_MAX {
                let detail = format!(
                    "must be less than or equal to {HIGH_COMPLETIONS_MAX} when completions are above \
                     {COMPLETIONS_SOFT_LIMIT} and used with backoff limit per index"
                );
                field.invalid(errors, detail);
            }
        }
    }
}

fn failure_policy(errors: &mut Errors, spec: &Field<'_, '_>, policy: &Field<'_, '_>) {
    let rules = policy.get("rules");
    rules.check_count(errors, POLICY_RULES_MAX);
    let names: BTreeSet<&str> = ["/containers", "/initContainers"]
        .iter()
        .filter_map(|list| spec.value.pointer(&format!("/template/spec{list}"))?.as_array())
        .flatten()
        .filter_map(|container| container["name"].as_str())
        .collect();
    for rule in rules.items() {
        let action = rule.get("action");
        let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
        match action.text() {
            "" => action.required(
                errors,
                "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]",
            ),
            "FailIndex" if !spec.get("backoffLimitPerIndex").exists() => {
                action.invalid(errors, "requires the backoffLimitPerIndex to be set");
            }
            _ => action.one_of(errors, &actions),
        }
        let (codes, conditions) = (rule.get("onExitCodes"), rule.get("onPodConditions"));
        if codes.exists() {
            exit_codes(errors, &codes, &names);
        }
        conditions.check_count(errors, POD_CONDITIONS_MAX);
        for pattern in conditions.items() {
            let kind = pattern.get("type");
            kind.invalid_each(errors, qualified_name(kind.text()));
            pattern.get("status").check_choice(
                errors,
                &["False", "True", "Unknown"],
                "valid values: [\"False\" \"True\" \"Unknown\"]",
            );
        }
        match (codes.exists(), !conditions.is_empty()) {
            (true, true) => rule.invalid_unshown(
                errors,
                "specifying both OnExitCodes and OnPodConditions is not supported",
            ),
            (false, false) => {
                let detail = "specifying one of OnExitCodes and OnPodConditions is required";
                rule.invalid_unshown(errors, detail);
            }
            _ => {}
        }
    }
}

fn exit_codes(errors: &mut Errors, codes: &Field<'_, '_>, containers: &BTreeSet<&str>) {
    let operator = codes.get("operator");
    operator.check_choice(errors, &["In", "NotIn"], "valid values: [\"In\" \"NotIn\"]");
    let container = codes.get("containerName");
    if container.exists() && !containers.contains(container.text()) {
        container.invalid(
            errors,
            "must be one of the container or initContainer names in the pod template",
        );
    }
    let values = codes.get("values");
    if values.is_empty() {
        values.invalid(errors, "at least one value is required");
    } else {
        values.check_count(errors, EXIT_CODES_MAX);
    }
    let (mut seen, mut last, mut is_ordered) = (BTreeSet::new(), None, true);
    for code in values.items() {
        let number = code.int();
        if operator.text() == "In" && number == 0 {
            code.invalid(errors, "must not be 0 for the In operator");
        }
        if !seen.insert(number) {
            code.duplicate(errors);
        }
        is_ordered &= last.is_none_or(|last| last <= number);
        last = Some(number);
    }
    if !is_ordered {
        values.invalid(errors, "must be ordered");
    }
}

fn success_policy(errors: &mut Errors, spec: &Field<'_, '_>) {
    let policy = spec.get("successPolicy");
    if !policy.exists() {
        return;
    }
    if !is_indexed(spec) {
        return policy.invalid(errors, "requires indexed completion mode");
    }
    let rules = policy.get("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        rules.required(errors, detail);
    }
    rules.check_count(errors, POLICY_RULES_MAX);
    let completions = spec.get("completions").int();
    for rule in rules.items() {
        let (count, indexes) = (rule.get("succeededCount"), rule.get("succeededIndexes"));
        if !count.exists() && !indexes.exists() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            rule.required(errors, detail);
        }
        let mut total = 0;
        if indexes.exists() {
            indexes.check_length(errors, INDEXES_MAX);
            match count_indexes(indexes.text(), completions) {
                Ok(count) => total = count,
                Err(error) => indexes.invalid(errors, format!("error parsing succeededIndexes: {error}")),
            }
        }
        if count.exists() {
            count.not_negative(errors);
            if count.int() > completions {
                let detail = format!(
                    "must be less than or equal to {completions} (the number of specified completions)"
                );
                count.invalid(errors, detail);
            }
            if indexes.exists() && count.int() > total {
                let detail = format!(
                    "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
                );
                count.invalid(errors, detail);
            }
        }
    }
}

/// How many indexes a list such as `0-4,7` has, each below `completions` (`validateIndexesFormat`).
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last): (i64, Option<i64>) = (0, None);
    if text.is_empty() {
        return Ok(0);
    }
    for interval in text.split(',') {
        let (first, end) = index_interval(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {first}"
            ));
        }
        total = total.saturating_add(end - first + 1);
        last = Some(end);
    }
    Ok(total)
}

/// The first and the last index of `3` or `3-5`.
pub(super) fn index_interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let parts: Vec<&str> = text.split('-').collect();
    let index = |text: &str| {
        let index: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if index >= completions {
            return Err(format!("too large index: {text:?}"));
        }
        Ok(index)
    };
    match parts[..] {
        [only] => index(only).map(|index| (index, index)),
        [first, end] => {
            let (first, end) = (index(first)?, index(end)?);
            if first >= end {
                return Err(format!("non-increasing order, previous: {first}, current: {end}"));
            }
            Ok((first, end))
        }
        _ => Err(format!(
            "the fragment {text:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

fn job_update(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) {
    let old_spec = old.get("spec");
    let (completions, before) = (spec.get("completions"), old_spec.get("completions"));
    if !is_indexed(spec) {
        completions.immutable(errors, &before);
    } else if !completions.same(&before)
        && completions.exists()
        && completions.int() != spec.get("parallelism").int()
    {
        completions.invalid(errors, "can only be modified in tandem with spec.parallelism");
    }
    spec.check_fixed(errors, &old_spec, &["selector"]);
    template_update(errors, spec, old);
    spec.check_fixed(
        errors,
        &old_spec,
        &[
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        ],
    );
}

/// While a job is suspended and has no pods, where its pods may run and what they need can change
/// (`validatePodTemplateUpdate`; KEP-2926, KEP-5440).
fn template_update(errors: &mut Errors, spec: &Field<'_, '_>, old: &Field<'_, '_>) {
    let old_spec = old.get("spec");
    let (template, old_template) = (spec.get("template"), old_spec.get("template"));
    if template.same(&old_template) {
        return;
    }
    let status = old.get("status");
    let is_suspended = old_spec.get("suspend").is_true();
    let is_open = is_suspended
        && (!status.get("startTime").exists() || has_condition(&status, "Suspended"))
        && status.get("active").int() == 0;
    if !is_open {
        return template.immutable(errors, &old_template);
    }
    let (new, old) = (without_open(template.value), without_open(old_template.value));
    // Upstream compares the pods' specification alone here, under a path of one step.
    if !Field::root("", &new["spec"]).same(&Field::root("", &old["spec"])) {
        let detail = super::super::IMMUTABLE;
        spec.get("template.spec")
            .invalid_as(errors, template.value["spec"].clone(), detail);
    }
}

/// A template without what may change while a job waits: labels, annotations, directives of scheduling and resources.
fn without_open(template: &Value) -> Value {
    let mut template = template.clone();
    let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) else {
        return template;
    };
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        pod.remove(field);
    }
    let affinity = pod.get_mut("affinity").and_then(Value::as_object_mut);
    if affinity.is_some_and(|affinity| {
        affinity.remove("nodeAffinity");
        affinity.is_empty()
    }) {
        pod.remove("affinity");
    }
    for list in ["containers", "initContainers"] {
        let containers = pod.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            container.remove("resources");
        }
    }
    template
}

/// Whether a condition is true.
pub(super) fn has_condition(status: &Field<'_, '_>, kind: &str) -> bool {
    let conditions = status.get("conditions");
    conditions
        .list()
        .iter()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// What makes a job likely to surprise (`WarningsForJobSpec`).
pub(crate) fn job_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let mut warnings = Vec::new();
    match old {
        None => warnings.extend(pod_name_warning(&root)),
        Some(old) if old["metadata"]["generation"] == object["metadata"]["generation"] => return warnings,
        Some(_) => {}
    }
    warnings.extend(spec_warning(&root.get("spec")));
    warnings.extend(warnings::workload(object, old));
    warnings
}

pub(super) fn spec_warning(spec: &Field<'_, '_>) -> Option<String> {
    let (completions, parallelism) = (spec.get("completions").int(), spec.get("parallelism").int());
    let is_large = completions > COMPLETIONS_SOFT_LIMIT && parallelism > HIGH_COMPLETIONS_MAX;
    (is_indexed(spec) && is_large).then(|| {
        format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
             might not be able to track completedIndexes when a big number of indexes fail",
            spec.path()
        )
    })
}
