//! What nodes may do: the part of upstream's `Node` authorizer that needs to know of no other object.
//!
//! Upstream: kubernetes plugin/pkg/auth/authorizer/node/node_authorizer.go and `NodeRules` of rbac's bootstrappolicy. There a graph tells which
//! secrets, config maps, volumes and tokens the pods of a node use, and the node may have those; here no node may have any of them,
//! unless a role says so. Upstream also keeps a node from other nodes and their pods; here all nodes are as one.

use kubewright_net::Identity;

use super::{Access, Attempt};

/// Whether somebody is a node, and may do this as such.
pub(super) fn allows(identity: &Identity, access: &Access<'_>) -> bool {
    let Access::Resource(attempt) = access else {
        return false;
    };
    if is_own(identity, attempt) {
        return true;
    }
    is_node(identity)
        && RULES.iter().any(|(verbs, group, resources)| {
            let (verb, resource) = (attempt.verb, attempt.resource);
            *group == attempt.group
                && verbs.contains(&verb)
                && resources.iter().any(|allowed| match allowed.split_once('/') {
                    Some((allowed, part)) => allowed == resource && part == attempt.subresource,
                    None => *allowed == resource && attempt.subresource.is_empty(),
                })
        })
}

/// Whether it is what a node keeps of itself, under its own name: its lease, by which it is seen to be alive, and its drivers.
fn is_own(identity: &Identity, attempt: &Attempt<'_>) -> bool {
    let is_kept = match (attempt.group, attempt.resource) {
        ("coordination.k8s.io", "leases") => attempt.namespace == Some("kube-node-lease"),
        ("storage.k8s.io", "csinodes") => true,
        _ => false,
    };
    // What is created has no name in the request.
    let is_named = match attempt.verb {
        "create" => attempt.name.is_empty() || is_name_of(identity, attempt.name),
        "get" | "update" | "patch" | "delete" => is_name_of(identity, attempt.name),
        _ => false,
    };
    is_node(identity) && is_kept && is_named && attempt.subresource.is_empty()
}

fn is_name_of(identity: &Identity, name: &str) -> bool {
    identity.user.strip_prefix("system:node:") == Some(name)
}

/// Whether a name and a group are a node's (pkg/auth/nodeidentifier).
pub(super) fn is_node(identity: &Identity) -> bool {
    let name = identity.user.strip_prefix("system:node:");
    name.is_some_and(|name| !name.is_empty()) && identity.groups.iter().any(|group| group == "system:nodes")
}

type Rule = (&'static [&'static str], &'static str, &'static [&'static str]);

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["update", "patch"];

const RULES: &[Rule] = &[
    (&["create"], "authentication.k8s.io", &["tokenreviews"]),
    (
        &["create"],
        "authorization.k8s.io",
        &["subjectaccessreviews", "localsubjectaccessreviews"],
    ),
    (READ, "", &["services", "nodes", "pods"]),
    (&["create"], "", &["nodes", "pods", "pods/eviction", "events"]),
    (WRITE, "", &["nodes", "nodes/status", "pods/status", "events"]),
    (&["delete"], "", &["pods"]),
    (&["create", "update", "patch"], "events.k8s.io", &["events"]),
    (&["get"], "", &["endpoints"]),
    (
        &["create", "get", "list", "watch"],
        "certificates.k8s.io",
        &["certificatesigningrequests"],
    ),
    (READ, "storage.k8s.io", &["csidrivers"]),
    (READ, "node.k8s.io", &["runtimeclasses"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_do_what_kubelets_do() {
        let node = Identity::new("system:node:n", ["system:nodes"]);
        let check = |identity: &Identity, verb: &str, group: &str, resource: &str, expect: bool| {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let attempt = Attempt {
                verb,
                group,
                resource,
                subresource,
                namespace: Some("ns"),
                name: "x",
            };
            let found = allows(identity, &Access::Resource(attempt));
            assert_eq!(found, expect, "{} {verb} {resource}/{subresource}", identity.user);
        };
        check(&node, "list", "", "pods", true);
        check(&node, "patch", "", "pods/status", true);
        check(&node, "delete", "", "pods", true);
        check(&node, "patch", "", "nodes/status", true);
        check(&node, "create", "events.k8s.io", "events", true);
        check(&node, "patch", "", "pods", false);
        check(&node, "delete", "", "nodes", false);
        check(&node, "list", "apps", "pods", false);
        check(&node, "create", "", "pods/exec", false);
        for secret in ["secrets", "configmaps", "serviceaccounts", "persistentvolumes"] {
            check(&node, "get", "", secret, false);
        }
        // Of leases and the like, those of its own name.
        let kept = |verb: &str, group: &str, resource: &str, namespace: Option<&str>, name: &str| {
            let attempt = Attempt {
                verb,
                group,
                resource,
                subresource: "",
                namespace,
                name,
            };
            allows(&node, &Access::Resource(attempt))
        };
        let (group, leases) = ("coordination.k8s.io", Some("kube-node-lease"));
        assert!(kept("update", group, "leases", leases, "n"));
        assert!(kept("create", group, "leases", leases, ""));
        assert!(!kept("update", group, "leases", leases, "other"));
        assert!(!kept("list", group, "leases", leases, "n"));
        assert!(!kept("update", group, "leases", Some("kube-system"), "n"));
        assert!(kept("patch", "storage.k8s.io", "csinodes", None, "n"));
        assert!(!kept("patch", "storage.k8s.io", "csinodes", None, "other"));
        // Both the name and the group are those of a node.
        check(&Identity::new("n", ["system:nodes"]), "list", "", "pods", false);
        check(
            &Identity::new("system:node:", ["system:nodes"]),
            "list",
            "",
            "pods",
            false,
        );
        check(
            &Identity::new("system:node:n", [""; 0]),
            "list",
            "",
            "pods",
            false,
        );
        let path = Access::Path {
            verb: "get",
            path: "/api/v1/pods",
        };
        assert!(!allows(&node, &path));
    }
}
