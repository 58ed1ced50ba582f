// Written by `cargo xtask codegen apply`; do not edit.

//! The group `certificates`.

pub mod v1;
#[cfg(feature = "prerelease")]
pub mod v1beta1;
