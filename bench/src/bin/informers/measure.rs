//! What a piece of work has cost.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::used::{self, PEAK, RESIDENT};

/// What a piece of work has cost the process that did it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time of all threads, in seconds, until the process has rested.
    pub cpu: f64,
    /// Time on the clock until the work was done, in seconds.
    pub wall: f64,
    /// Memory that was resident after the rest, in bytes.
    pub resident: u64,
    /// The most memory that was resident at once meanwhile, in bytes.
    pub peak: u64,
}

/// Measures one piece of work.
#[derive(Debug)]
pub struct Meter {
    began: Instant,
    cpu: Duration,
}

impl Meter {
    /// Begins.
    pub fn start() -> Self {
        // Where the kernel does not let the peak begin anew, that of earlier work counts, too.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self {
            began: Instant::now(),
            cpu: used::cpu(),
        }
    }

    /// The work is done. What was put off until afterwards counts as well: the process rests first.
    pub async fn stop(self) -> Result<Cost> {
        let wall = self.began.elapsed();
        tokio::time::sleep(REST).await;
        Ok(Cost {
            cpu: used::cpu().saturating_sub(self.cpu).as_secs_f64(),
            wall: wall.as_secs_f64(),
            resident: used::memory(std::process::id(), RESIDENT)?,
            peak: used::memory(std::process::id(), PEAK)?,
        })
    }
}

/// How long a process rests before its memory is looked at: allocators and collectors give back late.
pub const REST: Duration = Duration::from_secs(1);
