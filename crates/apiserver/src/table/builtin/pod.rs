//! Pods. `kubectl get pods` shows one word for the state of a whole pod; how it is found is the bulk of this file.

use serde_json::{Value, json};

use super::BuiltinPrinter;
use crate::table::column::{AGE, NAME, string};
use crate::table::format::{NONE, age, parse_time};
use crate::table::view::{Row, flag, get, int, items, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[BuiltinPrinter {
    group: "",
    versions: &[],
    kind: "Pod",
    columns: &[
        NAME,
        string("Ready", "Containers that are ready, of those that should be."),
        string(
            "Status",
            "The phase of the pod, or the most telling state of its containers.",
        ),
        string("Restarts", "How often containers were restarted, and when last."),
        AGE,
        string("IP", "The first address of the pod.").wide(),
        string("Node", "The node that the pod runs on.").wide(),
        string(
            "Nominated Node",
            "The node that preemption makes room on for the pod.",
        )
        .wide(),
        string(
            "Readiness Gates",
            "Extra readiness conditions that hold, of those asked for.",
        )
        .wide(),
    ],
    cells,
    conditions,
    order: None,
}];

fn cells(row: &Row<'_>) -> Vec<Value> {
    let state = State::of(row);
    let restarts = match state.restarts.last {
        Some(last) if state.restarts.count != 0 => {
            format!("{} ({} ago)", state.restarts.count, age(Some(last), row.now))
        }
        _ => state.restarts.count.to_string(),
    };
    let ip = or(row.text("/status/podIPs/0/ip"), row.text("/status/podIP"));
    vec![
        row.name(),
        format!("{}/{}", state.ready, state.total).into(),
        state.reason.into(),
        restarts.into(),
        row.age(),
        or(ip, NONE).into(),
        or(row.text("/spec/nodeName"), NONE).into(),
        or(row.text("/status/nominatedNodeName"), NONE).into(),
        readiness_gates(row).into(),
    ]
}

/// A pod that ran to its end is `Completed`: clients may grey it out.
fn conditions(row: &Row<'_>) -> Option<Value> {
    let phase = row.text("/status/phase");
    let message = match phase {
        "Succeeded" => "Every container of the pod ended with success.",
        "Failed" => "The pod ended with a failure.",
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]))
}

/// What the first columns say.
struct State {
    ready: usize,
    total: usize,
    reason: String,
    restarts: Restarts,
}

/// Restarts of some of the containers.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<jiff::Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count = self.count.saturating_add(int(status, "/restartCount"));
        self.last = self
            .last
            .max(parse_time(text(status, "/lastState/terminated/finishedAt")));
    }
}

impl State {
    fn of(row: &Row<'_>) -> Self {
        let mut reason = or(row.text("/status/reason"), row.text("/status/phase")).to_owned();
        if row.items("/status/conditions").iter().any(|condition| {
            text(condition, "/type") == "PodScheduled" && text(condition, "/reason") == "SchedulingGated"
        }) {
            "SchedulingGated".clone_into(&mut reason);
        }
        let sidecars = row
            .items("/spec/initContainers")
            .iter()
            .filter(|container| is_sidecar(container))
            .count();
        let mut state = Self {
            ready: 0,
            total: row.items("/spec/containers").len() + sidecars,
            reason,
            restarts: Restarts::default(),
        };
        let init = state.initialize(row);
        // Once the pod is initialised, the restarts of ordinary init containers are history.
        if !init.running || first_condition(row, "Initialized") {
            state.restarts = init.sidecar_restarts;
            state.run(row);
        }
        if row.deleting() {
            let phase = row.text("/status/phase");
            if row.text("/status/reason") == "NodeLost" {
                "Unknown".clone_into(&mut state.reason);
            } else if phase != "Succeeded" && phase != "Failed" {
                "Terminating".clone_into(&mut state.reason);
            }
        }
        state
    }

    /// Goes through the init containers up to the first that has not done its part.
    fn initialize(&mut self, row: &Row<'_>) -> Init {
        let specs = row.items("/spec/initContainers");
        let mut init = Init {
            running: false,
            sidecar_restarts: Restarts::default(),
        };
        for (index, status) in row.items("/status/initContainerStatuses").iter().enumerate() {
            let name = text(status, "/name");
            // Names are unique in a valid pod; the last one counts, as it does in a map.
            let sidecar = specs
                .iter()
                .rfind(|spec| text(spec, "/name") == name)
                .is_some_and(is_sidecar);
            self.restarts.add(status);
            if sidecar {
                init.sidecar_restarts.add(status);
            }
            let terminated = get(status, "/state/terminated");
            let waiting = text(status, "/state/waiting/reason");
            if terminated.is_some_and(|terminated| int(terminated, "/exitCode") == 0) {
                continue;
            }
            if sidecar && flag(status, "/started") {
                self.ready += usize::from(flag(status, "/ready"));
                continue;
            }
            self.reason = match terminated {
                Some(terminated) => format!("Init:{}", termination(terminated)),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{index}/{}", specs.len()),
            };
            init.running = true;
            break;
        }
        init
    }

    /// Goes through the containers, last to first, so that the first one has the last word on the reason.
    fn run(&mut self, row: &Row<'_>) {
        let mut running = false;
        for status in row.items("/status/containerStatuses").iter().rev() {
            self.restarts.add(status);
            let waiting = text(status, "/state/waiting/reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if let Some(terminated) = get(status, "/state/terminated") {
                self.reason = termination(terminated);
            } else if flag(status, "/ready") && get(status, "/state/running").is_some() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" && running {
            let ready = row
                .items("/status/conditions")
                .iter()
                .any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True");
            if ready { "Running" } else { "NotReady" }.clone_into(&mut self.reason);
        }
    }
}

/// What the init containers came to.
struct Init {
    /// Whether one of them is still at work, or failed.
    running: bool,
    sidecar_restarts: Restarts,
}

/// An init container that keeps running beside the others (KEP-753).
fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

/// Why a container ended: its reason, else the signal, else the exit code.
fn termination(terminated: &Value) -> String {
    match (text(terminated, "/reason"), int(terminated, "/signal")) {
        ("", 0) => format!("ExitCode:{}", int(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Whether the first condition of this type is true.
fn first_condition(row: &Row<'_>, type_: &str) -> bool {
    let mut conditions = row.items("/status/conditions").iter();
    conditions
        .find(|condition| text(condition, "/type") == type_)
        .is_some_and(|found| text(found, "/status") == "True")
}

fn readiness_gates(row: &Row<'_>) -> String {
    let gates = items(row.object, "/spec/readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| first_condition(row, text(gate, "/conditionType")))
        .count();
    format!("{open}/{}", gates.len())
}
