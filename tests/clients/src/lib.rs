//! Clients in other languages and of other makers against the API server; see `tests/`, and a folder for each client.
