//! The Kubernetes API server, embedded.
