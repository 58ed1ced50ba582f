//! Requests per second of so many clients, each with a connection of its own, and a large list.

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

/// Requests of one sort for a while.
pub async fn measure(
    remote: &Remote,
    work: Work,
    clients: usize,
    span: Duration,
    table: &mut Table,
) -> Result<()> {
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
        let unique = format!("{clients}-{client}");
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
    let each = (remote.cpu()? - cpu).as_secs_f64() * 1e6 / count as f64;
    table.row(
        format!("{}: {work:?}, clients: {clients}", remote.name),
        format!(
            "{} /s, {each:.1} µs of server CPU each",
            grouped((count as f64 / elapsed) as u64)
        ),
    );
    Ok(())
}

fn own(client: usize) -> String {
    format!("own-{client}")
}

/// A list of many objects, read whole.
pub async fn list(remote: &Remote, table: &mut Table) -> Result<()> {
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
    let connection = remote.connect()?;
    let (mut times, mut size) = (Vec::new(), 0);
    let cpu = remote.cpu()?;
    for _ in 0..LISTS {
        let began = Instant::now();
        size = connection.send("GET", MAPS, Vec::new()).await?.len();
        times.push(began.elapsed());
    }
    let each = (remote.cpu()? - cpu) / u32::try_from(LISTS)?;
    table.row(
        format!(
            "{}: list of {} objects, {}",
            remote.name,
            grouped(LISTED as u64),
            mebibytes(size as u64)
        ),
        format!("{}, {} of server CPU", time(median(&mut times)), time(each)),
    );
    Ok(())
}
