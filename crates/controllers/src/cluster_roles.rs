//! Cluster roles that take in the rules of others, by the labels of those
//! (kubernetes `pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go`).
//!
//! A change of any role can concern any other, so all are looked at together; what takes in what took in others follows from the change
//! that this makes. The account of the controller may grant what it does not have: it holds the verb `escalate`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kubewright_cache::Cached;
use kubewright_client::{Api, ApplyConflicts, ApplyOptions};
use kubewright_core::{LabelSelector, ObjectKey, ParseSelectorError, Untyped};
use kubewright_runtime::{Context, Controller, Error, Outcome, Reconciler, Request, Right, Verb};
use serde_json::json;

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::new(NAME, Aggregation)
        .watches::<ClusterRole>(|_| vec![ObjectKey::cluster(ALL)])
        .right(Right::to::<ClusterRole>([Verb::Patch]))
}

struct Aggregation;

impl Reconciler for Aggregation {
    async fn reconcile(&self, ctx: &Context, _: Request) -> Result<Outcome, Error> {
        let roles = concerned(&ctx.lister::<ClusterRole>()?.list().await?);
        let mut failure = None;
        for (name, rules) in changes(&roles) {
            let done = match rules {
                Ok(rules) => apply(ctx, name, &rules).await,
                Err(error) => Err(Error::terminal(error)),
            };
            // One that cannot be filled keeps no other from it.
            if let Err(error) = done {
                failure.get_or_insert(error);
            }
        }
        match failure {
            None => Ok(Outcome::done()),
            Some(error) => Err(error),
        }
    }
}

/// The roles that take in others, and those that they may take in. Of the others, which are most, no more is decoded than their labels.
fn concerned(all: &[Cached<ClusterRole>]) -> BTreeMap<String, Arc<ClusterRole>> {
    let gathers = |role: &Cached<ClusterRole>| {
        std::str::from_utf8(&role.raw()).is_ok_and(|text| text.contains("\"aggregationRule\""))
    };
    let decoded = |role: &Cached<ClusterRole>| Some((role.name().to_owned(), role.object().ok()?));
    let mut roles: BTreeMap<String, Arc<ClusterRole>> = all
        .iter()
        .filter(|role| gathers(role))
        .filter_map(decoded)
        .collect();
    let rules = roles.values().filter_map(|role| role.aggregation_rule.as_ref());
    let selectors = rules.flat_map(|rule| rule.cluster_role_selectors.iter().flatten());
    let selectors: Vec<LabelSelector> = selectors
        .filter_map(|selector| LabelSelector::from_spec(selector).ok())
        .collect();
    let is_selected = |role: &&Cached<ClusterRole>| {
        let metadata = role.metadata();
        let labels = metadata.labels.as_ref();
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
        selectors.iter().any(|selector| selector.matches(label))
    };
    roles.extend(all.iter().filter(is_selected).filter_map(decoded));
    roles
}

async fn apply(ctx: &Context, name: &str, rules: &[PolicyRule]) -> Result<(), Error> {
    let role = Untyped(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }));
    let options = ApplyOptions {
        field_manager: NAME.to_owned(),
        conflicts: ApplyConflicts::Force,
        ..ApplyOptions::default()
    };
    Api::<ClusterRole>::cluster(ctx.client())
        .apply(name, &role, &options)
        .await?;
    Ok(())
}

/// Which roles have other rules than they are to take in, in the order of their names.
fn changes(
    roles: &BTreeMap<String, Arc<ClusterRole>>,
) -> impl Iterator<Item = (&str, Result<Vec<PolicyRule>, ParseSelectorError>)> {
    roles
        .iter()
        .filter_map(|(name, role)| match taken_in(name, role, roles)? {
            Ok(rules) if rules == role.rules.as_deref().unwrap_or_default() => None,
            rules => Some((name.as_str(), rules)),
        })
}

/// The rules that a role takes in, each once: selector by selector, and by the names of the roles. `None` for a role that takes in none.
fn taken_in(
    name: &str,
    role: &ClusterRole,
    roles: &BTreeMap<String, Arc<ClusterRole>>,
) -> Option<Result<Vec<PolicyRule>, ParseSelectorError>> {
    let selectors = role.aggregation_rule.as_ref()?.cluster_role_selectors.as_deref();
    let mut all = Vec::new();
    for selector in selectors.unwrap_or_default() {
        let selector = match LabelSelector::from_spec(selector) {
            Ok(selector) => selector,
            Err(error) => return Some(Err(error)),
        };
        let others = roles.iter().filter(|(other, role)| {
            let labels = role.metadata.labels.as_ref();
            *other != name
                && selector.matches(|key| labels.and_then(|labels| labels.get(key)).map(String::as_str))
        });
        for rule in others.flat_map(|(_, role)| role.rules.iter().flatten()) {
            if !all.contains(rule) {
                all.push(rule.clone());
            }
        }
    }
    Some(Ok(all))
}

