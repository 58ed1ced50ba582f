// Written by `cargo xtask codegen apply`; do not edit.

//! The group `storagemigration`.

pub mod v1;
#[cfg(feature = "prerelease")]
pub mod v1beta1;
