//! The task that follows definitions.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;
use tokio::sync::watch as signal;

use super::cleanup;
use super::compile::{Compiled, Resources};
use super::conditions;
use super::definition::{
    APPROVED, Condition, Definition, ESTABLISHED, NAMES_ACCEPTED, NON_STRUCTURAL, Names, TRUE, by_priority,
};
use super::names::{Decision, decide};
use crate::fieldmanager::{Conversions, Owners};
use crate::registry::Resource;
use crate::server::{Server, StartError};
use crate::storage::{
    Change, Encoded, Event, KeyPrefix, Revision, Storage, StorageError, StoredObject, Watch, WatchItem,
    WatchRequest, WatchStart,
};

/// Takes in the definitions that are stored and follows them from now on, until the server stops or is dropped.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn start(server: &Arc<Server>) -> Result<(), StartError> {
    let mut follower = Follower::default();
    let mut watch = open(server.storage()).await?;
    follower.take_state(server, &mut watch).await?;
    let stop = server.stop.subscribe();
    tokio::spawn(follow(
        follower,
        watch,
        server.options.storage.clone(),
        Arc::downgrade(server),
        stop,
    ));
    Ok(())
}

async fn open(storage: &dyn Storage) -> Result<Watch, StorageError> {
    // A watch from the state may show a cached one; afterwards the cache knows all that was stored before.
    storage.progress().await?;
    storage.watch(WatchRequest {
        prefix: KeyPrefix::resource(GROUP, PLURAL),
        start: WatchStart::State,
    })
}

/// Keeps only weak hold of the server, so that a server that nobody uses any longer ends with its task.
async fn follow(
    mut follower: Follower,
    mut watch: Watch,
    storage: Arc<dyn Storage>,
    weak: Weak<Server>,
    mut stop: signal::Receiver<bool>,
) {
    let mut batch = Vec::new();
    loop {
        let result = tokio::select! {
            biased;
            // Also when the server is gone, which drops the sender.
            _ = stop.wait_for(|stop| *stop) => return,
            result = watch.next_batch(BATCH, &mut batch) => result,
        };
        let Some(server) = weak.upgrade() else { return };
        match result {
            Ok(()) => {
                for item in batch.drain(..) {
                    if let WatchItem::Event(event) = item {
                        follower.take(&event);
                    }
                }
                follower.settle(&server).await;
            }
            Err(error) => {
                tracing::warn!(%error, "the watch on definitions ended and is begun anew");
                batch.clear();
                drop(server);
                let Some(again) = recover(&mut follower, &*storage, &weak, &mut stop).await else {
                    return;
                };
                watch = again;
            }
        }
    }
}

/// Reads the state anew, as often as it takes; `None` when the server stops. What was served stays served meanwhile.
async fn recover(
    follower: &mut Follower,
    storage: &dyn Storage,
    server: &Weak<Server>,
    stop: &mut signal::Receiver<bool>,
) -> Option<Watch> {
    loop {
        match open(storage).await {
            Ok(mut watch) => {
                follower.forget();
                match follower.take_state(&server.upgrade()?, &mut watch).await {
                    Ok(()) => return Some(watch),
                    Err(error) => tracing::warn!(%error, "definitions cannot be read"),
                }
            }
            Err(error) => tracing::warn!(%error, "definitions cannot be watched"),
        }
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return None,
            () = tokio::time::sleep(RETRY) => {}
        }
    }
}

/// The definitions and what became of them.
#[derive(Default)]
struct Follower {
    entries: BTreeMap<String, Entry>,
    /// What an interrupted watch left behind, so that it need not be compiled again.
    before: BTreeMap<String, Entry>,
    /// Uids of the definitions whose instances are being deleted.
    cleaning: HashSet<String>,
    /// Whether what is served has to be published.
    is_changed: bool,
}

