//! Dynamic resource allocation: claims for devices, their classes, and the slices of pools that drivers offer.
//!
//! Upstream: `pkg/apis/resource/validation/validation.go`. Objects of `v1beta1` are checked in the shape of `v1`, as upstream
//! checks its internal type; whether an expression compiles is not looked at here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use kubewright_core::FieldError;
use serde_json::Value;

use super::super::super::conversion;
use super::super::field::{Errors, Field};
use super::super::metadata;
use super::super::names::{
    SUBDOMAIN_MAX, label, label_value, qualified_name, subdomain, subdomain_of_any_case,
};
use super::super::pod::{node_selector, node_selector_values};
use super::device_names::{fully_qualified_name, identifier_name};
use super::storage::{DRIVER_NAME_MAX, driver_name};

const REQUESTS_MAX: usize = 32;
const CONSTRAINTS_MAX: usize = 32;
const CONFIG_MAX: usize = 32;
const SELECTORS_MAX: usize = 32;
const ALTERNATIVES_MAX: usize = 8;
/// Bytes of an expression, and of opaque parameters.
const EXPRESSION_MAX: usize = 10 * 1024;
const DEVICES_MAX: usize = 128;
/// Devices of a slice that has taints, shared counters or lists of values.
const ADVANCED_DEVICES_MAX: usize = 64;
const COUNTER_SETS_MAX: usize = 8;
const COUNTERS_MAX: usize = 32;
const CONSUMPTIONS_MAX: usize = 2;
const PROPERTIES_MAX: usize = 32;
const TAINTS_MAX: usize = 16;
const BINDING_CONDITIONS_MAX: usize = 4;
const RESERVED_MAX: usize = 256;
const EFFECTS: &[&str] = &["NoExecute", "NoSchedule", "None"];

/// The object as the first stable version has it.
fn stable(object: &Value) -> Cow<'_, Value> {
    const FIRST_BETA: &str = "resource.k8s.io/v1beta1";
    if object["apiVersion"] != FIRST_BETA {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    conversion::convert(&mut object, FIRST_BETA, "resource.k8s.io/v1");
    Cow::Owned(object)
}

/// A claim (`ValidateResourceClaim`, `ValidateResourceClaimUpdate`).
pub(crate) fn claim(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let object = stable(object);
    let root = Field::root("", &object);
    let spec = root.get("spec");
    if let Some(old) = old {
        let old = stable(old);
        spec.check_unchanged_declared(&mut errors, &Field::root("", &old).get("spec"));
    } else {
        device_claim(&mut errors, &spec.get("devices"));
    }
    errors
}

/// A template of claims (`ValidateResourceClaimTemplate`, `ValidateResourceClaimTemplateUpdate`).
pub(crate) fn claim_template(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let object = stable(object);
    let root = Field::root("", &object);
    let spec = root.get("spec");
    if let Some(old) = old {
        let old = stable(old);
        spec.immutable(&mut errors, &Field::root("", &old).get("spec"));
        return errors;
    }
    let path = spec.path().child("metadata");
    metadata::labels(&mut errors, spec.value, "/metadata/labels", &path.child("labels"));
    let annotations = path.child("annotations");
    metadata::annotations(&mut errors, spec.value, "/metadata/annotations", &annotations);
    device_claim(&mut errors, &spec.get("spec.devices"));
    errors
}

/// The names of requests, each with those of its alternatives.
type RequestNames<'v> = BTreeMap<&'v str, BTreeSet<&'v str>>;

fn request_names<'v>(devices: &Field<'_, 'v>) -> RequestNames<'v> {
    let requests = devices.get("requests");
    let named = requests.list().iter().map(|request| {
        let alternatives = request["firstAvailable"].as_array().into_iter().flatten();
        let names = alternatives.filter_map(|alternative| alternative["name"].as_str());
        (request["name"].as_str().unwrap_or_default(), names.collect())
    });
    named.collect()
}

/// Whether the list is short enough, and no key occurs twice.
fn check_set(errors: &mut Errors, list: &Field<'_, '_>, max: usize, key: &str) -> bool {
    if !list.check_count(errors, max) {
        return false;
    }
    let mut seen = HashSet::new();
    for item in list.items() {
        let found = if key.is_empty() {
            item.text()
        } else {
            item.value[key].as_str().unwrap_or_default()
        };
        if !seen.insert(found) {
            errors.push(FieldError::duplicate(item.path(), found));
        }
    }
    true
}

