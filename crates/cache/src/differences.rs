//! What is different between two texts, in few bytes.
//!
//! The texts are JSON of one kind, mostly two objects of one template or two states of one object: long runs are equal, with other
//! values between them. So where they differ both go on behind the next quote, if they agree there; only where they do not,
//! because one has a member more, is the place looked for. Nothing depends on the texts being JSON but the length of the result.

use std::io;

use memchr::memchr;
use memchr::memmem;

use crate::packing::broken;

/// As many bytes in a row are no accident.
const MEETING_BYTES: usize = 6;

/// What is looked for where one text has something that the other has not, and how far.
const ANCHOR_BYTES: usize = 16;
const WINDOW_BYTES: usize = 1 << 10;

/// Quotes behind which the texts are tried to meet.
const MOST_QUOTES: usize = 8;

/// Shorter pieces are kept as they are.
const FEWEST_DIGITS: usize = 8;

/// Appends what makes the new text of the old one, and tells how much of the old one is of no more use. `None` if that takes more
/// than so many bytes; something may have been appended then.
pub(crate) fn append(old: &[u8], new: &[u8], most_bytes: usize, into: &mut Vec<u8>) -> Option<usize> {
    let most = into.len() + most_bytes;
    let mut kept = common_prefix(old, new);
    let (mut old, mut new) = (&old[kept..], &new[kept..]);
    let tail = common_suffix(old, new);
    (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut cut_bytes = 0;
    while !old.is_empty() || !new.is_empty() {
        let (cut, put) = meeting(old, new);
        cut_bytes += cut;
        // Digits take half their length.
        if into.len() + put / 2 > most {
            return None;
        }
        Edit {
            kept,
            cut,
            put: &new[..put],
        }
        .append(into);
        if into.len() > most {
            return None;
        }
        (old, new) = (&old[cut..], &new[put..]);
        kept = common_prefix(old, new);
        (old, new) = (&old[kept..], &new[kept..]);
    }
    Some(cut_bytes)
}

/// Appends the new text, of the old one and what [`append`] wrote.
pub(crate) fn apply(mut old: &[u8], mut edits: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
    while !edits.is_empty() {
        let kept = number(&mut edits)?;
        into.extend_from_slice(take(&mut old, kept)?);
        let cut = number(&mut edits)?;
        take(&mut old, cut)?;
        let put = number(&mut edits)?;
        let piece = take(&mut edits, put / 2)?;
        if put % 2 == 0 {
            into.extend_from_slice(piece);
        } else {
            let begin = into.len();
            into.resize(begin + 2 * piece.len(), 0);
            let pairs = into[begin..].as_chunks_mut().0;
            for (pair, byte) in pairs.iter_mut().zip(piece) {
                *pair = [digit(byte >> 4), digit(byte & 15)];
            }
        }
    }
    into.extend_from_slice(old);
    Ok(())
}

/// Keeps so much of the old text, leaves out so much, and puts this in place of it.
struct Edit<'a> {
    kept: usize,
    cut: usize,
    put: &'a [u8],
}

impl Edit<'_> {
    /// Three numbers and the piece. The last number is twice the bytes that the piece takes, or one more if these are pairs of
    /// hexadecimal digits: uids, digests and ids of containers are what differs most.
    fn append(&self, into: &mut Vec<u8>) {
        append_number(self.kept, into);
        append_number(self.cut, into);
        let (pairs, rest) = self.put.as_chunks();
        if self.put.len() >= FEWEST_DIGITS && rest.is_empty() && are_digits(self.put) {
            append_number(self.put.len() + 1, into);
            into.extend(pairs.iter().map(|[high, low]| value(*high) << 4 | value(*low)));
        } else {
            append_number(2 * self.put.len(), into);
            into.extend_from_slice(self.put);
        }
    }
}

