//! What is read of a manager at work, its queues and its informers, and what informers have counted.

use std::sync::Arc;

use kubewright_cache::{Counts, Informers, Stats, Totals, Usage};
use kubewright_core::{ApiResource, ResourceVersion};

use super::controller;
use super::page::{Kind, Labels, Metric, Page};
use crate::running::RunningController;

/// A manager at work.
pub(crate) struct Running {
    pub(crate) operator: String,
    pub(crate) controllers: Vec<Arc<RunningController>>,
    pub(crate) informers: Arc<Informers>,
}

impl Running {
    pub(super) fn read(&self, page: &mut Page) {
        for running in &self.controllers {
            let name = &running.name;
            if let Some(priorities) = &running.priorities {
                priorities.read_queue(name, &running.queue.snapshot(), page);
            }
            controller::read_concurrency(name, running.concurrency, page);
            self.read_handlers(running, page);
        }
        for stats in self.informers.stats() {
            read_informer(labels(&self.operator, &stats.resource), &stats, page);
        }
    }

    /// How far the handlers of a controller are behind.
    fn read_handlers(&self, running: &RunningController, page: &mut Page) {
        for source in &running.sources {
            let Some(registration) = &source.registration else {
                continue;
            };
            let lag = registration.lag();
            let labels = || {
                let mut labels = labels(&self.operator, source.followed.informer.resource());
                labels.push(("handler", running.name.clone()));
                labels
            };
            page.count(&PENDING, labels(), lag.pending as u64);
            page.count(&RESYNCED, labels(), lag.resynced as u64);
            let oldest = lag.oldest.unwrap_or_default().as_secs_f64();
            page.number(&OLDEST, labels(), oldest);
        }
    }
}

fn labels(operator: &str, resource: &ApiResource) -> Labels {
    vec![
        ("name", operator.to_owned()),
        ("group", resource.group.clone()),
        ("version", resource.version.clone()),
        ("resource", resource.plural.clone()),
    ]
}

/// What the informers of an operator have counted.
pub(super) fn read_totals(operator: &str, totals: &Totals, page: &mut Page) {
    for (resource, counts) in totals.read() {
        let Counts {
            lists,
            watches,
            received,
            unchanged,
            decoded,
            decode_time,
            malformed,
            rewound,
            ..
        } = counts;
        let labels = || labels(operator, &resource);
        for (metric, count) in [
            (&LISTS, lists),
            (&WATCHES, watches),
            (&RECEIVED, received),
            (&UNCHANGED, unchanged),
            (&DECODES, decoded),
            (&MALFORMED, malformed),
            (&REWINDS, rewound),
        ] {
            page.count(metric, labels(), count);
        }
        page.number(&DECODE_SECONDS, labels(), decode_time.as_secs_f64());
    }
}

fn read_informer(labels: Labels, stats: &Stats, page: &mut Page) {
    let Usage {
        objects,
        states,
        bytes,
        text_bytes,
        decoded_bytes,
        dictionary_bytes,
        ..
    } = stats.usage;
    let failures = stats.health.failure.as_ref().map_or(0, |failure| failure.count);
    for (metric, value) in [
        (&SYNCED, u64::from(stats.synced)),
        (&OBJECTS, objects as u64),
        (&STATES, states as u64),
        (&STORE_BYTES, bytes as u64),
        (&TEXT_BYTES, text_bytes as u64),
        (&DECODED_BYTES, decoded_bytes as u64),
        (&DICTIONARY_BYTES, dictionary_bytes as u64),
        (&FAILURES, failures),
    ] {
        page.count(metric, labels.clone(), value);
    }
    if let Some(silence) = stats.silence {
        page.number(&SILENCE, labels.clone(), silence.as_secs_f64());
    }
    if let Some(version) = last_digits(&stats.version) {
        page.count(&VERSION, labels, version);
    }
}

