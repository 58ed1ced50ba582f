//! Informers that see a share of the objects.

mod source;

pub use self::source::ShardedSource;
