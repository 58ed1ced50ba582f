// Written by `cargo xtask codegen apply`; do not edit.

//! The group `scheduling`.

pub mod v1;
pub mod v1alpha3;
#[cfg(feature = "prerelease")]
pub mod v1beta1;
