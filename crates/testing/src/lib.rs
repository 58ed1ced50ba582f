//! A control plane in the test's own process.
