//! The Kubernetes operator stack in Rust.
