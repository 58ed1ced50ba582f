//! What the built-in kinds need beyond the generated table of fields: defaults, registry strategies and validation.
//!
//! Everything here is pure and works on [`serde_json::Value`] objects of the served version, as the request handlers
//! hold them. Upstream spreads the same knowledge over `pkg/apis/*/v1/defaults.go`, `pkg/registry/*/strategy.go` and
//! `pkg/apis/*/validation`; here each of the three is a table of rules with a few small functions.
//!
//! The order on a write is the one of upstream's generic registry: decode, [`defaults::apply`], the strategy's
//! preparation, the strategy's validation, store.

#![allow(
    dead_code,
    reason = "the tables are complete on purpose; the handlers use what a request needs"
)]

pub(crate) mod connect;
pub(crate) mod conversion;
pub(crate) mod defaults;
pub(crate) mod deprecation;
pub(crate) mod disruption;
pub(crate) mod pem;
pub(crate) mod shown;
pub(crate) mod strategy;
pub(crate) mod validation;
pub(crate) mod value;
pub(crate) mod warnings;
