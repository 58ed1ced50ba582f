//! Groups of pods that are scheduled together, and evictions that are asked for and carried out in steps.

use jiff::Timestamp;
use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{AGE, Column, NAME, integer, string};
use crate::table::format::{NONE, UNKNOWN, UNSET, age, human_duration, parse_time};
use crate::table::view::{Row, get, int, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(SCHEDULING, "Workload", &[NAME, AGE], |row| {
        vec![row.name(), row.age()]
    }),
    printer(
        SCHEDULING,
        "PodGroup",
        &[NAME, POLICY, WORKLOAD, string("Status", "How far it got."), AGE],
        |row| {
            vec![
                row.name(),
                policy(row),
                workload(row),
                group_status(row).into(),
                row.age(),
            ]
        },
    ),
    printer(
        SCHEDULING,
        "CompositePodGroup",
        &[NAME, POLICY, WORKLOAD, AGE],
        |row| vec![row.name(), policy(row), workload(row), row.age()],
    ),
    printer(
        "lifecycle.k8s.io",
        "EvictionRequest",
        &[
            NAME,
            TARGET,
            TARGET_TYPE,
            STATUS,
            string("Requester", "Who asks for it."),
            string("Intent", "Whether it is asked for or taken back."),
            AGE,
        ],
        |row| {
            let (target, kind) = target(row);
            vec![
                row.name(),
                target.into(),
                kind.into(),
                eviction_status(row).into(),
                row.text("/spec/requester").into(),
                row.text("/spec/intent").into(),
                row.age(),
            ]
        },
    ),
    printer(
        "lifecycle.k8s.io",
        "Eviction",
        &[
            NAME,
            TARGET,
            TARGET_TYPE,
            STATUS,
            string("Active Responder", "Who is at work, and how many have been."),
            string("Responder Status", "How far the responder got."),
            string(
                "Responder Expected Finish",
                "When the responder thinks to be done.",
            ),
            string("Requesters", "Who asks for it."),
            AGE,
            string("Responder Heartbeat", "When the responder was last heard of.").wide(),
            string("Responder Status Message", "What the responder says.").wide(),
        ],
        eviction,
    ),
    printer(
        "resource.k8s.io",
        "ResourcePoolStatusRequest",
        &[
            NAME,
            string("Driver", "The driver whose pools are asked about."),
            string("Total", "How many devices there are."),
            string("Available", "How many devices are free."),
            string("Allocated", "How many devices are in use."),
            string("Unavailable", "How many devices cannot be used."),
            string("Errors", "How many pools are not valid."),
            integer("Pools", "How many pools match."),
            string("Status", "How far it got."),
            string("Completed", "Time since it was answered."),
        ],
        pool_status_request,
    ),
];

const SCHEDULING: &str = "scheduling.k8s.io";
const POLICY: Column = string("Policy", "Whether its pods are scheduled all or none.");
const WORKLOAD: Column = string("Workload", "The workload that it belongs to.");
const TARGET: Column = string("Target", "What is to go.");
const TARGET_TYPE: Column = string("Target Type", "The kind of what is to go.");
const STATUS: Column = string("Status", "How far it got.");

fn policy(row: &Row<'_>) -> Value {
    let is_gang = row.get("/spec/schedulingPolicy/gang").is_some();
    if is_gang { "Gang" } else { "Basic" }.into()
}

fn workload(row: &Row<'_>) -> Value {
    let reference = row.get("/spec/workloadRef");
    reference
        .map_or(NONE, |reference| text(reference, "/workloadName"))
        .into()
}

/// The last condition of a type.
fn condition<'a>(row: &Row<'a>, type_: &str) -> Option<&'a Value> {
    let mut conditions = row.items("/status/conditions").iter();
    conditions.rfind(|condition| text(condition, "/type") == type_)
}

