//! Specifications of pods, by the cases of upstream's `TestValidatePodSpec`, `TestValidatePod` and `TestValidatePodUpdate`.

use super::pods::pod_spec;
use super::*;

#[track_caller]
fn spec(extra: Value, expect: &[&str]) {
    check("", "pods", &json!({"spec": pod_spec(extra)}), expect);
}

#[test]
fn names_and_dns() {
    for (extra, expect) in [
        (json!({"hostnameOverride": "a.b"}), &[][..]),
        (
            json!({"hostnameOverride": "a", "setHostnameAsFQDN": true}),
            &["spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true"],
        ),
        (
            json!({"dnsPolicy": "None"}),
            &["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            json!({"dnsPolicy": "None", "dnsConfig": {"searches": ["a"]}}),
            &[
                "spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None",
            ],
        ),
        (
            json!({"dnsConfig": {"nameservers": ["1.2.3.4", "x", "::1", "::2"], "options": [{}]}}),
            &[
                "spec.dnsConfig.nameservers: Invalid value: [\"1.2.3.4\",\"x\",\"::1\",\"::2\"]: must not have more than 3 \
                 nameservers",
                "spec.dnsConfig.nameservers[1]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or \
                 2001:db8::ffff)",
                "spec.dnsConfig.options[0]: Required value: must not be empty",
            ],
        ),
        (json!({"dnsConfig": {"searches": [".", "_tcp.a_b.c."]}}), &[]),
        (
            json!({"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a.b"]}, {"ip": "x"}]}),
            &[
                "spec.hostAliases[1].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ],
        ),
        (
            json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}]}]}),
            &[
                "spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
            ],
        ),
        (
            json!({"hostPID": true, "shareProcessNamespace": true}),
            &[
                "spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
            ],
        ),
        (
            json!({"hostUsers": false, "hostNetwork": true, "hostPID": true}),
            &[
                "spec.hostNetwork: Forbidden: when `hostUsers` is false",
                "spec.HostPID: Forbidden: when `hostUsers` is false",
            ],
        ),
        (
            json!({"preemptionPolicy": "Sometimes"}),
            &[
                "spec.preemptionPolicy: Unsupported value: \"Sometimes\": supported values: \"PreemptLowerPriority\", \
                 \"Never\"",
            ],
        ),
        (
            json!({"terminationGracePeriodSeconds": -1}),
            &["spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            json!({"os": {"name": "plan9"}}),
            &["spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\""],
        ),
        (
            json!({"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}, "hostPID": true}),
            &[
                "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
                "spec.hostPID: Forbidden: cannot be set for a windows pod",
            ],
        ),
        (
            json!({"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}}),
            &[
                "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
            ],
        ),
        (
            json!({"overhead": {"cpu": "-1"}}),
            &["spec.overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"],
        ),
        (
            json!({"resourceClaims": [{"name": "a"}, {"name": "a", "resourceClaimName": "x"}]}),
            &[
                "spec.resourceClaims[0]: Invalid value: {\"name\":\"a\"}: must specify one of: `resourceClaimName`, \
                 `resourceClaimTemplateName`",
                "spec.resourceClaims[1].name: Duplicate value: \"a\"",
            ],
        ),
    ] {
        spec(extra, expect);
    }
}

#[test]
fn scheduling() {
    let toleration = |fields: Value| json!({"tolerations": [fields]});
    for (extra, expect) in [
        (toleration(json!({"operator": "Exists"})), &[][..]),
        (
            toleration(json!({"key": "k", "operator": "Gt", "value": "1"})),
            &[
                "spec.tolerations[0].operator: Unsupported value: \"Gt\": supported values: \"Equal\", \"Exists\", \"Lt\", \
                 \"Gt\"",
            ],
        ),
        (
            toleration(json!({"key": "k", "operator": "Exists", "value": "v", "effect": "Never"})),
            &[
                "spec.tolerations[0].operator: Invalid value: \"v\": value must be empty when `operator` is 'Exists'",
                "spec.tolerations[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \
                 \"PreferNoSchedule\", \"NoExecute\"",
            ],
        ),
        (
            toleration(json!({"key": "k", "tolerationSeconds": 1, "effect": "NoSchedule"})),
            &[
                "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when \
                 `tolerationSeconds` is set",
            ],
        ),
        (
            json!({"topologySpreadConstraints": [
                {"maxSkew": 0, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 1, "nodeTaintsPolicy": "x"},
                {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["a"]}]}),
            &[
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{k, ScheduleAnyway}\"",
                "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if \
                 whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
                "spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: \"x\": supported values: \"Honor\", \
                 \"Ignore\"",
                "spec.topologySpreadConstraints[1].matchLabelKeys: Forbidden: must not be specified when labelSelector is not \
                 set",
            ],
        ),
        (
            json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Gt", "values": ["1", "2"]}],
                     "matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]}}}),
            &[
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: \
                 Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: \
                 Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: \
                 Invalid value: \"metadata.uid\": not a valid field selector key",
                "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be \
                 in the range 1-100",
            ],
        ),
        (
            json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "", "namespaces": ["A"]}]}}}),
            &[
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: \
                 \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: \
                 can not be empty",
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: \
                 \"\": name part must be non-empty",
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: \
                 \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        ),
        (
            json!({"schedulingGates": [{"name": "g"}, {"name": "g"}], "nodeName": "n"}),
            &[
                "spec.schedulingGates[1]: Duplicate value: \"g\"",
                "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            ],
        ),
    ] {
        spec(extra, expect);
    }
}

