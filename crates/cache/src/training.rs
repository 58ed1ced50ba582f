//! When a store learns a dictionary, and from which of its objects.

use std::sync::{Arc, Weak};

use crate::packing::Codec;
use crate::record::Record;
use crate::store::Compression;

/// Objects that a dictionary is trained on.
const SAMPLES: usize = 200;

/// Fewer teach nothing.
const FEWEST_SAMPLES: usize = 20;

/// Watches objects go by until there are enough of them.
#[derive(Debug)]
pub(crate) struct Training {
    /// The uncompressed bytes from which on training is tried; `None` when it is over or not wanted.
    above: Option<usize>,
    /// Some of the objects that went by, each with the same chance. They are not kept alive.
    samples: Vec<Weak<Record>>,
    seen: usize,
    random: fastrand::Rng,
}

impl Training {
    pub(crate) fn new(compression: Compression) -> Self {
        Self {
            above: match compression {
                Compression::Above(bytes) => Some(bytes),
                Compression::Never => None,
            },
            samples: Vec::new(),
            seen: 0,
            // Which objects are looked at changes nothing but a few bytes of each.
            random: fastrand::Rng::with_seed(0),
        }
    }

    /// Notes an object that is not packed, where `plain` bytes of text are not. Gives a codec, once.
    pub(crate) fn take_in(&mut self, record: &Arc<Record>, plain: usize) -> Option<Codec> {
        let above = self.above?;
        self.seen += 1;
        if self.samples.len() < SAMPLES {
            self.samples.push(Arc::downgrade(record));
        } else if let Some(sample) = self.samples.get_mut(self.random.usize(..self.seen)) {
            *sample = Arc::downgrade(record);
        }
        if plain <= above {
            return None;
        }
        let alive: Vec<_> = self.samples.iter().filter_map(Weak::upgrade).collect();
        let texts: Vec<_> = alive.iter().map(|record| record.text_and_metadata()).collect();
        let trained = if texts.len() < FEWEST_SAMPLES {
            None
        } else {
            Codec::train(&texts)
                .inspect_err(|error| tracing::debug!(%error, "no dictionary yet"))
                .ok()
        };
        match trained {
            Some(codec) => {
                *self = Self::new(Compression::Never);
                Some(codec)
            }
            None => {
                // Few large objects: more may come.
                self.above = Some(plain.saturating_mul(2));
                None
            }
        }
    }
}
