//! Ingresses and their classes.
//!
//! Upstream: `pkg/apis/networking/validation/validation.go`, `pkg/registry/networking/{ingress,ingressclass}/strategy.go`.

use serde_json::Value;

use super::super::addresses::{AddressForm, parse_lenient};
use super::super::field::{Errors, Field};
use super::super::names::{label, port_name, port_number, subdomain, wildcard_subdomain};
use super::format::{domain_prefixed_path, given_path_segment, ip};

/// How classes were named before there was a field for it.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
/// The longest name of a controller, in bytes.
const CONTROLLER_MAX: usize = 250;

/// An ingress (`ValidateIngressCreate`, `ValidateIngressUpdate`).
pub(crate) fn ingress(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let (root, old) = (Field::root("", object), old.map(|object| Field::root("", object)));
    let spec = root.get("spec");
    let (rules, backend) = (spec.get("rules"), spec.get("defaultBackend"));
    if rules.is_empty() && !backend.exists() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        spec.invalid_as(&mut errors, rules.value.clone(), detail);
    }
    if backend.exists() {
        check_backend(&mut errors, &backend);
    }
    let old_spec = old.as_ref().map(|old| old.get("spec"));
    let tolerates_wildcards = old_spec.as_ref().is_some_and(has_invalid_wildcard);
    for rule in rules.items() {
        check_rule(&mut errors, &rule, tolerates_wildcards);
    }
    let tolerates_secrets = old_spec.as_ref().is_some_and(|old| {
        old.get("tls")
            .items()
            .any(|tls| !secret_name(&tls.get("secretName")).is_empty())
    });
    for tls in spec.get("tls").items() {
        for host in tls.get("hosts").items() {
            host.invalid_each(&mut errors, host_name(host.text()));
        }
        let secret = tls.get("secretName");
        if !tolerates_secrets {
            secret.invalid_each(&mut errors, secret_name(&secret));
        }
    }
    let class = spec.get("ingressClassName");
    if class.exists() {
        class.invalid_each(&mut errors, subdomain(class.text()));
    }
    if old.is_none() {
        let metadata = root.get("metadata.annotations");
        let annotation = metadata.key(CLASS_ANNOTATION);
        if annotation.exists() && class.exists() && annotation.text() != class.text() {
            let annotations = root.get("annotations");
            let detail = "must match `ingressClassName` when both are specified";
            let named = annotations.get(CLASS_ANNOTATION);
            named.invalid_as(&mut errors, annotation.text(), detail);
        }
    }
    errors
}

fn secret_name(name: &Field<'_, '_>) -> Vec<String> {
    match name.text() {
        "" => Vec::new(),
        text => subdomain(text),
    }
}

fn host_name(host: &str) -> Vec<String> {
    if host.contains('*') {
        wildcard_subdomain(host)
    } else {
        subdomain(host)
    }
}

/// Rules of wildcard hosts were not looked into once.
fn has_invalid_wildcard(spec: &Field<'_, '_>) -> bool {
    spec.get("rules").items().any(|rule| {
        let mut errors = Errors::new();
        check_http(&mut errors, &rule);
        rule.get("host").text().contains('*') && !errors.is_empty()
    })
}

fn check_rule(errors: &mut Errors, rule: &Field<'_, '_>, tolerates_wildcards: bool) {
    let host = rule.get("host");
    let text = host.text();
    if !text.is_empty() {
        if parse_lenient(text).is_some() {
            host.invalid(errors, "must be a DNS name, not an IP address");
        }
        host.invalid_each(errors, host_name(text));
    }
    if !(tolerates_wildcards && text.contains('*')) {
        check_http(errors, rule);
    }
}

fn check_http(errors: &mut Errors, rule: &Field<'_, '_>) {
    let http = rule.get("http");
    if !http.exists() {
        return;
    }
    let paths = http.get("paths");
    if paths.is_empty() {
        paths.required(errors, "");
    }
    for entry in paths.items() {
        check_path(errors, &entry);
    }
}

fn check_path(errors: &mut Errors, entry: &Field<'_, '_>) {
    let (kind, path) = (entry.get("pathType"), entry.get("path"));
    if !kind.exists() {
        return kind.required(errors, "pathType must be specified");
    }
    let text = path.text();
    let absolute = "must be an absolute path";
    match kind.text() {
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                path.invalid_as(errors, text, absolute);
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.contains(part) {
                    path.invalid(errors, format!("must not contain '{part}'"));
                }
            }
            for end in ["/..", "/."] {
                if text.ends_with(end) {
                    path.invalid(errors, format!("cannot end with '{end}'"));
                }
            }
        }
        "ImplementationSpecific" if !text.is_empty() && !text.starts_with('/') => {
            path.invalid(errors, absolute);
        }
        "ImplementationSpecific" => {}
        _ => kind.not_supported(errors, &["Exact", "ImplementationSpecific", "Prefix"]),
    }
    check_backend(errors, &entry.get("backend"));
}

