//! Informers that see a share of the objects.

mod filter;
mod hash_ranges;
mod keeper;
mod key;
mod lease;
mod membership;
mod ring;
mod shard;
mod source;
mod timing;

pub use self::filter::{ShardedHandler, ShardedRegistration};
pub use self::key::{ShardBy, ShardKey};
pub use self::lease::{CLAIM_ANNOTATION, INCARNATION_ANNOTATION, RING_LABEL};
pub use self::shard::{InHand, RingOptions, Shard};
pub use self::source::ShardedSource;
pub use self::timing::{InvalidTiming, RingTiming};
