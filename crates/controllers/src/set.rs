//! Which controllers run, and starting them together.

use std::collections::BTreeSet;
use std::sync::Arc;

use kubewright_net::HttpService;
use kubewright_net::signing::SigningKey;
use kubewright_runtime::{Handle, Manager, ManagerOptions, Operator};

use crate::node::NodeOptions;
use crate::{
    cluster_roles, deployment, gc, identity, namespace, node, replica_set, root_ca, service_account, token,
};

/// A controller, or a group of them that work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ControllerName {
    /// Empties and ends namespaces that are being deleted.
    Namespace,
    /// Deletes objects whose owners are gone.
    GarbageCollector,
    /// Gives each namespace its service account `default`.
    ServiceAccount,
    /// Gives each namespace the config map `kube-root-ca.crt`. Does nothing without a certificate.
    RootCa,
    /// Fills the secrets that hold tokens of service accounts, and removes those of accounts that are gone. Does nothing without a key.
    ServiceAccountToken,
    /// Fills cluster roles that take in the rules of others.
    ClusterRoleAggregation,
    /// Keeps as many pods as replica sets ask for.
    ReplicaSet,
    /// Rolls deployments out through replica sets.
    Deployment,
    /// Nodes that pretend to run pods, and a scheduler that fills them.
    Nodes,
}

impl ControllerName {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Namespace,
        Self::GarbageCollector,
        Self::ServiceAccount,
        Self::RootCa,
        Self::ServiceAccountToken,
        Self::ClusterRoleAggregation,
        Self::ReplicaSet,
        Self::Deployment,
        Self::Nodes,
    ];
}

/// Which controllers run, and with what. Every value is valid.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Which run. Default: all.
    pub controllers: BTreeSet<ControllerName>,
    /// The certificate of the authority that signs the server's, as PEM, for [`ControllerName::RootCa`] and beside tokens in secrets. Default:
    /// none.
    pub root_ca: Option<String>,
    /// The key that signs tokens, which has to be one of those that the server believes, for [`ControllerName::ServiceAccountToken`]. Default:
    /// none.
    pub service_account_key: Option<SigningKey>,
    /// The nodes. Default: one.
    pub nodes: NodeOptions,
    /// How the manager works. `client_for` is set by [`ControllerSet::start`]. Default: the manager's.
    pub manager: ManagerOptions,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self {
            controllers: ControllerName::ALL.into(),
            root_ca: None,
            service_account_key: None,
            nodes: NodeOptions::default(),
            manager: ManagerOptions::default(),
        }
    }
}

/// The controllers of a cluster, as an operator.
#[derive(Clone, Debug)]
pub struct ControllerSet {
    operator: Operator,
    manager: ManagerOptions,
}

impl ControllerSet {
    /// The controllers that the options name. Nothing runs yet.
    #[must_use]
    pub fn new(options: ControllerOptions) -> Self {
        let mut operator = Operator::new(identity::MANAGER);
        for name in &options.controllers {
            operator = match name {
                ControllerName::Namespace => operator.controller(namespace::controller()),
                ControllerName::GarbageCollector => gc::add_to(operator),
                ControllerName::ServiceAccount => operator.controller(service_account::controller()),
                ControllerName::RootCa => match &options.root_ca {
                    Some(certificate) => operator.controller(root_ca::controller(certificate)),
                    None => operator,
                },
                ControllerName::ServiceAccountToken => match &options.service_account_key {
                    Some(key) => {
                        operator.controller(token::controller(key.clone(), options.root_ca.as_deref()))
                    }
                    None => operator,
                },
                ControllerName::ClusterRoleAggregation => operator.controller(cluster_roles::controller()),
                ControllerName::ReplicaSet => operator.controller(replica_set::controller()),
                ControllerName::Deployment => operator.controller(deployment::controller()),
                ControllerName::Nodes => node::add_to(operator, &options.nodes),
            };
        }
        Self {
            operator,
            manager: options.manager,
        }
    }

    /// The operator, for example to see what rights the controllers need.
    #[must_use]
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Starts the controllers against a server in this process, each under its own identity, on the current tokio runtime.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn start(&self, server: &HttpService) -> Handle {
        let service = server.clone();
        let options = ManagerOptions {
            client_for: Some(Arc::new(move |name| identity::client(&service, name))),
            ..self.manager.clone()
        };
        let client = identity::client(server, self.operator.name());
        Manager::new(&client, &self.operator, options).start()
    }
}
