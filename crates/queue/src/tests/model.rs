//! The queue against a naive model, in random schedules.

use super::*;

/// The obvious implementation: maps, scans, no lists.
#[derive(Default)]
struct Model {
    /// Key to priority, time of readiness and order in its priority.
    ready: BTreeMap<u8, (i32, u64, u64)>,
    /// Key to time, order of asking and priority.
    later: BTreeMap<u8, (u64, u64, i32)>,
    working: HashSet<u8>,
    failures: BTreeMap<u8, u32>,
    order: u64,
    kept: bool,
    stopped: bool,
}

impl Model {
    fn add(&mut self, key: u8, mut priority: i32, now: u64) {
        if self.stopped {
            return;
        }
        if !self.kept
            && let Some((_, _, later)) = self.later.remove(&key)
        {
            priority = priority.max(later);
        }
        self.order += 1;
        match self.ready.get_mut(&key) {
            None => drop(self.ready.insert(key, (priority, now, self.order))),
            Some(ready) if priority > ready.0 => *ready = (priority, ready.1, self.order),
            Some(_) => {}
        }
    }

    fn after(&mut self, key: u8, delay: u64, priority: i32, now: u64) {
        if delay == 0 || (!self.kept && self.ready.contains_key(&key)) {
            return self.add(key, priority, now);
        }
        if self.stopped {
            return;
        }
        self.order += 1;
        let asked = (now + delay, self.order, priority);
        let later = self.later.entry(key).or_insert(asked);
        let priority = later.2.max(priority);
        *later = if asked.0 < later.0 { asked } else { *later };
        later.2 = priority;
    }

    /// 1, 2, 4, 4... ms.
    fn limited(&mut self, key: u8, priority: i32, now: u64) {
        if !self.stopped {
            let failures = self.failures.entry(key).or_default();
            let delay = 1 << (*failures).min(2);
            *failures += 1;
            self.after(key, delay, priority, now);
        }
    }

    fn promote(&mut self, now: u64) {
        let mut due: Vec<_> = self
            .later
            .iter()
            .filter(|(_, l)| l.0 <= now)
            .map(|(k, l)| (l.0, l.1, *k, l.2))
            .collect();
        due.sort_unstable();
        for (at, _, key, priority) in due {
            self.later.remove(&key);
            self.add(key, priority, at);
        }
    }

    /// The keys that may come next: those of the highest priority, or one that waited long enough.
    fn candidates(&self) -> Vec<u8> {
        let free = || self.ready.iter().filter(|(key, _)| !self.working.contains(key));
        let Some(top) = free().map(|(_, ready)| ready.0).max() else {
            return Vec::new();
        };
        free()
            .filter(|(_, ready)| ready.0 == top)
            .map(|(key, _)| *key)
            .collect()
    }

    /// Whether nothing is to come any more.
    fn is_over(&self) -> bool {
        self.stopped && self.ready.is_empty()
    }

    fn done(&mut self, key: u8) {
        if self.working.remove(&key)
            && let Some(ready) = self.ready.get_mut(&key)
        {
            self.order += 1;
            ready.2 = self.order;
        }
    }
}

