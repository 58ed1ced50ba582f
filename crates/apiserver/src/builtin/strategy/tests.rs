mod services;

use super::*;
use serde_json::json;

/// Runs `act` with a fresh context over `pool`.
fn with_context<T>(pool: &mut ServicePool, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
    let groups = ["system:authenticated".to_owned()];
    let extra = BTreeMap::new();
    let requester = Requester {
        username: "alice",
        uid: "u-1",
        groups: &groups,
        extra: &extra,
    };
    act(&mut Context {
        now: "2026-01-02T03:04:05Z",
        requester,
        allocator: pool,
    })
}

fn create(group: &str, resource: &str, mut object: Value) -> Value {
    let mut pool = ServicePool::default();
    with_context(&mut pool, |context| {
        strategy(group, resource).prepare_for_create(&mut object, context)
    })
    .unwrap();
    object
}

fn update(group: &str, resource: &str, mut new: Value, old: &Value) -> Value {
    let mut pool = ServicePool::default();
    pool.record(old);
    with_context(&mut pool, |context| {
        strategy(group, resource).prepare_for_update(&mut new, old, context)
    })
    .unwrap();
    new
}

#[track_caller]
fn expect(object: &Value, rows: &[(&str, Value)]) {
    for (pointer, value) in rows {
        assert_eq!(
            object.pointer(pointer).unwrap_or(&Value::Null),
            value,
            "{pointer} in {object:#}"
        );
    }
}

#[test]
fn every_resource_of_the_table_has_a_strategy_that_fits_its_subresources() {
    for resource in kubewright_kinds::table().resources() {
        let strategy = strategy(resource.group, resource.plural);
        let has_status = resource.subresource("status").is_some();
        assert_eq!(
            strategy.status != StatusRule::None,
            has_status,
            "{}/{}",
            resource.group,
            resource.plural
        );
        if let StatusRule::Reset(text) = strategy.status {
            assert!(
                serde_json::from_str::<Value>(text).is_ok_and(|status| status.is_object()),
                "{text}"
            );
        }
    }
}

#[test]
fn creates() {
    expect(
        &create(
            "",
            "pods",
            json!({"metadata": {"name": "p", "generation": 7}, "spec": {}, "status": {"phase": "Running"}}),
        ),
        &[
            ("/metadata/generation", json!(1)),
            ("/status", json!({"phase": "Pending", "qosClass": "BestEffort"})),
        ],
    );
    expect(
        &create(
            "",
            "pods",
            json!({"metadata": {}, "spec": {"schedulingGates": [{"name": "a"}]}}),
        ),
        &[("/status/conditions/0/reason", json!("SchedulingGated"))],
    );
    expect(
        &create(
            "",
            "pods",
            json!({"metadata": {"labels": {"a": "1"}},
                   "spec": {"topologySpreadConstraints": [{"matchLabelKeys": ["a", "b"], "labelSelector": {}}, {"matchLabelKeys": ["a"]}]}}),
        ),
        &[
            (
                "/spec/topologySpreadConstraints/0/labelSelector/matchExpressions",
                json!([{"key": "a", "operator": "In", "values": ["1"]}]),
            ),
            ("/spec/topologySpreadConstraints/1/labelSelector", json!(null)),
        ],
    );
    expect(
        &create("", "namespaces", json!({"metadata": {"name": "n"}})),
        &[
            ("/spec/finalizers", json!(["kubernetes"])),
            ("/status", json!({"phase": "Active"})),
            ("/metadata/labels", json!({"kubernetes.io/metadata.name": "n"})),
            ("/metadata/generation", json!(null)),
        ],
    );
    expect(
        &create(
            "",
            "nodes",
            json!({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}}),
        ),
        &[("/status/capacity/cpu", json!("1"))],
    );
    expect(
        &create(
            "batch",
            "jobs",
            json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {}}}),
        ),
        &[
            (
                "/spec/template/metadata/labels",
                json!({"batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
                       "controller-uid": "u", "job-name": "j"}),
            ),
            (
                "/spec/selector",
                json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}),
            ),
        ],
    );
    let labels = json!({"batch.kubernetes.io/controller-uid": "u", "controller-uid": "u", "batch.kubernetes.io/job-name": "j",
                        "job-name": "j"});
    expect(
        &create(
            "batch",
            "jobs",
            json!({"metadata": {"name": "j", "uid": "u"}, "spec": {}}),
        ),
        &[
            ("/metadata/labels", labels.clone()),
            ("/spec/template/metadata/labels", labels),
        ],
    );
    expect(
        &create(
            "batch",
            "jobs",
            json!({"metadata": {"name": "j", "uid": "u", "labels": {"a": "b"}}, "spec": {}}),
        ),
        &[("/metadata/labels", json!({"a": "b"}))],
    );
    expect(
        &create(
            "batch",
            "jobs",
            json!({"metadata": {"name": "j"}, "spec": {"manualSelector": true}}),
        ),
        &[("/spec/selector", json!(null))],
    );
    expect(
        &create(
            "certificates.k8s.io",
            "certificatesigningrequests",
            json!({"metadata": {}, "spec": {"username": "eve"}, "status": {"certificate": "x"}}),
        ),
        &[
            ("/spec/username", json!("alice")),
            ("/spec/groups", json!(["system:authenticated"])),
            ("/status", json!({})),
        ],
    );
    expect(
        &create(
            "apps",
            "replicasets",
            json!({"metadata": {}, "status": {"replicas": 4}}),
        ),
        &[
            ("/status", json!({"replicas": 0})),
            ("/metadata/generation", json!(1)),
        ],
    );
    expect(
        &create(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            json!({"metadata": {}, "spec": {"versions": [{"name": "v1", "storage": false}, {"name": "v2", "storage": true}]}}),
        ),
        &[("/status/storedVersions", json!(["v2"]))],
    );
    expect(
        &create(
            "",
            "persistentvolumeclaims",
            json!({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}}),
        ),
        &[
            ("/spec/dataSourceRef/name", json!("a")),
            ("/status/phase", json!("Pending")),
        ],
    );
}

