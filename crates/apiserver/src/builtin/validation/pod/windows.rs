//! What pods of one operating system may and may not have.
//!
//! Upstream: `validateOS`, `validateLinux`, `validateWindows`, `validateWindowsSecurityContextOptions` and
//! `validateWindowsHostProcessPod`.

use super::super::field::{Errors, Field};
use super::super::names::subdomain;
use super::each_container;
use serde_json::Value;

const FOR_LINUX: &str = "windows options cannot be set for a linux pod";
const FOR_WINDOWS: &str = "cannot be set for a windows pod";

pub(super) fn check_os(errors: &mut Errors, spec: &Field<'_, '_>) {
    let os = spec.get("os");
    if !os.exists() {
        return;
    }
    match os.get("name").text() {
        "linux" => check_linux(errors, spec),
        "windows" => check_windows(errors, spec),
        "" => os.get("name").required(errors, ""),
        name => errors.push(kubewright_core::FieldError::not_supported(
            os.path(),
            name,
            &["linux", "windows"],
        )),
    }
}

fn check_linux(errors: &mut Errors, spec: &Field<'_, '_>) {
    let check = |owner: &Field<'_, '_>, errors: &mut Errors| {
        let context = owner.get("securityContext");
        let options = context.get("windowsOptions");
        if options.exists() {
            options.forbidden(errors, FOR_LINUX);
        }
    };
    check(spec, errors);
    each_container(spec, |container| check(container, errors));
}

/// What the security context of a pod cannot have on Windows.
const POD_CONTEXT: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
/// The same of a container.
const CONTAINER_CONTEXT: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

fn check_windows(errors: &mut Errors, spec: &Field<'_, '_>) {
    let forbid = |owner: &Field<'_, '_>, fields: &[&str], errors: &mut Errors| {
        for field in fields {
            let field = owner.get(field);
            // Flags of the pod itself that are false might as well be absent.
            if field.exists() && field.value != &Value::Array(Vec::new()) {
                field.forbidden(errors, FOR_WINDOWS);
            }
        }
    };
    forbid(&spec.get("securityContext"), POD_CONTEXT, errors);
    forbid(spec, &["hostUsers"], errors);
    for flag in ["hostPID", "hostIPC"] {
        if spec.get(flag).is_true() {
            spec.get(flag).forbidden(errors, FOR_WINDOWS);
        }
    }
    forbid(spec, &["shareProcessNamespace"], errors);
    each_container(spec, |container| {
        forbid(&container.get("securityContext"), CONTAINER_CONTEXT, errors);
    });
}

/// The largest credential specification, in KiB.
const CREDENTIAL_MAX_KIB: usize = 64;
/// A domain must be shorter than this, in bytes.
const DOMAIN_MAX: usize = 256;
/// The longest name of a user, in bytes.
const USER_MAX: usize = 104;

pub(super) fn check_options(errors: &mut Errors, options: &Field<'_, '_>) {
    let (name, credential) = (
        options.get("gmsaCredentialSpecName"),
        options.get("gmsaCredentialSpec"),
    );
    if name.exists() {
        name.checked(errors, subdomain);
    }
    if credential.exists() {
        if credential.text().is_empty() {
            credential.invalid(errors, "gmsaCredentialSpec cannot be an empty string");
        } else if credential.text().len() > CREDENTIAL_MAX_KIB * 1024 {
            let detail = format!("gmsaCredentialSpec size must be under {CREDENTIAL_MAX_KIB} KiB");
            credential.invalid(errors, detail);
        }
    }
    let user = options.get("runAsUserName");
    if user.exists() {
        for message in user_name(user.text()) {
            user.invalid(errors, message);
        }
    }
}

/// What is wrong with the name of a user, which may have a domain and a backslash before it.
fn user_name(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["runAsUserName cannot be an empty string".to_owned()];
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters".to_owned()];
    }
    let (domain, user) = match text.split_once('\\') {
        Some((_, user)) if user.contains('\\') => {
            return vec!["runAsUserName cannot contain more than one backslash".to_owned()];
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, text),
    };
    let mut messages = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_MAX {
            messages.push(format!(
                "runAsUserName's Domain length must be under {DOMAIN_MAX} characters"
            ));
        }
        if !is_net_bios(domain) && !is_dns_domain(domain) {
            messages.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        messages.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_MAX {
        messages.push(format!(
            "runAsUserName's User length must not be longer than {USER_MAX} characters"
        ));
    }
    if !user.is_empty() && user.bytes().all(|byte| matches!(byte, b'.' | b' ')) {
        messages.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(|c| "\"/\\:;|=,+*?<>@[]".contains(c)) {
        messages.push(
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]".to_owned(),
        );
    }
    messages
}

fn is_net_bios(domain: &str) -> bool {
    const MAX: usize = 15;
    let length = domain.chars().count();
    (1..=MAX).contains(&length) && !domain.starts_with('.') && !domain.contains(|c| "\\/:*?\"<>|".contains(c))
}

fn is_dns_domain(domain: &str) -> bool {
    const LABEL_MAX: usize = 63;
    domain.split('.').all(|label| {
        let bytes = label.as_bytes();
        let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        bytes.len() <= LABEL_MAX
            && is_edge(bytes.first())
            && is_edge(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    })
}

/// Containers that are processes of the host are all of them or none (KEP-1981).
pub(super) fn check_host_process(errors: &mut Errors, spec: &Field<'_, '_>) {
    let flag = |owner: &Field<'_, '_>| {
        let context = owner.get("securityContext");
        let options = context.get("windowsOptions");
        options.get("hostProcess").value.as_bool()
    };
    let of_pod = flag(spec);
    let (mut all, mut host) = (0, 0);
    each_container(spec, |container| {
        all += 1;
        let own = flag(container);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let context = container.get("securityContext");
            let options = context.get("windowsOptions");
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            options.get("hostProcess").invalid(errors, detail);
        }
        host += i32::from(own.or(of_pod) == Some(true));
    });
    if host == 0 {
        return;
    }
    if host != all {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        spec.invalid_as(errors, "", detail);
    }
    let network = spec.get("hostNetwork");
    if !network.is_true() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        network.invalid_as(errors, false, detail);
    }
}
