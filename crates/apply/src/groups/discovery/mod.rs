// Written by `cargo xtask codegen apply`; do not edit.

//! The group `discovery`.

pub mod v1;
