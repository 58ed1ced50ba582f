// Written by `cargo xtask codegen apply`; do not edit.

//! The group `meta`.

pub mod v1;
