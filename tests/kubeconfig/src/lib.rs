//! Real kubectl and the client, given the same kubeconfig files; see `tests/`.
