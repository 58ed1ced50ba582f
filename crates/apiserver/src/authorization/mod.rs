//! Who may do what.

pub(crate) mod grants;
mod node;
mod rbac;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kubewright_core::{GroupResource, Status};
use kubewright_net::Identity;
use serde_json::{Value, json};

pub(crate) use self::rbac::bootstrap;
use self::rbac::{Policy, PolicyRule, Source};
use crate::authentication::{ANONYMOUS, AUTHENTICATED};
use crate::error::{ApiError, ApiResult};
use crate::request::RequestInfo;
use crate::storage::{Follower, Storage};

/// By what requests are decided on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorization {
    /// Everybody who is known may do everything; others may ask for health and version alone.
    AuthenticatedOnly,
    /// Roles and their bindings, as kube-apiserver's `--authorization-mode=Node,RBAC`; the group `system:masters` may do everything, and nodes
    /// what kubelets do with nodes and pods: all nodes are as one, so each may write every node, and every pod where upstream's `Node` authorizer
    /// and `NodeRestriction` let it write its own. The server makes upstream's default roles and bindings when it starts.
    ///
    /// Nobody grants what they do not have: writes of roles and bindings are checked for it, but for who may `escalate` or `bind`. While
    /// the store cannot be read, requests are decided on by the roles that were known last.
    #[default]
    Rbac,
}

/// Keeps what is needed to decide.
#[derive(Debug)]
pub(crate) enum Authorizer {
    AuthenticatedOnly,
    Rbac(Box<Follower<Arc<Policy>>>),
}

/// What is decided by at one moment.
#[derive(Clone, Debug)]
pub(crate) enum Rules {
    AuthenticatedOnly,
    /// Those of the group `system:masters` where roles decide on all others: upstream's first authorizer.
    Everything,
    Rbac(Arc<Policy>),
}

/// What is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Yes, and by what if by something of its own.
    Allowed(Option<Source>),
    /// No; the reason is mostly empty.
    Refused(String),
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access<'a> {
    /// Something to a resource.
    Resource(Attempt<'a>),
    /// Something to a path that is no resource; the verb is the method in lower case.
    Path { verb: &'a str, path: &'a str },
}

impl<'a> Access<'a> {
    /// The namespace of it; empty where there is none.
    pub(crate) fn namespace(&self) -> &'a str {
        match self {
            Self::Resource(attempt) => attempt.namespace.unwrap_or_default(),
            Self::Path { .. } => "",
        }
    }
}

impl Authorizer {
    pub(crate) fn new(authorization: Authorization) -> Self {
        match authorization {
            Authorization::AuthenticatedOnly => Self::AuthenticatedOnly,
            Authorization::Rbac => Self::Rbac(Box::new(rbac::follower())),
        }
    }

    /// What is decided by now: all that the store knows of.
    ///
    /// # Errors
    /// 500 when the store cannot be read.
    pub(crate) async fn rules(&self, storage: &dyn Storage) -> ApiResult<Rules> {
        match self {
            Self::AuthenticatedOnly => Ok(Rules::AuthenticatedOnly),
            Self::Rbac(follower) => {
                let policy = follower.catch_up(storage).await;
                let policy =
                    policy.map_err(|error| ApiError::from_storage(error, &GroupResource::default(), ""))?;
                Ok(Rules::Rbac(policy))
            }
        }
    }
}

impl Rules {
    /// The rules for one whom no role has to allow anything.
    pub(crate) fn of_master(identity: &Identity, authorizer: &Authorizer) -> Option<Self> {
        let is_decided = matches!(authorizer, Authorizer::Rbac(_)) && is_master(identity);
        is_decided.then_some(Self::Everything)
    }

    /// Whether `identity` may do it.
    pub(crate) fn decide(&self, identity: &Identity, access: &Access<'_>) -> Decision {
        let policy = match self {
            Self::Everything => return Decision::Allowed(None),
            Self::AuthenticatedOnly if is_known(identity) => return Decision::Allowed(None),
            Self::AuthenticatedOnly => {
                return match access {
                    Access::Path { path, .. } if is_public(path) => Decision::Allowed(None),
                    _ => Decision::Refused(String::new()),
                };
            }
            Self::Rbac(policy) => policy,
        };
        // Whatever is bound: upstream's first authorizer, and the way back in for who took everything from everybody.
        if is_master(identity) || node::allows(identity, access) {
            return Decision::Allowed(None);
        }
        match policy.allows(identity, access) {
            Ok(source) => Decision::Allowed(Some(source)),
            Err(errors) if errors.is_empty() => Decision::Refused(String::new()),
            Err(errors) => {
                let errors = rbac::aggregate(errors.iter().map(ToString::to_string));
                Decision::Refused(format!("rbac: RBAC: {errors}"))
            }
        }
    }

