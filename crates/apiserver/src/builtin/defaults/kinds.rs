//! Which defaults each built-in kind has.

use super::super::value::{Object, child, is_nil, is_zero, str_in};
use super::Literal::{Bool, Empty, Int, List, Str};
use super::Rule::{self, Nil, Run, Use, Zero};
use super::copy_missing;
use super::pod::{CLAIM_SPEC, POD_ONLY, POD_SPEC, VOLUME_SOURCE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// How often the template of a daemon set changed, under a name that outlived its API version. Upstream keeps it as a field of
/// the internal type (`pkg/apis/apps/v1/conversion.go`), so that only the server can set it.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The API group of the RBAC kinds, which is also the default group of users and groups.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// The rules of a kind; empty for kinds without defaults.
pub(super) fn rules(group: &str, version: &str, kind: &str) -> &'static [Rule] {
    match group {
        "" => core(kind),
        "apps" => apps(kind),
        "batch" => batch(kind),
        "autoscaling" => autoscaling(version, kind),
        "networking.k8s.io" => networking(kind),
        "discovery.k8s.io" if kind == "EndpointSlice" => ENDPOINT_SLICE,
        "storage.k8s.io" => storage(kind),
        "rbac.authorization.k8s.io" if kind.ends_with("RoleBinding") => ROLE_BINDING,
        "scheduling.k8s.io" => scheduling(kind),
        "admissionregistration.k8s.io" => admission(kind),
        "certificates.k8s.io" if kind == "PodCertificateRequest" => {
            &[Nil("spec!", "maxExpirationSeconds", Int(86_400))]
        }
        "apiextensions.k8s.io" if kind == "CustomResourceDefinition" => CUSTOM_RESOURCE_DEFINITION,
        "apiregistration.k8s.io" if kind == "APIService" => API_SERVICE,
        "flowcontrol.apiserver.k8s.io" => flow_control(kind),
        "resource.k8s.io" => resource(version, kind),
        _ => &[],
    }
}

fn core(kind: &str) -> &'static [Rule] {
    match kind {
        "Pod" => &[Use("spec!", POD_SPEC), Use("spec!", POD_ONLY)],
        "PodTemplate" => &[Use("template!.spec!", POD_SPEC)],
        "ReplicationController" => &[
            Use("spec.template.spec!", POD_SPEC),
            Nil("spec!", "replicas", Int(1)),
            Run("", replication_controller_labels),
        ],
        "Service" => &[
            Zero("spec!", "sessionAffinity", Str("None")),
            Zero("spec!", "type", Str("ClusterIP")),
            Zero("spec.ports[]", "protocol", Str("TCP")),
            Run("spec.ports[]", target_port),
            Run("spec", service_spec),
            Run("", load_balancer_ip_mode),
        ],
        "Secret" => &[Run("", string_data), Zero("", "type", Str("Opaque"))],
        "Namespace" => &[
            Run("", namespace_name_label),
            Zero("status!", "phase", Str("Active")),
        ],
        "Node" => &[Run("spec", pod_ranges), Run("status", allocatable)],
        "PersistentVolume" => &[
            Zero("status!", "phase", Str("Pending")),
            Zero("spec!", "persistentVolumeReclaimPolicy", Str("Retain")),
            Nil("spec!", "volumeMode", Str("Filesystem")),
            Use("spec", VOLUME_SOURCE),
        ],
        "PersistentVolumeClaim" => CLAIM,
        "Endpoints" => &[Zero("subsets[].ports[]", "protocol", Str("TCP"))],
        "LimitRange" => &[Run("spec.limits[]", limit_range_item)],
        _ => &[],
    }
}

