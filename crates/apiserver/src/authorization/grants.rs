//! Nobody grants what they do not have: writes of roles and bindings are checked against what the writer may do
//! (kubernetes pkg/registry/rbac `*/policybased`, `escalation_check.go`, `helpers.go`).
//!
//! It comes after admission has changed the object and before anything else looks at it, so a refusal comes before what is not valid.

use kubewright_core::{Status, StatusReason};
use kubewright_net::Identity;
use serde_json::Value;

use super::rbac::{GROUP, Policy, PolicyRule, RoleMissing, RoleRef, escalation};
use super::{Access, Attempt, Rules, is_master};
use crate::error::{ApiError, ApiResult};
use crate::handlers::Call;

/// Lets a write pass of what is no role or binding, or of one that grants nothing which the writer does not have or may not grant all the
/// same: by the verb `escalate` on the role, or `bind` on the role that a binding is of. `old` is what the object replaces.
///
/// # Errors
/// 403 that names what is missing, 404 for a binding of a role that is not there.
pub(crate) async fn check(call: &Call<'_>, object: &Value, old: Option<&Value>) -> ApiResult<()> {
    if call.resource.group != GROUP {
        return Ok(());
    }
    let Rules::Rbac(policy) = call.server.rules_for(&call.identity).await? else {
        return Ok(());
    };
    let write = Write {
        policy: &policy,
        identity: &call.identity,
        attempt: Attempt::of(&call.info),
        object,
        old,
    };
    write.check().map_err(|refusal| refusal.into_error(call, object))
}

/// A write of a role or binding.
struct Write<'a> {
    policy: &'a Policy,
    identity: &'a Identity,
    /// What the request is.
    attempt: Attempt<'a>,
    object: &'a Value,
    old: Option<&'a Value>,
}

/// Why a write is refused.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// The writer lacks what is granted.
    Escalation(String),
    /// There is no such role.
    Role(RoleMissing),
}

impl Write<'_> {
    fn check(&self) -> Result<(), Refusal> {
        if is_master(self.identity)
            || self
                .old
                .is_some_and(|old| differs_for_collection_alone(self.object, old))
        {
            return Ok(());
        }
        match self.attempt.resource {
            "roles" | "clusterroles" => self.check_role(),
            "rolebindings" | "clusterrolebindings" => self.check_binding(),
            _ => Ok(()),
        }
    }

    fn check_role(&self) -> Result<(), Refusal> {
        let escalate = Attempt {
            verb: "escalate",
            ..self.attempt
        };
        if self.may(escalate) {
            return Ok(());
        }
        let rules: Vec<PolicyRule> = serde_json::from_value(self.object["rules"].clone()).unwrap_or_default();
        self.confirm(&rules)?;
        // It may gather anything, and give back what was taken away.
        if gathers(self.object) || self.old.is_some_and(gathers) {
            self.confirm(&everything()).map_err(|_| {
                Refusal::Escalation(
                    "must have cluster-admin privileges to use the aggregationRule".to_owned(),
                )
            })?;
        }
        Ok(())
    }

    fn check_binding(&self) -> Result<(), Refusal> {
        let role: RoleRef = serde_json::from_value(self.object["roleRef"].clone()).unwrap_or_default();
        let resource = match role.kind.as_str() {
            "ClusterRole" => Some("clusterroles"),
            "Role" => Some("roles"),
            _ => None,
        };
        let bind = resource.map(|resource| Attempt {
            verb: "bind",
            group: &role.api_group,
            resource,
            name: &role.name,
            ..self.attempt
        });
        if bind.is_some_and(|bind| self.may(bind)) {
            return Ok(());
        }
        let namespace = self.attempt.namespace.unwrap_or_default();
        let rules = self.policy.role(&role, namespace).map_err(Refusal::Role)?;
        self.confirm(rules)
    }

    fn may(&self, attempt: Attempt<'_>) -> bool {
        self.policy.permits(self.identity, &Access::Resource(attempt))
    }

    fn confirm(&self, wanted: &[PolicyRule]) -> Result<(), Refusal> {
        let namespace = self.attempt.namespace.unwrap_or_default();
        let (held, errors) = self.policy.rules(self.identity, namespace);
        match escalation(self.identity, &held, &errors, wanted) {
            None => Ok(()),
            Some(why) => Err(Refusal::Escalation(why)),
        }
    }
}

