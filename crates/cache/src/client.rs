//! The client as a source of informers.

use std::sync::Arc;

use futures_core::Stream;
use kubewright_client::{Client, Error, RawWatch, ResourcePath};
use kubewright_core::{ApiResource, ListMeta, ListOptions};

use crate::factory::{Sources, WatchScope};
use crate::source::{BoxFuture, ItemSink, ListerWatcher, SourceError, WatchStream};

/// Lists and watches a resource in a scope through a client.
#[derive(Debug, Clone)]
pub struct ClientSource {
    client: Client,
    path: ResourcePath,
    scope: WatchScope,
}

impl ClientSource {
    /// A source of the objects of a resource in a scope.
    #[must_use]
    pub fn new(client: Client, resource: &ApiResource, scope: &WatchScope) -> Self {
        let mut path = ResourcePath::new(resource, scope.namespace.as_deref());
        path.view = scope.view;
        Self {
            client,
            path,
            scope: scope.clone(),
        }
    }

    fn options(&self, options: ListOptions) -> ListOptions {
        let (label_selector, field_selector) = (self.scope.labels.clone(), self.scope.fields.clone());
        ListOptions {
            label_selector,
            field_selector,
            ..options
        }
    }
}

impl ListerWatcher for ClientSource {
    fn list_page<'a>(
        &'a self,
        options: ListOptions,
        sink: &'a mut dyn ItemSink,
    ) -> BoxFuture<'a, Result<ListMeta, SourceError>> {
        Box::pin(async move {
            let options = self.options(options);
            let mut items = self.client.list_items(&self.path, &options).await?;
            let mut is_begun = false;
            while let Some(item) = items.next().await? {
                if !is_begun && let Some(metadata) = items.metadata() {
                    sink.begin(metadata);
                    is_begun = true;
                }
                sink.item(item);
                // A server in this process may have all items at hand.
                tokio::task::consume_budget().await;
            }
            Ok(items.finish().await?)
        })
    }

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<WatchStream, SourceError>> {
        Box::pin(async move {
            let watch = self.client.watch_raw(&self.path, &self.options(options)).await?;
            Ok(Box::pin(Events(watch)) as WatchStream)
        })
    }
}

impl Sources for Client {
    fn source(&self, resource: &ApiResource, scope: &WatchScope) -> Arc<dyn ListerWatcher> {
        Arc::new(ClientSource::new(self.clone(), resource, scope))
    }
}

/// A watch with the errors of a source.
struct Events(RawWatch);

impl Stream for Events {
    type Item = Result<kubewright_client::RawEvent, SourceError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let event = std::pin::Pin::new(&mut self.0).poll_next(cx);
        event.map(|event| event.map(|event| event.map_err(SourceError::from)))
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        let (refused, retry_after) = (error.is_connection_refused(), error.retry_after());
        match error {
            Error::Api { status, .. } => Self::Status { status, retry_after },
            error => {
                // The error itself says what was done; its sources say what went wrong.
                let mut message = error.to_string();
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    message = format!("{message}: {cause}");
                    source = cause.source();
                }
                match error {
                    _ if refused => Self::ConnectionRefused { message },
                    Error::TooLarge { .. } | Error::Decode { .. } => Self::Unreadable { message },
                    _ => Self::Transport { message },
                }
            }
        }
    }
}
