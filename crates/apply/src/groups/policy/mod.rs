// Written by `cargo xtask codegen apply`; do not edit.

//! The group `policy`.

pub mod v1;
