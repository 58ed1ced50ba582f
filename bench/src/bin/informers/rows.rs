//! The rows of the table, and the tasks that they come from.

use anyhow::{Context as _, Result};

use crate::feed::Streaming;
use crate::outcome::{Outcome, median};
use crate::peers::{Feed, Peer};
use crate::shared::{Peer as _, in_turn};
use crate::table::{Table, Unit, grouped};
use crate::task::{Look, Step, Task};

/// A group of rows, as `--rows` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The first sync.
    Sync,
    /// As many events as there are objects.
    Update,
    /// A relist of what has not changed.
    Relist,
    /// Handlers that look at one typed field.
    Field,
    /// Handlers that look at whole typed objects.
    Object,
    /// Ten and fifty handlers.
    Handlers,
    /// An index by a field, of whole typed objects and of the field alone.
    Index,
    /// Typed reads from the cache.
    Reads,
}

impl Row {
    /// In the order of the table.
    pub const ALL: [Self; 8] = [
        Self::Sync,
        Self::Update,
        Self::Relist,
        Self::Field,
        Self::Object,
        Self::Handlers,
        Self::Index,
        Self::Reads,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Update => "update",
            Self::Relist => "relist",
            Self::Field => "field",
            Self::Object => "object",
            Self::Handlers => "handlers",
            Self::Index => "index",
            Self::Reads => "reads",
        }
    }

    /// The rows of that name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|row| row.name() == name);
        found.with_context(|| {
            format!(
                "there are no rows {name}: {}",
                Self::ALL.map(Self::name).join(", ")
            )
        })
    }
}

/// What a process does, before it is known with how many objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scenario {
    look: Look,
    handlers: usize,
    index: Option<Look>,
}

const METADATA: Scenario = Scenario {
    look: Look::Metadata,
    handlers: 1,
    index: None,
};
const FIELD: Scenario = Scenario {
    look: Look::Field,
    ..METADATA
};
const OBJECT: Scenario = Scenario {
    look: Look::Object,
    ..METADATA
};
const TEN: Scenario = Scenario {
    handlers: 10,
    ..METADATA
};
const FIFTY: Scenario = Scenario {
    handlers: 50,
    ..METADATA
};
const INDEX: Scenario = Scenario {
    index: Some(Look::Object),
    ..METADATA
};
const FIELD_INDEX: Scenario = Scenario {
    index: Some(Look::Field),
    ..METADATA
};

/// A process of its own for each: what comes before a step can change what the step costs.
fn tasks(rows: &[Row]) -> Vec<(Scenario, Vec<Step>)> {
    let wanted = |row: Row| rows.contains(&row);
    let mut tasks = Vec::new();
    if wanted(Row::Sync) || wanted(Row::Update) || wanted(Row::Relist) {
        let steps = [(Row::Update, Step::Update), (Row::Relist, Step::Relist)];
        let steps = steps
            .into_iter()
            .filter(|(row, _)| wanted(*row))
            .map(|(_, step)| step);
        tasks.push((METADATA, steps.collect()));
    }
    for (row, scenario) in [
        (Row::Field, FIELD),
        (Row::Object, OBJECT),
        (Row::Handlers, TEN),
        (Row::Handlers, FIFTY),
        (Row::Index, INDEX),
        (Row::Index, FIELD_INDEX),
    ] {
        if wanted(row) {
            tasks.push((scenario, vec![Step::Update]));
        }
    }
    if wanted(Row::Reads) {
        tasks.push((METADATA, vec![Step::Reads]));
    }
    tasks
}

/// What one peer's rounds of one task have cost.
#[derive(Debug)]
pub struct Measured {
    scenario: Scenario,
    steps: Vec<Step>,
    peer: Peer,
    rounds: Vec<Outcome>,
}

/// Has all peers do all tasks.
pub fn measure(
    rows: &[Row],
    peers: &[Peer],
    feed: &Feed,
    rounds: usize,
    notes: &mut Vec<String>,
) -> Vec<Measured> {
    let mut results = Vec::new();
    for (scenario, steps) in tasks(rows) {
        let task = Task {
            server: feed.url(),
            objects: feed.objects as u64,
            look: scenario.look,
            handlers: scenario.handlers,
            index: scenario.index,
            streaming: feed.streaming == Streaming::Offered,
            steps: steps.clone(),
        };
        let outcomes = in_turn(peers, rounds, notes, |peer| {
            eprintln!("{}: {scenario:?}, sync, {steps:?}", peer.name());
            peer.perform(&task, feed)
        });
        note_problems(peers, &outcomes, scenario, notes);
        for (peer, rounds) in peers.iter().zip(outcomes) {
            results.push(Measured {
                scenario,
                steps: steps.clone(),
                peer: *peer,
                rounds,
            });
        }
    }
    results
}

/// Notes what peers found wrong, and where they have not seen the same.
fn note_problems(peers: &[Peer], outcomes: &[Vec<Outcome>], scenario: Scenario, notes: &mut Vec<String>) {
    let mut digests: Vec<(u64, &str)> = Vec::new();
    for (peer, rounds) in peers.iter().zip(outcomes) {
        for outcome in rounds {
            for problem in &outcome.problems {
                notes.push(format!("{}, {scenario:?}: {problem}.", peer.name()));
            }
            digests.push((outcome.digest, peer.name()));
        }
    }
    if digests.windows(2).any(|pair| pair[0].0 != pair[1].0) {
        notes.push(format!(
            "{scenario:?}: handlers have not seen the same: {digests:?}."
        ));
    }
}