/// Where two texts that differ in their first byte go on alike; their ends if that is not found.
fn meeting(old: &[u8], new: &[u8]) -> (usize, usize) {
    let (mut a, mut b) = (0, 0);
    for _ in 0..MOST_QUOTES {
        let (Some(more_a), Some(more_b)) = (memchr(b'"', &old[a..]), memchr(b'"', &new[b..])) else {
            break;
        };
        (a, b) = (a + more_a, b + more_b);
        if agree(&old[a..], &new[b..]) {
            return (a, b);
        }
        let found = |anchor: &[u8], text: &[u8]| {
            let anchor = anchor.get(..ANCHOR_BYTES)?;
            memmem::find(&text[..text.len().min(WINDOW_BYTES)], anchor)
        };
        if let Some(found) = found(&old[a..], &new[b..]) {
            return (a, b + found);
        }
        if let Some(found) = found(&new[b..], &old[a..]) {
            return (a + found, b);
        }
        (a, b) = (a + 1, b + 1);
    }
    (old.len(), new.len())
}

/// Whether the texts begin alike, or are over.
fn agree(a: &[u8], b: &[u8]) -> bool {
    match (a.get(..MEETING_BYTES), b.get(..MEETING_BYTES)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

const WORD: usize = size_of::<u64>();

/// Long runs are equal: so many bytes are compared at once until they are not.
const RUN: usize = 32;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let runs = a.as_chunks::<RUN>().0.iter().zip(b.as_chunks().0);
    let equal = RUN * runs.take_while(|(a, b)| a == b).count();
    equal + prefix_by_words(&a[equal..], &b[equal..])
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let (runs, others) = (a.as_rchunks::<RUN>().1.iter(), b.as_rchunks().1.iter());
    let runs = runs.rev().zip(others.rev());
    let equal = RUN * runs.take_while(|(a, b)| a == b).count();
    equal + suffix_by_words(&a[..a.len() - equal], &b[..b.len() - equal])
}

fn prefix_by_words(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(WORD).zip(b.chunks_exact(WORD));
    let mut equal = 0;
    for (a, b) in words {
        let different = word(a) ^ word(b);
        if different != 0 {
            return equal + different.trailing_zeros() as usize / 8;
        }
        equal += WORD;
    }
    let bytes = a[equal..].iter().zip(&b[equal..]);
    equal + bytes.take_while(|(a, b)| a == b).count()
}

fn suffix_by_words(a: &[u8], b: &[u8]) -> usize {
    let words = a.rchunks_exact(WORD).zip(b.rchunks_exact(WORD));
    let mut equal = 0;
    for (a, b) in words {
        let different = word(a) ^ word(b);
        if different != 0 {
            return equal + different.leading_zeros() as usize / 8;
        }
        equal += WORD;
    }
    let (a, b) = (&a[..a.len() - equal], &b[..b.len() - equal]);
    let bytes = a.iter().rev().zip(b.iter().rev());
    equal + bytes.take_while(|(a, b)| a == b).count()
}

/// Appends a number in groups of seven bits, the lowest first, as protobuf writes them.
pub(crate) fn append_number(mut number: usize, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Takes a number off the front.
pub(crate) fn number(bytes: &mut &[u8]) -> io::Result<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or_else(broken)?;
        *bytes = rest;
        number |= usize::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(broken())
}

/// Takes so many bytes off the front.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> io::Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(broken)?;
    *bytes = rest;
    Ok(taken)
}

// Digits and letters come in no order that could be foreseen, so nothing here asks which of the two a byte is.

/// Hexadecimal digits, as everything writes them that Kubernetes stores: in small letters.
fn are_digits(text: &[u8]) -> bool {
    let is_digit = |byte: u8| (byte.wrapping_sub(b'0') < 10) | (byte.wrapping_sub(b'a') < 6);
    text.iter().fold(true, |are, byte| are & is_digit(*byte))
}

/// The digit of a value below 16.
fn digit(value: u8) -> u8 {
    let letter = u8::from(value > 9);
    b'0' + value + letter * (b'a' - b'0' - 10)
}

