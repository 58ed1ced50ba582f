// Written by `cargo xtask codegen apply`; do not edit.

//! The group `batch`.

pub mod v1;
