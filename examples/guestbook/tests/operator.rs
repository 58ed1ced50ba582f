//! The whole operator against a control plane in this process.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use guestbook::directory::DIRECTORY;
use guestbook::{FINALIZER, Guestbook, operator};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::events::v1::Event;
use kubewright::cache::{InformerOptions, Informers, Lister, WatchScope};
use kubewright::client::DeleteOptions;
use kubewright::core::{Namespaced, Resource, StaticResource, is_controlled_by};
use kubewright::net::HttpService;
use kubewright::runtime::{Handle, condition_is_true};
use kubewright::testing::{TestEnv, TestEnvOptions, User};
use kubewright::{Api, Client, Manager, ManagerOptions, Operator, Patch, WriteOptions};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A control plane with the operator at work.
struct Running {
    env: TestEnv,
    operator: Handle,
    /// What the operator has asked the server for.
    requests: Arc<Mutex<Vec<Asked>>>,
    events: Lister<Event>,
}

#[tokio::test]
async fn a_guestbook_comes_up() {
    let running = Running::start().await;
    let created = running
        .create("visitors", json!({"message": "hello", "replicas": 2}))
        .await;
    let settled = running.settled("visitors").await;
    assert_eq!(
        settled.metadata.finalizers.as_deref(),
        Some(&[FINALIZER.to_owned()][..])
    );
    let status = settled.status.unwrap();
    assert_eq!(
        (status.replicas, status.ready_replicas, status.observed_generation),
        (2, 2, 1)
    );

    let deployment = running.get::<Deployment>("visitors").await;
    let service = running.get::<Service>("visitors").await;
    let page = running.get::<ConfigMap>("visitors-page").await;
    assert!(is_controlled_by(&deployment, &created));
    assert!(is_controlled_by(&service, &created));
    assert!(is_controlled_by(&page, &created));
    let directory = running.get::<ConfigMap>(DIRECTORY).await;
    assert_eq!(directory.data.unwrap()["visitors"], "http://visitors.default.svc");
    running
        .told(&[
            "Created Deployment visitors",
            "Created Service visitors",
            "Created ConfigMap visitors-page",
        ])
        .await;
    running.stop().await;
}

#[tokio::test]
async fn what_is_settled_causes_no_writes() {
    let running = Running::start().await;
    running.create("visitors", json!({"message": "hello"})).await;
    running.settled("visitors").await;
    let before = running.requests.lock().len();
    // This is looked into, and there is nothing to do about it.
    running
        .patch::<Guestbook>("visitors", json!({"metadata": {"annotations": {"a": "b"}}}))
        .await;
    running
        .patch::<Guestbook>("visitors", json!({"spec": {"message": "good bye"}}))
        .await;
    running
        .wait::<Guestbook>("visitors", |book| {
            book.status
                .as_ref()
                .is_some_and(|status| status.observed_generation == 2)
        })
        .await;
    let page = running.get::<ConfigMap>("visitors-page").await;
    assert!(page.data.unwrap()["index.html"].contains("good bye"));
    let requests = running.requests.lock()[before..].to_vec();
    let writes: Vec<_> = requests
        .iter()
        .filter(|asked| !["get", "list", "watch"].contains(&asked.verb) && asked.resource != "events")
        .map(|asked| format!("{} {} {}", asked.verb, asked.resource, asked.name))
        .collect();
    assert_eq!(
        writes,
        [
            "patch configmaps visitors-page",
            "patch guestbooks/status visitors"
        ]
    );
    running.stop().await;
}

#[tokio::test]
async fn drift_is_repaired() {
    let running = Running::start().await;
    running
        .create("visitors", json!({"message": "hello", "image": "nginx:1"}))
        .await;
    running.settled("visitors").await;

    let image = |deployment: &Deployment| {
        let pod = deployment.spec.template.spec.clone().unwrap_or_default();
        pod.containers[0].image.clone().unwrap_or_default()
    };
    let mut changed = serde_json::to_value(running.get::<Deployment>("visitors").await).unwrap();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "other".into();
    let patch = json!({"spec": {"template": changed["spec"]["template"]}});
    running.patch::<Deployment>("visitors", patch).await;
    running
        .wait::<Deployment>("visitors", |deployment| image(deployment) == "nginx:1")
        .await;

    let service = running.get::<Service>("visitors").await;
    running
        .api::<Service>()
        .delete("visitors", &DeleteOptions::default())
        .await
        .unwrap();
    running
        .wait::<Service>("visitors", |new| new.metadata.uid != service.metadata.uid)
        .await;

    running
        .patch::<ConfigMap>(DIRECTORY, json!({"data": {"visitors": null}}))
        .await;
    running
        .wait::<ConfigMap>(DIRECTORY, |map| {
            map.data.iter().flatten().any(|(name, _)| name == "visitors")
        })
        .await;
    running.told(&["Repaired Deployment visitors"]).await;
    running.stop().await;
}

