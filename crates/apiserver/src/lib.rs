//! The Kubernetes API server, embedded.

pub(crate) mod builtin;
pub mod table;
pub mod storage;