fn group_status<'a>(row: &Row<'a>) -> &'a str {
    if let Some(disrupted) = condition(row, "DisruptionTarget") {
        return text(disrupted, "/reason");
    }
    match condition(row, "PodGroupInitiallyScheduled").map(|scheduled| text(scheduled, "/status")) {
        None => "Pending",
        Some("True") => "Scheduled",
        Some(_) => "Unschedulable",
    }
}

fn target<'a>(row: &Row<'a>) -> (&'a str, &'static str) {
    match row.get("/spec/target/pod") {
        Some(pod) => (text(pod, "/name"), "Pod"),
        None => (UNSET, UNSET),
    }
}

fn eviction_status(row: &Row<'_>) -> String {
    for type_ in ["TargetEvicted", "Failed"] {
        let mut conditions = row.items("/status/conditions").iter();
        let found = conditions.find(|condition| text(condition, "/type") == type_);
        if let Some(found) = found.filter(|condition| text(condition, "/status") == "True") {
            return format!("{type_} ({})", text(found, "/reason"));
        }
    }
    match row.int("/status/observedGeneration") {
        1.. => "Progressing".to_owned(),
        _ => "Pending".to_owned(),
    }
}

/// What is said of the responder that is at work on an eviction.
struct Responder {
    status: String,
    finish: String,
    heartbeat: String,
    message: String,
}

fn eviction(row: &Row<'_>) -> Vec<Value> {
    let (target, kind) = target(row);
    let all = row.items("/status/targetResponders");
    let in_states = |states: &[&str]| {
        all.iter()
            .filter(|responder| states.contains(&text(responder, "/state")))
            .collect::<Vec<_>>()
    };
    let (done, active) = (
        in_states(&["Canceled", "Interrupted", "Completed"]),
        in_states(&["Active"]),
    );
    let last = active.last().or_else(|| done.last()).copied();
    let name = last.map_or(UNSET, |last| text(last, "/name"));
    let said = last.and_then(|last| {
        let mut responders = row.items("/status/responders").iter();
        let responder = responders.find(|responder| text(responder, "/name") == name)?;
        Some(responder_cells(responder, text(last, "/state"), row.now))
    });
    let said = said.unwrap_or_else(|| Responder {
        status: UNSET.to_owned(),
        finish: UNKNOWN.to_owned(),
        heartbeat: UNSET.to_owned(),
        message: UNSET.to_owned(),
    });
    vec![
        row.name(),
        target.into(),
        kind.into(),
        eviction_status(row).into(),
        format!("{name} ({}/{})", done.len() + active.len(), all.len()).into(),
        said.status.into(),
        said.finish.into(),
        requesters(row).into(),
        row.age(),
        said.heartbeat.into(),
        said.message.into(),
    ]
}

fn responder_cells(responder: &Value, state: &str, now: Timestamp) -> Responder {
    let time = |field: &str| parse_time(text(responder, field));
    let since = |time: Timestamp| format!("{} ago", age(Some(time), now));
    let mut status = state.to_owned();
    let mut finish = UNKNOWN.to_owned();
    match (state, time("/startTime")) {
        ("Active", Some(start)) => {
            status = format!("Started ({})", since(start));
            if let Some(expected) = time("/expectedCompletionTime") {
                finish = match expected > now {
                    true => format!("in {}", human_duration(expected.duration_since(now))),
                    // The estimate was wrong.
                    false => since(expected),
                };
            }
        }
        ("Active", None) => {}
        _ => {
            finish = "-".to_owned();
            if let Some(end) = time("/completionTime").filter(|_| state == "Completed") {
                status = format!("{state} ({})", since(end));
            }
        }
    }
    Responder {
        status,
        finish,
        heartbeat: time("/heartbeatTime").map_or_else(|| UNSET.to_owned(), since),
        message: or(text(responder, "/message").trim(), UNSET).to_owned(),
    }
}

