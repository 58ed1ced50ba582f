// Written by `cargo xtask codegen apply`; do not edit.

//! The group `rbac`.

pub mod v1;
