//! A Kubernetes client: configuration, REST, typed, dynamic and discovery.