/// As upstream's controller is named, its account and its field manager too.
const NAME: &str = "clusterrole-aggregation-controller";
/// What is reconciled: all roles at once.
const ALL: &str = "all";

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn rule(verb: &str) -> Value {
        json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]})
    }

    /// A role with rules of these verbs; it has the label `to` of the first, and takes in those with the labels of the last.
    fn role(name: &str, to: &[&str], verbs: &[&str], takes: Option<&[&str]>) -> Value {
        let labels: BTreeMap<&str, &str> = to.iter().map(|label| (*label, "true")).collect();
        let mut role = json!({"metadata": {"name": name, "labels": labels}});
        role["rules"] = verbs.iter().map(|verb| rule(verb)).collect();
        if let Some(takes) = takes {
            let selectors: Vec<Value> = takes
                .iter()
                .map(|label| json!({"matchLabels": {*label: "true"}}))
                .collect();
            role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        }
        role
    }

    #[track_caller]
    fn check(roles: &[Value], expect: &[(&str, &[&str])]) {
        let named = |role: &Value| {
            let role: ClusterRole = serde_json::from_value(role.clone()).unwrap();
            (role.metadata.name.clone().unwrap(), Arc::new(role))
        };
        let roles = roles.iter().map(named).collect();
        let found: Vec<(&str, Vec<String>)> = changes(&roles)
            .map(|(name, rules)| {
                (
                    name,
                    rules.unwrap().into_iter().flat_map(|rule| rule.verbs).collect(),
                )
            })
            .collect();
        let expect: Vec<(&str, Vec<String>)> = expect
            .iter()
            .map(|(name, verbs)| (*name, verbs.iter().map(|verb| (*verb).to_owned()).collect()))
            .collect();
        assert_eq!(found, expect);
    }

    /// The rows of clusterroleaggregation_controller_test.go, and what is beside them.
    #[test]
    fn what_roles_take_in() {
        let hammer = role("hammer", &["a"], &["get"], None);
        let chisel = role("chisel", &["a", "b"], &["list", "get"], None);
        // From none to one.
        check(
            &[hammer.clone(), role("all", &[], &[], Some(&["a"]))],
            &[("all", &["get"])],
        );
        // By the order of the names, each rule once; what it has more goes.
        let all = role("all", &[], &["delete"], Some(&["a"]));
        check(
            &[hammer.clone(), chisel.clone(), all],
            &[("all", &["list", "get"])],
        );
        // Selector by selector.
        let all = role("all", &[], &[], Some(&["none", "b", "a"]));
        check(&[hammer.clone(), chisel, all], &[("all", &["list", "get"])]);
        // Nothing to be done.
        check(&[hammer.clone(), role("all", &[], &["get"], Some(&["a"]))], &[]);
        check(&[hammer.clone(), role("all", &[], &["list"], None)], &[]);
        check(&[role("all", &[], &[], Some(&["a"]))], &[]);
        // None is left.
        check(&[role("all", &[], &["get"], Some(&["a"]))], &[("all", &[])]);
        // Not itself, but others that take in some.
        let itself = role("all", &["a"], &["get", "watch"], Some(&["a"]));
        let outer = role("outer", &[], &[], Some(&["a"]));
        check(
            &[hammer, itself, outer],
            &[("all", &["get"]), ("outer", &["get", "watch"])],
        );
    }

    #[test]
    fn which_roles_are_looked_at() {
        let cached = |role: &Value| {
            let mut stored = role.clone();
            stored["metadata"]["uid"] = "u".into();
            stored["metadata"]["resourceVersion"] = "1".into();
            Cached::<ClusterRole>::from_json(stored.to_string().as_bytes()).unwrap()
        };
        let mut absent = role("absent", &[], &[], Some(&[]));
        absent["aggregationRule"]["clusterRoleSelectors"] =
            json!([{"matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}]);
        let all = [
            role("all", &[], &[], Some(&["a"])),
            role("one", &["a"], &["get"], None),
            role("other", &["c"], &["get"], None),
            role("plain", &[], &["get"], None),
        ];
        let names = |roles: &[Value]| {
            let roles: Vec<_> = roles.iter().map(cached).collect();
            concerned(&roles).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(names(&all), ["all", "one"]);
        assert_eq!(names(&all[1..]), [""; 0]);
        let more: Vec<Value> = all.into_iter().chain([absent]).collect();
        assert_eq!(names(&more), ["absent", "all", "one", "plain"]);
    }

    #[test]
    fn a_selector_that_makes_no_sense() {
        let mut all = role("all", &[], &["get"], Some(&[]));
        all["aggregationRule"]["clusterRoleSelectors"] =
            json!([{"matchExpressions": [{"key": "a", "operator": "Near"}]}]);
        let all: ClusterRole = serde_json::from_value(all).unwrap();
        let roles = BTreeMap::from([("all".to_owned(), Arc::new(all))]);
        assert!(changes(&roles).all(|(_, rules)| rules.is_err()));
        assert_eq!(changes(&roles).count(), 1);
    }
}
