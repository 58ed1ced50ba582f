//! What the suites share: a server in this process, and waiting for what should come about.

use std::fmt::Debug;
use std::time::Duration;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_cache::{InformerOptions, Informers, Lister, WatchScope};
use kubewright_client::{Api, Client, DynamicApi, WriteOptions};
use kubewright_core::{ApiResource, DynamicObject, ObjectKey, StaticResource};
use kubewright_net::{HttpService, Identity};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A server and a client that may do everything.
#[derive(Debug)]
pub struct Cluster {
    /// The server.
    pub server: ApiServer,
    /// The client.
    pub client: Client,
    informers: Informers,
}

/// How long anything may take before a test fails.
pub const LIMIT: Duration = Duration::from_secs(20);

impl Cluster {
    /// A server with nothing in it but its own objects.
    ///
    /// # Panics
    ///
    /// When the server does not start.
    pub async fn start() -> Self {
        Self::start_with(Options::default()).await
    }

    /// The same with options.
    ///
    /// # Panics
    ///
    /// Likewise.
    #[expect(clippy::expect_used, reason = "a test fails by panicking")]
    pub async fn start_with(options: Options) -> Self {
        // For whoever looks for a failure: RUST_LOG=debug shows what goes on.
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_test_writer()
            .try_init();
        let server = ApiServer::start(options).await.expect("the server starts");
        let client = Client::in_process(
            server.service(),
            Identity::new("admin", ["system:masters"]),
            "default",
        );
        let informers = Informers::new(client.clone(), InformerOptions::default());
        Self {
            server,
            client,
            informers,
        }
    }

    /// The server as a service.
    #[must_use]
    pub fn service(&self) -> HttpService {
        self.server.service()
    }

    /// Creates an object from JSON.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub async fn create<K>(&self, namespace: Option<&str>, mut object: Value) -> K
    where
        K: StaticResource + Serialize + DeserializeOwned + 'static,
    {
        let resource = K::api_resource();
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.clone().into();
        let api = self.api(&resource, namespace);
        let created: Result<K, _> = async {
            let object: DynamicObject = serde_json::from_value(object.clone())?;
            let created = api.create(&object, &WriteOptions::default()).await?;
            Ok::<_, Box<dyn std::error::Error>>(serde_json::from_value(serde_json::to_value(created)?)?)
        }
        .await;
        created.unwrap_or_else(|error| panic!("{object} is refused: {error}"))
    }

    /// Objects of a resource.
    #[must_use]
    pub fn api(&self, resource: &ApiResource, namespace: Option<&str>) -> DynamicApi {
        match namespace {
            Some(namespace) => Api::dynamic_namespaced(&self.client, resource, namespace),
            None => Api::dynamic_all(&self.client, resource),
        }
    }

    /// Waits until the objects of a kind are as the predicate wants them.
    ///
    /// # Panics
    ///
    /// When that takes longer than [`LIMIT`]; the message has what is there instead.
    pub async fn eventually<K>(&self, what: &str, predicate: impl Fn(&Lister<K>) -> bool)
    where
        K: StaticResource + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        self.eventually_of(&K::api_resource(), what, predicate).await;
    }

    /// As [`eventually`](Self::eventually), of any resource.
    ///
    /// # Panics
    ///
    /// As [`eventually`](Self::eventually).
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub async fn eventually_of<K: 'static>(
        &self,
        resource: &ApiResource,
        what: &str,
        predicate: impl Fn(&Lister<K>) -> bool,
    ) {
        let informer = self.informers.informer_for::<K>(resource, &WatchScope::default());
        let lister = informer.lister();
        let wait = async {
            informer.synced().await;
            lister.wait_until(&predicate).await;
        };
        if tokio::time::timeout(LIMIT, wait).await.is_err() {
            let there: Vec<_> = lister
                .list()
                .iter()
                .map(|object| String::from_utf8_lossy(&object.raw()).into_owned())
                .collect();
            let failure = informer.health().borrow().failure.clone();
            panic!("{what} did not come about; {failure:?}; there is: {there:#?}");
        }
    }

    /// Waits until an object is as the predicate wants it.
    ///
    /// # Panics
    ///
    /// As [`eventually`](Self::eventually).
    pub async fn eventually_one<K>(&self, key: &str, what: &str, predicate: impl Fn(&K) -> bool)
    where
        K: StaticResource + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let key = ObjectKey::parse(key);
        self.eventually::<K>(what, |lister| {
            lister
                .get(&key)
                .and_then(|object| object.object().ok())
                .is_some_and(|object| predicate(&object))
        })
        .await;
    }
}
