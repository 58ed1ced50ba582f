// Written by `cargo xtask codegen apply`; do not edit.

//! The group `apiextensions`.

pub mod v1;
