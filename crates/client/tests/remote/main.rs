//! Processes, ports and copies against nodes that do what they should, and such that do not.
#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

mod copies;
mod node;
mod ports;
mod processes;
mod sockets;
