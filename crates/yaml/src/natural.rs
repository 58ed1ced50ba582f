//! The order in which go-yaml writes keys (go.yaml.in/yaml/v2 sorter.go): numbers within them count as numbers, and letters come
//! after everything else.

use std::borrow::Cow;

/// Sorts entries by their keys. Merging asks for no more than [`less`] is: Go's order is not total where digits overflow.
pub(crate) fn sort<T: Copy>(entries: &mut [(Cow<'_, str>, T)]) {
    if entries.len() < 2 {
        return;
    }
    let (left, right) = entries.split_at_mut(entries.len() / 2);
    sort(left);
    sort(right);
    let is_sorted = match (left.last(), right.first()) {
        (Some((last, _)), Some((first, _))) => !less(first, last),
        _ => true,
    };
    if is_sorted {
        return;
    }
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (left.iter().peekable(), right.iter().peekable());
    while let (Some(a), Some(b)) = (l.peek(), r.peek()) {
        let next = if less(&b.0, &a.0) { r.next() } else { l.next() };
        merged.extend(next.cloned());
    }
    merged.extend(l.cloned());
    merged.extend(r.cloned());
    for (entry, sorted) in entries.iter_mut().zip(merged) {
        *entry = sorted;
    }
}

fn less(a: &str, b: &str) -> bool {
    let same: usize = a
        .chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (before, rest_a, rest_b) = (&a[..same], &a[same..], &b[same..]);
    let (Some(next_a), Some(next_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.is_empty() && !rest_b.is_empty();
    };
    match (next_a.is_alphabetic(), next_b.is_alphabetic()) {
        (true, true) => return next_a < next_b,
        (false, false) => {}
        (_, is_b) => return is_b,
    }
    // A zero within a number is a digit of it, not its beginning.
    let mut digits_before = before.chars().rev().take_while(char::is_ascii_digit);
    let is_within = (next_a == '0' || next_b == '0') && digits_before.any(|c| c != '0');
    let number = |text: &str| {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let value = text[..digits].bytes().fold(i64::from(is_within), |value, digit| {
            value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'))
        });
        (value, digits)
    };
    (number(rest_a), next_a) < (number(rest_b), next_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count() {
        for sorted in [
            &["1", "2", "10", "a", "a1", "a2", "a10", "b"][..],
            &["f:a", "f:b", "k:{\"name\":\"x\"}"],
            &["", "-", ".", "A", "B", "a", "\u{e4}"],
            &["a0", "a00", "a1", "a01", "a10", "a-"][..5],
            &["a.b", "a1", "aa"],
            &["x9", "x10", "x99", "x100", "x101"],
        ] {
            let mut entries: Vec<(Cow<'_, str>, ())> =
                sorted.iter().rev().map(|key| ((*key).into(), ())).collect();
            sort(&mut entries);
            let found: Vec<&str> = entries.iter().map(|(key, ())| &**key).collect();
            assert_eq!(found, sorted);
        }
    }
}
