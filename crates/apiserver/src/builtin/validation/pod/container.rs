//! Containers of all three kinds.
//!
//! Upstream: `validateContainers`, `validateInitContainers`, `validateEphemeralContainers` and `validateContainerCommon`.

use std::collections::BTreeSet;

use super::super::field::{Errors, Field};
use super::super::names::label;
use super::super::resources::{self, Consumer};
use super::volumes::Volumes;
use super::{Findings, Relaxable, environment, handlers, mounts, network, restart, security};
use serde_json::Value;

/// What the containers of a pod refer to.
#[derive(Clone, Copy)]
pub(super) struct Pod<'p, 'v> {
    pub(super) spec: &'p Field<'p, 'v>,
    pub(super) volumes: &'p Volumes<'v>,
    pub(super) claims: &'p BTreeSet<&'v str>,
}

impl Pod<'_, '_> {
    pub(super) fn os(&self) -> &str {
        self.spec.value["os"]["name"].as_str().unwrap_or_default()
    }

    pub(super) fn grace_period(&self) -> Option<i64> {
        self.spec.value["terminationGracePeriodSeconds"].as_i64()
    }
}

pub(super) fn check_all(findings: &mut Findings, pod: &Pod<'_, '_>) {
    let containers = pod.spec.get("containers");
    let mut names = BTreeSet::new();
    if containers.is_empty() {
        containers.required(&mut findings.errors, "");
    }
    for container in containers.items() {
        check_common(findings, &container, pod);
        let name = container.get("name");
        super::super::field::unique(&mut findings.errors, &mut names, &name);
        handlers::check_lifecycle_and_probes(&mut findings.errors, &container, pod);
        restart::check(&mut findings.errors, &container);
    }
    network::check_port_conflicts(&mut findings.errors, containers.items());
    let init = pod.spec.get("initContainers");
    for container in init.items() {
        check_common(findings, &container, pod);
        check_init(findings, &container, pod);
        let name = container.get("name");
        if names.contains(name.text()) {
            name.duplicate(&mut findings.errors);
        } else if name.is_set() {
            names.insert(name.text());
        }
        // Of init containers only those of one name share ports; the path is that of a list of one.
        let alone = Value::Array(vec![container.value.clone()]);
        let list = init.with(&alone);
        network::check_port_conflicts(&mut findings.errors, list.items());
    }
    let others = names.clone();
    for container in pod.spec.get("ephemeralContainers").items() {
        check_common(findings, &container, pod);
        check_image_space(&mut findings.errors, &container);
        super::super::field::unique(&mut findings.errors, &mut names, &container.get("name"));
        check_ephemeral(&mut findings.errors, &container, &others);
    }
}

fn check_common(findings: &mut Findings, container: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    let errors = &mut findings.errors;
    container.get("name").required_checked(errors, label);
    container.get("image").must_be_set(errors);
    container
        .get("terminationMessagePolicy")
        .required_one_of(errors, &["File", "FallbackToLogsOnError"]);
    network::check_ports(errors, &container.get("ports"));
    environment::check(errors, container);
    mounts::check_mounts(errors, container, pod.volumes);
    mounts::check_devices(errors, container, pod.volumes);
    container
        .get("imagePullPolicy")
        .required_one_of(errors, PULL_POLICIES);
    let resources = container.get("resources");
    resources::check_requirements(errors, &resources, Consumer::Container, pod.claims);
    findings.relaxable(Relaxable::HugePageMultiple, |errors| {
        resources::check_huge_pages(errors, &resources);
    });
    check_resize_policy(&mut findings.errors, container, pod);
    security::check_container(findings, container, pod);
}

pub(super) const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];

/// Space around the name of an image is let be in templates that older versions took.
pub(super) fn check_image_space(errors: &mut Errors, container: &Field<'_, '_>) {
    let image = container.get("image");
    if image.text().trim() != image.text() {
        image.invalid(errors, "must not have leading or trailing whitespace");
    }
}

/// Which resources can change without a restart (KEP-1287).
fn check_resize_policy(errors: &mut Errors, container: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    let list = container.get("resizePolicy");
    let never_restarts = pod.spec.get("restartPolicy").text() == "Never";
    let mut seen = BTreeSet::new();
    for policy in list.items() {
        let (resource, restart) = (policy.get("resourceName"), policy.get("restartPolicy"));
        if !seen.insert(resource.text()) {
            policy.duplicate_as(errors, resource.text());
        }
        // Upstream names the list, not the field.
        let shown = |field: &Field<'_, '_>, errors: &mut Errors, supported: &[&str]| {
            let path = list.path();
            Field::root(path.as_str(), field.value).required_one_of(errors, supported);
        };
        shown(&resource, errors, &["cpu", "memory"]);
        shown(&restart, errors, &["NotRequired", "RestartContainer"]);
        if never_restarts && restart.text() != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            list.invalid_as(errors, restart.text(), detail);
        }
    }
}

fn check_init(findings: &mut Findings, container: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    restart::check(&mut findings.errors, container);
    let is_sidecar = container.get("restartPolicy").text() == "Always";
    if is_sidecar {
        handlers::check_lifecycle_and_probes(&mut findings.errors, container, pod);
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        let field = container.get(field);
        if field.exists() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            field.forbidden(&mut findings.errors, detail);
        }
    }
    findings.relaxable(Relaxable::InitRestartContainer, |errors| {
        for policy in container.get("resizePolicy").items() {
            let restart = policy.get("restartPolicy");
            if restart.text() == "RestartContainer" {
                let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                restart.invalid(errors, detail);
            }
        }
    });
}

/// The fields that an ephemeral container cannot have.
const NOT_EPHEMERAL: &[&str] = &[
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

fn check_ephemeral(errors: &mut Errors, container: &Field<'_, '_>, others: &BTreeSet<&str>) {
    const DETAIL: &str = "cannot be set for an Ephemeral Container";
    let target = container.get("targetContainerName");
    if target.is_set() && !others.contains(target.text()) {
        target.not_found(errors, "");
    }
    for field in NOT_EPHEMERAL {
        if container.get(field).is_set() {
            container.get(field).forbidden(errors, DETAIL);
        }
    }
    for mount in container.get("volumeMounts").items() {
        for field in ["subPath", "subPathExpr"] {
            if mount.get(field).is_set() {
                mount.get(field).forbidden(errors, DETAIL);
            }
        }
    }
}
