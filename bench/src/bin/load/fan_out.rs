//! Many watchers of objects that change: how long after it was asked for each learns of a change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::remote::{MAPS, Remote, object};
use crate::report::{Table, grouped, time};

/// How many watch, and how many of them share a connection, as the informers of one program do.
const WATCHERS: usize = 500;
const WATCHERS_PER_CONNECTION: usize = 10;

/// Changes objects `per_second` times a second.
pub async fn measure(remote: &Remote, per_second: u64, span: Duration, table: &mut Table) -> Result<()> {
    let began = Instant::now();
    let ended = Arc::new(AtomicBool::new(false));
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS / WATCHERS_PER_CONNECTION {
        let connection = remote.connect()?;
        for _ in 0..WATCHERS_PER_CONNECTION {
            let path = format!("{MAPS}?watch=true&labelSelector=app%3Dbench");
            let body = connection.open("GET", &path, Vec::new()).await?;
            watchers.spawn(follow(body, began, ended.clone()));
        }
    }
    let writer = remote.connect()?;
    let mut clock = interval(Duration::from_secs(1) / u32::try_from(per_second)?);
    clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
    writer.send("POST", MAPS, object("watched", "")).await?;
    let (cpu, started) = (remote.cpu()?, Instant::now());
    let mut writes = 0_u64;
    while started.elapsed() < span {
        clock.tick().await;
        let sent = began.elapsed().as_nanos();
        writer
            .send(
                "PUT",
                &format!("{MAPS}/watched"),
                object("watched", &format!("at {sent}.")),
            )
            .await?;
        writes += 1;
    }
    let elapsed = started.elapsed();
    let used = (remote.cpu()? - cpu).as_secs_f64() / elapsed.as_secs_f64();
    ended.store(true, Ordering::Relaxed);
    // The last change tells watchers that it is over.
    writer
        .send("DELETE", &format!("{MAPS}/watched"), Vec::new())
        .await?;
    let mut delays = Vec::new();
    while let Some(done) = watchers.join_next().await {
        delays.extend(done??);
    }
    delays.sort_unstable();
    let at = |share: f64| {
        delays
            .get(((delays.len() as f64 - 1.0) * share) as usize)
            .copied()
    };
    let (p50, p99) = (at(0.5).unwrap_or_default(), at(0.99).unwrap_or_default());
    let seen = delays.len() as f64 / (writes as f64 * WATCHERS as f64);
    table.row(
        format!(
            "{}: {WATCHERS} watchers, {per_second} updates/s asked for",
            remote.name
        ),
        format!(
            "{} /s, p50 {}, p99 {}, {used:.2} cores of the server, {:.0} % of events seen",
            grouped((writes as f64 / elapsed.as_secs_f64()) as u64),
            time(p50),
            time(p99),
            seen * 100.0
        ),
    );
    Ok(())
}

/// Reads a watch until the deletion, or until nothing comes for a while after the end; gives the delay of each change.
async fn follow(
    mut body: kubewright_net::Body,
    began: Instant,
    ended: Arc<AtomicBool>,
) -> Result<Vec<Duration>> {
    let (mut delays, mut rest) = (Vec::new(), BytesMut::new());
    loop {
        let frame = match timeout(Duration::from_secs(5), body.frame()).await {
            Ok(frame) => frame.context("the watch ended")??,
            Err(_) if ended.load(Ordering::Relaxed) => return Ok(delays),
            Err(_) => continue,
        };
        let now = began.elapsed();
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = memchr::memchr(b'\n', &rest) {
            let event = rest.split_to(end + 1);
            if event.starts_with(br#"{"type":"DELETED""#) {
                return Ok(delays);
            }
            if let Some(sent) = sent(&event) {
                delays.push(now.saturating_sub(Duration::from_nanos(sent)));
            }
        }
    }
}

/// When the write was asked for: `at 123.` in the annotation.
fn sent(event: &[u8]) -> Option<u64> {
    const BEFORE: &[u8] = br#""note":"at "#;
    let start = memchr::memmem::find(event, BEFORE)? + BEFORE.len();
    let digits = event.get(start..)?.split(|byte| *byte == b'.').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
