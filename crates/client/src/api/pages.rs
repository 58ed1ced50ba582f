//! Lists read page by page, so that neither side holds all of a large collection at once.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use kubewright_core::{ContinueTokens, List, ListOptions, Resource};
use serde::de::DeserializeOwned;

use super::Api;
use crate::error::Error;

/// Objects of a page where the options have no limit (client-go `tools/pager`): 500.
pub const PAGE_SIZE: u64 = 500;

type Page<K> = Result<List<K>, Error>;

/// The pages of a list: a stream that ends after the last one, or after an error.
///
/// All pages are of one version of the collection, that of the first one. A server keeps it for some minutes; who takes longer gets an
/// error that [is expired](Error::is_expired), whose [continue token](Error::continue_token) reads on from there in the present version.
#[must_use = "a stream does nothing unless it is read"]
pub struct Pages<K: Resource, S> {
    api: Api<K, S>,
    options: ListOptions,
    tokens: ContinueTokens,
    state: State<K>,
}

enum State<K> {
    Asking(BoxFuture<'static, Page<K>>),
    Next,
    LeadsBack,
    Ended,
}

impl<K: Resource + DeserializeOwned + Send + 'static, S: 'static> Api<K, S> {
    /// Lists all objects, page by page; a page has as many as the options' limit says, or [`PAGE_SIZE`].
    pub fn pages(&self, options: &ListOptions) -> Pages<K, S> {
        let limit = match options.limit {
            0 => PAGE_SIZE,
            limit => limit,
        };
        let mut tokens = ContinueTokens::default();
        let _is_first = tokens.come_round(&options.continue_token);
        Pages {
            api: self.clone(),
            options: ListOptions {
                limit,
                ..options.clone()
            },
            tokens,
            state: State::Next,
        }
    }
}

impl<K: Resource + DeserializeOwned + Send + 'static, S: 'static> Pages<K, S> {
    /// The next page; `None` after the last one.
    ///
    /// # Errors
    ///
    /// As [`Api::list`], and [`Error::Decode`] behind a page that leads back to one that has come. Nothing follows an error.
    pub async fn next(&mut self) -> Option<Page<K>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Gets ready for what is behind this page.
    fn follow(&mut self, page: &List<K>) {
        let token = &page.metadata.continue_token;
        if token.is_empty() {
            return;
        }
        if self.tokens.come_round(token) {
            self.state = State::LeadsBack;
            return;
        }
        self.options.continue_token.clone_from(token);
        // The token says of which version the pages are.
        self.options.resource_version.clear();
        self.options.version_match = None;
        self.state = State::Next;
    }

    /// The error behind the page that leads back to one that has come.
    fn leads_back(&self) -> Error {
        Error::Decode {
            call: self.api.client.call_to("list", self.api.path().path),
            source: "the pages of the list lead back to one that has come".into(),
        }
    }

    fn ask(&self) -> BoxFuture<'static, Page<K>> {
        let (api, options) = (self.api.clone(), self.options.clone());
        Box::pin(async move { api.list(&options).await })
    }
}

impl<K: Resource + DeserializeOwned + Send + 'static, S: 'static> Stream for Pages<K, S> {
    type Item = Page<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Page<K>>> {
        loop {
            let page = match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::LeadsBack => {
                    self.state = State::Ended;
                    return Poll::Ready(Some(Err(self.leads_back())));
                }
                State::Next => {
                    self.state = State::Asking(self.ask());
                    continue;
                }
                State::Asking(page) => std::task::ready!(page.as_mut().poll(cx)),
            };
            self.state = State::Ended;
            if let Ok(list) = &page {
                self.follow(list);
            }
            return Poll::Ready(Some(page));
        }
    }
}

impl<K: Resource, S> Unpin for Pages<K, S> {}

impl<K: Resource, S> std::fmt::Debug for Pages<K, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages")
            .field("api", &self.api)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
