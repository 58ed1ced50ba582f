//! Objects as compressed text.
//!
//! The objects of one kind say nearly the same, so each is compressed with a dictionary that was trained on some of
//! them ([RFC 8878]): the text of a pod of 5 KB becomes 400 bytes. Metadata and the rest are compressed apart, because most
//! readers ask for metadata alone.
//!
//! [RFC 8878]: https://www.rfc-editor.org/rfc/rfc8878

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

use crate::patching::Base;
use crate::record::Usage;

/// The fastest level that uses the whole format. Higher ones take twice the time and save a few bytes of a hundred.
const LEVEL: i32 = 1;

/// What a dictionary may take. One of pods that is four times as large saves another hundredth, and is trained twice as long.
const DICTIONARY_BYTES: usize = 16 << 10;

/// What a dictionary takes at least.
const FEWEST_DICTIONARY_BYTES: usize = 1 << 10;

/// How many times as large as their dictionary samples are.
const SAMPLES_FOR_DICTIONARY: usize = 24;

/// What training looks at: more takes longer and makes no better dictionary.
const SAMPLE_BYTES: usize = 1 << 19;

/// What of each part of a text training looks at: enough of a large one.
const SAMPLE_PART_BYTES: usize = 32 << 10;

/// Metadata and rests that are looked at in any case.
const FEWEST_SAMPLES: usize = 40;

/// Buffers that are kept for the next object.
const KEPT_BUFFER_BYTES: usize = 64 << 10;

/// Contexts that are kept for the next object. More exist while more threads work.
const KEPT_CONTEXTS: usize = 4;

/// Every frame begins with these bytes, which are left out.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A dictionary, and what uses it.
pub(crate) struct Codec {
    dictionary: Vec<u8>,
    packers: Mutex<Vec<Packer>>,
    unpackers: Mutex<Vec<Unpacker>>,
}

/// The lengths that tell the parts of a packed object from each other. What has more than 64 KiB before its metadata, or whose metadata
/// take more than that when they are packed, stays as it is, so that every record has one word less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed {
    metadata: u32,
    rest: u32,
    /// What the metadata take in packed form; the rest follows.
    metadata_frame: u16,
    /// Where in the rest the metadata belong.
    at: u16,
}

/// A packed text, where it lies in the bytes of a record.
#[derive(Debug, Clone)]
pub(crate) struct PackedText {
    pub(crate) bytes: Arc<[u8]>,
    /// Where the text begins.
    pub(crate) from: u16,
    pub(crate) packed: Packed,
}

/// What packs texts, with the one that it packed last: the objects of one owner come one after the other.
pub(crate) struct Packer {
    compressor: Compressor<'static>,
    frame: Vec<u8>,
    metadata: Vec<u8>,
    rest: Vec<u8>,
    last: Option<Last>,
}

/// Whose text is in the buffers of a packer.
struct Last {
    text: PackedText,
    /// Others are kept as differences from it.
    base: Weak<Base>,
}

struct Unpacker {
    decompressor: Decompressor<'static>,
    frame: Vec<u8>,
    metadata: Unpacked,
    rest: Unpacked,
}

/// A part of a text, and of which: many are differences from the same.
#[derive(Default)]
struct Unpacked {
    text: Vec<u8>,
    of: Option<Arc<[u8]>>,
}

