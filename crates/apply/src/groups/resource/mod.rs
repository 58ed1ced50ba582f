// Written by `cargo xtask codegen apply`; do not edit.

//! The group `resource`.

pub mod v1;
#[cfg(feature = "prerelease")]
pub mod v1alpha3;
#[cfg(feature = "prerelease")]
pub mod v1beta1;
#[cfg(feature = "prerelease")]
pub mod v1beta2;
