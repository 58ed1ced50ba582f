// Written by `cargo xtask codegen apply`; do not edit.

//! The group `events`.

pub mod v1;
