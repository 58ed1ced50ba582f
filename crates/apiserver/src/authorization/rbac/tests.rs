//! Cases of upstream's `rbac_test.go`, `rule_test.go` and `policy_comparator_test.go`, and what holds for all rules.

use kubewright_net::Identity;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::authorization::{Access, Attempt};

/// `verbs groups resources names urls`, each a list with commas; `-` is none and `core` the group of no name.
fn rule(text: &str) -> PolicyRule {
    let lists: Vec<Vec<String>> = text
        .split(' ')
        .map(|list| {
            let items = list.split(',').filter(|item| *item != "-");
            items.map(|item| item.replace("core", "")).collect()
        })
        .collect();
    let list = |at: usize| lists.get(at).cloned().unwrap_or_default();
    PolicyRule {
        verbs: list(0),
        api_groups: list(1),
        resources: list(2),
        resource_names: list(3),
        non_resource_urls: list(4),
    }
}

/// `verb /path`, or `verb group resource[/subresource] [name]`, in the namespace `ns`.
fn access(text: &str) -> Access<'_> {
    let parts: Vec<&str> = text.split(' ').collect();
    if let [verb, path] = parts[..] {
        return Access::Path { verb, path };
    }
    let (resource, subresource) = parts[2].split_once('/').unwrap_or((parts[2], ""));
    Access::Resource(Attempt {
        verb: parts[0],
        group: if parts[1] == "core" { "" } else { parts[1] },
        resource,
        subresource,
        namespace: Some("ns"),
        name: parts.get(3).unwrap_or(&""),
    })
}

#[test]
fn rules_allow_what_they_name() {
    let check = |of: &str, allowed: &[&str], refused: &[&str]| {
        let rule = rule(of);
        for text in allowed {
            assert!(rule.allows(&access(text)), "{of} allows {text}");
        }
        for text in refused {
            assert!(!rule.allows(&access(text)), "{of} refuses {text}");
        }
    };
    check(
        "* g1 r1",
        &["v1 g1 r1", "v2 g1 r1"],
        &["v1 g2 r1", "v1 g1 r2", "v1 /r1"],
    );
    check("v1 * r1", &["v1 g1 r1", "v1 g2 r1"], &["v1 g1 r2", "v2 g1 r1"]);
    check(
        "v1 g1 *",
        &["v1 g1 r1", "v1 g1 r2", "v1 g1 r2/status"],
        &["v1 g2 r1", "v2 g1 r1"],
    );
    check(
        "v1,v2 g1,g2 r1,r2",
        &["v1 g1 r1", "v2 g2 r2", "v1 g2 r1"],
        &["v3 g1 r1", "v1 g3 r1", "v1 g1 r3", "v1 g1 r1/status"],
    );
    check(
        "* * pods/status",
        &["get core pods/status"],
        &["get core pods", "get core pods/log"],
    );
    check(
        "* * */scale",
        &["get apps deployments/scale", "get x anything/scale"],
        &[
            "get apps scale",
            "get apps deployments",
            "get apps deployments/xscale",
        ],
    );
    check(
        "get core pods",
        &["get core pods"],
        &["get core pods/status", "get apps pods"],
    );
    check("get core pods/*", &[], &["get core pods/status", "get core pods"]);
    check(
        "get core configmaps a,b",
        &["get core configmaps a", "get core configmaps b"],
        &["get core configmaps c", "get core configmaps"],
    );
    check(
        "get - - - /apis",
        &["get /apis"],
        &["watch /apis", "get /apis/v1", "get core apis"],
    );
    check(
        "get - - - /apis/*",
        &["get /apis/v1", "get /apis/v1/a"],
        &["get /apis", "get /api/v1"],
    );
    check("* - - - *", &["get /", "post /a/b"], &["get core pods"]);
    check("- core pods", &[], &["get core pods"]);
}

fn bind(policy: &mut Policy, namespace: &str, name: &str, role: &str, subjects: &Value) {
    let (kind, role) = role.split_once('/').unwrap();
    let stored = json!({
        "subjects": subjects,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
    });
    let binding = Binding::parse(namespace, name, stored.to_string().as_bytes());
    policy.set_binding(binding.unwrap());
}

