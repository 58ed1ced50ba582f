//! The environment: what it holds and how it starts and stops.

use std::collections::BTreeSet;
use std::time::Duration;

use kubewright_apiserver::{AdmissionPlugin, ApiServer, Options};
use kubewright_client::helpers::conditions::has_condition;
use kubewright_client::{Api, Client, WriteOptions};
use kubewright_controllers::{ControllerName, ControllerOptions, ControllerSet};
use kubewright_core::DynamicObject;
use kubewright_net::Identity;
use kubewright_net::signing::SigningKey;
use kubewright_runtime::{Handle, Manager, ManagerOptions, Operator};
use kubewright_schema::Definition;

use crate::{TestEnvError, User};

/// How an environment is set up. Every value is valid.
#[derive(Debug)]
pub struct TestEnvOptions {
    /// The API server. Default: its own defaults, state in memory.
    ///
    /// Where the service account controller runs, the admission plugin [`AdmissionPlugin::ServiceAccount`] is on unless it is turned off here:
    /// pods then need their account and get a token of it, as in any cluster.
    pub server: Options,
    /// Which controllers run. Default: all, with one simulated node. The key of service accounts is the server's.
    pub controllers: ControllerOptions,
    /// How long [`TestEnv::wait_for`] and [`TestEnv::install`] wait. Default: 30 s, far beyond what anything here takes.
    pub wait_limit: Duration,
}

impl Default for TestEnvOptions {
    fn default() -> Self {
        Self {
            server: Options::default(),
            controllers: ControllerOptions::default(),
            wait_limit: Duration::from_secs(30),
        }
    }
}

impl TestEnvOptions {
    /// An API server alone, as envtest has it.
    pub fn without_controllers() -> Self {
        let controllers = ControllerOptions {
            controllers: BTreeSet::new(),
            ..ControllerOptions::default()
        };
        Self {
            controllers,
            ..Self::default()
        }
    }
}

/// A server, its controllers and an administrator's client, in this process.
///
/// Dropping it ends everything without waiting; [`stop`](Self::stop) waits for the controllers and tells of their failures.
#[derive(Debug)]
pub struct TestEnv {
    server: ApiServer,
    controllers: Option<Handle>,
    client: Client,
    pub(crate) wait_limit: Duration,
}

impl TestEnv {
    /// Starts an environment on the current tokio runtime. Requests are answered and controllers work when this returns.
    ///
    /// # Errors
    /// When the server or a controller does not start.
    pub async fn start(mut options: TestEnvOptions) -> Result<Self, TestEnvError> {
        let server = &mut options.server;
        if options
            .controllers
            .controllers
            .contains(&ControllerName::ServiceAccount)
        {
            let plugins = std::mem::take(&mut server.admission);
            server.admission = plugins.with_unless_off(AdmissionPlugin::ServiceAccount);
        }
        let key = &mut options.server.service_accounts.signing_key;
        let tokens = ControllerName::ServiceAccountToken;
        if key.is_none() && options.controllers.controllers.contains(&tokens) {
            *key = Some(SigningKey::generate()?);
        }
        options.controllers.service_account_key = key.clone();
        let server = ApiServer::start(options.server).await?;
        let service = server.service();
        let controllers = if options.controllers.controllers.is_empty() {
            None
        } else {
            Some(
                ControllerSet::new(options.controllers)
                    .start(&service)
                    .ready()
                    .await?,
            )
        };
        let client = Client::in_process(service, Identity::new("test", ["system:masters"]), "default");
        Ok(Self {
            server,
            controllers,
            client,
            wait_limit: options.wait_limit,
        })
    }

    /// The administrator's client; its default namespace is `default`.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A client of a user with the rights that it names. The roles and bindings are made for it, and the service account where it is one; what a user
    /// of the same name was allowed before in the same namespace counts no more.
    ///
    /// The client's default namespace is that of the service account, or `default`.
    ///
    /// # Errors
    /// When the server refuses any of that, as it does for names that objects cannot have.
    pub async fn client_for(&self, user: &User) -> Result<Client, TestEnvError> {
        let identity = self.identity_for(user).await?;
        let namespace = user.account().map_or("default", |(namespace, _)| namespace);
        Ok(Client::in_process(self.server.service(), identity, namespace))
    }

    /// The identity of a user with the rights that it names, for clients that a test makes itself.
    ///
    /// # Errors
    /// As [`client_for`](Self::client_for).
    pub async fn identity_for(&self, user: &User) -> Result<Identity, TestEnvError> {
        Ok(user.admit(&self.client).await?)
    }

    /// A client of somebody as they are: nothing is made for them.
    pub fn client_as(&self, identity: Identity) -> Client {
        Client::in_process(self.server.service(), identity, "default")
    }

    /// The server, to listen on a socket for instance.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Creates the operator's custom resource definitions and waits until their kinds are served.
    ///
    /// # Errors
    /// When a definition is none, or the server refuses it or does not serve it in time.
    pub async fn install(&self, operator: &Operator) -> Result<(), TestEnvError> {
        self.install_definitions(operator.definitions()).await
    }

    /// The same for definitions by themselves.
    ///
    /// # Errors
    /// Likewise.
    pub async fn install_definitions(&self, definitions: &[Definition]) -> Result<(), TestEnvError> {
        let api = Api::<DynamicObject>::dynamic_all(&self.client, &crate::wait::definitions());
        for definition in definitions {
            let value = definition.to_value();
            let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let object: DynamicObject =
                serde_json::from_value(value).map_err(|source| TestEnvError::Definition {
                    name: name.clone(),
                    source,
                })?;
            match api.create(&object, &WriteOptions::default()).await {
                Err(error) if !error.is_already_exists() => return Err(error.into()),
                _ => {}
            }
            self.wait_for(&api, &name, has_condition("Established", "True"))
                .await?;
        }
        Ok(())
    }

    /// Runs an operator as the administrator; it works when this returns. Its kinds must be [installed](Self::install).
    ///
    /// # Errors
    /// When its caches do not sync.
    pub async fn run(&self, operator: &Operator) -> Result<Handle, TestEnvError> {
        self.run_with(operator, ManagerOptions::default()).await
    }

    /// The same as a user who has the rights that the operator says it needs, and no others: what it does beyond them is refused, as it would be in
    /// a cluster where its manifests were applied.
    ///
    /// # Errors
    /// Likewise, and as [`client_for`](Self::client_for).
    pub async fn run_as(&self, user: User, operator: &Operator) -> Result<Handle, TestEnvError> {
        let client = self.client_for(&user.allow_all(operator.rights())).await?;
        let manager = Manager::new(&client, operator, ManagerOptions::default());
        Ok(manager.start().ready().await?)
    }

    /// The same as the administrator, with options.
    ///
    /// # Errors
    /// Likewise.
    pub async fn run_with(
        &self,
        operator: &Operator,
        options: ManagerOptions,
    ) -> Result<Handle, TestEnvError> {
        Ok(Manager::new(&self.client, operator, options)
            .start()
            .ready()
            .await?)
    }

    /// Stops the controllers and waits for them, then tells the server to end its watches and tasks. Those have nothing left
    /// to do and are not waited for.
    ///
    /// # Errors
    /// When a controller failed or did not stop in time.
    pub async fn stop(mut self) -> Result<(), TestEnvError> {
        if let Some(controllers) = self.controllers.take() {
            controllers.stop().await?;
        }
        Ok(())
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        self.server.shut_down();
    }
}
