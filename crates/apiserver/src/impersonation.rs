//! Acting as somebody else: the `Impersonate-*` headers (apiserver pkg/endpoints/filters/impersonation).
//!
//! It comes between authentication and authorization: whoever may impersonate is from here on the other one.

use std::collections::BTreeMap;

use http::HeaderMap;
use kubewright_core::Status;
use kubewright_net::Identity;

use crate::authentication::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use crate::authorization::{Attempt, Rules};
use crate::builtin::validation::names::{label, subdomain};
use crate::error::ApiResult;

/// Whether a request may ask to act as somebody else. Names of headers are in lower case.
pub(crate) fn is_asked(headers: &HeaderMap) -> bool {
    headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
}

/// The identity that a request acts as: that of its headers where it has such, else its own.
///
/// # Errors
/// 400 for headers that name no user, 403 for somebody who may not act as all that they ask for.
pub(crate) fn impersonate(identity: Identity, rules: &Rules, headers: &HeaderMap) -> ApiResult<Identity> {
    let wanted = wanted(headers);
    if wanted.is_empty() {
        return Ok(identity);
    }
    if !matches!(wanted[0], Wanted::User(_) | Wanted::ServiceAccount { .. }) {
        let all: Vec<String> = wanted.iter().map(Wanted::as_reference).collect();
        let message = format!("requested [{}] without impersonating a user", all.join(" "));
        return Err(Status::bad_request(message).into());
    }
    for one in &wanted {
        rules.authorize_impersonation(&identity, &one.attempt())?;
    }
    tracing::debug!(user = identity.user, "a request acts as somebody else");
    Ok(acting_as(wanted))
}

/// One thing that a request asks to be.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    User(String),
    ServiceAccount { namespace: String, name: String },
    Group(String),
    Extra { key: String, value: String },
    Uid(String),
}

impl Wanted {
    /// What has to be allowed: the verb `impersonate` on this.
    fn attempt(&self) -> Attempt<'_> {
        let (group, resource, subresource, namespace, name) = match self {
            Self::User(name) => ("", "users", "", None, name),
            Self::ServiceAccount { namespace, name } => {
                ("", "serviceaccounts", "", Some(namespace.as_str()), name)
            }
            Self::Group(name) => ("", "groups", "", None, name),
            Self::Extra { key, value } => (AUTHENTICATION, "userextras", key.as_str(), None, value),
            Self::Uid(uid) => (AUTHENTICATION, "uids", "", None, uid),
        };
        Attempt {
            verb: "impersonate",
            group,
            resource,
            subresource,
            namespace,
            name,
        }
    }

    /// As Go prints the `v1.ObjectReference` that upstream makes of it.
    fn as_reference(&self) -> String {
        let version = format!("{AUTHENTICATION}/v1");
        let (kind, namespace, name, version, field) = match self {
            Self::User(name) => ("User", "", name, "", ""),
            Self::ServiceAccount { namespace, name } => ("ServiceAccount", namespace.as_str(), name, "", ""),
            Self::Group(name) => ("Group", "", name, "", ""),
            Self::Extra { key, value } => ("UserExtra", "", value, version.as_str(), key.as_str()),
            Self::Uid(uid) => ("UID", "", uid, version.as_str(), ""),
        };
        format!("{{{kind} {namespace} {name}  {version}  {field}}}")
    }
}

/// What the headers ask for, the user first.
fn wanted(headers: &HeaderMap) -> Vec<Wanted> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let first = |name: &str| headers.get(name).map(text).filter(|text| !text.is_empty());
    let mut wanted = Vec::new();
    if let Some(user) = first("impersonate-user") {
        wanted.push(match service_account(&user) {
            Some((namespace, name)) => Wanted::ServiceAccount {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
            None => Wanted::User(user),
        });
    }
    wanted.extend(
        headers
            .get_all("impersonate-group")
            .iter()
            .map(|group| Wanted::Group(text(group))),
    );
    // Names of headers are in lower case here, as upstream makes the keys.
    wanted.extend(headers.iter().filter_map(|(name, value)| {
        let key = name.as_str().strip_prefix("impersonate-extra-")?;
        let key = percent_encoding::percent_decode_str(key).decode_utf8();
        let key = key.map_or_else(|_| name.as_str().to_owned(), |key| key.into_owned());
        let value = text(value);
        Some(Wanted::Extra { key, value })
    }));
    wanted.extend(first("impersonate-uid").map(Wanted::Uid));
    wanted
}

