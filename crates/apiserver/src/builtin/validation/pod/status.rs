//! What kubelets and schedulers report about a pod.
//!
//! Upstream: `ValidatePodStatusUpdate`.

use std::collections::BTreeSet;

use super::super::addresses::{check_ip, is_dual_stack};
use super::super::field::{Errors, Field};
use super::super::names::{label, qualified_name, subdomain};
use super::{Findings, annotations};
use kubewright_core::FieldError;
use serde_json::Value;

/// Where a pod's status has the states of containers, and where its specification has the containers.
const LISTS: &[(&str, &str)] = &[
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

pub(super) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut findings = Findings::default();
    annotations::check_update(&mut findings, new, old);
    let mut errors = findings.without_old_faults(|| {
        let mut findings = Findings::default();
        annotations::check_update(&mut findings, old, old);
        findings
    });
    let (status, old_status) = (Field::of(new, "status"), Field::of(old, "status"));
    check_conditions(&mut errors, &status.get("conditions"));
    check_node(&mut errors, &status, old);
    let generation = status.get("observedGeneration");
    if generation.int() < 0 {
        generation.invalid(&mut errors, "must be a non-negative integer");
    }
    status
        .get("qosClass")
        .immutable(&mut errors, &old_status.get("qosClass"));
    let spec = Field::of(old, "spec");
    for (statuses, containers) in LISTS {
        check_transitions(
            &mut errors,
            &status.get(statuses),
            &old_status.get(statuses),
            &spec,
            containers,
        );
    }
    check_claims(&mut errors, &status, &Field::of(new, "spec"));
    check_extended_claim(
        &mut errors,
        &status.get("extendedResourceClaimStatus"),
        &Field::of(new, "spec"),
    );
    check_pod_ips(&mut errors, &status, &old_status);
    check_host_ips(&mut errors, &status, &old_status);
    let is_windows = new["spec"]["os"]["name"] == "windows";
    for (statuses, containers) in LISTS {
        let statuses = status.get(statuses);
        check_users(&mut errors, &statuses, is_windows);
        check_devices(&mut errors, &statuses, new, containers);
    }
    errors
}

fn check_conditions(errors: &mut Errors, conditions: &Field<'_, '_>) {
    for condition in conditions.items() {
        let generation = condition.get("observedGeneration");
        if generation.int() < 0 {
            generation.invalid(errors, "must be a non-negative integer");
        }
        let kind = condition.get("type").text();
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            for message in qualified_name(kind) {
                condition.get("Type").invalid_as(errors, kind, message);
            }
        }
    }
}

fn check_node(errors: &mut Errors, status: &Field<'_, '_>, old: &Value) {
    let nominated = status.get("nominatedNodeName");
    let is_new = nominated.text() != old["status"]["nominatedNodeName"].as_str().unwrap_or_default();
    if !is_new || !nominated.is_set() {
        return;
    }
    nominated.checked(errors, subdomain);
    if old["spec"]["nodeName"]
        .as_str()
        .is_some_and(|name| !name.is_empty())
    {
        let detail = "may not be set on pods that are already bound to a node";
        nominated.forbidden(errors, detail);
    }
}

/// A container that ended may only run again where its policies have it restarted.
fn check_transitions(
    errors: &mut Errors,
    statuses: &Field<'_, '_>,
    old: &Field<'_, '_>,
    spec: &Field<'_, '_>,
    containers: &str,
) {
    let is_ephemeral = containers == "ephemeralContainers";
    let restarts_all = ["initContainers", "containers"].iter().any(|list| {
        let mut rules = spec.value[list]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|container| container["restartPolicyRules"].as_array().into_iter().flatten());
        rules.any(|rule| rule["action"] == "RestartAllContainers")
    });
    if restarts_all && !is_ephemeral {
        return;
    }
    for (index, old) in old.list().iter().enumerate() {
        let Some(exit_code) = old["state"]["terminated"]
            .as_object()
            .map(|terminated| terminated.get("exitCode").and_then(Value::as_i64).unwrap_or(0))
        else {
            continue;
        };
        let runs_again = statuses
            .list()
            .iter()
            .find(|new| new["name"] == old["name"])
            .is_some_and(|new| new["state"]["terminated"].is_null());
        let container = spec.value[containers]
            .as_array()
            .into_iter()
            .flatten()
            .find(|container| container["name"] == old["name"]);
        let may = !is_ephemeral
            && container.is_some_and(|container| should_restart(container, spec.value, exit_code));
        if runs_again && !may {
            let item = statuses.index(index);
            let detail = "may not be transitioned to non-terminated state";
            item.get("state").forbidden(errors, detail);
        }
    }
}

