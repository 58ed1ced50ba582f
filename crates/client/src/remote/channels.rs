//! What the messages of `exec` and `attach` mean, without a connection: [`Channels`].
//!
//! A message begins with the number of its channel (k8s.io/streaming pkg/httpstream/wsstream, k8s.io/cri-streaming
//! pkg/streaming/remotecommand/websocket.go). Version 5 (KEP-4006) is version 4 with a message that closes a channel. How a process
//! ended comes over the channel for errors, as a `Status` whose cause `ExitCode` holds the code.

use bytes::{BufMut as _, Bytes, BytesMut};
use kubewright_core::Status;
use serde::Serialize;

use super::machine::{End, Failure, Input, Machine, Step};

/// The sub-protocols for `exec` and `attach`, the best first. Servers before 1.29 know the second one only.
pub(super) const PROTOCOLS: &[&str] = &[V5, V4];
const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// Closes the channel that the next byte names.
const CLOSE: u8 = 255;

/// Bytes of the status of a process: 64 KiB.
pub(super) const MAX_STATUS_BYTES: usize = 64 << 10;
/// Messages that a status may come in and still be understood before the connection ends. Servers send it as one.
const MAX_STATUS_PARTS: usize = 16;

/// Whether the end of the input of a process can be told to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamProtocol {
    /// `v4.channel.k8s.io`: it cannot. A process that reads to the end of its input ends only with the connection.
    V4,
    /// `v5.channel.k8s.io`: it can.
    V5,
}

impl StreamProtocol {
    pub(super) fn named(name: &str) -> Self {
        match name {
            V5 => Self::V5,
            _ => Self::V4,
        }
    }
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TerminalSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// The state of a connection of `exec` or `attach`.
#[derive(Debug)]
pub(super) struct Channels {
    protocol: StreamProtocol,
    /// What has come of the status, until it is whole.
    text: BytesMut,
    parts: usize,
    status: Option<Status>,
}

impl Channels {
    pub(super) fn new(protocol: StreamProtocol) -> Self {
        Self {
            protocol,
            text: BytesMut::new(),
            parts: 0,
            status: None,
        }
    }

    /// The first whole status counts; what follows it means nothing.
    fn status(&mut self, part: &[u8]) -> Result<Step, Failure> {
        if self.status.is_some() || part.is_empty() {
            return Ok(Step::Nothing);
        }
        if self.text.len() + part.len() > MAX_STATUS_BYTES {
            return Err(Failure::TooLarge {
                limit: MAX_STATUS_BYTES,
            });
        }
        self.text.extend_from_slice(part);
        self.parts += 1;
        if self.parts > MAX_STATUS_PARTS {
            return Ok(Step::Nothing);
        }
        self.status = serde_json::from_slice(&self.text).ok();
        Ok(if self.status.is_some() {
            Step::Done
        } else {
            Step::Nothing
        })
    }
}

impl Machine for Channels {
    /// What ended it.
    type Outcome = Status;

    fn receive(&mut self, mut message: Bytes) -> Result<Step, Failure> {
        if message.is_empty() {
            return Ok(Step::Nothing);
        }
        let channel = message.split_to(1)[0];
        match (channel, self.protocol) {
            (STDOUT, _) => Ok(Step::Output(0, message)),
            (STDERR, _) => Ok(Step::Output(1, message)),
            (ERROR, _) => self.status(&message),
            (CLOSE, StreamProtocol::V5) => Ok(match message.as_ref() {
                [STDOUT] => Step::OutputEnd(0),
                [STDERR] => Step::OutputEnd(1),
                _ => Step::Nothing,
            }),
            // As client-go: what belongs nowhere is dropped.
            _ => Ok(Step::Nothing),
        }
    }

    fn send(&mut self, input: Input) -> Option<Bytes> {
        let mut message = BytesMut::new();
        match input {
            Input::Bytes(bytes) => {
                message.reserve(bytes.len() + 1);
                message.put_u8(STDIN);
                message.extend_from_slice(&bytes);
            }
            Input::End => match self.protocol {
                StreamProtocol::V4 => return None,
                StreamProtocol::V5 => message.extend_from_slice(&[CLOSE, STDIN]),
            },
            Input::Resize(size) => {
                message.put_u8(RESIZE);
                // Two numbers have a JSON form.
                message.extend_from_slice(&serde_json::to_vec(&size).unwrap_or_default());
            }
        }
        Some(message.freeze())
    }

