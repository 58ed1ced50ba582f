//! Pods and pod templates.
//!
//! Upstream: `ValidatePodSpec`, `ValidatePodUpdate` and what they call in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use super::super::super::value::{Object, at, int_at, list_at, map_at, semantically_equal, str_at};
use super::super::names::{environment_variable, label, port_name, port_number, qualified_name, subdomain};
use super::super::{invalid_each, metadata, not_negative, required, supported};
use kubewright_core::{FieldError, FieldErrorKind, FieldPath, Quantity};
use serde_json::Value;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

pub(crate) fn pod(pod: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let mut errors = pod_spec(&pod["spec"], &path);
    let is_gated = !list_at(pod, "/spec/schedulingGates").is_empty();
    if is_gated && !str_at(pod, "/spec/nodeName").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden(path.child("nodeName"), detail));
    }
    errors
}

pub(crate) fn pod_template(object: &Value) -> Vec<FieldError> {
    template(&object["template"], &FieldPath::new("template"))
}

/// Checks a template: the metadata of its pods and their specification.
pub(crate) fn template(template: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let meta = path.child("metadata");
    metadata::labels(&mut errors, template, "/metadata/labels", &meta.child("labels"));
    metadata::annotations(
        &mut errors,
        template,
        "/metadata/annotations",
        &meta.child("annotations"),
    );
    errors.extend(pod_spec(&template["spec"], &path.child("spec")));
    let ephemeral = list_at(template, "/spec/ephemeralContainers");
    if !ephemeral.is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(
            path.child("spec").child("ephemeralContainers"),
            detail,
        ));
    }
    errors
}

fn pod_spec(spec: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let volumes = volumes(&mut errors, spec, path);
    let containers = list_at(spec, "/containers");
    if containers.is_empty() {
        errors.push(FieldError::required(path.child("containers"), ""));
    }
    let mut names = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for (index, container) in list_at(spec, &format!("/{list}")).iter().enumerate() {
            let path = path.child(list).index(index);
            check_container(&mut errors, container, &path, &volumes);
            let name = str_at(container, "/name");
            if !name.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(path.child("name"), name));
            }
            match list {
                "containers" => check_host_ports(&mut errors, container, &path, &mut host_ports),
                "initContainers" => check_init_container(&mut errors, container, &path),
                _ => {}
            }
        }
    }
    let restart = at(spec, "/restartPolicy");
    supported(
        &mut errors,
        path.child("restartPolicy"),
        restart,
        &["Always", "OnFailure", "Never"],
    );
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    supported(&mut errors, path.child("dnsPolicy"), at(spec, "/dnsPolicy"), &dns);
    let grace = at(spec, "/terminationGracePeriodSeconds");
    not_negative(&mut errors, path.child("terminationGracePeriodSeconds"), grace);
    if let Some(seconds) = int_at(spec, "/activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let detail = format!("must be between 1 and {}, inclusive", i32::MAX);
        errors.push(FieldError::invalid(
            path.child("activeDeadlineSeconds"),
            seconds,
            detail,
        ));
    }
    metadata::labels(&mut errors, spec, "/nodeSelector", &path.child("nodeSelector"));
    for (field, check) in [
        ("serviceAccountName", subdomain as fn(&str) -> Vec<String>),
        ("nodeName", subdomain),
        ("priorityClassName", subdomain),
        ("runtimeClassName", subdomain),
        ("hostname", label),
        ("subdomain", label),
    ] {
        let value = spec[field].as_str().unwrap_or_default();
        if !value.is_empty() {
            invalid_each(&mut errors, &path.child(field), value, check(value));
        }
    }
    for (index, toleration) in list_at(spec, "/tolerations").iter().enumerate() {
        check_toleration(&mut errors, toleration, &path.child("tolerations").index(index));
    }
    check_scheduling_gates(&mut errors, spec, path);
    check_spread(&mut errors, spec, path);
    errors
}

fn check_scheduling_gates(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath) {
    let mut gates = BTreeSet::new();
    for (index, gate) in list_at(spec, "/schedulingGates").iter().enumerate() {
        let path = path.child("schedulingGates").index(index);
        let name = str_at(gate, "/name");
        invalid_each(errors, &path, name, qualified_name(name));
        if !gates.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
}

fn check_spread(errors: &mut Vec<FieldError>, spec: &Value, path: &FieldPath) {
    for (index, constraint) in list_at(spec, "/topologySpreadConstraints").iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(index);
        if int_at(constraint, "/maxSkew").unwrap_or(0) <= 0 {
            let skew = int_at(constraint, "/maxSkew").unwrap_or(0);
            errors.push(FieldError::invalid(
                path.child("maxSkew"),
                skew,
                "must be greater than zero",
            ));
        }
        required(
            errors,
            path.child("topologyKey"),
            at(constraint, "/topologyKey"),
            "can not be empty",
        );
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        supported(
            errors,
            path.child("whenUnsatisfiable"),
            at(constraint, "/whenUnsatisfiable"),
            &actions,
        );
    }
}

