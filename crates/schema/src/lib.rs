//! Structural schemas: the Schema trait, validation, pruning, defaulting and OpenAPI documents.
