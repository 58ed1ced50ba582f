//! Pods, and the templates that workloads make them from.
//!
//! Upstream: `ValidatePodCreate`, `ValidatePodTemplateSpec`, `ValidatePodUpdate` and what they call in
//! `pkg/apis/core/validation/validation.go`. Rules of feature gates that are off in 1.37 are left out; the fields they are
//! about never get here, since the strategy drops them.

mod affinity;
mod annotations;
mod container;
mod environment;
mod handlers;
mod mounts;
mod network;
mod projected;
mod resize;
mod restart;
mod scheduling;
mod security;
pub(super) mod sources;
mod spec;
mod status;
mod update;
mod volumes;
mod windows;

use std::collections::BTreeSet;

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::field::{Errors, Field};
use super::metadata;

pub(crate) use affinity::{check_selector, node_selector, node_selector_values};
pub(crate) use handlers::check_port;
pub(crate) use scheduling::check_tolerations;
pub(crate) use sources::is_address;

/// A rule that came after objects that break it were stored. An update is held to it only if the stored object keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relaxable {
    DeletionCost,
    EmptyImageReference,
    HostNamespaceSysctl,
    HugePageMultiple,
    InitRestartContainer,
    LabelValueInAffinity,
    LabelValueInNodeAffinity,
    MatchLabelKeys,
    SpreadSelector,
    SysAdmin,
    TokenPath,
    UserNamespaceDevices,
    UserNamespaceHostNetwork,
}

/// What a specification is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner<'v> {
    /// A pod, with its metadata.
    Pod(&'v Value),
    /// A template. Its pods get names later.
    Template,
}

/// The findings about a pod, some of which an update may be excused from.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Errors,
    /// Which errors belong to which rule: a range of `errors`.
    relaxable: Vec<(Relaxable, std::ops::Range<usize>)>,
}

impl Findings {
    /// Notes that what `check` finds is about a rule that stored objects may break.
    pub(super) fn relaxable(&mut self, rule: Relaxable, check: impl FnOnce(&mut Errors)) {
        let start = self.errors.len();
        check(&mut self.errors);
        if self.errors.len() > start {
            self.relaxable.push((rule, start..self.errors.len()));
        }
    }

    /// The findings without those that the stored object is at fault for, too; `old` finds out.
    pub(super) fn without_old_faults(self, old: impl FnOnce() -> Self) -> Errors {
        if self.relaxable.is_empty() {
            return self.errors;
        }
        let broken: BTreeSet<Relaxable> = old().relaxable.iter().map(|(rule, _)| *rule).collect();
        let excused = |index: usize| {
            self.relaxable
                .iter()
                .any(|(rule, range)| broken.contains(rule) && range.contains(&index))
        };
        let errors = self.errors.into_iter().enumerate();
        errors
            .filter_map(|(index, error)| (!excused(index)).then_some(error))
            .collect()
    }
}

/// Checks a pod: a new one, or one that is to replace `old`.
pub(crate) fn pod(pod: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match old {
        Some(old) => update::update(pod, old),
        None => create(pod),
    }
}

fn create(pod: &Value) -> Vec<FieldError> {
    let spec = Field::of(pod, "spec");
    let mut errors = metadata_and_spec(pod).errors;
    if !spec.get("ephemeralContainers").is_empty() {
        spec.get("ephemeralContainers")
            .forbidden(&mut errors, "cannot be set on create");
    }
    if spec.get("nodeName").is_set() && !spec.get("schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        spec.get("nodeName").forbidden(&mut errors, detail);
    }
    annotations::check_profiles_match(&mut errors, &Field::of(pod, "metadata"), &spec);
    errors
}

/// The checks that creation and every change share.
pub(super) fn metadata_and_spec(pod: &Value) -> Findings {
    let mut findings = Findings::default();
    let (meta, spec) = (Field::of(pod, "metadata"), Field::of(pod, "spec"));
    annotations::check(&mut findings, &meta.get("annotations"), &spec);
    spec::check(&mut findings, &spec, Owner::Pod(meta.value));
    let errors = &mut findings.errors;
    if !spec.get("serviceAccountName").is_set() {
        for volume in spec.get("volumes").items() {
            for source in volume.get("projected").get("sources").items() {
                let token = source.get("serviceAccountToken");
                if token.exists() {
                    token.forbidden(errors, "must not be specified when serviceAccountName is not set");
                }
            }
        }
    }
    spec.get("terminationGracePeriodSeconds").not_negative(errors);
    for list in ["containers", "initContainers"] {
        for item in spec.get(list).items() {
            container::check_image_space(errors, &item);
        }
    }
    findings
}

/// Checks a pod template that is an object of its own.
pub(crate) fn template_object(object: &Value) -> Vec<FieldError> {
    template(&object["template"], &FieldPath::new("template"))
}

/// Checks a template: the metadata of its pods and their specification.
pub(crate) fn template(template: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut findings = Findings::default();
    let at = Field::root(path.as_str(), template);
    let (meta, spec) = (at.get("metadata"), at.get("spec"));
    // Upstream leaves `metadata` out of these paths.
    let (labels, notes) = (at.get("labels"), at.get("annotations"));
    metadata::labels(&mut findings.errors, template, "/metadata/labels", &labels.path());
    metadata::annotations(
        &mut findings.errors,
        template,
        "/metadata/annotations",
        &notes.path(),
    );
    let annotations = notes.with(meta.get("annotations").value);
    annotations::check(&mut findings, &annotations, &spec);
    spec::check(&mut findings, &spec, Owner::Template);
    let mut errors = findings.errors;
    annotations::check_profiles_match(&mut errors, &meta, &spec);
    if !spec.get("ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        spec.get("ephemeralContainers").forbidden(&mut errors, detail);
    }
    errors
}

/// Checks what a write to a subresource changed.
pub(crate) fn part(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    match subresource {
        "status" => status::update(new, old),
        "ephemeralcontainers" => update::ephemeral_containers(new, old),
        "resize" => resize::resize(new, old),
        _ => Vec::new(),
    }
}

/// Calls `visit` with every container of a specification, in upstream's order (`VisitContainersWithPath`).
pub(crate) fn each_container<'v>(spec: &Field<'_, 'v>, mut visit: impl FnMut(&Field<'_, 'v>)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.get(list).items() {
            visit(&container);
        }
    }
}