fn device_claim(errors: &mut Errors, devices: &Field<'_, '_>) {
    let names = request_names(devices);
    let requests = devices.get("requests");
    if check_set(errors, &requests, REQUESTS_MAX, "name") {
        for request in requests.items() {
            device_request(errors, &request);
        }
    }
    let constraints = devices.get("constraints");
    if constraints.check_count(errors, CONSTRAINTS_MAX) {
        for constraint in constraints.items() {
            request_references(errors, &constraint.get("requests"), &names);
            let (matched, distinct) = (
                constraint.get("matchAttribute"),
                constraint.get("distinctAttribute"),
            );
            if matched.exists() {
                fully_qualified_name(errors, &matched);
            } else if distinct.exists() {
                fully_qualified_name(errors, &distinct);
            } else {
                let detail = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
                constraint.required(errors, detail);
            }
        }
    }
    let config = devices.get("config");
    if config.check_count(errors, CONFIG_MAX) {
        for entry in config.items() {
            request_references(errors, &entry.get("requests"), &names);
            configuration(errors, &entry);
        }
    }
}

fn request_references(errors: &mut Errors, list: &Field<'_, '_>, names: &RequestNames<'_>) {
    if check_set(errors, list, REQUESTS_MAX, "") {
        for reference in list.items() {
            request_reference(errors, &reference, names);
        }
    }
}

fn request_reference(errors: &mut Errors, reference: &Field<'_, '_>, names: &RequestNames<'_>) {
    const FORM: &str = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    let text = reference.text();
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 2 {
        return reference.invalid(errors, FORM);
    }
    for part in &parts {
        for message in label(part) {
            reference.invalid_as(errors, *part, message);
        }
    }
    let is_known = names
        .get(parts[0])
        .is_some_and(|alternatives| parts.get(1).is_none_or(|part| alternatives.contains(part)));
    if !is_known {
        reference.invalid_as(errors, text, FORM);
    }
}

fn check_label(errors: &mut Errors, name: &Field<'_, '_>) {
    for message in label(name.text()) {
        name.invalid_as(errors, name.text(), message);
    }
}

fn device_request(errors: &mut Errors, request: &Field<'_, '_>) {
    check_label(errors, &request.get("name"));
    let (exactly, first) = (request.get("exactly"), request.get("firstAvailable"));
    match (exactly.exists(), !first.is_empty()) {
        (false, false) => {
            request.required(errors, "exactly one of `exactly` or `firstAvailable` is required")
        }
        (true, true) => {
            let detail =
                "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            request.invalid_as(errors, Value::Null, detail);
        }
        (true, false) => exact_request(errors, &exactly),
        (false, true) => {
            if check_set(errors, &first, ALTERNATIVES_MAX, "name") {
                for alternative in first.items() {
                    check_label(errors, &alternative.get("name"));
                    exact_request(errors, &alternative);
                }
            }
        }
    }
}

fn exact_request(errors: &mut Errors, request: &Field<'_, '_>) {
    let class = request.get("deviceClassName");
    if class.check_given(errors, "") {
        class.invalid_each(errors, subdomain(class.text()));
    }
    selectors(errors, &request.get("selectors"));
    let (mode, count) = (request.get("allocationMode"), request.get("count"));
    match mode.text() {
        "All" if count.int() != 0 => {
            count.invalid(errors, "must not be specified when allocationMode is 'All'");
        }
        "All" => {}
        "ExactCount" if count.int() <= 0 => {
            count.invalid_as(errors, count.int(), "must be greater than zero");
        }
        "ExactCount" => {}
        _ => mode.not_supported(errors, &["All", "ExactCount"]),
    }
    for toleration in request.get("tolerations").items() {
        check_toleration(errors, &toleration);
    }
}

fn check_toleration(errors: &mut Errors, toleration: &Field<'_, '_>) {
    let (key, value) = (toleration.get("key"), toleration.get("value"));
    if !key.is_empty() {
        key.invalid_each(errors, qualified_name(key.text()));
    }
    let operator = toleration.get("operator");
    match operator.text() {
        "Exists" if !value.is_empty() => value.invalid(errors, "must be empty for operator `Exists`"),
        "Exists" => {}
        "Equal" => value.invalid_each(errors, label_value(value.text())),
        "" => operator.required(errors, ""),
        _ => operator.not_supported(errors, &["Equal", "Exists"]),
    }
    let effect = toleration.get("effect");
    if !effect.is_empty() {
        effect.one_of(errors, EFFECTS);
    }
}

