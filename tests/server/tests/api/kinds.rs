//! One object of every kind that is served, as small as it may be.

use serde_json::{Value, json};

/// Where an object is created, and the object.
pub(crate) struct Sample {
    pub(crate) path: String,
    pub(crate) object: Value,
}

impl Sample {
    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap()
    }
}

/// One object of every kind that can be created and read again.
pub(crate) fn samples() -> Vec<Sample> {
    let namespaced = ROWS.iter().map(|row| (row, "/namespaces/default"));
    let cluster = CLUSTER_ROWS.iter().map(|row| (row, ""));
    let sample = |(row, namespace): (&Row, &str)| {
        let (api_version, plural, kind, name, rest) = *row;
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let mut object: Value = serde_json::from_str(rest).unwrap_or_else(|why| panic!("{kind}: {why}"));
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": name, "labels": {"sample": "yes"}});
        Sample {
            path: format!("/{root}/{api_version}{namespace}/{plural}"),
            object,
        }
    };
    namespaced.chain(cluster).map(sample).collect()
}

/// `apiVersion`, plural, kind, name, and all of the object besides its metadata.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

#[rustfmt::skip]
const ROWS: [Row; 33] = [
    ("v1", "configmaps", "ConfigMap", "a", r#"{"data": {"k": "v"}, "binaryData": {"b": "AAH/"}, "immutable": false}"#),
    ("v1", "endpoints", "Endpoints", "a", r#"{"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]}"#),
    ("v1", "events", "Event", "a", r#"{"involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"}, "count": 2,
        "firstTimestamp": "2026-01-02T03:04:05Z", "eventTime": null, "type": "Normal", "reason": "r", "message": "m"}"#),
    ("v1", "limitranges", "LimitRange", "a", r#"{"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}]}}"#),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim", "a", r#"{"spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"}}"#),
    ("v1", "pods", "Pod", "a", r#"{"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": "http", "path": "/"}}, "resources": {"limits": {"memory": "1Mi"}}}],
        "volumes": [{"name": "v", "emptyDir": {}}], "nodeSelector": {"n": "1"}}}"#),
    ("v1", "podtemplates", "PodTemplate", "a", r#"{"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}"#),
    ("v1", "replicationcontrollers", "ReplicationController", "a", r#"{"spec": {"replicas": 0, "selector": {"a": "b"},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#),
    ("v1", "resourcequotas", "ResourceQuota", "a", r#"{"spec": {"hard": {"pods": "10", "cpu": "1500m"}}}"#),
    ("v1", "secrets", "Secret", "a", r#"{"type": "Opaque", "data": {"k": "dg=="}}"#),
    ("v1", "serviceaccounts", "ServiceAccount", "a", r#"{"automountServiceAccountToken": false}"#),
    ("v1", "services", "Service", "a", r#"{"spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}}}"#),
    ("apps/v1", "controllerrevisions", "ControllerRevision", "a", r#"{"revision": 3, "data": {"any": ["thing", 1, null]}}"#),
    ("apps/v1", "daemonsets", "DaemonSet", "a", r#"{"spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#),
    ("apps/v1", "deployments", "Deployment", "a", r#"{"spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#),
    ("apps/v1", "replicasets", "ReplicaSet", "a", r#"{"spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#),
    ("apps/v1", "statefulsets", "StatefulSet", "a", r#"{"spec": {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#),
    ("events.k8s.io/v1", "events", "Event", "e", r#"{"eventTime": "2026-01-02T03:04:05.123456Z", "reportingController": "k8s.io/c", "reportingInstance": "i",
        "action": "act", "reason": "r", "type": "Normal", "note": "n", "regarding": {"kind": "Pod", "name": "a", "namespace": "default"}}"#),
    ("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "a", r#"{"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}}"#),
    ("autoscaling/v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "b", r#"{"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 70,
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}}"#),
    ("batch/v1", "cronjobs", "CronJob", "a", r#"{"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}"#),
    ("batch/v1", "jobs", "Job", "a", r#"{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}"#),
    ("certificates.k8s.io/v1", "podcertificaterequests", "PodCertificateRequest", "a", r#"{"spec": {"signerName": "sample.io/signer", "podName": "p", "podUID": "u", "serviceAccountName": "s", "serviceAccountUID": "su", "nodeName": "n", "nodeUID": "nu", "maxExpirationSeconds": 86400, "stubPKCS10Request": "MH8wMwIBADAAMCowBQYDK2VwAyEAMsT1H7/IjgpRF0Wj16/nNEL8vwwCuvKtGB3h9yrSwEOgADAFBgMrZXADQQAWu5xw9W5rn586Z5RCTDcOdXURoDkyTqdjQ7Dc9Bm8VAg+gs7n/enZsl3m0U5q3K7rlvx7gYGCQ8Ii+qBQbPkL"}}"#),
    ("networking.k8s.io/v1", "ingresses", "Ingress", "a", r#"{"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}"#),
    ("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", "a", r#"{"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}}"#),
    ("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", "a", r#"{"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}}"#),
    ("rbac.authorization.k8s.io/v1", "roles", "Role", "a", r#"{"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}"#),
    ("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", "a", r#"{"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}, "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]}"#),
    ("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", "a", r#"{"storageClassName": "s", "capacity": "10Gi"}"#),
    ("coordination.k8s.io/v1", "leases", "Lease", "a", r#"{"spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000006Z"}}"#),
    ("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", "a", r#"{"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": true}}], "ports": [{"name": "p", "port": 80, "protocol": "TCP"}]}"#),
    ("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", "a", r#"{"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}"#),
    ("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate", "a", r#"{"spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}}}"#),
];

#[rustfmt::skip]
const CLUSTER_ROWS: [Row; 31] = [
    ("v1", "namespaces", "Namespace", "a", r#"{}"#),
    ("v1", "nodes", "Node", "a", r#"{"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}, "status": {"capacity": {"cpu": "4"}}}"#),
    ("v1", "persistentvolumes", "PersistentVolume", "a", r#"{"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}}}"#),
    ("apiregistration.k8s.io/v1", "apiservices", "APIService", "v1.sample.io", r#"{"spec": {"group": "sample.io", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}}"#),
    ("certificates.k8s.io/v1", "clustertrustbundles", "ClusterTrustBundle", "a", r#"{"spec": {"trustBundle": "-----BEGIN CERTIFICATE-----\nMIIBNDCB56ADAgECAhQMc5v/EeNyWaolnTXGBXUxWkedGDAFBgMrZXAwDzENMAsG\nA1UEAwwEcm9vdDAgFw0yNjExMjgwMTMxNTJaGA8yMTI2MTEwNDAxMzE1MlowDzEN\nMAsGA1UEAwwEcm9vdDAqMAUGAytlcAMhADLE9R+/yI4KURdFo9ev5zRC/L8MArry\nrRgd4fcq0sBDo1MwUTAdBgNVHQ4EFgQUrDnowWBiZLnFq21uJ4U7Za3JSUUwHwYD\nVR0jBBgwFoAUrDnowWBiZLnFq21uJ4U7Za3JSUUwDwYDVR0TAQH/BAUwAwEB/zAF\nBgMrZXADQQD14rtJT1wfETiMY3ZLXp1JnvzFgMtHzxpyGRlUW3+0AgxuF4L59n8k\no+9GpwSreV/d97HmtfhIYVMdsIzDhMQG\n-----END CERTIFICATE-----\n"}}"#),
    ("networking.k8s.io/v1", "ingressclasses", "IngressClass", "a", r#"{"spec": {"controller": "sample.io/c"}}"#),
    ("networking.k8s.io/v1", "ipaddresses", "IPAddress", "192.168.7.9", r#"{"spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "default"}}}"#),
    ("networking.k8s.io/v1", "servicecidrs", "ServiceCIDR", "a", r#"{"spec": {"cidrs": ["10.250.0.0/24"]}}"#),
    ("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", "a", r#"{"rules": [{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]}"#),
    ("rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", "a", r#"{"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"}}"#),
    ("storage.k8s.io/v1", "csidrivers", "CSIDriver", "a", r#"{"spec": {"attachRequired": true}}"#),
    ("storage.k8s.io/v1", "csinodes", "CSINode", "a", r#"{"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}"#),
    ("storage.k8s.io/v1", "storageclasses", "StorageClass", "a", r#"{"provisioner": "sample.io/p", "parameters": {"k": "v"}}"#),
    ("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", "a", r#"{"spec": {"attacher": "sample.io", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}"#),
    ("storage.k8s.io/v1", "volumeattributesclasses", "VolumeAttributesClass", "a", r#"{"driverName": "sample.io", "parameters": {"k": "v"}}"#),
    ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", "a", r#"{"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}]}, "reinvocationPolicy": "Never", "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]}}"#),
    ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "a", r#"{"spec": {"policyName": "p"}}"#),
    ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "a", r#"{"webhooks": [{"name": "a.sample.io", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://sample.io/"}}]}"#),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", "a", r#"{"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}, "validations": [{"expression": "true"}]}}"#),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "a", r#"{"spec": {"policyName": "p", "validationActions": ["Deny"]}}"#),
    ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "a", r#"{"webhooks": [{"name": "a.sample.io", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://sample.io/"}}]}"#),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", "samples.sample.io", r#"{"spec": {"group": "sample.io", "scope": "Cluster", "names": {"plural": "samples", "singular": "sample", "kind": "Sample", "listKind": "SampleList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "additionalProperties": {"type": "string"}}}}}}]}}"#),
    ("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "a", r#"{"value": -5, "description": "d"}"#),
    ("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", "a", r#"{"handler": "runc", "overhead": {"podFixed": {"cpu": "10m"}}}"#),
    ("resource.k8s.io/v1", "deviceclasses", "DeviceClass", "a", r#"{"spec": {"selectors": [{"cel": {"expression": "true"}}]}}"#),
    ("resource.k8s.io/v1", "devicetaintrules", "DeviceTaintRule", "a", r#"{"spec": {"taint": {"key": "sample.io/k", "value": "v", "effect": "NoSchedule"}}}"#),
    ("resource.k8s.io/v1", "resourceslices", "ResourceSlice", "a", r#"{"spec": {"driver": "sample.io", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "d", "attributes": {"x": {"int": 7}}}]}}"#),
    ("flowcontrol.apiserver.k8s.io/v1", "flowschemas", "FlowSchema", "a", r#"{"spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 900}}"#),
    ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", "a", r#"{"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}}}"#),
    ("storagemigration.k8s.io/v1", "storageversionmigrations", "StorageVersionMigration", "a", r#"{"spec": {"resource": {"group": "g", "resource": "rs"}}}"#),
    ("certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest", "a", r#"{"spec": {"signerName": "sample.io/signer", "usages": ["client auth"], "request": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHTE1EOENBUUF3RERFS01BZ0dBMVVFQXd3QllUQXFNQVVHQXl0bGNBTWhBRExFOVIrL3lJNEtVUmRGbzlldgo1elJDL0w4TUFycnlyUmdkNGZjcTBzQkRvQUF3QlFZREsyVndBMEVBS3JRWmNJVlNmTU1LU3NvYUJkU2RjeXh2CnUzdTdIRmxXL3k5SmQ1eEo2ZElzVVRyTWd3R1NQQXQ2WEdpOE5XY04zNEJaSDVzOFZ2UVR3WStnR0I5eUJRPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="}}"#),
];
