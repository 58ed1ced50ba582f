//! Our queue, with priorities, aging and the default limiter, as it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kubewright_core::ObjectKey;
use kubewright_queue::{DEFAULT_PRIORITY, LOW_PRIORITY, Metrics, Options, WorkQueue};
use tokio::sync::oneshot;

use crate::median::median;
use crate::used::cpu;
use crate::{Done, Task};

/// Does the task on a runtime as `#[tokio::main]` makes it, with metrics or without.
pub fn perform(task: &Task, metrics: &Arc<dyn Metrics>) -> Result<Done> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let keys: Vec<ObjectKey> = (0..task.keys).map(key).collect();
    if task.workers == 0 {
        let before = runtime.block_on(before_fresh(&keys))?;
        return Ok(Done {
            before,
            ..Done::default()
        });
    }
    let mut times = Vec::new();
    for _ in 0..task.times {
        times.push(runtime.block_on(pass(keys.clone(), task.workers, metrics))?);
    }
    let each = |pick: fn(&(Duration, Duration)) -> Duration| {
        let mut all: Vec<Duration> = times.iter().map(pick).collect();
        let middle = median(&mut all, Ord::cmp).unwrap_or_default();
        middle.as_nanos() as f64 / task.keys as f64
    };
    Ok(Done {
        wall: each(|(wall, _)| *wall),
        cpu: each(|(_, cpu)| *cpu),
        before: 0,
    })
}

fn key(at: usize) -> ObjectKey {
    ObjectKey::namespaced(
        format!("team-{:02}", at % 50),
        format!("checkout-api-7d9f8b6c4d-{at:06}"),
    )
}

/// All keys through a new queue: time on the clock, and of the processor.
async fn pass(
    keys: Vec<ObjectKey>,
    workers: usize,
    metrics: &Arc<dyn Metrics>,
) -> Result<(Duration, Duration)> {
    let queue = WorkQueue::new(Options {
        metrics: Arc::clone(metrics),
        ..Options::default()
    });
    let left = Arc::new(AtomicUsize::new(keys.len()));
    let (last, ended) = oneshot::channel();
    let last = Arc::new(std::sync::Mutex::new(Some(last)));
    let workers: Vec<_> = (0..workers)
        .map(|_| {
            let (queue, left, last) = (queue.clone(), Arc::clone(&left), Arc::clone(&last));
            tokio::spawn(async move {
                while let Some(item) = queue.get().await {
                    item.done();
                    if left.fetch_sub(1, SeqCst) == 1
                        && let Ok(mut last) = last.lock()
                        && let Some(last) = last.take()
                    {
                        // Whoever waits is there.
                        let _ = last.send(());
                    }
                }
            })
        })
        .collect();
    let (began, before) = (Instant::now(), cpu());
    let producer = queue.clone();
    tokio::spawn(async move {
        for (at, key) in keys.into_iter().enumerate() {
            let priority = if at % 2 == 0 {
                DEFAULT_PRIORITY
            } else {
                LOW_PRIORITY
            };
            producer.add_with_priority(key, priority);
        }
    })
    .await?;
    ended.await.context("the last key was done")?;
    let taken = (began.elapsed(), cpu().saturating_sub(before));
    queue.shut_down();
    for worker in workers {
        worker.await?;
    }
    Ok(taken)
}

/// How many resynced keys come before one that changes after some of them have been handed out.
async fn before_fresh(keys: &[ObjectKey]) -> Result<usize> {
    let queue = WorkQueue::new(Options::default());
    for key in keys {
        queue.add_with_priority(key.clone(), LOW_PRIORITY);
    }
    for _ in 0..TAKEN_FIRST {
        queue.get().await.context("the queue is open")?.done();
    }
    let fresh = ObjectKey::namespaced("team-00", "fresh");
    queue.add(fresh.clone());
    let mut before = 0;
    while *queue.get().await.context("the queue is open")?.key() != fresh {
        before += 1;
    }
    Ok(before)
}

/// Keys that have been handed out when something changes.
const TAKEN_FIRST: usize = 1_000;
