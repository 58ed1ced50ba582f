//! Our client beside the `kube` crate: what the same requests cost the program that makes them, over TLS, to a server in a process of
//! its own.
//!
//! ```text
//! taskset -c 1 cargo run --release --manifest-path bench/Cargo.toml --bin client -- [--rounds N] [--binary PATH] [--only NAME]
//! ```
//!
//! Each client does each piece of work in a process of its own, which this program starts from itself, so that neither pays for
//! what the other leaves behind. Where `taskset` is installed, the server runs on the first processor alone.

mod clients;
mod usage;
mod work;

#[path = "../load/process.rs"]
#[expect(
    dead_code,
    reason = "shared with the load, which asks for the server's processor time"
)]
mod process;
#[path = "../server/report.rs"]
#[expect(dead_code, reason = "shared with the other benchmarks, which use all of it")]
mod report;
#[path = "../shared/used.rs"]
#[expect(dead_code, reason = "shared with the other benchmarks, which use all of it")]
mod used;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::process::Started;
use crate::report::{Table, median};
use crate::usage::Cost;
use crate::work::Work;

/// The allocator of both clients.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Who makes the requests.
const CLIENTS: [&str; 2] = ["kubewright", "kube"];

/// What the command line asks for.
struct Arguments {
    rounds: usize,
    only: Option<Work>,
    binary: PathBuf,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, client, work, kubeconfig] = words.as_slice()
        && mode == "--as"
    {
        return perform(client, Work::named(work)?, Path::new(kubeconfig));
    }
    let arguments = arguments(words.into_iter())?;
    let started = Started::start(&arguments.binary)?;
    spawn("kubewright", Work::Fill, started.kubeconfig())?;
    let mut table = Table::default();
    for work in Work::MEASURED {
        if arguments.only.is_none_or(|only| only == work) {
            measure(work, arguments.rounds, started.kubeconfig(), &mut table)?;
        }
    }
    print!("{table}");
    Ok(())
}

/// Both clients in turn, so that noise falls on both.
fn measure(work: Work, rounds: usize, kubeconfig: &Path, table: &mut Table) -> Result<()> {
    let mut costs = [const { Vec::new() }; CLIENTS.len()];
    for _ in 0..rounds {
        for (client, costs) in CLIENTS.iter().zip(&mut costs) {
            costs.push(spawn(client, work, kubeconfig)?);
        }
    }
    let [ours, theirs] = costs.map(|costs| Cost {
        cpu: median(&mut costs.iter().map(|cost| cost.cpu).collect::<Vec<_>>()),
        elapsed: median(&mut costs.iter().map(|cost| cost.elapsed).collect::<Vec<_>>()),
        peak: median(&mut costs.iter().map(|cost| cost.peak).collect::<Vec<_>>()),
    });
    for (client, cost) in CLIENTS.iter().zip([&ours, &theirs]) {
        table.row(format!("{client}: {}", work.title()), cost.each(work.requests()));
    }
    table.row(
        format!("kubewright / kube: {}", work.title()),
        format!(
            "CPU {:.2}, memory {:.2}, elapsed {:.2}",
            ours.cpu.as_secs_f64() / theirs.cpu.as_secs_f64(),
            ours.peak as f64 / theirs.peak as f64,
            ours.elapsed.as_secs_f64() / theirs.elapsed.as_secs_f64()
        ),
    );
    Ok(())
}

/// Has a process of its own do the work, and reads what it cost from what it prints.
fn spawn(client: &str, work: Work, kubeconfig: &Path) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--as", client, work.name()])
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{client} could not {}", work.name());
    Cost::parse(std::str::from_utf8(&output.stdout)?)
}

/// Does the work, and prints what it cost.
fn perform(client: &str, work: Work, kubeconfig: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let cost = runtime.block_on(async {
        match client {
            "kubewright" => work::run(&clients::Ours::new(kubeconfig)?, work).await,
            "kube" => work::run(&clients::Kube::new(kubeconfig).await?, work).await,
            other => bail!("there is no client {other}"),
        }
    })?;
    println!("{cost}");
    Ok(())
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments {
        rounds: 5,
        only: None,
        binary: Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/kubewright"),
    };
    while let Some(name) = given.next() {
        let mut value = || given.next().with_context(|| format!("{name} wants a value"));
        match name.as_str() {
            "--rounds" => arguments.rounds = value()?.parse().context("--rounds wants a number")?,
            "--only" => arguments.only = Some(Work::named(&value()?)?),
            "--binary" => arguments.binary = value()?.into(),
            _ => bail!("{name} is not known: --rounds, --only, --binary"),
        }
    }
    ensure!(arguments.rounds > 0, "--rounds wants a number above 0");
    Ok(arguments)
}