struct Entry {
    object: StoredObject,
    definition: Definition,
    /// The names it has, told by its status or not yet.
    accepted: Names,
    decision: Option<Decision>,
    compiled: Option<Compiled>,
    resources: Resources,
    /// What its status is to say of its schema, found when the schema was there.
    structure: Option<Condition>,
    /// Whether the object changed since it was last looked at.
    is_dirty: bool,
}

impl Entry {
    /// What its status says of other things than its names, and should not.
    fn has_news(&self) -> bool {
        self.conditions()
            .into_iter()
            .any(|(kind, condition)| self.definition.condition(kind) != condition.as_ref())
    }

    /// What its status is to say of other things than its names. An approval that is no longer asked for stays.
    fn conditions(&self) -> Vec<(&'static str, Option<Condition>)> {
        let approval = conditions::approval(&self.definition).map(|condition| (APPROVED, Some(condition)));
        let structure = (NON_STRUCTURAL, self.structure.clone());
        approval.into_iter().chain([structure]).collect()
    }
}

impl Follower {
    /// Reads the initial state and settles it.
    async fn take_state(&mut self, server: &Arc<Server>, watch: &mut Watch) -> Result<(), StorageError> {
        loop {
            match watch.next().await? {
                WatchItem::Event(event) => self.take(&event),
                WatchItem::Synced(_) => break,
                WatchItem::Progress(_) => {}
            }
        }
        self.before.clear();
        self.settle(server).await;
        Ok(())
    }

    /// Begins anew, keeping what was compiled.
    fn forget(&mut self) {
        self.before.append(&mut self.entries);
        self.is_changed = true;
    }

    /// Takes in an event.
    fn take(&mut self, event: &Event) {
        match event.change() {
            Change::Added | Change::Modified => self.upsert(event.object().clone()),
            Change::Deleted => {
                if let Some(entry) = self.entries.remove(event.object().key().name()) {
                    self.cleaning.remove(&entry.definition.metadata.uid);
                    self.is_changed = true;
                }
            }
        }
    }

    fn upsert(&mut self, object: StoredObject) {
        let name = object.key().name().to_owned();
        if self
            .entries
            .get(&name)
            .is_some_and(|entry| entry.object.revision() >= object.revision())
        {
            return;
        }
        let mut definition = match Definition::parse(object.storage_bytes()) {
            Ok(definition) => definition,
            Err(error) => {
                tracing::error!(name, %error, "a stored definition cannot be read");
                self.is_changed |= self.entries.remove(&name).is_some();
                return;
            }
        };
        let structure = conditions::structure(&definition);
        let old = self.entries.remove(&name).or_else(|| self.before.remove(&name));
        let (compiled, resources) = old.map(|old| (old.compiled, old.resources)).unwrap_or_default();
        if compiled
            .as_ref()
            .is_some_and(|compiled: &Compiled| compiled.is_of(&definition))
        {
            definition.drop_schemas();
        }
        let accepted = definition.status.accepted_names.clone();
        let entry = Entry {
            object,
            definition,
            accepted,
            decision: None,
            compiled,
            resources,
            structure,
            is_dirty: true,
        };
        self.entries.insert(name, entry);
    }

    /// Brings the registry and the status of definitions in line with what was taken in.
    async fn settle(&mut self, server: &Arc<Server>) {
        // A written status may free names for others, which the next round sees.
        for _ in 0..MAX_ROUNDS {
            self.decide();
            self.renew(server).await;
            if !self.tell(server).await {
                break;
            }
        }
        self.clean_up(server);
    }

