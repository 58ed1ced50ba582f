//! Who the controllers are: names as kube-controller-manager's with `--use-service-account-credentials`
//! (kubernetes `cmd/kube-controller-manager/app`), the scheduler's and the nodes'.

use kubewright_client::{Client, ClientOptions, WarningHandler};
use kubewright_net::{HttpService, Identity};

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
        SCHEDULER => Identity::new("system:kube-scheduler", [AUTHENTICATED]),
        KUBELET => Identity::new("system:node:kubewright", ["system:nodes", AUTHENTICATED]),
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

pub(crate) const SCHEDULER: &str = "kube-scheduler";
pub(crate) const KUBELET: &str = "kubelet";
