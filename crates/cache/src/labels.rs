//! Labels, whose text is shared between objects, and the pool of shared text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashSet, HashTable};

/// The labels of an object.
///
/// Known without decoding anything, and shared: the pods of one replica set have one set of labels between them, and
/// every key and value is in memory once for each store.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Labels(Option<Pairs>);

/// By key, each key once.
type Pairs = Arc<[(Arc<str>, Arc<str>)]>;

/// What is meant where there is no object to ask.
static NONE: Labels = Labels(None);

impl Labels {
    /// No labels.
    #[must_use]
    pub fn none() -> &'static Self {
        &NONE
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let pairs = self.0.as_deref()?;
        let at = pairs.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
        Some(&pairs[at].1)
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .flat_map(|pairs| pairs.iter())
            .map(|(key, value)| (&**key, &**value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |pairs| pairs.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the text is this set of labels as Kubernetes writes it. A text that is written in another way may be
    /// the same set all the same.
    fn is_text(&self, text: &str) -> bool {
        let expect = |text: &mut &str, part: &str| text.strip_prefix(part).map(|rest| *text = rest).is_some();
        let mut rest = text;
        let mut first = true;
        for (key, value) in self.iter() {
            let open = if first { "{\"" } else { ",\"" };
            first = false;
            let all = [open, key, "\":\"", value, "\""];
            // A quote or an escape in a part would be read as something else; labels have neither.
            if key.contains(['"', '\\'])
                || value.contains(['"', '\\'])
                || !all.iter().all(|part| expect(&mut rest, part))
            {
                return false;
            }
        }
        rest == "}"
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Text that objects of one store share. What nobody uses any more is dropped now and then.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    hasher: DefaultHashBuilder,
    strings: HashSet<Arc<str>>,
    labels: HashTable<(u64, Pairs)>,
    /// How many strings or sets there may be until those are looked for that nobody uses.
    full: usize,
}

/// Strings of which nobody may have any use, beyond as many as there are.
const UNUSED_STRINGS: usize = 1024;

impl Pool {
    pub(crate) fn string(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(text) {
            return Arc::clone(known);
        }
        if self.strings.len() >= self.full.max(UNUSED_STRINGS) {
            self.drop_unused();
        }
        let new: Arc<str> = text.into();
        self.strings.insert(Arc::clone(&new));
        new
    }

    fn drop_unused(&mut self) {
        self.labels.retain(|(_, pairs)| Arc::strong_count(pairs) > 1);
        self.strings.retain(|string| Arc::strong_count(string) > 1);
        self.full = 2 * self.strings.len().max(self.labels.len()) + UNUSED_STRINGS;
    }

    /// How many strings and sets there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.strings.len(), self.labels.len())
    }

    /// The labels of which this is the JSON text. What is no map of strings has no labels.
    pub(crate) fn labels(&mut self, text: Option<&str>) -> Labels {
        let Some(text) = text else {
            return Labels::default();
        };
        let hash = self.hasher.hash_one(text);
        let known = self.labels.find(hash, |(other, pairs)| {
            *other == hash && Labels(Some(Arc::clone(pairs))).is_text(text)
        });
        if let Some((_, pairs)) = known {
            return Labels(Some(Arc::clone(pairs)));
        }
        let parsed: BTreeMap<Cow<'_, str>, Cow<'_, str>> = serde_json::from_str(text).unwrap_or_default();
        if parsed.is_empty() {
            return Labels::default();
        }
        let pairs: Pairs = parsed
            .iter()
            .map(|(key, value)| (self.string(key), self.string(value)))
            .collect();
        // A text that is written in a way of its own is not recognised, but what it says is.
        let is_same = |(other, known): &(u64, Pairs)| *other == hash && **known == *pairs;
        if let Some((_, known)) = self.labels.find(hash, is_same) {
            return Labels(Some(Arc::clone(known)));
        }
        if self.labels.len() >= self.full.max(UNUSED_STRINGS) {
            self.drop_unused();
        }
        self.labels
            .insert_unique(hash, (hash, Arc::clone(&pairs)), |(hash, _)| *hash);
        Labels(Some(pairs))
    }
}