impl Codec {
    /// Trains a dictionary on texts, each with the place of its metadata.
    ///
    /// # Errors
    ///
    /// When there is too little to learn from.
    pub(crate) fn train(texts: &[(Cow<'_, [u8]>, Range<usize>)]) -> io::Result<Self> {
        let (mut samples, mut sizes) = (Vec::with_capacity(SAMPLE_BYTES), Vec::new());
        for (text, metadata) in texts {
            let part =
                |range: Range<usize>| &text[range.start..range.end.min(range.start + SAMPLE_PART_BYTES)];
            let metadata_part = part(metadata.clone());
            let rest = [part(0..metadata.start), part(metadata.end..text.len())];
            samples.extend_from_slice(metadata_part);
            samples.extend_from_slice(rest[0]);
            samples.extend_from_slice(rest[1]);
            sizes.extend([metadata_part.len(), rest[0].len() + rest[1].len()]);
            if samples.len() > SAMPLE_BYTES && sizes.len() >= FEWEST_SAMPLES {
                break;
            }
        }
        Ok(Self {
            dictionary: dictionary(&samples, &sizes)?,
            packers: Mutex::default(),
            unpackers: Mutex::default(),
        })
    }

    /// What the dictionary takes.
    pub(crate) fn dictionary_bytes(&self) -> usize {
        self.dictionary.len()
    }

    /// What the buffers take that are kept for the next object.
    #[cfg(test)]
    pub(crate) fn buffer_bytes(&self) -> usize {
        let (packers, unpackers) = (self.packers.lock(), self.unpackers.lock());
        let packing = packers
            .iter()
            .flat_map(|one| [&one.metadata, &one.rest, &one.frame]);
        let unpacking = unpackers
            .iter()
            .flat_map(|one| [&one.metadata.text, &one.rest.text, &one.frame]);
        packing.chain(unpacking).map(Vec::capacity).sum()
    }

    /// Works with a packer that nobody else works with meanwhile; `None` if there is no memory for one.
    pub(crate) fn with_packer<T>(&self, work: impl FnOnce(&mut Packer) -> T) -> Option<T> {
        let kept = self.packers.lock().pop();
        let mut packer = match kept {
            Some(packer) => packer,
            None => Packer::new(&self.dictionary).ok()?,
        };
        let outcome = work(&mut packer);
        packer.forget_large();
        let mut packers = self.packers.lock();
        if packers.len() < KEPT_CONTEXTS {
            packers.push(packer);
        }
        Some(outcome)
    }

    /// Shows the metadata of a packed text.
    pub(crate) fn metadata<T>(&self, text: &PackedText, show: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        self.with_unpacker(text, |unpacker| unpacker.metadata(text).map(show))
    }

    /// A packed text, whole.
    pub(crate) fn text(&self, text: &PackedText) -> io::Result<Vec<u8>> {
        let whole = self.parts(text, |metadata, rest| {
            let (before, after) = rest.split_at_checked(text.packed.at.into())?;
            Some([before, metadata, after].concat())
        });
        whole?.ok_or_else(broken)
    }

    /// Shows the metadata of a packed text and what is around it.
    pub(crate) fn parts<T>(&self, text: &PackedText, show: impl FnOnce(&[u8], &[u8]) -> T) -> io::Result<T> {
        self.with_unpacker(text, |unpacker| {
            unpacker.metadata(text)?;
            unpacker.rest(text)?;
            Ok(show(&unpacker.metadata.text, &unpacker.rest.text))
        })
    }

    /// One that has the text, if there is one.
    fn with_unpacker<T>(
        &self,
        text: &PackedText,
        work: impl FnOnce(&mut Unpacker) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut unpackers = self.unpackers.lock();
        let kept = match unpackers.iter().rposition(|unpacker| unpacker.has(text)) {
            Some(at) => Some(unpackers.swap_remove(at)),
            None => unpackers.pop(),
        };
        drop(unpackers);
        let mut unpacker = match kept {
            Some(unpacker) => unpacker,
            None => Unpacker::new(&self.dictionary)?,
        };
        let outcome = work(&mut unpacker);
        unpacker.forget_large();
        let mut unpackers = self.unpackers.lock();
        if unpackers.len() < KEPT_CONTEXTS {
            unpackers.push(unpacker);
        }
        outcome
    }
}

fn dictionary(samples: &[u8], sizes: &[usize]) -> io::Result<Vec<u8>> {
    let wanted = samples.len() / SAMPLES_FOR_DICTIONARY;
    let wanted = wanted.clamp(FEWEST_DICTIONARY_BYTES, DICTIONARY_BYTES);
    let train = |bytes| zstd::dict::from_continuous(samples, sizes, bytes);
    let dictionary = train(wanted)?;
    // One that does not fill its room makes objects twice as large as one that does, as a rule.
    let smaller = dictionary.len() / 4 * 3;
    if dictionary.len() == wanted || smaller < FEWEST_DICTIONARY_BYTES {
        return Ok(dictionary);
    }
    train(smaller).or(Ok(dictionary))
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec")
            .field("dictionary", &self.dictionary.len())
            .finish_non_exhaustive()
    }
}

impl Packed {
    /// The length of the text.
    pub(crate) fn text_len(&self) -> usize {
        self.metadata as usize + self.rest as usize
    }