#[test]
fn sources_of_claims() {
    #[track_caller]
    fn check(spec: Value, expect: &Value) {
        let claim = create("", "persistentvolumeclaims", json!({"spec": spec}));
        assert_eq!(&claim["spec"], expect);
    }
    // What never could be a source is none.
    check(json!({"dataSource": {"kind": "Other", "name": "a"}}), &json!({}));
    check(json!({"dataSource": {}}), &json!({}));
    let snapshot = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "a"});
    let both = json!({"dataSource": snapshot, "dataSourceRef": snapshot});
    check(json!({"dataSource": snapshot}), &both);
    check(json!({"dataSourceRef": snapshot}), &both);
    let other = json!({"kind": "Other", "name": "a"});
    check(
        json!({"dataSourceRef": other}),
        &json!({"dataSource": other, "dataSourceRef": other}),
    );
    // Sources elsewhere are behind a feature gate that is off.
    check(
        json!({"dataSourceRef": {"kind": "Other", "name": "a", "namespace": "b"}}),
        &json!({}),
    );
}

#[test]
fn generations_count_what_the_kind_counts() {
    #[track_caller]
    fn check(group: &str, resource: &str, change: (&str, Value), expect: Value) {
        let old = json!({"metadata": {"generation": 3, "annotations": {"a": "b"}}, "spec": {"replicas": 1}, "status": {"x": 1}});
        let mut new = old.clone();
        *new.pointer_mut(change.0).unwrap() = change.1;
        let new = update(group, resource, new, &old);
        assert_eq!(new["metadata"]["generation"], expect, "{resource} {}", change.0);
    }
    check("apps", "replicasets", ("/spec/replicas", json!(2)), json!(4));
    check("apps", "replicasets", ("/spec/replicas", json!(1)), json!(3));
    check(
        "apps",
        "replicasets",
        ("/metadata/annotations", json!({})),
        json!(3),
    );
    check(
        "apps",
        "replicasets",
        ("/metadata/generation", json!(9)),
        json!(3),
    );
    check("apps", "replicasets", ("/status", json!({})), json!(3));
    check(
        "apps",
        "deployments",
        ("/metadata/annotations", json!({})),
        json!(4),
    );
    check(
        "scheduling.k8s.io",
        "priorityclasses",
        ("/spec", json!({})),
        json!(3),
    );
    check("", "configmaps", ("/spec", json!({})), json!(3));
    check(
        "storage.k8s.io",
        "csidrivers",
        ("/spec/replicas", json!(2)),
        json!(4),
    );
    // What counts only changes has none at first.
    let driver = create(
        "storage.k8s.io",
        "csidrivers",
        json!({"metadata": {"name": "d"}, "spec": {}}),
    );
    expect(&driver, &[("/metadata/generation", json!(null))]);
    let changed = json!({"metadata": {"name": "d"}, "spec": {"podInfoOnMount": true}});
    let changed = update("storage.k8s.io", "csidrivers", changed, &driver);
    expect(&changed, &[("/metadata/generation", json!(1))]);
}

