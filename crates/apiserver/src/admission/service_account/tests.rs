use serde_json::{Value, json};

use super::secrets::{self, Part};
use super::{inherit_pull_secrets, mount};
use crate::test_support::TestServer;
use crate::{AdmissionPlugin, AdmissionPlugins, Options};

const PODS: &str = "/api/v1/namespaces/default/pods";
const PLACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

async fn server() -> TestServer {
    TestServer::with(Options {
        admission: AdmissionPlugins::default().with(AdmissionPlugin::ServiceAccount),
        ..Options::default()
    })
    .await
}

fn pod(spec: &Value) -> Value {
    let mut whole = json!({"containers": [{"name": "c", "image": "i"}]});
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": whole})
}

async fn with_account(account: &Value) -> TestServer {
    let server = server().await;
    let mut whole = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    for (field, value) in account.as_object().unwrap() {
        whole[field] = value.clone();
    }
    let path = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(server.post(path, &whole).await.code, 201);
    server
}

#[tokio::test(start_paused = true)]
async fn a_pod_needs_its_account() {
    let server = server().await;
    let why = |name: &str| {
        format!(
            "pods \"p\" is forbidden: error looking up service account default/{name}: serviceaccount {name:?} not found"
        )
    };
    // One that is named is not waited for, the default one a while.
    let began = tokio::time::Instant::now();
    let answer = server.post(PODS, &pod(&json!({"serviceAccountName": "a"}))).await;
    assert_eq!(answer.message(403), why("a"));
    assert_eq!(began.elapsed().as_millis(), 0);
    let answer = server.post(PODS, &pod(&json!({}))).await;
    assert_eq!(answer.message(403), why("default"));
    assert!(began.elapsed() >= super::PATIENCE);
    let generated = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"},
        "spec": {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}});
    let answer = server.post(PODS, &generated).await;
    assert_eq!(answer.message(403), why("a").replace("\"p\"", "\"web-\""));
}

#[tokio::test(start_paused = true)]
async fn the_default_account_may_come_a_little_later() {
    let server = server().await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let later = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        server
            .post("/api/v1/namespaces/default/serviceaccounts", &account)
            .await
    };
    let whole = pod(&json!({}));
    let (made, account) = tokio::join!(server.post(PODS, &whole), later);
    assert_eq!((made.code, account.code), (201, 201));
}

#[tokio::test]
async fn a_pod_gets_account_token_and_secrets() {
    let server = with_account(&json!({"imagePullSecrets": [{"name": "registry"}]})).await;
    let answer = server.post(PODS, &pod(&json!({}))).await;
    assert_eq!(answer.code, 201, "{:#}", answer.body);
    let spec = &answer.body["spec"];
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "registry"}]));
    let volume = &spec["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(name.starts_with("kube-api-access-"));
    assert_eq!(name.len(), "kube-api-access-".len() + 5);
    let sources = json!([
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]);
    assert_eq!(
        volume["projected"],
        json!({"defaultMode": 420, "sources": sources})
    );
    assert_eq!(
        spec["containers"][0]["volumeMounts"],
        json!([{"name": name, "readOnly": true, "mountPath": PLACE}])
    );
    // What admission adds is nobody's.
    let fields = answer.body["metadata"]["managedFields"][0]["fieldsV1"].to_string();
    assert!(!fields.contains("volume"), "{fields}");
}

#[test]
fn who_says_whether_a_token_is_mounted() {
    let said = |word: Option<bool>| {
        word.map_or_else(|| json!({}), |word| json!({"automountServiceAccountToken": word}))
    };
    for (account, spec, expect) in [
        (None, None, true),
        (Some(false), None, false),
        (Some(true), Some(false), false),
        (Some(false), Some(true), true),
    ] {
        let pod = json!({"spec": said(spec)});
        assert_eq!(
            mount::is_wanted(&said(account), &pod),
            expect,
            "{account:?} {spec:?}"
        );
    }
}

