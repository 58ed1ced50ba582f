//! What both ends of a Kubernetes connection share: bodies, services, TLS, certificates and kubeconfig.
