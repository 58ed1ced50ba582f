//! Deployments, replica sets, daemon sets, stateful sets and the revisions of the latter two.
//!
//! Upstream: `pkg/apis/apps/validation/validation.go` and `pkg/registry/apps/*/strategy.go`.

use kubewright_core::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::super::super::value::child;
use super::super::super::warnings;
use super::super::field::{Errors, Field};
use super::super::names::label;
use super::super::{metadata, objects};
use super::format::{
    at_most_all, int_or_percent, int_or_percent_value, label_selector, pod_name_warning, pod_template,
    selects, selects_everything,
};

/// A deployment (`ValidateDeployment`, `ValidateDeploymentUpdate`).
pub(crate) fn deployment(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let (root, old) = (Field::root("", object), old.map(|object| Field::root("", object)));
    let spec = root.get("spec");
    spec.get("replicas").not_negative(&mut errors);
    replicated(&mut errors, &spec, "deployment");
    deployment_strategy(&mut errors, &spec.get("strategy"));
    spec.check_counters(&mut errors, &["minReadySeconds", "revisionHistoryLimit"]);
    let deadline = spec.get("progressDeadlineSeconds");
    deadline.not_negative(&mut errors);
    if deadline.exists() && deadline.int() <= spec.get("minReadySeconds").int() {
        deadline.invalid(&mut errors, "must be greater than minReadySeconds");
    }
    if let Some(old) = &old {
        spec.check_fixed(&mut errors, &old.get("spec"), &["selector"]);
    }
    errors
}

/// A replica set (`ValidateReplicaSet`, `ValidateReplicaSetUpdate`).
pub(crate) fn replica_set(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let (root, old) = (Field::root("", object), old.map(|object| Field::root("", object)));
    let spec = root.get("spec");
    spec.check_counters(&mut errors, &["replicas", "minReadySeconds"]);
    // Upstream says "deployment" here too.
    replicated(&mut errors, &spec, "deployment");
    if let Some(old) = &old {
        spec.check_fixed(&mut errors, &old.get("spec"), &["selector"]);
    }
    errors
}

/// Selector and template of what keeps a number of pods running (`ValidatePodTemplateSpecForReplicaSet`).
fn replicated(errors: &mut Errors, spec: &Field<'_, '_>, kind: &str) {
    let selector = spec.get("selector");
    strict_selector(errors, &selector, kind);
    let template = spec.get("template");
    match selects(&selector, &template.get("metadata.labels")) {
        None => selector.invalid(errors, "invalid label selector"),
        Some(false) => mismatch(errors, &template),
        Some(true) => {}
    }
    pod_template(errors, &template);
    always_restarting(errors, &template, "ReplicaSet");
}

fn strict_selector(errors: &mut Errors, selector: &Field<'_, '_>, kind: &str) {
    if !selector.exists() {
        return selector.required(errors, "");
    }
    label_selector(errors, selector);
    if selects_everything(selector) {
        selector.invalid(errors, format!("empty selector is invalid for {kind}"));
    }
}

pub(super) fn mismatch(errors: &mut Errors, template: &Field<'_, '_>) {
    let metadata = template.get("metadata");
    metadata
        .get("labels")
        .invalid(errors, "`selector` does not match template `labels`");
}

/// Pods that a controller keeps running always restart and never give up.
fn always_restarting(errors: &mut Errors, template: &Field<'_, '_>, controller: &str) {
    let spec = template.get("spec");
    let policy = spec.get("restartPolicy");
    if policy.text() != "Always" {
        policy.not_supported(errors, &["Always"]);
    }
    let deadline = spec.get("activeDeadlineSeconds");
    if deadline.exists() {
        deadline.forbidden(
            errors,
            format!("activeDeadlineSeconds in {controller} is not Supported"),
        );
    }
}

fn deployment_strategy(errors: &mut Errors, strategy: &Field<'_, '_>) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" if rolling.exists() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            rolling.forbidden(errors, detail);
        }
        "Recreate" => {}
        "RollingUpdate" if !rolling.exists() => {
            rolling.required(errors, "this should be defaulted and never be nil");
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            int_or_percent(errors, &unavailable);
            int_or_percent(errors, &surge);
            if int_or_percent_value(&unavailable) == 0 && int_or_percent_value(&surge) == 0 {
                unavailable.invalid(errors, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(errors, &unavailable);
        }
        _ => strategy.not_supported(errors, &["Recreate", "RollingUpdate"]),
    }
}

/// A daemon set (`ValidateDaemonSet`, `ValidateDaemonSetUpdate`).
pub(crate) fn daemon_set(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let (root, old) = (Field::root("", object), old.map(|object| Field::root("", object)));
    let spec = root.get("spec");
    let (selector, template) = (spec.get("selector"), spec.get("template"));
    label_selector(&mut errors, &selector);
    if selects(&selector, &template.get("metadata.labels")) == Some(false) {
        mismatch(&mut errors, &template);
    }
    if selector.exists() && selects_everything(&selector) {
        selector.invalid(&mut errors, "empty selector is invalid for daemonset");
    }
    pod_template(&mut errors, &template);
    always_restarting(&mut errors, &template, "DaemonSet");
    spec.check_counters(&mut errors, &["minReadySeconds", "revisionHistoryLimit"]);
    daemon_set_strategy(&mut errors, &spec.get("updateStrategy"));
    if let Some(old) = &old {
        spec.check_fixed(&mut errors, &old.get("spec"), &["selector"]);
    }
    errors
}

