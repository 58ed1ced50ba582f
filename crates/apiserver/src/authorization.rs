//! Who may do what.

use kubewright_core::{GroupResource, Status};
use kubewright_net::Identity;
use serde_json::{Value, json};

use crate::authentication::{ANONYMOUS, AUTHENTICATED};
use crate::error::{ApiError, ApiResult};
use crate::request::RequestInfo;

/// Decides on requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Authorizer {
    /// Everybody who is known may do everything; others may ask for health and version alone.
    AuthenticatedOnly,
}

/// What somebody wants to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access<'a> {
    /// A resource, whichever and however.
    Resource,
    /// A path that is no resource.
    Path(&'a str),
}

impl Authorizer {
    /// Whether `identity` may have it.
    pub(crate) fn allows(self, identity: &Identity, access: &Access<'_>) -> bool {
        let Self::AuthenticatedOnly = self;
        // What the role `system:public-info-viewer` lets everybody see.
        let is_public = |path: &str| {
            matches!(path, "/healthz" | "/livez" | "/readyz" | "/version" | "/version/")
                || ["/healthz/", "/livez/", "/readyz/"]
                    .iter()
                    .any(|prefix| path.starts_with(prefix))
        };
        match access {
            Access::Resource => is_known(identity),
            Access::Path(path) => is_known(identity) || is_public(path),
        }
    }

    /// Everything that `identity` may do, as the rules of a `SelfSubjectRulesReview`: for resources and for other paths.
    pub(crate) fn rules(self, identity: &Identity) -> (Value, Value) {
        if self.allows(identity, &Access::Resource) {
            let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
            return (all, json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]));
        }
        let public = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
        (json!([]), json!([{"verbs": ["get"], "nonResourceURLs": public}]))
    }

    /// Lets a request for a resource pass.
    ///
    /// # Errors
    /// 403 in the words of apiserver pkg/endpoints/handlers/responsewriters/errors.go, which users and tests match.
    pub(crate) fn authorize_resource(self, identity: &Identity, info: &RequestInfo<'_>) -> ApiResult<()> {
        if self.allows(identity, &Access::Resource) {
            return Ok(());
        }
        let attempt = Attempt {
            verb: info.verb.as_str(),
            group: info.group,
            resource: info.resource,
            subresource: info.subresource,
            namespace: info.namespace.as_deref(),
            name: info.name.as_deref().unwrap_or(""),
        };
        Err(forbidden(identity, &attempt))
    }

    /// Lets a request for a path that is no resource pass.
    ///
    /// # Errors
    /// 403, likewise.
    pub(crate) fn authorize_path(
        self,
        identity: &Identity,
        method: &http::Method,
        path: &str,
    ) -> ApiResult<()> {
        let Self::AuthenticatedOnly = self;
        // What the role `system:public-info-viewer` lets everybody see.
        let is_public = matches!(path, "/healthz" | "/livez" | "/readyz" | "/version" | "/version/")
            || ["/healthz/", "/livez/", "/readyz/"]
                .iter()
                .any(|prefix| path.starts_with(prefix));
        if is_known(identity) || is_public {
            return Ok(());
        }
        let verb = method.as_str().to_ascii_lowercase();
        let why = format!("User {:?} cannot {verb} path {path:?}", identity.user);
        Err(ApiError::from(Status::forbidden(
            &GroupResource::default(),
            "",
            sanitized(&why),
        )))
    }
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

/// 403 in upstream's words.
pub(crate) fn forbidden(identity: &Identity, attempt: &Attempt<'_>) -> ApiError {
    let mut resource = attempt.resource.to_owned();
    if !attempt.subresource.is_empty() {
        resource.push('/');
        resource.push_str(attempt.subresource);
    }
    let mut why = format!(
        "User {:?} cannot {} resource {resource:?} in API group {:?}",
        identity.user, attempt.verb, attempt.group
    );
    match attempt.namespace {
        Some(namespace) => why.push_str(&format!(" in the namespace {namespace:?}")),
        None => why.push_str(" at the cluster scope"),
    }
    let resource = GroupResource::new(attempt.group, attempt.resource);
    Status::forbidden(&resource, attempt.name, sanitized(&why)).into()
}

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
