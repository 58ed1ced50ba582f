//! Cron jobs: the schedule, the time zone and the template of jobs.
//!
//! Upstream: `validateCronJobSpec` in `pkg/apis/batch/validation/validation.go`; schedules are those of `robfig/cron` v3's
//! `ParseStandard`, errors included.

use std::sync::LazyLock;

use serde_json::Value;

use super::super::super::warnings;
use super::super::field::{Errors, Field};
use super::batch::{job_spec, spec_warning};
use super::format::pod_name_warning;

/// A cron job (`ValidateCronJobCreate`, `ValidateCronJobUpdate`).
pub(crate) fn cron_job(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let (root, old) = (Field::root("", object), old.map(|object| Field::root("", object)));
    let spec = root.get("spec");
    let (text, zone) = (spec.get("schedule"), spec.get("timeZone"));
    if text.check_given(&mut errors, "") {
        let had_zone = old
            .as_ref()
            .is_some_and(|old| old.get("spec.schedule").text().contains("TZ"));
        check_schedule(&mut errors, &text, &zone, had_zone);
    }
    spec.check_counters(&mut errors, &["startingDeadlineSeconds"]);
    let same_zone = old
        .as_ref()
        .is_some_and(|old| zone.same(&old.get("spec.timeZone")));
    if zone.exists() && !same_zone {
        check_zone(&mut errors, &zone);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    spec.get("concurrencyPolicy")
        .check_choice(&mut errors, &policies, "");
    spec.check_counters(
        &mut errors,
        &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
    );
    let template = spec.get("jobTemplate");
    let job = template.get("spec");
    job_spec(&mut errors, &job);
    let selector = job.get("selector");
    if selector.exists() {
        selector.invalid(&mut errors, "`selector` will be auto-generated");
    }
    let manual = job.get("manualSelector");
    if manual.is_true() {
        manual.not_supported(&mut errors, &["nil", "false"]);
    }
    errors
}

fn check_schedule(errors: &mut Errors, text: &Field<'_, '_>, zone: &Field<'_, '_>, had_zone: bool) {
    if let Err(error) = schedule(text.text()) {
        text.invalid(errors, error);
    }
    let names_zone = text.text().contains("TZ");
    if had_zone && names_zone && zone.exists() {
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        text.invalid(errors, detail);
    } else if !had_zone && names_zone {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        text.invalid(errors, detail);
    }
}

/// The name of a zone.
fn check_zone(errors: &mut Errors, zone: &Field<'_, '_>) {
    const PART_MAX: usize = 14;
    let name = zone.text();
    if name.is_empty() {
        return zone.invalid(errors, "timeZone must be nil or non-empty string");
    }
    let is_zone_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    let is_valid = |part: &str| {
        (1..=PART_MAX).contains(&part.len())
            && !matches!(part, "." | "..")
            && !part.starts_with('-')
            && part.bytes().all(is_zone_byte)
    };
    if !name.split('/').all(is_valid) {
        zone.invalid(errors, format!("unknown time zone {name}"));
    } else if name.eq_ignore_ascii_case("Local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        zone.invalid(errors, detail);
    } else if !is_zone(name) {
        zone.invalid(errors, format!("unknown time zone {name}"));
    }
}

/// Whether there is a zone of this name: those that upstream's binary carries with it (Go lib/time/zoneinfo.zip), in their order. A
/// machine may know of more.
fn is_zone(name: &str) -> bool {
    const ZONES: &str = include_str!("zones.txt");
    static SORTED: LazyLock<Vec<&str>> = LazyLock::new(|| ZONES.lines().collect());
    SORTED.binary_search(&name).is_ok()
}

/// A field of a schedule: the least and the greatest value, and the names that stand for values.
struct Bounds {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const FIELDS: &[Bounds] = &[
    Bounds {
        min: 0,
        max: 59,
        names: &[],
    },
    Bounds {
        min: 0,
        max: 23,
        names: &[],
    },
    Bounds {
        min: 1,
        max: 31,
        names: &[],
    },
    Bounds {
        min: 1,
        max: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Bounds {
        min: 0,
        max: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

const DESCRIPTORS: &[&str] = &[
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// What is wrong with a schedule.
fn schedule(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let text = without_zone(text)?;
    if text.starts_with('@') {
        return descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (count, found) = (FIELDS.len(), fields.len());
        return Err(format!(
            "expected exactly {count} fields, found {found}: [{}]",
            fields.join(" ")
        ));
    }
    fields.iter().zip(FIELDS).try_for_each(|(field, bounds)| {
        let ranges = field.split(',').filter(|range| !range.is_empty());
        ranges.into_iter().try_for_each(|text| range(text, bounds))
    })
}

fn without_zone(text: &str) -> Result<&str, String> {
    let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
        return Ok(text);
    };
    match rest.split_once(' ') {
        Some((_, schedule)) => Ok(schedule.trim()),
        // Upstream's parser panics, and says so.
        None => Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned()),
    }
}

fn descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    match text.strip_prefix("@every ") {
        None => Err(format!("unrecognized descriptor: {text}")),
        Some(duration) => go_duration(duration)
            .map_err(|error| format!("failed to parse duration {text}: time: {error} {duration:?}")),
    }
}

/// Whether Go reads a text as a duration such as `1h30m`.
fn go_duration(text: &str) -> Result<(), &'static str> {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err("invalid duration");
    }
    while !rest.is_empty() {
        let unit = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or("missing unit in duration")?;
        let (number, after) = rest.split_at(unit);
        let has_digit = number.bytes().any(|byte| byte.is_ascii_digit());
        if !has_digit || number.matches('.').count() > 1 {
            return Err("invalid duration");
        }
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return Err("unknown unit in duration");
        }
        rest = next;
    }
    Ok(())
}

