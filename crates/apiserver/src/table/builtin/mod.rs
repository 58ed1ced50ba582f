//! The hand-written printers of the built-in kinds, one table per area.
//!
//! Columns and cells are those of upstream's `pkg/printers/internalversion/printers.go`, and of
//! `kube-aggregator/pkg/registry/apiservice/etcd/etcd.go` for API services and apiextensions
//! `pkg/registry/customresourcedefinition/tableconvertor` for definitions; the descriptions are our own. One difference:
//! upstream's rows of IP addresses carry an age that no column announces, which clients drop; ours do not.

mod admin;
mod autoscaling;
mod config;
mod definition;
mod events;
mod network;
mod node;
mod pod;
mod scheduling;
mod storage;
mod workloads;

use std::cmp::Ordering;

use serde_json::Value;

use super::column::Column;
use super::view::Row;

/// How one built-in kind prints.
#[derive(Debug)]
pub struct BuiltinPrinter {
    /// The API group, empty for the core group.
    pub(super) group: &'static str,
    /// The versions that print like this; empty for all of them.
    pub(super) versions: &'static [&'static str],
    /// The kind.
    pub(super) kind: &'static str,
    /// The columns.
    pub(super) columns: &'static [Column],
    /// The cells of one object, one for each column.
    pub(super) cells: fn(&Row<'_>) -> Vec<Value>,
    /// The conditions of the row: an array, or nothing.
    pub(super) conditions: fn(&Row<'_>) -> Option<Value>,
    /// The order of a list, where it is not that of the names.
    pub(super) order: Option<fn(&Value, &Value) -> Ordering>,
}

/// The tables, each searched in turn.
static TABLES: &[&[BuiltinPrinter]] = &[
    pod::PRINTERS,
    workloads::PRINTERS,
    config::PRINTERS,
    definition::PRINTERS,
    network::PRINTERS,
    node::PRINTERS,
    events::PRINTERS,
    storage::PRINTERS,
    autoscaling::PRINTERS,
    admin::PRINTERS,
    scheduling::PRINTERS,
];

impl BuiltinPrinter {
    /// The printer of a kind, if it has one.
    pub(super) fn find(group: &str, version: &str, kind: &str) -> Option<&'static Self> {
        Self::all().find(|printer| {
            printer.kind == kind
                && printer.group == group
                && (printer.versions.is_empty() || printer.versions.contains(&version))
        })
    }

    /// All printers.
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        TABLES.iter().copied().flatten()
    }
}

/// A printer for all versions of a kind, without row conditions.
const fn printer(
    group: &'static str,
    kind: &'static str,
    columns: &'static [Column],
    cells: fn(&Row<'_>) -> Vec<Value>,
) -> BuiltinPrinter {
    BuiltinPrinter {
        group,
        versions: &[],
        kind,
        columns,
        cells,
        conditions: no_conditions,
        order: None,
    }
}

fn no_conditions(_: &Row<'_>) -> Option<Value> {
    None
}
