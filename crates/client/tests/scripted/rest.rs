//! Requests as they are put together, and lists in pages.

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_client::{
    Api, ApplyOptions, Error, ListOptions, Patch, RestClient, RestRequest, Untyped, VersionMatch,
};
use kubewright_core::GroupVersion;
use kubewright_net::TransportError;
use serde_json::{Value, json};

use crate::script::{Script, answer, ok};

#[tokio::test]
async fn a_list_comes_in_pages_of_one_version() {
    let page = |names: &[&str], rest: &str| {
        let items: Vec<Value> = names
            .iter()
            .map(|name| json!({ "metadata": { "name": name } }))
            .collect();
        ok(json!({ "metadata": { "resourceVersion": "7", "continue": rest }, "items": items }).to_string())
    };
    let script = Script::new([
        page(&["a", "b"], "t1"),
        page(&[], "t2"),
        page(&["c"], ""),
        page(&["a"], "t1"),
        answer(
            410,
            &[],
            json!({ "kind": "Status", "reason": "Expired", "code": 410, "metadata": { "continue": "t9" } })
                .to_string(),
        ),
    ]);
    let maps = Api::<ConfigMap>::all(&script.client());
    let options = ListOptions {
        resource_version: "5".to_owned(),
        version_match: Some(VersionMatch::Exact),
        ..ListOptions::default()
    };
    let pages: Vec<_> = maps.pages(&options).try_collect().await.unwrap();
    let found: Vec<Vec<String>> = pages
        .into_iter()
        .map(|page| page.into_iter().map(|map| map.metadata.name.unwrap()).collect())
        .collect();
    assert_eq!(found, [vec!["a", "b"], vec![], vec!["c"]]);
    let mut pages = maps.pages(&ListOptions {
        limit: 1,
        ..ListOptions::default()
    });
    assert!(pages.next().await.unwrap().is_ok());
    let error = pages.next().await.unwrap().unwrap_err();
    assert!(error.is_expired());
    assert_eq!(error.continue_token(), Some("t9"));
    assert!(pages.next().await.is_none(), "nothing follows an error");
    assert_eq!(
        script.lines(),
        [
            "GET /api/v1/configmaps?resourceVersion=5&resourceVersionMatch=Exact&limit=500",
            "GET /api/v1/configmaps?continue=t1&limit=500",
            "GET /api/v1/configmaps?continue=t2&limit=500",
            "GET /api/v1/configmaps?limit=1",
            "GET /api/v1/configmaps?continue=t1&limit=1",
        ]
    );
}