#[test]
fn finalizers_are_known_or_have_a_domain() {
    const UNKNOWN: &str = "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully \
                           qualified";
    #[track_caller]
    fn check(group: &str, resource: &str, finalizer: &str, expect: &[&str]) {
        let object = json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "1", "finalizers": [finalizer]}});
        let mut errors = Vec::new();
        let strategy = strategy(group, resource);
        strategy.validate_finalizers(&mut errors, &object);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expect, "{resource} {finalizer}");
        let updated = strategy.validate_subresource_update("status", &object, &object);
        let has_error = updated.iter().any(|error| error.to_string() == UNKNOWN);
        assert_eq!(has_error, !expect.is_empty(), "{resource} {finalizer}");
    }
    for resource in ["configmaps", "pods", "namespaces", "services"] {
        check("", resource, "mine", &[UNKNOWN]);
        for known in ["kubernetes", "orphan", "foregroundDeletion", "a.b/mine"] {
            check("", resource, known, &[]);
        }
    }
    for (group, resource) in [("apps", "deployments"), ("rbac.authorization.k8s.io", "roles")] {
        check(group, resource, "mine", &[UNKNOWN]);
    }
    for (group, resource) in [
        ("coordination.k8s.io", "leases"),
        ("policy", "poddisruptionbudgets"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
    ] {
        check(group, resource, "mine", &[]);
    }
}

#[test]
fn status_is_kept_apart() {
    let old = json!({"metadata": {"generation": 1, "labels": {"a": "1"}, "ownerReferences": [{"uid": "u"}]},
                     "spec": {"replicas": 1}, "status": {"replicas": 1}});
    let sent = json!({"metadata": {"generation": 1, "labels": {"a": "2"}}, "spec": {"replicas": 2}, "status": {"replicas": 2}});
    let main = update("apps", "deployments", sent.clone(), &old);
    expect(
        &main,
        &[
            ("/spec/replicas", json!(2)),
            ("/status/replicas", json!(1)),
            ("/metadata/labels/a", json!("2")),
        ],
    );

    let status = |group: &str, resource: &str| {
        let (mut new, mut pool) = (sent.clone(), ServicePool::default());
        with_context(&mut pool, |context| {
            strategy(group, resource).prepare_for_status_update(&mut new, &old, context)
        });
        new
    };
    expect(
        &status("apps", "deployments"),
        &[
            ("/spec/replicas", json!(1)),
            ("/status/replicas", json!(2)),
            ("/metadata/labels/a", json!("1")),
            ("/metadata/ownerReferences", json!(null)),
        ],
    );
    expect(
        &status("apps", "replicasets"),
        &[("/spec/replicas", json!(1)), ("/metadata/labels/a", json!("2"))],
    );
    expect(
        &status("", "pods"),
        &[
            ("/metadata/labels/a", json!("2")),
            ("/metadata/ownerReferences/0/uid", json!("u")),
        ],
    );
    expect(
        &status("resource.k8s.io", "resourceclaims"),
        &[
            ("/metadata/labels/a", json!("1")),
            ("/metadata/ownerReferences/0/uid", json!("u")),
            ("/status/replicas", json!(2)),
        ],
    );
}

