//! Who owns whom: the graph of all objects, and what follows from a change of it. No I/O: changes come in, tasks go out,
//! and what a task comes to is decided from what was found out for it.
//!
//! It follows kubernetes `pkg/controller/garbagecollector` (`graph_builder.go`, `garbagecollector.go`) but for one thing:
//! an owner that is named but was not seen is not looked for by itself; each dependant looks for its owners.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use kubewright_core::{GroupResource, ObjectKey, PropagationPolicy};

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

pub(super) type Uid = Arc<str>;

/// An object as far as garbage collection is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) uid: Uid,
    pub(super) resource: GroupResource,
    pub(super) key: ObjectKey,
    pub(super) owners: Vec<Owner>,
    pub(super) deletion: Deletion,
}

/// A reference to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: Uid,
    pub(super) blocks: bool,
}

/// Whether an object is being deleted, and what is to become of its dependants first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    No,
    /// It is, and its dependants do not matter to it.
    Plain,
    /// Its dependants go first.
    Foreground,
    /// Its dependants are let go of first.
    Orphan,
}

/// What happened to an object.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Observed(Object),
    Gone(Uid),
}

/// Something to look into.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Task {
    /// Whether the object is garbage, or waits for dependants that are.
    Collect(Uid),
    /// Its dependants are to be let go of.
    Orphan(Uid),
}

/// What was found out about an owner of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    Present,
    /// It waits for its dependants to go.
    Waiting,
    Absent,
}

/// What is to be done about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    /// It is present for an owner alone that has not been seen by a watch: look again.
    Recheck,
    /// Owners that are gone, or wait for it to be, are taken off: others keep it.
    RemoveOwners(Vec<Uid>),
    /// It is garbage.
    Delete(PropagationPolicy),
    /// It is garbage in a circle of objects that wait for one another: its references must block no more.
    UnblockAndDelete(PropagationPolicy),
    /// It waits for these dependants.
    Wait(Vec<Uid>),
    /// It waits for nothing any more.
    RemoveForegroundFinalizer,
}

#[derive(Debug, Default)]
struct Node {
    /// `None` while it is known by references alone.
    object: Option<Object>,
    dependants: BTreeSet<Uid>,
}

/// The graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<Uid, Node>,
}

impl Graph {
    /// Takes a change in; what is to be looked into because of it.
    pub(super) fn step(&mut self, event: Event) -> Vec<Task> {
        let mut tasks = Vec::new();
        match event {
            Event::Observed(object) => self.observe(object, &mut tasks),
            Event::Gone(uid) => self.forget(&uid, &mut tasks),
        }
        tasks
    }

    pub(super) fn object(&self, uid: &Uid) -> Option<&Object> {
        self.nodes.get(uid)?.object.as_ref()
    }

    /// Objects that have this one among their owners.
    pub(super) fn dependants(&self, uid: &Uid) -> impl Iterator<Item = &Object> {
        let dependants = self.nodes.get(uid).map(|node| &node.dependants);
        dependants
            .into_iter()
            .flatten()
            .filter_map(|uid| self.object(uid))
    }

    /// All objects of a resource.
    pub(super) fn of_resource(&self, resource: &GroupResource) -> Vec<Uid> {
        self.nodes
            .values()
            .filter_map(|node| node.object.as_ref())
            .filter(|object| object.resource == *resource)
            .map(|object| Arc::clone(&object.uid))
            .collect()
    }

    fn observe(&mut self, object: Object, tasks: &mut Vec<Task>) {
        let uid = Arc::clone(&object.uid);
        let before = self.nodes.entry(Arc::clone(&uid)).or_default().object.take();
        let old: &[Owner] = before.as_ref().map_or(&[], |before| &before.owners);
        for owner in &object.owners {
            let known = old.iter().find(|known| known.uid == owner.uid);
            let node = self.nodes.entry(Arc::clone(&owner.uid)).or_default();
            node.dependants.insert(Arc::clone(&uid));
            let waits = node
                .object
                .as_ref()
                .map(|owner| owner.deletion == Deletion::Foreground);
            match (known, waits) {
                // The owner is not there, or about to go: the newcomer may be garbage.
                (None, None | Some(true)) => tasks.push(Task::Collect(Arc::clone(&uid))),
                // It blocks no more: perhaps the owner waited for nothing else.
                (Some(known), Some(true)) if known.blocks && !owner.blocks => {
                    tasks.push(Task::Collect(Arc::clone(&owner.uid)));
                }
                _ => {}
            }
        }
        for owner in old {
            if !object.owners.iter().any(|kept| kept.uid == owner.uid) {
                self.detach(&uid, &owner.uid, tasks);
            }
        }
        let was = before.as_ref().map_or(Deletion::No, |before| before.deletion);
        let is = object.deletion;
        let Some(node) = self.nodes.get_mut(&uid) else {
            return;
        };
        node.object = Some(object);
        if was != is {
            match is {
                Deletion::Foreground => {
                    tasks.extend(node.dependants.iter().cloned().map(Task::Collect));
                    tasks.push(Task::Collect(uid));
                }
                Deletion::Orphan => tasks.push(Task::Orphan(uid)),
                Deletion::No | Deletion::Plain => {}
            }
        }
    }