fn apps(kind: &str) -> &'static [Rule] {
    match kind {
        "Deployment" => &[
            Use("spec!.template!.spec!", POD_SPEC),
            Nil("spec", "replicas", Int(1)),
            Zero("spec.strategy!", "type", Str("RollingUpdate")),
            Run("spec.strategy", |strategy| {
                rolling_update(
                    strategy,
                    &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
                );
            }),
            Nil("spec", "revisionHistoryLimit", Int(10)),
            Nil("spec", "progressDeadlineSeconds", Int(600)),
        ],
        "ReplicaSet" => &[
            Use("spec!.template!.spec!", POD_SPEC),
            Nil("spec", "replicas", Int(1)),
        ],
        "DaemonSet" => &[
            Use("spec!.template!.spec!", POD_SPEC),
            Zero("spec.updateStrategy!", "type", Str("RollingUpdate")),
            Run("spec.updateStrategy", |strategy| {
                rolling_update(strategy, &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
            }),
            Nil("spec", "revisionHistoryLimit", Int(10)),
            Run("metadata!.annotations!", template_generation),
        ],
        "StatefulSet" => &[
            Use("spec!.template!.spec!", POD_SPEC),
            Zero("spec", "podManagementPolicy", Str("OrderedReady")),
            Run("spec.updateStrategy!", stateful_set_strategy),
            Zero(
                "spec.persistentVolumeClaimRetentionPolicy!",
                "whenDeleted",
                Str("Retain"),
            ),
            Zero(
                "spec.persistentVolumeClaimRetentionPolicy!",
                "whenScaled",
                Str("Retain"),
            ),
            Nil("spec", "replicas", Int(1)),
            Nil("spec", "revisionHistoryLimit", Int(10)),
            Zero(
                "spec.volumeClaimTemplates[]",
                "kind",
                Str("PersistentVolumeClaim"),
            ),
            Zero("spec.volumeClaimTemplates[]", "apiVersion", Str("v1")),
            Use("spec.volumeClaimTemplates[]", CLAIM),
        ],
        _ => &[],
    }
}

fn batch(kind: &str) -> &'static [Rule] {
    match kind {
        "Job" => &[
            Use("spec!", JOB_SPEC),
            Run("spec", job_spec),
            Nil("spec", "completionMode", Str("NonIndexed")),
            Nil("spec", "suspend", Bool(false)),
            Nil("spec", "manualSelector", Bool(false)),
            Run("", labels_from_template),
        ],
        "CronJob" => &[
            Use("spec!.jobTemplate!.spec!", JOB_SPEC),
            Zero("spec", "concurrencyPolicy", Str("Allow")),
            Nil("spec", "suspend", Bool(false)),
            Nil("spec", "successfulJobsHistoryLimit", Int(3)),
            Nil("spec", "failedJobsHistoryLimit", Int(1)),
        ],
        _ => &[],
    }
}

fn autoscaling(version: &str, kind: &str) -> &'static [Rule] {
    match (version, kind) {
        ("v1", "HorizontalPodAutoscaler") => &[Nil("spec!", "minReplicas", Int(1)), Run("", default_share)],
        (_, "HorizontalPodAutoscaler") => &[
            Nil("spec!", "minReplicas", Int(1)),
            Run("spec", default_metric),
            Run("spec.behavior", scaling_behavior),
        ],
        _ => &[],
    }
}

fn networking(kind: &str) -> &'static [Rule] {
    match kind {
        "NetworkPolicy" => &[
            Nil("spec.ingress[].ports[]", "protocol", Str("TCP")),
            Nil("spec.egress[].ports[]", "protocol", Str("TCP")),
            Run("spec!", policy_types),
        ],
        "IngressClass" => &[Nil("spec.parameters", "scope", Str("Cluster"))],
        _ => &[],
    }
}