/// Rows of upstream's admission_test.go.
#[test]
fn where_a_token_is_mounted() {
    #[track_caller]
    fn check(spec: Value, expect: Value) {
        let mut pod = json!({"spec": spec});
        mount::token(&mut pod);
        // The name is made up; the volume itself is looked at elsewhere.
        let mut text = pod["spec"].to_string();
        if let Some(at) = text
            .find("kube-api-access-")
            .filter(|_| !text.contains("kube-api-access-own"))
        {
            let name = text[at..at + 21].to_owned();
            text = text.replace(&name, "T");
        }
        let mut spec: Value = serde_json::from_str(&text).unwrap();
        for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
            volume.as_object_mut().unwrap().remove("projected");
        }
        assert_eq!(spec, expect);
    }
    let mount = |name: &str| json!({"name": name, "readOnly": true, "mountPath": PLACE});
    check(
        json!({"initContainers": [{}], "containers": [{"volumeMounts": [{"name": "v", "mountPath": "/v"}]}], "volumes": [{"name": "v"}]}),
        json!({
            "initContainers": [{"volumeMounts": [mount("T")]}],
            "containers": [{"volumeMounts": [{"name": "v", "mountPath": "/v"}, mount("T")]}],
            "volumes": [{"name": "v"}, {"name": "T"}],
        }),
    );
    // Whoever has something at the place keeps it; where all do, there is no volume.
    let own = json!({"name": "v", "mountPath": PLACE});
    check(
        json!({"containers": [{"volumeMounts": [own]}], "volumes": [{"name": "v"}]}),
        json!({"containers": [{"volumeMounts": [own]}], "volumes": [{"name": "v"}]}),
    );
    // A volume that has the name is taken.
    check(
        json!({"containers": [{}], "volumes": [{"name": "kube-api-access-own"}]}),
        json!({"containers": [{"volumeMounts": [mount("kube-api-access-own")]}], "volumes": [{"name": "kube-api-access-own"}]}),
    );
}

#[test]
fn pull_secrets_come_from_the_account_unless_there_are_some() {
    let account = json!({"imagePullSecrets": [{"name": "a"}, {"name": "b"}]});
    for (own, expect) in [
        (
            json!({}),
            json!({"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}),
        ),
        (
            json!({"imagePullSecrets": []}),
            json!({"imagePullSecrets": [{"name": "a"}, {"name": "b"}]}),
        ),
        (
            json!({"imagePullSecrets": [{"name": "c"}]}),
            json!({"imagePullSecrets": [{"name": "c"}]}),
        ),
    ] {
        let mut pod = json!({"spec": own});
        inherit_pull_secrets(&account, &mut pod);
        assert_eq!(pod["spec"], expect);
    }
}

/// Rows of upstream's admission_test.go.
#[test]
fn secrets_that_an_account_does_not_name() {
    let account = json!({"metadata": {"name": "a"}, "secrets": [{"name": "known"}], "imagePullSecrets": [{"name": "pull"}]});
    let env = |secret: &str| json!({"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": secret}}}]});
    let env_from = |secret: &str| json!({"name": "c", "envFrom": [{"secretRef": {"name": secret}}]});
    let tail = "is not allowed because service account a does not reference that secret";
    let check = |part: Part, spec: Value, expect: &str| {
        let found = secrets::check(&account, &json!({"spec": spec}), part);
        let expect = match expect {
            "" => Ok(()),
            why if why.starts_with("imagePull") => Err(why.to_owned()),
            why => Err(format!("{why} {tail}")),
        };
        assert_eq!(found, expect, "{spec}");
    };
    check(Part::Whole, json!({}), "");
    check(
        Part::Whole,
        json!({"volumes": [{"secret": {"secretName": "known"}}, {"emptyDir": {}}]}),
        "",
    );
    check(
        Part::Whole,
        json!({"volumes": [{"secret": {"secretName": "x"}}]}),
        "volume with secret.secretName=\"x\"",
    );
    for (field, what) in [("initContainers", "init container"), ("containers", "container")] {
        check(Part::Whole, json!({field: [env("known"), env_from("known")]}), "");
        let why = format!("{what} c with envVar E referencing secret.secretName=\"x\"");
        check(Part::Whole, json!({field: [env("x")]}), &why);
        let why = format!("{what} c with envFrom referencing secret.secretName=\"x\"");
        check(Part::Whole, json!({field: [env_from("x")]}), &why);
    }
    check(
        Part::Whole,
        json!({"imagePullSecrets": [{"name": "pull"}, {"name": "x"}]}),
        "imagePullSecrets[1].name=\"x\" is not allowed because service account a does not reference that imagePullSecret",
    );
    // Only what is added is looked at.
    check(
        Part::Ephemeral,
        json!({"containers": [env("x")], "ephemeralContainers": [env("known")]}),
        "",
    );
    check(
        Part::Ephemeral,
        json!({"ephemeralContainers": [env("x")]}),
        "ephemeral container c with envVar E referencing secret.secretName=\"x\"",
    );
    for (word, expect) in [
        ("true", true),
        ("T", true),
        ("1", true),
        ("yes", false),
        ("", false),
    ] {
        let account = json!({"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": word}}});
        assert_eq!(secrets::is_enforced(&account), expect, "{word}");
    }
}

