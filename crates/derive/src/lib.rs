//! Derive macros for custom resources and their schemas.
