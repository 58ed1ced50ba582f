//! Our informer beside `kube`'s reflector and client-go's shared informer: what it costs to keep 50 000 pods at hand.
//!
//! ```text
//! cargo run --release --manifest-path bench/Cargo.toml --bin informers -- [--objects N] [--rounds N] [--only PEER] [--rows NAME,...] [--streaming]
//! ```
//!
//! Each peer does each piece of work in a process of its own, one after the other, against a feed that is a process of its own as well.

mod feed;
mod gate;
#[path = "../shared/go.rs"]
mod go;
mod measure;
#[path = "../shared/median.rs"]
mod median;
mod ours;
mod outcome;
mod peers;
mod rows;
#[path = "../shared/peers.rs"]
mod shared;
#[path = "../shared/table.rs"]
mod table;
mod task;
mod theirs;
#[path = "../shared/used.rs"]
mod used;
mod work;

use anyhow::{Context as _, Result, bail, ensure};

use crate::feed::Streaming;
use crate::peers::{Feed, Peer};
use crate::rows::Row;
use crate::task::Task;

/// The allocator of ours and of `kube` alike.
#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the command line asks for.
struct Arguments {
    objects: usize,
    rounds: usize,
    only: Option<Peer>,
    rows: Vec<Row>,
    streaming: Streaming,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--feed", objects] => return block_on(feed::run(objects.parse()?, Streaming::Refused)),
        ["--feed", objects, "--streaming"] => {
            return block_on(feed::run(objects.parse()?, Streaming::Offered));
        }
        ["--as", peer, task] => return perform(Peer::named(peer)?, &serde_json::from_str(task)?),
        _ => {}
    }
    let arguments = arguments(words.into_iter())?;
    let feed = Feed::start(arguments.objects, arguments.streaming)?;
    let mut notes = Vec::new();
    let wanted = Peer::ALL.into_iter();
    let wanted = wanted.filter(|peer| arguments.only.is_none_or(|only| only == *peer));
    let peers = shared::prepared(wanted, &mut notes);
    let results = rows::measure(&arguments.rows, &peers, &feed, arguments.rounds, &mut notes);
    let mut table = rows::table(&arguments.rows, &peers, arguments.objects, &results);
    for note in notes {
        table.note(note);
    }
    print!("{table}");
    Ok(())
}

/// Does a task, as one of the peers that are part of this program.
fn perform(peer: Peer, task: &Task) -> Result<()> {
    match peer {
        Peer::Ours => block_on(work::run::<ours::Ours>(task)),
        Peer::Kube => block_on(work::run::<theirs::Theirs>(task)),
        Peer::ClientGo => bail!("client-go is a program of its own"),
    }
}

/// On a runtime as `#[tokio::main]` makes it.
fn block_on(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(work)
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments> {
    let mut arguments = Arguments {
        objects: 50_000,
        rounds: 1,
        only: None,
        rows: Row::ALL.to_vec(),
        streaming: Streaming::Refused,
    };
    while let Some(name) = given.next() {
        let mut value = || given.next().with_context(|| format!("{name} wants a value"));
        match name.as_str() {
            "--objects" => arguments.objects = value()?.parse().context("--objects wants a number")?,
            "--rounds" => arguments.rounds = value()?.parse().context("--rounds wants a number")?,
            "--only" => arguments.only = Some(Peer::named(&value()?)?),
            "--rows" => arguments.rows = value()?.split(',').map(Row::named).collect::<Result<_>>()?,
            "--streaming" => arguments.streaming = Streaming::Offered,
            _ => bail!("{name} is not known: --objects, --rounds, --only, --rows, --streaming"),
        }
    }
    ensure!(arguments.rounds > 0, "--rounds wants a number above 0");
    ensure!(
        arguments.objects >= MIN_OBJECTS,
        "--objects wants {MIN_OBJECTS} or more: every workload has a pod"
    );
    Ok(arguments)
}

const MIN_OBJECTS: usize = 400;
