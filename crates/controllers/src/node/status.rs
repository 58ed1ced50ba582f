//! What nodes and pods say of themselves.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

/// The labels that kubelets give their nodes.
pub(super) fn labels(name: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("kubernetes.io/hostname", name.to_owned()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("kubernetes.io/arch", ARCHITECTURE.to_owned()),
    ])
}

/// The status of a node that is well.
pub(super) fn node(name: &str, pods: u32, now: Timestamp) -> Value {
    let time = Time(now);
    let condition = |type_: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": type_, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": time, "lastTransitionTime": time,
        })
    };
    let resources =
        json!({"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": pods.to_string()});
    json!({
        "capacity": resources,
        "allocatable": resources,
        "addresses": [
            {"type": "InternalIP", "address": HOST.to_string()},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "there is memory enough"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "there is disk space enough"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID", "there are process ids enough"),
            condition("Ready", "True", "KubeletReady", "the node only pretends to run pods"),
        ],
        "nodeInfo": {
            "architecture": ARCHITECTURE, "operatingSystem": "linux", "osImage": "simulated",
            "containerRuntimeVersion": "simulated://0", "kubeletVersion": "v1.37.0", "kubeProxyVersion": "",
            "kernelVersion": "", "machineID": "", "systemUUID": "", "bootID": "",
        },
    })
}

/// The status of a pod all of whose containers run.
pub(super) fn running(pod: &Pod, ip: Ipv4Addr, now: Timestamp) -> Value {
    let time = Time(now);
    let spec = pod.spec.as_ref();
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let condition = |type_: &str| json!({"type": type_, "status": "True", "lastTransitionTime": time});
    let mut conditions = vec![
        condition("PodReadyToStartContainers"),
        condition("Initialized"),
        condition("Ready"),
        condition("ContainersReady"),
    ];
    // When it was scheduled is for the scheduler to say.
    conditions.push(match crate::pods::condition(pod, "PodScheduled") {
        Some(scheduled) if scheduled.status == "True" => json!(scheduled),
        _ => condition("PodScheduled"),
    });
    let started = json!({"running": {"startedAt": time}});
    let containers = spec.map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let init = spec
        .and_then(|spec| spec.init_containers.as_deref())
        .unwrap_or_default();
    let status = |container: &Container| {
        // Containers of the init list that restart always are sidecars: they keep running.
        let is_init = init.iter().any(|init| init.name == container.name);
        let ends = is_init && container.restart_policy.as_deref() != Some("Always");
        let state = if ends {
            json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time,
                "containerID": container_id(uid, &container.name)}})
        } else {
            started.clone()
        };
        let image = container.image.as_deref().unwrap_or_default();
        json!({
            "name": container.name, "image": image, "imageID": format!("simulated://{image}"),
            "containerID": container_id(uid, &container.name),
            "ready": true, "started": !ends, "restartCount": 0, "state": state, "lastState": {},
        })
    };
    json!({
        "phase": "Running",
        "hostIP": HOST.to_string(),
        "hostIPs": [{"ip": HOST.to_string()}],
        "podIP": ip.to_string(),
        "podIPs": [{"ip": ip.to_string()}],
        "startTime": time,
        "conditions": conditions,
        "containerStatuses": containers.iter().map(status).collect::<Vec<_>>(),
        "initContainerStatuses": init.iter().map(status).collect::<Vec<_>>(),
    })
}

fn container_id(uid: &str, container: &str) -> String {
    format!("simulated://{uid}/{container}")
}

/// The address of every node: they are all this machine.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "amd64"
};
