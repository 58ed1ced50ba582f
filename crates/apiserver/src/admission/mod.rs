//! Admission: what else has a say in a write once its object is known.
//!
//! Mutating webhooks come first, one after the other, then everything that the server does itself, then validating webhooks, all at once.
//! Upstream: apiserver pkg/admission/plugin/webhook.

mod attributes;
mod dispatch;
mod hook;
mod hooks;
mod review;
mod rules;

pub(crate) use attributes::{Attributes, Operation, delete_options, write_options};
pub(crate) use dispatch::{mutate, validate};
pub(crate) use hooks::{Hooks, check_configuration};
