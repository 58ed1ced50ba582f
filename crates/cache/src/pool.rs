//! What the objects of one store share: text, labels, owners.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashSet, HashTable};

use crate::labels::Labels;
use crate::owners::{Owned, Shared};

/// Labels and owners: what everybody asks for, and what the pods of one replica set have in common.
#[derive(Debug, Default)]
pub(crate) struct Common {
    pub(crate) labels: Labels,
    pub(crate) owners: Owned,
}

/// What objects share. What nobody uses any more is dropped now and then.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    hasher: DefaultHashBuilder,
    strings: HashSet<Arc<str>>,
    owners: HashTable<(u64, Arc<Shared>)>,
    /// Hashes of the text of owners that one object was seen with.
    owners_seen: HashSet<u64>,
    commons: HashTable<(u64, Arc<Common>)>,
    /// How many there may be of any of them until those are looked for that nobody uses.
    full: usize,
}

/// What nobody may have any use for, beyond as much as there is.
const UNUSED: usize = 1024;

/// Owners of one object that are remembered, in case another one comes. The objects of an owner mostly have names that begin
/// alike, and come one after the other.
const OWNERS_SEEN: usize = 8192;

impl Pool {
    pub(crate) fn string(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(text) {
            return Arc::clone(known);
        }
        self.make_room(self.strings.len());
        let new: Arc<str> = text.into();
        self.strings.insert(Arc::clone(&new));
        new
    }

    /// The labels and owners of which these are the JSON texts.
    pub(crate) fn common(&mut self, labels: Option<&str>, owners: Option<&str>) -> Arc<Common> {
        let owners = self.owners(owners);
        let text = labels.unwrap_or("{}");
        let hash = self.hasher.hash_one((text, owners.identity()));
        let is_it = |(other, common): &(u64, Arc<Common>)| {
            *other == hash && common.owners.identity() == owners.identity() && common.labels.is_text(text)
        };
        if let Some((_, common)) = self.commons.find(hash, is_it) {
            return Arc::clone(common);
        }
        let labels = Labels::read(text, |text| self.string(text));
        // A text that is written in a way of its own is not recognised, but what it says is.
        let is_same = |(other, common): &(u64, Arc<Common>)| {
            *other == hash && common.owners.identity() == owners.identity() && common.labels == labels
        };
        if let Some((_, common)) = self.commons.find(hash, is_same) {
            return Arc::clone(common);
        }
        self.make_room(self.commons.len());
        let common = Arc::new(Common { labels, owners });
        self.commons
            .insert_unique(hash, (hash, Arc::clone(&common)), |(hash, _)| *hash);
        common
    }

    /// Owners are kept from the second object on that has them.
    fn owners(&mut self, text: Option<&str>) -> Owned {
        let Some(text) = text else {
            return Owned::ByNobody;
        };
        let hash = self.hasher.hash_one(text);
        let is_it = |(other, owners): &(u64, Arc<Shared>)| *other == hash && owners.text() == text;
        if let Some((_, owners)) = self.owners.find(hash, is_it) {
            return Owned::Shared(Arc::clone(owners));
        }
        if self.owners_seen.len() >= OWNERS_SEEN {
            self.owners_seen.clear();
        }
        if self.owners_seen.insert(hash) {
            return Owned::InText;
        }
        self.owners_seen.remove(&hash);
        let Some(owners) = Shared::read(text).map(Arc::new) else {
            return Owned::ByNobody;
        };
        self.make_room(self.owners.len());
        self.owners
            .insert_unique(hash, (hash, Arc::clone(&owners)), |(hash, _)| *hash);
        Owned::Shared(owners)
    }

    /// Drops what nobody uses, if there is much of one sort.
    fn make_room(&mut self, of_one_sort: usize) {
        if of_one_sort < self.full.max(UNUSED) {
            return;
        }
        // In this order, because each holds what comes after it.
        self.commons.retain(|(_, common)| Arc::strong_count(common) > 1);
        self.owners.retain(|(_, owners)| Arc::strong_count(owners) > 1);
        self.strings.retain(|string| Arc::strong_count(string) > 1);
        let most = self.strings.len().max(self.commons.len()).max(self.owners.len());
        self.full = 2 * most + UNUSED;
    }

    /// How many strings, lists of owners and sets of both labels and owners there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> (usize, usize, usize) {
        (self.strings.len(), self.owners.len(), self.commons.len())
    }
}
