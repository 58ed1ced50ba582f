//! What writers of operators would otherwise write themselves, around an [`Api`](crate::Api).
//!
//! * [`retry_on_conflict`]: read, change and replace until nobody was faster.
//! * [`Api::create_or_update`](crate::Api::create_or_update), [`Api::create_or_patch`](crate::Api::create_or_patch).
//! * [`Api::wait_for`](crate::Api::wait_for) with the conditions of [`conditions`].
//! * [`Finalizer`]: put on and taken off without regard to who else does so.
//! * [`DryRunLayer`], [`FieldManagerLayer`]: clients all of whose writes store nothing, or name their manager.
//!
//! Owner references need no client, see [`set_controller_reference`](kubewright_core::set_controller_reference).

mod backoff;
mod finalizer;
mod upsert;
mod wait;
mod writes;

pub mod conditions;

pub use self::backoff::{Backoff, retry_on_conflict};
pub use self::finalizer::{Finalizer, FinalizerError};
pub use self::upsert::{Written, WrittenHow};
pub use self::wait::{LastSeen, WaitError};
pub use self::writes::{DryRunLayer, FieldManagerLayer};

#[cfg(test)]
mod tests;
