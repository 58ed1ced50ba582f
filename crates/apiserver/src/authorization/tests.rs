//! Who may do what by roles and bindings, asked of a server.
//!
//! Upstream: plugin/pkg/auth/authorizer/rbac (decisions), its bootstrappolicy (what the default roles allow), apiserver
//! pkg/endpoints/handlers/responsewriters/errors.go and pkg/registry/authorization (texts).

use http::Request;
use serde_json::{Value, json};

use crate::test_support::TestServer;
use crate::{Authorization, Options};

const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

async fn server() -> TestServer {
    let server = TestServer::with(Options {
        authorization: Authorization::Rbac,
        ..Options::default()
    })
    .await;
    bind(
        &server,
        "default",
        "viewers",
        "ClusterRole/view",
        &[user("viewer")],
    )
    .await;
    bind(
        &server,
        "default",
        "editors",
        "ClusterRole/edit",
        &[user("editor")],
    )
    .await;
    bind(
        &server,
        "default",
        "admins",
        "ClusterRole/admin",
        &[user("owner")],
    )
    .await;
    bind(&server, "", "viewers", "ClusterRole/view", &[user("auditor")]).await;
    bind(&server, "", "lost", "ClusterRole/gone", &[user("lost")]).await;
    server
}

fn user(name: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name})
}

/// Binds `ClusterRole/name` or `Role/name` in a namespace, or in the cluster where it is empty.
async fn bind(server: &TestServer, namespace: &str, name: &str, role: &str, subjects: &[Value]) {
    let (kind, role) = role.split_once('/').unwrap();
    let (path, binding) = match namespace {
        "" => ("/clusterrolebindings".to_owned(), "ClusterRoleBinding"),
        namespace => (format!("/namespaces/{namespace}/rolebindings"), "RoleBinding"),
    };
    let object = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": binding,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": subjects,
    });
    server.post(&format!("{RBAC}{path}"), &object).await.ok();
}

/// What `user` gets there.
async fn get(server: &TestServer, user: &str, path: &str) -> (u16, String) {
    let request = Request::get(path).header("impersonate-user", user);
    let answer = server.call(request, Vec::new()).await;
    (
        answer.code,
        answer.body["message"].as_str().unwrap_or_default().to_owned(),
    )
}

#[tokio::test]
async fn default_roles_allow_what_upstreams_do() {
    let server = server().await;
    // Identities, a request, and who may. Requests are checked before anything is looked for.
    let everybody = ["viewer", "editor", "owner", "auditor", "nobody"];
    let table: &[(&str, &[&str])] = &[
        ("list  pods default", &["viewer", "editor", "owner", "auditor"]),
        ("get  pods/log default", &["viewer", "editor", "owner", "auditor"]),
        ("get  pods/exec default", &["editor", "owner"]),
        ("create  pods/exec default", &["editor", "owner"]),
        ("create  pods default", &["editor", "owner"]),
        ("deletecollection  pods default", &["editor", "owner"]),
        ("create  pods/eviction default", &["editor", "owner"]),
        ("create  pods other", &[]),
        ("list  pods other", &["auditor"]),
        ("list  pods -", &["auditor"]),
        (
            "get  configmaps default",
            &["viewer", "editor", "owner", "auditor"],
        ),
        ("get  secrets default", &["editor", "owner"]),
        ("update  secrets default", &["editor", "owner"]),
        ("list  nodes -", &[]),
        (
            "get  namespaces default",
            &["viewer", "editor", "owner", "auditor"],
        ),
        ("delete  namespaces default", &[]),
        ("create  namespaces -", &[]),
        ("impersonate  serviceaccounts default", &["editor", "owner"]),
        ("impersonate  users -", &[]),
        ("create  serviceaccounts/token default", &["editor", "owner"]),
        ("patch apps deployments default", &["editor", "owner"]),
        ("update apps deployments/scale default", &["editor", "owner"]),
        ("update apps deployments/status default", &[]),
        (
            "watch apps statefulsets default",
            &["viewer", "editor", "owner", "auditor"],
        ),
        ("create batch jobs default", &["editor", "owner"]),
        (
            "list networking.k8s.io ingresses default",
            &["viewer", "editor", "owner", "auditor"],
        ),
        (
            "create networking.k8s.io networkpolicies default",
            &["editor", "owner"],
        ),
        ("get rbac.authorization.k8s.io roles default", &["owner"]),
        (
            "create rbac.authorization.k8s.io rolebindings default",
            &["owner"],
        ),
        ("create rbac.authorization.k8s.io clusterroles -", &[]),
        ("escalate rbac.authorization.k8s.io roles default", &[]),
        (
            "create authorization.k8s.io localsubjectaccessreviews default",
            &["owner"],
        ),
        ("create authorization.k8s.io subjectaccessreviews -", &[]),
        (
            "create authorization.k8s.io selfsubjectaccessreviews -",
            &everybody,
        ),
        (
            "create authorization.k8s.io selfsubjectrulesreviews -",
            &everybody,
        ),
        ("create authentication.k8s.io selfsubjectreviews -", &everybody),
        ("create authentication.k8s.io tokenreviews -", &[]),
        ("get example.com widgets default", &[]),
    ];
    for (ask, allowed) in table {
        let parts: Vec<&str> = ask.split(' ').collect();
        let [verb, group, resource, namespace] = parts[..] else {
            panic!("{ask}")
        };
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        for who in everybody {
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": who,
                    "groups": ["system:authenticated"],
                    "resourceAttributes": {
                        "verb": verb,
                        "group": group,
                        "resource": resource,
                        "subresource": subresource,
                        "namespace": namespace.replace('-', ""),
                    },
                },
            });
            let answer = server.post(ACCESS, &review).await.ok();
            assert_eq!(
                answer["status"]["allowed"],
                allowed.contains(&who),
                "{who}: {ask}: {}",
                answer["status"]
            );
        }
    }
}