#[test]
fn mirror_pods_need_nothing() {
    let check = |spec: Value, expect: &str| {
        let found = secrets::check_mirror(&json!({"spec": spec}));
        assert_eq!(found.err().unwrap_or_default(), expect, "{spec}");
    };
    check(
        json!({"containers": [{"name": "c"}], "volumes": [{"hostPath": {"path": "/"}}]}),
        "",
    );
    check(
        json!({"serviceAccountName": "a"}),
        "a mirror pod may not reference service accounts",
    );
    let why = "a mirror pod may not reference secrets";
    check(json!({"imagePullSecrets": [{"name": "x"}]}), why);
    check(
        json!({"containers": [{"envFrom": [{"secretRef": {"name": "x"}}]}]}),
        why,
    );
    check(
        json!({"initContainers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "x"}}}]}]}),
        why,
    );
    for source in [
        json!({"secret": {"secretName": "x"}}),
        json!({"azureFile": {"secretName": "x"}}),
        json!({"rbd": {"secretRef": {"name": "x"}}}),
        json!({"csi": {"nodePublishSecretRef": {"name": "x"}}}),
        json!({"projected": {"sources": [{"secret": {"name": "x"}}]}}),
    ] {
        check(json!({"volumes": [source]}), why);
    }
    check(
        json!({"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
        "a mirror pod may not use ServiceAccountToken volume projections",
    );
}

#[tokio::test]
async fn containers_that_are_added_are_checked() {
    let annotation = json!({"kubernetes.io/enforce-mountable-secrets": "true"});
    let server = with_account(
        &json!({"metadata": {"name": "default", "annotations": annotation}, "secrets": [{"name": "known"}]}),
    )
    .await;
    assert_eq!(server.post(PODS, &pod(&json!({}))).await.code, 201);
    let path = format!("{PODS}/p/ephemeralcontainers");
    let patch = |secret: &str| {
        let env = json!([{"name": "E", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}]);
        let container = json!({"name": "debug", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "env": env});
        json!({"spec": {"ephemeralContainers": [container]}})
    };
    let answer = server.merge(&path, &patch("x")).await;
    let why = "pods \"p\" is forbidden: ephemeral container debug with envVar E referencing secret.secretName=\"x\" is not allowed \
               because service account default does not reference that secret";
    assert_eq!(answer.message(403), why);
    assert_eq!(server.merge(&path, &patch("known")).await.code, 200);
    // The pod itself is free to change.
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(server.merge(&format!("{PODS}/p"), &labels).await.code, 200);
}
