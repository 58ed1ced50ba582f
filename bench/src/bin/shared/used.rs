//! What a process has used, as Linux tells it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

/// The processor time of all threads of this process, those that have ended included.
pub fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A line of `/proc/PROCESS/status` that is in kibibytes, such as [`RESIDENT`], in bytes.
pub fn memory(process: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line
        .and_then(|line| line.split_whitespace().next())
        .with_context(|| format!("a process has {name}"))?;
    Ok(kibibytes.parse::<u64>()? * 1024)
}

/// Memory that is resident now.
pub const RESIDENT: &str = "VmRSS:";

/// The most memory that was resident at once.
pub const PEAK: &str = "VmHWM:";
