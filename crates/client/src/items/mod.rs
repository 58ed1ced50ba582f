//! Lists whose items are taken in while the answer arrives: [`RawItems`].

mod splitter;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use kubewright_core::{ListMeta, ListOptions};
use kubewright_net::Body;

pub use self::splitter::{ListSplitter, SplitError};
use crate::call::Call;
use crate::client::{Client, TimeLimit};
use crate::error::Error;
use crate::raw::ResourcePath;

/// The items of a list as they come, undecoded.
///
/// An item is a slice of what came from the network: copy what is kept for long. It costs memory for what has come and was not taken, not for the
/// whole answer, and nothing more comes than connections buffer while nobody asks for the next item. Items of built-in kinds come without
/// `apiVersion` and `kind`, as the server sends them.
///
/// What was read proves nothing before [`finish`](Self::finish): the answer may yet break off. Dropping it ends the request.
#[derive(Debug)]
pub struct RawItems {
    /// `None` once it has ended.
    body: Option<Body>,
    splitter: ListSplitter,
    call: Call,
    limit: TimeLimit,
}

impl Client {
    /// Lists a collection, whose items are handed out while the answer arrives and are not decoded.
    ///
    /// The answer as a whole may be of any size; an item, and the metadata of the list, may be as large as an event of a watch
    /// ([`ClientOptions::max_event_bytes`](crate::ClientOptions::max_event_bytes)). The time limit of the client holds for the answer with all its items.
    ///
    /// # Errors
    ///
    /// As [`request_bytes`](Self::request_bytes), until the answer begins. What happens later is an error of [`RawItems::next`].
    pub async fn list_items(&self, path: &ResourcePath, options: &ListOptions) -> Result<RawItems, Error> {
        let (call, body, limit) = path.list_request(self, options).begin().await?;
        Ok(RawItems {
            body: Some(body),
            splitter: ListSplitter::new(self.options().max_event_bytes),
            call,
            limit,
        })
    }
}

impl RawItems {
    /// The next item; `None` when all have come, and after an error. Giving up waiting for it loses nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Transport`] if the connection broke, [`Error::Decode`] if the answer is no list or not a whole one, [`Error::TooLarge`] for an item
    /// beyond the limit, [`Error::Timeout`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some(body) = &mut self.body {
            let piece = match self.splitter.next_item() {
                Ok(Some(item)) => return Ok(Some(item)),
                Ok(None) => {
                    let piece = async { body.chunk().await.map_err(|error| self.call.transport(error)) };
                    self.limit.hold(&self.call, piece).await
                }
                Err(error) => Err(split_error(&self.call, error)),
            };
            match piece {
                Ok(Some(piece)) => self.splitter.push(piece),
                Ok(None) => {
                    self.body = None;
                    if !self.splitter.is_complete() {
                        let splitter = std::mem::replace(&mut self.splitter, ListSplitter::new(0));
                        splitter
                            .finish()
                            .map_err(|error| split_error(&self.call, error))?;
                    }
                }
                Err(error) => {
                    self.body = None;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// The metadata of the list, once it has come: it may follow the items.
    pub fn metadata(&self) -> Option<&ListMeta> {
        self.splitter.metadata()
    }

    /// The metadata, once the answer has come to its end; items that were not taken are dropped.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next); after an error of that, [`Error::Decode`].
    pub async fn finish(mut self) -> Result<ListMeta, Error> {
        while self.next().await?.is_some() {}
        self.splitter
            .finish()
            .map_err(|error| split_error(&self.call, error))
    }
}

fn split_error(call: &Call, error: SplitError) -> Error {
    match error {
        SplitError::TooLarge { limit, .. } => call.too_large(limit),
        error => call.decode(error),
    }
}
