//! The middle of several figures.

use std::cmp::Ordering;

/// The middle one; of an even number, the upper of the two.
pub fn median<T: Copy>(figures: &mut [T], order: impl FnMut(&T, &T) -> Ordering) -> Option<T> {
    figures.sort_unstable_by(order);
    figures.get(figures.len() / 2).copied()
}