/// Checks the volumes and returns their names.
fn volumes<'a>(errors: &mut Vec<FieldError>, spec: &'a Value, path: &FieldPath) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in list_at(spec, "/volumes").iter().enumerate() {
        let path = path.child("volumes").index(index);
        let name = str_at(volume, "/name");
        if required(errors, path.child("name"), at(volume, "/name"), "") {
            invalid_each(errors, &path.child("name"), name, label(name));
            if !names.insert(name) {
                errors.push(FieldError::duplicate(path.child("name"), name));
            }
        }
        let fields = volume.as_object().into_iter().flatten();
        let mut sources = fields.filter(|(field, value)| *field != "name" && !value.is_null());
        if sources.next().is_none() {
            errors.push(FieldError::required(path, "must specify a volume type"));
        } else if let Some((field, _)) = sources.next() {
            errors.push(FieldError::forbidden(
                path.child(field),
                "may not specify more than 1 volume type",
            ));
        }
    }
    names
}

fn check_container(
    errors: &mut Vec<FieldError>,
    container: &Value,
    path: &FieldPath,
    volumes: &BTreeSet<&str>,
) {
    let name = str_at(container, "/name");
    if required(errors, path.child("name"), at(container, "/name"), "") {
        invalid_each(errors, &path.child("name"), name, label(name));
    }
    let image = str_at(container, "/image");
    if required(errors, path.child("image"), at(container, "/image"), "") && image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(path.child("image"), image, detail));
    }
    let pull = ["Always", "IfNotPresent", "Never"];
    supported(
        errors,
        path.child("imagePullPolicy"),
        at(container, "/imagePullPolicy"),
        &pull,
    );
    let policies = ["FallbackToLogsOnError", "File"];
    let policy = at(container, "/terminationMessagePolicy");
    supported(errors, path.child("terminationMessagePolicy"), policy, &policies);
    check_ports(errors, container, path);
    for (index, variable) in list_at(container, "/env").iter().enumerate() {
        check_variable(errors, variable, &path.child("env").index(index));
    }
    check_mounts(errors, container, path, volumes);
    resources(errors, &container["resources"], &path.child("resources"));
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(value) = container.get(probe).filter(|value| value.is_object()) {
            check_probe(errors, value, &path.child(probe), probe);
        }
    }
}

/// What an init container may have only if it keeps running beside the others.
fn check_init_container(errors: &mut Vec<FieldError>, container: &Value, path: &FieldPath) {
    if str_at(container, "/restartPolicy") == "Always" {
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.get(field).is_some_and(|value| !value.is_null()) {
            let detail = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(path.child(field), detail));
        }
    }
}

fn check_ports(errors: &mut Vec<FieldError>, container: &Value, path: &FieldPath) {
    let mut names = BTreeSet::new();
    for (index, port) in list_at(container, "/ports").iter().enumerate() {
        let path = path.child("ports").index(index);
        let name = str_at(port, "/name");
        if !name.is_empty() {
            let messages = port_name(name);
            if messages.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(path.child("name"), name));
            }
            invalid_each(errors, &path.child("name"), name, messages);
        }
        match int_at(port, "/containerPort").unwrap_or(0) {
            0 => errors.push(FieldError::required(path.child("containerPort"), "")),
            number => invalid_number(errors, path.child("containerPort"), number),
        }
        if let Some(number) = int_at(port, "/hostPort").filter(|number| *number != 0) {
            invalid_number(errors, path.child("hostPort"), number);
        }
        supported(errors, path.child("protocol"), at(port, "/protocol"), PROTOCOLS);
    }
}

fn invalid_number(errors: &mut Vec<FieldError>, path: FieldPath, number: i64) {
    errors.extend(
        port_number(number)
            .into_iter()
            .map(|message| FieldError::invalid(path.clone(), number, message)),
    );
}

fn check_host_ports(
    errors: &mut Vec<FieldError>,
    container: &Value,
    path: &FieldPath,
    seen: &mut BTreeSet<String>,
) {
    for (index, port) in list_at(container, "/ports").iter().enumerate() {
        let Some(number) = int_at(port, "/hostPort").filter(|number| *number != 0) else {
            continue;
        };
        let key = format!(
            "{}/{}/{number}",
            str_at(port, "/protocol"),
            str_at(port, "/hostIP")
        );
        if seen.contains(&key) {
            errors.push(FieldError::duplicate(
                path.child("ports").index(index).child("hostPort"),
                key,
            ));
        } else {
            seen.insert(key);
        }
    }
}

