// Written by `cargo xtask codegen apply`; do not edit.

//! The group `flowcontrol`.

pub mod v1;
