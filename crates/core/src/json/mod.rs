//! JSON text: cut and looked into without being decoded ([`Members`], [`Nesting`]), or decoded fast ([`decode`]).

mod decode;
mod masks;
mod members;
mod nesting;

pub use decode::decode;
pub use members::{Members, NoObject};
pub use nesting::{MAX_NESTING, Nesting, TooDeep};
