//! Whether somebody who may do one thing may let others do another: nobody grants what they do not have.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_net::Identity;

use super::policy::{RoleMissing, aggregate};
use super::rule::{PolicyRule, has, url_covers};

/// What of `wanted` the owner's rules do not cover, broken down to rules of one verb, group, resource and name each; empty when they
/// cover all. Each such rule has to be covered by a single rule of the owner's.
///
/// It errs to the safe side: an owner who may get pods by name alone covers no rule that allows all names, and `pods/*` is a
/// resource of that name to both sides (component-helpers auth/rbac/validation/policy_comparator.go).
pub(crate) fn covers(owner: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let is_covered = |single: &PolicyRule| owner.iter().any(|rule| rule_covers(rule, single));
    let mut missing: Vec<PolicyRule> = wanted.iter().flat_map(break_down).collect();
    missing.retain(|single| !is_covered(single));
    missing
}

/// Why `identity`, who holds `owner`, may not grant `wanted`: upstream's words (pkg/registry/rbac/validation/rule.go
/// `ConfirmNoEscalation`). `None` when they may. `errors` are those met while the owner's rules were gathered.
pub(crate) fn escalation(
    identity: &Identity,
    owner: &[PolicyRule],
    errors: &[RoleMissing],
    wanted: &[PolicyRule],
) -> Option<String> {
    let missing = covers(owner, wanted);
    if missing.is_empty() {
        return None;
    }
    let missing: BTreeSet<String> = compact(missing).iter().map(describe).collect();
    let missing: Vec<String> = missing.into_iter().collect();
    let groups: Vec<String> = identity.groups.iter().map(|group| format!("{group:?}")).collect();
    let mut message = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        identity.user,
        groups.join(" "),
        missing.join("\n")
    );
    if !errors.is_empty() {
        let errors = aggregate(errors.iter().map(RoleMissing::as_read));
        message.push_str(&format!("; resolution errors: [{errors}]"));
    }
    Some(message)
}

/// Rules of one group, resource and verb each that together are the rule.
fn break_down(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |text: &String| vec![text.clone()];
    let names: Vec<Vec<String>> = match rule.resource_names.as_slice() {
        [] => vec![Vec::new()],
        names => names.iter().map(one).collect(),
    };
    let mut singles = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                singles.extend(names.iter().map(|name| PolicyRule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    resource_names: name.clone(),
                    non_resource_urls: Vec::new(),
                }));
            }
        }
    }
    for url in &rule.non_resource_urls {
        singles.extend(rule.verbs.iter().map(|verb| PolicyRule {
            verbs: one(verb),
            non_resource_urls: one(url),
            ..PolicyRule::default()
        }));
    }
    singles
}

fn rule_covers(owner: &PolicyRule, single: &PolicyRule) -> bool {
    let has_all = |owner: &[String], wanted: &[String]| wanted.iter().all(|one| has(owner, one));
    let has_resource = |wanted: &String| {
        has(&owner.resources, wanted)
            || wanted
                .split_once('/')
                .is_some_and(|(_, subresource)| owner.resources.contains(&format!("*/{subresource}")))
    };
    let has_url = |wanted: &String| owner.non_resource_urls.iter().any(|url| url_covers(url, wanted));
    let has_names = owner.resource_names.is_empty()
        || (!single.resource_names.is_empty()
            && single
                .resource_names
                .iter()
                .all(|name| owner.resource_names.contains(name)));
    has_all(&owner.verbs, &single.verbs)
        && has_all(&owner.api_groups, &single.api_groups)
        && single.resources.iter().all(has_resource)
        && single.non_resource_urls.iter().all(has_url)
        && has_names
}

/// Puts together what differs in its verb alone.
fn compact(rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut whole: BTreeMap<PolicyRule, Vec<String>> = BTreeMap::new();
    let mut compacted = Vec::new();
    for mut rule in rules {
        if rule.non_resource_urls.is_empty() {
            let verbs = std::mem::take(&mut rule.verbs);
            whole.entry(rule).or_default().extend(verbs);
        } else {
            compacted.push(rule);
        }
    }
    compacted.extend(
        whole
            .into_iter()
            .map(|(rule, verbs)| PolicyRule { verbs, ..rule }),
    );
    compacted
}

/// As upstream's `CompactString` shows a rule.
fn describe(rule: &PolicyRule) -> String {
    let fields = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let fields = fields.iter().filter(|(_, values)| !values.is_empty());
    let fields: Vec<String> = fields
        .map(|(name, values)| {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("{name}:[{}]", values.join(" "))
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}