fn selectors(errors: &mut Errors, list: &Field<'_, '_>) {
    if list.check_count(errors, SELECTORS_MAX) {
        for selector in list.items() {
            let cel = selector.get("cel");
            if !cel.exists() {
                cel.required(errors, "");
            }
            cel.get("expression").check_length(errors, EXPRESSION_MAX);
        }
    }
}

fn configuration(errors: &mut Errors, entry: &Field<'_, '_>) {
    let opaque = entry.get("opaque");
    if !opaque.exists() {
        return opaque.required(errors, "");
    }
    opaque_driver(errors, &opaque.get("driver"));
    let parameters = opaque.get("parameters");
    if !parameters.exists() {
        parameters.required(errors, "");
    } else if !parameters.value.is_object() {
        parameters.invalid_as(errors, "<value omitted>", "must be a valid JSON object");
    } else if parameters.value.to_string().len() > EXPRESSION_MAX {
        errors.push(FieldError::too_long(parameters.path(), EXPRESSION_MAX));
    }
}

/// What is allocated to a claim and who uses it (`ValidateResourceClaimStatusUpdate`).
pub(crate) fn claim_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource != "status" {
        return errors;
    }
    let (new, old) = (stable(new), stable(old));
    let (root, old) = (Field::root("", &new), Field::root("", &old));
    let (status, before) = (root.get("status"), old.get("status"));
    let (reserved, allocation) = (status.get("reservedFor"), status.get("allocation"));
    if check_set(&mut errors, &reserved, RESERVED_MAX, "uid") {
        for consumer in reserved.items() {
            for field in ["resource", "name", "uid"] {
                consumer.get(field).check_given(&mut errors, "");
            }
        }
    }
    if !reserved.is_empty() && !allocation.exists() {
        reserved.forbidden(&mut errors, "may not be specified when `allocated` is not set");
    } else if root.get("metadata.deletionTimestamp").exists() {
        let known = before.get("reservedFor");
        if !reserved
            .list()
            .iter()
            .all(|consumer| known.list().contains(consumer))
        {
            let detail =
                "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
            reserved.forbidden(&mut errors, detail);
        }
    }
    let allocated = before.get("allocation");
    if allocation.exists() && allocated.exists() {
        if !allocation.same(&allocated) {
            let detail = "field cannot be modified once set";
            allocation.invalid_as(&mut errors, Value::Null, detail);
        }
    } else if allocation.exists() {
        let names = request_names(&root.get("spec.devices"));
        let results = allocation.get("devices.results");
        if results.check_count(&mut errors, REQUESTS_MAX) {
            for result in results.items() {
                request_reference(&mut errors, &result.get("request"), &names);
                driver_name(&mut errors, &result.get("driver"));
                pool_name(&mut errors, &result.get("pool"));
                check_label(&mut errors, &result.get("device"));
            }
        }
    }
    errors
}

/// A class of devices (`ValidateDeviceClass`, `ValidateDeviceClassUpdate`).
pub(crate) fn class(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    selectors(&mut errors, &spec.get("selectors"));
    let config = spec.get("config");
    if config.check_count(&mut errors, CONFIG_MAX) {
        for entry in config.items() {
            configuration(&mut errors, &entry);
        }
    }
    errors
}

fn pool_name(errors: &mut Errors, name: &Field<'_, '_>) {
    if name.check_given(errors, "") {
        name.check_length(errors, SUBDOMAIN_MAX);
        for part in name.text().split('/') {
            for message in subdomain(part) {
                name.invalid_as(errors, part, message);
            }
        }
    }
}

/// A slice of a pool (`ValidateResourceSlice`, `ValidateResourceSliceUpdate`).
pub(crate) fn slice(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let object = stable(object);
    let root = Field::root("", &object);
    let spec = root.get("spec");
    driver_name(&mut errors, &spec.get("driver"));
    let pool = spec.get("pool");
    pool_name(&mut errors, &pool.get("name"));
    let (count, generation) = (pool.get("resourceSliceCount"), pool.get("generation"));
    if count.int() <= 0 {
        count.invalid_as(&mut errors, count.int(), "must be greater than zero");
    }
    if generation.int() < 0 {
        generation.invalid(&mut errors, "must be greater than or equal to zero");
    }
    let old = old.map(stable);
    if let Some(old) = &old {
        let old = Field::root("", old);
        let old = old.get("spec");
        pool.check_fixed(&mut errors, &old.get("pool"), &["name"]);
        spec.check_fixed(&mut errors, &old, &["driver", "nodeName"]);
    }
    let places = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"];
    check_places(&mut errors, &spec, &places);
    let (counters, devices) = (spec.get("sharedCounters"), spec.get("devices"));
    if counters.exists() && devices.exists() {
        spec.invalid_as(
            &mut errors,
            "",
            "only one of `sharedCounters` or `devices` is allowed",
        );
    }
    let max = if devices.list().iter().any(is_advanced) {
        ADVANCED_DEVICES_MAX
    } else {
        DEVICES_MAX
    };
    if check_set(&mut errors, &devices, max, "name") {
        for device in devices.items() {
            check_device(&mut errors, &device, &spec.get("perDeviceNodeSelection"));
        }
    }
    if check_set(&mut errors, &counters, COUNTER_SETS_MAX, "name") {
        for set in counters.items() {
            counter_set(&mut errors, &set, "name");
        }
    }
    errors
}

