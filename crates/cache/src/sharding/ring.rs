//! The ring on which replicas find their shares.

use std::sync::Arc;

use kubewright_core::shard_hash;

use super::hash_ranges::HashRanges;

/// Places on the ring for each replica: with a hundred, shares differ by some ten percent, as in the
/// kubernetes-controller-sharding project (`pkg/sharding/consistenthash`). All replicas must use the same number.
pub(crate) const TOKENS: u32 = 100;

/// Consistent hashing: each replica has [`TOKENS`] places on a ring of all hashes, and a key belongs to the replica of
/// the next place. A replica that comes takes keys from the others and moves none between them; what one leaves behind
/// goes to the others, and nothing else moves.
#[derive(Debug, Clone)]
pub(crate) struct Ring {
    /// In order; where two are the same the lesser name has it.
    tokens: Vec<(u64, Arc<str>)>,
}

impl Ring {
    pub(crate) fn new<'a>(members: impl IntoIterator<Item = &'a Arc<str>>) -> Self {
        let mut tokens: Vec<_> = members
            .into_iter()
            .flat_map(|name| (0..TOKENS).map(move |at| (token(name, at), Arc::clone(name))))
            .collect();
        tokens.sort_unstable();
        tokens.dedup_by_key(|(token, _)| *token);
        Self { tokens }
    }

    /// Whose a key is; `None` on an empty ring.
    #[cfg(test)]
    pub(crate) fn owner(&self, hash: u64) -> Option<&Arc<str>> {
        let at = self.tokens.partition_point(|(token, _)| *token < hash);
        self.tokens
            .get(at)
            .or_else(|| self.tokens.first())
            .map(|(_, name)| name)
    }

    /// All that belongs to one replica.
    pub(crate) fn share(&self, name: &str) -> HashRanges {
        let mut ranges = Vec::new();
        let mut start = Some(0);
        for (token, owner) in &self.tokens {
            if let Some(start) = start
                && **owner == *name
            {
                ranges.push((start, *token));
            }
            start = token.checked_add(1);
        }
        // What lies behind the last place belongs to the first.
        if let (Some(start), Some((_, first))) = (start, self.tokens.first())
            && **first == *name
        {
            ranges.push((start, u64::MAX));
        }
        HashRanges::from_ranges(ranges)
    }
}

/// Rings that were asked for last: most replicas claim by the same members, and members seldom change.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    /// The one that was asked for last comes last.
    known: Vec<(Vec<Arc<str>>, Ring)>,
}

/// Rings that are kept: what the members are now, what they were before, and some views of those that lag behind.
const KEPT_RINGS: usize = 8;

impl Rings {
    /// What belongs to one replica on the ring of these.
    pub(crate) fn share(&mut self, members: &[Arc<str>], name: &str) -> HashRanges {
        let known = self.known.iter().position(|(of, _)| of == members);
        let ring = match known {
            Some(at) => self.known.remove(at),
            None => (members.to_vec(), Ring::new(members)),
        };
        let share = ring.1.share(name);
        if self.known.len() == KEPT_RINGS {
            self.known.remove(0);
        }
        self.known.push(ring);
        share
    }
}

fn token(name: &str, at: u32) -> u64 {
    ring_hash(&format!("{name}#{at}"))
}

/// Where a key or a place lies: FNV-1a as for ranges, then mixed, because similar texts, such as names that end in a
/// number, have similar FNV hashes, and would lie side by side on the ring. The constants are those of MurmurHash3's
/// 64 bit finalizer.
pub(crate) fn ring_hash(text: &str) -> u64 {
    let mut hash = shard_hash(text);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(of: std::ops::Range<usize>) -> Vec<Arc<str>> {
        of.map(|i| Arc::from(format!("controller-7d4b9-{i}"))).collect()
    }

    proptest! {
        #[test]
        fn shares_are_what_the_owners_own(count in 0usize..8, hashes in proptest::collection::vec(any::<u64>(), 50)) {
            let names = names(0..count);
            let ring = Ring::new(&names);
            let shares: Vec<_> = names.iter().map(|name| (name, ring.share(name))).collect();
            let all = shares.iter().fold(HashRanges::default(), |all, (_, share)| all.union(share));
            prop_assert_eq!(all == HashRanges::all(), count > 0);
            let edges = ring.tokens.iter().map(|(token, _)| *token);
            let near = edges.flat_map(|edge| [edge, edge.wrapping_add(1)]);
            for hash in hashes.into_iter().chain(near).chain([0, u64::MAX]) {
                let owner = ring.owner(hash);
                let having: Vec<_> = shares.iter().filter(|(_, s)| s.contains(hash)).map(|(n, _)| *n).collect();
                prop_assert_eq!(having, Vec::from_iter(owner), "{}", hash);
            }
        }
    }

    #[test]
    fn little_moves() {
        let names = names(0..6);
        let (before, after) = (Ring::new(&names[..5]), Ring::new(&names));
        let mut moved = 0;
        for i in 0..10_000 {
            let hash = ring_hash(&format!("apps/Deployment/n/app-{i}"));
            let (old, new) = (before.owner(hash).unwrap(), after.owner(hash).unwrap());
            if old != new {
                assert_eq!(new, &names[5], "keys move to the new replica alone");
                moved += 1;
            }
        }
        assert!((1000..2500).contains(&moved), "about a sixth: {moved}");
    }

    #[test]
    fn shares_are_alike() {
        let names = names(0..10);
        let ring = Ring::new(&names);
        for name in &names {
            let share = ring.share(name).fraction();
            assert!((0.06..0.15).contains(&share), "{name}: {share}");
        }
    }

    /// Replicas of different builds share a ring: these must never change.
    #[test]
    fn places_stay() {
        assert_eq!(ring_hash(""), 0xefd0_1f60_ba99_2926);
        assert_eq!(Ring::new(&[Arc::from("a")]).tokens.len(), TOKENS as usize);
    }
}