fn daemon_set_strategy(errors: &mut Errors, strategy: &Field<'_, '_>) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.exists() => rolling.required(errors, ""),
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            for node in [&unavailable, &surge] {
                int_or_percent(errors, node);
                at_most_all(errors, node);
            }
            match (int_or_percent_value(&unavailable), int_or_percent_value(&surge)) {
                (0, 0) => unavailable.required(errors, "cannot be 0 when maxSurge is 0"),
                (0, _) | (_, 0) => {}
                _ => surge.invalid(errors, "may not be set when maxUnavailable is non-zero"),
            }
        }
        _ => strategy.not_supported(errors, &["RollingUpdate", "OnDelete"]),
    }
}

/// A stateful set (`ValidateStatefulSet`, `ValidateStatefulSetUpdate`).
pub(crate) fn stateful_set(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let options = match old {
        None => StatefulSetOptions::default(),
        Some(old) => {
            // What is stored may break a rule that came later; what does not change of it stays valid. The claims are fixed,
            // so there is nothing to check them for.
            let mut found = Errors::new();
            let old_root = Field::root("", old);
            let lenient = StatefulSetOptions {
                skips_claims: true,
                skips_template: false,
                skips_service_name: true,
            };
            stateful_set_spec(&mut found, &old_root.get("spec"), lenient);
            StatefulSetOptions {
                skips_template: !found.is_empty(),
                ..lenient
            }
        }
    };
    stateful_set_spec(&mut errors, &spec, options);
    if let Some(old) = old {
        let old = Field::root("", old);
        let fixed = [
            "selector",
            "volumeClaimTemplates",
            "serviceName",
            "podManagementPolicy",
        ];
        spec.check_fixed(&mut errors, &old.get("spec"), &fixed);
    }
    errors
}

/// Rules of a stateful set that do not hold for one that is there already.
#[derive(Clone, Copy, Debug, Default)]
struct StatefulSetOptions {
    skips_template: bool,
    skips_claims: bool,
    skips_service_name: bool,
}

fn stateful_set_spec(errors: &mut Errors, spec: &Field<'_, '_>, options: StatefulSetOptions) {
    let management = spec.get("podManagementPolicy");
    if management.check_given(errors, "") && !matches!(management.text(), "OrderedReady" | "Parallel") {
        management.invalid(errors, "must be 'OrderedReady' or 'Parallel'");
    }
    stateful_set_strategy(errors, &spec.get("updateStrategy"));
    let retention = spec.get("persistentVolumeClaimRetentionPolicy");
    if retention.exists() {
        for field in ["whenDeleted", "whenScaled"] {
            let policy = retention.get(field);
            if !matches!(policy.text(), "Retain" | "Delete") {
                policy.not_supported(errors, &["Retain", "Delete"]);
            }
        }
    }
    if !options.skips_claims {
        for claim in spec.get("volumeClaimTemplates").items() {
            claim_template(errors, &claim);
        }
    }
    spec.check_counters(errors, &["replicas", "minReadySeconds"]);
    spec.get("ordinals.start").not_negative(errors);
    let service = spec.get("serviceName");
    if !options.skips_service_name && !service.is_empty() {
        service.invalid_each(errors, label(service.text()));
    }
    let (selector, template) = (spec.get("selector"), spec.get("template"));
    strict_selector(errors, &selector, "statefulset");
    match selects(&selector, &template.get("metadata.labels")) {
        None => selector.invalid(errors, ""),
        Some(false) => mismatch(errors, &template),
        Some(true) => {}
    }
    if !options.skips_template {
        let completed = with_claims(spec);
        errors.extend(objects::pod_template_spec(
            completed.as_ref().unwrap_or(template.value),
            &template.path(),
        ));
    }
    let path = template.path();
    metadata::labels(errors, template.value, "/metadata/labels", &path.child("labels"));
    metadata::annotations(
        errors,
        template.value,
        "/metadata/annotations",
        &path.child("annotations"),
    );
    always_restarting(errors, &template, "StatefulSet");
}

