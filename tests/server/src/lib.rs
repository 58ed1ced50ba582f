//! The API server as a black box; see `tests/`.
