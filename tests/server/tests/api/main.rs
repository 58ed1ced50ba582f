//! What the API server answers, asked in the same process and over TLS.
//!
//! A row of data says what is asked and what must come back. Nothing waits for a time to pass: streams are awaited, and where a
//! limit of time is itself what is tested, tokio's clock is stopped and moves by itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admission;
mod answers;
mod apply;
mod authorization;
mod bodies;
mod conversion;
mod create;
mod custom;
mod delete;
mod discovery;
mod encodings;
mod harness;
mod hostile;
mod https;
mod identity;
mod kinds;
mod list;
mod managed_fields;
mod negotiation;
mod patch;
mod requests;
mod robustness;
mod routes;
mod rules;
mod scale;
mod shards;
mod start;
mod subresources;
mod texts;
mod tokens;
mod update;
mod validation_core;
mod validation_groups;
mod versions;
mod watch;
mod websocket;
