//! Paths taken apart, as apiserver pkg/endpoints/request/requestinfo.go does.
//!
//! ```text
//! /api/{version}[/namespaces/{namespace}]/{resource}[/{name}[/{subresource}]]
//! /apis/{group}/{version}[/namespaces/{namespace}]/{resource}[/{name}[/{subresource}]]
//! ```
//! Behind the version may stand `watch/`: the old way to watch a collection or an object, deprecated since 1.11. So could `proxy/`, which is
//! served no longer and still a verb.
//! Everything else is no resource: `/healthz`, `/version`, `/openapi/v3`, discovery.

use std::borrow::Cow;

use http::Method;

use super::list_options::{is_watch, selected_name};

/// What is to be done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// What no resource offers: a method without a verb, or an old way to ask; the word is the verb that rules are asked for.
    Other(&'static str),
}

impl Verb {
    /// The word in discovery, rules and messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other(word) => word,
        }
    }
}

/// A request for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) verb: Verb,
    /// Empty for the core group.
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) namespace: Option<Cow<'a, str>>,
    /// The plural.
    pub(crate) resource: &'a str,
    /// What follows the name: empty, `status`, `scale`, …
    pub(crate) subresource: &'a str,
    pub(crate) name: Option<Cow<'a, str>>,
    /// The only name that the field selector of a list or a watch lets through. Who may see that object alone may ask for it so.
    pub(crate) selected: Option<String>,
    /// Whether the path itself asks for a watch, as clients did before there was a parameter for it.
    pub(crate) is_watch_path: bool,
    /// What follows the subresource. Behind `proxy`, it is a path on the other side, without its leading slash unless it is that alone;
    /// behind others there is nothing to be found.
    pub(crate) beyond: &'a str,
}

impl<'a> RequestInfo<'a> {
    /// Whether the path goes on behind what it names, where nothing is.
    pub(crate) fn goes_too_far(&self) -> bool {
        self.subresource != "proxy" && !self.beyond.trim_start_matches('/').is_empty()
    }

    /// Takes a path without escapes apart; `None` when it names no resource, or nothing that could be one. Doubled slashes lead nowhere, but
    /// for an empty namespace, which is none.
    ///
    /// A list that watches by its query has another verb. A path that names an object gets it, whatever the query says.
    pub(crate) fn parse(method: &Method, path: &'a str, query: &str) -> Option<Self> {
        let mut segments = Segments(path.strip_prefix('/').unwrap_or(path));
        let (group, version) = match segments.next()? {
            "api" => ("", segments.next()?),
            "apis" => (
                segments.next().filter(|group| !group.is_empty())?,
                segments.next()?,
            ),
            _ => return None,
        };
        let mut rest = segments;
        let mut first = rest.next()?;
        let is_watch_path = first == "watch";
        let is_proxy_path = first == "proxy";
        if is_watch_path || is_proxy_path {
            first = rest.next()?;
        }
        // `/namespaces/{n}` is the namespace object and `/namespaces/{n}/{subresource}` part of it; else it is a prefix.
        let (namespace, resource, name, subresource) = if first == "namespaces" {
            match (rest.next(), rest.next(), rest.next(), rest.next()) {
                (namespace, None, ..) => (None, first, namespace, ""),
                (Some(namespace), Some(sub @ ("status" | "finalize")), None, None) => {
                    (None, first, Some(namespace), sub)
                }
                (Some(namespace), Some(resource), name, subresource) => {
                    (Some(namespace), resource, name, subresource.unwrap_or(""))
                }
                (None, Some(_), ..) => return None,
            }
        } else {
            (None, first, rest.next(), rest.next().unwrap_or(""))
        };
        let is_empty = |segment: Option<&str>| segment == Some("");
        if version.is_empty() || resource.is_empty() || is_empty(name) {
            return None;
        }
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        // What follows a proxy is a path on the other side.
        let beyond = match rest.0 {
            "" if path.ends_with('/') => "/",
            beyond => beyond,
        };
        let verb = match (method, name.is_some()) {
            (&Method::GET | &Method::HEAD, _) if is_watch_path => Verb::Watch,
            // The word in the path counts, whatever the method.
            _ if is_watch_path => Verb::Other("watch"),
            _ if is_proxy_path => Verb::Other("proxy"),
            (&Method::GET | &Method::HEAD, true) => Verb::Get,
            (&Method::GET | &Method::HEAD, false) if is_watch(query) => Verb::Watch,
            (&Method::GET | &Method::HEAD, false) => Verb::List,
            (&Method::POST, _) => Verb::Create,
            (&Method::PUT, _) => Verb::Update,
            (&Method::PATCH, _) => Verb::Patch,
            (&Method::DELETE, true) => Verb::Delete,
            (&Method::DELETE, false) => Verb::DeleteCollection,
            _ => Verb::Other(""),
        };
        let (subresource, beyond) = if is_proxy_path {
            ("", "")
        } else {
            (subresource, beyond)
        };
        let is_selecting = matches!(verb, Verb::List | Verb::Watch) && name.is_none() && !is_watch_path;
        Some(Self {
            verb,
            group,
            version,
            namespace: namespace.map(Cow::Borrowed),
            resource,
            subresource,
            name: name.map(Cow::Borrowed),
            is_watch_path,
            selected: is_selecting.then(|| selected_name(query)).flatten(),
            beyond,
        })
    }
}

