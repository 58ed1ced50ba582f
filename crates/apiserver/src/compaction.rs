//! The task that lets history age: once an interval, what is older than an interval is discarded.

use std::sync::Arc;

use crate::server::Server;
use crate::storage::Compactor;

/// Starts the task; it ends with the server.
pub(crate) fn start(server: &Arc<Server>) {
    let interval = server.options.compact_interval;
    let storage = server.options.storage.clone();
    let mut stop = server.stop.subscribe();
    tokio::spawn(async move {
        let mut compactor = Compactor::new(interval);
        loop {
            let compacted = match storage.progress().await {
                Ok(revision) => match compactor.step(tokio::time::Instant::now().into_std(), revision) {
                    Some(before) => storage.compact(before).await,
                    None => Ok(()),
                },
                Err(error) => Err(error),
            };
            if let Err(error) = compacted {
                tracing::warn!(%error, "the store cannot be compacted; it is tried again");
            }
            tokio::select! {
                biased;
                // Also when the server is gone, which drops the sender.
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(interval) => {}
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::storage::{At, Encoded, Key, KeyPrefix, RangeRequest};
    use crate::{ApiServer, Options};

    #[tokio::test(start_paused = true)]
    async fn history_is_kept_for_one_to_two_intervals() {
        let interval = Duration::from_secs(300);
        let server = ApiServer::start(Options {
            compact_interval: interval,
            ..Options::default()
        })
        .await
        .unwrap();
        let storage = server.storage();
        let old = storage.progress().await.unwrap();
        let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        storage
            .create(
                Key::new("", "configmaps", Some("default"), "a"),
                Encoded::from_value(&object),
            )
            .await
            .unwrap();
        let read = || {
            let mut request = RangeRequest::new(KeyPrefix::resource("", "configmaps"));
            request.at = At::Exact(old);
            storage.range(request)
        };
        tokio::time::sleep(interval / 2).await;
        assert!(read().await.is_ok());
        tokio::time::sleep(interval * 2).await;
        assert!(read().await.unwrap_err().is_compacted());
    }
}
