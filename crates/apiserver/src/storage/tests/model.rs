//! The store against a naive model: all events ever, and every state by replaying them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Create(Key),
    Update(Key),
    Delete(Key),
    /// A write that expects the wrong revision.
    Clash(Key),
    /// Compact to this many revisions ago.
    Compact(u64),
    /// List a range as it was this many revisions ago, from the nth key of the range on.
    List {
        prefix: KeyPrefix,
        ago: u64,
        start: Option<usize>,
        limit: Option<usize>,
    },
    /// Watch from this many revisions ago; `None`: from the state.
    Watch(KeyPrefix, Option<u64>),
    /// Let one of the watches read.
    Read(usize, usize),
    /// Drop one of the watches.
    Leave(usize),
}

fn keys() -> impl Strategy<Value = Key> {
    (
        prop_oneof![Just("pods"), Just("nodes")],
        prop_oneof![Just("a"), Just("b"), Just("ab")],
        0..3_u8,
    )
        .prop_map(|(resource, namespace, name)| {
            let namespace = (resource == "pods").then_some(namespace);
            Key::new("", resource, namespace, &format!("x{name}"))
        })
}

fn prefixes() -> impl Strategy<Value = KeyPrefix> {
    prop_oneof![
        Just(KeyPrefix::all()),
        Just(pods()),
        Just(pods_in("a")),
        Just(pods_in("ab")),
        Just(KeyPrefix::resource("", "nodes")),
        Just(KeyPrefix::resource("", "none")),
    ]
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => keys().prop_map(Op::Create),
        6 => keys().prop_map(Op::Update),
        4 => keys().prop_map(Op::Delete),
        1 => keys().prop_map(Op::Clash),
        1 => (0..12_u64).prop_map(Op::Compact),
        4 => (prefixes(), 0..12_u64, prop::option::of(0..4_usize), prop::option::of(0..4_usize))
            .prop_map(|(prefix, ago, start, limit)| Op::List { prefix, ago, start, limit }),
        3 => (prefixes(), prop::option::weighted(0.7, 0..12_u64)).prop_map(|(prefix, ago)| Op::Watch(prefix, ago)),
        6 => (0..8_usize, 1..4_usize).prop_map(|(watch, max)| Op::Read(watch, max)),
        1 => (0..8_usize).prop_map(Op::Leave),
    ]
}

/// The state of an object: revision of creation, revision, generation.
type Told = (u64, u64, u64);

type State = BTreeMap<Key, Told>;

struct Model {
    /// By revision, from 2 on: the key, and its state or that it was deleted.
    events: Vec<(Key, Option<Told>)>,
    limit: usize,
    compacted: u64,
}

impl Model {
    fn revision(&self) -> u64 {
        self.events.len() as u64 + 1
    }

    fn at(&self, revision: u64) -> State {
        let mut state = State::new();
        for (key, change) in &self.events[..(revision - 1) as usize] {
            match change {
                Some(object) => state.insert(key.clone(), *object),
                None => state.remove(key),
            };
        }
        state
    }

    /// The latest revision that is certainly forgotten for the range, and one that bounds what may be.
    fn floors(&self, prefix: &KeyPrefix) -> (u64, u64) {
        let discarded = ((self.revision() - 1) as usize)
            .saturating_sub(self.limit)
            .max(self.compacted.saturating_sub(1) as usize);
        let own = self.events[..discarded]
            .iter()
            .rposition(|(key, _)| prefix.contains(key))
            .map_or(0, |at| at as u64 + 2);
        (
            own.max(self.compacted),
            (discarded as u64 + 1).max(self.compacted),
        )
    }

    /// Whether an answer about the past may be, or must be, that it is gone.
    fn check_compacted(&self, prefix: &KeyPrefix, revision: u64, gone: bool) {
        let (must, may) = self.floors(prefix);
        if gone {
            assert!(
                revision < may,
                "{prefix} at {revision} was refused, though nothing before {may} is gone"
            );
        } else {
            assert!(
                revision >= must,
                "{prefix} at {revision} was answered, though {must} is gone"
            );
        }
    }
}

struct Reader {
    watch: Watch,
    prefix: KeyPrefix,
    /// What it holds by what it was told.
    state: State,
    /// Up to where it was told everything.
    revision: u64,
    /// It is still being told the state at the beginning.
    beginning: bool,
}

fn told(object: &StoredObject) -> Told {
    (
        object.create_revision().0,
        object.revision().0,
        generation(object),
    )
}