impl Refusal {
    fn into_error(self, call: &Call<'_>, object: &Value) -> ApiError {
        match self {
            Self::Escalation(why) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                Status::forbidden(&call.group_resource(), name, why).into()
            }
            // As the store tells of what is not there: by the resource that was asked for.
            Self::Role(RoleMissing::NotFound { name, .. }) => {
                Status::not_found(&call.group_resource(), &name).into()
            }
            // An error that has no status of its own.
            Self::Role(other) => Status {
                code: 500,
                ..Status::failure(StatusReason::Unknown, other.to_string())
            }
            .into(),
        }
    }
}

/// Whether a cluster role takes in others.
fn gathers(role: &Value) -> bool {
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors");
    selectors
        .and_then(Value::as_array)
        .is_some_and(|selectors| !selectors.is_empty())
}

fn everything() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    let resources = PolicyRule {
        verbs: all(),
        api_groups: all(),
        resources: all(),
        ..PolicyRule::default()
    };
    let paths = PolicyRule {
        verbs: all(),
        non_resource_urls: all(),
        ..PolicyRule::default()
    };
    [resources, paths]
}

/// Whether nothing is changed but what the garbage collector has to change so that the object can go.
fn differs_for_collection_alone(new: &Value, old: &Value) -> bool {
    // What is empty is as what is not there (`equality.Semantic`).
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(field);
            }
            metadata.retain(|_, value| is_set(value));
        }
        if let Some(members) = object.as_object_mut() {
            members.retain(|_, value| is_set(value));
        }
        object
    };
    bare(new) == bare(old)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::rbac::Binding;
    use super::*;

    fn rule(verbs: &[&str], resources: &[&str], names: &[&str]) -> Value {
        json!({"verbs": verbs, "apiGroups": [if resources.contains(&"*") { "*" } else { "" }], "resources": resources, "resourceNames": names})
    }

    /// `reader` gets and lists pods in `ns`; `granter` may escalate the role `r` and bind `edit` there; `root` may do everything.
    fn policy() -> Policy {
        let mut policy = Policy::default();
        let rbac = |verb: &str, resource: &str, name: &str| json!({"verbs": [verb], "apiGroups": [GROUP], "resources": [resource], "resourceNames": [name]});
        let all = json!([rule(&["*"], &["*"], &[]), {"verbs": ["*"], "nonResourceURLs": ["*"]}]);
        let roles = [
            ("", "edit", json!([rule(&["create"], &["pods"], &[])])),
            ("", "all", all),
            ("", "view", json!([rule(&["get", "list"], &["pods"], &[])])),
            (
                "ns",
                "grants",
                json!([
                    rbac("escalate", "roles", "r"),
                    rbac("bind", "clusterroles", "edit")
                ]),
            ),
        ];
        for (namespace, name, rules) in roles {
            policy.set_role(namespace, name, serde_json::from_value(rules).unwrap());
        }
        for (namespace, kind, role, user) in [
            ("ns", "ClusterRole", "view", "reader"),
            ("ns", "Role", "grants", "granter"),
            ("", "ClusterRole", "all", "root"),
            ("", "ClusterRole", "gone", "lost"),
        ] {
            let stored = json!({"roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": [{"kind": "User", "name": user}]});
            let name = format!("{user}s");
            policy.set_binding(Binding::parse(namespace, &name, stored.to_string().as_bytes()).unwrap());
        }
        policy
    }

    #[track_caller]
    fn check(
        user: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        objects: (&Value, Option<&Value>),
        expect: Result<(), &str>,
    ) {
        let identity = match user {
            "master" => Identity::new("anybody", ["system:masters"]),
            user => Identity::new(user, ["a", "b"]),
        };
        let write = Write {
            policy: &policy(),
            identity: &identity,
            attempt: Attempt {
                verb: "update",
                group: GROUP,
                resource,
                subresource: "",
                namespace: Some(namespace).filter(|namespace| !namespace.is_empty()),
                name,
            },
            object: objects.0,
            old: objects.1,
        };
        let found = write.check().map_err(|refusal| match refusal {
            Refusal::Escalation(why) => why,
            Refusal::Role(missing) => missing.to_string(),
        });
        assert_eq!(found, expect.map_err(str::to_owned), "{user} {resource} {name}");
    }

    /// escalation_check.go, clusterrole/policybased/storage.go.
    #[test]
    fn roles() {
        let pods = json!({"metadata": {"name": "r"}, "rules": [rule(&["get"], &["pods"], &[])]});
        let secrets = json!({"metadata": {"name": "r"}, "rules": [rule(&["get"], &["pods"], &[]), rule(&["get", "list"], &["secrets"], &[])]});
        let refused = "user \"reader\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n\
                       {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}";
        for resource in ["roles", "clusterroles"] {
            check("reader", resource, "ns", "r", (&pods, None), Ok(()));
            check("reader", resource, "ns", "r", (&secrets, None), Err(refused));
            check("root", resource, "ns", "r", (&secrets, None), Ok(()));
            check("master", resource, "ns", "r", (&secrets, None), Ok(()));
        }
        // What is held in a namespace is not held elsewhere.
        let cluster = "user \"reader\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n\
                       {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}";
        check("reader", "clusterroles", "", "r", (&pods, None), Err(cluster));
        check("granter", "roles", "ns", "r", (&secrets, None), Ok(()));
        // A new role has no name in the request yet, so the right to escalate one of a name does not help.
        let granter = refused.replace("reader", "granter").replace(
            "{APIGroups:[\"\"], Resources:[\"secrets\"]",
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"]",
        );
        check("granter", "roles", "ns", "", (&secrets, None), Err(&granter));
        // Names that cannot be read are told of.
        let lost = "user \"lost\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n\
                    {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}; resolution errors: \
                    [clusterroles.rbac.authorization.k8s.io \"gone\" not found]";
        check("lost", "roles", "ns", "r", (&pods, None), Err(lost));
    }

    #[test]
    fn what_the_garbage_collector_changes_grants_nothing() {
        let old =
            json!({"metadata": {"name": "r", "labels": {"a": "b"}}, "rules": [rule(&["*"], &["*"], &[])]});
        let mut freed = old.clone();
        freed["metadata"]["finalizers"] = json!(["x/y"]);
        freed["metadata"]["ownerReferences"] = json!([{"name": "n"}]);
        freed["metadata"]["managedFields"] = json!([{}]);
        check("nobody", "roles", "ns", "r", (&freed, Some(&old)), Ok(()));
        freed["subjects"] = json!([]);
        freed["metadata"]["annotations"] = json!({});
        check("nobody", "roles", "ns", "r", (&freed, Some(&old)), Ok(()));
        freed["metadata"]["labels"] = json!({});
        let refused = "user \"nobody\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n\
                       {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}";
        check("nobody", "roles", "ns", "r", (&freed, Some(&old)), Err(refused));
    }

    #[test]
    fn roles_that_take_in_others() {
        let gathers = json!({"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
        let plain = json!({"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": []}});
        let refused = Err("must have cluster-admin privileges to use the aggregationRule");
        check("reader", "clusterroles", "", "r", (&gathers, None), refused);
        check(
            "reader",
            "clusterroles",
            "",
            "r",
            (&plain, Some(&gathers)),
            refused,
        );
        check("reader", "clusterroles", "", "r", (&plain, None), Ok(()));
        check("root", "clusterroles", "", "r", (&gathers, None), Ok(()));
    }

    /// rolebinding/policybased/storage.go.
    #[test]
    fn bindings() {
        let binding = |kind: &str, name: &str| json!({"metadata": {"name": "b"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}});
        let (view, edit) = (binding("ClusterRole", "view"), binding("ClusterRole", "edit"));
        check("reader", "rolebindings", "ns", "b", (&view, None), Ok(()));
        check("granter", "rolebindings", "ns", "b", (&edit, None), Ok(()));
        check("root", "clusterrolebindings", "", "b", (&edit, None), Ok(()));
        let refused = |user: &str| {
            format!(
                "user {user:?} (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n\
                     {{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"create\"]}}"
            )
        };
        check(
            "reader",
            "rolebindings",
            "ns",
            "b",
            (&edit, None),
            Err(&refused("reader")),
        );
        // May bind it in a namespace, not everywhere.
        check(
            "granter",
            "clusterrolebindings",
            "",
            "b",
            (&edit, None),
            Err(&refused("granter")),
        );
        check(
            "granter",
            "rolebindings",
            "other",
            "b",
            (&edit, None),
            Err(&refused("granter")),
        );
        for (kind, name, expect) in [
            (
                "ClusterRole",
                "gone",
                "clusterrole.rbac.authorization.k8s.io \"gone\" not found",
            ),
            (
                "Role",
                "gone",
                "role.rbac.authorization.k8s.io \"gone\" not found",
            ),
            ("Group", "x", "unsupported role reference kind: \"Group\""),
        ] {
            check(
                "reader",
                "rolebindings",
                "ns",
                "b",
                (&binding(kind, name), None),
                Err(expect),
            );
            check(
                "master",
                "rolebindings",
                "ns",
                "b",
                (&binding(kind, name), None),
                Ok(()),
            );
        }
    }
}
