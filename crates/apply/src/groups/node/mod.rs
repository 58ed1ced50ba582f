// Written by `cargo xtask codegen apply`; do not edit.

//! The group `node`.

pub mod v1;
