//! What readers of a store see while others write, under every order of steps that a random scheduler finds (shuttle).
//!
//! A step is a look at what is published, its replacement, or a try of the writers' lock. What happens between two of them
//! concerns one thread alone.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_core::ResourceVersion;
use shuttle::thread::{self, JoinHandle};

use super::{empty_store, record};
use crate::delta_fifo::{Batch, Delta};
use crate::record::Record;
use crate::store::{NAMESPACE_INDEX, Store};

thread_local! {
    /// All threads of a schedule are played by one of the system.
    static SCHEDULED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a scheduler plays this thread.
pub(crate) fn is_scheduled() -> bool {
    SCHEDULED.get()
}

/// Lets another thread go on, if a scheduler plays this one.
pub(crate) fn step() {
    if is_scheduled() {
        thread::yield_now();
    }
}

/// Schedules of each kind.
const SCHEDULES: usize = 600;

/// Plays a scenario under many schedules. A failure prints the schedule that shows it.
fn play(scenario: impl Fn() + Send + Sync + Clone + 'static) {
    struct Scheduled;
    impl Drop for Scheduled {
        fn drop(&mut self) {
            SCHEDULED.set(false);
        }
    }
    SCHEDULED.set(true);
    let _until_the_end = Scheduled;
    shuttle::check_random(scenario.clone(), SCHEDULES);
    // Few changes of the thread at places of all depths, which chance alone seldom finds.
    shuttle::check_pct(scenario, SCHEDULES / 3, 3);
}

fn store_of(ages: &[(&str, u64)]) -> Arc<Store> {
    let store = Arc::new(empty_store());
    store.add_index("age", Arc::new(|record| vec![record.version().to_owned()]));
    for (namespace, age) in ages {
        write(&store, namespace, *age);
    }
    store
}

/// A batch that makes all objects of a namespace one age. There are two of odd ages, three of even ones.
fn write(store: &Store, namespace: &str, age: u64) {
    let object = |name: &str, age| record(store, &format!("{namespace}/{name}"), name, age);
    let third = match age % 2 {
        0 => Delta::Upsert(object("c", age)),
        _ => Delta::Delete(object("c", age)),
    };
    let batch = Batch {
        deltas: vec![
            Delta::Upsert(object("a", age)),
            Delta::Upsert(object("b", age)),
            third,
        ],
        version: Some(ResourceVersion::new(age.to_string())),
    };
    store.apply(batch);
}

fn age_of(record: &Record) -> u64 {
    record.version().parse().unwrap()
}

/// The one age of what was found, if anything was.
fn age(found: &[Arc<Record>]) -> u64 {
    let Some(first) = found.first() else { return 0 };
    let age = age_of(first);
    assert!(
        found.iter().all(|record| age_of(record) == age),
        "half a batch: {found:?}"
    );
    let expect = if age.is_multiple_of(2) { 3 } else { 2 };
    assert_eq!(found.len(), expect, "half a batch of age {age}");
    age
}

fn version(store: &Store) -> u64 {
    store.version().as_str().parse().unwrap_or(0)
}

fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn(work)
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// No reader sees half a batch or goes back in time, and what an index finds is a batch as well.
#[test]
fn readers_see_whole_batches_in_their_order() {
    play(|| {
        let store = store_of(&[]);
        let writer = {
            let store = Arc::clone(&store);
            spawn(move || (1..=3).for_each(|age| write(&store, "x", age)))
        };
        let readers = (0..2).map(|_| {
            let store = Arc::clone(&store);
            spawn(move || {
                let mut seen = 0;
                for _ in 0..3 {
                    let listed = age(&store.list());
                    assert!(listed >= seen, "the list of {listed} came after {seen}");
                    let at = version(&store);
                    assert!(at >= listed, "version {at} came after {listed}");
                    let in_namespace = age(&store.by_index(NAMESPACE_INDEX, "x").unwrap());
                    assert!(in_namespace >= at);
                    // All of that age, or none any more.
                    let found = store.by_index("age", &in_namespace.to_string()).unwrap();
                    let found = age(&found);
                    assert!(found == in_namespace || found == 0);
                    let one = store.get(&kubewright_core::ObjectKey::namespaced("x", "a"));
                    let one = one.map_or(0, |record| age_of(&record));
                    assert!(one >= in_namespace, "one of {one} came after {in_namespace}");
                    seen = one;
                }
            })
        });
        join(readers.chain([writer]).collect::<Vec<_>>());
        assert_eq!(age(&store.list()), 3);
    });
}

/// Nothing that one writer published is lost by another, and an index has what came while it was made.
#[test]
fn writers_lose_nothing_of_each_other() {
    play(|| {
        let store = store_of(&[("x", 1)]);
        let writers = ["x", "y"].map(|namespace| {
            let store = Arc::clone(&store);
            spawn(move || {
                for age in 2..=3 {
                    write(&store, namespace, age);
                    let own = store.list_namespace(namespace);
                    assert_eq!(self::age(&own), age, "a writer sees what it wrote");
                }
            })
        });
        let indexer = {
            let store = Arc::clone(&store);
            spawn(move || {
                let late = Arc::new(|record: &Arc<Record>| vec![record.version().to_owned()]);
                assert!(store.add_index("late", late.clone()));
                assert!(!store.add_index("late", late), "there is one");
                let found = store.by_index("late", "2").expect("an index stays");
                for namespace in ["x", "y"] {
                    let of_it: Vec<_> = found
                        .iter()
                        .filter(|record| record.key().namespace.as_deref() == Some(namespace))
                        .cloned()
                        .collect();
                    age(&of_it);
                }
            })
        };
        join(writers.into_iter().chain([indexer]).collect::<Vec<_>>());
        for namespace in ["x", "y"] {
            assert_eq!(age(&store.list_namespace(namespace)), 3);
        }
        for index in ["age", "late"] {
            assert_eq!(store.by_index(index, "3").unwrap().len(), 4, "{index}");
            assert_eq!(store.by_index(index, "2").unwrap().len(), 0, "{index}");
        }
    });
}
