//! Texts that differ little from one that is packed.
//!
//! The pods of one replica set differ in a few values, and so do the states of one object. To compress such a text again takes ten times as long as to
//! see what is different, so it is kept as the [differences] from the packed text of another object or of an earlier
//! state. What differs much is packed by itself.
//!
//! [differences]: crate::differences

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::differences::{append, append_number, apply, number, take};
use crate::packing::{Codec, Packed, PackedText, Packer, broken};
use crate::record::Usage;

/// Texts that are shorter are packed in no time.
const LEAST_TEXT_BYTES: usize = 1 << 9;

/// How much of a text may be new: one in so many parts of it, and so many bytes.
const MOST_NEW_PARTS: usize = 8;
const MOST_NEW_BYTES: usize = 1 << 10;

/// How much of a base may be of no more use: one in so many parts of the text.
const MOST_CUT_PARTS: usize = 4;

/// A packed text that others are kept as differences from. Each of them holds it, and it is never such a difference itself.
#[derive(Debug)]
pub(crate) struct Base {
    text: PackedText,
    usage: Arc<Usage>,
}

impl Base {
    pub(crate) fn new(text: PackedText, usage: &Arc<Usage>) -> Self {
        usage.bytes.fetch_add(size(&text), Ordering::Relaxed);
        Self {
            text,
            usage: Arc::clone(usage),
        }
    }

    /// Appends what is different from this text; `None`, and nothing appended, if that is much.
    pub(crate) fn patch(
        &self,
        codec: &Codec,
        text: &[u8],
        metadata: &Range<usize>,
        into: &mut Vec<u8>,
    ) -> Option<()> {
        if text.len() < LEAST_TEXT_BYTES {
            return None;
        }
        let patch = |known: &[u8], rest: &[u8]| patch(&self.text.packed, known, rest, text, metadata, into);
        codec.parts(&self.text, patch).ok()?
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        self.usage.bytes.fetch_sub(size(&self.text), Ordering::Relaxed);
    }
}

/// What a base takes, whether or not a record has the same bytes.
fn size(text: &PackedText) -> usize {
    size_of::<Base>() + text.bytes.len()
}

/// Appends what is different from the text that was packed last, and gives that; `None`, and nothing appended, if it is much.
pub(crate) fn patch_last(
    packer: &mut Packer,
    text: &[u8],
    metadata: &Range<usize>,
    usage: &Arc<Usage>,
    into: &mut Vec<u8>,
) -> Option<Arc<Base>> {
    if text.len() < LEAST_TEXT_BYTES {
        return None;
    }
    let patch = |packed: &Packed, known: &[u8], rest: &[u8]| patch(packed, known, rest, text, metadata, into);
    let (base, ()) = packer.last(patch, usage)?;
    Some(base)
}

fn patch(
    base: &Packed,
    base_metadata: &[u8],
    base_rest: &[u8],
    text: &[u8],
    metadata: &Range<usize>,
    into: &mut Vec<u8>,
) -> Option<()> {
    let most = (text.len() / MOST_NEW_PARTS).min(MOST_NEW_BYTES);
    let (before, after) = base_rest.split_at_checked(base.metadata().start)?;
    // Watches tell the kind there, and lists do not.
    let has_other = before != &text[..metadata.start];
    if has_other && metadata.start > most {
        return None;
    }
    let unused = if has_other { before.len() } else { 0 };
    let begin = into.len();
    let mut write = || {
        append_number(2 * metadata.start + usize::from(has_other), into);
        append_number(metadata.len(), into);
        append_number(text.len(), into);
        if has_other {
            into.extend_from_slice(&text[..metadata.start]);
        }
        let mut edits = Vec::with_capacity(most);
        let cut = append(base_metadata, &text[metadata.clone()], most, &mut edits)?;
        append_number(edits.len(), into);
        into.extend_from_slice(&edits);
        let cut = cut + append(after, &text[metadata.end..], most, into)? + unused;
        (into.len() - begin <= most && cut <= text.len() / MOST_CUT_PARTS).then_some(())
    };
    let written = write();
    if written.is_none() {
        into.truncate(begin);
    }
    written
}

/// What is different from a base, as it was written.
#[derive(Debug)]
pub(crate) struct Patched<'a> {
    base: &'a Base,
    place: Range<usize>,
    text_len: usize,
    /// What is before the metadata, if it is another.
    before: Option<&'a [u8]>,
    metadata: &'a [u8],
    after: &'a [u8],
}

impl<'a> Patched<'a> {
    pub(crate) fn read(base: &'a Base, mut bytes: &'a [u8]) -> io::Result<Self> {
        let start = number(&mut bytes)?;
        let (start, has_other) = (start / 2, start % 2 == 1);
        let end = number(&mut bytes)?.checked_add(start).ok_or_else(broken)?;
        let text_len = number(&mut bytes)?;
        let before = if has_other {
            Some(take(&mut bytes, start)?)
        } else {
            None
        };
        let metadata = number(&mut bytes)?;
        Ok(Self {
            base,
            place: start..end,
            text_len,
            before,
            metadata: take(&mut bytes, metadata)?,
            after: bytes,
        })
    }

    /// The length of the text.
    pub(crate) fn text_len(&self) -> usize {
        self.text_len
    }

    /// Where in the text the metadata are.
    pub(crate) fn metadata(&self) -> Range<usize> {
        self.place.clone()
    }

    /// The text, whole.
    pub(crate) fn text(&self, codec: &Codec) -> io::Result<Vec<u8>> {
        codec.parts(&self.base.text, |metadata, rest| {
            let (before, after) = rest
                .split_at_checked(self.base.text.packed.metadata().start)
                .ok_or_else(broken)?;
            let mut text = self.room(self.text_len);
            text.extend_from_slice(self.before.unwrap_or(before));
            apply(metadata, self.metadata, &mut text)?;
            apply(after, self.after, &mut text)?;
            of_length(text, self.text_len)
        })?
    }

    /// The text of the metadata.
    pub(crate) fn metadata_text(&self, codec: &Codec) -> io::Result<Vec<u8>> {
        codec.metadata(&self.base.text, |metadata| {
            let mut text = self.room(self.place.len());
            apply(metadata, self.metadata, &mut text)?;
            of_length(text, self.place.len())
        })?
    }

    /// A length that is broken reserves no more than there can be.
    fn room(&self, length: usize) -> Vec<u8> {
        let most = self.base.text.packed.text_len() + 2 * (self.metadata.len() + self.after.len());
        Vec::with_capacity(length.min(most))
    }
}

/// The text, if it is as long as was noted.
fn of_length(text: Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    if text.len() == length {
        Ok(text)
    } else {
        Err(broken())
    }
}
