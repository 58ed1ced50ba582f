//! Our work queue beside client-go's rate-limiting queue and controller-runtime's priority queue: what it costs to pass a key through.
//!
//! ```text
//! cargo run --release --manifest-path bench/Cargo.toml --bin queue -- [--rounds N] [--only PEER] [--keys N,...] [--workers N,...]
//! ```
//!
//! Each queue is asked in a process of its own, those in Go in a program that is built where Go is present.

#[path = "../shared/go.rs"]
mod go;
#[path = "../shared/median.rs"]
mod median;
mod ours;
#[path = "../shared/peers.rs"]
mod peers;
#[path = "../shared/table.rs"]
mod table;
#[path = "../shared/used.rs"]
#[expect(dead_code, reason = "shared with the other benchmarks, which use all of it")]
mod used;

use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use kubewright_queue::{Metrics, NoMetrics};
use serde::{Deserialize, Serialize};

use crate::median::median;
use crate::peers::{Peer as _, in_turn, prepared};
use crate::table::{Table, Unit, grouped};

/// The allocator of our binaries.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a process does. The program in Go reads the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    /// Which queue.
    queue: String,
    /// Keys that one producer adds, every other one with the priority of a resync where there are priorities.
    keys: usize,
    /// Workers that take them; none asks for [`Done::before`].
    workers: usize,
    /// How often, each time with a new queue.
    times: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Done {
    /// Nanoseconds for each key on the clock, from the first addition until the last key is done; the middle one of all times.
    #[serde(default)]
    wall: f64,
    /// The same in processor time.
    #[serde(default)]
    cpu: f64,
    /// How many keys of a resync came before one that changed while they waited.
    #[serde(default)]
    before: usize,
}

/// Whose queue it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Ours,
    /// The same, with the metrics of `kubewright-runtime`.
    Measured,
    ClientGo,
    ControllerRuntime,
}

impl peers::Peer for Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "kubewright",
            Self::Measured => MEASURED,
            Self::ClientGo => "client-go",
            Self::ControllerRuntime => "controller-runtime",
        }
    }

    fn prepare(self) -> Result<()> {
        match self {
            Self::Ours | Self::Measured => Ok(()),
            Self::ClientGo | Self::ControllerRuntime => go::build(GO_PROGRAM),
        }
    }
}

impl Peer {
    const ALL: [Self; 4] = [
        Self::Ours,
        Self::ClientGo,
        Self::ControllerRuntime,
        Self::Measured,
    ];

    fn named(name: &str) -> Result<Self> {
        let known = |peer: &Self| peer.name() == name || (name == "ours" && *peer == Self::Ours);
        let found = Self::ALL.into_iter().find(known);
        found.with_context(|| {
            format!("there is no queue {name}: ours, measured, client-go, controller-runtime")
        })
    }

    fn perform(self, keys: usize, workers: usize) -> Result<Done> {
        let mut command = match self {
            Self::Ours | Self::Measured => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("--as-peer");
                command
            }
            Self::ClientGo | Self::ControllerRuntime => Command::new(go::binary(GO_PROGRAM)?),
        };
        let task = Task {
            queue: self.name().to_owned(),
            keys,
            workers,
            times: (KEYS_IN_ALL / keys).max(3),
        };
        let output = command
            .arg(serde_json::to_string(&task)?)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{task:?} failed");
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The name of our queue with metrics.
const MEASURED: &str = "measured";

/// The program of `bench/peers`.
const GO_PROGRAM: &str = "queue";

/// Keys that pass in one process, if not more are asked for at once.
const KEYS_IN_ALL: usize = 600_000;

/// Keys of a resync that wait when something changes.
const RESYNCED: usize = 100_000;

struct Arguments {
    rounds: usize,
    only: Option<Peer>,
    keys: Vec<usize>,
    workers: Vec<usize>,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, task] = words.as_slice()
        && mode == "--as-peer"
    {
        let task: Task = serde_json::from_str(task)?;
        let metrics: Arc<dyn Metrics> = match &*task.queue {
            MEASURED => kubewright_runtime::Metrics::new().queue("measured"),
            _ => Arc::new(NoMetrics),
        };
        let done = ours::perform(&task, &metrics)?;
        println!("{}", serde_json::to_string(&done)?);
        return Ok(());
    }
    let arguments = arguments(words.into_iter())?;
    let mut notes = Vec::new();
    let wanted = Peer::ALL.into_iter();
    let wanted = wanted.filter(|peer| arguments.only.is_none_or(|only| only == *peer));
    let peers = prepared(wanted, &mut notes);
    let mut table = Table::new(peers.iter().map(|peer| peer.name().to_owned()));
    for &keys in &arguments.keys {
        for &workers in &arguments.workers {
            let done = in_turn(&peers, arguments.rounds, &mut notes, |peer| {
                peer.perform(keys, workers)
            });
            let what = format!("{} keys, workers: {workers}", grouped(&keys.to_string()));
            for (unit, figure) in [(MICROS, Done::wall as fn(&Done) -> f64), (CPU_MICROS, Done::cpu)] {
                let figures: Vec<Option<f64>> = done.iter().map(|rounds| middle(rounds, figure)).collect();
                table.row(&what, unit, &figures);
            }
        }
    }
    let done = in_turn(&peers, 1, &mut notes, |peer| peer.perform(RESYNCED, 0));
    let figures: Vec<Option<f64>> = done.iter().map(|rounds| middle(rounds, Done::before)).collect();
    let resynced = grouped(&RESYNCED.to_string());
    table.row(
        &format!("before a fresh change while {resynced} resynced keys wait"),
        KEYS,
        &figures,
    );
    for note in notes {
        table.note(note);
    }
    print!("{table}");
    Ok(())
}

impl Done {
    fn wall(&self) -> f64 {
        self.wall
    }

    fn cpu(&self) -> f64 {
        self.cpu
    }

    fn before(&self) -> f64 {
        self.before as f64
    }
}

/// The middle of a figure of all rounds.
fn middle(rounds: &[Done], figure: fn(&Done) -> f64) -> Option<f64> {
    let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
    median(&mut figures, f64::total_cmp)
}

const MICROS: Unit = Unit {
    scale: 1e3,
    digits: 2,
    name: "µs a key",
};
const CPU_MICROS: Unit = Unit {
    scale: 1e3,
    digits: 2,
    name: "CPU µs a key",
};
const KEYS: Unit = Unit {
    scale: 1.0,
    digits: 0,
    name: "keys",
};

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments {
        rounds: 3,
        only: None,
        keys: vec![1_000, 100_000, 300_000],
        workers: vec![1, 2, 10],
    };
    while let Some(name) = given.next() {
        let mut value = || given.next().with_context(|| format!("{name} wants a value"));
        match name.as_str() {
            "--rounds" => arguments.rounds = value()?.parse().context("--rounds wants a number")?,
            "--only" => arguments.only = Some(Peer::named(&value()?)?),
            "--keys" => arguments.keys = numbers(&value()?)?,
            "--workers" => arguments.workers = numbers(&value()?)?,
            _ => bail!("{name} is not known: --rounds, --only, --keys, --workers"),
        }
    }
    ensure!(arguments.rounds > 0, "--rounds wants a number above 0");
    Ok(arguments)
}

fn numbers(text: &str) -> Result<Vec<usize>> {
    let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.with_context(|| format!("{text} is no list of numbers"))?;
    ensure!(
        numbers.iter().all(|number| *number > 0),
        "{text}: all are to be above 0"
    );
    Ok(numbers)
}
