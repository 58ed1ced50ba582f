//! Probes and lifecycle hooks.
//!
//! Upstream: `validateProbe`, `validateHandler` and `validateLifecycle`.

use super::super::field::{Errors, Field};
use super::super::names::{http_header_name, port_name, port_number};
use super::container::Pod;
use serde_json::Value;

pub(super) fn check_lifecycle_and_probes(errors: &mut Errors, container: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    let lifecycle = container.get("lifecycle");
    for hook in ["postStart", "preStop"] {
        let hook = lifecycle.get(hook);
        if hook.exists() {
            check_handler(errors, &hook, HOOKS, pod);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.get(name);
        if !probe.exists() {
            continue;
        }
        check_probe(errors, &probe, pod);
        let grace = probe.get("terminationGracePeriodSeconds");
        let threshold = probe.get("successThreshold");
        if name == "readinessProbe" {
            if grace.exists() {
                grace.invalid(errors, "must not be set for readinessProbes");
            }
        } else if threshold.int() != 1 {
            threshold.invalid_as(errors, threshold.int(), "must be 1");
        }
    }
}

fn check_probe(errors: &mut Errors, probe: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    check_handler(errors, probe, PROBES, pod);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        probe.get(field).not_negative(errors);
    }
    let grace = probe.get("terminationGracePeriodSeconds");
    if grace.exists() && grace.int() <= 0 {
        grace.invalid(errors, "must be greater than 0");
    }
}

/// The handlers of probes, in the order in which they are looked at.
const PROBES: &[&str] = &["exec", "httpGet", "tcpSocket", "grpc"];
/// The handlers of hooks.
const HOOKS: &[&str] = &["exec", "httpGet", "tcpSocket", "sleep"];

fn check_handler(errors: &mut Errors, at: &Field<'_, '_>, kinds: &[&str], pod: &Pod<'_, '_>) {
    let mut is_first = true;
    for kind in kinds {
        let handler = at.get(kind);
        if !handler.exists() {
            continue;
        }
        if !is_first {
            handler.forbidden(errors, "may not specify more than 1 handler type");
            continue;
        }
        is_first = false;
        match *kind {
            "exec" => {
                handler.get("command").must_be_set(errors);
            }
            "httpGet" => check_http(errors, &handler),
            "sleep" => check_sleep(errors, &handler, pod),
            _ => check_port(errors, &handler.get("port")),
        }
    }
    if is_first {
        at.required(errors, "must specify a handler type");
    }
}

fn check_http(errors: &mut Errors, http: &Field<'_, '_>) {
    http.get("path").must_be_set(errors);
    check_port(errors, &http.get("port"));
    let schemes = ["HTTP", "HTTPS"];
    if !schemes.contains(&http.get("scheme").text()) {
        http.get("scheme").not_supported(errors, &schemes);
    }
    let headers = http.get("httpHeaders");
    for header in headers.list() {
        let name = header["name"].as_str().unwrap_or_default();
        for message in http_header_name(name) {
            headers.invalid_as(errors, name, message);
        }
    }
}

fn check_sleep(errors: &mut Errors, sleep: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    let seconds = sleep.get("seconds").int();
    if let Some(grace) = pod
        .grace_period()
        .filter(|grace| !(0..=*grace).contains(&seconds))
    {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        sleep.invalid_as(errors, seconds, detail);
    }
}

/// Checks a port that is a number or a name.
pub(crate) fn check_port(errors: &mut Errors, port: &Field<'_, '_>) {
    match port.value {
        Value::String(name) => port.invalid_each(errors, port_name(name)),
        _ => {
            let number = port.int();
            for message in port_number(number) {
                port.invalid_as(errors, number, message);
            }
        }
    }
}