    /// Where in the text the metadata are.
    pub(crate) fn metadata(&self) -> Range<usize> {
        let at = usize::from(self.at);
        at..at + self.metadata as usize
    }
}

impl PackedText {
    fn frames(&self) -> io::Result<(&[u8], &[u8])> {
        let frames = self.bytes.get(usize::from(self.from)..);
        let frames = frames.and_then(|frames| frames.split_at_checked(self.packed.metadata_frame.into()));
        frames.ok_or_else(broken)
    }
}

impl Packer {
    fn new(dictionary: &[u8]) -> io::Result<Self> {
        let mut compressor = Compressor::with_dictionary(LEVEL, dictionary)?;
        // Lengths are kept beside the frames, there is one dictionary, and memory is not a disk.
        for parameter in [
            CParameter::ContentSizeFlag(false),
            CParameter::DictIdFlag(false),
            CParameter::ChecksumFlag(false),
        ] {
            compressor.set_parameter(parameter)?;
        }
        Ok(Self {
            compressor,
            frame: Vec::new(),
            metadata: Vec::new(),
            rest: Vec::new(),
            last: None,
        })
    }

    /// Appends a text in packed form; `None`, and nothing appended, if that is not much shorter. Whoever stores it says
    /// [where](Self::stored).
    pub(crate) fn pack(
        &mut self,
        text: &[u8],
        metadata: &Range<usize>,
        into: &mut Vec<u8>,
    ) -> Option<Packed> {
        let before = into.len();
        // Base64, as in secrets, loses a quarter at best: not worth the time.
        let pays = |into: &Vec<u8>| into.len() - before <= text.len() / 3 * 2;
        let packed = self.frames(text, metadata, into).ok();
        let packed = packed.filter(|_| pays(into));
        if packed.is_none() {
            into.truncate(before);
        }
        packed
    }

    /// The text that was packed last lies there.
    pub(crate) fn stored(&mut self, text: PackedText) {
        self.last = Some(Last {
            text,
            base: Weak::new(),
        });
    }

    /// Shows the metadata of the text that was packed last and what is around it, and how to refer to it if something is made of it.
    pub(crate) fn last<T>(
        &mut self,
        show: impl FnOnce(&Packed, &[u8], &[u8]) -> Option<T>,
        usage: &Arc<Usage>,
    ) -> Option<(Arc<Base>, T)> {
        let last = self.last.as_mut()?;
        let shown = show(&last.text.packed, &self.metadata, &self.rest)?;
        let base = last.base.upgrade().unwrap_or_else(|| {
            let base = Arc::new(Base::new(last.text.clone(), usage));
            last.base = Arc::downgrade(&base);
            base
        });
        Some((base, shown))
    }

    fn frames(&mut self, text: &[u8], metadata: &Range<usize>, into: &mut Vec<u8>) -> io::Result<Packed> {
        let length = |length: usize| u32::try_from(length).map_err(|_| broken());
        let short = |length: usize| u16::try_from(length).map_err(|_| broken());
        self.last = None;
        replace(&mut self.metadata, [&text[metadata.clone()], &[]]);
        replace(&mut self.rest, [&text[..metadata.start], &text[metadata.end..]]);
        let metadata_frame = frame(&mut self.compressor, &self.metadata, &mut self.frame, into)?;
        frame(&mut self.compressor, &self.rest, &mut self.frame, into)?;
        Ok(Packed {
            metadata: length(self.metadata.len())?,
            rest: length(self.rest.len())?,
            metadata_frame: short(metadata_frame)?,
            at: short(metadata.start)?,
        })
    }

