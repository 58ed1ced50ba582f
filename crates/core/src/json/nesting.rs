//! Where an object or array of JSON ends: [`Nesting`].

use super::masks::{BLOCK, Masks};

/// How deep objects and arrays may lie in each other: 10,000, as much as Go's `encoding/json` takes. Nothing here is recursive; whoever
/// decodes what was cut out has a limit of its own.
pub const MAX_NESTING: u32 = 10_000;

/// What was passed of an object or array, byte by byte or in any pieces.
///
/// It counts brackets and skips strings; whether brackets match, and all else that makes JSON valid, is found out by whoever reads the text.
/// 64 bytes are looked at together, since most bytes mean nothing here. A text of invalid JSON ends at the same byte
/// however it is cut.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nesting {
    depth: u32,
    /// How many of its own members that are objects or arrays have ended.
    members: u32,
    /// All ones within a string, else 0.
    in_string: u64,
    /// 1 if the next byte follows a backslash that is not escaped itself, else 0.
    escaped: u64,
}

/// Brackets lie deeper than [`MAX_NESTING`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooDeep {
    /// The bracket, counted from the beginning of the piece.
    pub at: usize,
}

impl Nesting {
    /// How many objects and arrays lie in the value itself, not in others in it: those that have ended.
    #[must_use]
    pub fn members(&self) -> u32 {
        self.members
    }

    /// One past the bracket that closes the value, if it is in this piece. The first byte of the first piece is its opening bracket.
    ///
    /// # Errors
    ///
    /// Brackets lie deeper than [`MAX_NESTING`].
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, TooDeep> {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        // What is left, with something behind it that means nothing.
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(&last);
        let (mut begin, mut escapes) = (0, 0);
        // One loop for all of them, so that there is one call of `step`, which becomes part of it.
        for block in blocks.iter().chain(last) {
            let masks = Masks::of(block);
            escapes = self.escapes(masks.backslashes);
            if let Some(end) = self.step(&masks, escapes, begin)? {
                return Ok(Some(end));
            }
            begin += BLOCK;
        }
        if !rest.is_empty() {
            self.escaped = (escapes >> rest.len()) & 1;
        }
        Ok(None)
    }

    /// The bytes that follow a backslash which is not escaped itself: in a row of backslashes it is every second byte, and the one behind
    /// the row if their number is odd.
    fn escapes(&mut self, backslashes: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        if backslashes | self.escaped == 0 {
            return 0;
        }
        let backslashes = backslashes & !self.escaped;
        let following = (backslashes << 1) | self.escaped;
        // Adding a row's bits to its first carries to the bit behind the row, so rows that begin at odd bits are told from others.
        let odd_beginnings = backslashes & !EVEN & !following;
        let (carried, overflow) = odd_beginnings.overflowing_add(backslashes);
        self.escaped = u64::from(overflow);
        (EVEN ^ (carried << 1)) & following
    }

    fn step(&mut self, masks: &Masks, escapes: u64, begin: usize) -> Result<Option<usize>, TooDeep> {
        let mut inside = self.in_string;
        // Long strings fill whole blocks.
        if masks.quotes != 0 {
            inside ^= prefix_xor(masks.quotes & !escapes);
            self.in_string = 0_u64.wrapping_sub(inside >> 63);
        }
        let (opening, closing) = (masks.opening & !inside, masks.closing & !inside);
        if opening | closing == 0 {
            return Ok(None);
        }
        let (up, down) = (opening.count_ones(), closing.count_ones());
        // Neither it nor a member of it can end here, whatever the order is.
        if down + 1 < self.depth && self.depth + up <= MAX_NESTING {
            self.depth = self.depth + up - down;
            return Ok(None);
        }
        let mut brackets = opening | closing;
        while brackets != 0 {
            let bit = brackets.trailing_zeros();
            let at = begin + bit as usize;
            brackets &= brackets - 1;
            if (opening >> bit) & 1 == 1 {
                if self.depth == MAX_NESTING {
                    return Err(TooDeep { at });
                }
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                match self.depth {
                    0 => return Ok(Some(at + 1)),
                    1 => self.members = self.members.saturating_add(1),
                    _ => {}
                }
            }
        }
        Ok(None)
    }
}

