//! What a piece of work has cost, from one process to another.

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// What work has cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Processor time of all threads.
    pub cpu: Duration,
    /// Time on the clock.
    pub elapsed: Duration,
    /// The most memory that was resident, in bytes.
    pub peak: u64,
}

impl Cost {
    /// Reads what [`Display`](fmt::Display) has written.
    pub fn parse(text: &str) -> Result<Self> {
        let numbers: Vec<u64> = text
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("no cost: {text:?}"))?;
        let [cpu, elapsed, peak] = numbers[..].try_into().context("a cost is three numbers")?;
        Ok(Self {
            cpu: Duration::from_nanos(cpu),
            elapsed: Duration::from_nanos(elapsed),
            peak,
        })
    }

    /// For people, by the request.
    pub fn each(&self, requests: usize) -> String {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / requests as f64;
        format!(
            "CPU {:.0} µs, {:.0} µs elapsed, peak {:.1} MiB",
            each(self.cpu),
            each(self.elapsed),
            self.peak as f64 / f64::from(1 << 20)
        )
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.cpu.as_nanos(),
            self.elapsed.as_nanos(),
            self.peak
        )
    }
}
