//! Real kubectl against the API server; see `tests/`.
