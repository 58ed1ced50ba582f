//! The queue of one handler: whatever is merged, the handler is told a consistent story.

use std::collections::BTreeMap;

use kubewright_core::ResourceVersion;
use proptest::prelude::*;

use super::*;
use crate::delta_fifo::DeltaFifo;
use crate::listener::{Delivery, ListenerQueue};
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
    ) {
        let store = empty_store();
        let mut fifo = DeltaFifo::default();
        let mut queue = ListenerQueue::default();
        let mut knowledge = Knowledge::default();
        let mut version = 1;
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
                (5, _) => queue.resync(store.list()),
                (_, Some(uid)) => fifo.upsert(record(&store, &name, &uid, version)),
                (_, None) => {}
            }
            while let Some(batch) = fifo.pop() {
                store.apply(batch).into_iter().for_each(|change| queue.push(change));
            }
            prop_assert!(queue.len() <= 5, "one entry for a key");
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

#[test]
fn what_comes_and_goes_unseen_leaves_nothing() {
    let store = empty_store();
    let mut queue = ListenerQueue::default();
    for i in 0..10_000 {
        let new = record(&store, &format!("n/{i}"), "u", 1);
        queue.push(Change::Added {
            new: Arc::clone(&new),
            initial: crate::Initial::No,
        });
        queue.push(Change::Deleted {
            last: new,
            final_state: crate::FinalState::Known,
        });
    }
    assert_eq!(queue.len(), 0);
    assert!(queue.pop().is_none());
}

#[test]
fn the_initial_state_ends_with_a_mark() {
    let store = empty_store();
    let mut queue = ListenerQueue::default();
    let add = |key: &str| Change::Added {
        new: record(&store, key, "u", 1),
        initial: crate::Initial::Yes,
    };
    queue.push(add("n/a"));
    queue.mark_synced();
    queue.push(add("n/b"));
    let order: Vec<_> = std::iter::from_fn(|| queue.pop())
        .map(|delivery| match delivery {
            Delivery::Synced => "synced".to_owned(),
            Delivery::Change(Change::Added { new, .. }) => show(&new),
            Delivery::Change(other) => format!("{other:?}"),
        })
        .collect();
    assert_eq!(order, ["n/a=u@1", "synced", "n/b=u@1"]);
}