fn check_backend(errors: &mut Errors, backend: &Field<'_, '_>) {
    let (resource, service) = (backend.get("resource"), backend.get("service"));
    match (resource.exists(), service.exists()) {
        (true, true) => backend.invalid_as(errors, "", "cannot set both resource and service backends"),
        (true, false) => typed_reference(errors, &resource),
        (false, false) => backend.invalid_as(errors, "", "resource or service backend is required"),
        (false, true) => {
            let name = service.get("name");
            if name.check_given(errors, "") {
                name.invalid_each(errors, label(name.text()));
            }
            let port = service.get("port");
            let (name, number) = (port.get("name"), port.get("number"));
            match (name.is_empty(), number.is_empty()) {
                (false, false) => {
                    backend.invalid_as(errors, "", "cannot set both port name & port number");
                }
                (false, true) => name.invalid_each(errors, port_name(name.text())),
                (true, false) => number.invalid_each(errors, port_number(number.int())),
                (true, true) => backend.required(errors, "port name or number is required"),
            }
        }
    }
}

/// A reference to an object of any kind in the same namespace.
fn typed_reference(errors: &mut Errors, reference: &Field<'_, '_>) {
    let group = reference.get("apiGroup");
    if group.exists() {
        group.invalid_each(errors, subdomain(group.text()));
    }
    given_path_segment(errors, &reference.get("kind"), "");
    given_path_segment(errors, &reference.get("name"), "");
}

/// What a load balancer reports (`ValidateIngressLoadBalancerStatus`).
pub(crate) fn ingress_status(subresource: &str, new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource != "status" {
        return errors;
    }
    let (root, old) = (Field::root("", new), Field::root("", old));
    let known = old.get("status.loadBalancer.ingress");
    for entry in root.get("status.loadBalancer.ingress").items() {
        let address = entry.get("ip");
        let is_known = known.list().iter().any(|known| known["ip"] == *address.value);
        if !address.is_empty() && !is_known {
            ip(&mut errors, &address, AddressForm::Legacy);
        }
        let host = entry.get("hostname");
        if !host.is_empty() {
            host.invalid_each(&mut errors, subdomain(host.text()));
            if parse_lenient(host.text()).is_some() {
                host.invalid(&mut errors, "must be a DNS name, not an IP address");
            }
        }
    }
    errors
}

/// The annotation still works, and has a successor.
pub(crate) fn ingress_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let root = Field::root("", object);
    let annotations = root.get("metadata.annotations");
    let has_annotation = annotations.key(CLASS_ANNOTATION).exists();
    if old.is_none() && has_annotation && !root.get("spec.ingressClassName").exists() {
        let text = format!(
            "annotation {CLASS_ANNOTATION:?} is deprecated, please use 'spec.ingressClassName' instead"
        );
        return vec![text];
    }
    Vec::new()
}

/// A class of ingresses (`ValidateIngressClass`, `ValidateIngressClassUpdate`).
pub(crate) fn ingress_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let spec = root.get("spec");
    let controller = spec.get("controller");
    if let Some(old) = old {
        let old = Field::root("", old);
        spec.check_fixed(&mut errors, &old.get("spec"), &["controller"]);
    }
    controller.check_length(&mut errors, CONTROLLER_MAX);
    domain_prefixed_path(&mut errors, &controller);
    let parameters = spec.get("parameters");
    if !parameters.exists() {
        return errors;
    }
    typed_reference(&mut errors, &parameters);
    let (scope, namespace) = (parameters.get("scope"), parameters.get("namespace"));
    match scope.text() {
        _ if !scope.exists() => scope.required(&mut errors, ""),
        "Namespace" if !namespace.exists() => {
            namespace.required(&mut errors, "`parameters.scope` is set to 'Namespace'");
        }
        "Namespace" => namespace.invalid_each(&mut errors, label(namespace.text())),
        "Cluster" if namespace.exists() => {
            namespace.forbidden(&mut errors, "`parameters.scope` is set to 'Cluster'");
        }
        "Cluster" => {}
        _ => scope.not_supported(&mut errors, &["Cluster", "Namespace"]),
    }
    errors
}
