//! What a request asks: its path taken apart, its options, its media types.

mod deadline;
pub(crate) mod info;
mod list_options;
pub(crate) mod media;

pub(crate) use deadline::time_limit;
pub(crate) use info::{RequestInfo, Verb, unescaped};
pub(crate) use list_options::{AskedVersion, ReadOptions};