    /// Decides on names, the older definition first.
    fn decide(&mut self) {
        let open = self.entries.iter().filter(|(_, entry)| {
            let told = entry.definition.status.accepted_names == entry.definition.spec.names;
            entry.is_dirty || !told || !entry.definition.is(NAMES_ACCEPTED)
        });
        let mut open: Vec<(Revision, String)> = open
            .map(|(name, entry)| (entry.object.create_revision(), name.clone()))
            .collect();
        open.sort_unstable();
        for (_, name) in open {
            let Some(entry) = self.entries.get(&name) else {
                continue;
            };
            let definition = &entry.definition;
            if definition.is_terminating() && !definition.is(ESTABLISHED) {
                continue;
            }
            let same_group = |other: &&Entry| other.definition.spec.group == definition.spec.group;
            let others = self
                .entries
                .iter()
                .filter(|(other, _)| **other != name)
                .map(|(_, entry)| entry);
            let decision = decide(definition, others.filter(same_group).map(|other| &other.accepted));
            let Some(entry) = self.entries.get_mut(&name) else {
                continue;
            };
            // A kind that gets its names only now is compiled as if its definition were new.
            entry.is_dirty |= entry.accepted != decision.accepted;
            entry.accepted = decision.accepted.clone();
            entry.decision = Some(decision);
        }
    }

    /// Compiles what changed and publishes it. No custom resource is written meanwhile: what was begun by an old definition is
    /// stored before, or begun anew by the new one.
    async fn renew(&mut self, server: &Arc<Server>) {
        if self.is_changed || self.entries.values().any(|entry| entry.is_dirty) {
            let _alone = server.definitions.write().await;
            self.compile(server).await;
            self.publish(server);
        }
    }

    /// Compiles what changed.
    async fn compile(&mut self, server: &Arc<Server>) {
        let compiler = server.options.rule_compiler.as_deref();
        for entry in self.entries.values_mut().filter(|entry| entry.is_dirty) {
            entry.is_dirty = false;
            self.is_changed = true;
            let is_served = entry
                .decision
                .as_ref()
                .map_or_else(|| entry.definition.is(ESTABLISHED), Decision::is_established);
            if !is_served {
                entry.resources = Resources::default();
                continue;
            }
            let compiled = match entry.compiled.take() {
                Some(compiled) if compiled.is_of(&entry.definition) => compiled,
                None => Compiled::new(&entry.definition, entry.object.revision(), compiler),
                Some(_) => {
                    // Writes went by the old schema until now.
                    let now = server.storage().progress().await.unwrap_or_default();
                    let since = now.max(entry.object.revision()).next();
                    Compiled::new(&entry.definition, since, compiler)
                }
            };
            entry.resources = compiled.resources(&entry.definition, &entry.accepted);
            entry.compiled = Some(compiled);
            entry.definition.drop_schemas();
        }
    }

    /// Replaces the server's registry.
    fn publish(&mut self, server: &Server) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        let is_free = |resource: &&Arc<Resource>| {
            server
                .builtin
                .find(&resource.group, &resource.version, &resource.plural)
                .is_none()
        };
        let served = self.entries.values().flat_map(|entry| &entry.resources.served);
        let mut served: Vec<Arc<Resource>> = served.filter(is_free).cloned().collect();
        served.sort_by(|a, b| {
            let order = a
                .group
                .cmp(&b.group)
                .then_with(|| by_priority(&a.version, &b.version));
            order.then_with(|| a.plural.cmp(&b.plural))
        });
        *server.registry.write() = Arc::new(server.builtin.with_custom(served));
        server.published.send_replace(());
    }

    /// Writes decisions into the definitions. Says whether there is news to look at.
    async fn tell(&mut self, server: &Server) -> bool {
        let mut news = Vec::new();
        for entry in self.entries.values() {
            let Some(decision) = &entry.decision else { continue };
            if decision.is_told_by(&entry.definition) && !entry.has_news() {
                continue;
            }
            match write_status(server, entry, decision).await {
                Ok(object) | Err(StorageError::Conflict { current: object, .. }) => news.push(object),
                Err(StorageError::NotFound { .. }) => {}
                Err(error) => {
                    tracing::warn!(definition = entry.object.key().name(), %error, "a status cannot be written");
                }
            }
        }
        let is_news = !news.is_empty();
        for object in news {
            let name = object.key().name().to_owned();
            let known = self
                .entries
                .get(&name)
                .map(|entry| entry.definition.metadata.generation);
            self.upsert(object);
            // Only its status changed, by our own hand: what it makes stays as it is.
            if let Some(entry) = self.entries.get_mut(&name)
                && known == Some(entry.definition.metadata.generation)
                && !entry.definition.is_terminating()
            {
                entry.is_dirty = false;
            }
        }
        is_news
    }

    /// Begins to delete the instances of definitions that are being deleted.
    fn clean_up(&mut self, server: &Arc<Server>) {
        for entry in self
            .entries
            .values()
            .filter(|entry| entry.definition.awaits_cleanup())
        {
            if self.cleaning.insert(entry.definition.metadata.uid.clone()) {
                // What was never established has no instances.
                let resource = entry
                    .resources
                    .storage
                    .clone()
                    .filter(|_| entry.definition.is(ESTABLISHED));
                cleanup::start(server, entry.object.key().clone(), resource);
            }
        }
    }
}

