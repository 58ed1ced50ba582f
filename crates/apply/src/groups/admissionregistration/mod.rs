// Written by `cargo xtask codegen apply`; do not edit.

//! The group `admissionregistration`.

pub mod v1;
#[cfg(feature = "prerelease")]
pub mod v1alpha1;
#[cfg(feature = "prerelease")]
pub mod v1beta1;
