// Written by `cargo xtask codegen apply`; do not edit.

//! The group `apiserverinternal`.

#[cfg(feature = "prerelease")]
pub mod v1alpha1;
