//! The specification of a pod as a whole (`ValidatePodSpec`).

use std::collections::BTreeSet;

use super::super::field::{Errors, Field};
use super::super::metadata;
use super::super::names::{label, qualified_name, subdomain};
use super::super::resources::{self, Consumer};
use super::{
    Findings, Owner, Relaxable, affinity, container, each_container, network, scheduling, security, volumes,
    windows,
};
use serde_json::Value;

pub(super) fn check(findings: &mut Findings, spec: &Field<'_, '_>, owner: Owner<'_>) {
    let grace = spec.get("terminationGracePeriodSeconds");
    if !grace.exists() {
        grace.required(&mut findings.errors, "");
    }
    let known_volumes = volumes::check(findings, spec, owner);
    let claims = spec.get("resourceClaims");
    let claim_names: BTreeSet<&str> = claims
        .list()
        .iter()
        .filter_map(|claim| claim["name"].as_str())
        .filter(|name| !name.is_empty())
        .collect();
    check_claims(&mut findings.errors, &claims, owner);
    let pod = container::Pod {
        spec,
        volumes: &known_volumes,
        claims: &claim_names,
    };
    container::check_all(findings, &pod);
    check_resources(findings, spec, &claim_names);
    let errors = &mut findings.errors;
    network::check_host_ports(errors, spec, owner);
    spec.get("restartPolicy")
        .required_one_of(errors, &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    spec.get("dnsPolicy").required_one_of(errors, &policies);
    let selector = spec.get("nodeSelector");
    metadata::labels(errors, selector.value, "", &selector.path());
    security::check_pod(findings, spec);
    let errors = &mut findings.errors;
    let shared = spec.get("shareProcessNamespace");
    if spec.get("hostPID").is_true() && shared.is_true() {
        shared.invalid(errors, "ShareProcessNamespace and HostPID cannot both be enabled");
    }
    affinity::check(findings, &spec.get("affinity"));
    let errors = &mut findings.errors;
    network::check_dns(errors, spec);
    for gate in spec.get("readinessGates").items() {
        gate.get("conditionType").checked(errors, qualified_name);
    }
    scheduling::check_gates(errors, &spec.get("schedulingGates"));
    scheduling::check_spread(findings, &spec.get("topologySpreadConstraints"));
    windows::check_host_process(&mut findings.errors, spec);
    check_host_users(findings, spec);
    network::check_hostname_override(&mut findings.errors, spec);
    check_names(&mut findings.errors, spec);
    scheduling::check_tolerations(&mut findings.errors, &spec.get("tolerations"));
    network::check_host_aliases(&mut findings.errors, &spec.get("hostAliases"));
    check_rest(findings, spec);
    check_file_volumes(&mut findings.errors, spec);
}

fn check_names(errors: &mut Errors, spec: &Field<'_, '_>) {
    let account = spec.get("serviceAccountName");
    account.checked_if_set(errors, subdomain);
    if spec.get("serviceAccount").text() != account.text() {
        let detail = format!("must be the same as serviceAccountName: {:?}", account.text());
        let old = spec.get("serviceAccount").text();
        spec.get("deprecatedServiceAccount")
            .invalid_as(errors, old, detail);
    }
    spec.get("nodeName").checked_if_set(errors, subdomain);
    spec.get("activeDeadlineSeconds")
        .within(errors, 1..=i64::from(i32::MAX));
    spec.get("hostname").checked_if_set(errors, label);
    spec.get("subdomain").checked_if_set(errors, label);
}

fn check_rest(findings: &mut Findings, spec: &Field<'_, '_>) {
    let errors = &mut findings.errors;
    spec.get("priorityClassName").checked_if_set(errors, subdomain);
    let runtime = spec.get("runtimeClassName");
    if runtime.exists() {
        runtime.checked(errors, subdomain);
    }
    let preemption = spec.get("preemptionPolicy");
    if preemption.exists() {
        preemption.required_one_of(errors, &["PreemptLowerPriority", "Never"]);
    }
    let overhead = spec.get("overhead");
    if overhead.exists() {
        // Upstream looks at it as at the limits of a container.
        let limits = Value::Object(
            [("limits".to_owned(), overhead.value.clone())]
                .into_iter()
                .collect(),
        );
        let path = overhead.path();
        let at = Field::root(path.as_str(), &limits);
        resources::check_requirements(errors, &at, Consumer::Container, &BTreeSet::new());
        findings.relaxable(Relaxable::HugePageMultiple, |errors| {
            resources::check_huge_pages(errors, &at);
        });
    }
    windows::check_os(&mut findings.errors, spec);
}

/// The claims of dynamic resources that a pod brings (KEP-4381).
fn check_claims(errors: &mut Errors, claims: &Field<'_, '_>, owner: Owner<'_>) {
    let is_static =
        matches!(owner, Owner::Pod(meta) if meta["annotations"].get(super::annotations::MIRROR).is_some());
    let mut seen = BTreeSet::new();
    for claim in claims.items() {
        if is_static {
            Field::root("[]", claim.value).forbidden(errors, "static pods do not support resource claims");
            continue;
        }
        let name = claim.get("name");
        if name.text().is_empty() {
            name.required(errors, "");
        } else if super::super::field::unique(errors, &mut seen, &name) {
            name.checked(errors, label);
        }
        let (of_claim, of_template) = (
            claim.get("resourceClaimName"),
            claim.get("resourceClaimTemplateName"),
        );
        match (of_claim.exists(), of_template.exists()) {
            (true, true) => claim.invalid(
                errors,
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ),
            (false, false) => {
                claim.invalid(
                    errors,
                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
                );
            }
            _ => {}
        }
        for reference in [of_claim, of_template] {
            if reference.exists() {
                reference.checked(errors, subdomain);
            }
        }
    }
}

/// The resources of the pod as a whole (KEP-2837).
fn check_resources(findings: &mut Findings, spec: &Field<'_, '_>, claims: &BTreeSet<&str>) {
    let resources = spec.get("resources");
    if !resources.exists() {
        return;
    }
    if spec.get("os").get("name").text() == "windows" {
        resources.forbidden(&mut findings.errors, "may not be set for a windows pod");
        return;
    }
    let errors = &mut findings.errors;
    if resources.get("claims").exists() {
        let detail = "claims may not be set for Resources at pod-level";
        resources.get("claims").forbidden(errors, detail);
    }
    resources::check_requirements(errors, &resources, Consumer::Pod, claims);
    findings.relaxable(Relaxable::HugePageMultiple, |errors| {
        resources::check_huge_pages(errors, &resources);
    });
    check_consistency(&mut findings.errors, spec, &resources);
}

/// What all containers together ask for must fit into what the pod asks for.
fn check_consistency(errors: &mut Errors, spec: &Field<'_, '_>, resources: &Field<'_, '_>) {
    let Some(object) = spec.value.as_object() else {
        return;
    };
    let (requests, limits) = (resources.get("requests"), resources.get("limits"));
    for (list, at, what) in [
        ("requests", &requests, "container requests"),
        ("limits", &limits, "container limits"),
    ] {
        for (name, total) in super::super::super::defaults::aggregate(object, list) {
            let own = at.key(&name);
            let Some(amount) = own.quantity() else { continue };
            if total > amount && (list == "requests" || resources::is_huge_page(&name)) {
                let detail = format!("must be greater than or equal to aggregate {what} of {total}");
                own.invalid_as(errors, amount.to_string(), detail);
            }
        }
    }
    for (index, container) in spec.get("containers").items().enumerate() {
        for (name, limit) in container.get("resources").get("limits").entries() {
            let (Some(limit), Some(most)) = (limit.quantity(), limits.key(name).quantity()) else {
                continue;
            };
            if limit > most {
                let detail = format!("must be less than or equal to pod limits of {most}");
                let containers = resources.get("containers");
                let container = containers.index(index);
                let entry = container.key(name);
                entry.get("limits").invalid_as(errors, limit.to_string(), detail);
            }
        }
    }
}

/// What a pod in a user namespace of its own cannot have (KEP-127).
fn check_host_users(findings: &mut Findings, spec: &Field<'_, '_>) {
    const DETAIL: &str = "when `hostUsers` is false";
    if spec.get("hostUsers").value != &Value::Bool(false) {
        return;
    }
    if spec.get("hostNetwork").is_true() {
        findings.relaxable(Relaxable::UserNamespaceHostNetwork, |errors| {
            spec.get("hostNetwork").forbidden(errors, DETAIL);
        });
    }
    // The paths are spelt so upstream.
    for (field, shown) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.get(field).is_true() {
            spec.get(shown).forbidden(&mut findings.errors, DETAIL);
        }
    }
    each_container(spec, |container| {
        let devices = container.get("volumeDevices");
        if !devices.is_empty() {
            findings.relaxable(Relaxable::UserNamespaceDevices, |errors| {
                devices.forbidden(errors, DETAIL);
            });
        }
    });
}

/// Files with variables are written to volumes that live with the pod (KEP-3721).
fn check_file_volumes(errors: &mut Errors, spec: &Field<'_, '_>) {
    let volumes = spec.get("volumes").list();
    each_container(spec, |container| {
        for variable in container.get("env").items() {
            let source = variable.get("valueFrom");
            let key = source.get("fileKeyRef");
            if !key.exists() {
                continue;
            }
            let name = key.get("volumeName");
            match volumes.iter().rev().find(|volume| volume["name"] == name.text()) {
                None => name.not_found(errors, ""),
                Some(volume) if volume["emptyDir"].is_null() => {
                    name.invalid_as(errors, name.text(), "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    });
}