fn check_variable(errors: &mut Vec<FieldError>, variable: &Value, path: &FieldPath) {
    let name = str_at(variable, "/name");
    if required(errors, path.child("name"), at(variable, "/name"), "") {
        invalid_each(errors, &path.child("name"), name, environment_variable(name));
    }
    let Some(source) = at(variable, "/valueFrom") else {
        return;
    };
    let path = path.child("valueFrom");
    let given = source.as_object().map_or(0, |fields| {
        fields.values().filter(|value| !value.is_null()).count()
    });
    let detail = match given {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !str_at(variable, "/value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", detail));
}

fn check_mounts(errors: &mut Vec<FieldError>, container: &Value, path: &FieldPath, volumes: &BTreeSet<&str>) {
    let mut paths = BTreeSet::new();
    for (index, mount) in list_at(container, "/volumeMounts").iter().enumerate() {
        let path = path.child("volumeMounts").index(index);
        let name = str_at(mount, "/name");
        if required(errors, path.child("name"), at(mount, "/name"), "") && !volumes.contains(name) {
            errors.push(FieldError {
                kind: FieldErrorKind::NotFound,
                path: path.child("name"),
                bad_value: Some(name.into()),
                detail: String::new(),
            });
        }
        let target = str_at(mount, "/mountPath");
        if required(errors, path.child("mountPath"), at(mount, "/mountPath"), "") && !paths.insert(target) {
            errors.push(FieldError::invalid(
                path.child("mountPath"),
                target,
                "must be unique",
            ));
        }
        if !str_at(mount, "/subPath").is_empty() && !str_at(mount, "/subPathExpr").is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.push(FieldError::invalid(
                path.child("subPathExpr"),
                str_at(mount, "/subPathExpr"),
                detail,
            ));
        }
    }
}

/// The resources that containers may ask for without a domain.
const CONTAINER_RESOURCES: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Checks requests and limits: names, quantities, and that no request is above its limit.
fn resources(errors: &mut Vec<FieldError>, resources: &Value, path: &FieldPath) {
    for list in ["limits", "requests"] {
        for (name, value) in map_at(resources, &format!("/{list}")) {
            let path = path.child(list).key(name);
            let standard = CONTAINER_RESOURCES.contains(&name.as_str()) || name.starts_with("hugepages-");
            if !standard && !name.contains('/') {
                for detail in [
                    "must be a standard resource type or fully qualified",
                    "must be a standard resource for containers",
                ] {
                    errors.push(FieldError::invalid(path.clone(), name.as_str(), detail));
                }
            }
            invalid_each(errors, &path, name, qualified_name(name));
            match parse(value) {
                Some(quantity) if quantity.is_negative() => {
                    let text = quantity.to_string();
                    errors.push(FieldError::invalid(path, text, super::super::NOT_NEGATIVE));
                }
                Some(_) => {}
                None => errors.push(FieldError::invalid(path, value.clone(), QUANTITY_FORMAT)),
            }
        }
    }
    for (name, request) in map_at(resources, "/requests") {
        let (Some(request), Some(limit)) = (parse(request), resources["limits"].get(name).and_then(parse))
        else {
            continue;
        };
        if request > limit {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.push(FieldError::invalid(
                path.child("requests"),
                request.to_string(),
                detail,
            ));
        }
    }
}

/// What is said of a text that is no quantity. Upstream: `ErrFormatWrong` in `pkg/api/resource/quantity.go`.
pub(super) const QUANTITY_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// A quantity as JSON has it: a string or a number.
pub(super) fn parse(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn check_probe(errors: &mut Vec<FieldError>, probe: &Value, path: &FieldPath, kind: &str) {
    let mut handlers = ["exec", "httpGet", "tcpSocket", "grpc"]
        .into_iter()
        .filter(|handler| at(probe, &format!("/{handler}")).is_some());
    if handlers.next().is_none() {
        errors.push(FieldError::required(path.clone(), "must specify a handler type"));
    } else if let Some(second) = handlers.next() {
        errors.push(FieldError::forbidden(
            path.child(second),
            "may not specify more than 1 handler type",
        ));
    }
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        not_negative(errors, path.child(field), probe.get(field));
    }
    if kind != "readinessProbe"
        && let Some(threshold) = int_at(probe, "/successThreshold").filter(|threshold| *threshold != 1)
    {
        errors.push(FieldError::invalid(
            path.child("successThreshold"),
            threshold,
            "must be 1",
        ));
    }
}

