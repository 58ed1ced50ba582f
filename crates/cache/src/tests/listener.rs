//! The queue of one handler: whatever is merged, the handler is told a consistent story.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kubewright_core::ResourceVersion;
use proptest::prelude::*;

use super::*;
use crate::delta_fifo::DeltaFifo;
use crate::listener_queue::{Delivery, ListenerQueue, RESYNCED_ONE_IN};
use crate::store::Change;

/// What a handler knows: key to uid and version. Panics when it is told something that cannot be.
#[derive(Debug, Default)]
struct Knowledge(BTreeMap<String, String>);

impl Knowledge {
    fn told(&mut self, change: Change) {
        match change {
            Change::Added { new, .. } => {
                let before = self.0.insert(new.key().to_string(), show(&new));
                assert_eq!(before, None, "added twice");
            }
            Change::Updated { old, new } => {
                assert_eq!(old.uid(), new.uid());
                let before = self.0.insert(new.key().to_string(), show(&new));
                assert_eq!(before, Some(show(&old)), "updated from what it does not know");
            }
            Change::Deleted { last, .. } => {
                let before = self
                    .0
                    .remove(&last.key().to_string())
                    .expect("deleted without being known");
                let uid = before.split(['=', '@']).nth(1).map(str::to_owned);
                assert_eq!(uid.as_deref(), Some(last.uid()));
            }
        }
    }
}

proptest! {
    #[test]
    fn a_slow_handler_is_told_the_difference(
        steps in prop::collection::vec((0u8..5, 0u8..6, 0usize..3), 1..150),
        max_unmerged in prop::sample::select(vec![0, 1, 4, 1000]),
    ) {
        let store = empty_store();
        let mut fifo = DeltaFifo::default();
        let mut queue = ListenerQueue::new(max_unmerged);
        let mut knowledge = Knowledge::default();
        let mut version = 1;
        let start = Instant::now();
        for (key, what, pops) in steps {
            let name = format!("n/{key}");
            version += 1;
            let uid = store.get(&kubewright_core::ObjectKey::parse(&name)).map(|r| r.uid().to_owned());
            match (what, uid) {
                (0, Some(uid)) => fifo.delete(record(&store, &name, &uid, version)),
                // The object was deleted and made again unseen.
                (1, Some(_)) | (0..=4, None) => fifo.upsert(record(&store, &name, &format!("u{version}"), version)),
                (2, Some(_)) => {
                    let mut others = store.list();
                    others.retain(|record| record.key().name.as_ref() != key.to_string());
                    fifo.replace(others, ResourceVersion::from(version));
                }
                (5, _) => queue.resync(&store.list()),
                (_, Some(uid)) => fifo.upsert(record(&store, &name, &uid, version)),
                (_, None) => {}
            }
            while let Some(batch) = fifo.pop() {
                queue.push(&store.apply(batch).into(), start + Duration::from_secs(version));
            }
            // A parcel has at most two changes for each key, and so many may wait behind it.
            prop_assert!(queue.len() <= 5 + 10 + max_unmerged, "one entry for a key");
            let lag = queue.lag(start + Duration::from_secs(version));
            prop_assert_eq!(lag.pending + lag.resynced, queue.len());
            prop_assert_eq!(lag.oldest.is_none(), lag.pending == 0);
            prop_assert!(lag.longest >= queue.len());
            for _ in 0..pops {
                if let Some(Delivery::Change(change)) = queue.pop() {
                    knowledge.told(change);
                }
            }
        }
        while let Some(delivery) = queue.pop() {
            let Delivery::Change(change) = delivery else { continue };
            knowledge.told(change);
        }
        prop_assert_eq!(queue.len(), 0);
        let expect = store.list().iter().map(|record| (record.key().to_string(), show(record))).collect();
        prop_assert_eq!(knowledge.0, expect);
    }
}

/// A queue of tests: changes are named, and so is what comes out.
struct Script {
    store: Store,
    queue: ListenerQueue,
    start: Instant,
    /// The objects that the store would have.
    known: BTreeMap<String, Arc<Record>>,
    version: u64,
}

impl Script {
    fn new(max_unmerged: usize) -> Self {
        Self {
            store: empty_store(),
            queue: ListenerQueue::new(max_unmerged),
            start: Instant::now(),
            known: BTreeMap::new(),
            version: 0,
        }
    }

    /// Each name is added or updated, or deleted after a `-`, in one parcel.
    fn push(&mut self, seconds: u64, names: &[&str]) {
        let mut changes = Vec::new();
        for name in names {
            if let Some(name) = name.strip_prefix('-') {
                let last = self.known.remove(name).unwrap();
                let final_state = crate::FinalState::Known;
                changes.push(Change::Deleted { last, final_state });
                continue;
            }
            self.version += 1;
            let new = record(&self.store, &format!("n/{name}"), "u", self.version);
            let initial = crate::Initial::No;
            changes.push(match self.known.insert((*name).to_owned(), Arc::clone(&new)) {
                Some(old) => Change::Updated { old, new },
                None => Change::Added { new, initial },
            });
        }
        self.queue
            .push(&changes.into(), self.start + Duration::from_secs(seconds));
    }

    fn resync(&mut self) {
        let known: Vec<_> = self.known.values().cloned().collect();
        self.queue.resync(&known);
    }

