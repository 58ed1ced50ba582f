//! The task of a connection: a [`Driver`] carries bytes between a websocket and pipes, as a [`Machine`] says.
//!
//! Writing never waits for reading, nor reading for writing: a process that writes while it reads would stop otherwise. Only what nobody
//! takes out of an output stops reading.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use kubewright_net::websocket::{ClientSocket, Received, Sent};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep};

use super::channels::TerminalSize;
use super::machine::{End, Failure, Input, Machine, NORMAL, Step};
use super::pipe::{PipeReader, PipeWriter};

/// How often the server is pinged: 5 s, as client-go does. Proxies on the way close what is idle.
pub const PING_INTERVAL: Duration = Duration::from_secs(5);
/// How long a server may give no sign of life before the connection counts as lost: 61 s, as client-go has it, since a server that waits for
/// a process to take its input answers no pings.
pub const MAX_SILENCE: Duration = Duration::from_secs(61);
/// How long a server may take to close a connection on which all is done: 2 s.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of a message of the server: 4 MiB. Upstream's servers send at most 32 KiB at once.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Bytes of input in one message: 16 KiB.
const MAX_INPUT_BYTES: usize = 16 << 10;
/// Sizes of a terminal that wait to be sent: 4.
const MAX_SIZES: usize = 4;
/// Bytes of a stream that wait for their reader: 64 KiB, as a pipe of Linux.
pub const MAX_PIPE_BYTES: usize = 64 << 10;

/// The driver's ends of what its connection carries.
pub(super) struct Ends<const N: usize> {
    pub(super) input: Option<PipeReader>,
    pub(super) outputs: [Option<PipeWriter>; N],
    pub(super) sizes: Option<mpsc::Receiver<TerminalSize>>,
}

/// A channel for sizes of a terminal.
pub(super) fn sizes() -> (mpsc::Sender<TerminalSize>, mpsc::Receiver<TerminalSize>) {
    mpsc::channel(MAX_SIZES)
}

/// Ends the task of a connection, and so the connection, when it is dropped.
#[derive(Debug)]
pub(super) struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What has become of a connection, once that is known.
pub(super) type Outcome<M> = oneshot::Receiver<Result<<M as Machine>::Outcome, Failure>>;

/// Runs a connection in a task.
pub(super) fn run<M, const N: usize>(socket: ClientSocket, machine: M, ends: Ends<N>) -> (Running, Outcome<M>)
where
    M: Machine + Send + Unpin + 'static,
    M::Outcome: Send,
{
    let (sender, outcome) = oneshot::channel();
    let now = Instant::now();
    let mut pings = tokio::time::interval_at(now + PING_INTERVAL, PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let driver = Driver {
        socket,
        machine,
        ends,
        held: None,
        outcome: Some(sender),
        is_writable: true,
        pings,
        patience: Box::pin(tokio::time::sleep_until(now + MAX_SILENCE)),
    };
    (Running(tokio::spawn(driver).abort_handle()), outcome)
}

struct Driver<M: Machine, const N: usize> {
    socket: ClientSocket,
    machine: M,
    ends: Ends<N>,
    /// What its output has no room for. Nothing is read of the connection until then.
    held: Option<(usize, Bytes)>,
    /// `None` once it is known.
    outcome: Option<oneshot::Sender<Result<M::Outcome, Failure>>>,
    /// False once a write failed. There may still be something to read, such as why.
    is_writable: bool,
    pings: Interval,
    patience: Pin<Box<Sleep>>,
}

impl<M: Machine + Unpin, const N: usize> Future for Driver<M, N> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.write(cx);
        let end = match this.read(cx) {
            Some(end) => end,
            // What was read may have to be answered.
            None => {
                this.write(cx);
                let is_over = this.held.is_none() && this.patience.as_mut().poll(cx).is_ready();
                if !is_over {
                    return Poll::Pending;
                }
                this.say_goodbye(cx);
                Ok(End::Silent(MAX_SILENCE))
            }
        };
        this.end(end);
        Poll::Ready(())
    }
}

impl<M: Machine, const N: usize> Driver<M, N> {
    /// Writes what there is to write, as far as the connection takes it.
    fn write(&mut self, cx: &mut Context<'_>) {
        while self.is_writable {
            match self.socket.poll_ready(cx) {
                Poll::Pending => return,
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => {
                    self.stop_writing();
                    return;
                }
            }
            let Some(what) = self.next_sent(cx) else {
                break;
            };
            if self.socket.send(what).is_err() {
                self.stop_writing();
            }
        }
        if self.is_writable && matches!(self.socket.poll_flush(cx), Poll::Ready(Err(_))) {
            self.stop_writing();
        }
    }

