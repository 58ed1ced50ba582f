//! Pods: the facts of upstream's `TestPrintPod`, `TestPrintPodWithRestartableInitContainer` and `TestPrintPodwide`.

use serde_json::{Value, json};

use super::{ago, cells, now};
use crate::table::{IncludeObject, Printer, TableVersion};

/// Checks ready, status and restarts of a pod with that many containers.
fn check(containers: usize, mut pod: Value, expect: [&str; 3]) {
    pod["spec"]["containers"] = vec![json!({"name": "c"}); containers].into();
    let printed = cells("", "v1", "Pod", &pod);
    assert_eq!(
        printed.as_array().unwrap()[1..4],
        expect.map(Value::from),
        "{pod}"
    );
}

fn running(restarts: i64) -> Value {
    json!({"ready": true, "restartCount": restarts, "state": {"running": {}}})
}

fn ended(state: Value) -> Value {
    json!({"restartCount": 3, "state": {"terminated": state}})
}

fn waiting(reason: &str) -> Value {
    json!({"restartCount": 3, "state": {"waiting": {"reason": reason}}})
}

/// A container that was restarted, the last time that many seconds ago.
fn restarted(count: i64, seconds: i64) -> Value {
    json!({"restartCount": count, "state": {"running": {}}, "lastState": {"terminated": {"finishedAt": ago(seconds)}}})
}

#[test]
fn containers_make_the_status() {
    let pod =
        |phase: &str, statuses: &[Value]| json!({"status": {"phase": phase, "containerStatuses": statuses}});
    check(
        2,
        pod("Phase", &[running(3), json!({"restartCount": 3})]),
        ["1/2", "Phase", "6"],
    );
    check(
        2,
        pod("Phase", &[running(3), waiting("CrashLoopBackOff")]),
        ["1/2", "CrashLoopBackOff", "6"],
    );
    check(
        2,
        pod("Phase", &[waiting("First"), ended(json!({"reason": "Last"}))]),
        ["0/2", "First", "6"],
    );
    check(
        2,
        pod("Phase", &[running(3), json!({"ready": true, "restartCount": 3})]),
        ["1/2", "Phase", "6"],
    );
    check(
        1,
        pod("Phase", &[ended(json!({"exitCode": 2}))]),
        ["0/1", "ExitCode:2", "3"],
    );
    check(
        1,
        pod("Phase", &[ended(json!({"exitCode": 137, "signal": 9}))]),
        ["0/1", "Signal:9", "3"],
    );
    check(
        1,
        pod("Running", &[json!({"ready": false, "state": {"running": {}}})]),
        ["0/1", "Running", "0"],
    );
    let mut evicted = pod("Failed", &[]);
    evicted["status"]["reason"] = "Evicted".into();
    check(2, evicted, ["0/2", "Evicted", "0"]);
    check(0, json!({}), ["0/0", "", "0"]);
}

#[test]
fn a_pod_with_a_running_container_is_not_completed() {
    let completed = ended(json!({"reason": "Completed", "exitCode": 0}));
    let mut pod = json!({"status": {"phase": "Running", "containerStatuses": [completed, running(3)]}});
    check(2, pod.clone(), ["1/2", "NotReady", "6"]);
    pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    check(2, pod, ["1/2", "Running", "6"]);
}