/// The value of what is a digit.
fn value(digit: u8) -> u8 {
    let letter = digit >> 6;
    (digit & 15) + letter * 9
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What makes the new text of the old one, and how much is cut.
    fn edits(old: &str, new: &str) -> (Vec<u8>, usize) {
        let mut edits = Vec::new();
        let cut = append(old.as_bytes(), new.as_bytes(), usize::MAX / 2, &mut edits).unwrap();
        let mut text = Vec::new();
        apply(old.as_bytes(), &edits, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), new);
        (edits, cut)
    }

    #[test]
    fn digits_have_their_values() {
        for (at, byte) in b"0123456789abcdef".iter().enumerate() {
            assert_eq!(usize::from(value(*byte)), at);
            assert_eq!(digit(value(*byte)), *byte);
        }
        let all: Vec<u8> = (0..=u8::MAX).filter(|byte| are_digits(&[*byte])).collect();
        assert_eq!(all, b"0123456789abcdef");
    }

    #[test]
    fn what_is_different() {
        let long = r#","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-28T00:00:00Z"},"#;
        let list = |names: &[&str]| {
            let items = names.iter().map(|name| format!(r#"{{"type":"{name}"{long}"#));
            items.collect::<String>()
        };
        let rows = [
            // Old, new, bytes that are kept of the difference at most, bytes that are cut.
            (r#"{"a":"b"}"#.into(), r#"{"a":"b"}"#.into(), 0, 0),
            (String::new(), "new".into(), 6, 0),
            ("old".into(), String::new(), 3, 3),
            // A value here and there.
            (
                format!(r#"{{"name":"a-x1","n":1{long}"ip":"10.0.0.1","rest":{{}}}}"#),
                format!(r#"{{"name":"a-y23","n":1{long}"ip":"10.0.12.7","rest":{{}}}}"#),
                16,
                5,
            ),
            // Digits take half their length.
            (
                format!(r#"{{"id":"{}","x":"y{long}"b":1}}"#, "0".repeat(64)),
                format!(r#"{{"id":"{}","x":"z{long}"b":1}}"#, "b".repeat(64)),
                42,
                65,
            ),
            // A member more, a member less, one in place of another, each with other values around.
            (
                list(&["A", "B", "C"]) + r#""x":1}"#,
                list(&["D", "B", "New", "C"]) + r#""x":2}"#,
                115,
                14,
            ),
            (
                list(&["A", "B", "New", "C"]) + r#""x":1}"#,
                list(&["D", "B", "C"]) + r#""x":2}"#,
                20,
                110,
            ),
        ];
        for (old, new, most, most_cut) in rows {
            let (edits, cut) = edits(&old, &new);
            assert!(
                edits.len() <= most && cut <= most_cut,
                "{old} {new}: {} {cut}",
                edits.len()
            );
            let room = append(old.as_bytes(), new.as_bytes(), edits.len(), &mut Vec::new());
            assert_eq!(room, Some(cut));
            if !edits.is_empty() {
                let less = append(old.as_bytes(), new.as_bytes(), edits.len() - 1, &mut Vec::new());
                assert_eq!(less, None, "{old} {new}");
            }
        }
    }

    /// Texts that have much in common: pieces of a few, in any order.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just(r#""name":"x","#.to_owned()),
            Just(r#"{"type":"Ready","status":"True"},"#.to_owned()),
            "[0-9a-f\"]{0,40}",
            ".{0,5}",
        ];
        proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_text_is_made_of_every_other(old in texts(), new in texts(), at in any::<prop::sample::Index>()) {
            let (mut edits, _) = edits(&old, &new);
            // What is broken is an error or another text, never a panic.
            if !edits.is_empty() {
                let at = at.index(edits.len());
                let _ = apply(old.as_bytes(), &edits[..at], &mut Vec::new());
                edits[at] ^= 0x55;
                let _ = apply(old.as_bytes(), &edits, &mut Vec::new());
            }
        }
    }
}
