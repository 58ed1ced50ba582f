//! Events, which two groups serve under different field names.

use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{Column, NAME, string};
use crate::table::format::{age, parse_time};
use crate::table::view::{Row, or};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer("", "Event", COLUMNS, |row| cells(row, &CORE)),
    printer("events.k8s.io", "Event", COLUMNS, |row| cells(row, &EVENTS)),
];

const COLUMNS: &[Column] = &[
    string("Last Seen", "Time since it last happened."),
    string("Type", "Normal or Warning."),
    string("Reason", "Why it happened, in one word."),
    string("Object", "What it happened to."),
    string("Subobject", "The part of the object it happened to.").wide(),
    string("Source", "Who reports it.").wide(),
    string("Message", "What happened."),
    string("First Seen", "Time since it first happened.").wide(),
    string("Count", "How often it happened.").wide(),
    NAME.wide(),
];

/// Where the fields of an event are.
struct Fields {
    object_kind: &'static str,
    object_name: &'static str,
    object_field: &'static str,
    component: &'static str,
    host: &'static str,
    controller: &'static str,
    message: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
}

static CORE: Fields = Fields {
    object_kind: "/involvedObject/kind",
    object_name: "/involvedObject/name",
    object_field: "/involvedObject/fieldPath",
    component: "/source/component",
    host: "/source/host",
    controller: "/reportingComponent",
    message: "/message",
    first: "/firstTimestamp",
    last: "/lastTimestamp",
    count: "/count",
};

static EVENTS: Fields = Fields {
    object_kind: "/regarding/kind",
    object_name: "/regarding/name",
    object_field: "/regarding/fieldPath",
    component: "/deprecatedSource/component",
    host: "/deprecatedSource/host",
    controller: "/reportingController",
    message: "/note",
    first: "/deprecatedFirstTimestamp",
    last: "/deprecatedLastTimestamp",
    count: "/deprecatedCount",
};

fn cells(row: &Row<'_>, fields: &Fields) -> Vec<Value> {
    let time = |path| parse_time(row.text(path));
    let first = time(fields.first).or_else(|| time("/eventTime"));
    // A series speaks for itself; an event of the newer kind that is none happened once and counts nothing.
    let (last, count) = match (row.get("/series"), row.int(fields.count)) {
        (Some(_), _) => (time("/series/lastObservedTime"), row.int("/series/count")),
        (None, 0) => (time(fields.last).or(first), 1),
        (None, count) => (time(fields.last).or(first), count),
    };
    let kind = row.text(fields.object_kind).to_lowercase();
    let object = match row.text(fields.object_name) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let component = or(row.text(fields.component), row.text(fields.controller));
    let source = match or(row.text(fields.host), row.text("/reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    };
    vec![
        age(last, row.now).into(),
        row.text("/type").into(),
        row.text("/reason").into(),
        object.into(),
        row.text(fields.object_field).into(),
        source.into(),
        row.text(fields.message).trim().into(),
        age(first, row.now).into(),
        count.into(),
        row.name(),
    ]
}