#[test]
fn init_containers_come_first() {
    let pod = |names: usize, inits: &[Value], containers: &[Value]| {
        json!({
            "spec": {"initContainers": vec![json!({}); names]},
            "status": {"phase": "Phase", "initContainerStatuses": inits, "containerStatuses": containers},
        })
    };
    let idle = json!({"state": {"waiting": {}}});
    let done = json!({"state": {"terminated": {"exitCode": 0}}});
    let done_late = json!({
        "restartCount": 2,
        "state": {"terminated": {}},
        "lastState": {"terminated": {"finishedAt": ago(120)}},
    });
    let starting = json!({"state": {"waiting": {"reason": "PodInitializing"}}});
    let one = std::slice::from_ref(&idle);
    check(
        1,
        pod(1, &[restarted(3, 10)], one),
        ["0/1", "Init:0/1", "3 (10s ago)"],
    );
    check(
        1,
        pod(2, &[restarted(3, 10), idle.clone()], one),
        ["0/1", "Init:0/2", "3 (10s ago)"],
    );
    check(
        1,
        pod(2, &[done.clone(), restarted(3, 10)], one),
        ["0/1", "Init:1/2", "3 (10s ago)"],
    );
    check(
        1,
        pod(2, &[done_late.clone(), restarted(3, 10)], one),
        ["0/1", "Init:1/2", "5 (10s ago)"],
    );
    check(
        1,
        pod(1, &[done_late], &[restarted(4, 20)]),
        ["0/1", "Phase", "4 (20s ago)"],
    );
    check(1, pod(2, &[done, starting], one), ["0/1", "Init:1/2", "0"]);
    check(
        1,
        pod(1, &[waiting("ImagePullBackOff")], one),
        ["0/1", "Init:ImagePullBackOff", "3"],
    );
    check(
        1,
        pod(1, &[ended(json!({"exitCode": 1, "reason": "Error"}))], one),
        ["0/1", "Init:Error", "3"],
    );
    check(
        1,
        pod(1, &[ended(json!({"exitCode": 1, "signal": 9}))], one),
        ["0/1", "Init:Signal:9", "3"],
    );
    check(
        1,
        pod(1, &[ended(json!({"exitCode": 1}))], one),
        ["0/1", "Init:ExitCode:1", "3"],
    );
}

#[test]
fn sidecars_count_as_containers() {
    let pod = |phase: &str, inits: [Value; 2], container: Value, initialized: &str| {
        let names = ["s1", "s2"];
        let inits = names.into_iter().zip(inits).map(|(name, mut status)| {
            status["name"] = name.into();
            status
        });
        json!({
            "spec": {"initContainers": names.map(|name| json!({"name": name, "restartPolicy": "Always"}))},
            "status": {
                "phase": phase,
                "initContainerStatuses": inits.collect::<Vec<_>>(),
                "containerStatuses": [container],
                "conditions": [{"type": "Initialized", "status": initialized}],
            },
        })
    };
    let started = |mut status: Value| {
        status["started"] = true.into();
        status
    };
    let idle = json!({"state": {"waiting": {}}});
    let up = json!({"state": {"running": {}}});
    check(
        1,
        pod("Pending", [restarted(3, 10), idle.clone()], idle.clone(), "False"),
        ["0/3", "Init:0/2", "3 (10s ago)"],
    );
    check(
        1,
        pod("Pending", [started(restarted(3, 10)), up.clone()], idle, "False"),
        ["0/3", "Init:1/2", "3 (10s ago)"],
    );
    let mut main = restarted(4, 20);
    main["ready"] = true.into();
    check(
        1,
        pod(
            "Running",
            [started(restarted(3, 10)), started(up.clone())],
            main.clone(),
            "True",
        ),
        ["1/3", "Running", "7 (10s ago)"],
    );
    check(
        1,
        pod(
            "Running",
            [started(running(0)), started(running(0))],
            main,
            "True",
        ),
        ["3/3", "Running", "4 (20s ago)"],
    );
    let killed = |mut status: Value| {
        status["state"] = json!({"terminated": {"reason": "Error", "exitCode": 137}});
        status
    };
    let mut finished = restarted(4, 20);
    finished["state"] = json!({"terminated": {"reason": "Completed", "exitCode": 0}});
    check(
        1,
        pod(
            "Succeeded",
            [killed(restarted(3, 10)), killed(up)],
            finished,
            "True",
        ),
        ["0/3", "Completed", "7 (10s ago)"],
    );
    // Statuses of containers that the specification does not have.
    let stray = json!({
        "spec": {"initContainers": [{"name": "init"}, {"name": "sidecar", "restartPolicy": "Always"}]},
        "status": {
            "phase": "Running",
            "initContainerStatuses": [{"name": "stray"}, {"name": "init"}, {"name": "sidecar"}],
            "containerStatuses": [{"name": "stray"}, {"name": "c"}],
        },
    });
    check(1, stray, ["0/2", "Init:0/2", "0"]);
}