#[test]
fn subresources_change_only_their_part() {
    let run = |group: &str, resource: &str, name: &str, mut new: Value, old: &Value| {
        let mut pool = ServicePool::default();
        with_context(&mut pool, |context| {
            strategy(group, resource).prepare_for_subresource(name, &mut new, old, context)
        });
        new
    };
    let namespace = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}});
    let new = run(
        "",
        "namespaces",
        "finalize",
        json!({"metadata": {"name": "n"}, "spec": {"finalizers": []}}),
        &namespace,
    );
    expect(
        &new,
        &[
            ("/spec/finalizers", json!([])),
            ("/status/phase", json!("Terminating")),
        ],
    );
    let kept = update(
        "",
        "namespaces",
        json!({"metadata": {"name": "n"}, "spec": {"finalizers": []}}),
        &namespace,
    );
    expect(&kept, &[("/spec/finalizers", json!(["kubernetes"]))]);

    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "spec": {"request": "a"}, "status": {"certificate": "c"}});
    let sent = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "spec": {"request": "b"},
                      "status": {"conditions": [{"type": "Approved", "status": "True"}]}});
    let approved = run(
        "certificates.k8s.io",
        "certificatesigningrequests",
        "approval",
        sent,
        &request,
    );
    expect(
        &approved,
        &[
            ("/spec/request", json!("a")),
            ("/status/certificate", json!("c")),
            (
                "/status/conditions/0/lastUpdateTime",
                json!("2026-01-02T03:04:05Z"),
            ),
        ],
    );
    // Only `/approval` decides: by `/status` a decision stays what it is.
    let mut denied = approved.clone();
    denied["status"]["conditions"][0]["message"] = json!("other");
    let by_status = run(
        "certificates.k8s.io",
        "certificatesigningrequests",
        "status",
        denied,
        &approved,
    );
    expect(&by_status, &[("/status/conditions/0/message", json!(null))]);

    let pod =
        json!({"metadata": {"generation": 1}, "spec": {"containers": [{"name": "a", "resources": {}}]}});
    let sent = json!({"metadata": {"generation": 1}, "spec": {"nodeName": "x", "containers": [{"name": "a", "image": "y", "resources": {"limits": {"cpu": "1"}}}]}});
    let resized = run("", "pods", "resize", sent, &pod);
    expect(
        &resized,
        &[
            (
                "/spec",
                json!({"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}),
            ),
            ("/metadata/generation", json!(2)),
        ],
    );
}

#[test]
fn field_selectors() {
    #[track_caller]
    fn check(group: &str, resource: &str, object: Value, field: &str, expect: Option<&str>) {
        let strategy = strategy(group, resource);
        assert_eq!(
            strategy.selectable_field(&object, field).as_deref(),
            expect,
            "{resource} {field}"
        );
        assert_eq!(
            strategy.selectable.names().any(|name| name == field),
            expect.is_some(),
            "{resource} {field}"
        );
    }
    let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "x"}, "status": {"phase": "Running"}});
    check("", "pods", pod.clone(), "metadata.name", Some("p"));
    check("", "pods", pod.clone(), "metadata.namespace", Some("n"));
    check("", "pods", pod.clone(), "spec.nodeName", Some("x"));
    check("", "pods", pod.clone(), "status.phase", Some("Running"));
    check("", "pods", pod.clone(), "status.podIP", Some(""));
    check("", "pods", pod.clone(), "spec.hostNetwork", Some("false"));
    check("", "pods", pod.clone(), "spec.host", Some("x"));
    check("", "pods", pod.clone(), "status.podIPs", Some(""));
    check("", "pods", pod, "spec.containers", None);
    let two = json!({"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.3"}]}});
    check("", "pods", two, "status.podIP", Some("10.0.0.2"));
    check("", "namespaces", json!({}), "metadata.namespace", None);
    check("", "namespaces", json!({}), "name", None);
    check("apps", "replicasets", json!({}), "status.replicas", None);
    check(
        "",
        "replicationcontrollers",
        json!({}),
        "status.replicas",
        Some("0"),
    );
    check(
        "resource.k8s.io",
        "resourceslices",
        json!({"spec": {"pool": {"name": "p"}}}),
        "spec.pool.name",
        Some("p"),
    );
    check("", "nodes", json!({}), "spec.unschedulable", Some("false"));
    check("", "secrets", json!({"type": "Opaque"}), "type", Some("Opaque"));
    check(
        "batch",
        "jobs",
        json!({"status": {"succeeded": 3}}),
        "status.successful",
        Some("3"),
    );
    check("batch", "jobs", json!({}), "status.successful", Some("0"));
    check(
        "",
        "events",
        json!({"reportingComponent": "r"}),
        "source",
        Some("r"),
    );
    check(
        "",
        "events",
        json!({"involvedObject": {"uid": "u"}}),
        "involvedObject.uid",
        Some("u"),
    );
    check(
        "events.k8s.io",
        "events",
        json!({"regarding": {"kind": "Pod"}}),
        "regarding.kind",
        Some("Pod"),
    );
    check("", "configmaps", json!({}), "data", None);

    for (group, version, resource, kind, expect) in [
        ("", "v1", "pods", "Pod", "field label not supported: a.b"),
        (
            "",
            "v1",
            "configmaps",
            "ConfigMap",
            "\"a.b\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        (
            "batch",
            "v1",
            "jobs",
            "Job",
            "field label \"a.b\" not supported for Job",
        ),
        (
            "resource.k8s.io",
            "v1",
            "resourceslices",
            "ResourceSlice",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: a.b",
        ),
    ] {
        let kind = kubewright_core::GroupVersionKind::new(group, version, kind);
        let told = strategy(group, resource).selectable.refuse(&kind, "a.b");
        assert_eq!(told, expect);
    }
}