/// The template as its pods will be: with a volume for each claim, and without what the controller sets itself. `None` where
/// that is the template itself.
fn with_claims(spec: &Field<'_, '_>) -> Option<Value> {
    let (template, claims) = (spec.get("template"), spec.get("volumeClaimTemplates"));
    let pod = template.get("spec");
    if claims.is_empty() && pod.get("subdomain").is_empty() && pod.get("hostname").is_empty() {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for claim in claims.list() {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut template = template.value.clone();
    let pod = template
        .as_object_mut()
        .and_then(|template| child(template, "spec"))?;
    pod.remove("subdomain");
    pod.remove("hostname");
    if !names.is_empty() {
        let mut volumes: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
            .collect();
        let own = pod.get("volumes").and_then(Value::as_array).into_iter().flatten();
        volumes.extend(
            own.filter(|volume| !names.iter().any(|name| volume["name"] == *name))
                .cloned(),
        );
        pod.insert("volumes".to_owned(), volumes.into());
    }
    Some(template)
}

/// The specification of a claim that each pod gets, by the rules of claims.
fn claim_template(errors: &mut Errors, claim: &Field<'_, '_>) {
    let path = claim.path();
    let found = super::super::storage::persistent_volume_claim(claim.value, None);
    errors.extend(found.into_iter().map(|error| FieldError {
        path: FieldPath::new(format!("{path}.{}", error.path)),
        ..error
    }));
}

fn stateful_set_strategy(errors: &mut Errors, strategy: &Field<'_, '_>) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "" => strategy.required(errors, ""),
        "OnDelete" if rolling.exists() => {
            rolling.invalid(errors, "only allowed for updateStrategy 'RollingUpdate'");
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            rolling.get("partition").not_negative(errors);
            let unavailable = rolling.get("maxUnavailable");
            if unavailable.exists() {
                int_or_percent(errors, &unavailable);
                if int_or_percent_value(&unavailable) == 0 {
                    unavailable.invalid(errors, "cannot be 0");
                }
                at_most_all(errors, &unavailable);
            }
        }
        _ => strategy.invalid(errors, "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

/// A revision of a daemon set or stateful set (`ValidateControllerRevisionCreate`, `ValidateControllerRevisionUpdate`).
pub(crate) fn controller_revision(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    root.get("revision").not_negative(&mut errors);
    let data = root.get("data");
    match old {
        Some(old) => {
            let old = Field::root("", old);
            data.immutable(&mut errors, &old.get("data"));
        }
        None if !data.exists() => data.required(&mut errors, "data is mandatory"),
        None if !data.value.is_object() => data.required(&mut errors, "data must be a valid JSON object"),
        None => {}
    }
    errors
}

/// What a controller reports of a deployment.
pub(crate) fn deployment_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let counters = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    status(
        subresource,
        new,
        old,
        &counters,
        &[
            ("updatedReplicas", "replicas", "status.replicas"),
            ("readyReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "readyReplicas", "readyReplicas"),
        ],
    )
}

/// What a controller reports of a replica set.
pub(crate) fn replica_set_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let counters = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    status(
        subresource,
        new,
        old,
        &counters,
        &[
            ("fullyLabeledReplicas", "replicas", "status.replicas"),
            ("readyReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "readyReplicas", "readyReplicas"),
        ],
    )
}

/// What a controller reports of a daemon set.
pub(crate) fn daemon_set_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let counters = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    status(subresource, new, old, &counters, &[])
}

/// What a controller reports of a stateful set.
pub(crate) fn stateful_set_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let counters = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    status(
        subresource,
        new,
        old,
        &counters,
        &[
            ("readyReplicas", "replicas", "status.replicas"),
            ("currentReplicas", "replicas", "status.replicas"),
            ("updatedReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "replicas", "status.replicas"),
            ("availableReplicas", "readyReplicas", "status.readyReplicas"),
        ],
    )
}

/// Counters are not negative, none is greater than the one it is part of (the last word is how upstream calls that), and
/// collisions are never forgotten.
fn status(
    subresource: &str,
    new: &Value,
    old: &Value,
    counters: &[&str],
    parts: &[(&str, &str, &str)],
) -> Errors {
    let mut errors = Errors::new();
    if subresource != "status" {
        return errors;
    }
    let (new, old) = (Field::root("", new), Field::root("", old));
    let (status, before) = (new.get("status"), old.get("status"));
    status.check_counters(&mut errors, counters);
    for (part, whole, name) in parts {
        let part = status.get(part);
        if part.int() > status.get(whole).int() {
            part.invalid_as(&mut errors, part.int(), format!("cannot be greater than {name}"));
        }
    }
    let (collisions, known) = (status.get("collisionCount"), before.get("collisionCount"));
    if known.exists() && (!collisions.exists() || collisions.int() < known.int()) {
        collisions.invalid_as(&mut errors, collisions.int(), "cannot be decremented");
    }
    errors
}

/// The names of deployments and replica sets become part of the names of pods.
pub(crate) fn name_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = warnings::workload(object, old);
    if old.is_none() {
        warnings.extend(pod_name_warning(&Field::root("", object)));
    }
    warnings
}

/// A negative history is no limit, which few people mean.
pub(crate) fn stateful_set_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let mut warnings = warnings::workload(object, old);
    if root.get("spec.revisionHistoryLimit").int() < 0 {
        let text = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(text.to_owned());
    }
    warnings
}
