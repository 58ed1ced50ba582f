// Written by `cargo xtask codegen apply`; do not edit.

//! The group `networking`.

pub mod v1;