/// As those of a proxy that forgets the query.
#[tokio::test(start_paused = true)]
async fn pages_that_lead_round_end() {
    let page = || ok(json!({ "metadata": { "continue": "t1" }, "items": [] }).to_string());
    // The second page leads back to itself; the first does where it was asked for by that token.
    for (given, expect) in [("", 2), ("t1", 1)] {
        let script = Script::new((0..10).map(|_| page()));
        let maps = Api::<ConfigMap>::all(&script.client());
        let options = ListOptions {
            continue_token: given.to_owned(),
            ..ListOptions::default()
        };
        let pages: Vec<_> = maps.pages(&options).collect().await;
        let (last, before) = pages.split_last().unwrap();
        assert!(before.iter().all(Result::is_ok));
        assert_eq!(before.len(), expect, "after {given:?}");
        let error = last.as_ref().unwrap_err();
        assert_eq!(
            format!("{error}: {}", std::error::Error::source(error).unwrap()),
            "list /api/v1/configmaps: answer could not be decoded: the pages of the list lead back to one that has come"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_put_together() {
    let script = Script::new(
        (0..4)
            .map(|_| ok("{}"))
            .chain([Err(TransportError::closed("asking"))]),
    );
    let client = script.client();
    let apps = RestClient::new(&client, &GroupVersion::new("apps", "v1"));
    let core = RestClient::new(&client, &GroupVersion::new("", "v1"));
    let any = RestClient::unversioned(&client);
    let web = || apps.get().namespace("team").resource("deployments").name("web");
    let _: Value = web().subresource("scale").json().await.unwrap();
    let patch = Patch::Merge(json!({ "spec": {} }));
    let request = apps
        .patch(&patch)
        .namespace("team")
        .resource("deployments")
        .name("a:b c");
    request
        .param("fieldManager", "me & you")
        .param("force", "false")
        .bytes()
        .await
        .unwrap();
    let proxied = core
        .post()
        .namespace("n")
        .resource("services")
        .name("http:web:80")
        .subresource("proxy/a/b");
    proxied
        .accept("text/plain")
        .body("text/plain", "hello")
        .bytes()
        .await
        .unwrap();
    any.get().path("/healthz").query("verbose").bytes().await.unwrap();
    assert_eq!(
        script.lines(),
        [
            "GET /apis/apps/v1/namespaces/team/deployments/web/scale",
            "PATCH /apis/apps/v1/namespaces/team/deployments/a:b%20c?fieldManager=me+%26+you&force=false",
            "POST /api/v1/namespaces/n/services/http:web:80/proxy/a/b",
            "GET /healthz?verbose",
        ]
    );
    let seen = script.seen();
    assert_eq!(seen[1].header("content-type"), "application/merge-patch+json");
    assert_eq!(seen[1].body, r#"{"spec":{}}"#);
    assert_eq!(seen[0].header("accept"), "application/json");
    assert_eq!(
        (seen[2].header("accept"), &*seen[2].body),
        ("text/plain", "hello")
    );
    let rows: [(RestRequest, &str, &str); 10] = [
        (web().name(".."), "get", "cannot be named"),
        (web().name("a/b"), "get", "holds `/` or `%`"),
        (web().namespace(""), "get", "has no name"),
        (
            apps.get().resource("deployments").subresource("status"),
            "list",
            "needs the name",
        ),
        (
            apps.delete()
                .resource("deployments")
                .param("a", "b")
                .namespace("%"),
            "deletecollection",
            "holds",
        ),
        (any.get().path("healthz"), "get", "begin with"),
        (web().subresource("log?container=x"), "get", "holds a query"),
        (web().subresource("proxy/a/%2E%2e/b"), "get", "leads elsewhere"),
        (
            apps.post().verb("evict").resource("x").body_json(&f64_keys()),
            "evict",
            "no JSON form",
        ),
        (any.put().path("/a b"), "update", "invalid uri"),
    ];
    for (request, verb, expect) in rows {
        let shown = format!("{request:?}");
        match request.bytes().await.unwrap_err() {
            Error::Invalid { call, why } => {
                assert_eq!(call.verb(), verb, "{shown}");
                assert!(why.contains(expect), "{shown}: {why}");
            }
            other => panic!("{shown}: {other}"),
        }
    }
    assert_eq!(script.lines().len(), 4, "invalid requests are not sent");
}

/// What has no JSON form: keys that are no text.
fn f64_keys() -> std::collections::HashMap<Vec<u8>, u8> {
    [(vec![1], 1)].into()
}

#[tokio::test]
async fn the_field_manager_of_a_client_applies() {
    let script = Script::new((0..2).map(|_| ok(r#"{"metadata":{"name":"x"}}"#)));
    let maps: Api<ConfigMap> = Api::namespaced(&script.client().with_field_manager("mine"), "n");
    let nothing = Untyped(json!({}));
    maps.apply("x", &nothing, &ApplyOptions::default()).await.unwrap();
    maps.apply("x", &nothing, &ApplyOptions::new("other"))
        .await
        .unwrap();
    assert_eq!(
        script.lines(),
        [
            "PATCH /api/v1/namespaces/n/configmaps/x?fieldManager=mine",
            "PATCH /api/v1/namespaces/n/configmaps/x?fieldManager=other",
        ]
    );
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let later = || answer(429, &[("retry-after", "18446744073709551615")], "later");
    let script = Script::new([later(), later()]);
    let maps: Api<ConfigMap> = Api::namespaced(&script.client(), "n");
    assert!(maps.get("x").await.unwrap_err().is_too_many_requests());
    let watch = maps.watch(&ListOptions::default()).await;
    assert!(watch.unwrap_err().is_too_many_requests());
    let patient = RestClient::unversioned(&Script::new([ok("{}")]).client());
    patient
        .get()
        .path("/x")
        .timeout(std::time::Duration::MAX)
        .bytes()
        .await
        .unwrap();
}