/// The namespaces `ns` and `other` and a few that may act there.
fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.set_role("", "everything", vec![rule("* * *"), rule("* - - - *")]);
    policy.set_role("", "reader", vec![rule("get,list,watch core pods")]);
    policy.set_role("ns", "writer", vec![rule("create core pods")]);
    let masters = json!([{"kind": "Group", "name": "admins"}]);
    bind(&mut policy, "", "admins", "ClusterRole/everything", &masters);
    let readers = json!([
        {"kind": "User", "name": "joe"},
        {"kind": "ServiceAccount", "namespace": "ns", "name": "sa"},
        {"kind": "ServiceAccount", "name": "nowhere"},
    ]);
    bind(&mut policy, "ns", "readers", "ClusterRole/reader", &readers);
    let writers = json!([{"kind": "ServiceAccount", "name": "sa"}, {"kind": "Group", "name": "writers"}]);
    bind(&mut policy, "ns", "writers", "Role/writer", &writers);
    let lost = json!([{"kind": "Group", "name": "lost"}]);
    bind(&mut policy, "", "b", "ClusterRole/gone", &lost);
    bind(&mut policy, "ns", "a", "Role/gone", &lost);
    bind(&mut policy, "ns", "c", "Role/gone", &lost);
    policy
}

#[test]
fn bindings_give_roles_to_subjects() {
    let policy = policy();
    let check = |user: &str, groups: &[&str], verb: &str, namespace: &str, expect: Result<&str, &str>| {
        let identity = Identity::new(user, groups.iter().copied());
        let attempt = Attempt {
            verb,
            group: "",
            resource: "pods",
            subresource: "",
            namespace: Some(namespace),
            name: "",
        };
        let found = policy.allows(&identity, &Access::Resource(attempt));
        let found = found
            .map(|source| source.to_string())
            .map_err(|errors| match errors.as_slice() {
                [] => String::new(),
                errors => aggregate(errors.iter().map(ToString::to_string)),
            });
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            expect,
            "{user} {groups:?} {verb} {namespace:?}"
        );
    };
    let by_cluster = r#"ClusterRoleBinding "admins" of ClusterRole "everything" to Group "admins""#;
    check("a", &["admins"], "get", "ns", Ok(by_cluster));
    check("a", &["x", "admins"], "delete", "other", Ok(by_cluster));
    check("a", &["admins"], "delete", "", Ok(by_cluster));
    check("admins", &[], "get", "ns", Err(""));
    let reads = r#"RoleBinding "readers/ns" of ClusterRole "reader" to"#;
    check("joe", &[], "get", "ns", Ok(&format!(r#"{reads} User "joe""#)));
    check("joe", &[], "create", "ns", Err(""));
    check("joe", &[], "get", "other", Err(""));
    check("joe", &[], "get", "", Err(""));
    check("", &["joe"], "get", "ns", Err(""));
    let sa = "system:serviceaccount:ns:sa";
    check(
        sa,
        &[],
        "list",
        "ns",
        Ok(&format!(r#"{reads} ServiceAccount "sa/ns""#)),
    );
    let writes = r#"RoleBinding "writers/ns" of Role "writer" to"#;
    check(
        sa,
        &[],
        "create",
        "ns",
        Ok(&format!(r#"{writes} ServiceAccount "sa/ns""#)),
    );
    check(
        "x",
        &["writers"],
        "create",
        "ns",
        Ok(&format!(r#"{writes} Group "writers""#)),
    );
    check("system:serviceaccount:other:sa", &[], "list", "ns", Err(""));
    let gone = r#"clusterrole.rbac.authorization.k8s.io "gone" not found"#;
    let both = format!(r#"[{gone}, role.rbac.authorization.k8s.io "gone" not found]"#);
    check("x", &["lost"], "get", "", Err(gone));
    check("x", &["lost"], "get", "ns", Err(&both));
    check(
        "joe",
        &["lost"],
        "get",
        "ns",
        Ok(&format!(r#"{reads} User "joe""#)),
    );
}

#[test]
fn a_service_account_of_no_namespace_holds_nothing_of_the_cluster() {
    let mut policy = policy();
    let nobody = json!([{"kind": "ServiceAccount", "name": "sa"}]);
    bind(&mut policy, "", "nobody", "ClusterRole/everything", &nobody);
    for user in ["system:serviceaccount::sa", "system:serviceaccount:ns:sa", "sa"] {
        let (rules, _) = policy.rules(&Identity::new(user, [""; 0]), "");
        assert_eq!(rules, [], "{user}");
    }
}

#[test]
fn what_is_replaced_or_removed_counts_no_longer() {
    let mut policy = policy();
    let joe = Identity::new("joe", [""; 0]);
    let rules = |policy: &Policy| policy.rules(&joe, "ns").0;
    let before = policy.clone();
    assert_eq!(rules(&policy), [rule("get,list,watch core pods")]);
    policy.set_role("", "reader", vec![rule("get core pods")]);
    assert_eq!(rules(&policy), [rule("get core pods")]);
    let others = json!([{"kind": "User", "name": "jane"}]);
    bind(&mut policy, "ns", "readers", "ClusterRole/reader", &others);
    assert_eq!(rules(&policy), []);
    let joe_too = json!([{"kind": "User", "name": "joe"}]);
    bind(&mut policy, "ns", "readers", "ClusterRole/reader", &joe_too);
    policy.remove_role("", "reader");
    assert_eq!(policy.rules(&joe, "ns").1.len(), 1);
    policy.remove_binding("ns", "readers");
    assert_eq!(policy.rules(&joe, "ns"), (vec![], vec![]));
    assert_eq!(rules(&before), [rule("get,list,watch core pods")]);
}

#[test]
fn stored_objects_are_read() {
    let stored =
        json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}, {"verbs": null, "apiGroups": [""]}]});
    let rules = PolicyRule::parse(stored.to_string().as_bytes()).unwrap();
    assert_eq!(rules, [rule("get - - - /a"), rule("- core")]);
    for none in ["{}", r#"{"rules": null}"#] {
        assert_eq!(PolicyRule::parse(none.as_bytes()).unwrap(), []);
    }
    assert!(PolicyRule::parse(b"[").is_err());
    assert!(Binding::parse("", "x", b"{}").is_err());
}

#[test]
fn owners_cover_what_they_hold() {
    let check = |owner: &[&str], wanted: &[&str], missing: &[&str]| {
        let rules = |texts: &[&str]| texts.iter().map(|text| rule(text)).collect::<Vec<_>>();
        assert_eq!(
            covers(&rules(owner), &rules(wanted)),
            rules(missing),
            "{owner:?} {wanted:?}"
        );
    };
    check(&["* v1 *"], &["delete,update v1 builds"], &[]);
    check(
        &["delete,get v1 builds"],
        &["delete,update v1 builds"],
        &["update v1 builds"],
    );
    check(
        &["delete v1 builds", "update v1 builds"],
        &["delete,update v1 builds"],
        &[],
    );
    check(
        &["delete v1 builds", "update v1 builds"],
        &["delete,update v1 builds,images"],
        &["delete v1 images", "update v1 images"],
    );
    check(&["get v1 pods a"], &["get v1 pods"], &["get v1 pods"]);
    check(&["get v1 pods"], &["get v1 pods a,b"], &[]);
    check(&["get v1 pods a"], &["get v1 pods a,b"], &["get v1 pods b"]);
    check(&["get v1 */scale"], &["get v1 pods/scale"], &[]);
    check(&["get v1 pods/*"], &["get v1 pods/scale"], &["get v1 pods/scale"]);
    check(&["get v1 pods"], &["* v1 pods"], &["* v1 pods"]);
    check(
        &["get - - - /a/*"],
        &["get - - - /a/b,/a/*,/a"],
        &["get - - - /a"],
    );
    check(&["* - - - *"], &["get - - - /a"], &[]);
    check(&["* * *"], &["get - - - /a"], &["get - - - /a"]);
    check(&[], &["get - -", "- v1 pods"], &[]);
}

#[test]
fn whoever_grants_more_is_told_what() {
    let identity = Identity::new("joe", ["a", "b"]);
    let wanted = [
        rule("get,list core secrets,pods"),
        rule("get core pods x"),
        rule("get - - - /m"),
    ];
    let owner = [rule("list core pods")];
    let expect = "user \"joe\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n\
        {APIGroups:[\"\"], Resources:[\"pods\"], ResourceNames:[\"x\"], Verbs:[\"get\"]}\n\
        {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}\n\
        {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n\
        {NonResourceURLs:[\"/m\"], Verbs:[\"get\"]}";
    assert_eq!(
        escalation(&identity, &owner, &[], &wanted).as_deref(),
        Some(expect)
    );
    let lost = RoleMissing::NotFound {
        kind: "clusterrole",
        name: "gone".to_owned(),
    };
    let expect = format!("{expect}; resolution errors: [clusterroles.{GROUP} \"gone\" not found]");
    assert_eq!(escalation(&identity, &owner, &[lost], &wanted), Some(expect));
    assert_eq!(escalation(&identity, &owner, &[], &owner), None);
}

fn some(words: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(words).prop_map(str::to_owned), 0..3)
}

/// A valid rule: it speaks of resources or of paths, never of both (pkg/apis/rbac/validation).
fn any_rule() -> impl Strategy<Value = PolicyRule> {
    let resources = some(&["*", "pods", "pods/status", "*/status", "nodes"]);
    let resources = (some(&["*", "", "apps"]), resources, some(&["x", "y"]));
    let resources = resources.prop_map(|(api_groups, resources, resource_names)| PolicyRule {
        api_groups,
        resources,
        resource_names,
        ..PolicyRule::default()
    });
    let urls = some(&["*", "/a", "/a/*", "/a/b"]);
    let paths = urls.prop_map(|non_resource_urls| PolicyRule {
        non_resource_urls,
        ..PolicyRule::default()
    });
    let verbs = some(&["*", "get", "list"]);
    (verbs, prop_oneof![3 => resources, 1 => paths]).prop_map(|(verbs, rule)| PolicyRule { verbs, ..rule })
}

/// Everything that can be tried in the small world of [`any_rule`].
fn everything() -> Vec<String> {
    let mut all = Vec::new();
    for verb in ["get", "list", "put"] {
        for group in ["core", "apps", "batch"] {
            for resource in ["pods", "pods/status", "nodes", "nodes/status", "jobs"] {
                all.extend(["", " x", " z"].map(|name| format!("{verb} {group} {resource}{name}")));
            }
        }
        all.extend(["/a", "/a/b", "/a/b/c", "/z"].map(|path| format!("{verb} {path}")));
    }
    all
}

proptest! {
    #[test]
    fn whoever_covers_rules_may_do_what_they_allow(
        owner in prop::collection::vec(any_rule(), 0..4),
        wanted in prop::collection::vec(any_rule(), 0..3),
    ) {
        prop_assert_eq!(covers(&owner, &owner), vec![]);
        let missing = covers(&owner, &wanted);
        // With what is missing besides, everything is covered.
        let both: Vec<PolicyRule> = owner.iter().chain(&missing).cloned().collect();
        prop_assert_eq!(covers(&both, &wanted), vec![]);
        for text in everything() {
            let access = access(&text);
            let may = |rules: &[PolicyRule]| rules.iter().any(|rule| rule.allows(&access));
            prop_assert!(!may(&wanted) || may(&both), "{}", text);
        }
    }

    #[test]
    fn covering_is_transitive(
        first in prop::collection::vec(any_rule(), 1..4),
        second in prop::collection::vec(any_rule(), 0..3),
        third in prop::collection::vec(any_rule(), 0..3),
    ) {
        let with = |rules: &[PolicyRule], more: &[PolicyRule]| {
            rules.iter().cloned().chain(covers(rules, more)).collect::<Vec<_>>()
        };
        let second = with(&second, &third);
        let first = with(&first, &second);
        prop_assert_eq!(covers(&first, &third), vec![]);
    }

    #[test]
    fn found_by_subject_is_found_by_looking_at_all(
        held in prop::collection::vec((0..3_usize, 0..2_usize, 0..4_usize, any_rule()), 0..6),
    ) {
        let subjects = [
            json!({"kind": "User", "name": "joe"}),
            json!({"kind": "Group", "name": "g"}),
            json!({"kind": "User", "name": "jane"}),
        ];
        let mut policy = Policy::default();
        let mut latest = std::collections::BTreeMap::new();
        for (subject, scope, name, rule) in held {
            let (namespace, name) = (["", "ns"][scope], ["a", "b", "c", "d"][name]);
            let kind = ["ClusterRole", "Role"][scope];
            policy.set_role(namespace, name, vec![rule.clone()]);
            bind(&mut policy, namespace, name, &format!("{kind}/{name}"), &json!([subjects[subject]]));
            latest.insert((namespace, name), (subject, rule));
        }
        let joe = Identity::new("joe", ["g"]);
        let held = latest.into_values().filter(|(subject, _)| *subject < 2);
        let held: Vec<PolicyRule> = held.map(|(_, rule)| rule).collect();
        prop_assert_eq!(&policy.rules(&joe, "ns").0, &held);
        for text in everything().iter().filter(|text| !text.contains(" /")) {
            let naive = held.iter().any(|rule| rule.allows(&access(text)));
            prop_assert_eq!(policy.allows(&joe, &access(text)).is_ok(), naive, "{}", text);
            prop_assert_eq!(policy.permits(&joe, &access(text)), naive, "{}", text);
        }
    }
}
