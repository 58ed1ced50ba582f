//! A small world in which the graph collects garbage, with events that come late and in any order between resources.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;

fn uid(number: usize) -> Uid {
    format!("{number:03}").into()
}

fn object(number: usize, owners: &[usize]) -> Object {
    Object {
        uid: uid(number),
        resource: GroupResource::new("", "things"),
        key: ObjectKey::namespaced("n", format!("o{number}")),
        owners: owners
            .iter()
            .map(|owner| Owner {
                uid: uid(*owner),
                blocks: true,
            })
            .collect(),
        deletion: Deletion::No,
    }
}

/// The server: objects, and events on their way in a queue for each object, so that order holds for an object alone.
#[derive(Default)]
struct World {
    live: BTreeMap<Uid, Object>,
    coming: BTreeMap<Uid, VecDeque<Event>>,
    graph: Graph,
    tasks: BTreeSet<Task>,
}

impl World {
    fn write(&mut self, object: Object) {
        let events = self.coming.entry(Arc::clone(&object.uid)).or_default();
        events.push_back(Event::Observed(object.clone()));
        self.live.insert(Arc::clone(&object.uid), object);
    }

    fn remove(&mut self, uid: &Uid) {
        if self.live.remove(uid).is_some() {
            self.coming
                .entry(Arc::clone(uid))
                .or_default()
                .push_back(Event::Gone(Arc::clone(uid)));
        }
    }

    /// As a server deletes: finalizers of the policy hold the object.
    fn delete(&mut self, uid: &Uid, policy: PropagationPolicy) {
        let Some(object) = self.live.get(uid) else { return };
        let deletion = match policy {
            PropagationPolicy::Background if object.deletion == Deletion::No => return self.remove(uid),
            PropagationPolicy::Foreground => Deletion::Foreground,
            PropagationPolicy::Orphan => Deletion::Orphan,
            PropagationPolicy::Background => return,
        };
        if object.deletion == Deletion::No {
            self.write(Object {
                deletion,
                ..object.clone()
            });
        }
    }

    fn step(&mut self, random: &mut fastrand::Rng) -> bool {
        let waiting: Vec<Uid> = self.coming.keys().cloned().collect();
        if !waiting.is_empty() && (self.tasks.is_empty() || random.bool()) {
            let uid = &waiting[random.usize(..waiting.len())];
            let Some(events) = self.coming.get_mut(uid) else {
                return true;
            };
            let event = events.pop_front();
            if events.is_empty() {
                self.coming.remove(uid);
            }
            self.tasks
                .extend(event.into_iter().flat_map(|event| self.graph.step(event)));
            return true;
        }
        let tasks: Vec<Task> = self.tasks.iter().cloned().collect();
        if tasks.is_empty() {
            return false;
        }
        let task = &tasks[random.usize(..tasks.len())];
        self.tasks.remove(task);
        self.run(task);
        true
    }

    fn run(&mut self, task: &Task) {
        match task {
            Task::Collect(uid) => {
                let Some(live) = self.live.get(uid).cloned() else {
                    return;
                };
                let states: Vec<_> = live.owners.iter().map(|owner| self.state(&owner.uid)).collect();
                self.act(&live, self.graph.decide(&live, &states));
            }
            Task::Orphan(uid) => {
                let dependants: Vec<Uid> = self.graph.dependants(uid).map(|o| Arc::clone(&o.uid)).collect();
                for dependant in dependants {
                    self.take_owners_off(&dependant, std::slice::from_ref(uid));
                }
                self.remove(uid);
            }
        }
    }

    fn state(&self, owner: &Uid) -> OwnerState {
        match self.live.get(owner).map(|owner| owner.deletion) {
            None => OwnerState::Absent,
            Some(Deletion::Foreground) => OwnerState::Waiting,
            Some(_) => OwnerState::Present,
        }
    }

    fn act(&mut self, live: &Object, action: Action) {
        match action {
            Action::Nothing => {}
            Action::Recheck => drop(self.tasks.insert(Task::Collect(Arc::clone(&live.uid)))),
            Action::RemoveOwners(owners) => self.take_owners_off(&live.uid, &owners),
            Action::Delete(policy) => {
                // Never what is owned by something that stays.
                assert!(
                    live.owners
                        .iter()
                        .all(|owner| self.state(&owner.uid) != OwnerState::Present),
                    "{live:?}"
                );
                self.delete(&live.uid, policy);
            }
            Action::UnblockAndDelete(policy) => {
                let mut open = live.clone();
                open.owners.iter_mut().for_each(|owner| owner.blocks = false);
                self.write(open);
                self.delete(&live.uid, policy);
            }
            Action::Wait(dependants) => self.tasks.extend(dependants.into_iter().map(Task::Collect)),
            Action::RemoveForegroundFinalizer => self.remove(&live.uid),
        }
    }

