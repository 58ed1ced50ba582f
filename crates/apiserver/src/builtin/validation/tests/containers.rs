//! Containers, by the cases of upstream's `TestValidateContainers`, `TestValidateEnv` and their neighbours.

use super::pods::pod_spec;
use super::*;

/// Validates a pod with one container that has these fields besides.
#[track_caller]
fn container(extra: Value, expect: &[&str]) {
    with(extra, json!({}), expect);
}

#[track_caller]
fn with(extra: Value, spec: Value, expect: &[&str]) {
    let mut container = json!({"name": "c", "image": "i"});
    for (field, value) in extra.as_object().unwrap() {
        container[field] = value.clone();
    }
    let mut spec = spec;
    spec["containers"] = json!([container]);
    let full: Vec<String> = expect
        .iter()
        .map(|text| text.replace("C.", "spec.containers[0]."))
        .collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    check("", "pods", &json!({"spec": pod_spec(spec)}), &full);
}

#[test]
fn variables() {
    let from = |source: Value| json!({"env": [{"name": "A", "valueFrom": source}]});
    for path in [
        "metadata.name",
        "metadata.labels['a/b']",
        "metadata.annotations['A']",
        "spec.nodeName",
        "spec.host",
        "status.hostIPs",
        "status.podIP",
    ] {
        container(from(json!({"fieldRef": {"fieldPath": path}})), &[]);
    }
    container(
        json!({"env": [{"name": "any thing!", "value": "x"}, {"name": "A=B"}]}),
        &[
            "C.env[1].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII \
           characters other than '='",
        ],
    );
    let bad = "C.env[0].valueFrom.fieldRef.fieldPath: ";
    for (path, expect) in [
        (
            "metadata.whoops",
            "Invalid value: \"metadata.whoops\": error converting fieldPath: field label not supported: metadata.whoops",
        ),
        (
            "metadata.name['k']",
            "Invalid value: \"metadata.name['k']\": error converting fieldPath: field label does not support subscript: \
             metadata.name['k']",
        ),
        (
            "metadata.labels",
            "Unsupported value: \"metadata.labels\": supported values: \"metadata.name\", \"metadata.namespace\", \
             \"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \
             \"status.podIP\", \"status.podIPs\"",
        ),
        ("", "Required value"),
    ] {
        container(
            from(json!({"fieldRef": {"fieldPath": path}})),
            &[&format!("{bad}{expect}")],
        );
    }
    container(
        from(json!({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2m"}})),
        &[
            "C.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are \
           supported with the cpu resource",
        ],
    );
    container(
        from(json!({"resourceFieldRef": {"resource": "requests.hugepages-2Mi"}})),
        &[],
    );
    container(
        from(json!({"resourceFieldRef": {"resource": "pods"}})),
        &[
            "C.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: \"pods\": supported values: \"limits.cpu\", \
           \"limits.ephemeral-storage\", \"limits.memory\", \"requests.cpu\", \"requests.ephemeral-storage\", \
           \"requests.memory\"",
        ],
    );
    container(
        from(json!({"secretKeyRef": {"name": "n"}})),
        &["C.env[0].valueFrom.secretKeyRef.key: Required value"],
    );
    container(
        from(
            json!({"configMapKeyRef": {"name": "n", "key": "k"}, "secretKeyRef": {"name": "n", "key": "k"}}),
        ),
        &["C.env[0].valueFrom: Invalid value: \"\": may not have more than one field specified at a time"],
    );
    container(
        from(json!({})),
        &[
            "C.env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
           `secretKeyRef` or `fileKeyRef`",
        ],
    );
    container(
        from(json!({"fileKeyRef": {"key": "K", "volumeName": "v", "path": "../p"}})),
        &[
            "C.env[0].valueFrom.fileKeyRef.path: Invalid value: \"../p\": must not contain '..'",
            "C.env[0].valueFrom.fileKeyRef.volumeName: Not found: \"v\"",
        ],
    );
    container(
        json!({"envFrom": [{"secretRef": {"name": ""}}, {}]}),
        &[
            "C.envFrom[0].secretRef.name: Required value",
            "C.envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
        ],
    );
}

#[test]
fn probes_and_hooks() {
    let probe = |fields: Value| json!({"readinessProbe": fields});
    container(probe(json!({"httpGet": {"port": 80}})), &[]);
    container(probe(json!({"grpc": {"port": 80}})), &[]);
    container(
        probe(json!({"exec": {}})),
        &["C.readinessProbe.exec.command: Required value"],
    );
    container(
        probe(json!({"tcpSocket": {"port": "a--b"}})),
        &["C.readinessProbe.tcpSocket.port: Invalid value: \"a--b\": must not contain consecutive hyphens"],
    );
    container(
        probe(
            json!({"httpGet": {"port": 0, "scheme": "FTP", "httpHeaders": [{"name": "X:Y", "value": ""}]}}),
        ),
        &[
            "C.readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "C.readinessProbe.httpGet.scheme: Unsupported value: \"FTP\": supported values: \"HTTP\", \"HTTPS\"",
            "C.readinessProbe.httpGet.httpHeaders: Invalid value: \"X:Y\": a valid HTTP header must consist of alphanumeric \
             characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
        ],
    );
    container(
        probe(
            json!({"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 1}),
        ),
        &[
            "C.readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "C.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes",
        ],
    );
    container(
        json!({"livenessProbe": {"exec": {"command": ["a"]}, "terminationGracePeriodSeconds": 0}}),
        &["C.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
    );
    container(json!({"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}), &[]);
    container(
        json!({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}, "postStart": {}}}),
        &[
            "C.lifecycle.postStart: Required value: must specify a handler type",
            "C.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
             terminationGracePeriodSeconds (30)",
        ],
    );
}

#[test]
fn resources() {
    let limits = |limits: Value| json!({"resources": {"limits": limits}});
    container(limits(json!({"cpu": "1", "example.com/gpu": "1"})), &[]);
    container(
        limits(json!({"example.com/gpu": "500m"})),
        &["C.resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer"],
    );
    container(
        json!({"resources": {"requests": {"example.com/gpu": "1"}}}),
        &["C.resources.limits: Required value: Limit must be set for non overcommitable resources"],
    );
    container(
        json!({"resources": {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}}}),
        &["C.resources.requests: Invalid value: \"1\": must be equal to example.com/gpu limit of 2"],
    );
    container(
        limits(json!({"hugepages-2Mi": "2Mi"})),
        &["C.resources: Forbidden: HugePages require cpu or memory"],
    );
    container(
        limits(json!({"hugepages-2Mi": "3Mi", "cpu": "1"})),
        &[
            "C.resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi",
        ],
    );
    container(
        json!({"resources": {"claims": [{"name": "a"}, {"name": ""}]}}),
        &[
            "C.resources.claims[0]: Not found: \"a\": must be one of the names in pod.spec.resourceClaims which is empty",
            "C.resources.claims[1]: Required value",
        ],
    );
    let claim = json!({"resourceClaims": [{"name": "a", "resourceClaimName": "x"}]});
    with(
        json!({"resources": {"claims": [{"name": "a", "request": "r"}, {"name": "a", "request": "r"}]}}),
        claim,
        &["C.resources.claims[1]: Duplicate value: \"a/r\""],
    );
    with(
        json!({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}),
        json!({"restartPolicy": "Never"}),
        &[
            "C.resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        ],
    );
    container(
        json!({"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]}),
        &["C.resizePolicy: Unsupported value: \"disk\": supported values: \"cpu\", \"memory\""],
    );
}

#[test]
fn restart_policies() {
    container(
        json!({"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]}),
        &["C.restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    );
    container(
        json!({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Stop"}]}),
        &[
            "C.restartPolicyRules[0].action: Unsupported value: \"Stop\": supported values: \"Restart\", \
             \"RestartAllContainers\"",
            "C.restartPolicyRules[0].exitCodes: Required value: must be specified",
        ],
    );
}

#[test]
fn security() {
    let context = |fields: Value| json!({"securityContext": fields});
    container(context(json!({"privileged": true, "runAsUser": 0})), &[]);
    container(
        context(json!({"runAsUser": -1, "runAsGroup": 2_147_483_648_i64, "procMount": "Unmasked"})),
        &[
            "C.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "C.securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
            "C.securityContext.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`",
        ],
    );
    container(
        context(
            json!({"seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Unconfined", "localhostProfile": "x"}}),
        ),
        &[
            "C.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
            "C.securityContext.appArmorProfile.localhostProfile: Invalid value: \"x\": can only be set when AppArmor type is \
             Localhost",
        ],
    );
    container(
        context(json!({"seccompProfile": {"type": "None"}})),
        &[
            "C.securityContext.seccompProfile.type: Unsupported value: \"None\": supported values: \"Localhost\", \
             \"RuntimeDefault\", \"Unconfined\"",
        ],
    );
    let both = json!({"allowPrivilegeEscalation": false, "capabilities": {"add": ["CAP_SYS_ADMIN"]}});
    let text = format!(
        "C.securityContext: Invalid value: {both}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` \
         CAP_SYS_ADMIN"
    );
    container(context(both), &[&text]);
    let windows = |name: &str| context(json!({"windowsOptions": {"runAsUserName": name}}));
    for name in [
        "user",
        "domain\\user",
        "NT AUTHORITY\\NETWORK SERVICE",
        "a.b.c\\u",
    ] {
        container(windows(name), &[]);
    }
    for (name, detail) in [
        ("", "runAsUserName cannot be an empty string"),
        ("a\\b\\c", "runAsUserName cannot contain more than one backslash"),
        ("a\\", "runAsUserName's User cannot be empty"),
        (
            "\\u",
            "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
        ),
        (
            "...",
            "runAsUserName's User cannot contain only periods or spaces",
        ),
        (
            "a|b",
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        ),
    ] {
        let text = format!(
            "C.securityContext.windowsOptions.runAsUserName: Invalid value: {}: {detail}",
            json!(name)
        );
        container(windows(name), &[&text]);
    }
}

#[test]
fn mounts() {
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "p", "persistentVolumeClaim": {"claimName": "x"}}]});
    let mount = |fields: Value| {
        let mut mount = json!({"name": "v", "mountPath": "/a"});
        for (field, value) in fields.as_object().unwrap() {
            mount[field] = value.clone();
        }
        json!({"volumeMounts": [mount]})
    };
    for (fields, expect) in [
        (json!({}), None),
        (json!({"subPath": "a/b"}), None),
        (
            json!({"subPath": "/a"}),
            Some("C.volumeMounts.subPath: Invalid value: \"/a\": must be a relative path"),
        ),
        (
            json!({"subPathExpr": "../a"}),
            Some("C.volumeMounts.subPathExpr: Invalid value: \"../a\": must not contain '..'"),
        ),
        (
            json!({"mountPropagation": "Bidirectional"}),
            Some(
                "C.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged \
                 containers",
            ),
        ),
        (
            json!({"recursiveReadOnly": "Enabled"}),
            Some("C.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"),
        ),
        (
            json!({"recursiveReadOnly": "Yes"}),
            Some(
                "C.volumeMounts.recursiveReadOnly: Unsupported value: \"Yes\": supported values: \"Disabled\", \"Enabled\", \
                 \"IfPossible\"",
            ),
        ),
    ] {
        with(
            mount(fields),
            volumes.clone(),
            &expect.into_iter().collect::<Vec<_>>(),
        );
    }
    with(
        json!({"volumeDevices": [{"name": "p", "devicePath": "/d"}]}),
        volumes.clone(),
        &[],
    );
    with(
        json!({"volumeDevices": [{"name": "v", "devicePath": "../d"}], "volumeMounts": [{"name": "p", "mountPath": "../d"}]}),
        volumes,
        &[
            "C.volumeMounts[0].mountPath: Invalid value: \"../d\": must not already exist as a path in volumeDevices",
            "C.volumeDevices[0].name: Invalid value: \"v\": can only use volume source type of PersistentVolumeClaim or \
             Ephemeral for block mode",
            "C.volumeDevices[0].devicePath: Invalid value: \"../d\": can not contain backsteps ('..')",
            "C.volumeDevices[0].devicePath: Invalid value: \"../d\": must not already exist as a path in volumeMounts",
        ],
    );
}

#[test]
fn init_and_ephemeral_containers() {
    let pod = |list: &str, container: Value| {
        let mut spec = json!({"restartPolicy": "Never"});
        spec[list] = json!([container]);
        json!({"spec": pod_spec(spec)})
    };
    let init = |extra: Value| {
        let mut container = json!({"name": "s", "image": "i"});
        for (field, value) in extra.as_object().unwrap() {
            container[field] = value.clone();
        }
        pod("initContainers", container)
    };
    let ready = json!({"exec": {"command": ["a"]}});
    check(
        "",
        "pods",
        &init(json!({"restartPolicy": "Always", "readinessProbe": ready})),
        &[],
    );
    check(
        "",
        "pods",
        &init(json!({"name": "c", "lifecycle": {}})),
        &[
            "spec.initContainers[0].name: Duplicate value: \"c\"",
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    );
    check(
        "",
        "pods",
        &pod("ephemeralContainers", json!({"name": "d", "image": "i"})),
        &["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    );
    let debug = |extra: Value| {
        let mut container = json!({"name": "d", "image": "i"});
        for (field, value) in extra.as_object().unwrap() {
            container[field] = value.clone();
        }
        let mut new = pod("ephemeralContainers", container);
        let mut old = pod("ephemeralContainers", json!({}));
        old["spec"]["ephemeralContainers"] = json!([]);
        for object in [&mut new, &mut old] {
            object["metadata"] = json!({"name": "x", "namespace": "n", "resourceVersion": "1"});
        }
        strategy("", "pods").validate_subresource_update("ephemeralcontainers", &new, &old)
    };
    compare(debug(json!({"targetContainerName": "c"})), &[], &Value::Null);
    compare(
        debug(
            json!({"targetContainerName": "x", "ports": [{"containerPort": 1, "protocol": "TCP"}], "resources": {"limits": {"cpu": "1"}}}),
        ),
        &[
            "spec.ephemeralContainers[0].targetContainerName: Not found: \"x\"",
            "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
            "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
        ],
        &Value::Null,
    );
}
