// Written by `cargo xtask codegen apply`; do not edit.

//! The group `lifecycle`.

#[cfg(feature = "prerelease")]
pub mod v1alpha1;