impl Reader {
    fn take(&mut self, item: &WatchItem, model: &Model) {
        let event = match item {
            WatchItem::Event(event) => event,
            WatchItem::Synced(revision) => {
                assert!(self.beginning);
                self.beginning = false;
                self.revision = revision.0;
                let mut expect = model.at(revision.0);
                expect.retain(|key, _| self.prefix.contains(key));
                assert_eq!(self.state, expect);
                return;
            }
            WatchItem::Progress(_) => panic!("not from this store"),
        };
        let key = event.object().key().clone();
        if self.beginning {
            assert_eq!(event.change(), Change::Added);
            assert!(
                self.state.last_key_value().is_none_or(|(last, _)| *last < key),
                "in order"
            );
            self.state.insert(key, told(event.object()));
            return;
        }
        let expect = (self.revision + 1..=model.revision())
            .find(|revision| self.prefix.contains(&model.events[*revision as usize - 2].0))
            .expect("nothing happened, yet an event came");
        let (expect_key, expect_state) = &model.events[expect as usize - 2];
        assert_eq!((event.revision().0, &key), (expect, expect_key));
        let before = self.state.get(&key).copied();
        assert_eq!(event.previous().map(told), before);
        match expect_state {
            Some(state) => {
                assert_eq!(
                    event.change(),
                    if before.is_some() {
                        Change::Modified
                    } else {
                        Change::Added
                    }
                );
                assert_eq!(told(event.object()), *state);
                self.state.insert(key, *state);
            }
            None => {
                assert_eq!(event.change(), Change::Deleted);
                assert_eq!(
                    Some(generation(event.object())),
                    before.map(|(_, _, generation)| generation)
                );
                self.state.remove(&key);
            }
        }
        self.revision = expect;
    }
}

struct Run {
    store: MemoryStorage,
    model: Model,
    readers: Vec<Reader>,
}

impl Run {
    fn write(&mut self, op: &Op) {
        let next = self.model.revision() + 1;
        let state = self.model.at(self.model.revision());
        match op {
            Op::Create(key) => match (now(self.store.create(key.clone(), encoded(next))), state.get(key)) {
                (Ok(object), None) => {
                    assert_eq!(told(&object), (next, next, next));
                    self.model.events.push((key.clone(), Some((next, next, next))));
                }
                (Err(StorageError::AlreadyExists { current }), Some(held)) => {
                    assert_eq!(told(&current), *held)
                }
                (answer, held) => panic!("{answer:?} with {held:?}"),
            },
            Op::Update(key) => {
                let held = state.get(key);
                let expected = Revision(held.map_or(1, |held| held.1));
                match (now(self.store.update(key.clone(), expected, encoded(next))), held) {
                    (Ok(object), Some(held)) => {
                        assert_eq!(told(&object), (held.0, next, next));
                        self.model.events.push((key.clone(), Some((held.0, next, next))));
                    }
                    (Err(StorageError::NotFound { .. }), None) => {}
                    (answer, held) => panic!("{answer:?} with {held:?}"),
                }
            }
            Op::Delete(key) => {
                let held = state.get(key);
                let expected = Revision(held.map_or(1, |held| held.1));
                match (now(self.store.delete(key.clone(), expected)), held) {
                    (Ok(object), Some(held)) => {
                        assert_eq!(told(&object), (held.0, next, held.2));
                        self.model.events.push((key.clone(), None));
                    }
                    (Err(StorageError::NotFound { .. }), None) => {}
                    (answer, held) => panic!("{answer:?} with {held:?}"),
                }
            }
            Op::Clash(key) => {
                let wrong = Revision(next + 7);
                let answers = [
                    now(self.store.update(key.clone(), wrong, encoded(0))),
                    now(self.store.delete(key.clone(), wrong)),
                ];
                for answer in answers {
                    match (answer, state.get(key)) {
                        (Err(StorageError::Conflict { current, .. }), Some(held)) => {
                            assert_eq!(told(&current), *held)
                        }
                        (Err(StorageError::NotFound { .. }), None) => {}
                        (answer, held) => panic!("{answer:?} with {held:?}"),
                    }
                }
            }
            _ => unreachable!("not a write"),
        }
    }

    fn list(&self, prefix: &KeyPrefix, ago: u64, start: Option<usize>, limit: Option<usize>) {
        let revision = self.model.revision().saturating_sub(ago).max(1);
        let at = if ago == 0 {
            At::Latest
        } else {
            At::Exact(Revision(revision))
        };
        let mut expect = self.model.at(revision);
        expect.retain(|key, _| prefix.contains(key));
        let start = start
            .and_then(|nth| expect.keys().nth(nth))
            .map(ToString::to_string);
        let mut request = RangeRequest {
            prefix: prefix.clone(),
            start: start.clone(),
            limit,
            at,
            remaining: Remaining::Counted,
        };
        let answer = now(self.store.range(request.clone()));
        self.model.check_compacted(
            prefix,
            revision,
            answer.as_ref().is_err_and(StorageError::is_compacted),
        );
        let Ok(response) = answer else { return };
        assert_eq!(response.revision.0, revision);
        expect.retain(|key, _| start.as_deref().is_none_or(|start| key.as_str() >= start));
        let listed: Vec<_> = response
            .items
            .iter()
            .map(|object| (object.key().clone(), told(object)))
            .collect();
        let limit = limit.unwrap_or(usize::MAX);
        assert_eq!(listed, expect.clone().into_iter().take(limit).collect::<Vec<_>>());
        let remaining = expect.len().saturating_sub(limit);
        assert_eq!(response.remaining, Some(remaining));
        assert_eq!(response.next.is_some(), remaining > 0);
        if let Some(next) = response.next {
            request.start = Some(next);
            request.limit = Some(1);
            let second = now(self.store.range(request.clone())).unwrap();
            assert_eq!(second.remaining, Some(remaining - 1));
            request.limit = None;
            let rest = now(self.store.range(request)).unwrap();
            let listed: Vec<_> = rest
                .items
                .iter()
                .map(|object| (object.key().clone(), told(object)))
                .collect();
            assert_eq!(listed, expect.into_iter().skip(limit).collect::<Vec<_>>());
        }
    }

