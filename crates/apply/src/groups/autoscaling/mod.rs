// Written by `cargo xtask codegen apply`; do not edit.

//! The group `autoscaling`.

pub mod v1;
pub mod v2;