fn storage(kind: &str) -> &'static [Rule] {
    match kind {
        "StorageClass" => &[
            Nil("", "reclaimPolicy", Str("Delete")),
            Nil("", "volumeBindingMode", Str("Immediate")),
        ],
        "CSIDriver" => &[
            Nil("spec!", "attachRequired", Bool(true)),
            Nil("spec", "podInfoOnMount", Bool(false)),
            Nil("spec", "storageCapacity", Bool(false)),
            Nil("spec", "fsGroupPolicy", Str("ReadWriteOnceWithFSType")),
            Zero("spec", "volumeLifecycleModes", List(&["Persistent"])),
            Nil("spec", "requiresRepublish", Bool(false)),
            Nil("spec", "seLinuxMount", Bool(false)),
            Nil("spec", "preventPodSchedulingIfMissing", Bool(false)),
        ],
        _ => &[],
    }
}

fn scheduling(kind: &str) -> &'static [Rule] {
    match kind {
        "PriorityClass" => &[Nil("", "preemptionPolicy", Str("PreemptLowerPriority"))],
        "PodGroup" | "CompositePodGroup" => &[Run("spec!", |spec| {
            insert_if_nil(spec, "disruptionMode", json!({"single": {}}));
        })],
        _ => &[],
    }
}

fn admission(kind: &str) -> &'static [Rule] {
    match kind {
        "ValidatingWebhookConfiguration" => &[Use("webhooks[]", WEBHOOK)],
        "MutatingWebhookConfiguration" => &[
            Use("webhooks[]", WEBHOOK),
            Nil("webhooks[]", "reinvocationPolicy", Str("Never")),
        ],
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => &[
            Nil("spec!", "failurePolicy", Str("Fail")),
            Use("spec.matchConstraints", MATCH_RESOURCES),
        ],
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            &[Use("spec.matchResources", MATCH_RESOURCES)]
        }
        _ => &[],
    }
}

fn flow_control(kind: &str) -> &'static [Rule] {
    match kind {
        "FlowSchema" => &[Zero("spec!", "matchingPrecedence", Int(1000))],
        "PriorityLevelConfiguration" => &[
            // A pointer since v1, so that zero shares can be asked for.
            Nil("spec.limited", "nominalConcurrencyShares", Int(30)),
            Nil("spec.limited", "lendablePercent", Int(0)),
            Zero("spec.limited.limitResponse.queuing", "handSize", Int(8)),
            Zero("spec.limited.limitResponse.queuing", "queues", Int(64)),
            Zero("spec.limited.limitResponse.queuing", "queueLengthLimit", Int(50)),
            Nil("spec.exempt", "nominalConcurrencyShares", Int(0)),
            Nil("spec.exempt", "lendablePercent", Int(0)),
        ],
        _ => &[],
    }
}

fn resource(version: &str, kind: &str) -> &'static [Rule] {
    match (version, kind) {
        ("v1beta1", "ResourceClaim") => &[Use("spec.devices.requests[]", FLAT_DEVICE_REQUEST)],
        ("v1beta1", "ResourceClaimTemplate") => &[Use("spec.spec.devices.requests[]", FLAT_DEVICE_REQUEST)],
        (_, "ResourceClaim") => &[Use("spec.devices.requests[]", DEVICE_REQUEST)],
        (_, "ResourceClaimTemplate") => &[Use("spec.spec.devices.requests[]", DEVICE_REQUEST)],
        _ => &[],
    }
}

const CLAIM: &[Rule] = &[Use("spec!", CLAIM_SPEC), Zero("status!", "phase", Str("Pending"))];

const JOB_SPEC: &[Rule] = &[
    Use("template!.spec!", POD_SPEC),
    Zero(
        "podFailurePolicy.rules[].onPodConditions[]",
        "status",
        Str("True"),
    ),
];

const ENDPOINT_SLICE: &[Rule] = &[
    Nil("ports[]", "name", Str("")),
    Nil("ports[]", "protocol", Str("TCP")),
];

const ROLE_BINDING: &[Rule] = &[
    Zero("roleRef!", "apiGroup", Str(RBAC_GROUP)),
    Run("subjects[]", subject_group),
];

const SERVICE_REFERENCE: &[Rule] = &[Nil("", "port", Int(443))];

