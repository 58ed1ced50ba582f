//! Which bytes of a block are what: [`Masks`]; and where a string has its first byte that matters.

use wide::u8x16;

/// Bytes that are looked at together: a bit for each.
pub(super) const BLOCK: usize = 64;

/// Which bytes of a block are what.
pub(super) struct Masks {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    pub(super) opening: u64,
    pub(super) closing: u64,
}

impl Masks {
    pub(super) fn of(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self {
            quotes: 0,
            backslashes: 0,
            opening: 0,
            closing: 0,
        };
        let parts = block.as_chunks::<16>().0;
        for (part, shift) in parts.iter().zip((0..).step_by(16)) {
            let bytes = u8x16::new(*part);
            // Brackets of both kinds differ in this bit alone, and it makes no bracket of anything else.
            let brackets = bytes | u8x16::splat(0x20);
            let equal = |bytes: u8x16, byte: u8| u64::from(bytes.simd_eq(u8x16::splat(byte)).to_bitmask());
            masks.quotes |= equal(bytes, b'"') << shift;
            masks.backslashes |= equal(bytes, b'\\') << shift;
            masks.opening |= equal(brackets, b'{') << shift;
            masks.closing |= equal(brackets, b'}') << shift;
        }
        masks
    }
}

/// Where the first quote or backslash of a text is that begins within a string. Nine tenths of the strings of a pod are shorter than the two
/// blocks which are looked at here, in less time than it takes a search by wider instructions to begin.
#[inline]
pub(super) fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let (blocks, _) = text.as_chunks::<16>();
    let blocks = &blocks[..blocks.len().min(2)];
    for (block, at) in blocks.iter().zip((0..).step_by(16)) {
        let bytes = u8x16::new(*block);
        let is_either = bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
        let found = is_either.to_bitmask();
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
    }
    let passed = blocks.as_flattened().len();
    memchr::memchr2(b'"', b'\\', &text[passed..]).map(|at| passed + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_what_it_is() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK {
                let mut block = [b' '; BLOCK];
                block[place] = byte;
                let masks = Masks::of(&block);
                let bit = 1_u64 << place;
                let expect = |is: bool| if is { bit } else { 0 };
                assert_eq!(masks.quotes, expect(byte == b'"'), "{byte} {place}");
                assert_eq!(masks.backslashes, expect(byte == b'\\'), "{byte} {place}");
                assert_eq!(
                    masks.opening,
                    expect(matches!(byte, b'{' | b'[')),
                    "{byte} {place}"
                );
                assert_eq!(
                    masks.closing,
                    expect(matches!(byte, b'}' | b']')),
                    "{byte} {place}"
                );
            }
        }
    }

    #[test]
    fn the_first_quote_or_backslash_is_found() {
        for length in 0..70 {
            let mut text = vec![b'a'; length];
            assert_eq!(quote_or_backslash(&text), None, "{length}");
            for (first, later) in [(b'"', b'\\'), (b'\\', b'"')] {
                for at in (0..length).rev() {
                    text[at] = first;
                    assert_eq!(quote_or_backslash(&text), Some(at), "{length} {at}");
                    text[at] = later;
                }
                text.fill(b'a');
            }
        }
    }
}