    fn take_owners_off(&mut self, uid: &Uid, owners: &[Uid]) {
        if let Some(object) = self.live.get(uid) {
            let mut object = object.clone();
            object.owners.retain(|owner| !owners.contains(&owner.uid));
            self.write(object);
        }
    }

    /// Runs until nothing happens any more.
    fn settle(&mut self, random: &mut fastrand::Rng, seed: u64) {
        for steps in 0.. {
            assert!(steps < 100_000, "seed {seed} does not settle: {:?}", self.tasks);
            if !self.step(random) {
                return;
            }
        }
    }
}

/// What should be left of a graph without circles when roots are deleted: who has an owner left, or never had one.
fn expected(owners: &[Vec<usize>], deleted: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut left = BTreeSet::new();
    // Owners have smaller numbers.
    for (number, of) in owners.iter().enumerate() {
        let is_kept = of.is_empty() || of.iter().any(|owner| left.contains(owner));
        if is_kept && !deleted.contains(&number) {
            left.insert(number);
        }
    }
    left
}

#[test]
fn everything_without_an_owner_goes_and_nothing_else() {
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(2..14);
        let owners: Vec<Vec<usize>> = (0..count)
            .map(|number| (0..number).filter(|_| random.u8(..4) == 0).collect())
            .collect();
        let mut world = World::default();
        for (number, of) in owners.iter().enumerate() {
            world.write(object(number, of));
            if random.bool() {
                world.step(&mut random);
            }
        }
        let mut deleted = BTreeSet::new();
        for (number, of) in owners.iter().enumerate() {
            if of.is_empty() && random.bool() {
                deleted.insert(number);
                let policy =
                    [PropagationPolicy::Background, PropagationPolicy::Foreground][random.usize(..2)];
                world.delete(&uid(number), policy);
                world.step(&mut random);
            }
        }
        world.settle(&mut random, seed);
        let left: BTreeSet<Uid> = world.live.keys().cloned().collect();
        let expect: BTreeSet<Uid> = expected(&owners, &deleted).into_iter().map(uid).collect();
        assert_eq!(left, expect, "seed {seed}: {owners:?} without {deleted:?}");
    }
}

#[test]
fn foreground_deletion_takes_dependants_first() {
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::default();
        for (number, owners) in [&[][..], &[0], &[1]].into_iter().enumerate() {
            world.write(object(number, owners));
        }
        world.settle(&mut random, seed);
        world.delete(&uid(0), PropagationPolicy::Foreground);
        let mut order = Vec::new();
        loop {
            let before: BTreeSet<Uid> = world.live.keys().cloned().collect();
            let goes_on = world.step(&mut random);
            order.extend(before.into_iter().filter(|uid| !world.live.contains_key(uid)));
            if !goes_on {
                break;
            }
        }
        assert_eq!(order, [uid(2), uid(1), uid(0)], "seed {seed}");
    }
}

#[test]
fn orphans_stay() {
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::default();
        for (number, owners) in [&[][..], &[0], &[0]].into_iter().enumerate() {
            world.write(object(number, owners));
        }
        world.settle(&mut random, seed);
        world.delete(&uid(0), PropagationPolicy::Orphan);
        world.settle(&mut random, seed);
        let left: Vec<_> = world
            .live
            .values()
            .map(|object| (Arc::clone(&object.uid), object.owners.len()))
            .collect();
        assert_eq!(left, [(uid(1), 0), (uid(2), 0)], "seed {seed}");
    }
}

#[test]
fn circles_of_waiting_objects_are_broken() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::default();
        world.write(object(0, &[2]));
        world.write(object(1, &[0]));
        world.write(object(2, &[1]));
        world.settle(&mut random, seed);
        world.delete(&uid(0), PropagationPolicy::Foreground);
        world.settle(&mut random, seed);
        assert!(world.live.is_empty(), "seed {seed}: {:?}", world.live);
    }
}

#[test]
fn memory_is_given_back() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut world = World::default();
    world.write(object(0, &[]));
    for number in 1..50 {
        world.write(object(number, &[0, 99]));
    }
    world.settle(&mut random, 1);
    world.delete(&uid(0), PropagationPolicy::Background);
    world.settle(&mut random, 1);
    assert!(world.live.is_empty());
    assert!(world.graph.nodes.is_empty(), "{:?}", world.graph.nodes);
}
