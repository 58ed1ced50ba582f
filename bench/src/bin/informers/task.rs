//! What a peer is told to do, and the lines in which it tells what that cost. The program in Go reads and writes the same.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::measure::Cost;

/// What a process does, one piece of work after the other. The first sync is always the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The address of the feed.
    pub server: String,
    /// How many pods it has.
    pub objects: u64,
    /// What handlers look at.
    pub look: Look,
    /// How many handlers there are.
    pub handlers: usize,
    /// What an index by node looks at, if there is one: the field or the whole object, which is the same to peers that have decoded it
    /// anyway.
    pub index: Option<Look>,
    /// Whether watches bring what is there (KEP-3157).
    pub streaming: bool,
    /// What follows the sync, in this order.
    pub steps: Vec<Step>,
}

/// What handlers and index functions look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// Name, namespace, labels and owners.
    Metadata,
    /// `spec.nodeName`.
    Field,
    /// The whole typed object, and in an update the old one as well, where the peer has it.
    Object,
}

/// A piece of work after the sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Every object changes once.
    Update,
    /// The watch is lost and all is listed again, though nothing has changed. It ends with the change of one object.
    Relist,
    /// Typed objects are read from the cache.
    Reads,
}

/// What a peer tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase")]
pub enum Line {
    /// The client is there, and no informer yet.
    Start {
        /// Memory that is resident, in bytes.
        resident: u64,
    },
    /// All handlers have been told of all objects.
    Sync {
        /// What it cost.
        #[serde(flatten)]
        cost: Cost,
        /// What the handlers have seen, as a number that is the same for all peers.
        digest: u64,
        /// What is left after a forced collection, where there is a collector.
        #[serde(default)]
        collected: Option<Collected>,
    },
    /// The peer waits for what the feed is to do now.
    Ready {
        /// For which piece of work.
        step: Step,
    },
    /// A piece of work is done.
    Done {
        /// Which.
        step: Step,
        /// What it cost.
        #[serde(flatten)]
        cost: Cost,
    },
    /// What reads took.
    Reads(Reads),
    /// That was all.
    End {
        /// What is not as it should be.
        problems: Vec<String>,
    },
}

/// Memory after a forced collection, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// What is resident.
    pub resident: u64,
    /// What the heap holds.
    pub heap: u64,
}

/// What typed reads from the cache took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reads {
    /// Milliseconds for a thousand objects of a namespace that nobody has read before.
    pub list_cold: f64,
    /// The same once more.
    pub list_warm: f64,
    /// The same where each object is copied so that the reader may change it; for peers that hand out what is shared.
    #[serde(default)]
    pub list_copied: Option<f64>,
    /// The same for a type that names the fields which the reader looks at; for peers that decode no more than that.
    #[serde(default)]
    pub list_fields: Option<f64>,
    /// Microseconds for one object that nobody has read before.
    pub get_cold: f64,
    /// The same once more.
    pub get_warm: f64,
    /// The same with a copy.
    #[serde(default)]
    pub get_copied: Option<f64>,
}

/// Tells the parent.
pub fn tell(line: &Line) -> Result<()> {
    println!("{}", serde_json::to_string(line)?);
    Ok(())
}
