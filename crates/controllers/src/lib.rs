//! What the Kubernetes controller manager does, for tests and local work.
