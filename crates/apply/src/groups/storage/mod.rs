// Written by `cargo xtask codegen apply`; do not edit.

//! The group `storage`.

pub mod v1;
