//! The Kubernetes API server, embedded.

pub(crate) mod builtin;