/// `ContainerShouldRestart` in `pkg/api/v1/pod/util.go`.
fn should_restart(container: &Value, spec: &Value, exit_code: i64) -> bool {
    let by_policy = |policy: &Value| match policy.as_str() {
        Some("OnFailure") => Some(exit_code != 0),
        Some("Never") => Some(false),
        Some("Always") => Some(true),
        _ => None,
    };
    let own = &container["restartPolicy"];
    if !own.is_null() {
        let mut rules = container["restartPolicyRules"].as_array().into_iter().flatten();
        let applies = rules.any(|rule| {
            let codes = &rule["exitCodes"];
            let is_listed = codes["values"]
                .as_array()
                .is_some_and(|values| values.iter().any(|value| value.as_i64() == Some(exit_code)));
            match codes["operator"].as_str() {
                Some("In") => is_listed,
                Some("NotIn") => !is_listed,
                _ => false,
            }
        });
        if applies {
            return true;
        }
        if let Some(restarts) = by_policy(own) {
            return restarts;
        }
    }
    by_policy(&spec["restartPolicy"]).unwrap_or(true)
}

fn check_claims(errors: &mut Errors, status: &Field<'_, '_>, spec: &Field<'_, '_>) {
    let claims = spec.get("resourceClaims").list();
    let mut seen = BTreeSet::new();
    for claim in status.get("resourceClaimStatuses").items() {
        let name = claim.get("name");
        if !claims.iter().any(|claim| claim["name"] == name.text()) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            name.invalid(errors, detail);
        }
        super::super::field::unique(errors, &mut seen, &name);
        let made = claim.get("resourceClaimName");
        if made.exists() {
            made.checked(errors, subdomain);
        }
    }
}

/// The claim that was made for extended resources (KEP-5004).
fn check_extended_claim(errors: &mut Errors, status: &Field<'_, '_>, spec: &Field<'_, '_>) {
    if !status.exists() {
        return;
    }
    let mappings = status.get("requestMappings");
    if mappings.is_empty() {
        mappings.required(errors, "at least one request mapping is required");
    }
    let containers: Vec<&Value> = ["initContainers", "containers"]
        .iter()
        .flat_map(|list| spec.value[list].as_array().into_iter().flatten())
        .collect();
    let mut seen = BTreeSet::new();
    for mapping in mappings.items() {
        let (container, resource) = (mapping.get("containerName"), mapping.get("resourceName"));
        let request = mapping.get("requestName");
        match containers
            .iter()
            .rev()
            .find(|other| other["name"] == container.text())
        {
            None => container.invalid(
                errors,
                "must match the name of an entry in spec.initContainers.name or spec.containers.name",
            ),
            Some(found) if found["resources"]["requests"].get(resource.text()).is_none() => {
                let detail = "must match the extended resource name of an entry in \
                              spec.initContainers.resources.requests or spec.containers.resources.requests";
                resource.invalid(errors, detail);
            }
            Some(_) => {}
        }
        for message in label(request.text()) {
            status
                .get("requestName")
                .invalid_as(errors, request.text(), message);
        }
        if !seen.insert((container.text(), resource.text(), request.text())) {
            for field in [container, resource, request] {
                field.duplicate(errors);
            }
        }
    }
    status
        .get("resourceClaimName")
        .required_checked(errors, subdomain);
}

fn ips<'v>(list: &Field<'_, 'v>) -> Vec<&'v str> {
    list.list()
        .iter()
        .map(|item| item["ip"].as_str().unwrap_or_default())
        .collect()
}

/// Checks addresses of a list, of which there is one for each family.
fn check_ips(errors: &mut Errors, list: &Field<'_, '_>, old: &Field<'_, '_>) {
    let (texts, old) = (ips(list), ips(old));
    for item in list.items() {
        // Upstream names the item, not its field.
        let value = item.get("ip").value;
        check_ip(errors, &item.with(value), &old);
    }
    if texts.len() > 1 && (!is_dual_stack(&texts) || texts.len() > 2) {
        list.invalid(errors, "may specify no more than one IP for each IP family");
    }
}