fn check_toleration(errors: &mut Vec<FieldError>, toleration: &Value, path: &FieldPath) {
    let (key, operator, value) = (
        str_at(toleration, "/key"),
        str_at(toleration, "/operator"),
        str_at(toleration, "/value"),
    );
    if !key.is_empty() {
        invalid_each(errors, &path.child("key"), key, qualified_name(key));
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(FieldError::invalid(path.child("operator"), operator, detail));
    }
    match operator {
        "" | "Equal" | "Gt" | "Lt" => {}
        "Exists" if value.is_empty() => {}
        "Exists" => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(path.child("operator"), value, detail));
        }
        _ => errors.push(FieldError::not_supported(
            path.child("operator"),
            operator,
            &["Equal", "Exists"],
        )),
    }
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    supported(errors, path.child("effect"), at(toleration, "/effect"), &effects);
    let effect = str_at(toleration, "/effect");
    if at(toleration, "/tolerationSeconds").is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(path.child("effect"), effect, detail));
    }
}

/// The tail of upstream's message is a textual diff in Go's notation, which nobody can parse; it is left out.
const POD_UPDATE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
                          `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions \
                          to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                          previously negative)";

/// A pod's specification is fixed but for images, deadlines, tolerations and scheduling gates.
pub(crate) fn pod_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    for list in ["containers", "initContainers"] {
        let pointer = format!("/spec/{list}");
        if list_at(new, &pointer).len() != list_at(old, &pointer).len() {
            errors.push(FieldError::forbidden(
                path.child(list),
                "pod updates may not add or remove containers",
            ));
            return errors;
        }
    }
    check_deadline_update(&mut errors, new, old, &path);
    check_toleration_update(&mut errors, new, old, &path);
    check_gate_update(&mut errors, new, old, &path);
    let (Some(new_spec), Some(old_spec)) = (new["spec"].as_object(), old["spec"].as_object()) else {
        return errors;
    };
    let is_gated = !list_at(old, "/spec/schedulingGates").is_empty();
    let (mut new_fixed, mut old_fixed) = (fixed_part(new_spec, is_gated), fixed_part(old_spec, is_gated));
    if int_at(old, "/spec/terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0)
        && int_at(new, "/spec/terminationGracePeriodSeconds") == Some(1)
    {
        new_fixed.remove("terminationGracePeriodSeconds");
        old_fixed.remove("terminationGracePeriodSeconds");
    }
    if !semantically_equal(Some(&new_fixed.into()), Some(&old_fixed.into())) {
        errors.push(FieldError::forbidden(path, POD_UPDATE));
    }
    errors
}

/// The specification without what an update may change.
fn fixed_part(spec: &Object, is_gated: bool) -> Object {
    let mut fixed = spec.clone();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        fixed.remove(field);
    }
    if is_gated {
        // Nobody has placed the pod yet, so it may still be narrowed (KEP-3838).
        for field in ["nodeSelector", "affinity"] {
            fixed.remove(field);
        }
    }
    for list in ["containers", "initContainers"] {
        for container in fixed
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(container) = container.as_object_mut() {
                container.remove("image");
            }
        }
    }
    fixed
}

fn check_deadline_update(errors: &mut Vec<FieldError>, new: &Value, old: &Value, path: &FieldPath) {
    const DEADLINE: &str = "/spec/activeDeadlineSeconds";
    let Some(before) = int_at(old, DEADLINE) else {
        return;
    };
    let path = path.child("activeDeadlineSeconds");
    match int_at(new, DEADLINE) {
        None => {
            let value = Value::Null;
            errors.push(FieldError::invalid(
                path,
                value,
                "must not update from a positive integer to nil value",
            ));
        }
        Some(after) if after > before => {
            errors.push(FieldError::invalid(
                path,
                after,
                "must be less than or equal to previous value",
            ));
        }
        Some(_) => {}
    }
}

fn check_toleration_update(errors: &mut Vec<FieldError>, new: &Value, old: &Value, path: &FieldPath) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let kept: Vec<Value> = list_at(new, "/spec/tolerations")
        .iter()
        .map(without_seconds)
        .collect();
    let lost = list_at(old, "/spec/tolerations")
        .iter()
        .map(without_seconds)
        .any(|toleration| !kept.contains(&toleration));
    if lost {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path.child("tolerations"), detail));
    }
}

fn check_gate_update(errors: &mut Vec<FieldError>, new: &Value, old: &Value, path: &FieldPath) {
    let before = list_at(old, "/spec/schedulingGates");
    for (index, gate) in list_at(new, "/spec/schedulingGates").iter().enumerate() {
        if !before.iter().any(|other| other["name"] == gate["name"]) {
            let detail = format!(
                "only deletion is allowed, but found new scheduling gate '{}'",
                str_at(gate, "/name")
            );
            errors.push(FieldError::forbidden(
                path.child("schedulingGates").index(index),
                detail,
            ));
        }
    }
}
