//! What each peer written in Rust does, one piece of work after the other.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;

use crate::gate::Gate;
use crate::measure::Meter;
use crate::median;
use crate::task::{Line, Reads, Step, Task, tell};
use crate::used::{self, RESIDENT};

/// An informer of pods with its handlers.
pub trait Peer: Sized {
    /// A client, which has asked nothing yet.
    async fn connect(task: &Task) -> Result<Self>;

    /// Starts the informer, with its index and handlers.
    fn begin(&mut self, task: &Task, gate: &Arc<Gate>) -> Result<()>;

    /// How many objects the cache has.
    fn len(&self) -> usize;

    /// How many objects the index has for a node.
    fn indexed(&self, node: &str) -> usize;

    /// Of how many changes a handler is told when so many objects are listed again and one has changed.
    fn told_by_relist(objects: u64) -> u64;

    /// Looks at all typed objects of a namespace, and returns how many there are and what was seen.
    fn list(&self, namespace: &str) -> Result<(usize, u64)>;

    /// Looks at the same as [`list`](Self::list), by a type that names no more than that; `None` where only whole objects can be had.
    fn list_fields(&self, _namespace: &str) -> Result<Option<(usize, u64)>> {
        Ok(None)
    }

    /// Copies of all objects of a namespace, for a reader that changes them.
    fn copies(&self, namespace: &str) -> Result<Vec<Pod>>;

    /// The names in a namespace.
    fn names(&self, namespace: &str) -> Vec<String>;

    /// Looks at one typed object.
    fn get(&self, namespace: &str, name: &str) -> Result<u64>;
}

/// Does all of a task and tells of it.
pub async fn run<P: Peer>(task: &Task) -> Result<()> {
    let gate = Arc::new(Gate::default());
    let mut peer = P::connect(task).await?;
    tell(&Line::Start {
        resident: used::memory(std::process::id(), RESIDENT)?,
    })?;
    gate.want_more(task.objects);
    let meter = Meter::start();
    peer.begin(task, &gate)?;
    gate.open().await;
    let cost = meter.stop().await?;
    let indexed = task.index.map_or(0, |_| peer.indexed(INDEXED_NODE));
    tell(&Line::Sync {
        cost,
        digest: gate.digest().wrapping_add(indexed as u64),
        collected: None,
    })?;
    for step in &task.steps {
        match step {
            Step::Update => event_step(*step, task.objects, &gate).await?,
            Step::Relist => event_step(*step, P::told_by_relist(task.objects), &gate).await?,
            Step::Reads => tell(&Line::Reads(reads(&peer)?))?,
        }
    }
    let mut problems = gate.problems();
    if peer.len() as u64 != task.objects {
        problems.push(format!(
            "{} of {} objects are in the cache",
            peer.len(),
            task.objects
        ));
    }
    tell(&Line::End { problems })
}

/// What an index is asked for to see that it works.
pub const INDEXED_NODE: &str = "node-00000.compute.internal";

async fn event_step(step: Step, changes: u64, gate: &Gate) -> Result<()> {
    gate.want_more(changes);
    let meter = Meter::start();
    tell(&Line::Ready { step })?;
    gate.open().await;
    let cost = meter.stop().await?;
    tell(&Line::Done { step, cost })
}

/// How many objects there are in a namespace, and what was seen of them; `None` where they cannot be looked at in that way.
type Listing<'a> = dyn Fn() -> Result<Option<(usize, u64)>> + 'a;

/// Each first read is of objects that nobody has read.
fn reads(peer: &impl Peer) -> Result<Reads> {
    let (mut fields, mut cold, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    for namespace in (0..LISTED).map(|at| format!("team-{at:02}")) {
        let whole = || peer.list(&namespace).map(Some);
        let by_fields = || peer.list_fields(&namespace);
        let ways: [(&mut Vec<f64>, &Listing<'_>); 3] = [
            (&mut cold, &whole),
            (&mut warm, &whole),
            (&mut fields, &by_fields),
        ];
        let mut first = None;
        for (times, list) in ways {
            let began = Instant::now();
            let Some((objects, seen)) = std::hint::black_box(list()?) else {
                continue;
            };
            let elapsed = began.elapsed().as_secs_f64();
            ensure!(objects > 0 && seen > 0, "nothing is in {namespace}");
            ensure!(
                *first.get_or_insert(seen) == seen,
                "other things are seen in {namespace}"
            );
            times.push(elapsed * 1e3 * 1e3 / objects as f64);
        }
    }
    let mut copied = Vec::new();
    for namespace in (0..LISTED).map(|at| format!("team-{at:02}")) {
        peer.list(&namespace)?;
        let began = Instant::now();
        let copies = peer.copies(&namespace)?;
        let elapsed = began.elapsed().as_secs_f64();
        ensure!(!copies.is_empty(), "nothing is in {namespace}");
        copied.push(elapsed * 1e3 * 1e3 / copies.len() as f64);
    }
    let (list_cold, list_warm) = (median(&mut cold), median(&mut warm));
    let list_fields = (!fields.is_empty()).then(|| median(&mut fields));
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for namespace in (LISTED..LISTED + READ).map(|at| format!("team-{at:02}")) {
        let mut names = peer.names(&namespace);
        names.truncate(READ_AT_ONCE);
        ensure!(!names.is_empty(), "nothing is in {namespace}");
        for times in [&mut cold, &mut warm] {
            let began = Instant::now();
            for name in &names {
                std::hint::black_box(peer.get(&namespace, name)?);
            }
            times.push(began.elapsed().as_secs_f64() * 1e6 / names.len() as f64);
        }
    }
    Ok(Reads {
        list_cold,
        list_warm,
        list_copied: Some(median(&mut copied)),
        list_fields,
        get_cold: median(&mut cold),
        get_warm: median(&mut warm),
        get_copied: None,
    })
}

/// Namespaces that are listed, and others of which single objects are read, so many of each.
const LISTED: usize = 10;
const READ: usize = 10;
const READ_AT_ONCE: usize = 100;

fn median(times: &mut [f64]) -> f64 {
    median::median(times, f64::total_cmp).unwrap_or_default()
}

/// What handlers see of a field: `spec.nodeName`.
pub fn see_node(node: Option<&str>) -> u64 {
    node.map_or(0, |node| node.len() as u64)
}

/// What handlers and readers see of a whole typed object.
pub fn see_object(pod: &Pod) -> u64 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let spec: usize = containers
        .map(|container| container.name.len() + container.env.as_ref().map_or(0, Vec::len))
        .sum();
    let status = pod.status.as_ref();
    let conditions = status
        .and_then(|status| status.conditions.as_ref())
        .map_or(0, Vec::len);
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let images: usize = containers
        .into_iter()
        .flatten()
        .map(|container| container.image_id.len())
        .sum();
    (spec + conditions + images) as u64
}

/// What handlers see of metadata: lengths of name and namespace, of labels, and of the uids of owners.
#[derive(Debug, Default)]
pub struct Metadata(u64);

impl Metadata {
    /// Begins with what names an object.
    pub fn named(namespace: Option<&str>, name: &str) -> Self {
        Self((namespace.map_or(0, str::len) + name.len()) as u64)
    }

    /// Adds labels and owners.
    pub fn with<'a>(
        self,
        labels: impl Iterator<Item = (&'a str, &'a str)>,
        owners: impl Iterator<Item = &'a str>,
    ) -> u64 {
        let labels: usize = labels.map(|(key, value)| key.len() + value.len()).sum();
        let owners: usize = owners.map(str::len).sum();
        self.0 + (labels + owners) as u64
    }
}
