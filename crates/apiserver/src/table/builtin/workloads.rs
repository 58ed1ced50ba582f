//! What makes pods: replica sets and their kin, jobs, templates.

use jiff::SignedDuration;
use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{AGE, CONTAINERS, Column, IMAGES, NAME, SELECTOR, boolean, integer, string};
use crate::table::format::{
    NONE, containers, human_duration, int_or_string, label_selector, labels, optional_bool, parse_time,
    selector,
};
use crate::table::view::{Row, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(
        "apps",
        "Deployment",
        &[
            NAME,
            string("Ready", "Pods that are ready, of those wanted."),
            string("Up-to-date", "Pods of the current template."),
            string("Available", "Pods that have been ready for long enough."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR.wide(),
        ],
        deployment,
    ),
    printer("apps", "ReplicaSet", REPLICAS, replica_set),
    printer("", "ReplicationController", REPLICAS, replication_controller),
    printer(
        "apps",
        "StatefulSet",
        &[
            NAME,
            string("Ready", "Pods that are ready, of those wanted."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
        ],
        stateful_set,
    ),
    printer(
        "apps",
        "DaemonSet",
        &[
            NAME,
            integer("Desired", "Nodes that should run the pod."),
            integer("Current", "Nodes that run it and should."),
            integer("Ready", "Nodes where it is ready."),
            integer("Up-to-date", "Nodes that run the current template."),
            integer("Available", "Nodes where it has been ready for long enough."),
            string("Node Selector", "Labels of the nodes that should run the pod."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR.wide(),
        ],
        daemon_set,
    ),
    printer(
        "apps",
        "ControllerRevision",
        &[
            NAME,
            string("Controller", "The object whose history this is."),
            string("Revision", "Its place in that history."),
            AGE,
        ],
        controller_revision,
    ),
    printer(
        "batch",
        "Job",
        &[
            NAME,
            string("Status", "Whether the job runs, ended, and how."),
            string("Completions", "Pods that succeeded, of those wanted."),
            string("Duration", "How long the job ran, or has been running."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR.wide(),
        ],
        job,
    ),
    printer(
        "batch",
        "CronJob",
        &[
            NAME,
            string("Schedule", "When jobs are made, in cron notation."),
            string("Timezone", "The time zone of the schedule."),
            boolean("Suspend", "Whether no further jobs are made."),
            integer("Active", "Jobs that run at present."),
            string("Last Schedule", "Time since a job was last made."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR.wide(),
        ],
        cron_job,
    ),
    printer(
        "",
        "PodTemplate",
        &[
            NAME,
            CONTAINERS,
            IMAGES,
            string("Pod Labels", "Labels of the pods made from the template."),
        ],
        pod_template,
    ),
    printer(
        "policy",
        "PodDisruptionBudget",
        &[
            NAME,
            string("Min Available", "Pods that have to stay up, a number or a share."),
            string("Max Unavailable", "Pods that may be down, a number or a share."),
            integer("Allowed Disruptions", "Pods that may be evicted now."),
            AGE,
        ],
        pod_disruption_budget,
    ),
];

const REPLICAS: &[Column] = &[
    NAME,
    integer("Desired", "Pods wanted."),
    integer("Current", "Pods that exist."),
    integer("Ready", "Pods that are ready."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    SELECTOR.wide(),
];

fn deployment(row: &Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items("/spec/template/spec/containers"));
    vec![
        row.name(),
        ready_of_desired(row).into(),
        row.int("/status/updatedReplicas").into(),
        row.int("/status/availableReplicas").into(),
        row.age(),
        names,
        images,
        selector(row.get("/spec/selector"))
            .unwrap_or_else(|| "<invalid>".to_owned())
            .into(),
    ]
}

fn stateful_set(row: &Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items("/spec/template/spec/containers"));
    vec![row.name(), ready_of_desired(row).into(), row.age(), names, images]
}

fn ready_of_desired(row: &Row<'_>) -> String {
    format!(
        "{}/{}",
        row.int("/status/readyReplicas"),
        row.int("/spec/replicas")
    )
}

fn replica_set(row: &Row<'_>) -> Vec<Value> {
    replicas(row, label_selector(row.get("/spec/selector")))
}

/// A replication controller selects by plain labels, from before there were selectors.
fn replication_controller(row: &Row<'_>) -> Vec<Value> {
    replicas(row, labels(row.get("/spec/selector")))
}

fn replicas(row: &Row<'_>, selector: String) -> Vec<Value> {
    let (names, images) = containers(row.items("/spec/template/spec/containers"));
    vec![
        row.name(),
        row.int("/spec/replicas").into(),
        row.int("/status/replicas").into(),
        row.int("/status/readyReplicas").into(),
        row.age(),
        names,
        images,
        selector.into(),
    ]
}

fn daemon_set(row: &Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items("/spec/template/spec/containers"));
    vec![
        row.name(),
        row.int("/status/desiredNumberScheduled").into(),
        row.int("/status/currentNumberScheduled").into(),
        row.int("/status/numberReady").into(),
        row.int("/status/updatedNumberScheduled").into(),
        row.int("/status/numberAvailable").into(),
        labels(row.get("/spec/template/spec/nodeSelector")).into(),
        row.age(),
        names,
        images,
        label_selector(row.get("/spec/selector")).into(),
    ]
}

fn controller_revision(row: &Row<'_>) -> Vec<Value> {
    let mut owners = row.items("/metadata/ownerReferences").iter();
    let controller = owners.find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true));
    let controller = controller.map_or_else(
        || NONE.to_owned(),
        |owner| {
            let kind = text(owner, "/kind");
            let kind = match text(owner, "/apiVersion").split_once('/') {
                Some((group, _)) if !group.is_empty() => format!("{kind}.{group}"),
                _ => kind.to_owned(),
            };
            let name = text(owner, "/name");
            if kind.is_empty() {
                name.to_owned()
            } else {
                format!("{}/{name}", kind.to_lowercase())
            }
        },
    );
    vec![
        row.name(),
        controller.into(),
        row.int("/revision").into(),
        row.age(),
    ]
}

fn job(row: &Row<'_>) -> Vec<Value> {
    let succeeded = row.int("/status/succeeded");
    let completions = match (
        row.get("/spec/completions").and_then(Value::as_i64),
        row.int("/spec/parallelism"),
    ) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let (names, images) = containers(row.items("/spec/template/spec/containers"));
    vec![
        row.name(),
        job_status(row).into(),
        completions.into(),
        job_duration(row).map(human_duration).unwrap_or_default().into(),
        row.age(),
        names,
        images,
        label_selector(row.get("/spec/selector")).into(),
    ]
}

fn job_status(row: &Row<'_>) -> &'static str {
    let holds = |type_: &str| {
        let mut conditions = row.items("/status/conditions").iter();
        let found = conditions.find(|condition| text(condition, "/type") == type_);
        found.is_some_and(|condition| text(condition, "/status") == "True")
    };
    let states = [
        ("Complete", holds("Complete")),
        ("Failed", holds("Failed")),
        ("Terminating", row.deleting()),
        ("Suspended", holds("Suspended")),
        ("FailureTarget", holds("FailureTarget")),
    ];
    states
        .into_iter()
        .find(|(_, is)| *is)
        .map_or("Running", |(state, _)| state)
}

fn job_duration(row: &Row<'_>) -> Option<SignedDuration> {
    let start = parse_time(row.text("/status/startTime"))?;
    let end = parse_time(row.text("/status/completionTime")).unwrap_or(row.now);
    Some(end.duration_since(start))
}

fn cron_job(row: &Row<'_>) -> Vec<Value> {
    let last = match row.text("/status/lastScheduleTime") {
        "" => NONE.to_owned(),
        _ => row.since("/status/lastScheduleTime"),
    };
    let (names, images) = containers(row.items("/spec/jobTemplate/spec/template/spec/containers"));
    vec![
        row.name(),
        row.text("/spec/schedule").into(),
        or(row.text("/spec/timeZone"), NONE).into(),
        optional_bool(row.get("/spec/suspend")).into(),
        row.items("/status/active").len().into(),
        last.into(),
        row.age(),
        names,
        images,
        label_selector(row.get("/spec/jobTemplate/spec/selector")).into(),
    ]
}

fn pod_template(row: &Row<'_>) -> Vec<Value> {
    let (names, images) = containers(row.items("/template/spec/containers"));
    vec![
        row.name(),
        names,
        images,
        labels(row.get("/template/metadata/labels")).into(),
    ]
}

fn pod_disruption_budget(row: &Row<'_>) -> Vec<Value> {
    let bound = |path| row.get(path).map_or_else(|| "N/A".to_owned(), int_or_string);
    vec![
        row.name(),
        bound("/spec/minAvailable").into(),
        bound("/spec/maxUnavailable").into(),
        row.int("/status/disruptionsAllowed").into(),
        row.age(),
    ]
}