#[test]
fn subresources_are_checked_by_what_they_may_change() {
    #[track_caller]
    fn check(name: &str, new: Value, old: Value, expect: &[&str]) {
        let pod = |spec: Value| {
            let mut pod =
                json!({"metadata": {"name": "p", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
            crate::builtin::defaults::apply("", "v1", "Pod", &mut pod);
            pod
        };
        let errors = strategy("", "pods").validate_subresource_update(name, &pod(new), &pod(old));
        // Without what differs.
        let text =
            |error: &kubewright_core::FieldError| error.to_string().split('@').next().unwrap().to_owned();
        let texts: Vec<String> = errors.iter().map(text).collect();
        assert_eq!(texts, expect);
    }
    let pod = |cpu: &str, debug: Value| json!({"containers": [{"name": "a", "image": "i", "resources": {"requests": {"cpu": cpu}}}], "ephemeralContainers": debug});
    check("resize", pod("2", json!([])), pod("1", json!([])), &[]);
    let debug = |image: &str| json!([{"name": "d", "image": image}]);
    check(
        "ephemeralcontainers",
        pod("1", debug("x")),
        pod("1", json!([])),
        &[],
    );
    check(
        "ephemeralcontainers",
        pod("1", debug("x")),
        pod("1", debug("y")),
        &["spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be changed\n"],
    );
    check(
        "ephemeralcontainers",
        pod("1", json!([])),
        pod("1", debug("y")),
        &["spec.ephemeralContainers: Forbidden: existing ephemeral containers \"d\" may not be removed\n"],
    );
    // The status of an object that broke a rule before the rule was made can still be written.
    check("status", json!({}), json!({}), &[]);
}

#[test]
fn daemon_sets_count_their_templates() {
    let number =
        |set: &Value| set["metadata"]["annotations"]["deprecated.daemonset.template.generation"].clone();
    let old = create(
        "apps",
        "daemonsets",
        json!({"metadata": {"annotations": {"deprecated.daemonset.template.generation": "9"}}, "spec": {"template": {}}}),
    );
    assert_eq!(number(&old), "1");
    let same = update(
        "apps",
        "daemonsets",
        json!({"metadata": {}, "spec": {"template": {}, "minReadySeconds": 1}}),
        &old,
    );
    assert_eq!(number(&same), "1");
    let changed = update(
        "apps",
        "daemonsets",
        json!({"metadata": {}, "spec": {"template": {"spec": {"nodeName": "n"}}}}),
        &old,
    );
    assert_eq!(number(&changed), "2");
}