fn is_advanced(device: &Value) -> bool {
    let has = |field: &str| device[field].as_array().is_some_and(|list| !list.is_empty());
    let mut attributes = device["attributes"].as_object().into_iter().flatten();
    let lists = ["bools", "ints", "strings", "versions"];
    has("taints")
        || has("consumesCounters")
        || attributes.any(|(_, attribute)| lists.iter().any(|list| attribute[*list].is_array()))
}

/// Exactly one of these says on which nodes the devices are.
fn check_places(errors: &mut Errors, spec: &Field<'_, '_>, places: &[&str]) {
    let mut set = Vec::new();
    for place in places {
        let node = spec.get(place);
        match node.value {
            Value::Null => continue,
            Value::Bool(false) => {
                node.invalid(errors, "must be either unset or set to true");
                continue;
            }
            Value::String(name) if name.is_empty() => {
                node.invalid(errors, "must be either unset or set to a non-empty string");
                continue;
            }
            Value::String(name) => node.invalid_each(errors, subdomain(name)),
            Value::Object(selector) => {
                let terms = selector.get("nodeSelectorTerms").and_then(Value::as_array);
                if terms.is_none_or(|terms| terms.len() != 1) {
                    let terms = node.get("nodeSelectorTerms");
                    terms.invalid(errors, "must have exactly one node selector term");
                }
                node_selector(errors, &node);
                node_selector_values(errors, &node);
            }
            _ => {}
        }
        set.push(format!("`{place}`"));
    }
    let all: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
    let detail = format!("exactly one of {} is required", all.join(", "));
    match set.len() {
        0 => spec.required(errors, detail),
        1 => {}
        _ => spec.invalid_as(
            errors,
            format!("{{{}}}", set.join(", ")),
            format!("{detail}, but multiple fields are set"),
        ),
    }
}

fn check_device(errors: &mut Errors, device: &Field<'_, '_>, per_device: &Field<'_, '_>) {
    check_label(errors, &device.get("name"));
    let (attributes, capacity) = (device.get("attributes"), device.get("capacity"));
    let count = attributes.entries().count() + capacity.entries().count();
    if count > PROPERTIES_MAX {
        let detail =
            format!("the total number of attributes and capacities must not exceed {PROPERTIES_MAX}");
        device.invalid_as(errors, count, detail);
    }
    for (key, attribute) in attributes.entries() {
        identifier_name(errors, &attribute, key);
        check_attribute(errors, &attribute);
    }
    for (key, entry) in capacity.entries() {
        identifier_name(errors, &entry, key);
        let policy = entry.get("requestPolicy");
        if policy.exists() && !device.get("allowMultipleAllocations").is_true() {
            policy.forbidden(errors, "allowMultipleAllocations must be true");
        }
    }
    let taints = device.get("taints");
    if taints.check_count(errors, TAINTS_MAX) {
        for taint in taints.items() {
            check_taint(errors, &taint);
        }
    }
    let consumed = device.get("consumesCounters");
    if check_set(errors, &consumed, CONSUMPTIONS_MAX, "counterSet") {
        for set in consumed.items() {
            counter_set(errors, &set, "counterSet");
        }
    }
    for field in ["bindingConditions", "bindingFailureConditions"] {
        let conditions = device.get(field);
        if conditions.check_count(errors, BINDING_CONDITIONS_MAX) {
            for condition in conditions.items() {
                condition.invalid_each(errors, qualified_name(condition.text()));
            }
        }
    }
    let places = ["nodeName", "nodeSelector", "allNodes"];
    let set: Vec<&str> = places
        .into_iter()
        .filter(|place| device.get(place).exists())
        .collect();
    if per_device.is_true() && set.len() != 1 {
        let detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to \
                      true in the ResourceSlice spec";
        if set.is_empty() {
            device.required(errors, detail);
        } else {
            let set: Vec<String> = set.iter().map(|place| format!("`{place}`")).collect();
            device.invalid_as(errors, format!("{{{}}}", set.join(", ")), detail);
        }
    } else if !per_device.is_true() && !set.is_empty() {
        let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the \
                      ResourceSlice spec";
        device.invalid_as(errors, Value::Null, detail);
    }
}

