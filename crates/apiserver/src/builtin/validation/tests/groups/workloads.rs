//! Workloads.

use super::*;

fn template(restart: &str) -> Value {
    json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": restart},
    })
}

fn workload() -> Value {
    json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template("Always")}})
}

#[test]
fn workloads() {
    for (resource, kind, controller) in [
        ("deployments", "deployment", "ReplicaSet"),
        ("replicasets", "deployment", "ReplicaSet"),
        ("daemonsets", "daemonset", "DaemonSet"),
        ("statefulsets", "statefulset", "StatefulSet"),
    ] {
        let to = ("apps/v1", resource);
        create(to, &workload(), &[]);
        let empty = format!("spec.selector: Invalid value: {{}}: empty selector is invalid for {kind}");
        create(
            to,
            &with(&workload(), &[("/spec/selector", json!({}))]),
            &[&empty],
        );
        create(
            to,
            &with(
                &workload(),
                &[("/spec/template/metadata/labels", json!({"a": "c"}))],
            ),
            &[
                "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`",
            ],
        );
        let late = format!(
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in {controller} is not Supported"
        );
        create(
            to,
            &with(
                &workload(),
                &[
                    ("/spec/template/spec/activeDeadlineSeconds", json!(5)),
                    ("/spec/template/spec/restartPolicy", json!("Never")),
                ],
            ),
            &[
                &late,
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
            ],
        );
        let two = with(
            &workload(),
            &[("/spec/template/metadata/labels", json!({"a": "b", "c": "d"}))],
        );
        update(
            to,
            &with(&two, &[("/spec/selector/matchLabels", json!({"c": "d"}))]),
            &two,
            &["spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable"],
        );
    }
    let missing = [
        "spec.selector: Required value",
        "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
    ];
    create(
        ("apps/v1", "deployments"),
        &with(&workload(), &[("/spec/selector", Value::Null)]),
        &missing,
    );
    let unreadable = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Is"}]});
    create(
        ("apps/v1", "replicasets"),
        &with(&workload(), &[("/spec/selector", unreadable.clone())]),
        &[
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            "spec.selector.matchExpressions[1].operator: Invalid value: \"Is\": not a valid selector operator",
            &format!(
                "spec.selector: Invalid value: {}: invalid label selector",
                go_json(&unreadable)
            ),
        ],
    );
}