#[test]
fn security_of_the_pod() {
    let context = |fields: Value| json!({"securityContext": fields});
    for (extra, expect) in [
        (
            context(
                json!({"sysctls": [{"name": "kernel.shmmax", "value": "1"}, {"name": "net/ipv4/x", "value": "1"}]}),
            ),
            &[][..],
        ),
        (
            context(json!({"fsGroup": -1, "supplementalGroups": [1, -2], "fsGroupChangePolicy": "x"})),
            &[
                "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.supplementalGroups[1]: Invalid value: -2: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.fsGroupChangePolicy: Unsupported value: \"x\": supported values: \"Always\", \
                 \"OnRootMismatch\"",
            ],
        ),
        (
            context(json!({"sysctls": [{"name": "a"}, {"name": "a"}, {"name": ""}, {"name": "A"}]})),
            &[
                "spec.securityContext.sysctls[1].name: Duplicate value: \"a\"",
                "spec.securityContext.sysctls[2].name: Required value",
                "spec.securityContext.sysctls[3].name: Invalid value: \"A\": must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            ],
        ),
        (
            json!({"hostNetwork": true, "securityContext": {"sysctls": [{"name": "net.ipv4.x"}]}}),
            &[
                "spec.securityContext.sysctls[0].name: Invalid value: \"net.ipv4.x\": may not be specified when 'hostNetwork' \
                 is true",
            ],
        ),
        (
            json!({"hostNetwork": false, "securityContext": {"windowsOptions": {"hostProcess": true}}}),
            &[
                "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
            ],
        ),
        (
            context(json!({"seLinuxChangePolicy": "x", "supplementalGroupsPolicy": "y"})),
            &[
                "spec.securityContext.supplementalGroupsPolicy: Unsupported value: \"y\": supported values: \"Merge\", \
                 \"Strict\"",
                "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"x\": supported values: \"MountOption\", \
                 \"Recursive\"",
            ],
        ),
    ] {
        spec(extra, expect);
    }
}

#[test]
fn pod_level_resources() {
    let with = |resources: Value, cpu: &str| json!({"resources": resources, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]});
    spec(with(json!({"requests": {"cpu": "2"}}), "1"), &[]);
    spec(
        with(json!({"requests": {"cpu": "1"}}), "2"),
        &[
            "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate container requests \
           of 2",
        ],
    );
    spec(
        with(json!({"requests": {"ephemeral-storage": "1"}}), "1"),
        &[
            "spec.resources.requests[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": supported values: \"cpu\", \
           \"hugepages-\", \"memory\"",
        ],
    );
}

#[test]
fn annotations() {
    let annotated = |key: &str, value: &str, extra: Value| json!({"metadata": {"annotations": {key: value}}, "spec": pod_spec(extra)});
    for (object, expect) in [
        (
            annotated("controller.kubernetes.io/pod-deletion-cost", "-5", json!({})),
            &[][..],
        ),
        (
            annotated("controller.kubernetes.io/pod-deletion-cost", "+5", json!({})),
            &[
                "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: \"+5\": must be a 32bit \
                 integer",
            ],
        ),
        (
            annotated("kubernetes.io/config.mirror", "x", json!({})),
            &[
                "metadata.annotations[kubernetes.io/config.mirror]: Invalid value: \"x\": must set spec.nodeName if mirror pod \
                 annotation is set",
            ],
        ),
        (
            annotated(
                "container.apparmor.security.beta.kubernetes.io/x",
                "bad",
                json!({}),
            ),
            &[
                "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: \"x\": container not \
                 found",
                "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: \"bad\": invalid \
                 AppArmor profile name: \"bad\"",
            ],
        ),
        (
            annotated(
                "seccomp.security.alpha.kubernetes.io/pod",
                "unconfined",
                json!({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}),
            ),
            &[
                "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
            ],
        ),
    ] {
        check("", "pods", &object, expect);
    }
}

