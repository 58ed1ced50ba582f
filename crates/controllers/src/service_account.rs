//! The service account `default` of each namespace (kubernetes `pkg/controller/serviceaccount/serviceaccounts_controller.go`).

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kubewright_client::WriteOptions;
use kubewright_core::{ObjectKey, ObjectMeta};
use kubewright_runtime::{Context, Controller, Error, Outcome, Reconciler, Request, Right, Verb};

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::new("service-account-controller", ServiceAccounts)
        .for_::<Namespace>()
        .watches::<ServiceAccount>(|account| match (account.name(), account.namespace()) {
            (DEFAULT, Some(namespace)) => vec![ObjectKey::cluster(namespace)],
            _ => Vec::new(),
        })
        .right(Right::to::<ServiceAccount>([Verb::Create]))
}

struct ServiceAccounts;

impl Reconciler for ServiceAccounts {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        if !is_open(ctx, &request).await? {
            return Ok(Outcome::done());
        }
        let namespace = request.name();
        let key = ObjectKey::namespaced(namespace, DEFAULT);
        if ctx.lister::<ServiceAccount>()?.get(&key).await?.is_some() {
            return Ok(Outcome::done());
        }
        let account = ServiceAccount {
            metadata: ObjectMeta {
                name: Some(DEFAULT.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            ..ServiceAccount::default()
        };
        let created = ctx
            .api::<ServiceAccount>(namespace)
            .create(&account, &WriteOptions::default())
            .await;
        unless_closed(created)
    }
}

/// Whether a namespace is there and not being deleted.
pub(crate) async fn is_open(ctx: &Context, request: &Request) -> Result<bool, Error> {
    let namespace = ctx.lister::<Namespace>()?.get(&request.key).await?;
    Ok(namespace.is_some_and(|namespace| namespace.metadata().deletion_timestamp.is_none()))
}

/// Another may have been quicker, or the namespace may be going: then there is nothing to do.
pub(crate) fn unless_closed<K>(created: Result<K, kubewright_client::Error>) -> Result<Outcome, Error> {
    match created {
        Err(error)
            if !(error.is_already_exists() || error.is_namespace_terminating() || error.is_not_found()) =>
        {
            Err(error.into())
        }
        _ => Ok(Outcome::done()),
    }
}

const DEFAULT: &str = "default";