#[tokio::test]
async fn it_scales() {
    let running = Running::start().await;
    running.create("visitors", json!({"message": "hello"})).await;
    running.settled("visitors").await;
    let api = running.api::<Guestbook>();
    let patch = Patch::Merge(json!({"spec": {"replicas": 3}}));
    let scale = api
        .patch_scale("visitors", &patch, &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(3));
    running
        .wait::<Guestbook>("visitors", |book| {
            book.status
                .as_ref()
                .is_some_and(|status| status.ready_replicas == 3)
        })
        .await;
    running.told(&["Scaled Deployment visitors"]).await;

    // More than the definition allows.
    let patch = Patch::Merge(json!({"spec": {"replicas": 11}}));
    let refused = api
        .patch("visitors", &patch, &WriteOptions::default())
        .await
        .unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    running.stop().await;
}

#[tokio::test]
async fn the_directory_lists_who_is_there() {
    let running = Running::start().await;
    for name in ["a", "b"] {
        running
            .create(name, json!({"message": "hello", "replicas": 0}))
            .await;
    }
    running.settled("a").await;
    running.settled("b").await;
    let api = running.api::<Guestbook>();
    let directories = running.api::<ConfigMap>();
    api.delete("a", &DeleteOptions::default()).await.unwrap();
    running
        .env
        .wait_for(&api, "a", |book| book.is_none())
        .await
        .unwrap();
    let directory = running.get::<ConfigMap>(DIRECTORY).await;
    let listed: Vec<_> = directory.data.unwrap_or_default().into_keys().collect();
    assert_eq!(listed, ["b"]);
    api.delete("b", &DeleteOptions::default()).await.unwrap();
    running
        .env
        .wait_for(&api, "b", |book| book.is_none())
        .await
        .unwrap();
    assert_eq!(directories.get_opt(DIRECTORY).await.unwrap(), None);
    running.stop().await;
}

#[tokio::test]
async fn others_are_left_alone() {
    let running = Running::start().await;
    let theirs: Service = serde_json::from_value(json!({
        "metadata": {"name": "visitors"}, "spec": {"ports": [{"port": 1}]},
    }))
    .unwrap();
    let theirs = running
        .api()
        .create(&theirs, &WriteOptions::default())
        .await
        .unwrap();
    running.create("visitors", json!({"message": "hello"})).await;
    running
        .told(&["Service default/visitors belongs to somebody else"])
        .await;
    assert_eq!(running.get::<Service>("visitors").await, theirs);
    running.stop().await;
}

impl Running {
    async fn start() -> Self {
        // For whoever looks for a failure: RUST_LOG=debug shows what goes on.
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let log = tracing_subscriber::fmt().with_env_filter(filter);
        let _ = log.with_test_writer().try_init();
        let env = TestEnv::start(TestEnvOptions::default()).await.unwrap();
        let operator = operator();
        env.install(&operator).await.unwrap();
        let requests = Arc::<Mutex<Vec<Asked>>>::default();
        let (server, record) = (env.server().service(), Arc::clone(&requests));
        let recording = HttpService::from_fn(move |request| {
            record
                .lock()
                .push(Asked::of(request.method().as_str(), request.uri().path()));
            server.send(request)
        });
        // As its manifests have it: an account with the rights that it asks for, and no others.
        let account = User::service_account("guestbook-system", "guestbook").allow_all(operator.rights());
        let identity = env.identity_for(&account).await.unwrap();
        let client = Client::in_process(recording, identity, "default");
        let manager = Manager::new(&client, &operator, ManagerOptions::default());
        let events = Informers::new(env.client().clone(), InformerOptions::default());
        Self {
            operator: manager.start().ready().await.unwrap(),
            events: events.informer::<Event>(&WatchScope::default()).lister(),
            env,
            requests,
        }
    }

