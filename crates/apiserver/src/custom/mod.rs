//! Custom resources: definitions become kinds that are served like any other.
//!
//! One task follows the stored definitions, decides on their names ([`names`]), compiles their schemas ([`compile`]), replaces
//! the server's [`Registry`](crate::registry::Registry) as a whole, and only then writes into the definition's status that the
//! kind is established: whoever reads that finds it served. Definitions that are being deleted are emptied by [`cleanup`].

mod cleanup;
mod compile;
mod conditions;
mod conversion;
mod definition;
mod follow;
mod model;
mod names;
pub(crate) mod rules;
pub(crate) mod scale;

#[cfg(test)]
mod tests;

pub(crate) use follow::start;
pub(crate) use model::{CustomModel, Lifecycle};
