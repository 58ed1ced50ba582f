//! Who the controllers are: names as kube-controller-manager's with `--use-service-account-credentials`
//! (kubernetes `cmd/kube-controller-manager/app`), the scheduler's and the nodes'. So each has the rights that the default roles of a cluster give
//! it. The simulated nodes act as one: the server lets nodes do what their kubelets do.

use kubewright_client::{Client, ClientOptions, WarningHandler};
use kubewright_net::{HttpService, Identity};

use crate::token;

/// A client for a controller of a server in this process. What the server warns of is nothing that whoever runs the controllers could
/// change: they ask for every kind, deprecated ones included (`SetDefaultWarningHandler` in controllermanager.go).
pub(crate) fn client(server: &HttpService, name: &str) -> Client {
    let client = Client::in_process(server.clone(), identity(name), "default");
    client.with_client_options(ClientOptions {
        user_agent: format!("kube-controller-manager/{name}"),
        warnings: WarningHandler::ignore(),
        ..ClientOptions::default()
    })
}

fn identity(name: &str) -> Identity {
    match name {
        // It comes before accounts have anything, upstream too (`newServiceAccountTokenController`).
        MANAGER | token::NAME => Identity::new("system:kube-controller-manager", [AUTHENTICATED]),
        SCHEDULER => Identity::new("system:kube-scheduler", [AUTHENTICATED]),
        KUBELET | NODES => Identity::new("system:node:kubewright", ["system:nodes", AUTHENTICATED]),
        name => Identity::new(
            format!("system:serviceaccount:kube-system:{name}"),
            [
                "system:serviceaccounts",
                "system:serviceaccounts:kube-system",
                AUTHENTICATED,
            ],
        ),
    }
}

const AUTHENTICATED: &str = "system:authenticated";

/// Whose the caches are that the controllers share.
pub(crate) const MANAGER: &str = "kube-controller-manager";
pub(crate) const SCHEDULER: &str = "kube-scheduler";
pub(crate) const KUBELET: &str = "kubelet";
/// What makes the nodes.
pub(crate) const NODES: &str = "node-registration";
