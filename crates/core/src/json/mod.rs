//! JSON text: cut and looked into without being decoded ([`Members`], [`Nesting`]), or decoded fast ([`decode`]). And values of which the order of
//! members does not depend on features of libraries ([`by_name`], [`Sorted`]).

mod decode;
mod masks;
mod members;
mod nesting;
mod order;

pub use decode::decode;
pub use members::{Members, NoObject};
pub use nesting::{MAX_NESTING, Nesting, TooDeep};
pub use order::{ByName, Sorted, by_name};
