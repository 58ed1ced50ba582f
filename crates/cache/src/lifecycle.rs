//! Stopping an informer and starting it again.
//!
//! (A stopped informer of client-go's `tools/cache/shared_informer.go` never runs again, and takes no handlers. Here a
//! stop is a pause: the store and the handlers stay, and the watch goes on where it was left.)

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use tokio::sync::watch;

/// Whether an informer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to stop.
    Stopping,
    Stopped,
}

/// What an informer's holders want of it, and what it does.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    state: watch::Sender<State>,
    /// Who has to rest before the informer has stopped: a driver for each range.
    drivers: usize,
}

#[derive(Debug, Clone, Copy)]
struct State {
    phase: Phase,
    /// Counts stops.
    stop: Rested,
    /// Drivers that rest since that stop was asked for.
    resting: usize,
}

/// The last stop after which a driver rests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rested(u64);

impl Lifecycle {
    pub(crate) fn new(drivers: usize) -> Self {
        let state = State {
            phase: Phase::Running,
            stop: Rested::default(),
            resting: 0,
        };
        Self {
            state: watch::Sender::new(state),
            drivers,
        }
    }

    /// Asks for a stop; the result waits until it has come about, or was taken back.
    pub(crate) fn stop(&self) -> impl Future<Output = ()> + Send + use<> {
        self.state.send_if_modified(|state| {
            let runs = state.phase == Phase::Running;
            if runs {
                *state = State {
                    phase: Phase::Stopping,
                    stop: Rested(state.stop.0 + 1),
                    resting: 0,
                };
            }
            runs
        });
        let mut state = self.state.subscribe();
        async move {
            // An informer that nobody holds any more has stopped as well.
            let _ = state.wait_for(|state| state.phase != Phase::Stopping).await;
        }
    }

    /// Takes a stop back. Returns whether there was one.
    pub(crate) fn start(&self) -> bool {
        self.state.send_if_modified(|state| {
            let rests = state.phase != Phase::Running;
            state.phase = Phase::Running;
            rests
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state.borrow().phase == Phase::Running
    }

    /// A driver does nothing any more. One that broke has not been asked to stop, and stops the others.
    pub(crate) fn stopped(&self, why: Stop) -> Rested {
        let mut stop = Rested::default();
        self.state.send_if_modified(|state| {
            stop = state.stop;
            state.resting += usize::from(state.phase == Phase::Stopping);
            let stops =
                why == Stop::Broke || (state.phase == Phase::Stopping && state.resting >= self.drivers);
            if stops {
                state.phase = Phase::Stopped;
            }
            stops
        });
        stop
    }

    /// Waits until a driver is to run, or someone waits for its stop.
    pub(crate) async fn wanted(&self, rested: Rested) {
        let mut state = self.state.subscribe();
        let is_wanted = |state: &State| match state.phase {
            Phase::Running => true,
            Phase::Stopping => state.stop != rested,
            Phase::Stopped => false,
        };
        let _ = state.wait_for(is_wanted).await;
    }

    /// Drives a future until the informer is to stop.
    pub(crate) async fn while_wanted<F: Future>(&self, future: F) -> Ended<F::Output> {
        let mut state = self.state.subscribe();
        let mut stop = pin!(state.wait_for(|state| state.phase != Phase::Running));
        let mut future = pin!(future);
        poll_fn(|cx| {
            if stop.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ended::Stopped);
            }
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                Ok(polled) => polled.map(Ended::Finished),
                Err(panic) => Poll::Ready(Ended::Panicked(message(&*panic))),
            }
        })
        .await
    }
}

/// Why an informer stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was asked to.
    Asked,
    /// Something in it panicked.
    Broke,
}

/// How a future ended.
#[derive(Debug)]
pub(crate) enum Ended<T> {
    Finished(T),
    /// A stop was asked for, and the future dropped.
    Stopped,
    /// With this message.
    Panicked(String),
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it panicked").to_owned()
}
