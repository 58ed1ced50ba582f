// Written by `cargo xtask codegen apply`; do not edit.

//! The group `core`.

pub mod v1;
