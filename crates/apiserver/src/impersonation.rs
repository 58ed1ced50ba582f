//! Acting as somebody else: the `Impersonate-*` headers (apiserver pkg/endpoints/filters/impersonation, KEP-5284).
//!
//! It comes between authentication and authorization: whoever may impersonate is from here on the other one.
//!
//! There are several ways to be allowed it, tried in turn. Those that are constrained ask for two rights: to do what the request does while
//! acting as somebody (`impersonate-on:MODE:VERB` on what is asked for), and to act as just them (`impersonate:MODE` on a user, node or
//! account). The last is the old one, which asks for the verb `impersonate` alone. Where none allows it, the first refusal is the answer.
//! Unlike upstream, nothing of it is remembered.

use std::collections::BTreeMap;

use http::HeaderMap;
use kubewright_core::{FieldPath, Status};
use kubewright_net::Identity;

use crate::authentication::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use crate::authorization::{Access, Attempt, MASTERS, Rules, forbidden};
use crate::builtin::validation::groups::domain_prefixed_problems;
use crate::builtin::validation::names::{label, subdomain};
use crate::error::ApiResult;

/// Whether a request may ask to act as somebody else. Names of headers are in lower case.
pub(crate) fn is_asked(headers: &HeaderMap) -> bool {
    headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
}

/// The identity that a request acts as: that of its headers where it has such, else its own. `access` is what it is about to do.
///
/// # Errors
/// 400 for headers that name no user, 403 for somebody who may not act as all that they ask for.
pub(crate) fn impersonate(
    identity: Identity,
    rules: &Rules,
    access: &Access<'_>,
    headers: &HeaderMap,
) -> ApiResult<Identity> {
    let wanted = wanted(headers);
    if wanted.user.is_empty() {
        if wanted == Identity::default() {
            return Ok(identity);
        }
        let message = format!("requested {} without impersonating a user name", printed(&wanted));
        return Err(Status::bad_request(message).into());
    }
    let asked = Asked {
        requestor: &identity,
        wanted: &wanted,
        access,
        rules,
    };
    let mut refusal = None;
    for mode in Mode::ALL.into_iter().filter(|mode| mode.applies(&asked)) {
        match asked.by(mode) {
            Ok(acting) => {
                tracing::debug!(user = identity.user, ?mode, "a request acts as somebody else");
                return Ok(acting);
            }
            Err(error) => drop(refusal.get_or_insert(error)),
        }
    }
    Err(refusal.unwrap_or_else(|| Status::internal_error("all impersonation modes failed").into()))
}

/// A way to be allowed to act as somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// As the node that a pod of the asking service account runs on.
    AssociatedNode,
    /// As some node.
    ArbitraryNode,
    /// As a service account.
    ServiceAccount,
    /// As a user that is neither, with groups and the like.
    UserInfo,
    /// As anybody.
    Legacy,
}

