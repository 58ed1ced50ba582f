//! Patches of Kubernetes objects: strategic merge, JSON merge and JSON patch.