    /// Whether `identity` may do it, where neither why nor why not is asked for.
    pub(crate) fn permits(&self, identity: &Identity, access: &Access<'_>) -> bool {
        match self {
            Self::Rbac(policy) => {
                is_master(identity) || node::allows(identity, access) || policy.permits(identity, access)
            }
            rules => matches!(rules.decide(identity, access), Decision::Allowed(_)),
        }
    }

    /// Everything that `identity` may do in a namespace, as the status of a `SelfSubjectRulesReview`.
    pub(crate) fn review(&self, identity: &Identity, namespace: &str) -> Value {
        let (resources, paths, error) = match self {
            Self::Everything => all_rules(),
            Self::AuthenticatedOnly if is_known(identity) => all_rules(),
            Self::AuthenticatedOnly => {
                let public = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
                (
                    json!([]),
                    json!([{"verbs": ["get"], "nonResourceURLs": public}]),
                    None,
                )
            }
            Self::Rbac(policy) => {
                let (rules, errors) = policy.rules(identity, namespace);
                let resources = rules.iter().filter(|rule| !rule.resources.is_empty());
                let resources: Vec<PolicyRule> = resources.cloned().map(PolicyRule::without_paths).collect();
                let paths = rules
                    .into_iter()
                    .filter(|rule| !rule.non_resource_urls.is_empty());
                let paths: Vec<PolicyRule> = paths.map(PolicyRule::without_resources).collect();
                let error =
                    (!errors.is_empty()).then(|| rbac::aggregate(errors.iter().map(ToString::to_string)));
                (json!(resources), json!(paths), error)
            }
        };
        // What nodes may do besides is no list of rules, upstream as here (node_authorizer.go `RulesFor`).
        let of_node = "node authorizer does not support user rule resolution";
        let is_node = matches!(self, Self::Rbac(_)) && node::is_node(identity);
        let errors: Vec<String> = is_node
            .then(|| of_node.to_owned())
            .into_iter()
            .chain(error)
            .collect();
        let error = (!errors.is_empty()).then(|| rbac::aggregate(errors));
        let mut status =
            json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": is_node});
        if let Some(error) = error {
            status["evaluationError"] = error.into();
        }
        status
    }

    /// Lets a request for a resource pass.
    ///
    /// # Errors
    /// 403 in the words of apiserver pkg/endpoints/handlers/responsewriters/errors.go, which users and tests match.
    pub(crate) fn authorize_resource(&self, identity: &Identity, info: &RequestInfo<'_>) -> ApiResult<()> {
        self.authorize(identity, &Access::Resource(Attempt::of(info)))
    }

    /// Lets an update or a patch make the object that is not there (apiserver pkg/endpoints/handlers/update.go `withAuthorization`).
    ///
    /// # Errors
    /// 403, likewise.
    pub(crate) fn authorize_creation(&self, identity: &Identity, info: &RequestInfo<'_>) -> ApiResult<()> {
        let attempt = Attempt {
            verb: "create",
            ..Attempt::of(info)
        };
        self.authorize(identity, &Access::Resource(attempt))
    }

    /// Lets somebody act as another.
    ///
    /// # Errors
    /// 403, likewise. Where everybody who is known may do everything, this is left to the group `system:masters`.
    pub(crate) fn authorize_impersonation(&self, identity: &Identity, access: &Access<'_>) -> ApiResult<()> {
        match self {
            Self::AuthenticatedOnly if !is_master(identity) => Err(forbidden(identity, access, "")),
            _ => self.authorize(identity, access),
        }
    }

    fn authorize(&self, identity: &Identity, access: &Access<'_>) -> ApiResult<()> {
        if self.permits(identity, access) {
            return Ok(());
        }
        match self.decide(identity, access) {
            Decision::Allowed(_) => Ok(()),
            Decision::Refused(reason) => Err(forbidden(identity, access, &reason)),
        }
    }