    fn stop_writing(&mut self) {
        self.is_writable = false;
        self.ends.input = None;
        self.ends.sizes = None;
    }

    fn next_sent(&mut self, cx: &mut Context<'_>) -> Option<Sent> {
        if self.pings.poll_tick(cx).is_ready() {
            return Some(Sent::Ping);
        }
        while let Some(sizes) = &mut self.ends.sizes {
            match sizes.poll_recv(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => self.ends.sizes = None,
                Poll::Ready(Some(size)) => {
                    if let Some(message) = self.machine.send(Input::Resize(size)) {
                        return Some(Sent::Binary(message));
                    }
                }
            }
        }
        let input = match self.ends.input.as_mut()?.poll_chunk(cx, MAX_INPUT_BYTES) {
            Poll::Pending => return None,
            Poll::Ready(Some(Ok(bytes))) => Input::Bytes(bytes),
            // A writer that was dropped has no more input either.
            Poll::Ready(None | Some(Err(_))) => {
                self.ends.input = None;
                Input::End
            }
        };
        self.machine.send(input).map(Sent::Binary)
    }

    /// Reads what there is to read, as far as there is room for it; says how the connection ended, if it did.
    fn read(&mut self, cx: &mut Context<'_>) -> Option<Result<End, Failure>> {
        loop {
            if let Some((which, chunk)) = &mut self.held {
                if let Some(Some(output)) = self.ends.outputs.get_mut(*which)
                    && output.poll_push(cx, chunk).is_pending()
                {
                    return None;
                }
                self.held = None;
                // Time that was spent waiting for a reader is not the server's.
                self.renew();
            }
            let received = match self.socket.poll_receive(cx) {
                Poll::Pending => return None,
                Poll::Ready(None) => return Some(Ok(End::Cut)),
                Poll::Ready(Some(Err(error))) => return Some(Ok(End::Broken(error))),
                Poll::Ready(Some(Ok(received))) => received,
            };
            if self.outcome.is_some() {
                self.renew();
            }
            match received {
                Received::Binary(message) => match self.machine.receive(message) {
                    Ok(step) => self.step(step),
                    Err(failure) => return Some(Err(failure)),
                },
                Received::Text(_) => {
                    let why = "the server sends text instead of bytes".to_owned();
                    return Some(Err(Failure::Unexpected { why }));
                }
                Received::Sign => {}
                Received::Close { code, reason } => {
                    self.write(cx);
                    return Some(Ok(End::Closed { code, reason }));
                }
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Output(which, chunk) => self.held = Some((which, chunk)),
            Step::OutputEnd(which) => {
                if let Some(output) = self.ends.outputs.get_mut(which).and_then(Option::take) {
                    output.finish();
                }
            }
            Step::Done => {
                self.tell(End::Closed {
                    code: NORMAL,
                    reason: String::new(),
                });
                self.ends.input = None;
                self.renew();
            }
        }
    }

    /// From now on the server has time again.
    fn renew(&mut self) {
        let patience = match self.outcome {
            Some(_) => MAX_SILENCE,
            None => CLOSE_TIMEOUT,
        };
        self.patience.as_mut().reset(Instant::now() + patience);
    }

    /// Tells the outcome to who waits for it; says what readers of the outputs are to know of it.
    fn tell(&mut self, end: End) -> Option<(std::io::ErrorKind, String)> {
        let sender = self.outcome.take()?;
        let outcome = self.machine.outcome(end);
        let failure = outcome.as_ref().err().map(Failure::text);
        // Nobody may wait.
        let _ = sender.send(outcome);
        failure
    }

    fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        if self.is_writable && self.socket.send(Sent::Close).is_ok() {
            let _ = self.socket.poll_flush(cx);
        }
    }

    fn end(&mut self, end: Result<End, Failure>) {
        let failure = match end {
            Ok(end) => self.tell(end),
            Err(failure) => {
                let text = failure.text();
                // Once the outcome is known, nothing that follows it counts.
                let sender = self.outcome.take();
                sender.map(|sender| {
                    let _ = sender.send(Err(failure));
                    text
                })
            }
        };
        for output in self.ends.outputs.iter_mut().filter_map(Option::take) {
            match &failure {
                None => output.finish(),
                Some((kind, text)) => output.fail(*kind, text),
            }
        }
    }
}