    fn watch(&mut self, prefix: &KeyPrefix, ago: Option<u64>) {
        let revision = ago.map(|ago| self.model.revision().saturating_sub(ago).max(1));
        let start = revision.map_or(WatchStart::State, |revision| {
            WatchStart::After(Revision(revision))
        });
        let answer = self.store.watch(WatchRequest {
            prefix: prefix.clone(),
            start,
        });
        if let Some(revision) = revision {
            self.model.check_compacted(
                prefix,
                revision,
                answer.as_ref().is_err_and(StorageError::is_compacted),
            );
        }
        let Ok(watch) = answer else { return };
        let mut state = revision.map_or_else(State::new, |revision| self.model.at(revision));
        state.retain(|key, _| prefix.contains(key));
        self.readers.push(Reader {
            watch,
            prefix: prefix.clone(),
            state,
            revision: revision.unwrap_or(0),
            beginning: revision.is_none(),
        });
    }

    /// Lets a reader read; one that fell behind leaves. Gives whether there was anything.
    fn read(&mut self, index: usize, max: usize) -> bool {
        if self.readers.is_empty() {
            return false;
        }
        let index = index % self.readers.len();
        let reader = &mut self.readers[index];
        let mut items = Vec::new();
        match reader.watch.try_next_batch(max, &mut items) {
            Ok(count) => {
                assert!(count <= max && count == items.len());
                if count == 0 {
                    let later = &self.model.events[reader.revision as usize - 1..];
                    assert!(
                        !later.iter().any(|(key, _)| reader.prefix.contains(key)),
                        "events were kept back"
                    );
                    assert_eq!(reader.watch.progress(), Some(Revision(self.model.revision())));
                }
                items.iter().for_each(|item| reader.take(item, &self.model));
                count > 0
            }
            Err(err) => {
                assert!(err.is_compacted(), "{err}");
                let (must, _) = self.model.floors(&KeyPrefix::all());
                assert!(
                    reader.beginning || reader.revision < must,
                    "at {} of {must}",
                    reader.revision
                );
                let own = self.model.events[(reader.revision as usize).saturating_sub(1)..]
                    .iter()
                    .any(|(key, _)| reader.prefix.contains(key));
                assert!(own, "it had missed nothing of its own");
                self.readers.swap_remove(index);
                false
            }
        }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Create(_) | Op::Update(_) | Op::Delete(_) | Op::Clash(_) => self.write(op),
            Op::Compact(ago) => {
                let before = self.model.revision().saturating_sub(*ago).max(1);
                now(self.store.compact(Revision(before))).unwrap();
                self.model.compacted = self.model.compacted.max(before);
            }
            Op::List {
                prefix,
                ago,
                start,
                limit,
            } => self.list(prefix, *ago, *start, *limit),
            Op::Watch(prefix, ago) => self.watch(prefix, *ago),
            Op::Read(index, max) => drop(self.read(*index, *max)),
            Op::Leave(index) => {
                if !self.readers.is_empty() {
                    self.readers.swap_remove(index % self.readers.len());
                }
            }
        }
        let (events, _) = self.store.history_size();
        assert!(events <= self.model.limit.max(1));
        for prefix in [KeyPrefix::all(), pods(), pods_in("ab")] {
            let state = self.model.at(self.model.revision());
            let expect = state.keys().filter(|key| prefix.contains(key)).count();
            assert_eq!(self.store.hub().read(|mvcc| mvcc.count(&prefix)), expect);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(ops in prop::collection::vec(ops(), 1..80), limit in prop_oneof![1..8_usize, Just(1000)]) {
        let store = MemoryStorage::with_limits(Limits { max_events: limit, ..Limits::default() });
        let model = Model { events: Vec::new(), limit, compacted: 0 };
        let mut run = Run { store, model, readers: Vec::new() };
        ops.iter().for_each(|op| run.step(op));
        while !run.readers.is_empty() {
            while run.read(0, 3) {}
            if !run.readers.is_empty() {
                run.readers.swap_remove(0);
            }
        }
        prop_assert_eq!(run.store.hub().sleeping(), 0);
    }
}