    /// Lets a request for a path that is no resource pass.
    ///
    /// # Errors
    /// 403, likewise.
    pub(crate) fn authorize_path(
        &self,
        identity: &Identity,
        method: &http::Method,
        path: &str,
    ) -> ApiResult<()> {
        let verb = &method.as_str().to_ascii_lowercase();
        self.authorize(identity, &Access::Path { verb, path })
    }
}

/// All rules of one who may do everything: of resources, of paths, and what is wrong with them.
fn all_rules() -> (Value, Value, Option<String>) {
    (
        json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]),
        json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]),
        None,
    )
}

/// A policy in which one user has these rules everywhere.
#[cfg(test)]
pub(crate) fn policy_of(user: &str, rules: &Value) -> Policy {
    let mut policy = Policy::default();
    policy.set_role("", "all", serde_json::from_value(rules.clone()).unwrap());
    let stored = json!({"roleRef": {"apiGroup": rbac::GROUP, "kind": "ClusterRole", "name": "all"}, "subjects": [{"kind": "User", "name": user}]});
    policy.set_binding(rbac::Binding::parse("", "all", stored.to_string().as_bytes()).unwrap());
    policy
}

/// What needs no authorization at all: kubelets and load balancers ask these (`--authorization-always-allow-paths`).
pub(crate) fn is_always_allowed(method: &http::Method, path: &str) -> bool {
    method == http::Method::GET && matches!(path, "/healthz" | "/livez" | "/readyz")
}

/// What the role `system:public-info-viewer` lets everybody see.
fn is_public(path: &str) -> bool {
    matches!(path, "/healthz" | "/livez" | "/readyz" | "/version" | "/version/")
        || ["/healthz/", "/livez/", "/readyz/"]
            .iter()
            .any(|prefix| path.starts_with(prefix))
}

/// What somebody tried to do to a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    /// Empty for the resource itself.
    pub(crate) subresource: &'a str,
    pub(crate) namespace: Option<&'a str>,
    /// Empty where no object is named.
    pub(crate) name: &'a str,
}

impl<'a> Attempt<'a> {
    /// What a request is about to do. A namespace counts as in itself, so that who may see what is in it may see it too.
    pub(crate) fn of(info: &'a RequestInfo<'_>) -> Self {
        let name = info.name.as_deref();
        let namespace = match (&info.namespace, info.resource) {
            (None, "namespaces") => name,
            (namespace, _) => namespace.as_deref(),
        };
        Self {
            verb: info.verb.as_str(),
            group: info.group,
            resource: info.resource,
            subresource: info.subresource,
            namespace,
            name: name.or(info.selected.as_deref()).unwrap_or(""),
        }
    }
}

/// 403 in upstream's words.
pub(crate) fn forbidden(identity: &Identity, access: &Access<'_>, reason: &str) -> ApiError {
    let user = &identity.user;
    let (resource, name, why) = match access {
        Access::Path { verb, path } => {
            let why = format!("User {user:?} cannot {verb} path {path:?}");
            (GroupResource::default(), "", why)
        }
        Access::Resource(attempt) => {
            let Attempt { verb, group, .. } = attempt;
            let mut resource = attempt.resource.to_owned();
            if !attempt.subresource.is_empty() {
                resource.push('/');
                resource.push_str(attempt.subresource);
            }
            let mut why = format!("User {user:?} cannot {verb} resource {resource:?} in API group {group:?}");
            match attempt.namespace {
                Some(namespace) => why.push_str(&format!(" in the namespace {namespace:?}")),
                None => why.push_str(" at the cluster scope"),
            }
            (GroupResource::new(*group, attempt.resource), attempt.name, why)
        }
    };
    Status::forbidden(&resource, name, with_reason(sanitized(&why), reason)).into()
}

fn with_reason(mut message: String, reason: &str) -> String {
    if !reason.is_empty() {
        message.push_str(": ");
        message.push_str(reason);
    }
    message
}

fn is_master(identity: &Identity) -> bool {
    identity.groups.iter().any(|group| group == MASTERS)
}

/// The group of those who may do everything.
pub(crate) const MASTERS: &str = "system:masters";

/// Nothing in the message may look like HTML, since some of it comes from the client (`sanitizer` in the file named above).
fn sanitized(message: &str) -> String {
    message
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Requests carry the group of everybody who is known; a review may ask about a user by name alone.
fn is_known(identity: &Identity) -> bool {
    let is_named = !identity.user.is_empty() && identity.user != ANONYMOUS;
    is_named || identity.groups.iter().any(|group| group == AUTHENTICATED)
}
