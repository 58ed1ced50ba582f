// Written by `cargo xtask codegen apply`; do not edit.

//! The group `apps`.

pub mod v1;