    fn outcome(&mut self, end: End) -> Result<Status, Failure> {
        if let Some(status) = self.status.take() {
            return Ok(status);
        }
        if self.text.is_empty() {
            return Err(end.into_failure("the connection ended before the process did"));
        }
        serde_json::from_slice(&self.text).map_err(|_| Failure::NoStatus {
            text: String::from_utf8_lossy(&self.text).into_owned(),
        })
    }
}

/// The exit code that a status tells of: that of success, or the one in its cause; `None` for other failures.
pub(super) fn exit_code(status: &Status) -> Option<i32> {
    if !status.is_failure() {
        return Some(0);
    }
    if status.reason.as_str() != "NonZeroExitCode" {
        return None;
    }
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    let code = causes.iter().find(|cause| cause.reason == "ExitCode");
    code.and_then(|cause| cause.message.parse().ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;
    const EXIT_7: &str = r#"{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: 7","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#;
    const INTERNAL: &str = r#"{"metadata":{},"status":"Failure","message":"Internal error occurred: no such container","reason":"InternalError","details":{"causes":[{"message":"no such container"}]},"code":500}"#;

    fn message(channel: u8, content: &[u8]) -> Bytes {
        [&[channel], content].concat().into()
    }

    #[test]
    fn what_messages_mean() {
        let output = |which, bytes: &'static [u8]| Step::Output(which, Bytes::from_static(bytes));
        for (protocol, bytes, expect) in [
            (StreamProtocol::V5, &b""[..], Step::Nothing),
            (StreamProtocol::V5, b"\x01", output(0, b"")),
            (StreamProtocol::V5, b"\x01out", output(0, b"out")),
            (StreamProtocol::V4, b"\x02\xff\x00", output(1, b"\xff\x00")),
            // Nothing comes over these.
            (StreamProtocol::V5, b"\x00in", Step::Nothing),
            (StreamProtocol::V5, b"\x04{}", Step::Nothing),
            (StreamProtocol::V5, b"\x2a garbage", Step::Nothing),
            // Channels are closed by version 5 only.
            (StreamProtocol::V5, b"\xff\x01", Step::OutputEnd(0)),
            (StreamProtocol::V5, b"\xff\x02", Step::OutputEnd(1)),
            (StreamProtocol::V5, b"\xff\x09", Step::Nothing),
            (StreamProtocol::V5, b"\xff", Step::Nothing),
            (StreamProtocol::V4, b"\xff\x01", Step::Nothing),
            (StreamProtocol::V4, b"\x03", Step::Nothing),
            (StreamProtocol::V4, b"\x03{\"status\":", Step::Nothing),
            (StreamProtocol::V4, b"\x03{\"status\":\"Success\"}", Step::Done),
        ] {
            let step = Channels::new(protocol)
                .receive(Bytes::from_static(bytes))
                .unwrap();
            assert_eq!(step, expect, "{protocol:?} {bytes:?}");
        }
    }

    #[test]
    fn what_is_sent() {
        let size = TerminalSize {
            width: 80,
            height: 24,
        };
        for (protocol, input, expect) in [
            (
                StreamProtocol::V5,
                Input::Bytes(Bytes::from_static(b"ab")),
                Some(&b"\x00ab"[..]),
            ),
            (StreamProtocol::V5, Input::End, Some(b"\xff\x00")),
            (StreamProtocol::V4, Input::End, None),
            (
                StreamProtocol::V4,
                Input::Resize(size),
                Some(b"\x04{\"Width\":80,\"Height\":24}"),
            ),
        ] {
            let sent = Channels::new(protocol).send(input.clone());
            assert_eq!(sent.as_deref(), expect, "{input:?}");
        }
    }

    #[test]
    fn how_processes_end() {
        let row = |parts: &[&str]| {
            let mut channels = Channels::new(StreamProtocol::V5);
            for part in parts {
                channels.receive(message(ERROR, part.as_bytes()))?;
            }
            channels.outcome(End::Cut).map(|status| exit_code(&status))
        };
        for (parts, expect) in [
            (&[SUCCESS][..], Some(0)),
            (&[EXIT_7], Some(7)),
            (&["", EXIT_7], Some(7)),
            (&[&EXIT_7[..10], &EXIT_7[10..]], Some(7)),
            // The first one counts.
            (&[EXIT_7, SUCCESS], Some(7)),
            (&[INTERNAL], None),
            (
                &[
                    r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}"#,
                ],
                None,
            ),
            (&[r#"{"status":"Failure","reason":"NonZeroExitCode"}"#], None),
        ] {
            assert_eq!(row(parts).unwrap(), expect, "{parts:?}");
        }
        assert!(matches!(row(&[]), Err(Failure::Ended { .. })));
        assert!(matches!(row(&["not json"]), Err(Failure::NoStatus { text }) if text == "not json"));
        let long = "x".repeat(MAX_STATUS_BYTES + 1);
        assert!(matches!(row(&[&long]), Err(Failure::TooLarge { .. })));
    }

    proptest! {
        /// However a status is cut into messages, and whatever comes between them, it is understood; and no bytes are lost or moved
        /// between outputs.
        #[test]
        fn messages_of_any_kind(
            messages in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..20)), 0..40),
            cut in 0..EXIT_7.len(),
        ) {
            let mut channels = Channels::new(StreamProtocol::V5);
            let mut outputs = [Vec::new(), Vec::new()];
            let (first, second) = EXIT_7.as_bytes().split_at(cut);
            channels.receive(message(ERROR, first)).unwrap();
            for (channel, content) in &messages {
                if *channel == ERROR {
                    continue;
                }
                if let Step::Output(which, bytes) = channels.receive(message(*channel, content)).unwrap() {
                    outputs[which].extend_from_slice(&bytes);
                }
            }
            channels.receive(message(ERROR, second)).unwrap();
            for (which, channel) in [STDOUT, STDERR].into_iter().enumerate() {
                let of = messages.iter().filter(|(found, _)| *found == channel);
                let sent: Vec<u8> = of.flat_map(|(_, content)| content.clone()).collect();
                prop_assert_eq!(&outputs[which], &sent);
            }
            let status = channels.outcome(End::Cut).unwrap();
            prop_assert_eq!(exit_code(&status), Some(7));
        }
    }
}
