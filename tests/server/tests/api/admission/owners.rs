//! `OwnerReferencesPermissionEnforcement`: rows of upstream's gc_admission_test.go.

use kubewright_apiserver::{AdmissionPlugin, AdmissionPlugins, Authorization, Options};
use kubewright_net::Identity;
use serde_json::{Value, json};

use crate::harness::{Answer, Ask, Server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn server(plugins: AdmissionPlugins) -> Server {
    let server = Server::with(Options {
        authorization: Authorization::Rbac,
        admission: plugins,
        ..Options::default()
    })
    .await;
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let maps = rule("", "configmaps", &["get", "create", "update", "patch"]);
    let deletes = rule("", "configmaps", &["delete"]);
    for (user, rules) in [
        ("writer", vec![maps.clone()]),
        ("deleter", vec![maps.clone(), deletes.clone()]),
        (
            "finalizer",
            vec![
                maps.clone(),
                deletes.clone(),
                rule("", "configmaps/finalizers", &["update"]),
                rule("", "nodes/finalizers", &["update"]),
            ],
        ),
        (
            "everything",
            vec![maps, deletes, rule("*", "*/finalizers", &["update"])],
        ),
    ] {
        let api = "rbac.authorization.k8s.io/v1";
        let role =
            json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": user}, "rules": rules});
        server
            .ok(Ask::json(format!("POST /apis/{api}/clusterroles"), &role))
            .await;
        let binding = json!({
            "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        server
            .ok(Ask::json(
                format!("POST /apis/{api}/clusterrolebindings"),
                &binding,
            ))
            .await;
    }
    server
}

async fn ask(server: &Server, user: &str, ask: Ask) -> Answer {
    Answer::read(server.send_as(Some(Identity::new(user, [""; 0])), ask).await).await
}

fn map(name: &str, owners: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

fn owner(api_version: &str, kind: &str, block: Option<bool>) -> Value {
    let mut owner =
        json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": format!("uid of {kind}")});
    if let Some(block) = block {
        owner["blockOwnerDeletion"] = block.into();
    }
    owner
}

const DELETE: &str = "cannot set an ownerRef on a resource you can't delete: , <nil>";
const BLOCK: &str = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>";

#[tokio::test]
async fn who_may_set_owners() {
    let plugin = AdmissionPlugin::OwnerReferencesPermissionEnforcement;
    let server = server(AdmissionPlugins::default().with(plugin)).await;
    let none = json!([]);
    let plain = json!([owner("v1", "ConfigMap", None)]);
    let blocking = json!([owner("v1", "ConfigMap", Some(true))]);
    let node = json!([owner("v1", "Node", Some(true))]);
    let both = json!([
        owner("v1", "ConfigMap", Some(true)),
        owner("v1", "Secret", Some(true))
    ]);
    let strange = json!([owner("example.com/v1", "Strange", Some(true))]);
    let strange_why = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind \
                       Strange: no matches for kind \"Strange\" in version \"example.com/v1\"";
    let rows: [(&str, Option<&Value>, &Value, &str); 18] = [
        // Whoever makes an object may give it owners, and must not hold up those.
        ("writer", None, &none, ""),
        ("writer", None, &plain, ""),
        ("writer", None, &blocking, BLOCK),
        ("finalizer", None, &blocking, ""),
        ("everything", None, &both, ""),
        // Whoever changes the owners of an object must be able to delete it.
        ("writer", Some(&none), &none, ""),
        ("writer", Some(&plain), &plain, ""),
        ("writer", Some(&none), &plain, DELETE),
        ("writer", Some(&plain), &none, DELETE),
        ("writer", Some(&plain), &blocking, DELETE),
        ("deleter", Some(&none), &plain, ""),
        ("deleter", Some(&plain), &none, ""),
        ("deleter", Some(&plain), &blocking, BLOCK),
        ("deleter", Some(&blocking), &plain, ""),
        // Every owner counts, those of the cluster as well.
        ("finalizer", Some(&none), &node, ""),
        ("finalizer", Some(&blocking), &both, BLOCK),
        ("finalizer", Some(&none), &strange, strange_why),
        ("everything", Some(&none), &strange, ""),
    ];
    for (row, (user, old, new, expect)) in rows.into_iter().enumerate() {
        let name = format!("m{row}");
        let request = match old {
            None => Ask::json(format!("POST {MAPS}"), &map(&name, new)),
            Some(old) => {
                server
                    .ok(Ask::json(format!("POST {MAPS}"), &map(&name, old)))
                    .await;
                Ask::json(format!("PUT {MAPS}/{name}"), &map(&name, new))
            }
        };
        let answer = ask(&server, user, request).await;
        if expect.is_empty() {
            assert!(answer.code < 300, "{row}: {:#}", answer.body);
        } else {
            let why = format!("configmaps {name:?} is forbidden: {expect}");
            assert_eq!(
                (answer.code, &answer.body["message"]),
                (403, &json!(why)),
                "{row}"
            );
        }
    }
}

#[tokio::test]
async fn it_is_off_by_default() {
    let server = server(AdmissionPlugins::default()).await;
    let blocking = json!([owner("v1", "ConfigMap", Some(true))]);
    let answer = ask(
        &server,
        "writer",
        Ask::json(format!("POST {MAPS}"), &map("m", &blocking)),
    )
    .await;
    assert_eq!(answer.code, 201);
}