#[derive(Debug, Clone)]
enum Op {
    Add(u8, i32),
    After(u8, u64, i32),
    Limited(u8, i32),
    Forget(u8),
    Get,
    DoneOldest,
    DoneNewest,
    Advance(u64),
    Stop(bool),
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u8..8, -2i32..3).prop_map(|(key, priority)| Op::Add(key, priority)),
        4 => (0u8..8, 0u64..6, -2i32..3).prop_map(|(key, delay, priority)| Op::After(key, delay, priority)),
        3 => (0u8..8, -2i32..3).prop_map(|(key, priority)| Op::Limited(key, priority)),
        1 => (0u8..8).prop_map(Op::Forget),
        8 => Just(Op::Get),
        3 => Just(Op::DoneOldest),
        2 => Just(Op::DoneNewest),
        4 => (1u64..4).prop_map(Op::Advance),
        1 => any::<bool>().prop_map(Op::Stop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_agrees_with_the_model(
        ops in prop::collection::vec(any_op(), 1..120),
        kept in any::<bool>(),
        stops in prop::bool::weighted(0.3),
    ) {
        let start = Instant::now();
        let settings = Settings {
            aging: None,
            delayed: if kept { Delayed::Kept } else { Delayed::CancelledByRun },
            ..Settings::default()
        };
        let limiter = Exponential::new(millis(1), millis(4));
        let mut queue = QueueState::new(settings, Box::new(limiter), Arc::new(NoMetrics));
        let mut model = Model { kept, ..Model::default() };
        let mut working: VecDeque<u8> = VecDeque::new();
        let mut ms = 0;
        for op in ops {
            let now = start + millis(ms);
            if !matches!(op, Op::Forget(_)) {
                model.promote(ms);
            }
            match op {
                Op::Add(key, priority) => {
                    queue.add(key, priority, now);
                    model.add(key, priority, ms);
                }
                Op::After(key, delay, priority) => {
                    queue.add_after(key, millis(delay), priority, now);
                    model.after(key, delay, priority, ms);
                }
                Op::Limited(key, priority) => {
                    queue.add_rate_limited(key, priority, now);
                    model.limited(key, priority, ms);
                }
                Op::Forget(key) => {
                    queue.forget(&key);
                    model.failures.remove(&key);
                }
                Op::Get => {
                    let candidates = model.candidates();
                    match queue.get(now) {
                        Get::Item(taken) => {
                            prop_assert!(!working.contains(&taken.key), "two workers on {}", taken.key);
                            let first = candidates.iter().min_by_key(|key| model.ready[*key].2);
                            prop_assert_eq!(Some(&taken.key), first);
                            let (priority, since, _) = model.ready.remove(&taken.key).unwrap();
                            prop_assert_eq!((taken.priority, taken.waited), (priority, millis(ms - since)));
                            model.working.insert(taken.key);
                            working.push_back(taken.key);
                        }
                        Get::Wait(due) => {
                            prop_assert!(candidates.is_empty() && !model.is_over());
                            let next = model.later.values().map(|later| start + millis(later.0)).min();
                            prop_assert_eq!(due, next);
                        }
                        Get::ShutDown => prop_assert!(candidates.is_empty() && model.is_over()),
                    }
                }
                Op::DoneOldest | Op::DoneNewest => {
                    let key = if matches!(op, Op::DoneOldest) { working.pop_front() } else { working.pop_back() };
                    if let Some(key) = key {
                        queue.done(&key, now);
                        model.done(key);
                    }
                }
                Op::Advance(by) => ms += by,
                Op::Stop(drain) if stops => {
                    queue.shut_down(if drain { ShutDown::Drain } else { ShutDown::Now }, now);
                    model.stopped = true;
                    model.later.clear();
                    if !drain {
                        model.ready.clear();
                    }
                }
                Op::Stop(_) => {}
            }
            let snapshot = queue.snapshot(start + millis(ms));
            model.promote(ms);
            let free = model.ready.keys().filter(|key| !model.working.contains(key)).count();
            prop_assert_eq!(queue.len(), free);
            prop_assert_eq!(snapshot.depth.iter().map(|(_, len)| len).sum::<usize>(), free);
            prop_assert!(snapshot.depth.is_sorted_by(|a, b| a.0 > b.0));
            prop_assert_eq!((snapshot.delayed, snapshot.processing), (model.later.len(), working.len()));
            for key in 0..8 {
                prop_assert_eq!(queue.num_requeues(&key), model.failures.get(&key).copied().unwrap_or(0));
            }
            prop_assert_eq!(queue.is_drained(), model.stopped && free == 0 && working.is_empty());
        }
    }

    /// With aging on, what is taken and when is decided by the settings; that nothing is lost is not.
    #[test]
    fn nothing_is_lost_with_aging(ops in prop::collection::vec(any_op(), 1..120), one_in in 0u32..4) {
        let start = Instant::now();
        let settings =
            Settings { aging: Some(Aging { after: millis(3), one_in }), ..Settings::default() };
        let mut queue = QueueState::new(settings, Box::new(MaxOf::<u8>::default()), Arc::new(NoMetrics));
        let mut owed: HashSet<u8> = HashSet::new();
        let mut working: VecDeque<u8> = VecDeque::new();
        let mut ms = 0;
        for op in ops {
            let now = start + millis(ms);
            match op {
                Op::Add(key, priority) => {
                    queue.add(key, priority, now);
                    owed.insert(key);
                }
                Op::After(key, delay, priority) => {
                    queue.add_after(key, millis(delay), priority, now);
                    owed.insert(key);
                }
                Op::Limited(key, priority) => {
                    queue.add_rate_limited(key, priority, now);
                    owed.insert(key);
                }
                Op::Forget(key) => queue.forget(&key),
                Op::Get => {
                    if let Get::Item(taken) = queue.get(now) {
                        prop_assert!(!working.contains(&taken.key));
                        prop_assert!(owed.remove(&taken.key), "{} was run without a reason", taken.key);
                        working.push_back(taken.key);
                    }
                }
                Op::DoneOldest => drop(working.pop_front().map(|key| queue.done(&key, now))),
                Op::DoneNewest => drop(working.pop_back().map(|key| queue.done(&key, now))),
                Op::Advance(by) => ms += by,
                Op::Stop(_) => {}
            }
        }
        let end = start + Duration::from_secs(10_000);
        working.into_iter().for_each(|key| queue.done(&key, end));
        while let Get::Item(taken) = queue.get(end) {
            prop_assert!(owed.remove(&taken.key));
            queue.done(&taken.key, end);
        }
        prop_assert!(owed.is_empty(), "lost: {owed:?}");
    }
}
