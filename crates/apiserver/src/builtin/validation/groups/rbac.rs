//! Roles and their bindings.
//!
//! Upstream: `pkg/apis/rbac/validation/validation.go`.

use serde_json::Value;

use super::super::field::{Errors, Field};
use super::super::names::subdomain;
use super::format::{label_selector, path_segment};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Whether something belongs to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Namespace,
    Cluster,
}

/// A role (`ValidateRole`).
pub(crate) fn role(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    policy_rules(&mut errors, &Field::root("", object), Reach::Namespace);
    errors
}

/// A role of the cluster (`ValidateClusterRole`).
pub(crate) fn cluster_role(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    policy_rules(&mut errors, &root, Reach::Cluster);
    let aggregation = root.get("aggregationRule");
    if aggregation.exists() {
        let selectors = aggregation.get("clusterRoleSelectors");
        if selectors.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            selectors.required(&mut errors, detail);
        }
        for selector in selectors.items() {
            let before = errors.len();
            label_selector(&mut errors, &selector);
            if errors.len() > before {
                selector.invalid_as(&mut errors, Value::Null, "invalid label selector.");
            }
        }
    }
    errors
}

fn policy_rules(errors: &mut Errors, role: &Field<'_, '_>, reach: Reach) {
    for rule in role.get("rules").items() {
        let verbs = rule.get("verbs");
        if verbs.is_empty() {
            verbs.required(errors, "");
        }
        let urls = rule.get("nonResourceURLs");
        let (groups, resources) = (rule.get("apiGroups"), rule.get("resources"));
        if !urls.is_empty() {
            if reach == Reach::Namespace {
                urls.invalid(errors, "namespaced rules cannot apply to non-resource URLs");
            }
            if !(groups.is_empty() && resources.is_empty() && rule.get("resourceNames").is_empty()) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                urls.invalid(errors, detail);
            }
            continue;
        }
        if groups.is_empty() {
            groups.required(errors, "resource rules must supply at least one api group");
        }
        if resources.is_empty() {
            resources.required(errors, "resource rules must supply at least one resource");
        }
    }
}

/// A binding in a namespace (`ValidateRoleBinding`, `ValidateRoleBindingUpdate`).
pub(crate) fn role_binding(object: &Value, old: Option<&Value>) -> Errors {
    binding(object, old, Reach::Namespace)
}

/// A binding for the cluster (`ValidateClusterRoleBinding`, `ValidateClusterRoleBindingUpdate`).
pub(crate) fn cluster_role_binding(object: &Value, old: Option<&Value>) -> Errors {
    binding(object, old, Reach::Cluster)
}

fn binding(object: &Value, old: Option<&Value>, reach: Reach) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let role = root.get("roleRef");
    let (group, kind, name) = (role.get("apiGroup"), role.get("kind"), role.get("name"));
    if group.text() != GROUP {
        group.not_supported(&mut errors, &[GROUP]);
    }
    let kinds: &[&str] = match reach {
        Reach::Namespace => &["Role", "ClusterRole"],
        Reach::Cluster => &["ClusterRole"],
    };
    if !kinds.contains(&kind.text()) {
        kind.not_supported(&mut errors, kinds);
    }
    if name.check_given(&mut errors, "") {
        name.invalid_each(&mut errors, path_segment(name.text()));
    }
    for subject in root.get("subjects").items() {
        check_subject(&mut errors, &subject, reach);
    }
    if let Some(old) = old {
        // Who may grant a role was checked when the binding was made, so it cannot come to grant another.
        role.immutable(&mut errors, &Field::root("", old).get("roleRef"));
    }
    errors
}

fn check_subject(errors: &mut Errors, subject: &Field<'_, '_>, reach: Reach) {
    let (kind, name, group) = (subject.get("kind"), subject.get("name"), subject.get("apiGroup"));
    name.check_given(errors, "");
    match kind.text() {
        "ServiceAccount" => {
            if !name.is_empty() {
                name.invalid_each(errors, subdomain(name.text()));
            }
            if !group.is_empty() {
                group.not_supported(errors, &[""]);
            }
            let namespace = subject.get("namespace");
            if reach == Reach::Cluster {
                namespace.check_given(errors, "");
            }
        }
        "User" | "Group" => {
            if group.text() != GROUP {
                group.not_supported(errors, &[GROUP]);
            }
        }
        _ => kind.not_supported(errors, &["ServiceAccount", "User", "Group"]),
    }
}
