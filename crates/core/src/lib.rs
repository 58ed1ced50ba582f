//! API machinery of Kubernetes: resource identities, dynamic objects, selectors, quantities, statuses and watch events.
