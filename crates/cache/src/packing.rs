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

use parking_lot::Mutex;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

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
    compressors: Mutex<Vec<Packer>>,
    decompressors: Mutex<Vec<Unpacker>>,
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

struct Packer {
    compressor: Compressor<'static>,
    rest: Vec<u8>,
    frame: Vec<u8>,
}

struct Unpacker {
    decompressor: Decompressor<'static>,
    frame: Vec<u8>,
    metadata: Vec<u8>,
    rest: Vec<u8>,
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
            compressors: Mutex::default(),
            decompressors: Mutex::default(),
        })
    }

    /// What the dictionary takes.
    pub(crate) fn dictionary_bytes(&self) -> usize {
        self.dictionary.len()
    }

    /// Appends a text in packed form; `None`, and nothing appended, if that is not much shorter.
    pub(crate) fn pack(&self, text: &[u8], metadata: &Range<usize>, into: &mut Vec<u8>) -> Option<Packed> {
        let kept = self.compressors.lock().pop();
        let mut packer = match kept {
            Some(packer) => packer,
            None => Packer::new(&self.dictionary).ok()?,
        };
        let before = into.len();
        let packed = packer.pack(text, metadata, into);
        packer.rest = kept_buffer(packer.rest);
        packer.frame = kept_buffer(packer.frame);
        let mut compressors = self.compressors.lock();
        if compressors.len() < KEPT_CONTEXTS {
            compressors.push(packer);
        }
        drop(compressors);
        // Base64, as in secrets, loses a quarter at best: not worth the time.
        let pays = |_: &Packed| into.len() - before <= text.len() / 3 * 2;
        let packed = packed.ok().filter(pays);
        if packed.is_none() {
            into.truncate(before);
        }
        packed
    }

    /// The metadata of a packed text.
    pub(crate) fn metadata(&self, bytes: &[u8], packed: &Packed) -> io::Result<Vec<u8>> {
        let mut text = Vec::with_capacity(packed.metadata as usize);
        self.with_unpacker(|unpacker| unpacker.unpack(packed.metadata_frame(bytes)?, &mut text))?;
        Ok(text)
    }

    /// A packed text, whole.
    pub(crate) fn text(&self, bytes: &[u8], packed: &Packed) -> io::Result<Vec<u8>> {
        let text = self.parts(bytes, packed, |metadata, rest| {
            let (before, after) = rest.split_at_checked(packed.at.into())?;
            Some([before, metadata, after].concat())
        });
        text?.ok_or_else(broken)
    }

    /// Shows the metadata of a packed text and what is around it.
    pub(crate) fn parts<T>(
        &self,
        bytes: &[u8],
        packed: &Packed,
        show: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> io::Result<T> {
        self.with_unpacker(|unpacker| {
            let mut metadata = cleared(&mut unpacker.metadata, packed.metadata as usize);
            unpacker.unpack(packed.metadata_frame(bytes)?, &mut metadata)?;
            let mut rest = cleared(&mut unpacker.rest, packed.rest as usize);
            unpacker.unpack(packed.rest_frame(bytes)?, &mut rest)?;
            let shown = show(&metadata, &rest);
            (unpacker.metadata, unpacker.rest) = (metadata, rest);
            Ok(shown)
        })
    }

    fn with_unpacker<T>(&self, work: impl FnOnce(&mut Unpacker) -> io::Result<T>) -> io::Result<T> {
        let kept = self.decompressors.lock().pop();
        let mut unpacker = match kept {
            Some(unpacker) => unpacker,
            None => Unpacker::new(&self.dictionary)?,
        };
        let outcome = work(&mut unpacker);
        unpacker.frame = kept_buffer(unpacker.frame);
        unpacker.metadata = kept_buffer(unpacker.metadata);
        unpacker.rest = kept_buffer(unpacker.rest);
        let mut decompressors = self.decompressors.lock();
        if decompressors.len() < KEPT_CONTEXTS {
            decompressors.push(unpacker);
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

    fn metadata_frame<'a>(&self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        bytes.get(..self.metadata_frame.into()).ok_or_else(broken)
    }

    fn rest_frame<'a>(&self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        bytes.get(self.metadata_frame.into()..).ok_or_else(broken)
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
            rest: Vec::new(),
            frame: Vec::new(),
        })
    }

    fn pack(&mut self, text: &[u8], metadata: &Range<usize>, into: &mut Vec<u8>) -> io::Result<Packed> {
        let length = |length: usize| u32::try_from(length).map_err(|_| broken());
        let short = |length: usize| u16::try_from(length).map_err(|_| broken());
        let frame = self.frame(&text[metadata.clone()])?.len();
        into.extend_from_slice(&self.frame[MAGIC.len()..]);
        let mut rest = std::mem::take(&mut self.rest);
        rest.clear();
        rest.extend_from_slice(&text[..metadata.start]);
        rest.extend_from_slice(&text[metadata.end..]);
        let outcome = self
            .frame(&rest)
            .map(|frame| into.extend_from_slice(&frame[MAGIC.len()..]));
        self.rest = rest;
        outcome?;
        Ok(Packed {
            metadata: length(metadata.len())?,
            rest: length(text.len() - metadata.len())?,
            metadata_frame: short(frame - MAGIC.len())?,
            at: short(metadata.start)?,
        })
    }

    fn frame(&mut self, text: &[u8]) -> io::Result<&[u8]> {
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(text.len()));
        self.compressor.compress_to_buffer(text, &mut self.frame)?;
        if self.frame.starts_with(&MAGIC) {
            Ok(&self.frame)
        } else {
            Err(broken())
        }
    }
}

impl Unpacker {
    fn new(dictionary: &[u8]) -> io::Result<Self> {
        Ok(Self {
            decompressor: Decompressor::with_dictionary(dictionary)?,
            frame: Vec::new(),
            metadata: Vec::new(),
            rest: Vec::new(),
        })
    }

    fn unpack(&mut self, frame: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        self.frame.clear();
        self.frame.extend_from_slice(&MAGIC);
        self.frame.extend_from_slice(frame);
        self.decompressor.decompress_to_buffer(&self.frame, into)?;
        Ok(())
    }
}

/// One object of many megabytes is not to keep its room for ever.
fn kept_buffer(buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() > KEPT_BUFFER_BYTES {
        Vec::new()
    } else {
        buffer
    }
}

/// Takes a buffer, empty, with room.
fn cleared(buffer: &mut Vec<u8>, room: usize) -> Vec<u8> {
    let mut buffer = std::mem::take(buffer);
    buffer.clear();
    buffer.reserve(room);
    buffer
}

/// What was packed here and cannot be unpacked.
pub(crate) fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the packed text is broken")
}