/// The driver that parameters are for, of which upstream declares that case does not matter.
fn opaque_driver(errors: &mut Errors, name: &Field<'_, '_>) {
    if name.check_given(errors, "") {
        name.check_length(errors, DRIVER_NAME_MAX);
        name.invalid_each(errors, subdomain_of_any_case(name.text()));
    }
}

fn check_attribute(errors: &mut Errors, attribute: &Field<'_, '_>) {
    const VALUE_MAX: usize = 64;
    const KINDS: &[&str] = &[
        "int", "bool", "string", "version", "ints", "bools", "strings", "versions",
    ];
    let version = |errors: &mut Errors, field: &Field<'_, '_>| {
        if !is_semantic_version(field.text()) {
            let detail = "must be a string compatible with semver.org spec 2.0.0";
            field.invalid_as(errors, field.text(), detail);
        }
        field.check_length(errors, VALUE_MAX);
    };
    attribute.get("string").check_length(errors, VALUE_MAX);
    if attribute.get("version").exists() {
        version(errors, &attribute.get("version"));
    }
    for text in attribute.get("strings").items() {
        text.check_length(errors, VALUE_MAX);
    }
    for text in attribute.get("versions").items() {
        version(errors, &text);
    }
    let set: Vec<&str> = KINDS
        .iter()
        .filter(|kind| attribute.get(kind).exists())
        .copied()
        .collect();
    let all: Vec<String> = KINDS.iter().map(|kind| format!("`{kind}`")).collect();
    match set.len() {
        1 => {}
        0 => attribute.invalid_as(errors, "", format!("must specify one of: {}", all.join(", "))),
        _ => {
            let detail = format!("must specify exactly one of: {}", all.join(", "));
            attribute.invalid_as(errors, format!("{{{}}}", set.join(", ")), detail);
        }
    }
}

/// Whether a text is a version by semver.org: three numbers, and perhaps what it precedes and how it was built.
fn is_semantic_version(text: &str) -> bool {
    let is_number = |part: &str| {
        part == "0" || !part.is_empty() && !part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit())
    };
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_before =
        |part: &str| is_number(part) || is_word(part) && !part.bytes().all(|b| b.is_ascii_digit());
    let (rest, build) = match text.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (text, None),
    };
    let (core, before) = match rest.split_once('-') {
        Some((core, before)) => (core, Some(before)),
        None => (rest, None),
    };
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(is_number)
        && before.is_none_or(|before| before.split('.').all(is_before))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

fn counter_set(errors: &mut Errors, set: &Field<'_, '_>, key: &str) {
    let (name, counters) = (set.get(key), set.get("counters"));
    if name.check_given(errors, "") {
        name.invalid_each(errors, label(name.text()));
    }
    if counters.is_empty() {
        counters.required(errors, "");
    }
    if counters.check_count(errors, COUNTERS_MAX) {
        for (key, counter) in counters.entries() {
            for message in label(key) {
                counter.invalid_as(errors, key, message);
            }
        }
    }
}

fn check_taint(errors: &mut Errors, taint: &Field<'_, '_>) {
    let (key, value) = (taint.get("key"), taint.get("value"));
    for message in qualified_name(key.text()) {
        key.invalid_as(errors, key.text(), message);
    }
    value.invalid_each(errors, label_value(value.text()));
    taint.get("effect").check_choice(errors, EFFECTS, "");
}

/// A rule that taints devices (`ValidateDeviceTaintRule`).
pub(crate) fn taint_rule(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let selector = root.get("spec.deviceSelector");
    for (field, check) in [
        ("driver", driver_name as fn(&mut Errors, &Field<'_, '_>)),
        ("pool", pool_name),
        ("device", check_label),
    ] {
        let node = selector.get(field);
        if node.exists() {
            check(&mut errors, &node);
        }
    }
    check_taint(&mut errors, &root.get("spec.taint"));
    errors
}

/// Names of drivers are domains, which have no case.
pub(crate) fn slice_warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let driver = root.get("spec.driver").text();
    if driver == driver.to_lowercase() {
        return Vec::new();
    }
    vec![format!(
        "spec.driver: driver names should be lowercase; {driver:?} contains uppercase characters"
    )]
}
