//! The account that an operator runs as, and its rights.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;
use kubewright_runtime::{Operator, Right};
use serde_json::{Value, json};

use crate::error::ManifestError;
use crate::tree::Tree;

/// How the account and its rights are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RbacOptions {
    /// The name of the service account, the role and the binding. Default: the operator's name.
    pub name: Option<String>,
    /// The namespace of the service account. Default: `NAME-system`.
    pub namespace: Option<String>,
}

/// The account that the operator runs as: `rbac/service_account.yaml` and `rbac/namespace.yaml` that it is in,
/// `rbac/role.yaml` with the rights that the operator asks for, and `rbac/role_binding.yaml`. The role is a cluster role, since an operator follows its kinds in all
/// namespaces. An operator without rights gets neither role nor binding.
///
/// # Errors
///
/// None that a caller could cause; [`ManifestError`] since all manifests are made in the same way.
pub fn rbac(operator: &Operator, options: &RbacOptions) -> Result<Tree, ManifestError> {
    let name = options.name.as_deref().unwrap_or_else(|| operator.name());
    let namespace = options
        .namespace
        .clone()
        .unwrap_or_else(|| format!("{name}-system"));
    let mut tree = Tree::new();
    tree.insert_object(
        "rbac/namespace.yaml",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
    )?;
    tree.insert_object(
        "rbac/service_account.yaml",
        &json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }),
    )?;
    let rules = rules(&operator.rights());
    if rules.is_empty() {
        return Ok(tree);
    }
    tree.insert_object(
        "rbac/role.yaml",
        &json!({
            "apiVersion": RBAC,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        }),
    )?;
    tree.insert_object(
        "rbac/role_binding.yaml",
        &json!({
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }),
    )?;
    Ok(tree)
}

/// The rules of a role, as few as controller-gen makes of them (controller-tools `pkg/rbac/parser.go`): resources of one
/// group with the same verbs share a rule, then groups with the same resources and verbs do. All is sorted.
fn rules(rights: &[Right]) -> Vec<Value> {
    type Names = BTreeSet<String>;
    let mut by_resource = BTreeMap::<(String, String), Names>::new();
    for rule in rights.iter().map(Right::to_rule) {
        let PolicyRule {
            api_groups,
            resources,
            verbs,
            ..
        } = rule;
        for group in api_groups.unwrap_or_default() {
            for resource in resources.iter().flatten() {
                let known = by_resource.entry((group.clone(), resource.clone())).or_default();
                known.extend(verbs.iter().cloned());
            }
        }
    }
    let mut by_verbs = BTreeMap::<(String, Names), Names>::new();
    for ((group, resource), verbs) in by_resource {
        by_verbs.entry((group, verbs)).or_default().insert(resource);
    }
    let mut by_rule = BTreeMap::<(Names, Names), Names>::new();
    for ((group, verbs), resources) in by_verbs {
        by_rule.entry((resources, verbs)).or_default().insert(group);
    }
    let sorted: BTreeSet<_> = by_rule
        .into_iter()
        .map(|((resources, verbs), groups)| (groups, resources, verbs))
        .collect();
    sorted
        .into_iter()
        .map(
            |(groups, resources, verbs)| json!({"apiGroups": groups, "resources": resources, "verbs": verbs}),
        )
        .collect()
}

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

#[cfg(test)]
mod tests {
    use kubewright_runtime::Verb::{self, Create, Get, List, Patch, Update};

    use super::*;

    fn right(group: &str, resource: &str, verbs: &[Verb]) -> Right {
        Right::to_resource(group, resource, verbs.iter().copied())
    }

    #[test]
    fn rules_are_few_and_sorted() {
        // rights, rules as groups / resources / verbs
        let rows: &[(&[Right], &[&str])] = &[
            (&[], &[]),
            (&[right("", "pods", &[List, Get])], &["/pods/get,list"]),
            (
                &[right("", "pods", &[Get]), right("", "pods", &[Patch, Create])],
                &["/pods/create,get,patch"],
            ),
            (
                &[
                    right("apps", "deployments", &[Get]),
                    right("", "services", &[Get]),
                    right("", "configmaps", &[Get]),
                ],
                &["/configmaps,services/get", "apps/deployments/get"],
            ),
            (
                &[right("batch", "jobs", &[Get]), right("", "jobs", &[Get])],
                &[",batch/jobs/get"],
            ),
            (
                &[
                    right("example.com", "books/status", &[Update]),
                    right("example.com", "books", &[Get]),
                    right("example.com", "pages", &[Get, List]),
                ],
                &[
                    "example.com/books/get",
                    "example.com/books/status/update",
                    "example.com/pages/get,list",
                ],
            ),
        ];
        for (rights, expect) in rows {
            let join = |list: &Value| {
                let names: Vec<_> = list
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                names.join(",")
            };
            let rules: Vec<_> = rules(rights)
                .iter()
                .map(|rule| {
                    ["apiGroups", "resources", "verbs"]
                        .map(|key| join(&rule[key]))
                        .join("/")
                })
                .collect();
            assert_eq!(rules, *expect, "{rights:?}");
        }
    }
}
