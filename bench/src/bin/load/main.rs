//! What the API server does under load over TLS, as a process of its own: requests of 1, 16 and 64 clients, a large list, and many
//! watchers of what changes. Optionally requests and lists beside the server `bare`, in turn, which shows what is the connection's, and the
//! same against another server, in the same run.
//!
//! ```text
//! taskset -c 1 cargo run --release --manifest-path bench/Cargo.toml --bin load -- \
//!     [--seconds N] [--only create|update|get|list|watch] [--clients N] [--http1] [--binary PATH] [--bare PATH] [--rounds N] \
//!     [--peer NAME KUBECONFIG PID[,PID]]
//! ```
//!
//! Where `taskset` is installed, the server runs on the first processor alone; the load belongs on another one, as shown.

mod fan_out;
mod process;
mod rates;
mod remote;

#[path = "../server/report.rs"]
#[expect(dead_code, reason = "shared with the other benchmark, which uses all of it")]
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::process::Started;
use crate::rates::Work;
use crate::remote::Remote;
use crate::report::Table;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the command line asks for.
struct Arguments {
    seconds: u64,
    /// The one part that is measured.
    only: Option<String>,
    /// The one number of clients that it is measured with.
    clients: Option<usize>,
    /// Requests go over HTTP/1.1, whatever the server would agree to.
    http1: bool,
    binary: PathBuf,
    /// The server that answers everything with the same bytes.
    bare: Option<PathBuf>,
    /// How often each part is measured, for a median.
    rounds: usize,
    peer: Option<Peer>,
}

/// Another server.
struct Peer {
    name: String,
    kubeconfig: PathBuf,
    processes: Vec<u32>,
}

fn main() -> Result<()> {
    let arguments = arguments(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut table = Table::default();
    let own = [
        ("bare", arguments.bare.as_deref()),
        ("kubewright", Some(&*arguments.binary)),
    ];
    let mut started = Vec::new();
    for (name, binary) in own {
        let Some(binary) = binary else { continue };
        let server = Started::start(binary)?;
        let processes = vec![server.id()];
        let remote = Remote::new(name, server.kubeconfig(), processes, arguments.http1)?;
        started.push((server, remote));
    }
    let remotes: Vec<&Remote> = started.iter().map(|(_, remote)| remote).collect();
    runtime.block_on(measure(&remotes, &arguments, &mut table))?;
    drop(started);
    if let Some(peer) = &arguments.peer {
        let remote = Remote::new(
            &peer.name,
            &peer.kubeconfig,
            peer.processes.clone(),
            arguments.http1,
        )?;
        runtime.block_on(measure(&[&remote], &arguments, &mut table))?;
    }
    print!("{table}");
    Ok(())
}

/// The last server is the one that watches are measured of.
async fn measure(remotes: &[&Remote], arguments: &Arguments, table: &mut Table) -> Result<()> {
    let span = Duration::from_secs(arguments.seconds);
    let wanted = |part: &str| arguments.only.as_deref().is_none_or(|only| only == part);
    clear(remotes).await?;
    for clients in [1, 16, 64] {
        if arguments.clients.is_some_and(|only| only != clients) {
            continue;
        }
        for work in Work::ALL {
            if wanted(work.name()) {
                rates::measure(remotes, (work, clients), (span, arguments.rounds), table).await?;
            }
        }
    }
    clear(remotes).await?;
    if wanted("list") {
        rates::list(remotes, arguments.rounds, table).await?;
        clear(remotes).await?;
    }
    if let Some(remote) = remotes.last().filter(|_| wanted("watch")) {
        for per_second in [200, 1_000] {
            fan_out::measure(remote, per_second, span, table).await?;
        }
        remote.clear().await?;
    }
    Ok(())
}

async fn clear(remotes: &[&Remote]) -> Result<()> {
    for remote in remotes {
        remote.clear().await?;
    }
    Ok(())
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments {
        seconds: 5,
        only: None,
        clients: None,
        http1: false,
        binary: Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/kubewright"),
        bare: None,
        rounds: 1,
        peer: None,
    };
    while let Some(name) = given.next() {
        if name == "--http1" {
            arguments.http1 = true;
            continue;
        }
        let mut value = || given.next().with_context(|| format!("{name} wants a value"));
        match name.as_str() {
            "--seconds" => arguments.seconds = value()?.parse().context("--seconds wants a number")?,
            "--only" => arguments.only = Some(value()?),
            "--clients" => arguments.clients = Some(value()?.parse().context("--clients wants 1, 16 or 64")?),
            "--binary" => arguments.binary = value()?.into(),
            "--bare" => arguments.bare = Some(value()?.into()),
            "--rounds" => arguments.rounds = value()?.parse().context("--rounds wants a number")?,
            "--peer" => {
                arguments.peer = Some(Peer {
                    name: value()?,
                    kubeconfig: value()?.into(),
                    processes: value()?
                        .split(',')
                        .map(str::parse)
                        .collect::<Result<_, _>>()
                        .context("--peer wants process numbers")?,
                });
            }
            _ => bail!(
                "{name} is not known: --seconds, --only, --clients, --http1, --binary, --bare, --rounds, --peer"
            ),
        }
    }
    Ok(arguments)
}
