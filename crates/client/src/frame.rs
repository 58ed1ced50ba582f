//! Cutting a stream of bytes into JSON values without decoding them.

use bytes::{Bytes, BytesMut};

use kubewright_core::json::{Nesting, TooDeep};

/// Finds the ends of JSON objects in chunks as they come from the network.
///
/// It only counts brackets and skips strings; whether a frame is valid JSON is found out by whoever reads it. A frame
/// that lies within one chunk is handed out as a slice of that chunk, without a copy.
#[derive(Debug)]
pub(crate) struct Framer {
    /// The beginning of a frame whose end has not come.
    partial: BytesMut,
    /// What of the newest chunk was not looked at.
    chunk: Bytes,
    /// What was passed of the frame; `None` between frames.
    nesting: Option<Nesting>,
    limit: usize,
}

/// One JSON object of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) text: Bytes,
    /// How many of its own members are objects or arrays.
    pub(crate) members: u32,
}

/// Why the stream cannot be cut any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// A frame is longer than the limit.
    TooLarge,
    /// Brackets lie deeper than [`MAX_NESTING`](kubewright_core::json::MAX_NESTING).
    TooDeep,
    /// Something other than an object stands between the frames.
    NotAnObject,
    /// The stream ended within a frame.
    Truncated,
}

impl Framer {
    /// Accepts frames of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            partial: BytesMut::new(),
            chunk: Bytes::new(),
            nesting: None,
            limit,
        }
    }

    /// Takes the next chunk. Call it only after [`next`](Self::next) returned `None`.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the last chunk is used up");
        self.chunk = chunk;
    }

    /// The next whole frame, or `None` if another chunk is needed.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        let mut nesting = match self.nesting.take() {
            Some(nesting) => nesting,
            None => {
                let blank = self
                    .chunk
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count();
                let _ = self.chunk.split_to(blank);
                match self.chunk.first() {
                    None => return Ok(None),
                    Some(b'{') => Nesting::default(),
                    Some(_) => return Err(FrameError::NotAnObject),
                }
            }
        };
        let end = nesting
            .scan(&self.chunk)
            .map_err(|TooDeep { .. }| FrameError::TooDeep)?;
        let Some(end) = end else {
            self.nesting = Some(nesting);
            if self.partial.len() + self.chunk.len() > self.limit {
                return Err(FrameError::TooLarge);
            }
            self.partial.extend_from_slice(&self.chunk);
            self.chunk = Bytes::new();
            return Ok(None);
        };
        let tail = self.chunk.split_to(end);
        if self.partial.len() + tail.len() > self.limit {
            return Err(FrameError::TooLarge);
        }
        let text = if self.partial.is_empty() {
            tail
        } else {
            self.partial.extend_from_slice(&tail);
            self.partial.split().freeze()
        };
        Ok(Some(Frame {
            text,
            members: nesting.members(),
        }))
    }

    /// Call it at the end of the stream.
    pub(crate) fn finish(&self) -> Result<(), FrameError> {
        match self.nesting {
            None => Ok(()),
            Some(_) => Err(FrameError::Truncated),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(chunks: &[&[u8]], limit: usize) -> Result<Vec<String>, FrameError> {
        let mut framer = Framer::new(limit);
        let mut frames = Vec::new();
        for chunk in chunks {
            framer.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = framer.next()? {
                frames.push(String::from_utf8(frame.text.to_vec()).unwrap());
            }
        }
        framer.finish().map(|()| frames)
    }

    #[test]
    fn cuts_at_the_closing_bracket() {
        type Row = (
            &'static [&'static str],
            Result<&'static [&'static str], FrameError>,
        );
        let rows: [Row; 12] = [
            (&[], Ok(&[])),
            (&["{}"], Ok(&["{}"])),
            (&["{}\n{}\n"], Ok(&["{}", "{}"])),
            (&["{}{}"], Ok(&["{}", "{}"])),
            (
                &["{", "}", "\n\n", " {\"a\":[{}]", "}"],
                Ok(&["{}", "{\"a\":[{}]}"]),
            ),
            (
                &["{\n  \"a\": \"}\\\"{\"\n}\n"],
                Ok(&["{\n  \"a\": \"}\\\"{\"\n}"]),
            ),
            (&["{\"a\":\"\\", "\"}\"}"], Ok(&["{\"a\":\"\\\"}\"}"])),
            (&["{\"a\":\"\\\\\"}"], Ok(&["{\"a\":\"\\\\\"}"])),
            (&["{\"a\":"], Err(FrameError::Truncated)),
            (&["nonsense"], Err(FrameError::NotAnObject)),
            (&["{}]"], Err(FrameError::NotAnObject)),
            (
                &["{\"a\":\"0123456789012345678901234567890123456789\"}"],
                Err(FrameError::TooLarge),
            ),
        ];
        for (chunks, expect) in rows {
            let bytes: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
            let expect = expect.map(|frames| frames.iter().map(|frame| (*frame).to_owned()).collect());
            assert_eq!(frames(&bytes, 40), expect, "{chunks:?}");
        }
    }

    #[test]
    fn depth_has_a_limit() {
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        assert_eq!(frames(&[deep.as_bytes()], 1 << 20), Err(FrameError::TooDeep));
    }

    #[test]
    fn the_limit_holds_across_chunks() {
        assert_eq!(
            frames(&[b"{\"a\":1,", b"\"b\":2}"], 13),
            Ok(vec!["{\"a\":1,\"b\":2}".to_owned()])
        );
        assert_eq!(
            frames(&[b"{\"a\":1,", b"\"b\":2}"], 12),
            Err(FrameError::TooLarge)
        );
        assert_eq!(
            frames(&[b"{\"a\":\"", b"0123456789", b"0123456789"], 20),
            Err(FrameError::TooLarge)
        );
    }

    proptest! {
        #[test]
        fn the_cuts_do_not_depend_on_the_chunks(
            texts in proptest::collection::vec(".{0,20}", 0..6),
            size in 1_usize..40,
        ) {
            let values: Vec<String> = texts
                .iter()
                .map(|text| serde_json::json!({ "type": "ADDED", "object": { "t": text, "n": [[]] } }).to_string())
                .collect();
            let stream = values.join("\n");
            let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            prop_assert_eq!(frames(&chunks, 1 << 20), Ok(values));
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut framer = Framer::new(100);
            framer.push(bytes.into());
            while let Ok(Some(_)) = framer.next() {}
            let _ = framer.finish();
        }
    }
}