/// The first of those who still ask, and how many more there are.
fn requesters(row: &Row<'_>) -> String {
    let all = row.items("/status/requesters");
    let mut asking: Vec<&str> = all
        .iter()
        .filter(|requester| text(requester, "/intent") != "Withdrawn")
        .map(|requester| text(requester, "/name"))
        .collect();
    asking.sort_unstable();
    match asking.as_slice() {
        [] if all.is_empty() => NONE.to_owned(),
        [] => "<withdrawn>".to_owned(),
        [only] => or(only, UNSET).to_owned(),
        [first, more @ ..] => format!("{first} + {} more...", more.len()),
    }
}

fn pool_status_request(row: &Row<'_>) -> Vec<Value> {
    let pools = row.items("/status/pools");
    let count = row.int("/status/poolCount");
    let mut conditions = row.items("/status/conditions").iter();
    let end = conditions.find(|condition| {
        matches!(text(condition, "/type"), "Complete" | "Failed") && text(condition, "/status") == "True"
    });
    let type_ = end.map_or("Pending", |end| text(end, "/type"));
    let is_complete = type_ == "Complete";
    let status = match is_complete && count > i64::try_from(pools.len()).unwrap_or(i64::MAX) {
        true => format!("Complete ({}/{count} pools)", pools.len()),
        false => type_.to_owned(),
    };
    let is_counted = row.get("/status").is_some() && type_ != "Failed";
    let number = |number: i64| match is_counted {
        true => number.to_string(),
        false => "-".to_owned(),
    };
    let sum = |field: &str| {
        number(
            pools
                .iter()
                .map(|pool| int(pool, field))
                .fold(0, i64::saturating_add),
        )
    };
    let errors = pools
        .iter()
        .filter(|pool| get(pool, "/validationError").is_some());
    let completed = end
        .filter(|_| is_complete)
        .map(|end| age(parse_time(text(end, "/lastTransitionTime")), row.now));
    vec![
        row.name(),
        row.text("/spec/driver").into(),
        sum("/totalDevices").into(),
        sum("/availableDevices").into(),
        sum("/allocatedDevices").into(),
        sum("/unavailableDevices").into(),
        number(i64::try_from(errors.count()).unwrap_or(i64::MAX)).into(),
        count.into(),
        status.into(),
        completed.unwrap_or_else(|| NONE.to_owned()).into(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::{IncludeObject, Printer, TableVersion};

    #[track_caller]
    fn check(group: &str, version: &str, kind: &str, mut object: Value, expect: Value) {
        object["metadata"] = json!({"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"});
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        let printer = Printer::for_builtin(group, version, kind);
        let row = printer.row(&object, IncludeObject::None, TableVersion::V1, now);
        let cells = row["cells"].as_array().unwrap();
        assert_eq!(cells.len(), printer.columns().len());
        assert_eq!(cells[0], "x");
        assert_eq!(json!(cells[1..]), expect, "{kind} {object}");
    }

    #[test]
    fn groups() {
        let group = |object: Value, expect: Value| check(SCHEDULING, "v1beta1", "PodGroup", object, expect);
        group(json!({}), json!(["Basic", "<none>", "Pending", "60m"]));
        let spec =
            json!({"schedulingPolicy": {"gang": {"minCount": 2}}, "workloadRef": {"workloadName": "w"}});
        let with = |conditions: Value| json!({"spec": spec, "status": {"conditions": conditions}});
        group(
            with(json!([{"type": "PodGroupInitiallyScheduled", "status": "True"}])),
            json!(["Gang", "w", "Scheduled", "60m"]),
        );
        group(
            with(json!([{"type": "PodGroupInitiallyScheduled", "status": "False"}])),
            json!(["Gang", "w", "Unschedulable", "60m"]),
        );
        group(
            with(json!([{"type": "DisruptionTarget", "status": "True", "reason": "Preempted"}])),
            json!(["Gang", "w", "Preempted", "60m"]),
        );
        check(
            SCHEDULING,
            "v1alpha3",
            "CompositePodGroup",
            json!({"spec": spec}),
            json!(["Gang", "w", "60m"]),
        );
        check(SCHEDULING, "v1beta1", "Workload", json!({}), json!(["60m"]));
    }

    #[test]
    fn evictions() {
        let request = json!({"spec": {"target": {"pod": {"name": "p"}}, "requester": "r", "intent": "Evict"},
            "status": {"observedGeneration": 1}});
        check(
            "lifecycle.k8s.io",
            "v1alpha1",
            "EvictionRequest",
            request,
            json!(["p", "Pod", "Progressing", "r", "Evict", "60m"]),
        );
        let eviction = |status: Value, expect: Value| {
            check(
                "lifecycle.k8s.io",
                "v1alpha1",
                "Eviction",
                json!({"status": status}),
                expect,
            )
        };
        eviction(
            json!({}),
            json!([
                "<unset>",
                "<unset>",
                "Pending",
                "<unset> (0/0)",
                "<unset>",
                "<unknown>",
                "<none>",
                "60m",
                "<unset>",
                "<unset>"
            ]),
        );
        eviction(
            json!({
                "conditions": [{"type": "Failed", "status": "True", "reason": "R"}],
                "targetResponders": [
                    {"name": "a", "state": "Completed"}, {"name": "b", "state": "Active"}, {"name": "c", "state": "Inactive"},
                ],
                "responders": [{"name": "b", "startTime": "2026-01-01T00:59:00Z", "heartbeatTime": "2026-01-01T00:59:50Z",
                    "expectedCompletionTime": "2026-01-01T01:00:30Z", "message": " working "}],
                "requesters": [{"name": "y", "intent": "Evict"}, {"name": "x", "intent": "Evict"}, {"name": "w", "intent": "Withdrawn"}],
            }),
            json!([
                "<unset>",
                "<unset>",
                "Failed (R)",
                "b (2/3)",
                "Started (60s ago)",
                "in 30s",
                "x + 1 more...",
                "60m",
                "10s ago",
                "working"
            ]),
        );
        eviction(
            json!({
                "conditions": [{"type": "TargetEvicted", "status": "True", "reason": "Gone"}],
                "targetResponders": [{"name": "a", "state": "Completed"}],
                "responders": [{"name": "a", "completionTime": "2026-01-01T00:59:00Z"}],
                "requesters": [{"name": "w", "intent": "Withdrawn"}],
            }),
            json!([
                "<unset>",
                "<unset>",
                "TargetEvicted (Gone)",
                "a (1/1)",
                "Completed (60s ago)",
                "-",
                "<withdrawn>",
                "60m",
                "<unset>",
                "<unset>"
            ]),
        );
    }

    #[test]
    fn pool_status() {
        let request = |status: Value, expect: Value| {
            let object = json!({"spec": {"driver": "d"}, "status": status});
            check(
                "resource.k8s.io",
                "v1alpha3",
                "ResourcePoolStatusRequest",
                object,
                expect,
            );
        };
        request(
            Value::Null,
            json!(["d", "-", "-", "-", "-", "-", 0, "Pending", "<none>"]),
        );
        let complete =
            json!([{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:58:00Z"}]);
        let pools = json!([
            {"totalDevices": 4, "availableDevices": 1, "allocatedDevices": 3},
            {"totalDevices": 2, "unavailableDevices": 2, "validationError": "e"},
        ]);
        request(
            json!({"conditions": complete, "poolCount": 3, "pools": pools}),
            json!(["d", "6", "1", "3", "2", "1", 3, "Complete (2/3 pools)", "2m"]),
        );
        request(
            json!({"conditions": [{"type": "Failed", "status": "True"}], "poolCount": 3}),
            json!(["d", "-", "-", "-", "-", "-", 3, "Failed", "<none>"]),
        );
    }
}
