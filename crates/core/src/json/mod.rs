//! JSON text that is cut and looked into without being decoded.

mod masks;
mod members;
mod nesting;

pub use members::{Members, NoObject};
pub use nesting::{MAX_NESTING, Nesting, TooDeep};