    fn forget(&mut self, uid: &Uid, tasks: &mut Vec<Task>) {
        let Some(node) = self.nodes.get_mut(uid) else {
            return;
        };
        let Some(object) = node.object.take() else { return };
        tasks.extend(node.dependants.iter().cloned().map(Task::Collect));
        if node.dependants.is_empty() {
            self.nodes.remove(uid);
        }
        for owner in &object.owners {
            self.detach(uid, &owner.uid, tasks);
        }
    }

    /// An object is no dependant of an owner any more.
    fn detach(&mut self, uid: &Uid, owner: &Uid, tasks: &mut Vec<Task>) {
        let Some(node) = self.nodes.get_mut(owner) else {
            return;
        };
        node.dependants.remove(uid);
        match &node.object {
            None if node.dependants.is_empty() => drop(self.nodes.remove(owner)),
            Some(object) if object.deletion == Deletion::Foreground => {
                tasks.push(Task::Collect(Arc::clone(owner)));
            }
            _ => {}
        }
    }

    /// Decides about an object, given what the server says of it (`live`) and of its owners, in their order.
    pub(super) fn decide(&self, live: &Object, owners: &[OwnerState]) -> Action {
        match live.deletion {
            Deletion::Foreground => return self.decide_foreground(live),
            Deletion::Plain | Deletion::Orphan => return Action::Nothing,
            Deletion::No => {}
        }
        if live.owners.is_empty() {
            return Action::Nothing;
        }
        let with = |states: &[OwnerState]| -> Vec<&Owner> {
            let pairs = live.owners.iter().zip(owners);
            pairs
                .filter(|(_, state)| states.contains(state))
                .map(|(owner, _)| owner)
                .collect()
        };
        let present = with(&[OwnerState::Present]);
        if !present.is_empty() {
            let useless = with(&[OwnerState::Absent, OwnerState::Waiting]);
            if !useless.is_empty() {
                return Action::RemoveOwners(useless.iter().map(|owner| Arc::clone(&owner.uid)).collect());
            }
            // Watches tell when an owner goes that they have told of. One that they have not may go unnoticed.
            let is_seen = present.iter().any(|owner| self.object(&owner.uid).is_some());
            return if is_seen { Action::Nothing } else { Action::Recheck };
        }
        let mut dependants = self.dependants(&live.uid).peekable();
        if !with(&[OwnerState::Waiting]).is_empty() && dependants.peek().is_some() {
            let is_circle = dependants.any(|dependant| dependant.deletion == Deletion::Foreground);
            return if is_circle {
                Action::UnblockAndDelete(PropagationPolicy::Foreground)
            } else {
                Action::Delete(PropagationPolicy::Foreground)
            };
        }
        Action::Delete(PropagationPolicy::Background)
    }

    fn decide_foreground(&self, live: &Object) -> Action {
        let blocking: Vec<&Object> = self
            .dependants(&live.uid)
            .filter(|dependant| {
                let mut owners = dependant.owners.iter();
                owners.any(|owner| owner.uid == live.uid && owner.blocks)
            })
            .collect();
        if blocking.is_empty() {
            return Action::RemoveForegroundFinalizer;
        }
        // Those that wait themselves are looked into when what they wait for goes.
        let open = blocking
            .iter()
            .filter(|dependant| dependant.deletion == Deletion::No);
        Action::Wait(open.map(|dependant| Arc::clone(&dependant.uid)).collect())
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