/// Each bit becomes the parity of itself and all below it: the bits from each quote on to before the next are set.
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, as one would write it first.
    fn simply(bytes: &[u8]) -> Result<Option<usize>, TooDeep> {
        let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
        for (at, byte) in bytes.iter().enumerate() {
            if std::mem::take(&mut escaped) {
                match byte {
                    b'{' | b'[' if !in_string => depth += 1,
                    b'}' | b']' if !in_string => depth -= 1,
                    _ => continue,
                }
            } else {
                match byte {
                    b'\\' => escaped = true,
                    b'"' => in_string = !in_string,
                    b'{' | b'[' if !in_string => depth += 1,
                    b'}' | b']' if !in_string => depth -= 1,
                    _ => continue,
                }
            }
            if depth > MAX_NESTING {
                return Err(TooDeep { at });
            }
            if depth == 0 {
                return Ok(Some(at + 1));
            }
        }
        Ok(None)
    }

    fn in_pieces(bytes: &[u8], size: usize) -> Result<Option<usize>, TooDeep> {
        let mut nesting = Nesting::default();
        for (number, piece) in bytes.chunks(size).enumerate() {
            let begin = number * size;
            match nesting.scan(piece) {
                Ok(None) => {}
                Ok(Some(end)) => return Ok(Some(begin + end)),
                Err(TooDeep { at }) => return Err(TooDeep { at: begin + at }),
            }
        }
        Ok(None)
    }

    #[test]
    fn depth_has_a_limit() {
        let deep = |levels: usize| [vec![b'['; levels], vec![b']'; levels]].concat();
        let most = MAX_NESTING as usize;
        for size in [1, 64, 100, 1 << 20] {
            assert_eq!(in_pieces(&deep(most), size), Ok(Some(2 * most)), "{size}");
            assert_eq!(
                in_pieces(&deep(most + 1), size),
                Err(TooDeep { at: most }),
                "{size}"
            );
        }
        // The brackets of one block may go further than the limit and come back.
        let mut flat = deep(most - 1);
        flat.splice(most - 1..most - 1, *b"[][][][]");
        assert_eq!(in_pieces(&flat, 1 << 20), Ok(Some(flat.len())));
    }

    #[test]
    fn members_are_counted() {
        let long = format!("{{\"a\":[{}],\"b\":{{\"c\":[]}}}}", vec!["{}"; 100].join(","));
        for (text, expect) in [
            ("{}", 0),
            ("[1,\"[]{}\"]", 0),
            (r#"{"a":{}}"#, 1),
            (r#"{"a":{"b":{},"c":[[]]},"d":1,"e":[]}"#, 2),
            (&long, 2),
        ] {
            for size in [1, 7, 1000] {
                let mut nesting = Nesting::default();
                for piece in text.as_bytes().chunks(size) {
                    nesting.scan(piece).unwrap();
                }
                assert_eq!(nesting.members(), expect, "{text} {size}");
            }
        }
    }

    proptest! {
        #[test]
        fn it_ends_where_it_ends(
            text in proptest::collection::vec(prop_oneof![
                4 => Just(b'\\'), 4 => Just(b'"'), 2 => Just(b'{'), 1 => Just(b'}'), 2 => Just(b'['), 1 => Just(b']'),
                4 => any::<u8>(),
            ], 0..400),
            size in 1_usize..200,
        ) {
            let text = [b"{", &*text].concat();
            prop_assert_eq!(in_pieces(&text, size), simply(&text));
            prop_assert_eq!(in_pieces(&text, 1), simply(&text));
        }
    }
}