    fn pop(&mut self) -> Option<String> {
        Some(match self.queue.pop()? {
            Delivery::Synced => "synced".to_owned(),
            Delivery::Change(Change::Added { new, .. }) => format!("+{}", new.key().name),
            Delivery::Change(Change::Updated { old, new }) if Arc::ptr_eq(&old, &new) => {
                format!("={}", new.key().name)
            }
            Delivery::Change(Change::Updated { new, .. }) => format!("~{}", new.key().name),
            Delivery::Change(Change::Deleted { last, .. }) => format!("-{}", last.key().name),
        })
    }

    fn all(&mut self) -> String {
        let told: Vec<_> = std::iter::from_fn(|| self.pop()).collect();
        told.join(" ")
    }
}

#[test]
fn what_comes_and_goes_unseen_leaves_nothing() {
    let mut script = Script::new(0);
    for i in 0..10_000 {
        let name = i.to_string();
        script.push(0, &[&name]);
        script.push(0, &[&format!("-{name}")]);
    }
    assert!(script.queue.footprint() < 100, "{}", script.queue.footprint());
    // The last deletion was not merged yet.
    assert!(script.all().len() < 20);
    assert_eq!(script.queue.len(), 0);
}

#[test]
fn the_initial_state_ends_with_a_mark() {
    for max_unmerged in [0, 100] {
        let mut script = Script::new(max_unmerged);
        script.push(0, &["a", "b"]);
        script.queue.mark_synced();
        script.push(0, &["c", "b"]);
        script.push(0, &["d"]);
        let expect = match max_unmerged {
            0 => "+a +b synced +c +d",
            _ => "+a +b synced +c ~b +d",
        };
        assert_eq!(
            script.all(),
            expect,
            "changes wait behind the initial state, or are part of it"
        );
    }
}

/// client-go's `sharedProcessor` sends resyncs and changes through one channel: a change waits behind all of them.
#[test]
fn a_change_goes_before_a_hundred_thousand_resynced_keys() {
    let mut script = Script::new(100);
    let names: Vec<_> = (0..100_000).map(|i| i.to_string()).collect();
    script.push(0, &names.iter().map(String::as_str).collect::<Vec<_>>());
    script.all();
    script.resync();
    assert_eq!(script.pop().unwrap(), "=0");
    // A new key, one whose turn would come last, and one that goes away.
    script.push(0, &["new", "99999", "-5000"]);
    let first: Vec<_> = (0..4).map_while(|_| script.pop()).collect();
    let lag = script.queue.lag(script.start);
    assert_eq!((lag.pending, lag.oldest), (0, None));
    let fresh: Vec<_> = first.iter().filter(|told| !told.starts_with('=')).collect();
    assert_eq!(fresh, ["+new", "~99999", "-5000"]);
    // Each of the others is shown once, those that changed are not shown again.
    let rest = script.all();
    assert_eq!(
        rest.split(' ').count() + 1 + first.len() - fresh.len(),
        100_000 - 2
    );
    assert!(!rest.contains("=99999") && !rest.contains("=5000 ") && rest.contains("=50000"));
    assert!(
        script.queue.footprint() < 5000,
        "an idle queue gives its memory back"
    );
}

#[test]
fn a_stream_of_changes_does_not_starve_a_resync() {
    let mut script = Script::new(0);
    script.push(0, &["a", "b"]);
    script.all();
    script.resync();
    let mut calls = 0;
    let mut resynced = Vec::new();
    for i in 0..u64::from(10 * RESYNCED_ONE_IN) {
        script.push(i, &["busy"]);
        let told = script.pop().unwrap();
        calls += 1;
        if told.starts_with('=') {
            resynced.push((calls, told));
        }
    }
    let expect = [(1, "=a"), (2, "=b")].map(|(n, told)| (n * RESYNCED_ONE_IN, told.to_owned()));
    assert_eq!(resynced, expect);
}

#[test]
fn handlers_tell_how_far_they_are_behind() {
    let mut script = Script::new(3);
    let lag = |script: &Script, seconds: u64| {
        let lag = script.queue.lag(script.start + Duration::from_secs(seconds));
        (
            lag.pending,
            lag.resynced,
            lag.oldest.map(|oldest| oldest.as_secs()),
            lag.longest,
        )
    };
    assert_eq!(lag(&script, 0), (0, 0, None, 0));
    script.push(1, &["a", "b"]);
    script.push(2, &["a", "c"]);
    assert_eq!(lag(&script, 5), (4, 0, Some(4), 4));
    script.pop();
    script.pop();
    assert_eq!(lag(&script, 5), (2, 0, Some(3), 4));
    script.push(3, &["a", "c", "d"]);
    assert_eq!(lag(&script, 5), (5, 0, Some(3), 5));
    script.push(4, &["d"]);
    assert_eq!(lag(&script, 5), (3, 0, Some(3), 5), "merged: a, c and d are left");
    script.resync();
    assert_eq!(lag(&script, 5), (3, 1, Some(3), 5));
    script.push(6, &["b"]);
    script.all();
    assert_eq!(lag(&script, 9), (0, 0, None, 5));
    script.push(7, &["b"]);
    script.queue.close();
    script.push(8, &["b"]);
    script.resync();
    assert_eq!((lag(&script, 9), script.pop()), ((0, 0, None, 5), None));
}