fn check_pod_ips(errors: &mut Errors, status: &Field<'_, '_>, old: &Field<'_, '_>) {
    let (first, all) = (status.get("podIP"), status.get("podIPs"));
    check_ips(errors, &all, &old.get("podIPs"));
    let texts = ips(&all);
    match texts.first() {
        None if first.is_set() => {
            all.invalid(
                errors,
                "podIP and podIPs must either both be set or both be unset",
            );
        }
        Some(_) if !first.is_set() => {
            all.invalid(
                errors,
                "podIP and podIPs must either both be set or both be unset",
            );
        }
        Some(ip) if *ip != first.text() => {
            all.index(0).get("ip").invalid(errors, "must be equal to `podIP`");
        }
        _ => {}
    }
}

fn check_host_ips(errors: &mut Errors, status: &Field<'_, '_>, old: &Field<'_, '_>) {
    let all = status.get("hostIPs");
    if let Some(ip) = ips(&all).first()
        && *ip != status.get("hostIP").text()
    {
        all.index(0)
            .get("ip")
            .invalid(errors, "must be equal to `hostIP`");
    }
    check_ips(errors, &all, &old.get("hostIPs"));
}

fn check_users(errors: &mut Errors, statuses: &Field<'_, '_>, is_windows: bool) {
    for status in statuses.items() {
        let user = status.get("user");
        let linux = user.get("linux");
        if !linux.exists() {
            continue;
        }
        if is_windows {
            linux.forbidden(errors, "cannot be set for a windows pod");
            continue;
        }
        linux.get("uid").within(errors, 0..=i64::from(u32::MAX));
        let ids = 0..=i64::from(i32::MAX);
        linux.get("gid").within(errors, ids.clone());
        for group in linux.get("supplementalGroups").items() {
            group.within(errors, ids.clone());
        }
    }
}

/// The longest message about the health of a device, in bytes.
const HEALTH_MESSAGE_MAX: usize = 1024;

/// The devices that containers were given, and their health (KEP-4680).
fn check_devices(errors: &mut Errors, statuses: &Field<'_, '_>, pod: &Value, containers: &str) {
    for status in statuses.items() {
        let list = status.get("allocatedResourcesStatus");
        if containers == "ephemeralContainers" {
            if !list.is_empty() {
                list.forbidden(errors, "must not be specified in container status");
            }
            continue;
        }
        let container = pod["spec"][containers]
            .as_array()
            .into_iter()
            .flatten()
            .find(|container| container["name"] == status.get("name").text());
        for resource in list.items() {
            let name = resource.get("name");
            if let Some(detail) = container.and_then(|container| unknown_device(container, name.text(), pod))
            {
                name.invalid(errors, detail);
            }
            let mut seen = BTreeSet::new();
            for device in resource.get("resources").items() {
                let (health, message) = (device.get("health"), device.get("message"));
                if !["Healthy", "Unhealthy", "Unknown"].contains(&health.text()) {
                    health.not_supported(errors, &["Healthy", "Unhealthy", "Unknown"]);
                }
                if message.exists() && message.text().is_empty() {
                    message.required(errors, "must be non-empty if specified");
                } else if message.text().len() > HEALTH_MESSAGE_MAX {
                    message.too_long(errors, HEALTH_MESSAGE_MAX);
                }
                super::super::field::unique(errors, &mut seen, &device.get("resourceID"));
            }
        }
    }
}

/// What is wrong with a resource that a container's devices are said to be of, if the container does not have it.
fn unknown_device(container: &Value, name: &str, pod: &Value) -> Option<&'static str> {
    let requests = &container["resources"]["requests"];
    let Some(claim) = name.strip_prefix("claim:") else {
        let is_requested = requests.get(name).is_some();
        return (!is_requested).then_some("must match one of the container's resource requests");
    };
    let (claim_name, request) = claim.split_once('/').unwrap_or((claim, ""));
    let claims = container["resources"]["claims"].as_array().into_iter().flatten();
    let is_claimed = claims
        .into_iter()
        .any(|own| own["name"] == claim_name && own["request"].as_str().unwrap_or_default() == request);
    let extended = &pod["status"]["extendedResourceClaimStatus"];
    let mut mappings = extended["requestMappings"].as_array().into_iter().flatten();
    let is_mapped = !request.is_empty()
        && extended["resourceClaimName"] == claim_name
        && mappings.any(|mapping| {
            mapping["containerName"] == container["name"]
                && mapping["requestName"] == request
                && mapping["resourceName"]
                    .as_str()
                    .and_then(|name| requests.get(name))
                    .and_then(super::super::field::quantity)
                    .is_some_and(|amount| !amount.is_zero())
        });
    (!is_claimed && !is_mapped).then_some(
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when \
         container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty",
    )
}