/// The last 15 digits of a version, which a float has exactly; `None` for what is no number. (client-go
/// `tools/cache/store.go`.)
pub(super) fn last_digits(version: &ResourceVersion) -> Option<u64> {
    let version = version.as_str();
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    let last = version.get(version.len().saturating_sub(15)..);
    last.filter(|_| is_number)?.parse().ok()
}

const VERSION: Metric = Metric {
    name: "informer_store_resource_version",
    help: "The 15 last digits of the version up to which the store has seen every change",
    kind: Kind::Smallest,
};
const PENDING: Metric = Metric {
    name: "informer_pending_notifications",
    help: "Changes that a handler was not told of yet",
    kind: Kind::Sum,
};
const RESYNCED: Metric = Metric {
    name: "kubewright_informer_pending_resyncs",
    help: "Objects that a resync will show to a handler again",
    kind: Kind::Sum,
};
const OLDEST: Metric = Metric {
    name: "kubewright_informer_oldest_notification_seconds",
    help: "How long the oldest change has waited that a handler was not told of yet",
    kind: Kind::Largest,
};
const SYNCED: Metric = Metric {
    name: "kubewright_informer_synced",
    help: "Whether the store has had the whole state of the server",
    kind: Kind::Smallest,
};
const OBJECTS: Metric = Metric {
    name: "kubewright_informer_objects",
    help: "Objects in the store",
    kind: Kind::Sum,
};
const STATES: Metric = Metric {
    name: "kubewright_informer_object_states",
    help: "States of objects in memory: those in the store, and older ones that somebody holds",
    kind: Kind::Sum,
};
const STORE_BYTES: Metric = Metric {
    name: "kubewright_informer_store_bytes",
    help: "What these states take in memory",
    kind: Kind::Sum,
};
const TEXT_BYTES: Metric = Metric {
    name: "kubewright_informer_text_bytes",
    help: "What the text of these states would take uncompressed",
    kind: Kind::Sum,
};
const DECODED_BYTES: Metric = Metric {
    name: "kubewright_informer_decoded_bytes",
    help: "What decoded objects take in memory, by an estimate",
    kind: Kind::Sum,
};
const DICTIONARY_BYTES: Metric = Metric {
    name: "kubewright_informer_dictionary_bytes",
    help: "The dictionary of the compression; 0 while there is none",
    kind: Kind::Sum,
};
const LISTS: Metric = Metric {
    name: "kubewright_informer_lists_total",
    help: "Lists that were begun; all but the first are relists",
    kind: Kind::Counter,
};
const WATCHES: Metric = Metric {
    name: "kubewright_informer_watches_total",
    help: "Watches that were begun",
    kind: Kind::Counter,
};
const RECEIVED: Metric = Metric {
    name: "kubewright_informer_received_objects_total",
    help: "Objects that came by lists and watches",
    kind: Kind::Counter,
};
const UNCHANGED: Metric = Metric {
    name: "kubewright_informer_unchanged_objects_total",
    help: "Objects that came in the version that the store had",
    kind: Kind::Counter,
};
const DECODES: Metric = Metric {
    name: "kubewright_informer_decodes_total",
    help: "Metadata and objects that were decoded for handlers and readers",
    kind: Kind::Counter,
};
const DECODE_SECONDS: Metric = Metric {
    name: "kubewright_informer_decode_seconds_total",
    help: "How long decoding took, over all threads",
    kind: Kind::Counter,
};
const SILENCE: Metric = Metric {
    name: "kubewright_informer_silence_seconds",
    help: "How long ago anything came from the server",
    kind: Kind::Largest,
};
const FAILURES: Metric = Metric {
    name: "kubewright_informer_consecutive_failures",
    help: "Failures to list or watch since the last success",
    kind: Kind::Largest,
};
const MALFORMED: Metric = Metric {
    name: "kubewright_informer_malformed_objects_total",
    help: "How often an object could not be read",
    kind: Kind::Counter,
};
const REWINDS: Metric = Metric {
    name: "kubewright_informer_rewinds_total",
    help: "How often the server's history was found rewound",
    kind: Kind::Counter,
};