/// Namespace and name of a service account (authentication/serviceaccount `SplitUsername`).
fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    (label(namespace).is_empty() && subdomain(name).is_empty()).then_some((namespace, name))
}

fn acting_as(wanted: Vec<Wanted>) -> Identity {
    let has_groups = wanted.iter().any(|one| matches!(one, Wanted::Group(_)));
    let mut identity = Identity::default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in wanted {
        match one {
            Wanted::User(name) => identity.user = name,
            Wanted::ServiceAccount { namespace, name } => {
                identity.user = format!("{SERVICE_ACCOUNT}{namespace}:{name}");
                if !has_groups {
                    identity.groups = vec![
                        "system:serviceaccounts".to_owned(),
                        format!("system:serviceaccounts:{namespace}"),
                    ];
                }
            }
            Wanted::Group(name) => identity.groups.push(name),
            Wanted::Extra { key, value } => extra.entry(key).or_default().push(value),
            Wanted::Uid(uid) => identity.uid = uid,
        }
    }
    identity.extra = extra;
    let is_in = |group: &str| identity.groups.iter().any(|one| one == group);
    let added = if identity.user == ANONYMOUS {
        (!is_in(UNAUTHENTICATED)).then_some(UNAUTHENTICATED)
    } else {
        (!is_in(AUTHENTICATED) && !is_in(UNAUTHENTICATED)).then_some(AUTHENTICATED)
    };
    identity.groups.extend(added.map(str::to_owned));
    identity
}

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const AUTHENTICATION: &str = "authentication.k8s.io";

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const MASTERS: &str = "system:masters";

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn masters_act_as_whom_they_name() {
        let admin = Identity::new("admin", [MASTERS, AUTHENTICATED]);
        let check = |pairs: &[(&'static str, &'static str)], user: &str, groups: &[&str]| {
            let found = impersonate(admin.clone(), &Rules::AuthenticatedOnly, &headers(pairs)).unwrap();
            assert_eq!(
                (found.user.as_str(), &found.groups[..]),
                (
                    user,
                    &groups.iter().map(|&g| g.to_owned()).collect::<Vec<_>>()[..]
                ),
                "{pairs:?}"
            );
            found
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
        check(
            &[("impersonate-user", account), ("impersonate-group", "a")],
            account,
            &["a", AUTHENTICATED],
        );
        let found = check(
            &[
                ("impersonate-user", "bob"),
                ("impersonate-uid", "7"),
                ("impersonate-extra-example.com%2fscopes", "x"),
                ("impersonate-extra-example.com%2fscopes", "y"),
            ],
            "bob",
            &[AUTHENTICATED],
        );
        assert_eq!(found.uid, "7");
        assert_eq!(found.extra["example.com/scopes"], ["x", "y"]);
    }

    #[test]
    fn others_are_refused_in_upstreams_words() {
        let alice = Identity::new("alice", [AUTHENTICATED]);
        let check = |pairs: &[(&'static str, &'static str)], code: u16, message: &str| {
            let error = impersonate(alice.clone(), &Rules::AuthenticatedOnly, &headers(pairs)).unwrap_err();
            assert_eq!(
                (error.status().code, error.status().message.as_str()),
                (code, message)
            );
        };
        check(
            &[("impersonate-user", "bob")],
            403,
            "users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
        );
        check(
            &[("impersonate-user", "system:serviceaccount:ns:a")],
            403,
            "serviceaccounts \"a\" is forbidden: User \"alice\" cannot impersonate resource \"serviceaccounts\" in API group \"\" in the namespace \"ns\"",
        );
        check(
            &[("impersonate-group", "g")],
            400,
            "requested [{Group  g    }] without impersonating a user",
        );
        check(
            &[("impersonate-uid", "7")],
            400,
            "requested [{UID  7  authentication.k8s.io/v1  }] without impersonating a user",
        );
    }
}
