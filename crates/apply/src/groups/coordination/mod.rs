// Written by `cargo xtask codegen apply`; do not edit.

//! The group `coordination`.

pub mod v1;
#[cfg(feature = "prerelease")]
pub mod v1alpha2;
#[cfg(feature = "prerelease")]
pub mod v1beta1;
