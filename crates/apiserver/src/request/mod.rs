//! What a request asks: its path taken apart, its options, its media types.

pub(crate) mod info;
pub(crate) mod media;

pub(crate) use info::{RequestInfo, Verb};
