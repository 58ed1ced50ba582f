//! What a controller may report of a job: conditions that end it are final, and its parts fit together.
//!
//! Upstream: `ValidateJobUpdateStatus` in `pkg/apis/batch/validation/validation.go` and `getStatusValidationOptions` in
//! `pkg/registry/batch/job/strategy.go`. Rules about two fields hold where one of them changes, so that a report on other things
//! goes through while a change of the specification is still to be followed.

use std::collections::HashSet;

use serde_json::Value;

use super::super::field::{Errors, Field};
use super::batch::{count_indexes, has_condition, index_interval, is_indexed};

/// The condition of a job that has reached what counts as its success.
const MET: &str = "SuccessCriteriaMet";

/// The report and what it is compared with.
struct Report<'v, 'p> {
    spec: Field<'p, 'v>,
    now: Field<'p, 'v>,
    before: Field<'p, 'v>,
}

impl Report<'_, '_> {
    fn is(&self, kind: &str) -> bool {
        has_condition(&self.now, kind)
    }

    fn was(&self, kind: &str) -> bool {
        has_condition(&self.before, kind)
    }

    fn is_finished(&self) -> bool {
        self.is("Complete") || self.is("Failed")
    }

    /// Whether a condition or the end of the job differs from before.
    fn turns(&self, kind: &str) -> bool {
        self.is(kind) != self.was(kind)
    }

    fn ends(&self) -> bool {
        self.is_finished() != (self.was("Complete") || self.was("Failed"))
    }

    fn changes(&self, field: &str) -> bool {
        !self.now.get(field).same(&self.before.get(field))
    }

    /// The conditions do not fit together.
    fn refuse(&self, errors: &mut Errors, detail: &str) {
        self.now.get("conditions").invalid_unshown(errors, detail);
    }
}

/// A write to the status of a job.
pub(crate) fn job_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource != "status" {
        return errors;
    }
    let (new, old) = (Field::root("", new), Field::root("", old));
    let report = Report {
        spec: new.get("spec"),
        now: new.get("status"),
        before: old.get("status"),
    };
    let counters = ["active", "succeeded", "failed", "ready", "terminating"];
    report.now.check_counters(&mut errors, &counters);
    // In upstream's order, which is the one that the faults are told in.
    uncounted_pods(&mut errors, &report);
    ends(&mut errors, &report);
    completion_time(&mut errors, &report);
    reasons(&mut errors, &report);
    finished(&mut errors, &report);
    indexes(&mut errors, &report);
    counts(&mut errors, &report);
    criteria(&mut errors, &report);
    changes(&mut errors, &report);
    errors
}

fn uncounted_pods(errors: &mut Errors, report: &Report<'_, '_>) {
    let pods = report.now.get("uncountedTerminatedPods");
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        for uid in pods.get(list).items() {
            if uid.is_empty() {
                uid.invalid(errors, "must not be empty");
            } else if !seen.insert(uid.text()) {
                uid.duplicate(errors);
            }
        }
    }
}

/// A job ends in one way.
fn ends(errors: &mut Errors, report: &Report<'_, '_>) {
    for other in ["Failed", "FailureTarget"] {
        let turns = report.turns("Complete") || report.turns(other);
        if turns && report.is("Complete") && report.is(other) {
            report.refuse(
                errors,
                &format!("cannot set Complete=True and {other}=true conditions"),
            );
        }
    }
}

fn completion_time(errors: &mut Errors, report: &Report<'_, '_>) {
    let (start, end) = (report.now.get("startTime"), report.now.get("completionTime"));
    if report.turns("Complete") || report.changes("completionTime") {
        if end.exists() && !report.is("Complete") {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            end.invalid(errors, detail);
        }
        if !end.exists() && report.is("Complete") {
            end.required(errors, "completionTime is required for Complete jobs");
        }
    }
    // Times are kept in one form, so that they compare as texts.
    let may_differ = report.changes("startTime") || report.changes("completionTime");
    if may_differ && start.exists() && end.exists() && end.text() < start.text() {
        end.invalid(errors, "must be equal to or after `startTime`");
    }
}

/// A job ends for a reason that was given.
fn reasons(errors: &mut Errors, report: &Report<'_, '_>) {
    let is_over_budget = report.changes("failedIndexes");
    if (report.turns("Failed") || is_over_budget) && report.is("Failed") && !report.is("FailureTarget") {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        report.refuse(errors, detail);
    }
    let turns = report.turns("Complete") || report.turns(MET);
    if turns && report.is("Complete") && !report.is(MET) {
        let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        report.refuse(errors, detail);
    }
}

/// What a finished job has, and no longer has.
fn finished(errors: &mut Errors, report: &Report<'_, '_>) {
    if !report.is_finished() {
        return;
    }
    let active = report.now.get("active");
    if (report.ends() || report.changes("active")) && active.int() > 0 {
        active.invalid(errors, "active>0 is invalid for finished job");
    }
    let start = report.now.get("startTime");
    let is_suspended = report.spec.get("suspend").is_true();
    let is_empty = is_suspended && report.spec.get("completions").value.as_i64() == Some(0);
    if (report.ends() || report.changes("startTime")) && !is_empty && !start.exists() {
        start.required(errors, "startTime is required for finished job");
    }
    let pods = report.now.get("uncountedTerminatedPods");
    let has_pods = ["succeeded", "failed"]
        .iter()
        .any(|list| !pods.get(list).is_empty());
    if (report.ends() || report.changes("uncountedTerminatedPods")) && has_pods {
        pods.invalid(errors, "must be empty for finished job");
    }
}