async fn write_status(
    server: &Server,
    entry: &Entry,
    decision: &Decision,
) -> Result<StoredObject, StorageError> {
    let object = &entry.object;
    let mut definition = object.value();
    let before = without_spec(&mut definition);
    let now = server.now().to_string();
    decision.names.set_in(&mut definition, &now);
    decision.established.set_in(&mut definition, &now);
    if decision.names.status == TRUE || decision.accepted != Names::default() {
        definition["status"]["acceptedNames"] = serde_json::to_value(&decision.accepted).unwrap_or_default();
    }
    for (kind, condition) in entry.conditions() {
        match condition {
            Some(condition) => condition.set_in(&mut definition, &now),
            None => Condition::remove_from(&mut definition, kind),
        }
    }
    let mut definition = own_status(server, &before.parts, definition);
    if let (Some(fields), Some(spec)) = (definition.as_object_mut(), before.spec) {
        fields.insert("spec".to_owned(), spec);
    }
    server
        .storage()
        .update(
            object.key().clone(),
            object.revision(),
            Encoded::from_value(&definition),
        )
        .await
}

/// A definition taken apart: its specification, which can be large and does not change, and a copy of all else.
struct Before {
    spec: Option<Value>,
    parts: Value,
}

/// Takes the specification out.
fn without_spec(definition: &mut Value) -> Before {
    let spec = definition
        .as_object_mut()
        .and_then(|fields| fields.remove("spec"));
    let mut parts = definition.clone();
    // Go has the list, empty, from the beginning: that it exists is nobody's doing.
    if let Some(status) = parts.get_mut("status").and_then(Value::as_object_mut) {
        status
            .entry("conditions")
            .or_insert_with(|| Value::Array(Vec::new()));
    }
    Before { spec, parts }
}

/// Makes the server the owner of what it wrote into the status.
fn own_status(server: &Server, before: &Value, after: Value) -> Value {
    let registry = server.registry();
    let Some(resource) = registry.find(GROUP, VERSION, PLURAL).cloned() else {
        return after;
    };
    let (conversions, headers) = (Conversions::default(), HeaderMap::new());
    let owners = Owners::new(
        &resource,
        registry,
        &conversions,
        "status",
        MANAGER,
        &headers,
        server.now(),
    );
    owners.update(before, after)
}

/// Under which name the server writes.
const MANAGER: &str = "kube-apiserver";
/// The version in which definitions are stored.
const VERSION: &str = "v1";
/// Where definitions are stored.
pub(super) const GROUP: &str = "apiextensions.k8s.io";
/// Their resource.
pub(super) const PLURAL: &str = "customresourcedefinitions";
/// How many changes are taken in at once.
const BATCH: usize = 256;
/// How often names are decided on before the next change is awaited. One definition frees names for another at most once.
const MAX_ROUNDS: usize = 8;
/// How long to wait before a store that failed is asked again.
const RETRY: Duration = Duration::from_secs(1);
