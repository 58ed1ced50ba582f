//! What a process has used, as Linux tells it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

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
            cpu: cpu(),
        }
    }

    /// The work is done. What was put off until afterwards counts as well: the process rests first.
    pub async fn stop(self) -> Result<Cost> {
        let wall = self.began.elapsed();
        tokio::time::sleep(REST).await;
        Ok(Cost {
            cpu: cpu().saturating_sub(self.cpu).as_secs_f64(),
            wall: wall.as_secs_f64(),
            resident: status("VmRSS:")?,
            peak: status("VmHWM:")?,
        })
    }
}

/// How long a process rests before its memory is looked at: allocators and collectors give back late.
pub const REST: Duration = Duration::from_secs(1);

/// The processor time of all threads of this process, those that have ended included.
pub fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Memory that is resident now, in bytes.
pub fn resident() -> Result<u64> {
    status("VmRSS:")
}

/// A line of `/proc/self/status` that is in kibibytes, in bytes.
fn status(name: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line
        .and_then(|line| line.split_whitespace().next())
        .with_context(|| format!("a process has {name}"))?;
    Ok(kibibytes.parse::<u64>()? * 1024)
}