    /// Ends all, and checks that the operator asked for nothing that it has no right to.
    async fn stop(self) {
        self.operator.stop().await.unwrap();
        self.env.stop().await.unwrap();
        let rights = rights(&operator());
        let requests = self.requests.lock();
        assert!(!requests.is_empty(), "nothing was recorded");
        for asked in requests.iter() {
            let needed = (asked.verb.to_owned(), asked.group.clone(), asked.resource.clone());
            assert!(rights.contains(&needed), "the operator has no right to {asked:?}");
        }
    }

    fn api<K: StaticResource + Resource<Scope = Namespaced>>(&self) -> Api<K> {
        Api::namespaced(self.env.client(), "default")
    }

    async fn create(&self, name: &str, spec: Value) -> Guestbook {
        let guestbook = Guestbook::new(name, serde_json::from_value(spec).unwrap());
        self.api()
            .create(&guestbook, &WriteOptions::default())
            .await
            .unwrap()
    }

    async fn get<K>(&self, name: &str) -> K
    where
        K: StaticResource + Resource<Scope = Namespaced> + serde::de::DeserializeOwned + 'static,
    {
        self.api::<K>().get(name).await.unwrap()
    }

    async fn patch<K>(&self, name: &str, patch: Value)
    where
        K: StaticResource + Resource<Scope = Namespaced>,
        K: serde::Serialize + serde::de::DeserializeOwned + 'static,
    {
        let api = self.api::<K>();
        api.patch(name, &Patch::Merge(patch), &WriteOptions::default())
            .await
            .unwrap();
    }

    async fn wait<K>(&self, name: &str, holds: impl Fn(&K) -> bool) -> K
    where
        K: StaticResource + Resource<Scope = Namespaced>,
        K: serde::Serialize + serde::de::DeserializeOwned + Send + 'static,
    {
        let found = self
            .env
            .wait_for(&self.api::<K>(), name, |object| object.is_some_and(&holds))
            .await;
        found.unwrap().unwrap()
    }

    /// Waits until a guestbook is all that it asks to be.
    async fn settled(&self, name: &str) -> Guestbook {
        self.wait::<Guestbook>(name, |book| {
            book.status.as_ref().is_some_and(|status| {
                condition_is_true(&status.conditions, "Available")
                    && !condition_is_true(&status.conditions, "Progressing")
                    && Some(status.observed_generation) == book.metadata.generation
            })
        })
        .await
    }

    /// Waits until events say all of this.
    async fn told(&self, notes: &[&str]) {
        let said = || -> BTreeSet<String> {
            let events = self.events.list();
            let events = events.iter().filter_map(|event| event.object().ok());
            events.filter_map(|event| event.note.clone()).collect()
        };
        let all = self
            .events
            .wait_until(|_| notes.iter().all(|note| said().contains(*note)));
        let all = tokio::time::timeout(Duration::from_secs(30), all).await;
        assert!(all.is_ok(), "events say {:?}", said());
    }
}

/// What a request asks for, in the words of rights. Only objects in namespaces, and kinds as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    verb: &'static str,
    group: String,
    resource: String,
    name: String,
}

impl Asked {
    fn of(method: &str, path: &str) -> Self {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => panic!("no path of a resource: {path}"),
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
            rest => rest,
        };
        let (resource, name) = match rest {
            [resource] => ((*resource).to_owned(), ""),
            [resource, name] => ((*resource).to_owned(), *name),
            [resource, name, subresource] => (format!("{resource}/{subresource}"), *name),
            _ => panic!("no path of a resource: {path}"),
        };
        let verb = match (method, name) {
            // A watch needs the rights of a list, as far as this operator goes.
            ("GET", "") => "list",
            ("GET", _) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", "") => "deletecollection",
            ("DELETE", _) => "delete",
            _ => panic!("{method} {path}"),
        };
        Self {
            verb,
            group: group.to_owned(),
            resource,
            name: name.to_owned(),
        }
    }
}

fn rights(operator: &Operator) -> BTreeSet<(String, String, String)> {
    let rules = operator.rights();
    let rules = rules.iter().map(|right| right.to_rule());
    rules
        .flat_map(|rule| {
            let group = rule.api_groups.unwrap_or_default().concat();
            let resource = rule.resources.unwrap_or_default().concat();
            rule.verbs
                .into_iter()
                .map(move |verb| (verb, group.clone(), resource.clone()))
        })
        .collect()
}
