//! Security contexts of pods and containers.
//!
//! Upstream: `validatePodSpecSecurityContext`, `ValidateSecurityContext` and what they call. Privileged containers are allowed,
//! as by `--allow-privileged`.

use std::collections::BTreeSet;

use super::super::field::{Errors, Field};
use super::container::Pod;
use super::mounts::check_descending;
use super::{Findings, Relaxable, windows};
use serde_json::Value;

/// The ids that users and groups may have.
const IDS: std::ops::RangeInclusive<i64> = 0..=i32::MAX as i64;

pub(super) fn check_pod(findings: &mut Findings, spec: &Field<'_, '_>) {
    let context = spec.get("securityContext");
    if !context.exists() {
        return;
    }
    let errors = &mut findings.errors;
    for id in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.get(id).within(errors, IDS);
    }
    for group in context.get("supplementalGroups").items() {
        group.within(errors, IDS);
    }
    check_sysctls(findings, spec, &context.get("sysctls"));
    let errors = &mut findings.errors;
    context
        .get("fsGroupChangePolicy")
        .one_of(errors, &["Always", "OnRootMismatch"]);
    check_seccomp(errors, &context.get("seccompProfile"));
    windows::check_options(errors, &context.get("windowsOptions"));
    check_app_armor(errors, &context.get("appArmorProfile"));
    context
        .get("supplementalGroupsPolicy")
        .one_of(errors, &["Merge", "Strict"]);
    context
        .get("seLinuxChangePolicy")
        .one_of(errors, &["MountOption", "Recursive"]);
}

/// The longest name of a kernel parameter, in bytes.
const SYSCTL_MAX: usize = 253;

fn check_sysctls(findings: &mut Findings, spec: &Field<'_, '_>, sysctls: &Field<'_, '_>) {
    let mut seen = BTreeSet::new();
    for sysctl in sysctls.items() {
        let name = sysctl.get("name");
        let errors = &mut findings.errors;
        if !name.is_set() {
            name.required(errors, "");
        } else if !is_sysctl_name(name.text()) {
            let detail = format!(
                "must have at most {SYSCTL_MAX} characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            );
            name.invalid(errors, detail);
        } else if seen.contains(name.text()) {
            name.duplicate(errors);
        }
        seen.insert(name.text());
        findings.relaxable(Relaxable::HostNamespaceSysctl, |errors| {
            for (field, namespace) in [("hostNetwork", Namespace::Net), ("hostIPC", Namespace::Ipc)] {
                if spec.get(field).is_true() && namespace_of(name.text()) == Some(namespace) {
                    name.invalid(errors, format!("may not be specified when '{field}' is true"));
                }
            }
        });
    }
}

fn is_sysctl_name(name: &str) -> bool {
    let is_edge =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        let inner =
            |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(inner)
    };
    name.len() <= SYSCTL_MAX && name.split(['.', '/']).all(is_segment)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Ipc,
    Net,
}

/// The namespace that a kernel parameter belongs to (`GetNamespace` in component-helpers `node/util/sysctl/namespace.go`).
fn namespace_of(name: &str) -> Option<Namespace> {
    const IPC: &[&str] = &["kernel.sem"];
    const PREFIXES: &[(&str, Namespace)] = &[
        ("kernel.shm", Namespace::Ipc),
        ("kernel.msg", Namespace::Ipc),
        ("fs.mqueue.", Namespace::Ipc),
        ("net.", Namespace::Net),
    ];
    // Both separators are taken; the first one found says which it is.
    let first = name.find(['.', '/']).map(|at| name.as_bytes()[at]);
    let swapped: String = if first == Some(b'/') {
        name.chars()
            .map(|c| match c {
                '/' => '.',
                '.' => '/',
                c => c,
            })
            .collect()
    } else {
        name.to_owned()
    };
    if IPC.contains(&swapped.as_str()) {
        return Some(Namespace::Ipc);
    }
    let found = PREFIXES.iter().find(|(prefix, _)| swapped.starts_with(prefix));
    found.map(|(_, namespace)| *namespace)
}

pub(super) fn check_container(findings: &mut Findings, container: &Field<'_, '_>, pod: &Pod<'_, '_>) {
    let context = container.get("securityContext");
    if !context.exists() {
        return;
    }
    let errors = &mut findings.errors;
    context.get("runAsUser").within(errors, IDS);
    context.get("runAsGroup").within(errors, IDS);
    let proc = context.get("procMount");
    proc.one_of(errors, &["Default", "Unmasked"]);
    let has_host_users = pod.spec.get("hostUsers").value != &Value::Bool(false);
    if proc.text() == "Unmasked" && has_host_users {
        proc.invalid(errors, "`hostUsers` must be false to use `Unmasked`");
    }
    check_seccomp(errors, &context.get("seccompProfile"));
    if context.get("allowPrivilegeEscalation").value == &Value::Bool(false) {
        if context.get("privileged").is_true() {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            context.invalid(errors, detail);
        }
        let capabilities = context.get("capabilities");
        findings.relaxable(Relaxable::SysAdmin, |errors| {
            let added = capabilities.get("add");
            for _ in added.texts().filter(|capability| *capability == "CAP_SYS_ADMIN") {
                let detail =
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
                context.invalid(errors, detail);
            }
        });
    }
    let errors = &mut findings.errors;
    windows::check_options(errors, &context.get("windowsOptions"));
    check_app_armor(errors, &context.get("appArmorProfile"));
}

const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];

fn check_seccomp(errors: &mut Errors, profile: &Field<'_, '_>) {
    if !profile.exists() {
        return;
    }
    let (kind, path) = (profile.get("type"), profile.get("localhostProfile"));
    if kind.text().is_empty() {
        kind.required(errors, "type is required when seccompProfile is set");
    } else {
        kind.one_of(errors, PROFILE_TYPES);
    }
    match (kind.text() == "Localhost", path.exists()) {
        (true, true) => check_descending(errors, &path),
        (true, false) => path.required(errors, "must be set when seccomp type is Localhost"),
        (false, true) => {
            let detail = "can only be set when seccomp type is Localhost";
            path.invalid_as(errors, profile.value.clone(), detail);
        }
        (false, false) => {}
    }
}

/// The longest path of a profile, in bytes: that of Linux without the zero at its end.
const PROFILE_PATH_MAX: usize = 4095;

fn check_app_armor(errors: &mut Errors, profile: &Field<'_, '_>) {
    const REQUIRED: &str = "must be set when AppArmor type is Localhost";
    if !profile.exists() {
        return;
    }
    let (kind, path) = (profile.get("type"), profile.get("localhostProfile"));
    match kind.text() {
        "Localhost" if !path.exists() => path.required(errors, REQUIRED),
        "Localhost" => {
            let trimmed = path.text().trim();
            if trimmed != path.text() {
                path.invalid(errors, "must not be padded with whitespace");
            } else if trimmed.is_empty() {
                path.required(errors, REQUIRED);
            }
            if path.text().len() > PROFILE_PATH_MAX {
                path.too_long(errors, PROFILE_PATH_MAX);
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if path.exists() {
                path.invalid(errors, "can only be set when AppArmor type is Localhost");
            }
        }
        "" => kind.required(errors, "type is required when appArmorProfile is set"),
        _ => kind.not_supported(errors, PROFILE_TYPES),
    }
}