impl Mode {
    /// All, in the order in which they are tried.
    const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Legacy,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn applies(self, asked: &Asked<'_>) -> bool {
        let Asked {
            requestor, wanted, ..
        } = asked;
        let is_name_alone = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (node(&wanted.user), service_account(&wanted.user));
        match self {
            Self::AssociatedNode => {
                let own = requestor.extra.get(NODE_NAME).map(Vec::as_slice);
                let is_own = node.is_some_and(|node| matches!(own, Some([own]) if own == node));
                is_name_alone && is_own && service_account(&requestor.user).is_some()
            }
            Self::ArbitraryNode => is_name_alone && node.is_some(),
            Self::ServiceAccount => is_name_alone && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

/// That somebody asks to do something as somebody else.
struct Asked<'a> {
    requestor: &'a Identity,
    wanted: &'a Identity,
    access: &'a Access<'a>,
    rules: &'a Rules,
}

impl Asked<'_> {
    /// Whom they act as, if a mode allows it.
    fn by(&self, mode: Mode) -> ApiResult<Identity> {
        let mut acting = self.wanted.clone();
        let mut verb = "impersonate".to_owned();
        // The group of users and groups.
        let mut group = "";
        if mode != Mode::Legacy {
            let name = mode.name();
            self.authorize_on(&format!("impersonate-on:{name}:"))?;
            verb = format!("impersonate:{name}");
            group = AUTHENTICATION;
        }
        let attempt = |group, resource, subresource, name| Attempt {
            verb: &verb,
            group,
            resource,
            subresource,
            namespace: None,
            name,
        };

        let mut user = attempt(group, "users", "", self.wanted.user.as_str());
        if let Some(name) = node(&self.wanted.user).filter(|_| mode != Mode::Legacy) {
            user.resource = "nodes";
            // Which one it is was seen from the token.
            user.name = if mode == Mode::AssociatedNode { "*" } else { name };
            acting.groups = vec![NODES.to_owned()];
        }
        if let Some((namespace, name)) = service_account(&self.wanted.user) {
            user.resource = "serviceaccounts";
            (user.namespace, user.name) = (Some(namespace), name);
            if self.wanted.groups.is_empty() {
                acting.groups = vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                ];
            }
        }
        self.authorize(user)?;
        if !self.wanted.uid.is_empty() {
            self.authorize(attempt(AUTHENTICATION, "uids", "", &self.wanted.uid))?;
        }
        self.authorize_groups(mode, attempt(group, "groups", "", ""))?;
        self.authorize_extra(mode, attempt(AUTHENTICATION, "userextras", "", ""))?;

        let is_in = |group: &str| acting.groups.iter().any(|one| one == group);
        let added = if acting.user == ANONYMOUS {
            (!is_in(UNAUTHENTICATED)).then_some(UNAUTHENTICATED)
        } else {
            (!is_in(AUTHENTICATED) && !is_in(UNAUTHENTICATED)).then_some(AUTHENTICATED)
        };
        acting.groups.extend(added.map(str::to_owned));
        Ok(acting)
    }

    /// What the request does, by another verb.
    fn authorize_on(&self, prefix: &str) -> ApiResult<()> {
        let on = |verb: &str| format!("{prefix}{verb}");
        match *self.access {
            Access::Resource(attempt) => {
                let verb = on(attempt.verb);
                self.authorize(Attempt {
                    verb: &verb,
                    ..attempt
                })
            }
            Access::Path { verb, path } => {
                let verb = &on(verb);
                self.rules
                    .authorize_impersonation(self.requestor, &Access::Path { verb, path })
            }
        }
    }

    fn authorize(&self, attempt: Attempt<'_>) -> ApiResult<()> {
        self.rules
            .authorize_impersonation(self.requestor, &Access::Resource(attempt))
    }

    fn refuse(&self, attempt: &Attempt<'_>, why: &str) -> ApiResult<()> {
        Err(forbidden(self.requestor, &Access::Resource(*attempt), why))
    }

    fn authorize_groups(&self, mode: Mode, attempt: Attempt<'_>) -> ApiResult<()> {
        let groups = &self.wanted.groups;
        if mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                return self.refuse(&attempt, "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == MASTERS) {
                let attempt = Attempt {
                    name: MASTERS,
                    ..attempt
                };
                return self.refuse(&attempt, "impersonating the system:masters group is not allowed");
            }
            let all = Attempt { name: "*", ..attempt };
            if groups.len() >= MANY && self.authorize(all).is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|name| self.authorize(Attempt { name, ..attempt }))
    }

    fn authorize_extra(&self, mode: Mode, attempt: Attempt<'_>) -> ApiResult<()> {
        let extra = &self.wanted.extra;
        if extra.is_empty() {
            return Ok(());
        }
        if mode != Mode::Legacy {
            if let Some(why) = extra.iter().find_map(|(key, values)| wrong_extra(key, values)) {
                return self.refuse(&attempt, &why);
            }
            let all = Attempt {
                subresource: "*",
                name: "*",
                ..attempt
            };
            let is_many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if is_many && self.authorize(all).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for name in values {
                self.authorize(Attempt {
                    subresource: key,
                    name,
                    ..attempt
                })?;
            }
        }
        Ok(())
    }
}

/// What is wrong with an extra for the constrained modes.
fn wrong_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let problems = domain_prefixed_problems(&FieldPath::new("extra").child("key"), key);
    if !problems.is_empty() {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let problems = match problems.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: {problems}"
        ));
    }
    if key != key.to_lowercase() {
        return Some(format!(
            "impersonating a non-lowercase key in extra is not allowed: {key:?}"
        ));
    }
    let is_empty = values.iter().any(String::is_empty);
    is_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// Whom the headers ask for.