#[test]
fn deployments_and_daemon_sets() {
    let deployments = ("apps/v1", "deployments");
    let strategy = |kind: &str, rolling: Value| {
        with(
            &workload(),
            &[("/spec/strategy", json!({"type": kind, "rollingUpdate": rolling}))],
        )
    };
    let rolling = "spec.strategy.rollingUpdate";
    create(
        deployments,
        &strategy("RollingUpdate", json!({"maxUnavailable": "0%", "maxSurge": 0})),
        &[&format!(
            "{rolling}.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"
        )],
    );
    create(
        deployments,
        &strategy(
            "RollingUpdate",
            json!({"maxUnavailable": "101%", "maxSurge": "1"}),
        ),
        &[
            &format!("{rolling}.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"),
            &format!(
                "{rolling}.maxSurge: Invalid value: \"1\": a valid percent string must be a numeric string followed by an \
                 ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
            ),
        ],
    );
    create(
        deployments,
        &strategy("Recreate", json!({"maxSurge": 1})),
        &[&format!(
            "{rolling}: Forbidden: may not be specified when strategy `type` is 'Recreate'"
        )],
    );
    create(
        deployments,
        &with(
            &workload(),
            &[
                ("/spec/replicas", json!(-1)),
                ("/spec/minReadySeconds", json!(10)),
                ("/spec/progressDeadlineSeconds", json!(10)),
                ("/spec/revisionHistoryLimit", json!(-2)),
            ],
        ),
        &[
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds",
            "spec.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0",
        ],
    );
    warned(
        deployments,
        &with(&workload(), &[("/metadata", json!({"name": "a.b"}))]),
        &[
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is \
           recommended: [must not contain dots]",
        ],
    );
    let daemons = ("apps/v1", "daemonsets");
    let strategy = |rolling: Value| {
        with(
            &workload(),
            &[(
                "/spec/updateStrategy",
                json!({"type": "RollingUpdate", "rollingUpdate": rolling}),
            )],
        )
    };
    create(
        daemons,
        &strategy(json!({"maxUnavailable": 1, "maxSurge": "10%"})),
        &[
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: \"10%\": may not be set when maxUnavailable is non-zero",
        ],
    );
    create(
        daemons,
        &strategy(json!({"maxUnavailable": 0})),
        &["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    );
    report(
        deployments,
        &workload(),
        json!({"replicas": 1, "readyReplicas": 2, "availableReplicas": 3, "collisionCount": 1}),
        json!({"collisionCount": 2}),
        &[
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
            "status.collisionCount: Invalid value: 1: cannot be decremented",
        ],
    );
}

#[test]
fn stateful_sets_and_revisions() {
    let sets = ("apps/v1", "statefulsets");
    create(
        sets,
        &with(
            &workload(),
            &[
                ("/metadata", json!({"name": "a.b"})),
                ("/spec/serviceName", json!("A")),
                ("/spec/podManagementPolicy", json!("Random")),
                ("/spec/ordinals", json!({"start": -1})),
                (
                    "/spec/updateStrategy",
                    json!({"type": "OnDelete", "rollingUpdate": {"partition": 1}}),
                ),
            ],
        ),
        &[
            "metadata.name: Invalid value: \"a.b\": must not contain dots",
            "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
            "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'",
            "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
            "spec.serviceName: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
             or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
             validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    create(
        sets,
        &with(
            &workload(),
            &[(
                "/spec/updateStrategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}}),
            )],
        ),
        &["spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0"],
    );
    let claims = |modes: Value| {
        let claim = json!([{"metadata": {"name": "data"}, "spec": {"accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}}}]);
        with(
            &workload(),
            &[
                ("/spec/volumeClaimTemplates", claim),
                (
                    "/spec/template/spec/containers/0/volumeMounts",
                    json!([{"name": "data", "mountPath": "/data"}]),
                ),
            ],
        )
    };
    create(sets, &claims(json!(["ReadWriteOnce"])), &[]);
    update(
        sets,
        &with(
            &claims(json!(["ReadWriteOnce"])),
            &[
                ("/spec/serviceName", json!("other")),
                ("/spec/replicas", json!(3)),
            ],
        ),
        &claims(json!(["ReadWriteOnce"])),
        &["spec.serviceName: Invalid value: \"other\": field is immutable"],
    );
    warned(
        sets,
        &with(&workload(), &[("/spec/revisionHistoryLimit", json!(-1))]),
        &[
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        ],
    );
    let revisions = ("apps/v1", "controllerrevisions");
    create(revisions, &json!({"revision": 1, "data": {"a": 1}}), &[]);
    create(
        revisions,
        &json!({"revision": -1}),
        &[
            "revision: Invalid value: -1: must be greater than or equal to 0",
            "data: Required value: data is mandatory",
        ],
    );
    create(
        revisions,
        &json!({"revision": 1, "data": [1]}),
        &["data: Required value: data must be a valid JSON object"],
    );
    update(
        revisions,
        &json!({"revision": 2, "data": {"a": 2}}),
        &json!({"revision": 1, "data": {"a": 1}}),
        &["data: Invalid value: {\"a\":2}: field is immutable"],
    );
}

#[test]
fn jobs() {
    let jobs = ("batch/v1", "jobs");
    let job = |changes: &[(&str, Value)]| with(&json!({"spec": {"template": template("Never")}}), changes);
    create(jobs, &job(&[]), &[]);
    create(
        jobs,
        &job(&[
            ("/spec/backoffLimit", json!(-1)),
            ("/spec/managedBy", json!("me")),
        ]),
        &[
            "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
            "spec.managedBy: Invalid value: \"me\": must be a domain-prefixed path (such as \"acme.io/foo\")",
        ],
    );
    create(
        jobs,
        &job(&[("/spec/template/spec/restartPolicy", json!("Always"))]),
        &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
    );
    create(
        jobs,
        &job(&[("/spec/template/metadata/labels", json!({"job-name": "y"}))]),
        &[
            "spec.template.metadata.labels[job-name]: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"u\",\
           \"batch.kubernetes.io/job-name\":\"x\",\"controller-uid\":\"u\",\"job-name\":\"y\"}: must be 'x'",
        ],
    );
    create(
        jobs,
        &job(&[("/spec/maxFailedIndexes", json!(1))]),
        &[
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
        ],
    );
    create(
        jobs,
        &job(&[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(100_001)),
            ("/spec/parallelism", json!(10_001)),
            ("/spec/backoffLimitPerIndex", json!(1)),
        ]),
        &[
            "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
            "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and \
             used with backoff limit per index",
        ],
    );
    create(
        jobs,
        &job(&[
            ("/metadata", json!({"name": "a".repeat(62)})),
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(11)),
        ]),
        &[&format!(
            "metadata.name: Invalid value: {:?}: will not able to create pod with invalid DNS label: {}-10",
            "a".repeat(62),
            "a".repeat(62)
        )],
    );
    let rule = |rule: Value| job(&[("/spec/podFailurePolicy", json!({"rules": [rule]}))]);
    create(
        jobs,
        &rule(json!({"action": "Ignore"})),
        &[
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        ],
    );
    create(
        jobs,
        &rule(
            json!({"action": "FailIndex", "onExitCodes": {"operator": "In", "containerName": "z", "values": [2, 0, 2]}}),
        ),
        &[
            "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set",
            "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"z\": must be one of the container or \
             initContainer names in the pod template",
            "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
            "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2",
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered",
        ],
    );
    let success = |rule: Value| {
        job(&[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(5)),
            ("/spec/successPolicy", json!({"rules": [rule]})),
        ])
    };
    create(
        jobs,
        &success(json!({"succeededIndexes": "0-2,4", "succeededCount": 4})),
        &[],
    );
    create(
        jobs,
        &success(json!({"succeededIndexes": "2,1"})),
        &[
            "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"2,1\": error parsing succeededIndexes: non-increasing \
           order, previous: 2, current: 1",
        ],
    );
    create(
        jobs,
        &success(json!({"succeededCount": 6})),
        &[
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified \
           completions)",
        ],
    );
}

#[test]
fn jobs_change_while_they_wait() {
    let jobs = ("batch/v1", "jobs");
    let selected = json!({"spec": {
        "manualSelector": true,
        "selector": {"matchLabels": {"a": "b"}},
        "template": template("Never"),
    }});
    let job = |changes: &[(&str, Value)]| with(&selected, changes);
    update(
        jobs,
        &job(&[("/spec/completions", json!(2))]),
        &job(&[("/spec/completions", json!(1))]),
        &["spec.completions: Invalid value: 2: field is immutable"],
    );
    let indexed = |completions: u32, parallelism: u32| {
        job(&[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(completions)),
            ("/spec/parallelism", json!(parallelism)),
        ])
    };
    update(jobs, &indexed(3, 3), &indexed(2, 2), &[]);
    update(
        jobs,
        &indexed(3, 2),
        &indexed(2, 2),
        &["spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"],
    );
    let moved = |suspend: bool| {
        job(&[
            ("/spec/suspend", json!(suspend)),
            ("/spec/template/spec/nodeSelector", json!({"a": "b"})),
            (
                "/spec/template/spec/containers/0/resources",
                json!({"limits": {"cpu": "1"}}),
            ),
        ])
    };
    update(jobs, &moved(true), &job(&[("/spec/suspend", json!(true))]), &[]);
    let (object, errors) = complete(jobs, &moved(false), Some(&complete(jobs, &job(&[]), None).0));
    let text = format!(
        "spec.template: Invalid value: {}: field is immutable",
        go_json(&object["spec"]["template"])
    );
    compare(
        errors
            .into_iter()
            .filter(|error| error.path.as_str() == "spec.template")
            .collect(),
        &[&text],
        &object,
    );
}

#[test]
fn cron_jobs() {
    let crons = ("batch/v1", "cronjobs");
    let cron = |changes: &[(&str, Value)]| {
        with(
            &json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": template("Never")}}}}),
            changes,
        )
    };
    create(crons, &cron(&[]), &[]);
    create(crons, &cron(&[("/spec/timeZone", json!("Europe/Vaduz"))]), &[]);
    create(
        crons,
        &cron(&[("/spec/schedule", json!(""))]),
        &["spec.schedule: Required value"],
    );
    create(
        crons,
        &cron(&[
            ("/spec/schedule", json!("* *")),
            ("/spec/concurrencyPolicy", json!("Maybe")),
        ]),
        &[
            "spec.schedule: Invalid value: \"* *\": expected exactly 5 fields, found 2: [* *]",
            "spec.concurrencyPolicy: Unsupported value: \"Maybe\": supported values: \"Allow\", \"Forbid\", \"Replace\"",
        ],
    );
    let zoned = cron(&[("/spec/schedule", json!("TZ=UTC 0 * * * *"))]);
    create(
        crons,
        &zoned,
        &[
            "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        ],
    );
    update(crons, &zoned, &zoned, &[]);
    create(
        crons,
        &cron(&[("/spec/timeZone", json!("local"))]),
        &[
            "spec.timeZone: Invalid value: \"local\": timeZone must be an explicit time zone as defined in \
           https://www.iana.org/time-zones",
        ],
    );
    create(
        crons,
        &cron(&[("/spec/timeZone", json!("Amerika/../x"))]),
        &["spec.timeZone: Invalid value: \"Amerika/../x\": unknown time zone Amerika/../x"],
    );
    for zone in [
        "UTC",
        "Etc/UTC",
        "America/Argentina/Buenos_Aires",
        "EST5EDT",
        "Zulu",
    ] {
        create(crons, &cron(&[("/spec/timeZone", json!(zone))]), &[]);
    }
    create(
        crons,
        &cron(&[("/spec/timeZone", json!("Mars/Base"))]),
        &["spec.timeZone: Invalid value: \"Mars/Base\": unknown time zone Mars/Base"],
    );
    create(
        crons,
        &cron(&[("/spec/jobTemplate/spec/manualSelector", json!(true))]),
        &[
            "spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: \"nil\", \"false\"",
        ],
    );
}

#[test]
fn reports_on_jobs() {
    let jobs = ("batch/v1", "jobs");
    let job = json!({"spec": {"template": template("Never")}});
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let start = "2020-01-01T00:00:00Z";
    let done = json!({
        "startTime": start, "completionTime": "2020-01-01T00:01:00Z", "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    });
    report(
        jobs,
        &job,
        done.clone(),
        json!({"startTime": start, "active": 1, "ready": 1}),
        &[],
    );
    report(
        jobs,
        &job,
        json!({"startTime": start, "active": 1, "conditions": [condition("Complete"), condition("Failed")]}),
        json!({"startTime": start, "active": 1}),
        &[
            "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
            "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
        ],
    );
    report(
        jobs,
        &job,
        json!({"startTime": "2020-01-01T00:00:01Z", "succeeded": 0}),
        done,
        &[
            "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            "status.startTime: Invalid value: \"2020-01-01T00:00:01Z\": field is immutable for unsuspended job once set",
            "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
        ],
    );
    let indexed = with(
        &job,
        &[
            ("/spec/completionMode", json!("Indexed")),
            ("/spec/completions", json!(5)),
            ("/spec/backoffLimitPerIndex", json!(1)),
        ],
    );
    report(
        jobs,
        &indexed,
        json!({"completedIndexes": "0-2,4", "failedIndexes": "2-3", "uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}}),
        json!({}),
        &[
            "status.failedIndexes: Invalid value: \"2-3\": failedIndexes and completedIndexes overlap at index: 2",
            "status.uncountedTerminatedPods.succeeded[1]: Invalid value: \"\": must not be empty",
            "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"",
        ],
    );
    report(
        jobs,
        &indexed,
        json!({"completedIndexes": "0-9", "ready": 1}),
        json!({}),
        &[
            "status.completedIndexes: Invalid value: \"0-9\": error parsing completedIndexes: too large index: \"9\"",
            "status.ready: Invalid value: 1: cannot set more ready pods than active",
        ],
    );
}
