//! Sets of hashes, as ranges.

/// A set of hashes: what a replica's share of a ring is made of. Ranges with both ends within, in order, that neither
/// overlap nor touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HashRanges {
    ranges: Vec<(u64, u64)>,
}

impl HashRanges {
    pub(crate) fn all() -> Self {
        Self {
            ranges: vec![(0, u64::MAX)],
        }
    }

    /// Of any ranges, in any order.
    pub(crate) fn from_ranges(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
        for (start, last) in ranges {
            match merged.last_mut() {
                Some(before) if start <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => merged.push((start, last)),
            }
        }
        Self { ranges: merged }
    }

    pub(crate) fn contains(&self, hash: u64) -> bool {
        let after = self.ranges.partition_point(|(start, _)| *start <= hash);
        after > 0 && hash <= self.ranges[after - 1].1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The part of all hashes that is in the set, from 0 to 1.
    pub(crate) fn fraction(&self) -> f64 {
        let size = |(start, last): &(u64, u64)| u128::from(last - start) + 1;
        let size: u128 = self.ranges.iter().map(size).sum();
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let (size, all) = (size as f64, 2f64.powi(64));
        size / all
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        Self::from_ranges([&*self.ranges, &*other.ranges].concat())
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let (start, last) = (a.0.max(b.0), a.1.min(b.1));
            if start <= last {
                ranges.push((start, last));
            }
            if a.1 < b.1 {
                left.next();
            } else {
                right.next();
            }
        }
        Self { ranges }
    }

    /// What is here and not in the other.
    pub(crate) fn without(&self, other: &Self) -> Self {
        self.intersection(&other.complement())
    }

    fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = Some(0);
        for (start, last) in &self.ranges {
            if let Some(from) = next
                && from < *start
            {
                ranges.push((from, start - 1));
            }
            next = last.checked_add(1);
        }
        ranges.extend(next.map(|from| (from, u64::MAX)));
        Self { ranges }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sets() -> impl Strategy<Value = HashRanges> {
        let bound = prop_oneof![0u64..40, Just(u64::MAX), (u64::MAX - 40)..];
        let range = (bound.clone(), bound).prop_map(|(a, b)| (a.min(b), a.max(b)));
        proptest::collection::vec(range, 0..6).prop_map(HashRanges::from_ranges)
    }

    proptest! {
        #[test]
        fn algebra(a in sets(), b in sets()) {
            let (union, intersection, without) = (a.union(&b), a.intersection(&b), a.without(&b));
            for hash in (0..45).chain(u64::MAX - 45..=u64::MAX) {
                let (in_a, in_b) = (a.contains(hash), b.contains(hash));
                prop_assert_eq!(union.contains(hash), in_a || in_b, "{} in a or b", hash);
                prop_assert_eq!(intersection.contains(hash), in_a && in_b, "{} in a and b", hash);
                prop_assert_eq!(without.contains(hash), in_a && !in_b, "{} in a, not in b", hash);
            }
            // One way of writing each set.
            prop_assert_eq!(without.is_empty(), intersection == a);
            prop_assert_eq!(&without.union(&intersection), &a);
            for set in [&union, &intersection, &without] {
                prop_assert!(set.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0 - 1), "{:?}", set);
            }
        }
    }

    #[test]
    fn everything() {
        assert_eq!(
            HashRanges::all().without(&HashRanges::default()),
            HashRanges::all()
        );
        assert!(HashRanges::all().without(&HashRanges::all()).is_empty());
        assert!((HashRanges::all().fraction() - 1.0).abs() < 1e-9);
    }
}