fn wanted(headers: &HeaderMap) -> Identity {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        // Names of headers are in lower case here, as upstream makes the keys.
        if let Some(key) = name.as_str().strip_prefix("impersonate-extra-") {
            extra.entry(unescaped(key)).or_default().push(text(value));
        }
    }
    let mut wanted = Identity::new(
        first("impersonate-user"),
        headers.get_all("impersonate-group").iter().map(text),
    );
    wanted.uid = first("impersonate-uid");
    wanted.extra = extra;
    wanted
}

/// A key as the header has it where it is not escaped well (Go's `url.PathUnescape`).
fn unescaped(key: &str) -> String {
    let mut rest = key.bytes();
    let is_escaped = |rest: &mut std::str::Bytes<'_>| {
        let mut hex = || rest.next().is_some_and(|byte| byte.is_ascii_hexdigit());
        hex() && hex()
    };
    while let Some(byte) = rest.next() {
        if byte == b'%' && !is_escaped(&mut rest) {
            return key.to_owned();
        }
    }
    percent_encoding::percent_decode_str(key)
        .decode_utf8_lossy()
        .into_owned()
}

/// As Go prints the `user.DefaultInfo` that upstream makes of the headers.
fn printed(wanted: &Identity) -> String {
    let list = |values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        format!("[]string{{{}}}", values.join(", "))
    };
    let groups = match wanted.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => list(groups),
    };
    let extra: Vec<String> = wanted
        .extra
        .iter()
        .map(|(key, values)| format!("{key:?}:{}", list(values)))
        .collect();
    let extra = match extra.as_slice() {
        [] => "map[string][]string(nil)".to_owned(),
        extra => format!("map[string][]string{{{}}}", extra.join(", ")),
    };
    let (name, uid) = (&wanted.user, &wanted.uid);
    format!("&user.DefaultInfo{{Name:{name:?}, UID:{uid:?}, Groups:{groups}, Extra:{extra}}}")
}

/// Namespace and name of a service account (authentication/serviceaccount `SplitUsername`).
fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (label(namespace).is_empty() && subdomain(name).is_empty()).then_some((namespace, name))
}

/// The name of a node.
fn node(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    subdomain(name).is_empty().then_some(name)
}

