//! `kubewright up` as a process, and what processes cost.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Started {
    child: Child,
    kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
}

impl Started {
    /// Starts it on the first processor, without controllers, and waits until it is ready.
    pub fn start(binary: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("config");
        let pinned = Command::new("taskset").arg("-V").output().is_ok();
        let mut command = if pinned {
            let mut command = Command::new("taskset");
            command.args(["-c", "0"]).arg(binary);
            command
        } else {
            Command::new(binary)
        };
        let mut child = command
            .args(["up", "--no-controllers", "--kubeconfig"])
            .arg(&kubeconfig)
            .env("RUST_LOG", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("its output is piped")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        let started = Self {
            child,
            kubeconfig,
            _folder: folder,
        };
        read?;
        ensure!(line.starts_with("ready "), "not ready: {line:?}");
        Ok(started)
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processor time that processes have had so far, as Linux tells it.
pub fn cpu(processes: &[u32]) -> Result<Duration> {
    let mut ticks = 0;
    for process in processes {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))
            .with_context(|| format!("process {process} is not there"))?;
        // The name, in parentheses, may hold blanks; user and system time are the 12th and 13th field after it.
        let (_, fields) = stat.rsplit_once(')').context("a process has a name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        for field in [11, 12] {
            ticks += fields.get(field).context("a process has times")?.parse::<u64>()?;
        }
    }
    Ok(Duration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND))
}

/// `USER_HZ` of Linux, the same everywhere.
const TICKS_PER_SECOND: f64 = 100.0;
