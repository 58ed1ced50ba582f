// Written by `cargo xtask codegen apply`; do not edit.

//! The group `apiregistration`.

pub mod v1;
