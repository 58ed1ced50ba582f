//! Metrics, and the async handle on paused time.

use super::*;

#[derive(Debug, Default)]
struct Counts {
    added: AtomicU64,
    retried: AtomicU64,
    waited: AtomicU64,
    worked: AtomicU64,
}

impl Metrics for Counts {
    fn added(&self, _priority: i32) {
        self.added.fetch_add(1, Ordering::Relaxed);
    }
    fn retried(&self) {
        self.retried.fetch_add(1, Ordering::Relaxed);
    }
    fn taken(&self, _priority: i32, waited: Duration) {
        self.waited
            .fetch_add(u64::try_from(waited.as_millis()).unwrap(), Ordering::Relaxed);
    }
    fn finished(&self, worked: Duration) {
        self.worked
            .fetch_add(u64::try_from(worked.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

#[test]
fn metrics_follow_the_keys() {
    let start = Instant::now();
    let counts = Arc::new(Counts::default());
    let metrics: Arc<dyn Metrics> = counts.clone();
    let mut queue = QueueState::new(Settings::default(), Box::new(MaxOf::<&str>::default()), metrics);
    queue.add("a", 0, start);
    queue.add("a", 0, start);
    queue.add("b", 5, start);
    queue.add_after("c", millis(3), 0, start);
    let Get::Item(first) = queue.get(start + millis(2)) else {
        panic!("b is ready")
    };
    assert_eq!((first.key, first.waited), ("b", millis(2)));
    let Get::Item(_) = queue.get(start + millis(4)) else {
        panic!("a is ready")
    };
    let snapshot = queue.snapshot(start + millis(10));
    assert_eq!(snapshot.depth, [(0, 1)]);
    assert_eq!((snapshot.delayed, snapshot.processing), (0, 2));
    assert_eq!(
        (snapshot.unfinished_work, snapshot.longest_running),
        (millis(14), millis(8))
    );
    queue.done(&"b", start + millis(12));
    queue.shut_down(ShutDown::Drain, start + millis(12));
    for delay in [Duration::ZERO, millis(1)] {
        let added = queue.add_after("d", delay, 0, start + millis(12));
        assert_eq!(added, Added::ShuttingDown, "no retry");
    }
    let counts =
        [&counts.added, &counts.retried, &counts.waited, &counts.worked].map(|c| c.load(Ordering::Relaxed));
    assert_eq!(counts, [3, 1, 6, 10]);
}

/// Whoever has no worker to spare must still see what is due: in the depth, in how long it waits, and when the queue ends.
#[tokio::test(start_paused = true)]
async fn what_is_due_is_ready_though_no_worker_asks() {
    let counts = Arc::new(Counts::default());
    let queue = WorkQueue::new(Options {
        metrics: counts.clone(),
        ..Options::default()
    });
    queue.add("first");
    let first = queue.get().await.unwrap();
    queue.add_after("late", millis(10));
    queue.add_after("later", millis(500));
    tokio::time::sleep(millis(300)).await;
    assert_eq!((queue.len(), queue.is_empty()), (1, false));
    let snapshot = queue.snapshot();
    assert_eq!((snapshot.depth, snapshot.delayed), (vec![(0, 1)], 1));
    assert_eq!(counts.added.load(Ordering::Relaxed), 2);
    queue.shut_down();
    assert_eq!(queue.snapshot().delayed, 0, "what is not due is dropped");
    drop(first);
    let late = queue.get().await.unwrap();
    assert_eq!((*late.key(), late.waited()), ("late", millis(290)));
    assert!(queue.get().await.is_none());
}

/// `None` says that no key will come any more, also to one who hands out keys and does not wait for their end.
#[tokio::test(start_paused = true)]
async fn nobody_is_told_of_the_end_while_a_key_is_to_run_once_more() {
    let queue: WorkQueue<&'static str> = WorkQueue::default();
    queue.add("a");
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut runs = 0;
                while let Some(item) = queue.get().await {
                    runs += 1;
                    tokio::spawn(async move {
                        tokio::time::sleep(millis(10)).await;
                        item.done();
                    });
                }
                runs
            })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.add("a");
    let drained = tokio::time::timeout(millis(1000), queue.shut_down_with_drain()).await;
    assert!(drained.is_ok(), "{queue:?}");
    let mut runs = 0;
    for worker in workers {
        runs += tokio::time::timeout(millis(1000), worker).await.unwrap().unwrap();
    }
    assert_eq!(runs, 2);
}

#[tokio::test(start_paused = true)]
async fn waiting_workers_wake_at_the_right_time() {
    let queue: WorkQueue<&str> = WorkQueue::default();
    let start = tokio::time::Instant::now();
    let worker = |queue: WorkQueue<&'static str>| async move {
        let item = queue.get().await.map(|item| *item.key());
        (item, start.elapsed())
    };
    let workers: Vec<_> = (0..4).map(|_| tokio::spawn(worker(queue.clone()))).collect();
    tokio::task::yield_now().await;
    queue.add_after("late", Duration::from_secs(60));
    queue.add_after("soon", Duration::from_secs(1));
    queue.add_after("soon too", Duration::from_secs(1));
    queue.add("now");
    let mut results = Vec::new();
    for worker in workers {
        let (item, at) = worker.await.unwrap();
        results.push((at.as_secs(), item.unwrap()));
    }
    results.sort_unstable();
    assert_eq!(results, [(0, "now"), (1, "soon"), (1, "soon too"), (60, "late")]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_worker_passes_its_wake_up_on() {
    let queue: WorkQueue<&str> = WorkQueue::default();
    // The first waiter watches the clock; it goes away before the time comes.
    let first = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    queue.add_after("a", Duration::from_secs(5));
    tokio::task::yield_now().await;
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    tokio::task::yield_now().await;
    first.abort();
    assert_eq!(second.await.unwrap(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_drain_waits_for_what_is_in_work() {
    let queue: WorkQueue<&str> = WorkQueue::default();
    queue.add("a");
    queue.add("b");
    let item = queue.get().await.unwrap();
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished() && queue.is_shutting_down());
    assert_eq!(queue.add("c"), Added::ShuttingDown);
    let other = queue.get().await.unwrap();
    assert_eq!(*other.key(), "b");
    item.done();
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    drop(other);
    drain.await.unwrap();
    assert!(queue.get().await.is_none());
    // Again, from any state.
    queue.shut_down();
    queue.shut_down_with(ShutDown::Now);
    queue.shut_down_with_drain().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_every_waiting_worker() {
    let queue: WorkQueue<u32> = WorkQueue::default();
    queue.add_after(1, Duration::from_secs(60));
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert!(worker.await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_lets_go_of_its_key() {
    let queue: WorkQueue<u32> = WorkQueue::default();
    queue.add(1);
    let item = queue.get().await.unwrap();
    queue.add(1);
    let worker = tokio::spawn(async move {
        let _item = item;
        panic!("on purpose");
    });
    assert!(worker.await.unwrap_err().is_panic());
    assert_eq!(*queue.get().await.unwrap().key(), 1);
}

/// Producers and workers on real threads: every key that was added last is run after that, never two at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_lose_nothing() {
    const KEYS: usize = 32;
    let seed = fastrand::u64(..);
    let queue: WorkQueue<usize> = WorkQueue::default();
    let state: Arc<Vec<[AtomicU64; 3]>> = Arc::new((0..KEYS).map(|_| Default::default()).collect());
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let (queue, state) = (queue.clone(), state.clone());
            tokio::spawn(async move {
                while let Some(item) = queue.get().await {
                    let [wanted, seen, busy] = &state[*item.key()];
                    assert_eq!(
                        busy.fetch_add(1, Ordering::SeqCst),
                        0,
                        "two workers on one key, seed {seed}"
                    );
                    seen.store(wanted.load(Ordering::SeqCst), Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    busy.fetch_sub(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let producers: Vec<_> = (0..3)
        .map(|n| {
            let (queue, state) = (queue.clone(), state.clone());
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed ^ n);
                for _ in 0..5_000 {
                    let key = random.usize(..KEYS);
                    state[key][0].fetch_add(1, Ordering::SeqCst);
                    if random.bool() {
                        queue.add_with_priority(key, random.i32(-3..3));
                    } else {
                        queue.add_after(key, Duration::from_micros(random.u64(0..300)));
                    }
                    if random.u8(..) < 16 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    // Delayed keys are dropped by a shutdown, so each key is asked for once more.
    (0..KEYS).for_each(|key| _ = queue.add(key));
    queue.shut_down_with_drain().await;
    for worker in workers {
        worker.await.unwrap();
    }
    for (key, [wanted, seen, _]) in state.iter().enumerate() {
        let (wanted, seen) = (wanted.load(Ordering::SeqCst), seen.load(Ordering::SeqCst));
        assert_eq!(wanted, seen, "key {key}, seed {seed}");
    }
}