#[tokio::test]
async fn requests_are_let_through_or_refused_in_upstreams_words() {
    let server = server().await;
    let check = async |who: &str, line: &str, code: u16, message: &str| {
        let found = get(&server, who, line).await;
        assert_eq!(found, (code, message.to_owned()), "{who}: {line}");
    };
    check("viewer", "/api/v1/namespaces/default/pods", 200, "").await;
    check("nobody", "/apis", 200, "").await;
    check("nobody", "/version", 200, "").await;
    check(
        "viewer",
        "/api/v1/pods",
        403,
        "pods is forbidden: User \"viewer\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
    )
    .await;
    check(
        "nobody",
        "/metrics",
        403,
        "forbidden: User \"nobody\" cannot get path \"/metrics\"",
    )
    .await;
    check(
        "lost",
        "/api/v1/nodes",
        403,
        "nodes is forbidden: User \"lost\" cannot list resource \"nodes\" in API group \"\" at the cluster scope: \
         rbac: RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found",
    )
    .await;
    let anonymous = "system:anonymous";
    assert_eq!(get(&server, anonymous, "/healthz").await.0, 200);
    assert_eq!(get(&server, anonymous, "/version").await.0, 200);
    assert_eq!(get(&server, anonymous, "/api").await.0, 403);
}

/// A change makes what is not there only for those who may make it.
#[tokio::test]
async fn updates_and_patches_do_not_create_for_those_who_may_not() {
    let server = server().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "changes"},
        "rules": [{"verbs": ["update", "patch"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}],
    });
    server
        .post(&format!("{RBAC}/namespaces/default/roles"), &role)
        .await
        .ok();
    bind(&server, "default", "changes", "Role/changes", &[user("changer")]).await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}});
    let ask = async |who: &str, request: http::request::Builder| {
        let request = request.header("impersonate-user", who);
        server.call(request, lease.to_string()).await
    };
    let put = || Request::put(path).header("content-type", "application/json");
    let apply = || {
        Request::patch(format!("{path}?fieldManager=x"))
            .header("content-type", "application/apply-patch+yaml")
    };
    let refused = "leases.coordination.k8s.io \"a\" is forbidden: User \"changer\" cannot create resource \"leases\" in API group \
                   \"coordination.k8s.io\" in the namespace \"default\"";
    assert_eq!(ask("changer", put()).await.message(403), refused);
    assert_eq!(ask("changer", apply()).await.message(403), refused);
    let made = server
        .post("/apis/coordination.k8s.io/v1/namespaces/default/leases", &lease)
        .await;
    made.ok();
    assert_eq!(ask("changer", apply()).await.code, 200);
}

#[tokio::test]
async fn a_written_role_is_in_force_when_the_answer_is_there() {
    let server = server().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "one"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}],
    });
    let roles = format!("{RBAC}/namespaces/default/roles");
    server.post(&roles, &role).await.ok();
    let account = json!({"kind": "ServiceAccount", "name": "sa"});
    bind(&server, "default", "one", "Role/one", &[account]).await;
    let who = "system:serviceaccount:default:sa";
    let code = async |line: &str| get(&server, who, line).await.0;
    let path = "/api/v1/namespaces/default/configmaps";
    assert_eq!(code(&format!("{path}/a")).await, 404);
    assert_eq!(code(&format!("{path}/b")).await, 403);
    assert_eq!(code(path).await, 403);
    server.delete(&format!("{roles}/one")).await.ok();
    assert_eq!(code(&format!("{path}/a")).await, 403);
    server.post(&roles, &role).await.ok();
    assert_eq!(code(&format!("{path}/a")).await, 404);
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    server.delete(&format!("{bindings}/one")).await.ok();
    assert_eq!(code(&format!("{path}/a")).await, 403);
}

#[tokio::test]
async fn reviews_name_what_allows() {
    let server = server().await;
    let review = |user: &str| {
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}},
        })
    };
    let check = async |user: &str, expect: Value| {
        let answer = server.post(ACCESS, &review(user)).await.ok();
        assert_eq!(answer["status"], expect, "{user}");
    };
    let reason =
        "RBAC: allowed by RoleBinding \"viewers/default\" of ClusterRole \"view\" to User \"viewer\"";
    check("viewer", json!({"allowed": true, "reason": reason})).await;
    let reason =
        "RBAC: allowed by ClusterRoleBinding \"viewers\" of ClusterRole \"view\" to User \"auditor\"";
    check("auditor", json!({"allowed": true, "reason": reason})).await;
    check("nobody", json!({"allowed": false})).await;
    let reason = "rbac: RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found";
    check("lost", json!({"allowed": false, "reason": reason})).await;

    let rules = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    });
    let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews")
        .header("content-type", "application/json")
        .header("impersonate-user", "lost");
    let answer = server.call(request, rules.to_string().into_bytes()).await;
    let status = answer.ok()["status"].clone();
    assert_eq!(status["incomplete"], false);
    assert_eq!(
        status["evaluationError"],
        "clusterrole.rbac.authorization.k8s.io \"gone\" not found"
    );
    let own = json!({
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    });
    assert!(
        status["resourceRules"].as_array().unwrap().contains(&own),
        "{status}"
    );
}
