//! What the `main` of an operator needs besides its operator.

#[cfg(feature = "ring")]
use kubewright_client::{Client, Config, ConfigError};

/// A client for the cluster that the surroundings name: the kubeconfig of `KUBECONFIG` or of the home folder, and
/// otherwise the service account of the pod. TLS is ring's. No connection is opened yet.
///
/// # Errors
///
/// There is no usable configuration; [`ConfigError::hint`] says what to do.
#[cfg(feature = "ring")]
pub fn default_client() -> Result<Client, ConfigError> {
    let provider = rustls::crypto::ring::default_provider();
    Client::new(Config::infer()?, std::sync::Arc::new(provider))
}

/// Waits until the process is asked to end: by an interrupt, or by the signal with which Kubernetes ends containers
/// (`SIGTERM`). The signals are caught from the first poll on. Mirrors controller-runtime's `SetupSignalHandler`
/// (`pkg/manager/signals`), except that a second signal does not end the process at once.
///
/// Where signals cannot be caught it is ready at once, since an operator that cannot be stopped in order should not start.
///
/// # Panics
///
/// Outside of a tokio runtime with I/O.
pub async fn shutdown_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    {
        let _ = tokio::signal::ctrl_c().await;
    }
}
