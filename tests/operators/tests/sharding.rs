//! Replicas that share out objects, against the server: they come, leave and are cut off, and each object is always in
//! the hands of one of them at most.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_cache::sharding::{
    RING_LABEL, RingOptions, RingTiming, Shard, ShardBy, ShardKey, ShardedHandler, ShardedRegistration,
};
use kubewright_cache::{
    Cached, EventHandler, FinalState, HandlerOptions, InformerOptions, Informers, Initial, Lister, WatchScope,
};
use kubewright_client::{Api, Client, ClientOptions, DeleteOptions, ListOptions, RateLimit};
use kubewright_core::{LabelSelector, ObjectKey, Scope, StaticResource};
use kubewright_net::{Body, HttpService, TransportError};
use kubewright_runtime::{
    Controller, Handle, Manager, ManagerOptions, Operator, Outcome, WatchOptions, reconcile_fn,
};
use kubewright_tests_operators::{Cluster, LIMIT};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Kind and name of each object that a replica was told of.
type Told = BTreeSet<(&'static str, String)>;

/// What all replicas know, by their names.
type World = watch::Sender<BTreeMap<String, Told>>;

struct Note {
    world: World,
    hands: Arc<Hands>,
    replica: String,
    kind: &'static str,
}

impl Note {
    fn change(&self, name: &str, change: impl FnOnce(&mut Told, (&'static str, String)) -> bool) {
        let entry = (self.kind, name.to_owned());
        self.world.send_modify(|world| {
            let told = world.entry(self.replica.clone()).or_default();
            if !change(told, entry) {
                self.hands.fault(format!(
                    "{} is told of {} {name} what does not fit",
                    self.replica, self.kind
                ));
            }
        });
    }
}

impl<K> EventHandler<K> for Note {
    fn on_add(&self, object: &Cached<K>, _: Initial) {
        self.change(object.name(), |told, entry| told.insert(entry));
    }

    fn on_update(&self, _: &Cached<K>, object: &Cached<K>) {
        self.change(object.name(), |told, entry| told.contains(&entry));
    }

    fn on_delete(&self, object: &Cached<K>, _: FinalState) {
        self.change(object.name(), |told, entry| told.remove(&entry));
    }
}

impl<K> ShardedHandler<K> for Note {
    fn on_released(&self, object: &Cached<K>) {
        self.change(object.name(), |told, entry| told.remove(&entry));
    }
}

struct Replica {
    shard: Shard,
    cut_off: Arc<AtomicBool>,
    worker: AbortHandle,
    _handlers: [ShardedRegistration; 2],
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

/// Who has which object in hand, and what went wrong in tasks, whose panics nobody would see.
#[derive(Default)]
struct Hands {
    now: Mutex<BTreeMap<usize, String>>,
    faults: Mutex<Vec<String>>,
}

impl Hands {
    fn fault(&self, what: String) {
        self.faults.lock().push(what);
    }
}

fn key(number: usize) -> ShardKey {
    let name = ObjectKey::namespaced("default", format!("map-{number}"));
    ShardKey::of(&ConfigMap::api_resource(), &name)
}

fn ring(replica: &str) -> RingOptions {
    let timing = RingTiming::new(
        Duration::from_secs(2),
        Duration::from_millis(1500),
        Duration::from_millis(150),
    );
    RingOptions {
        timing: timing.unwrap(),
        ..RingOptions::new("tests", "default", replica)
    }
}

fn join(cluster: &Cluster, name: &str, world: &World, hands: &Arc<Hands>) -> Replica {
    let cut_off = Arc::new(AtomicBool::new(false));
    let shard = Shard::join(&breakable(&cluster.client, &cut_off), ring(name));
    let informers = Informers::new(cluster.client.clone(), InformerOptions::default());
    let note = |kind| Note {
        world: world.clone(),
        hands: Arc::clone(hands),
        replica: name.to_owned(),
        kind,
    };
    let scope = WatchScope::namespace("default");
    let maps = informers.informer::<ConfigMap>(&scope);
    let secrets = informers.informer::<Secret>(&scope);
    let owned = ShardBy::Controller {
        resource: Secret::api_resource(),
        owners: Scope::Namespaced,
    };
    let own = ShardBy::Own(ConfigMap::api_resource());
    let handlers = [
        maps.add_sharded_handler(note("map"), HandlerOptions::default(), &shard, own),
        secrets.add_sharded_handler(note("secret"), HandlerOptions::default(), &shard, owned),
    ];
    let worker = tokio::spawn(work(shard.clone(), name.to_owned(), Arc::clone(hands)));
    Replica {
        shard,
        cut_off,
        worker: worker.abort_handle(),
        _handlers: handlers,
    }
}

/// Takes every object in hand that it can, one after another, for ever.
async fn work(shard: Shard, name: String, hands: Arc<Hands>) {
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    loop {
        for number in 0..OBJECTS {
            let Some(hand) = shard.begin(key(number)) else {
                continue;
            };
            if let Some(other) = hands.now.lock().insert(number, name.clone()) {
                hands.fault(format!("{name} and {other} have {number}"));
            }
            tokio::select! {
                () = hand.revoked() => {}
                _ = tick.tick() => {}
            }
            hands.now.lock().remove(&number);
        }
        tick.tick().await;
    }
}

/// A client whose requests fail while the switch is on.
fn breakable(client: &Client, cut_off: &Arc<AtomicBool>) -> Client {
    let cut_off = Arc::clone(cut_off);
    client.layer(&tower_layer::layer_fn(move |inner: HttpService| {
        let cut_off = Arc::clone(&cut_off);
        HttpService::from_fn(move |request: http::Request<Body>| {
            let (cut_off, inner) = (Arc::clone(&cut_off), inner.clone());
            async move {
                if cut_off.load(Ordering::SeqCst) {
                    return Err(TransportError::other("testing", std::io::Error::other("cut off")));
                }
                inner.send(request).await
            }
        })
    }))
}

/// Which replica reconciled which object how often, and which one did last.
#[derive(Default, Clone, Debug)]
struct Done {
    counts: BTreeMap<(usize, &'static str), usize>,
    last: BTreeMap<usize, &'static str>,
    /// Reconciliations that have begun and do not end by themselves.
    stuck: BTreeSet<usize>,
}

/// An object in the hands of a reconciler, until it is dropped.
struct InWork(Arc<Hands>, usize);

impl Drop for InWork {
    fn drop(&mut self) {
        self.0.now.lock().remove(&self.1);
    }
}

/// A replica's place in the ring.
struct Place {
    name: &'static str,
    shard: Shard,
    cut_off: Arc<AtomicBool>,
}

impl Place {
    fn join(client: &Client, name: &'static str) -> Self {
        let cut_off = Arc::<AtomicBool>::default();
        let shard = Shard::join(&breakable(client, &cut_off), ring(name));
        Self { name, shard, cut_off }
    }

    async fn has_all(&self) {
        let mut generations = self.shard.generations();
        while !(0..OBJECTS).all(|number| self.shard.owns(key(number))) {
            generations.changed().await.unwrap();
        }
    }
}

/// A replica of an operator of config maps and the secrets that they own.
struct Working {
    place: Place,
    /// While this is set its reconciler does not end.
    stuck: Arc<AtomicBool>,
    manager: Handle,
}

impl Working {
    async fn start(place: Place, cluster: &Cluster, done: &watch::Sender<Done>, hands: &Arc<Hands>) -> Self {
        let name = place.name;
        let stuck = Arc::<AtomicBool>::default();
        let (done, hands, hangs) = (done.clone(), Arc::clone(hands), Arc::clone(&stuck));
        let reconciler = reconcile_fn(move |_, request| {
            let (done, hands, hangs) = (done.clone(), Arc::clone(&hands), Arc::clone(&hangs));
            async move {
                let Some(number) = number(request.name()) else {
                    return Ok(Outcome::done());
                };
                let other = hands.now.lock().insert(number, name.to_owned());
                if let Some(other) = other {
                    hands.fault(format!("{name} and {other} reconcile {number}"));
                }
                let _in_work = InWork(Arc::clone(&hands), number);
                if hangs.load(Ordering::SeqCst) {
                    done.send_modify(|done| _ = done.stuck.insert(number));
                    std::future::pending::<()>().await;
                }
                tokio::task::yield_now().await;
                done.send_modify(|done| {
                    *done.counts.entry((number, name)).or_default() += 1;
                    done.last.insert(number, name);
                });
                Ok::<_, kubewright_runtime::Error>(Outcome::done())
            }
        });
        let scope = WatchScope::namespace("default");
        let controller = Controller::new("maps", reconciler)
            .for_with::<ConfigMap>(WatchOptions::new().scope(scope.clone()))
            .owns_with::<Secret>(WatchOptions::new().scope(scope))
            .concurrency(4);
        let options = ManagerOptions {
            shard: Some(place.shard.clone()),
            ..ManagerOptions::default()
        };
        let operator = Operator::new("sharing").controller(controller);
        let manager = Manager::new(&cluster.client, &operator, options).start();
        Self {
            place,
            stuck,
            manager: manager.ready().await.unwrap(),
        }
    }
}

/// Whether each object was reconciled last by the one replica that has it, and each replica has some.
fn is_shared_out(done: &Done, replicas: &[&Working]) -> bool {
    let is_its = |number: usize| {
        let places = replicas.iter().map(|replica| &replica.place);
        let mut owners = places.filter(|place| place.shard.owns(key(number)));
        let owner = owners.next().map(|place| place.name);
        owner.is_some() && owners.next().is_none() && owner == done.last.get(&number).copied()
    };
    let has_some = |replica: &&Working| done.last.values().any(|by| *by == replica.place.name);
    (0..OBJECTS).all(is_its) && replicas.iter().all(has_some)
}

fn number(map: &str) -> Option<usize> {
    map.strip_prefix("map-")?.parse().ok()
}

/// Waits for what was done to be so.
async fn until(what: &str, done: &watch::Sender<Done>, is_so: impl Fn(&Done) -> bool) -> Done {
    let mut seen = done.subscribe();
    let wait = tokio::time::timeout(LIMIT, seen.wait_for(|done| is_so(done))).await;
    assert!(wait.is_ok(), "{what}: {:?}", done.borrow());
    done.borrow().clone()
}

/// Makes `map-0`, `map-1` and so on.
async fn config_maps(cluster: &Cluster) -> Vec<ConfigMap> {
    let mut maps = Vec::new();
    for number in 0..OBJECTS {
        let map = json!({ "metadata": { "name": format!("map-{number}") } });
        maps.push(cluster.create(Some("default"), map).await);
    }
    maps
}

/// A lease that waited behind other requests would be lost.
#[tokio::test]
async fn a_share_comes_whatever_the_rate_limit_of_the_client() {
    let cluster = Cluster::start().await;
    let limited = cluster.client.with_client_options(ClientOptions {
        rate_limit: Some(RateLimit {
            per_second: 0.0,
            burst: 1,
        }),
        ..cluster.client.options().clone()
    });
    // The one request of the day.
    let maps: Api<ConfigMap> = Api::namespaced(&limited, "default");
    maps.list(&ListOptions::default()).await.unwrap();
    let place = Place::join(&limited, "a");
    tokio::time::timeout(LIMIT, place.has_all()).await.unwrap();
}

#[tokio::test]
async fn managers_share_out_what_they_reconcile() {
    let cluster = Cluster::start().await;
    let maps = config_maps(&cluster).await;
    let (done, hands) = (watch::Sender::<Done>::default(), Arc::<Hands>::default());
    let all =
        |last: &Done, name: &str| last.last.len() == OBJECTS && last.last.values().all(|by| *by == name);
    let join = |name| Place::join(&cluster.client, name);
    let start = |place| Working::start(place, &cluster, &done, &hands);
    let first = join("a");
    tokio::time::timeout(LIMIT, first.has_all()).await.unwrap();
    let a = start(first).await;
    until("alone", &done, |done| all(done, "a")).await;

    // What comes over is reconciled by whoever has it then, and what stays is left alone.
    let before = done.borrow().clone();
    let b = start(join("b")).await;
    let two = until("two", &done, |done| is_shared_out(done, &[&a, &b])).await;
    for (number, by) in &two.last {
        let (now, then) = (two.counts[&(*number, "a")], before.counts[&(*number, "a")]);
        assert!(*by == "b" || now == then, "map-{number} stayed with a");
    }

    // A child is its owner's.
    for map in &maps {
        let owner = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": map.metadata.name, "uid": map.metadata.uid, "controller": true,
        });
        let name = format!("of-{}", map.metadata.name.as_deref().unwrap());
        let secret = json!({ "metadata": { "name": name, "ownerReferences": [owner] } });
        let _: Secret = cluster.create(Some("default"), secret).await;
    }
    let owners_did = |done: &Done| {
        let counts = |done: &Done, number: usize, by| done.counts.get(&(number, by)).copied().unwrap_or(0);
        two.last.iter().all(|(number, by)| {
            let other = if *by == "a" { "b" } else { "a" };
            counts(done, *number, *by) > counts(&two, *number, *by)
                && counts(done, *number, other) == counts(&two, *number, other)
        })
    };
    until("children", &done, owners_did).await;

    // One ends, and leaves what it has to the other.
    b.manager.stop().await.unwrap();
    tokio::time::timeout(LIMIT, b.place.shard.leave()).await.unwrap();
    until("one is left", &done, |done| all(done, "a")).await;

    // One is cut off in the midst of its work.
    let c = start(join("c")).await;
    let three = until("c comes", &done, |done| is_shared_out(done, &[&a, &c])).await;
    let (number, _) = three.last.into_iter().find(|(_, by)| *by == "c").unwrap();
    c.stuck.store(true, Ordering::SeqCst);
    let secrets: Api<Secret> = Api::namespaced(&cluster.client, "default");
    let child = format!("of-map-{number}");
    secrets.delete(&child, &DeleteOptions::default()).await.unwrap();
    until("c is stuck", &done, |done| done.stuck.contains(&number)).await;
    c.place.cut_off.store(true, Ordering::SeqCst);
    until("c is cut off", &done, |done| all(done, "a")).await;
    let health = c.manager.health();
    assert!(health.controllers[0].1.revoked > 0, "{health:?}");
    c.manager.stop().await.unwrap();
    a.manager.stop().await.unwrap();
    assert_eq!(*hands.faults.lock(), Vec::<String>::new());
}

const OBJECTS: usize = 24;

/// Waits until each object is known to exactly one of these, which are in order, and each knows some.
async fn shared_out(world: &World, replicas: &[&str]) -> BTreeMap<String, Told> {
    let is_shared_out = |world: &BTreeMap<String, Told>| {
        let all: BTreeSet<_> = world.values().flatten().collect();
        let total: usize = world.values().map(BTreeSet::len).sum();
        let knowing = world
            .iter()
            .filter(|(_, told)| !told.is_empty())
            .map(|(name, _)| &**name);
        all.len() == 2 * OBJECTS && total == all.len() && knowing.eq(replicas.iter().copied())
    };
    let mut seen = world.subscribe();
    let wait = tokio::time::timeout(LIMIT, seen.wait_for(is_shared_out)).await;
    assert!(wait.is_ok(), "{replicas:?} do not share: {:?}", world.borrow());
    world.borrow().clone()
}

#[tokio::test]
async fn replicas_come_and_go_and_no_object_has_two() {
    let cluster = Cluster::start().await;
    for (number, map) in config_maps(&cluster).await.into_iter().enumerate() {
        let owner = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": map.metadata.name, "uid": map.metadata.uid, "controller": true,
        });
        // Names that have nothing in common with the owner's.
        let metadata = json!({ "name": format!("child-{}", OBJECTS - number), "ownerReferences": [owner] });
        let _: Secret = cluster
            .create(Some("default"), json!({ "metadata": metadata }))
            .await;
    }
    let (world, hands) = (World::default(), Arc::<Hands>::default());
    let together = |world: &BTreeMap<String, Told>| {
        for told in world.values() {
            for number in 0..OBJECTS {
                let (map, child) = (format!("map-{number}"), format!("child-{}", OBJECTS - number));
                assert_eq!(told.contains(&("map", map)), told.contains(&("secret", child)));
            }
        }
    };
    let a = join(&cluster, "a", &world, &hands);
    let alone = shared_out(&world, &["a"]).await;
    let b = join(&cluster, "b", &world, &hands);
    shared_out(&world, &["a", "b"]).await;
    let c = join(&cluster, "c", &world, &hands);
    let three = shared_out(&world, &["a", "b", "c"]).await;
    together(&three);
    assert_eq!(a.shard.status().members, ["a", "b", "c"].map(Arc::from));
    assert!(
        three["a"].is_subset(&alone["a"]),
        "nothing moves to those that were there"
    );

    // One leaves, and what it had goes to the others, who keep what they have.
    tokio::time::timeout(LIMIT, b.shard.leave()).await.unwrap();
    let two = shared_out(&world, &["a", "c"]).await;
    together(&two);
    assert!(three["a"].is_subset(&two["a"]) && three["c"].is_subset(&two["c"]));
    assert!((0..OBJECTS).all(|number| !b.shard.owns(key(number))));

    // One is cut off: it stops, and then the other has all.
    let held = (0..OBJECTS)
        .find_map(|number| c.shard.begin(key(number)))
        .unwrap();
    c.cut_off.store(true, Ordering::SeqCst);
    tokio::time::timeout(LIMIT, held.revoked()).await.unwrap();
    assert!((0..OBJECTS).all(|number| !c.shard.owns(key(number))));
    drop(held);
    shared_out(&world, &["a"]).await;

    // And comes back.
    c.cut_off.store(false, Ordering::SeqCst);
    let again = shared_out(&world, &["a", "c"]).await;
    assert_eq!(again, two);

    // Objects that come and go while all is calm.
    let secrets: Api<Secret> = Api::namespaced(&cluster.client, "default");
    secrets
        .delete("child-1", &DeleteOptions::default())
        .await
        .unwrap();
    let metadata = json!({ "name": "child-1" });
    let _: Secret = cluster
        .create(Some("default"), json!({ "metadata": metadata }))
        .await;
    shared_out(&world, &["a", "c"]).await;

    tokio::time::timeout(LIMIT, async { tokio::join!(a.shard.leave(), c.shard.leave()) })
        .await
        .unwrap();
    let leases: Api<Lease> = Api::namespaced(&cluster.client, "default");
    let options = ListOptions::labels(LabelSelector::from_labels([(RING_LABEL, "tests")]));
    for lease in leases.list(&options).await.unwrap() {
        let holder = lease.spec.unwrap().holder_identity;
        assert_eq!(holder.as_deref(), Some(""), "all are released");
    }
    assert_eq!(*hands.faults.lock(), Vec::<String>::new());
}

#[tokio::test]
async fn an_informer_in_ranges_has_what_one_list_has() {
    let cluster = Cluster::start().await;
    let map = |number: usize| json!({ "metadata": { "name": format!("map-{number}") } });
    for number in 0..OBJECTS {
        let _: ConfigMap = cluster.create(Some("default"), map(number)).await;
    }
    let options = InformerOptions {
        shards: NonZeroUsize::new(4).unwrap(),
        ..InformerOptions::default()
    };
    let informers = Informers::new(cluster.client.clone(), options);
    let informer = informers.informer::<ConfigMap>(&WatchScope::namespace("default"));
    let lister = informer.lister();
    tokio::time::timeout(LIMIT, informer.synced()).await.unwrap();
    assert_eq!(lister.list().len(), OBJECTS);
    let maps: Api<ConfigMap> = Api::namespaced(&cluster.client, "default");
    maps.delete("map-0", &DeleteOptions::default()).await.unwrap();
    // The same name, most likely in another range.
    for _ in 0..8 {
        maps.delete("map-1", &DeleteOptions::default()).await.unwrap();
        let _: ConfigMap = cluster.create(Some("default"), map(1)).await;
    }
    let expect: BTreeSet<_> = maps
        .list(&ListOptions::default())
        .await
        .unwrap()
        .into_iter()
        .map(|map| (map.metadata.name.unwrap(), map.metadata.uid.unwrap()))
        .collect();
    assert_eq!(expect.len(), OBJECTS - 1);
    let there = |lister: &Lister<ConfigMap>| -> BTreeSet<_> {
        let list = lister.list();
        list.iter()
            .map(|map| (map.name().to_owned(), map.uid().to_owned()))
            .collect()
    };
    let reached = lister.wait_until(|lister| there(lister) == expect);
    assert!(
        tokio::time::timeout(LIMIT, reached).await.is_ok(),
        "{:?} instead of {expect:?}",
        there(&lister)
    );
}
