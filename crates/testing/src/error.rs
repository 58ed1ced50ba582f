//! What can go wrong with a [`TestEnv`](crate::TestEnv).

use std::time::Duration;

use kubewright_apiserver::StartError;
use kubewright_apiserver::serving::AuthorityError;
use kubewright_client::Error as ClientError;
use kubewright_net::kubeconfig::KubeconfigError;
use kubewright_net::signing::SigningError;
use kubewright_runtime::RunError;

/// Why an environment did not do what a test asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestEnvError {
    /// The API server did not start.
    #[error("the API server did not start")]
    Server(#[from] StartError),
    /// The controllers did not start or did not stop in order.
    #[error("the controllers failed")]
    Controllers(#[from] RunError),
    /// There is no port to listen on.
    #[error("the server cannot listen on a port of the loopback address")]
    Listen(#[from] std::io::Error),
    /// The certificates of a served environment could not be made.
    #[error("the certificates cannot be made")]
    Certificates(#[from] AuthorityError),
    /// The key that signs tokens could not be made.
    #[error("the key of service accounts cannot be made")]
    SigningKey(#[from] SigningError),
    /// The kubeconfig of a served environment could not be written.
    #[error("the kubeconfig was not written")]
    Kubeconfig(#[from] KubeconfigError),
    /// A request failed.
    #[error("a request failed")]
    Request(#[from] ClientError),
    /// A definition is not an object.
    #[error("the definition {name} cannot be read")]
    Definition {
        /// Its name, if it has one.
        name: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// What was waited for did not come true in time.
    #[error("{what} did not come true within {limit:?}; last seen: {last}")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
        /// The last state, as JSON.
        last: String,
    },
}