/// `*`, a value, two values with a hyphen, each with a step or without.
fn range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let range_and_step: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = range_and_step[0].split('-').collect();
    let is_single = ends.len() == 1;
    let (start, mut end) = match ends[..] {
        ["*" | "?", ..] => (bounds.min, bounds.max),
        [only] => {
            let value = value(only, bounds)?;
            (value, value)
        }
        [first, last] => (value(first, bounds)?, value(last, bounds)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match range_and_step[..] {
        [_] => 1,
        [_, step] => {
            let step = integer(step)?;
            // A value with a step goes on to the greatest.
            if is_single {
                end = bounds.max;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < bounds.min {
        let min = bounds.min;
        return Err(format!(
            "beginning of range ({start}) below minimum ({min}): {text}"
        ));
    }
    if end > bounds.max {
        let max = bounds.max;
        return Err(format!("end of range ({end}) above maximum ({max}): {text}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn value(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let name = text.to_lowercase();
    let named = (bounds.min..)
        .zip(bounds.names)
        .find(|(_, known)| **known == name);
    named.map_or_else(|| integer(text), |(value, _)| Ok(value))
}

fn integer(text: &str) -> Result<u32, String> {
    let number: i64 = text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
    })?;
    if number < 0 {
        return Err(format!("negative number ({number}) not allowed: {text}"));
    }
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// What makes a cron job likely to surprise.
pub(crate) fn cron_job_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let template = root.get("spec.jobTemplate.spec");
    let Some(old) = old else {
        return pod_name_warning(&root)
            .into_iter()
            .chain(spec_warning(&template))
            .chain(warnings::cron_job(object, None))
            .collect();
    };
    let mut warnings = Vec::new();
    if old["metadata"]["generation"] != object["metadata"]["generation"] {
        warnings.extend(spec_warning(&template));
        warnings.extend(warnings::cron_job(object, Some(old)));
    }
    if root.get("spec.schedule").text().contains("TZ") {
        let text = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                    https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
        warnings.push(text.to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        #[track_caller]
        fn check(text: &str, expect: Result<(), &str>) {
            assert_eq!(schedule(text), expect.map_err(str::to_owned), "{text}");
        }
        for text in [
            "* * * * *",
            "0 0 * * *",
            "*/15 1-5 1,15 jan-MAR ?",
            "5/10 * * * Sun",
            "@hourly",
            "@every 1h30m",
            "TZ=UTC 0 0 * * *",
            "CRON_TZ=America/New_York 0 0 * * *",
        ] {
            check(text, Ok(()));
        }
        check("", Err("empty spec string"));
        check("error", Err("expected exactly 5 fields, found 1: [error]"));
        check("* * * *", Err("expected exactly 5 fields, found 4: [* * * *]"));
        check("60 * * * *", Err("end of range (60) above maximum (59): 60"));
        check("* * 0 * *", Err("beginning of range (0) below minimum (1): 0"));
        check("* * * * 7", Err("end of range (7) above maximum (6): 7"));
        check(
            "5-3 * * * *",
            Err("beginning of range (5) beyond end of range (3): 5-3"),
        );
        check("1-2-3 * * * *", Err("too many hyphens: 1-2-3"));
        check("1/2/3 * * * *", Err("too many slashes: 1/2/3"));
        check(
            "*/0 * * * *",
            Err("step of range should be a positive number: */0"),
        );
        check(
            "x * * * *",
            Err("failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
        );
        check("@fortnightly", Err("unrecognized descriptor: @fortnightly"));
        check(
            "@every 5x",
            Err("failed to parse duration @every 5x: time: unknown unit in duration \"5x\""),
        );
        check(
            "TZ=0",
            Err("invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        );
    }
}