const WEBHOOK: &[Rule] = &[
    Nil("", "failurePolicy", Str("Fail")),
    Use("", MATCH_BY_SELECTOR),
    Nil("", "timeoutSeconds", Int(10)),
    Nil("rules[]", "scope", Str("*")),
    Use("clientConfig.service", SERVICE_REFERENCE),
];

const MATCH_BY_SELECTOR: &[Rule] = &[
    Nil("", "matchPolicy", Str("Equivalent")),
    Nil("", "namespaceSelector", Empty),
    Nil("", "objectSelector", Empty),
];

const MATCH_RESOURCES: &[Rule] = &[
    Use("", MATCH_BY_SELECTOR),
    Nil("resourceRules[]", "scope", Str("*")),
    Nil("excludeResourceRules[]", "scope", Str("*")),
];

/// Upstream: `pkg/apis/apiextensions/v1/defaults.go` of `k8s.io/apiextensions-apiserver`.
const CUSTOM_RESOURCE_DEFINITION: &[Rule] = &[
    Run("spec!.names!", resource_names),
    Run("spec", |spec| {
        if is_nil(spec, "conversion") {
            spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
        }
    }),
    Use("spec.conversion.webhook.clientConfig.service", SERVICE_REFERENCE),
    Run("", stored_versions),
];

const API_SERVICE: &[Rule] = &[Use("spec.service", SERVICE_REFERENCE)];

const DEVICE_COUNT: &[Rule] = &[
    Zero("", "allocationMode", Str("ExactCount")),
    Run("", |request| {
        if str_in(request, "allocationMode") == "ExactCount" && request.get("count").is_none_or(is_zero) {
            request.insert("count".to_owned(), 1.into());
        }
    }),
    Zero("tolerations[]", "operator", Str("Equal")),
];

const DEVICE_REQUEST: &[Rule] = &[
    Use("exactly", DEVICE_COUNT),
    Use("firstAvailable[]", DEVICE_COUNT),
];

/// In `v1beta1` the request holds the fields itself, unless it has alternatives.
const FLAT_DEVICE_REQUEST: &[Rule] = &[
    Run("", |request| {
        if !str_in(request, "deviceClassName").is_empty() {
            super::run(DEVICE_COUNT, request);
        }
    }),
    Use("firstAvailable[]", DEVICE_COUNT),
];

fn insert_if_nil(object: &mut Object, field: &str, value: Value) {
    if is_nil(object, field) {
        object.insert(field.to_owned(), value);
    }
}

/// The labels of `spec.template`, if there are any.
fn template_labels(object: &Object) -> Option<Value> {
    let labels = object.get("spec")?.pointer("/template/metadata/labels")?;
    (labels.is_object() && !is_zero(labels)).then(|| labels.clone())
}