/// The segments of a path, without the slashes at its end. Paths are short: a plain loop over them is faster than the searcher of `split`,
/// and this is done for each request.
struct Segments<'a>(&'a str);

impl<'a> Iterator for Segments<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.bytes().all(|byte| byte == b'/') {
            return None;
        }
        let end = self.0.bytes().position(|byte| byte == b'/');
        let (segment, rest) = end.map_or((self.0, ""), |end| (&self.0[..end], &self.0[end + 1..]));
        self.0 = rest;
        Some(segment)
    }
}

/// A path without its escapes, as everything looks at it (Go's `URL.Path`). What is then no UTF-8 is marked as lost, and names nothing.
pub(crate) fn unescaped(path: &str) -> Cow<'_, str> {
    if !path.as_bytes().contains(&b'%') {
        return Cow::Borrowed(path);
    }
    percent_encoding::percent_decode_str(path).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, path: &str, expect: Option<&str>) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let found = RequestInfo::parse(&method, &unescaped(path), "").map(|info| {
            format!(
                "{} {}/{} {} {}{} {}",
                info.verb.as_str(),
                info.group,
                info.version,
                info.namespace.as_deref().unwrap_or("-"),
                info.resource,
                Some(info.subresource)
                    .filter(|sub| !sub.is_empty())
                    .map_or(String::new(), |sub| format!("/{sub}")),
                info.name.as_deref().unwrap_or("-"),
            )
        });
        assert_eq!(found.as_deref(), expect, "{method} {path}");
    }

    /// requestinfo_test.go `TestFieldSelectorParsing`, and what is beside it.
    #[test]
    fn one_object_by_a_list() {
        for (line, expect) in [
            ("GET /api/v1/pods?fieldSelector=metadata.name%3Da", "list a"),
            (
                "GET /api/v1/namespaces/n/pods?fieldSelector=metadata.name=a",
                "list a",
            ),
            (
                "GET /api/v1/pods?fieldSelector=metadata.name==a,spec.nodeName=n",
                "list a",
            ),
            (
                "GET /api/v1/pods?watch=true&fieldSelector=metadata.name%3Da",
                "watch a",
            ),
            (
                "GET /api/v1/pods?fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db",
                "list a",
            ),
            (
                "GET /api/v1/pods?fieldSelector=metadata.name%3Da,metadata.name%3Db",
                "list a",
            ),
            ("GET /api/v1/pods?fieldSelector=metadata.name%21%3Da", "list -"),
            ("GET /api/v1/pods?fieldSelector=spec.nodeName%3Da", "list -"),
            ("GET /api/v1/pods?fieldSelector=metadata.name%3D", "list -"),
            ("GET /api/v1/pods?fieldSelector=metadata.name%3D..", "list -"),
            ("GET /api/v1/pods?fieldSelector=metadata.name%3Da%2Fb", "list -"),
            ("GET /api/v1/pods?fieldSelector=metadata.name%3Da%2525", "list -"),
            ("GET /api/v1/pods?fieldSelector=nonsense", "list -"),
            // What cannot be read names nothing.
            (
                "GET /api/v1/pods?fieldSelector=metadata.name%3Da&limit=x",
                "list -",
            ),
            (
                "GET /api/v1/pods?watch=1&fieldSelector=metadata.name%3Da&timeoutSeconds=x",
                "watch -",
            ),
            (
                "GET /api/v1/pods?fieldSelector=metadata.name%3Da&labelSelector=,,",
                "list -",
            ),
            // The old way to watch knows no selector, and a collection is deleted as a whole.
            (
                "GET /api/v1/watch/pods?fieldSelector=metadata.name%3Da",
                "watch -",
            ),
            (
                "DELETE /api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Da",
                "deletecollection -",
            ),
            (
                "GET /api/v1/namespaces/n/pods/b?fieldSelector=metadata.name%3Da",
                "get -",
            ),
        ] {
            let (method, uri) = line.split_once(' ').unwrap();
            let (path, query) = uri.split_once('?').unwrap();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let info = RequestInfo::parse(&method, path, query).unwrap();
            let found = format!(
                "{} {}",
                info.verb.as_str(),
                info.selected.as_deref().unwrap_or("-")
            );
            assert_eq!(found, expect, "{line}");
        }
    }

    #[test]
    fn paths() {
        for (method, path, expect) in [
            ("GET", "/api/v1/pods", Some("list /v1 - pods -")),
            ("GET", "/api/v1/namespaces/a/pods", Some("list /v1 a pods -")),
            ("GET", "/api/v1/namespaces/a/pods/b", Some("get /v1 a pods b")),
            (
                "PUT",
                "/api/v1/namespaces/a/pods/b/status",
                Some("update /v1 a pods/status b"),
            ),
            ("GET", "/api/v1/namespaces", Some("list /v1 - namespaces -")),
            ("GET", "/api/v1/namespaces/a", Some("get /v1 - namespaces a")),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                Some("update /v1 - namespaces/finalize a"),
            ),
            (
                "PATCH",
                "/api/v1/namespaces/a/status",
                Some("patch /v1 - namespaces/status a"),
            ),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/a/deployments",
                Some("deletecollection apps/v1 a deployments -"),
            ),
            (
                "POST",
                "/apis/apps/v1/namespaces//deployments",
                Some("create apps/v1 - deployments -"),
            ),
            ("GET", "/api/v1/namespaces/a/pods/b//", Some("get /v1 a pods b")),
            ("GET", "//api/v1/pods", None),
            ("GET", "/api//v1/pods", None),
            ("GET", "/apis//v1/pods", None),
            ("GET", "/api/v1//pods", None),
            ("GET", "/api/v1/namespaces/a//pods", None),
            ("GET", "/api/v1/namespaces/a/pods//b", None),
            ("GET", "/api/v1/namespaces//status", None),
            ("GET", "/%61pi/v1/%70ods", Some("list /v1 - pods -")),
            ("GET", "/api/v1/namespaces/a%2Fpods", Some("list /v1 a pods -")),
            (
                "GET",
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
                Some("get rbac.authorization.k8s.io/v1 - clusterroles system:node"),
            ),
            ("GET", "/api/v1/watch/pods", Some("watch /v1 - pods -")),
            (
                "GET",
                "/api/v1/watch/namespaces/a/pods/b",
                Some("watch /v1 a pods b"),
            ),
            (
                "GET",
                "/api/v1/watch/namespaces",
                Some("watch /v1 - namespaces -"),
            ),
            (
                "GET",
                "/api/v1/watch/namespaces/a",
                Some("watch /v1 - namespaces a"),
            ),
            (
                "GET",
                "/apis/apps/v1/watch/namespaces/a/deployments",
                Some("watch apps/v1 a deployments -"),
            ),
            ("GET", "/api/v1/watch", None),
            (
                "POST",
                "/api/v1/watch/namespaces/a/pods",
                Some("watch /v1 a pods -"),
            ),
            (
                "DELETE",
                "/api/v1/watch/namespaces/a/pods/b",
                Some("watch /v1 a pods b"),
            ),
            ("GET", "/api/v1/proxy", None),
            (
                "GET",
                "/api/v1/proxy/nodes/n/metrics",
                Some("proxy /v1 - nodes n"),
            ),
            (
                "PUT",
                "/api/v1/proxy/namespaces/a/pods/b",
                Some("proxy /v1 a pods b"),
            ),
            (
                "POST",
                "/api/v1/namespaces/a/services/https:b:web/proxy/c/d",
                Some("create /v1 a services/proxy https:b:web"),
            ),
            (
                "GET",
                "/api/v1/nodes/n/proxy/pods",
                Some("get /v1 - nodes/proxy n"),
            ),
            ("GET", "/apis/apps/v1", None),
            ("GET", "/apis", None),
            ("GET", "/healthz", None),
            ("GET", "/", None),
            ("GET", "", None),
            ("GET", "///", None),
            ("GET", "api/v1/pods/é/", Some("get /v1 - pods é")),
            ("OPTIONS", "/api/v1/pods", Some(" /v1 - pods -")),
            ("get", "/api/v1/namespaces/a/pods/b", Some(" /v1 a pods b")),
            ("OPTIONS", "/version", None),
            (
                "GET",
                "/api/v1/namespaces/a/pods/b/c/d",
                Some("get /v1 a pods/c b"),
            ),
        ] {
            check(method, path, expect);
        }
    }
}
