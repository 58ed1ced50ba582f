//! The config map `kube-root-ca.crt` of each namespace, with which pods check the API server's certificate
//! (kubernetes `pkg/controller/certificates/rootcacertpublisher/publisher.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright_client::WriteOptions;
use kubewright_core::{ObjectKey, ObjectMeta};
use kubewright_runtime::{Context, Controller, Error, Outcome, Reconciler, Request, Right, Verb};

use crate::service_account::{is_open, unless_closed};

/// The controller, with the certificate as PEM.
pub(crate) fn controller(certificate: &str) -> Controller {
    let publisher = Publisher {
        data: BTreeMap::from([("ca.crt".to_owned(), certificate.to_owned())]),
    };
    Controller::new("root-ca-cert-publisher", publisher)
        .for_::<Namespace>()
        .watches::<ConfigMap>(|map| match (map.name(), map.namespace()) {
            (NAME, Some(namespace)) => vec![ObjectKey::cluster(namespace)],
            _ => Vec::new(),
        })
        .right(Right::to::<ConfigMap>([Verb::Create, Verb::Update]))
}

struct Publisher {
    data: BTreeMap<String, String>,
}

impl Reconciler for Publisher {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        if !is_open(ctx, &request).await? {
            return Ok(Outcome::done());
        }
        let namespace = request.name();
        let api = ctx.api::<ConfigMap>(namespace);
        let key = ObjectKey::namespaced(namespace, NAME);
        let Some(present) = ctx.lister::<ConfigMap>()?.get(&key).await? else {
            let map = ConfigMap {
                metadata: ObjectMeta {
                    name: Some(NAME.to_owned()),
                    namespace: Some(namespace.to_owned()),
                    ..ObjectMeta::default()
                },
                data: Some(self.data.clone()),
                ..ConfigMap::default()
            };
            return unless_closed(api.create(&map, &WriteOptions::default()).await);
        };
        let mut map = (*present.object()?).clone();
        if map.data.as_ref() != Some(&self.data) {
            map.data = Some(self.data.clone());
            api.replace(NAME, &map, &WriteOptions::default()).await?;
        }
        Ok(Outcome::done())
    }
}

const NAME: &str = "kube-root-ca.crt";
