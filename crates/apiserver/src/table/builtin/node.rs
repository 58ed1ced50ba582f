//! Nodes, components and what runs on them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{AGE, NAME, boolean, integer, string};
use crate::table::format::{NONE, UNKNOWN};
use crate::table::view::{Row, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(
        "",
        "Node",
        &[
            NAME,
            string("Status", "Whether the node is ready and takes pods."),
            string("Roles", "Its roles, from its labels."),
            AGE,
            string("Version", "Version of its kubelet."),
            string("Internal-IP", "Its first address inside the cluster.").wide(),
            string("External-IP", "Its first address outside the cluster.").wide(),
            string("OS-Image", "Its operating system.").wide(),
            string("Kernel-Version", "Its kernel.").wide(),
            string("Container-Runtime", "Its container runtime and version.").wide(),
        ],
        node,
    ),
    printer(
        "",
        "ComponentStatus",
        &[
            NAME,
            string("Status", "Whether the component is healthy."),
            string("Message", "What it says of its health."),
            string("Error", "What is wrong with it."),
        ],
        component_status,
    ),
    printer(
        "node.k8s.io",
        "RuntimeClass",
        &[NAME, string("Handler", "How the runtime calls the class."), AGE],
        |row| vec![row.name(), row.text("/handler").into(), row.age()],
    ),
    printer(
        "scheduling.k8s.io",
        "PriorityClass",
        &[
            NAME,
            integer("Value", "The priority of pods of the class; higher goes first."),
            boolean("Global-Default", "Whether it is for pods without a class."),
            AGE,
            string("PreemptionPolicy", "Whether its pods may displace others."),
        ],
        priority_class,
    ),
    printer(
        "coordination.k8s.io",
        "Lease",
        &[NAME, string("Holder", "Who holds the lease."), AGE],
        |row| vec![row.name(), row.text("/spec/holderIdentity").into(), row.age()],
    ),
    printer(
        "coordination.k8s.io",
        "LeaseCandidate",
        &[
            NAME,
            string("LeaseName", "The lease that it stands for."),
            string("BinaryVersion", "Version of the candidate's binary."),
            string("EmulationVersion", "Version that it behaves as."),
            AGE,
        ],
        lease_candidate,
    ),
    printer("resource.k8s.io", "DeviceClass", &[NAME, AGE], |row| {
        vec![row.name(), row.age()]
    }),
    printer(
        "resource.k8s.io",
        "DeviceTaintRule",
        &[
            NAME,
            string("Key", "The key of the taint."),
            string("Value", "The value of the taint."),
            string("Effect", "What the taint does to pods that do not tolerate it."),
            string("TimeAdded", "Time since the taint was added."),
            AGE,
        ],
        |row| {
            let added = row.get("/spec/taint/timeAdded");
            vec![
                row.name(),
                row.text("/spec/taint/key").into(),
                row.text("/spec/taint/value").into(),
                row.text("/spec/taint/effect").into(),
                added
                    .map_or_else(String::new, |_| row.since("/spec/taint/timeAdded"))
                    .into(),
                row.age(),
            ]
        },
    ),
    printer("resource.k8s.io", "ResourceClaimTemplate", &[NAME, AGE], |row| {
        vec![row.name(), row.age()]
    }),
    printer(
        "resource.k8s.io",
        "ResourceClaim",
        &[
            NAME,
            string("State", "Whether devices are allocated and reserved."),
            AGE,
        ],
        |row| vec![row.name(), claim_state(row).into(), row.age()],
    ),
    printer(
        "resource.k8s.io",
        "ResourceSlice",
        &[
            NAME,
            string("Node", "The node that has the devices."),
            string("Driver", "The driver that manages them."),
            string("Pool", "The pool that they belong to."),
            AGE,
        ],
        resource_slice,
    ),
];

fn node(row: &Row<'_>) -> Vec<Value> {
    // Of several conditions of a type the last one counts.
    let ready = row
        .items("/status/conditions")
        .iter()
        .rfind(|condition| text(condition, "/type") == "Ready");
    let mut status = match ready.map(|condition| text(condition, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if row.flag("/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |type_: &str| {
        let mut addresses = row.items("/status/addresses").iter();
        let found = addresses.find(|address| text(address, "/type") == type_);
        Value::from(found.map_or(NONE, |address| text(address, "/address")))
    };
    vec![
        row.name(),
        status.into(),
        or(&roles(row), NONE).into(),
        row.age(),
        row.text("/status/nodeInfo/kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        or(row.text("/status/nodeInfo/osImage"), UNKNOWN).into(),
        kernel(row).into(),
        or(row.text("/status/nodeInfo/containerRuntimeVersion"), UNKNOWN).into(),
    ]
}

/// The version of the kernel and what it was built for.
fn kernel(row: &Row<'_>) -> String {
    let version = or(row.text("/status/nodeInfo/kernelVersion"), UNKNOWN);
    match row.text("/status/nodeInfo/architecture") {
        "" => version.to_owned(),
        architecture => format!("{version} ({architecture})"),
    }
}

/// Roles from labels `node-role.kubernetes.io/<role>` and `kubernetes.io/role=<role>`, sorted.
fn roles(row: &Row<'_>) -> String {
    let labels = row.get("/metadata/labels").and_then(Value::as_object);
    let roles = labels.into_iter().flatten().filter_map(|(key, value)| {
        if key == "kubernetes.io/role" {
            value.as_str()
        } else {
            key.strip_prefix("node-role.kubernetes.io/")
        }
    });
    let roles: BTreeSet<_> = roles.filter(|role| !role.is_empty()).collect();
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn component_status(row: &Row<'_>) -> Vec<Value> {
    let mut conditions = row.items("/conditions").iter();
    let (status, message, error) = match conditions.find(|condition| text(condition, "/type") == "Healthy") {
        None => ("Unknown", "", ""),
        Some(condition) => {
            let status = if text(condition, "/status") == "True" {
                "Healthy"
            } else {
                "Unhealthy"
            };
            (status, text(condition, "/message"), text(condition, "/error"))
        }
    };
    vec![row.name(), status.into(), message.into(), error.into()]
}

fn priority_class(row: &Row<'_>) -> Vec<Value> {
    vec![
        row.name(),
        row.int("/value").into(),
        row.flag("/globalDefault").into(),
        row.age(),
        row.text("/preemptionPolicy").into(),
    ]
}

fn lease_candidate(row: &Row<'_>) -> Vec<Value> {
    vec![
        row.name(),
        row.text("/spec/leaseName").into(),
        row.text("/spec/binaryVersion").into(),
        row.text("/spec/emulationVersion").into(),
        row.age(),
    ]
}

fn claim_state(row: &Row<'_>) -> String {
    let allocated = row.get("/status/allocation").is_some();
    let reserved = allocated && !row.items("/status/reservedFor").is_empty();
    let states = [
        (row.deleting(), "deleted"),
        (!allocated && !row.deleting(), "pending"),
        (allocated, "allocated"),
        (reserved, "reserved"),
    ];
    states
        .into_iter()
        .filter_map(|(holds, name)| holds.then_some(name))
        .collect::<Vec<_>>()
        .join(",")
}

fn resource_slice(row: &Row<'_>) -> Vec<Value> {
    vec![
        row.name(),
        row.text("/spec/nodeName").into(),
        row.text("/spec/driver").into(),
        row.text("/spec/pool/name").into(),
        row.age(),
    ]
}
