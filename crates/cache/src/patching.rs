//! States of an object that differ little from one that is packed.
//!
//! Most changes touch the version and a few values: a lease is renewed, a condition has another time. To compress the whole object again takes ten times
//! as long as to unpack it and to see what is different, so such a state is kept as the packed text of an earlier one and
//! the piece of metadata and the piece of the rest that took the place of others. What changes much is packed anew.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::packing::{Codec, Packed, broken};

/// Texts that are shorter are packed in no time.
const LEAST_TEXT_BYTES: usize = 1 << 9;

/// How much of a text may be new: one in so many parts of it, and so many bytes.
const MOST_NEW_PARTS: usize = 8;
const MOST_NEW_BYTES: usize = 1 << 10;

/// How much of a base may be of no more use: one in so many parts of the text.
const MOST_CUT_PARTS: usize = 4;

/// A packed text, where it lies in the bytes of a record.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) bytes: Arc<[u8]>,
    /// Where the text begins.
    pub(crate) from: u16,
    pub(crate) packed: Packed,
}

/// What is to be done to a base. The new pieces are kept beside it, one after the other.
#[derive(Debug)]
pub(crate) struct Patched {
    base: Base,
    /// The length of what is before the metadata, if it is another: watches tell the kind there, and lists do not.
    before: Option<u16>,
    metadata: Splice,
    after: Splice,
}

/// One piece of a text that takes the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Splice {
    at: u32,
    cut: u32,
    put: u32,
}

impl Base {
    /// Appends the pieces of a text that are not in this one; `None`, and nothing appended, if they are many.
    pub(crate) fn patch(
        &self,
        codec: &Codec,
        text: &[u8],
        metadata: &Range<usize>,
        into: &mut Vec<u8>,
    ) -> Option<Patched> {
        if text.len() < LEAST_TEXT_BYTES {
            return None;
        }
        let new = (
            &text[..metadata.start],
            &text[metadata.clone()],
            &text[metadata.end..],
        );
        let length = u16::try_from(metadata.start).ok()?;
        let compare = |metadata: &[u8], rest: &[u8]| {
            let (before, after) = rest.split_at_checked(self.packed.metadata().start)?;
            let before = (before != new.0).then_some(length);
            Some((
                before,
                Splice::between(metadata, new.1)?,
                Splice::between(after, new.2)?,
            ))
        };
        let different = codec.parts(self.frames(), &self.packed, compare);
        let (before, metadata, after) = different.ok().flatten()?;
        let piece = before.map_or(&[][..], |_| new.0);
        let pieces = [piece, metadata.piece(new.1), after.piece(new.2)].concat();
        let most = (text.len() / MOST_NEW_PARTS).min(MOST_NEW_BYTES);
        let cut = metadata.cut as usize + after.cut as usize;
        if pieces.len() > most || cut > text.len() / MOST_CUT_PARTS {
            return None;
        }
        into.extend_from_slice(&pieces);
        Some(Patched {
            base: self.clone(),
            before,
            metadata,
            after,
        })
    }

    fn frames(&self) -> &[u8] {
        self.bytes.get(usize::from(self.from)..).unwrap_or_default()
    }
}

impl Patched {
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// What it takes beside the new pieces.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.base.bytes.len()
    }

    /// The length of the text.
    pub(crate) fn text_len(&self) -> usize {
        let after = self.base.packed.text_len() - self.base.packed.metadata().end;
        self.metadata().end + self.after.length(after)
    }

    /// Where in the text the metadata are.
    pub(crate) fn metadata(&self) -> Range<usize> {
        let base = self.base.packed.metadata();
        let at = self.before.map_or(base.start, usize::from);
        at..at + self.metadata.length(base.len())
    }

    /// The text, whole.
    pub(crate) fn text(&self, codec: &Codec, pieces: &[u8]) -> io::Result<Vec<u8>> {
        let assemble = |metadata: &[u8], rest: &[u8]| {
            let (piece, pieces) = self.pieces(pieces)?;
            let (before, after) = rest.split_at_checked(self.base.packed.metadata().start)?;
            let before = self.before.map_or(before, |_| piece);
            let (first, second) = pieces.split_at_checked(self.metadata.put as usize)?;
            let [a, b, c] = self.metadata.apply(metadata, first)?;
            let [d, e, f] = self.after.apply(after, second)?;
            Some([before, a, b, c, d, e, f].concat())
        };
        let text = codec.parts(self.base.frames(), &self.base.packed, assemble)?;
        text.ok_or_else(broken)
    }

    /// The text of the metadata.
    pub(crate) fn metadata_text(&self, codec: &Codec, pieces: &[u8]) -> io::Result<Vec<u8>> {
        let before = codec.metadata(self.base.frames(), &self.base.packed)?;
        let piece = self
            .pieces(pieces)
            .and_then(|(_, pieces)| pieces.get(..self.metadata.put as usize));
        let text = piece.and_then(|piece| self.metadata.apply(&before, piece));
        text.map(|text| text.concat()).ok_or_else(broken)
    }

    /// What is before the metadata, if it is another, and the other pieces.
    fn pieces<'a>(&self, pieces: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        pieces.split_at_checked(self.before.unwrap_or(0).into())
    }
}

impl Splice {
    /// What makes the new text of the old one; `None` if that is longer than can be said.
    fn between(old: &[u8], new: &[u8]) -> Option<Self> {
        let at = common_prefix(old, new);
        let (old, new) = (&old[at..], &new[at..]);
        let kept = common_suffix(old, new);
        Some(Self {
            at: u32::try_from(at).ok()?,
            cut: u32::try_from(old.len() - kept).ok()?,
            put: u32::try_from(new.len() - kept).ok()?,
        })
    }

    /// The piece of the new text that is not in the old one.
    fn piece<'a>(&self, new: &'a [u8]) -> &'a [u8] {
        let at = self.at as usize;
        &new[at..at + self.put as usize]
    }

    /// The parts of the new text, of the old one and the piece.
    fn apply<'a>(&self, old: &'a [u8], piece: &'a [u8]) -> Option<[&'a [u8]; 3]> {
        let (before, rest) = old.split_at_checked(self.at as usize)?;
        Some([before, piece, rest.get(self.cut as usize..)?])
    }

    /// The length of what is made of a text of this length.
    fn length(&self, old: usize) -> usize {
        (old + self.put as usize).saturating_sub(self.cut as usize)
    }
}

/// Bytes that are compared at a time.
const STEP: usize = 64;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    let equal = STEP * steps.take_while(|(a, b)| a == b).count();
    let bytes = a[equal..].iter().zip(&b[equal..]);
    equal + bytes.take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let steps = a.rchunks_exact(STEP).zip(b.rchunks_exact(STEP));
    let equal = STEP * steps.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - equal], &b[..b.len() - equal]);
    let bytes = a.iter().rev().zip(b.iter().rev());
    equal + bytes.take_while(|(a, b)| a == b).count()
}