#[test]
fn what_updates_are_excused_from() {
    let pod = |extra: Value| json!({"spec": pod_spec(extra)});
    let huge = |amount: &str| json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "hugepages-2Mi": amount}}}]});
    // The stored pod has the fault already.
    check_update("", "pods", &pod(huge("3Mi")), &pod(huge("3Mi")), &[]);
    let gated = |extra: Value| {
        let mut spec = json!({"schedulingGates": [{"name": "g"}]});
        for (field, value) in extra.as_object().unwrap() {
            spec[field] = value.clone();
        }
        pod(spec)
    };
    check_update(
        "",
        "pods",
        &gated(json!({"nodeSelector": {"a": "b", "c": "d"}})),
        &gated(json!({"nodeSelector": {"a": "b"}})),
        &[],
    );
    check_update(
        "",
        "pods",
        &gated(json!({"nodeSelector": {"c": "d"}})),
        &gated(json!({"nodeSelector": {"a": "b"}})),
        &[
            "spec.nodeSelector: Invalid value: {\"c\":\"d\"}: only additions to spec.nodeSelector are allowed (no mutations or \
           deletions)",
        ],
    );
    let affinity = |values: Value| {
        json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchExpressions": values}]}}}})
    };
    let (one, two) = (
        json!([{"key": "a", "operator": "Exists"}]),
        json!([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]),
    );
    check_update(
        "",
        "pods",
        &gated(affinity(two.clone())),
        &gated(affinity(one.clone())),
        &[],
    );
    check_update("", "pods", &gated(affinity(two.clone())), &gated(json!({})), &[]);
    let text = format!(
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: \
         {{\"matchExpressions\":{one}}}: only additions are allowed (no mutations or deletions)"
    );
    check_update("", "pods", &gated(affinity(one)), &gated(affinity(two)), &[&text]);
}

#[test]
fn resizes() {
    #[track_caller]
    fn change(new: Value, old: Value, expect: &[&str]) {
        let pod = |spec: Value| {
            let mut pod = json!({"metadata": {"name": "x", "namespace": "n", "resourceVersion": "1"}, "spec": pod_spec(spec)});
            pod["spec"]["enableServiceLinks"] = json!(true);
            pod
        };
        let errors = strategy("", "pods").validate_subresource_update("resize", &pod(new), &pod(old));
        compare(errors, expect, &Value::Null);
    }
    let cpu = |resources: Value| json!({"containers": [{"name": "c", "image": "i", "resources": resources}]});
    let (small, large) = (
        json!({"requests": {"cpu": "1"}}),
        json!({"requests": {"cpu": "2"}}),
    );
    change(cpu(large), cpu(small.clone()), &[]);
    change(
        cpu(json!({"requests": {"cpu": "1", "memory": "1"}})),
        cpu(json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})),
        &["spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"],
    );
    change(
        cpu(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "2", "memory": "1"}})),
        cpu(json!({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}})),
        &["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
    );
    change(
        cpu(json!({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "2", "memory": "1"}})),
        cpu(json!({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}})),
        &["spec: Invalid value: \"\": Pod QOS Class may not change as a result of resizing"],
    );
    change(
        cpu(json!({"requests": {"cpu": "1", "ephemeral-storage": "1"}})),
        cpu(small.clone()),
        &["spec: Forbidden: only cpu and memory resources are mutable"],
    );
    let mut renamed = cpu(small.clone());
    renamed["containers"][0]["name"] = json!("d");
    change(
        renamed,
        cpu(small),
        &["spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"],
    );
}

#[test]
fn statuses() {
    #[track_caller]
    fn report(new: Value, old: Value, spec: Value, expect: &[&str]) {
        let pod = |status: Value| {
            json!({"metadata": {"name": "x", "namespace": "n", "resourceVersion": "1"},
                   "spec": pod_spec(spec.clone()), "status": status})
        };
        let errors = strategy("", "pods").validate_subresource_update("status", &pod(new), &pod(old));
        compare(errors, expect, &Value::Null);
    }
    let state = |state: Value| json!({"containerStatuses": [{"name": "c", "state": state}]});
    let (ended, runs) = (
        state(json!({"terminated": {"exitCode": 1}})),
        state(json!({"running": {}})),
    );
    report(runs.clone(), ended.clone(), json!({}), &[]);
    report(
        runs.clone(),
        ended.clone(),
        json!({"restartPolicy": "OnFailure"}),
        &[],
    );
    report(
        runs,
        ended,
        json!({"restartPolicy": "Never"}),
        &["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
    );
    report(
        json!({"podIP": "1.2.3.4", "podIPs": [{"ip": "1.2.3.4"}, {"ip": "::1"}]}),
        json!({}),
        json!({}),
        &[],
    );
    report(
        json!({"podIP": "1.2.3.5", "podIPs": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}]}),
        json!({}),
        json!({}),
        &[
            "status.podIPs: Invalid value: [{\"ip\":\"1.2.3.4\"},{\"ip\":\"1.2.3.5\"}]: may specify no more than one IP for \
             each IP family",
            "status.podIPs[0].ip: Invalid value: \"1.2.3.4\": must be equal to `podIP`",
        ],
    );
    report(
        json!({"nominatedNodeName": "n", "qosClass": "Burstable", "conditions": [{"type": "a b"}]}),
        json!({"qosClass": "BestEffort"}),
        json!({"nodeName": "m"}),
        &[
            "status.qosClass: Invalid value: \"Burstable\": field is immutable",
            "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
            "status.conditions[0].Type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or \
             '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
             used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    );
}