fn labels_from_template(object: &mut Object) {
    let Some(labels) = template_labels(object) else {
        return;
    };
    if let Some(metadata) = child(object, "metadata")
        && metadata.get("labels").is_none_or(is_zero)
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

fn replication_controller_labels(object: &mut Object) {
    let Some(labels) = template_labels(object) else {
        return;
    };
    if let Some(spec) = child(object, "spec")
        && spec.get("selector").is_none_or(is_zero)
    {
        spec.insert("selector".to_owned(), labels);
    }
    labels_from_template(object);
}

/// The range of a node's pods and the first of its ranges are one field under two names, of which the older wins
/// (`Convert_v1_NodeSpec_To_core_NodeSpec` and back).
fn pod_ranges(spec: &mut Object) {
    let first = spec.get("podCIDRs").and_then(|ranges| ranges.get(0)).cloned();
    match (str_in(spec, "podCIDR").to_owned(), first) {
        (range, None) if !range.is_empty() => {
            spec.insert("podCIDRs".to_owned(), json!([range]));
        }
        (range, Some(first)) if range.is_empty() => {
            spec.insert("podCIDR".to_owned(), first);
        }
        (range, Some(first)) if first != *range => {
            spec.insert("podCIDRs".to_owned(), json!([range]));
        }
        _ => {}
    }
}

/// What was a field once is an annotation now that the server always shows (`Convert_apps_DaemonSet_To_v1_DaemonSet`).
fn template_generation(annotations: &mut Object) {
    annotations
        .entry(TEMPLATE_GENERATION)
        .or_insert_with(|| "0".into());
}

/// `stringData` is a way to write `data`: it wins, and is never stored (`Convert_v1_Secret_To_core_Secret` upstream).
fn string_data(secret: &mut Object) {
    let Some(Value::Object(plain)) = secret.remove("stringData") else {
        return;
    };
    let Some(data) = child(secret, "data").filter(|_| !plain.is_empty()) else {
        return;
    };
    for (key, text) in plain {
        let text = text.as_str().unwrap_or_default();
        data.insert(key, STANDARD.encode(text).into());
    }
}

fn target_port(port: &mut Object) {
    if port.get("targetPort").is_none_or(is_zero)
        && let Some(number) = port.get("port").filter(|port| port.is_number()).cloned()
    {
        port.insert("targetPort".to_owned(), number);
    }
}

fn service_spec(spec: &mut Object) {
    match str_in(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            // Three hours, as kube-proxy's client affinity has it.
            let seconds = spec
                .get("sessionAffinityConfig")
                .and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if seconds.is_none_or(Value::is_null) {
                let config = json!({"clientIP": {"timeoutSeconds": 10_800}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    let (in_cluster, balanced) = match str_in(spec, "type") {
        "ClusterIP" => (true, false),
        "NodePort" => (false, false),
        "LoadBalancer" => (false, true),
        _ => return,
    };
    let external = !in_cluster || spec.get("externalIPs").is_some_and(|ips| !is_zero(ips));
    if external && spec.get("externalTrafficPolicy").is_none_or(is_zero) {
        spec.insert("externalTrafficPolicy".to_owned(), "Cluster".into());
    }
    insert_if_nil(spec, "internalTrafficPolicy", "Cluster".into());
    if balanced {
        insert_if_nil(spec, "allocateLoadBalancerNodePorts", true.into());
    }
}

fn load_balancer_ip_mode(service: &mut Object) {
    if service.get("spec").and_then(|spec| spec["type"].as_str()) != Some("LoadBalancer") {
        return;
    }
    super::walk(service, "status.loadBalancer.ingress[]", &mut |ingress| {
        if !str_in(ingress, "ip").is_empty() {
            insert_if_nil(ingress, "ipMode", "VIP".into());
        }
    });
}

fn namespace_name_label(namespace: &mut Object) {
    let name = namespace
        .get("metadata")
        .and_then(|metadata| metadata["name"].as_str())
        .unwrap_or_default();
    if name.is_empty() {
        // The name is still to be generated; the strategy sets the label then.
        return;
    }
    let name = name.to_owned();
    if let Some(labels) = child(namespace, "metadata").and_then(|metadata| child(metadata, "labels")) {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

fn allocatable(status: &mut Object) {
    if is_nil(status, "allocatable") {
        copy_missing(status, "capacity", "allocatable");
    }
}

/// Limits default to the maximum, requests to the limits and then to the minimum.
fn limit_range_item(item: &mut Object) {
    if str_in(item, "type") == "Container" {
        copy_missing(item, "max", "default");
        copy_missing(item, "default", "defaultRequest");
        copy_missing(item, "min", "defaultRequest");
    }
}

fn rolling_update(strategy: &mut Object, values: &[(&str, Value)]) {
    if str_in(strategy, "type") != "RollingUpdate" {
        return;
    }
    let Some(rolling) = child(strategy, "rollingUpdate") else {
        return;
    };
    for (field, value) in values {
        insert_if_nil(rolling, field, value.clone());
    }
}

/// A `RollingUpdate` that was written out without parameters stays without, unlike an implied one.
fn stateful_set_strategy(strategy: &mut Object) {
    if str_in(strategy, "type").is_empty() {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        child(strategy, "rollingUpdate");
    }
    if str_in(strategy, "type") == "RollingUpdate" && !is_nil(strategy, "rollingUpdate") {
        rolling_update(strategy, &[("partition", json!(0)), ("maxUnavailable", json!(1))]);
    }
}

fn job_spec(spec: &mut Object) {
    if is_nil(spec, "completions") && is_nil(spec, "parallelism") {
        spec.insert("completions".to_owned(), 1.into());
    }
    insert_if_nil(spec, "parallelism", 1.into());
    let backoff = if is_nil(spec, "backoffLimitPerIndex") {
        6
    } else {
        i32::MAX
    };
    insert_if_nil(spec, "backoffLimit", backoff.into());
    let replacement = if is_nil(spec, "podFailurePolicy") {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    insert_if_nil(spec, "podReplacementPolicy", replacement.into());
}

/// The same in the first version, whose other metrics are in an annotation
/// (`Convert_v1_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler`).
fn default_share(autoscaler: &mut Object) {
    let has_metrics = autoscaler
        .get("metadata")
        .and_then(|metadata| {
            metadata
                .get("annotations")?
                .get("autoscaling.alpha.kubernetes.io/metrics")?
                .as_str()
        })
        .is_some_and(|text| serde_json::from_str(text).is_ok_and(|metrics: Value| !is_zero(&metrics)));
    if let Some(spec) = autoscaler.get_mut("spec").and_then(Value::as_object_mut)
        && !has_metrics
    {
        insert_if_nil(spec, "targetCPUUtilizationPercentage", 80.into());
    }
}

fn default_metric(spec: &mut Object) {
    if spec.get("metrics").is_none_or(is_zero) {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
        spec.insert("metrics".to_owned(), metric);
    }
}

fn scaling_behavior(behavior: &mut Object) {
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    if let Some(up) = child(behavior, "scaleUp") {
        insert_if_nil(up, "stabilizationWindowSeconds", 0.into());
        insert_if_nil(up, "selectPolicy", "Max".into());
        insert_if_nil(up, "policies", json!([pods, percent]));
    }
    // The window of scaling down is a setting of the controller, so it has no default here.
    if let Some(down) = child(behavior, "scaleDown") {
        insert_if_nil(down, "selectPolicy", "Max".into());
        insert_if_nil(down, "policies", json!([percent]));
    }
}

fn policy_types(spec: &mut Object) {
    if spec.get("policyTypes").is_none_or(is_zero) {
        let has_egress = spec.get("egress").is_some_and(|egress| !is_zero(egress));
        let types = if has_egress {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        spec.insert("policyTypes".to_owned(), types);
    }
}

fn subject_group(subject: &mut Object) {
    let is_user = matches!(str_in(subject, "kind"), "User" | "Group");
    if is_user && str_in(subject, "apiGroup").is_empty() {
        subject.insert("apiGroup".to_owned(), RBAC_GROUP.into());
    }
}

fn resource_names(names: &mut Object) {
    let kind = str_in(names, "kind").to_owned();
    if kind.is_empty() {
        return;
    }
    if str_in(names, "singular").is_empty() {
        names.insert("singular".to_owned(), kind.to_lowercase().into());
    }
    if str_in(names, "listKind").is_empty() {
        names.insert("listKind".to_owned(), format!("{kind}List").into());
    }
}

fn stored_versions(definition: &mut Object) {
    let stored = definition
        .get("spec")
        .and_then(|spec| spec["versions"].as_array())
        .and_then(|versions| {
            let version = versions
                .iter()
                .find(|version| version["storage"].as_bool() == Some(true))?;
            version["name"].as_str().map(str::to_owned)
        });
    let Some(stored) = stored else { return };
    if let Some(status) = child(definition, "status")
        && status.get("storedVersions").is_none_or(is_zero)
    {
        status.insert("storedVersions".to_owned(), json!([stored]));
    }
}