#[test]
fn restarts_tell_the_last_time() {
    let pod = |statuses: &[Value]| json!({"status": {"phase": "Running", "containerStatuses": statuses}});
    let day = 24 * 3600;
    check(1, pod(&[restarted(3, 5 * day)]), ["0/1", "Running", "3 (5d ago)"]);
    check(
        2,
        pod(&[running(0), restarted(3, 10 * day)]),
        ["1/2", "Running", "3 (10d ago)"],
    );
    check(
        2,
        pod(&[restarted(6, 5 * day), restarted(3, 20 * day)]),
        ["0/2", "Running", "9 (5d ago)"],
    );
    check(1, pod(&[restarted(0, day)]), ["0/1", "Running", "0"]);
}

#[test]
fn gates_and_deletion_show() {
    let condition = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
    check(
        2,
        json!({"status": {"phase": "Pending", "conditions": condition}}),
        ["0/2", "SchedulingGated", "0"],
    );
    let deleting = |status: Value| json!({"metadata": {"deletionTimestamp": ago(10)}, "status": status});
    check(
        1,
        deleting(json!({"phase": "Running"})),
        ["0/1", "Terminating", "0"],
    );
    check(
        1,
        deleting(json!({"phase": "Pending"})),
        ["0/1", "Terminating", "0"],
    );
    check(
        1,
        deleting(json!({"phase": "Running", "reason": "NodeLost"})),
        ["0/1", "Unknown", "0"],
    );
    let done = ended(json!({"reason": "Completed"}));
    check(
        1,
        deleting(json!({"phase": "Succeeded", "containerStatuses": [done]})),
        ["0/1", "Completed", "3"],
    );
}

#[test]
fn pods_that_ended_are_marked() {
    let conditions = |phase: &str| {
        let pod = json!({"status": {"phase": phase}});
        let mut row =
            Printer::for_builtin("", "v1", "Pod").row(&pod, IncludeObject::None, TableVersion::V1, now());
        row["conditions"].take()
    };
    for phase in ["Succeeded", "Failed"] {
        let marked = conditions(phase);
        assert_eq!(marked[0]["type"], "Completed");
        assert_eq!(marked[0]["status"], "True");
        assert_eq!(marked[0]["reason"], phase);
        assert!(marked[0]["message"].is_string());
    }
    assert_eq!(conditions("Running"), Value::Null);
}

#[test]
fn wide_columns_tell_where() {
    let pod = json!({
        "metadata": {"name": "p", "creationTimestamp": ago(3600)},
        "spec": {
            "containers": [{"name": "c"}],
            "nodeName": "node",
            "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}],
        },
        "status": {
            "phase": "Running",
            "podIPs": [{"ip": "1.1.1.1"}, {"ip": "2001:db8::"}],
            "nominatedNodeName": "other",
            "conditions": [{"type": "a", "status": "False"}, {"type": "b", "status": "True"}],
        },
    });
    assert_eq!(
        cells("", "v1", "Pod", &pod),
        json!([
            "p", "0/1", "Running", "0", "60m", "1.1.1.1", "node", "other", "1/3"
        ])
    );
    let bare = json!({"metadata": {"name": "p"}, "status": {"phase": "Pending"}});
    assert_eq!(
        cells("", "v1", "Pod", &bare),
        json!([
            "p",
            "0/0",
            "Pending",
            "0",
            "<unknown>",
            "<none>",
            "<none>",
            "<none>",
            "<none>"
        ])
    );
}