const AUTHENTICATION: &str = "authentication.k8s.io";
/// The group of all nodes.
const NODES: &str = "system:nodes";
/// What a token bound to a pod tells of the node.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// So many values are first asked for as all (`manyAuthorizationChecksInLoop`).
const MANY: usize = 4;

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;
    use crate::authorization::policy_of;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    /// A request to list pods in a namespace.
    fn listing() -> Access<'static> {
        Access::Resource(Attempt {
            verb: "list",
            group: "",
            resource: "pods",
            subresource: "",
            namespace: Some("ns"),
            name: "",
        })
    }

    #[test]
    fn masters_act_as_whom_they_name() {
        let admin = Identity::new("admin", [MASTERS, AUTHENTICATED]);
        let check = |pairs: &[(&'static str, &'static str)], user: &str, groups: &[&str]| {
            for rules in [Rules::AuthenticatedOnly, Rules::Everything] {
                let found = impersonate(admin.clone(), &rules, &listing(), &headers(pairs)).unwrap();
                assert_eq!(found.user, user);
                assert_eq!(found.groups, groups, "{pairs:?}");
            }
            impersonate(admin.clone(), &Rules::Everything, &listing(), &headers(pairs)).unwrap()
        };
        check(&[], "admin", &[MASTERS, AUTHENTICATED]);
        check(&[("impersonate-user", "bob")], "bob", &[AUTHENTICATED]);
        check(
            &[
                ("impersonate-user", "bob"),
                ("impersonate-group", "a"),
                ("impersonate-group", "b"),
            ],
            "bob",
            &["a", "b", AUTHENTICATED],
        );
        check(
            &[
                ("impersonate-user", "bob"),
                ("impersonate-group", UNAUTHENTICATED),
            ],
            "bob",
            &[UNAUTHENTICATED],
        );
        check(&[("impersonate-user", ANONYMOUS)], ANONYMOUS, &[UNAUTHENTICATED]);
        // Only the old way leads to this group.
        let pairs = [("impersonate-user", "bob"), ("impersonate-group", MASTERS)];
        check(&pairs, "bob", &[MASTERS, AUTHENTICATED]);
        let node = "system:node:n1";
        check(&[("impersonate-user", node)], node, &[NODES, AUTHENTICATED]);
        let pairs = [("impersonate-user", node), ("impersonate-group", "a")];
        check(&pairs, node, &["a", AUTHENTICATED]);
        let account = "system:serviceaccount:ns:operator";
        check(
            &[("impersonate-user", account)],
            account,
            &[
                "system:serviceaccounts",
                "system:serviceaccounts:ns",
                AUTHENTICATED,
            ],
        );
        let pairs = [("impersonate-user", account), ("impersonate-group", "a")];
        check(&pairs, account, &["a", AUTHENTICATED]);
        let found = check(
            &[
                ("impersonate-user", "bob"),
                ("impersonate-uid", "7"),
                ("impersonate-extra-example.com%2fscopes", "x"),
                ("impersonate-extra-example.com%2fscopes", "y"),
                ("impersonate-extra-a%2", "bad"),
                ("impersonate-extra-b%zz", "bad"),
            ],
            "bob",
            &[AUTHENTICATED],
        );
        assert_eq!(found.uid, "7");
        let extra: Vec<(&str, usize)> = found
            .extra
            .iter()
            .map(|(key, values)| (key.as_str(), values.len()))
            .collect();
        assert_eq!(extra, [("a%2", 1), ("b%zz", 1), ("example.com/scopes", 2)]);
    }

    #[test]
    fn headers_that_name_no_user() {
        for (pairs, shown) in [
            (
                [("impersonate-group", "g")],
                r#"Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)"#,
            ),
            (
                [("impersonate-uid", "7")],
                r#"Name:"", UID:"7", Groups:[]string(nil), Extra:map[string][]string(nil)"#,
            ),
            (
                [("impersonate-extra-k", "v")],
                r#"Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"k":[]string{"v"}}"#,
            ),
        ] {
            let admin = Identity::new("admin", [MASTERS]);
            let error = impersonate(admin, &Rules::Everything, &listing(), &headers(&pairs)).unwrap_err();
            let message = format!("requested &user.DefaultInfo{{{shown}}} without impersonating a user name");
            assert_eq!((error.status().code, &error.status().message), (400, &message));
        }
    }

    /// Rules of `agent`, one to a line: verb, group, resource, name. KEP-5284; the texts are those of the first mode that applies.
    #[test]
    fn rights_to_act_as_others() {
        #[track_caller]
        fn check(rules: &[&str], pairs: &[(&'static str, &'static str)], expect: Result<&[&str], &str>) {
            let rule = |line: &&str| {
                let words: Vec<&str> = line.split(' ').collect();
                let group = if words[1] == "core" { "" } else { words[1] };
                let names: Vec<&str> = words.get(3).into_iter().copied().collect();
                json!({"verbs": [words[0]], "apiGroups": [group], "resources": [words[2]], "resourceNames": names})
            };
            let rules: Vec<_> = rules.iter().map(rule).collect();
            let policy = policy_of("system:serviceaccount:ops:agent", &json!(rules));
            let mut agent = Identity::new("system:serviceaccount:ops:agent", [AUTHENTICATED]);
            agent.extra.insert(NODE_NAME.to_owned(), vec!["n1".to_owned()]);
            let found = impersonate(agent, &Rules::Rbac(policy.into()), &listing(), &headers(pairs));
            let found = found.map(|acting| acting.groups);
            match (found, expect) {
                (Ok(groups), Ok(expect)) => assert_eq!(groups, expect, "{pairs:?}"),
                (Err(error), Err(expect)) => {
                    assert_eq!(error.status().code, 403);
                    assert_eq!(error.status().message, expect, "{pairs:?}");
                }
                (found, expect) => panic!("{found:?}, not {expect:?}: {pairs:?}"),
            }
        }
        const AGENT: &str = "User \"system:serviceaccount:ops:agent\" cannot";
        let bob = [("impersonate-user", "bob")];
        let on = |mode: &str| {
            format!(
                "pods is forbidden: {AGENT} impersonate-on:{mode}:list resource \"pods\" in API group \"\" in the namespace \"ns\""
            )
        };
        check(&[], &bob, Err(&on("user-info")));
        check(&["impersonate core users bob"], &bob, Ok(&[AUTHENTICATED]));
        check(&["impersonate core users eve"], &bob, Err(&on("user-info")));
        let may_on = "impersonate-on:user-info:list core pods";
        let as_bob = "impersonate:user-info authentication.k8s.io users bob";
        let refused = format!(
            "users.authentication.k8s.io \"bob\" is forbidden: {AGENT} impersonate:user-info resource \"users\" in API group \"authentication.k8s.io\" at the cluster scope"
        );
        check(&[may_on], &bob, Err(&refused));
        check(&[may_on, as_bob], &bob, Ok(&[AUTHENTICATED]));
        check(
            &["impersonate-on:user-info:get core pods", as_bob],
            &bob,
            Err(&on("user-info")),
        );

        // Groups and the like have to be allowed each; the group of those who may do everything never is.
        let groups = |group: &'static str| [("impersonate-user", "bob"), ("impersonate-group", group)];
        let as_group = "impersonate:user-info authentication.k8s.io groups a";
        check(
            &[may_on, as_bob, as_group],
            &groups("a"),
            Ok(&["a", AUTHENTICATED]),
        );
        let everybody = "impersonate:user-info authentication.k8s.io groups";
        let masters = format!(
            "groups.authentication.k8s.io \"system:masters\" is forbidden: {AGENT} impersonate:user-info resource \"groups\" in API group \"authentication.k8s.io\" at the cluster scope: impersonating the system:masters group is not allowed"
        );
        check(&[may_on, as_bob, everybody], &groups(MASTERS), Err(&masters));
        let four: Vec<_> = [("impersonate-user", "bob")]
            .into_iter()
            .chain(["a", "b", "c", "d"].map(|group| ("impersonate-group", group)))
            .collect();
        let all = "impersonate:user-info authentication.k8s.io groups *";
        check(
            &[may_on, as_bob, all],
            &four,
            Ok(&["a", "b", "c", "d", AUTHENTICATED]),
        );
        let extra = [("impersonate-user", "bob"), ("impersonate-extra-scopes", "x")];
        let no_domain = format!(
            "userextras.authentication.k8s.io is forbidden: {AGENT} impersonate:user-info resource \"userextras\" in API group \"authentication.k8s.io\" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: \"scopes\": must be a domain-prefixed path (such as \"acme.io/foo\")"
        );
        check(&[may_on, as_bob], &extra, Err(&no_domain));
        let extra = [("impersonate-user", "bob"), ("impersonate-extra-a.io%2fk", "x")];
        let as_extra = "impersonate:user-info authentication.k8s.io userextras/a.io/k x";
        check(&[may_on, as_bob, as_extra], &extra, Ok(&[AUTHENTICATED]));

        // Nodes, the own one and others, and service accounts.
        let node = |name: &'static str| [("impersonate-user", name)];
        let nodes: &[&str] = &[NODES, AUTHENTICATED];
        let own = [
            "impersonate-on:associated-node:list core pods",
            "impersonate:associated-node authentication.k8s.io nodes *",
        ];
        check(&own, &node("system:node:n1"), Ok(nodes));
        check(&own, &node("system:node:n2"), Err(&on("arbitrary-node")));
        check(&[], &node("system:node:n1"), Err(&on("associated-node")));
        let some = [
            "impersonate-on:arbitrary-node:list core pods",
            "impersonate:arbitrary-node authentication.k8s.io nodes n2",
        ];
        check(&some, &node("system:node:n2"), Ok(nodes));
        let account = [("impersonate-user", "system:serviceaccount:ns:a")];
        let accounts: &[&str] = &[
            "system:serviceaccounts",
            "system:serviceaccounts:ns",
            AUTHENTICATED,
        ];
        let some = [
            "impersonate-on:serviceaccount:list core pods",
            "impersonate:serviceaccount authentication.k8s.io serviceaccounts a",
        ];
        check(&some, &account, Ok(accounts));
        check(&["impersonate core serviceaccounts a"], &account, Ok(accounts));
        check(&[], &account, Err(&on("serviceaccount")));
    }

    #[test]
    fn paths_that_are_no_resources() {
        let access = Access::Path {
            verb: "get",
            path: "/metrics",
        };
        let alice = Identity::new("alice", [AUTHENTICATED]);
        let error = impersonate(
            alice,
            &Rules::AuthenticatedOnly,
            &access,
            &headers(&[("impersonate-user", "bob")]),
        )
        .unwrap_err();
        let message = "User \"alice\" cannot impersonate-on:user-info:get path \"/metrics\"";
        assert!(
            error.status().message.contains(message),
            "{}",
            error.status().message
        );
    }
}
