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
    /// To stop: it was asked to, or a part of it broke.
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

impl State {
    /// A stop, for which no driver rests yet.
    fn next_stop(self) -> Self {
        Self {
            phase: Phase::Stopping,
            stop: Rested(self.stop.0 + 1),
            resting: 0,
        }
    }
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
                *state = state.next_stop();
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

    /// A driver does nothing any more. One that broke while nobody asked for a stop has the others stop as well; the
    /// informer has stopped when all of them rest.
    pub(crate) fn stopped(&self, why: Stop) -> Rested {
        let mut stop = Rested::default();
        self.state.send_if_modified(|state| {
            let before = state.phase;
            if why == Stop::Broke && state.phase == Phase::Running {
                *state = state.next_stop();
            }
            if state.phase == Phase::Stopping {
                state.resting += 1;
                if state.resting >= self.drivers {
                    state.phase = Phase::Stopped;
                }
            }
            stop = state.stop;
            state.phase != before
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One step of a sequence, by a driver where it has a number.
    enum Step {
        Ask,
        Start,
        Rests(usize),
        Breaks(usize),
    }
    use Step::*;

    #[test]
    fn stopped_when_all_drivers_rest() {
        use Phase::*;
        let rows: &[(usize, &[(Step, Phase)])] = &[
            (1, &[(Ask, Stopping), (Rests(0), Stopped), (Start, Running)]),
            (1, &[(Breaks(0), Stopped), (Ask, Stopped), (Start, Running)]),
            (1, &[(Ask, Stopping), (Breaks(0), Stopped)]),
            (2, &[(Ask, Stopping), (Rests(0), Stopping), (Rests(1), Stopped)]),
            // The others have requests under way, and nobody who waits for the stop is to believe otherwise.
            (2, &[(Breaks(0), Stopping), (Ask, Stopping), (Rests(1), Stopped)]),
            (2, &[(Breaks(0), Stopping), (Breaks(1), Stopped)]),
            (2, &[(Ask, Stopping), (Breaks(0), Stopping), (Rests(1), Stopped)]),
            (2, &[(Ask, Stopping), (Rests(0), Stopping), (Breaks(1), Stopped)]),
            // Who rested for a stop that was taken back rests anew for the next.
            (
                2,
                &[
                    (Breaks(0), Stopping),
                    (Start, Running),
                    (Breaks(1), Stopping),
                    (Rests(0), Stopped),
                    (Start, Running),
                    (Rests(0), Running),
                    (Ask, Stopping),
                    (Rests(1), Stopping),
                    (Rests(0), Stopped),
                ],
            ),
        ];
        for (row, (drivers, steps)) in rows.iter().enumerate() {
            let lifecycle = Lifecycle::new(*drivers);
            let mut rested = vec![Rested::default(); *drivers];
            for (line, (step, expect)) in steps.iter().enumerate() {
                match *step {
                    Ask => drop(lifecycle.stop()),
                    Start => drop(lifecycle.start()),
                    Rests(driver) => rested[driver] = lifecycle.stopped(Stop::Asked),
                    Breaks(driver) => rested[driver] = lifecycle.stopped(Stop::Broke),
                }
                let state = *lifecycle.state.borrow();
                assert_eq!(state.phase, *expect, "row {row}, line {line}");
                // Who has not rested for a stop is woken for it, and nobody else.
                if state.phase != Running {
                    let resting = rested.iter().filter(|rested| **rested == state.stop).count();
                    assert_eq!(resting, state.resting, "row {row}, line {line}");
                }
            }
        }
    }
}