fn counts(errors: &mut Errors, report: &Report<'_, '_>) {
    let now = |field| report.now.get(field);
    let (active, ready, terminating) = (now("active"), now("ready"), now("terminating"));
    if (report.ends() || report.changes("terminating")) && report.is_finished() && terminating.int() > 0 {
        terminating.invalid(errors, "terminating>0 is invalid for finished job");
    }
    let may_differ = report.changes("ready") || report.changes("active");
    if may_differ && ready.exists() && ready.int() > active.int() {
        ready.invalid(errors, "cannot set more ready pods than active");
    }
}

/// What a success by criteria excludes.
fn criteria(errors: &mut Errors, report: &Report<'_, '_>) {
    if report.is(MET) && report.is("Failed") {
        let detail = "cannot set SuccessCriteriaMet=True and Failed=true conditions";
        report.refuse(errors, detail);
    }
    if report.is(MET) && report.is("FailureTarget") {
        let detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        report.refuse(errors, detail);
    }
    let has_policy = report.spec.get("successPolicy").exists();
    if has_policy && !report.is(MET) && report.is("Complete") {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        report.refuse(errors, detail);
    }
}

/// What may no longer be changed.
fn changes(errors: &mut Errors, report: &Report<'_, '_>) {
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if report.was(kind) && !report.is(kind) {
            report.refuse(
                errors,
                &format!("cannot disable the terminal {kind}=True condition"),
            );
        }
    }
    let (now, before) = (|field| report.now.get(field), |field| report.before.get(field));
    let (failed, succeeded) = (now("failed"), now("succeeded"));
    if failed.int() < before("failed").int() {
        failed.invalid_as(errors, failed.int(), "cannot decrease the failed counter");
    }
    // A job of as many pods as completions can be scaled down.
    let completions = report.spec.get("completions");
    let is_elastic = is_indexed(&report.spec) && completions.same(&report.spec.get("parallelism"));
    if !is_elastic && succeeded.int() < before("succeeded").int() {
        succeeded.invalid_as(errors, succeeded.int(), "cannot decrease the succeeded counter");
    }
    let (end, ended) = (now("completionTime"), before("completionTime"));
    if end.exists() && ended.exists() && !end.same(&ended) {
        end.invalid(errors, super::super::IMMUTABLE);
    }
    let (start, started) = (now("startTime"), before("startTime"));
    let conditions = now("conditions");
    let resumed = conditions
        .list()
        .iter()
        .any(|condition| condition["type"] == "Suspended" && condition["status"] == "False");
    let may_start_anew = report.spec.get("suspend").is_true() || report.was("Suspended") && resumed;
    if started.exists() && !start.same(&started) && !may_start_anew {
        start.invalid(errors, "field is immutable for unsuspended job once set");
    }
    if report.was(MET) && !report.is(MET) {
        report.refuse(errors, "cannot disable the SuccessCriteriaMet=True condition");
    }
    if report.was("Complete") && !report.was(MET) && report.is(MET) {
        let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        report.refuse(errors, detail);
    }
}

fn indexes(errors: &mut Errors, report: &Report<'_, '_>) {
    let (completed, failed) = (
        report.now.get("completedIndexes"),
        report.now.get("failedIndexes"),
    );
    let (completed_changes, failed_changes) = (
        report.changes("completedIndexes"),
        report.changes("failedIndexes"),
    );
    let completions = report.spec.get("completions").value.as_i64();
    let has_backoff = report.spec.get("backoffLimitPerIndex").exists();
    if let (true, Some(completions)) = (completed_changes, completions)
        && let Err(error) = count_indexes(completed.text(), completions)
    {
        completed.invalid(errors, format!("error parsing completedIndexes: {error}"));
    }
    if let (true, Some(completions)) = (failed_changes && has_backoff, completions)
        && let Err(error) = count_indexes(failed.text(), completions)
    {
        failed.invalid(errors, format!("error parsing failedIndexes: {error}"));
    }
    if completed_changes && !completed.is_empty() && !is_indexed(&report.spec) {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        completed.invalid(errors, detail);
    }
    if failed_changes && !has_backoff && failed.exists() {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        failed.invalid(errors, detail);
    }
    if let (true, Some(completions)) = (failed_changes || completed_changes, completions)
        && let Some(index) = overlap(completed.text(), failed.text(), completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        failed.invalid(errors, detail);
    }
}

/// The first index that two lists share; intervals that cannot be read are passed over.
fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',')
            .filter_map(|interval| index_interval(interval, completions).ok())
            .collect()
    };
    let (completed, failed) = (read(completed), read(failed));
    let (mut left, mut right) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some((first, last)), Some((start, end))) = (left.peek(), right.peek()) {
        if first <= end && start <= last {
            return Some(*first.max(start));
        }
        if first <= start {
            left.next();
        } else {
            right.next();
        }
    }
    None
}
