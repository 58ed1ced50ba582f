//! Requests per second of so many clients, each with a connection of its own, and a large list: of one server, or of several that take
//! turns, so that what else the machine does meanwhile concerns each of them.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::remote::{MAPS, Remote, object};
use crate::report::{Table, grouped, mebibytes, median, time};

/// How many objects are listed, and how often.
const LISTED: usize = 10_000;
const LISTS: usize = 20;

/// What clients do.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A new object each time.
    Create,
    /// Another state of the client's own object, whatever state it has.
    Update,
    /// The client's own object.
    Get,
}

impl Work {
    /// In this order: what is created first is there to be updated.
    pub const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Get];

    /// As the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Get => "get",
        }
    }
}

/// What requests of one sort take.
#[derive(Clone, Copy, Debug)]
struct Rate {
    per_second: u64,
    /// Of the server's processor time, for each.
    cpu: Duration,
}

/// What lists take.
#[derive(Clone, Copy, Debug)]
struct Listed {
    elapsed: Duration,
    /// Of the server's processor time, for each.
    cpu: Duration,
    bytes: usize,
}

/// Requests of one sort for a while, from each server in turn. Rows have the medians of the rounds.
pub async fn measure(
    remotes: &[&Remote],
    (work, clients): (Work, usize),
    (span, rounds): (Duration, usize),
    table: &mut Table,
) -> Result<()> {
    let mut rates = vec![Vec::new(); remotes.len()];
    for round in 0..rounds {
        for (remote, rates) in remotes.iter().zip(&mut rates) {
            rates.push(rate(remote, work, (clients, round), span).await?);
        }
    }
    let mut cpu = Vec::new();
    let what = format!("{work:?}, clients: {clients}");
    for (remote, rates) in remotes.iter().zip(&rates) {
        let per_second = median(&mut rates.iter().map(|rate| rate.per_second).collect::<Vec<_>>());
        let each = median(&mut rates.iter().map(|rate| rate.cpu).collect::<Vec<_>>());
        let (per_second, micros) = (grouped(per_second), each.as_secs_f64() * 1e6);
        table.row(
            format!("{}: {what}", remote.name),
            format!("{per_second} /s, {micros:.1} µs of server CPU each"),
        );
        cpu.push(each);
    }
    compare(remotes, &cpu, &what, table);
    Ok(())
}

/// How many times as much processor time the last of several servers takes as the first.
fn compare(remotes: &[&Remote], cpu: &[Duration], what: &str, table: &mut Table) {
    if let ([first, .., last], [least, .., most]) = (remotes, cpu) {
        let name = format!("{} / {}: {what}", last.name, first.name);
        let times = most.as_secs_f64() / least.as_secs_f64();
        table.row(name, format!("{times:.2} times the server CPU"));
    }
}

async fn rate(remote: &Remote, work: Work, (clients, round): (usize, usize), span: Duration) -> Result<Rate> {
    let mut tasks = JoinSet::new();
    let mut connections = Vec::new();
    for client in 0..clients {
        let connection = remote.connect()?;
        let own = own(client);
        // The handshake is no part of it, and the object may be there from the last round.
        let body = object(&own, "first");
        if connection.send("POST", MAPS, body.clone()).await.is_err() {
            connection.send("PUT", &format!("{MAPS}/{own}"), body).await?;
        }
        connections.push(connection);
    }
    let (cpu, began) = (remote.cpu()?, Instant::now());
    for (client, connection) in connections.into_iter().enumerate() {
        let unique = format!("{clients}-{round}-{client}");
        tasks.spawn(async move {
            let mut count = 0_u64;
            let own = own(client);
            let path = format!("{MAPS}/{own}");
            while began.elapsed() < span {
                let note = count.to_string();
                match work {
                    Work::Create => {
                        let body = object(&format!("new-{unique}-{count}"), &note);
                        connection.send("POST", MAPS, body).await?;
                    }
                    Work::Update => {
                        connection.send("PUT", &path, object(&own, &note)).await?;
                    }
                    Work::Get => {
                        connection.send("GET", &path, Vec::new()).await?;
                    }
                }
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(done) = tasks.join_next().await {
        count += done??;
    }
    let elapsed = began.elapsed().as_secs_f64();
    let cpu = (remote.cpu()? - cpu).as_secs_f64();
    Ok(Rate {
        per_second: (count as f64 / elapsed) as u64,
        cpu: Duration::from_secs_f64(cpu / count.max(1) as f64),
    })
}

fn own(client: usize) -> String {
    format!("own-{client}")
}

/// A list of many objects, read whole, from each server in turn. Rows have the medians of the rounds.
pub async fn list(remotes: &[&Remote], rounds: usize, table: &mut Table) -> Result<()> {
    for remote in remotes {
        fill(remote).await?;
    }
    let mut lists = vec![Vec::new(); remotes.len()];
    for _ in 0..rounds {
        for (remote, lists) in remotes.iter().zip(&mut lists) {
            lists.push(listed(remote).await?);
        }
    }
    let mut cpu = Vec::new();
    for (remote, lists) in remotes.iter().zip(&lists) {
        let middle_of =
            |pick: fn(&Listed) -> Duration| median(&mut lists.iter().map(pick).collect::<Vec<_>>());
        let (elapsed, each) = (middle_of(|list| list.elapsed), middle_of(|list| list.cpu));
        let size = mebibytes(lists.last().map_or(0, |list| list.bytes) as u64);
        let count = grouped(LISTED as u64);
        table.row(
            format!("{}: list of {count} objects, {size}", remote.name),
            format!("{}, {} of server CPU", time(elapsed), time(each)),
        );
        cpu.push(each);
    }
    compare(
        remotes,
        &cpu,
        &format!("list of {} objects", grouped(LISTED as u64)),
        table,
    );
    Ok(())
}

async fn fill(remote: &Remote) -> Result<()> {
    let mut makers = JoinSet::new();
    for maker in 0..10 {
        let connection = remote.connect()?;
        makers.spawn(async move {
            for i in 0..LISTED / 10 {
                let body = object(&format!("listed-{maker}-{i}"), "");
                connection.send("POST", MAPS, body).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = makers.join_next().await {
        done??;
    }
    Ok(())
}

async fn listed(remote: &Remote) -> Result<Listed> {
    let connection = remote.connect()?;
    let (mut times, mut bytes) = (Vec::new(), 0);
    let cpu = remote.cpu()?;
    for _ in 0..LISTS {
        let began = Instant::now();
        bytes = connection.send("GET", MAPS, Vec::new()).await?.len();
        times.push(began.elapsed());
    }
    Ok(Listed {
        elapsed: median(&mut times),
        cpu: (remote.cpu()? - cpu) / u32::try_from(LISTS)?,
        bytes,
    })
}