const CPU: Unit = Unit {
    scale: 1.0,
    digits: 2,
    name: "CPU s",
};
const WALL: Unit = Unit {
    scale: 1.0,
    digits: 2,
    name: "s",
};
const MB: Unit = Unit {
    scale: 1e6,
    digits: 0,
    name: "MB",
};
const TIMES: Unit = Unit {
    scale: 1.0,
    digits: 2,
    name: "times",
};
const MILLIS: Unit = Unit {
    scale: 1.0,
    digits: 2,
    name: "ms",
};
const MICROS: Unit = Unit {
    scale: 1.0,
    digits: 2,
    name: "µs",
};

type Figure = fn(&Outcome) -> Option<f64>;

const SYNC_CPU: Figure = |outcome| Some(outcome.sync.cpu);
const SYNC_RESIDENT: Figure = |outcome| Some(outcome.sync.resident as f64);
const UPDATE_CPU: Figure = |outcome| Some(outcome.update?.cpu);

/// The table of what was measured.
pub fn table(rows: &[Row], peers: &[Peer], objects: usize, results: &[Measured]) -> Table {
    let mut table = Table::new(peers.iter().map(|peer| peer.name().to_owned()));
    for row in rows {
        for (what, scenario, unit, figure) in figures(*row, objects) {
            let reads = *row == Row::Reads;
            let of = |peer: &Peer| {
                let found = results.iter().find(|result| {
                    result.peer == *peer
                        && result.scenario == scenario
                        && result.steps.contains(&Step::Reads) == reads
                });
                median(&found?.rounds, figure)
            };
            let figures: Vec<Option<f64>> = peers.iter().map(of).collect();
            table.row(&what, unit, &figures);
        }
    }
    table
}

fn figures(row: Row, objects: usize) -> Vec<(String, Scenario, Unit, Figure)> {
    let count = grouped(&objects.to_string());
    let each = Unit {
        scale: objects as f64,
        digits: 0,
        name: "bytes",
    };
    let sync = format!("first sync of {count}");
    let update = format!("{count} events");
    match row {
        Row::Sync => vec![
            (sync.clone(), METADATA, CPU, SYNC_CPU),
            (sync.clone(), METADATA, WALL, |outcome| Some(outcome.sync.wall)),
            (
                format!("{sync}: resident afterwards"),
                METADATA,
                MB,
                SYNC_RESIDENT,
            ),
            (format!("{sync}: the most resident"), METADATA, MB, |outcome| {
                Some(outcome.sync.peak as f64)
            }),
            (
                format!("{sync}: memory for an object"),
                METADATA,
                each,
                |outcome| Some(outcome.sync.resident.saturating_sub(outcome.before) as f64),
            ),
            (
                format!("{sync}: resident after a forced collection"),
                METADATA,
                MB,
                |outcome| Some(outcome.collected?.resident as f64),
            ),
            (
                format!("{sync}: heap after a forced collection"),
                METADATA,
                MB,
                |outcome| Some(outcome.collected?.heap as f64),
            ),
        ],
        Row::Update => vec![
            (update.clone(), METADATA, CPU, UPDATE_CPU),
            (update.clone(), METADATA, WALL, |outcome| {
                Some(outcome.update?.wall)
            }),
            (
                format!("{update}: resident afterwards"),
                METADATA,
                MB,
                |outcome| Some(outcome.update?.resident as f64),
            ),
        ],
        Row::Relist => vec![
            (format!("relist of {count} unchanged"), METADATA, CPU, |outcome| {
                Some(outcome.relist?.0.cpu)
            }),
            (
                format!("relist of {count} unchanged"),
                METADATA,
                WALL,
                |outcome| Some(outcome.relist?.0.wall),
            ),
            (
                "relist: the most resident / before".to_owned(),
                METADATA,
                TIMES,
                |outcome| {
                    let (cost, before) = outcome.relist?;
                    Some(cost.peak as f64 / before as f64)
                },
            ),
        ],
        Row::Field => looks("a handler that reads spec.nodeName", FIELD),
        Row::Object => looks("a handler that reads the whole object", OBJECT),
        Row::Handlers => [looks("10 handlers", TEN), looks("50 handlers", FIFTY)].concat(),
        Row::Index => [
            looks("an index by spec.nodeName", INDEX),
            looks("an index that names that field", FIELD_INDEX),
        ]
        .concat(),
        Row::Reads => vec![
            (
                "list of 1 000 typed objects, cold".to_owned(),
                METADATA,
                MILLIS,
                |outcome| Some(outcome.reads?.list_cold),
            ),
            (
                "list of 1 000 typed objects, warm".to_owned(),
                METADATA,
                MILLIS,
                |outcome| Some(outcome.reads?.list_warm),
            ),
            (
                "list of 1 000 typed objects, copied".to_owned(),
                METADATA,
                MILLIS,
                |outcome| outcome.reads?.list_copied,
            ),
            (
                "list of 1 000 by a type that names its fields".to_owned(),
                METADATA,
                MILLIS,
                |outcome| outcome.reads?.list_fields,
            ),
            (
                "read of one typed object, cold".to_owned(),
                METADATA,
                MICROS,
                |outcome| Some(outcome.reads?.get_cold),
            ),
            (
                "read of one typed object, warm".to_owned(),
                METADATA,
                MICROS,
                |outcome| Some(outcome.reads?.get_warm),
            ),
            (
                "read of one typed object, copied".to_owned(),
                METADATA,
                MICROS,
                |outcome| outcome.reads?.get_copied,
            ),
        ],
    }
}

fn looks(what: &str, scenario: Scenario) -> Vec<(String, Scenario, Unit, Figure)> {
    vec![
        (format!("{what}: first sync"), scenario, CPU, SYNC_CPU),
        (
            format!("{what}: resident afterwards"),
            scenario,
            MB,
            SYNC_RESIDENT,
        ),
        (format!("{what}: events"), scenario, CPU, UPDATE_CPU),
    ]
}
