//! The built-in kinds of Kubernetes as one table, and the protobuf codec that reads it.
