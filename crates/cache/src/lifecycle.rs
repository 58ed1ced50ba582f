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
pub(crate) struct Lifecycle(watch::Sender<Phase>);

impl Default for Lifecycle {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Running))
    }
}

impl Lifecycle {
    /// Asks for a stop; the result waits until it has come about, or was taken back.
    pub(crate) fn stop(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.send_if_modified(|phase| {
            let runs = *phase == Phase::Running;
            if runs {
                *phase = Phase::Stopping;
            }
            runs
        });
        let mut phase = self.0.subscribe();
        async move {
            // An informer that nobody holds any more has stopped as well.
            let _ = phase.wait_for(|phase| *phase != Phase::Stopping).await;
        }
    }

    /// Takes a stop back. Returns whether there was one.
    pub(crate) fn start(&self) -> bool {
        self.0.send_replace(Phase::Running) != Phase::Running
    }

    pub(crate) fn is_running(&self) -> bool {
        *self.0.borrow() == Phase::Running
    }

    /// The informer does nothing any more. One that broke has not been asked to stop.
    pub(crate) fn stopped(&self, why: Stop) {
        self.0.send_if_modified(|phase| {
            let stops = why == Stop::Broke || *phase == Phase::Stopping;
            if stops {
                *phase = Phase::Stopped;
            }
            stops
        });
    }

    /// Waits until the informer is to run, or someone waits for its stop.
    pub(crate) async fn wanted(&self) {
        let mut phase = self.0.subscribe();
        let _ = phase.wait_for(|phase| *phase != Phase::Stopped).await;
    }

    /// Drives a future until the informer is to stop.
    pub(crate) async fn while_wanted<F: Future>(&self, future: F) -> Ended<F::Output> {
        let mut phase = self.0.subscribe();
        let mut stop = pin!(phase.wait_for(|phase| *phase != Phase::Running));
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
