//! A request to stop that many can wait for.

use tokio::sync::watch;

/// Tells those who work that they should stop. Clones share the request; it cannot be taken back.
#[derive(Clone, Debug)]
pub struct Stop {
    state: watch::Sender<bool>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            state: watch::Sender::new(false),
        }
    }
}

impl Stop {
    /// A request that nobody has made yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the request. Making it again changes nothing.
    pub fn request(&self) {
        self.state.send_replace(true);
    }

    /// Whether it was made.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.state.borrow()
    }

    /// Waits until it is made.
    pub async fn requested(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as this value.
        let _ = state.wait_for(|requested| *requested).await;
    }
}
