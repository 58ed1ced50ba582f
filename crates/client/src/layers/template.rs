//! From the path of a request to what it has in common with others: `/api/v1/namespaces/{namespace}/pods/{name}/log`.

/// The template of a path. Names become `{name}`, so that spans and metrics do not grow with the cluster; what a proxied path
/// holds becomes `{path}`. Paths that lead to no resource keep their first two segments (`/openapi/v3/{path}`).
pub(super) fn of_path(path: &str) -> String {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    // A server may be served under a prefix; OpenAPI documents of groups only look like it.
    let root = segments
        .iter()
        .enumerate()
        .take_while(|(_, segment)| **segment != "openapi")
        .find(|(at, segment)| match **segment {
            "api" => segments.get(at + 1).is_none_or(|version| is_version(version)),
            "apis" => segments.get(at + 2).is_none_or(|version| is_version(version)),
            _ => false,
        })
        .map(|(at, segment)| (at, if *segment == "api" { 2 } else { 3 }));
    let mut template = String::new();
    let mut push = |segment: &str| {
        template.push('/');
        template.push_str(segment);
    };
    let Some((at, fixed)) = root else {
        segments.iter().take(2).for_each(|segment| push(segment));
        if segments.len() > 2 {
            push("{path}");
        }
        return if template.is_empty() {
            "/".to_owned()
        } else {
            template
        };
    };
    if at > 0 {
        push("{prefix}");
    }
    let rest = &segments[at..];
    let (fixed, mut rest) = rest.split_at(fixed.min(rest.len()));
    fixed.iter().for_each(|segment| push(segment));
    // A namespace is itself an object with subresources (apiserver `endpoints/request/requestinfo.go`).
    if let ["namespaces", _, resource, ..] = rest
        && !matches!(*resource, "status" | "finalize")
    {
        push("namespaces");
        push("{namespace}");
        rest = &rest[2..];
    }
    for (position, segment) in rest.iter().enumerate() {
        match position {
            0 | 2 => push(segment),
            1 => push("{name}"),
            _ => {
                push("{path}");
                break;
            }
        }
    }
    template
}

/// `v1`, `v2beta1`: what tells `/api/v1` from a prefix that happens to hold `api`.
fn is_version(segment: &str) -> bool {
    segment
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_left_out() {
        let rows = [
            ("/", "/"),
            ("/version", "/version"),
            ("/readyz/etcd", "/readyz/etcd"),
            ("/openapi/v3/apis/apps/v1", "/openapi/v3/{path}"),
            ("/api", "/api"),
            ("/apis/apps", "/apis/apps"),
            ("/api/v1/pods", "/api/v1/pods"),
            ("/api/v1/nodes/n", "/api/v1/nodes/{name}"),
            (
                "/api/v1/nodes/n/proxy/metrics/a",
                "/api/v1/nodes/{name}/proxy/{path}",
            ),
            ("/api/v1/namespaces", "/api/v1/namespaces"),
            ("/api/v1/namespaces/x", "/api/v1/namespaces/{name}"),
            ("/api/v1/namespaces/x/status", "/api/v1/namespaces/{name}/status"),
            ("/api/v1/namespaces/x/pods", "/api/v1/namespaces/{namespace}/pods"),
            (
                "/api/v1/namespaces/x/pods/p/log",
                "/api/v1/namespaces/{namespace}/pods/{name}/log",
            ),
            (
                "/apis/example.com/v1beta1/namespaces/api/widgets/w",
                "/apis/example.com/v1beta1/namespaces/{namespace}/widgets/{name}",
            ),
            (
                "/k8s/clusters/c-1/apis/apps/v1/deployments",
                "/{prefix}/apis/apps/v1/deployments",
            ),
        ];
        for (path, expect) in rows {
            assert_eq!(of_path(path), expect);
        }
    }
}