    /// One object of many megabytes is not to keep its room for ever.
    fn forget_large(&mut self) {
        let Self {
            metadata,
            rest,
            frame,
            ..
        } = self;
        forget_large(frame);
        let [metadata, rest] = [metadata, rest].map(forget_large);
        if metadata || rest {
            self.last = None;
        }
    }
}

/// Appends a text as a frame without its first bytes, and tells how long that is.
fn frame(
    compressor: &mut Compressor<'_>,
    text: &[u8],
    buffer: &mut Vec<u8>,
    into: &mut Vec<u8>,
) -> io::Result<usize> {
    buffer.clear();
    buffer.reserve(zstd::zstd_safe::compress_bound(text.len()));
    compressor.compress_to_buffer(text, buffer)?;
    let frame = buffer.strip_prefix(&MAGIC).ok_or_else(broken)?;
    into.extend_from_slice(frame);
    Ok(frame.len())
}

impl Unpacker {
    fn new(dictionary: &[u8]) -> io::Result<Self> {
        Ok(Self {
            decompressor: Decompressor::with_dictionary(dictionary)?,
            frame: Vec::new(),
            metadata: Unpacked::default(),
            rest: Unpacked::default(),
        })
    }

    fn has(&self, text: &PackedText) -> bool {
        self.metadata.is_of(text)
    }

    fn metadata(&mut self, text: &PackedText) -> io::Result<&[u8]> {
        let (frame, length) = (text.frames()?.0, text.packed.metadata);
        self.metadata
            .unpack(text, frame, length, &mut self.decompressor, &mut self.frame)
    }

    fn rest(&mut self, text: &PackedText) -> io::Result<&[u8]> {
        let (frame, length) = (text.frames()?.1, text.packed.rest);
        self.rest
            .unpack(text, frame, length, &mut self.decompressor, &mut self.frame)
    }

    fn forget_large(&mut self) {
        forget_large(&mut self.frame);
        for part in [&mut self.metadata, &mut self.rest] {
            if forget_large(&mut part.text) {
                part.of = None;
            }
        }
    }
}

impl Unpacked {
    fn is_of(&self, text: &PackedText) -> bool {
        self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, &text.bytes))
    }

    /// The text of a frame, which is one of those of `text`, unless it is here already.
    fn unpack(
        &mut self,
        text: &PackedText,
        frame: &[u8],
        length: u32,
        decompressor: &mut Decompressor<'_>,
        buffer: &mut Vec<u8>,
    ) -> io::Result<&[u8]> {
        if !self.is_of(text) {
            self.of = None;
            let length = length as usize;
            replace(buffer, [&MAGIC, frame]);
            self.text.clear();
            self.text.reserve(length);
            decompressor.decompress_to_buffer(buffer, &mut self.text)?;
            if self.text.len() != length {
                return Err(broken());
            }
            self.of = Some(Arc::clone(&text.bytes));
        }
        Ok(&self.text)
    }
}

fn replace(buffer: &mut Vec<u8>, parts: [&[u8]; 2]) {
    buffer.clear();
    parts.into_iter().for_each(|part| buffer.extend_from_slice(part));
}

/// Gives the room of a large text back, and tells so.
fn forget_large(buffer: &mut Vec<u8>) -> bool {
    let is_large = buffer.capacity() > KEPT_BUFFER_BYTES;
    if is_large {
        *buffer = Vec::new();
    }
    is_large
}

/// What was packed here and cannot be unpacked.
pub(crate) fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the packed text is broken")
}
