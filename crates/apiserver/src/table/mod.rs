//! Server-side printing: objects as rows of a `meta.k8s.io` Table.
//!
//! A client that asks for `application/json;as=Table;v=v1;g=meta.k8s.io` receives the columns that `kubectl get`
//! prints instead of the objects. What the columns are depends on the kind alone, so a [`Printer`] is looked up once per
//! request ([`Printer::for_builtin`], or [`CustomColumns::compile`] for a custom resource), gives its
//! [`columns`](Printer::columns), turns each object into a [`row`](Printer::row), and [`table`] wraps the rows up:
//!
//! * kinds that upstream prints by hand are rows of static tables, one per area ([`BuiltinPrinter`]);
//! * custom resources follow the `additionalPrinterColumns` of their version ([`CustomColumns`]);
//! * everything else shows its name and when it was created.
//!
//! ```
//! use kubewright_apiserver::table::{IncludeObject, Printer, TableVersion, table};
//! use serde_json::json;
//!
//! let printer = Printer::for_builtin("", "v1", "Namespace");
//! let object = json!({
//!     "apiVersion": "v1", "kind": "Namespace",
//!     "metadata": {"name": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
//!     "status": {"phase": "Active"},
//! });
//! let now = "2026-01-01T00:05:00Z".parse().expect("a timestamp");
//! let row = printer.row(&object, IncludeObject::Metadata, TableVersion::V1, now);
//! assert_eq!(row["cells"], json!(["default", "Active", "5m"]));
//! let list = json!({"resourceVersion": "42"});
//! let table = table(&list, vec![row], Some(&printer.columns()), TableVersion::V1);
//! assert_eq!(table["columnDefinitions"][2]["name"], "Age");
//! ```
//!
//! Everything here is pure: objects are the JSON of the served version, the clock is an argument. Printing never fails;
//! a field of an unexpected shape reads as if it were absent.
//!
//! Upstream: `pkg/printers/internalversion/printers.go`, `apiextensions-apiserver/pkg/registry/customresource/tableconvertor`,
//! `apiserver/pkg/registry/rest/table.go` and `apiserver/pkg/endpoints/handlers/response.go`. The tables show what
//! `kubectl get -o wide` does: the server always computes every column and the client hides those of priority above 0.

mod builtin;
mod column;
mod custom;
mod format;
pub mod jsonpath;
mod view;

#[cfg(test)]
mod tests;

use crate::builtin::conversion;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub use builtin::BuiltinPrinter;
pub use column::ColumnDefinition;
pub use custom::{CustomColumns, Error};
pub use format::human_duration;

use column::{Column, NAME, col};
use view::Row;

/// The annotation on the bookmark that ends the initial events of a streaming list. Its object is sent with metadata even
/// to a client that wants none, since the annotation is all that the event says (KEP-3157).
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// How the objects of one kind become rows.
#[derive(Clone, Debug)]
pub enum Printer {
    /// One of the hand-written printers of the built-in kinds.
    Builtin(&'static BuiltinPrinter),
    /// The printer columns of one version of a custom resource definition.
    Custom(Arc<CustomColumns>),
    /// Name and creation time, for every kind that nobody described.
    Default,
}

/// How much of the object travels with its row: the `includeObject` parameter of a Table request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// `None`: the row's `object` is null.
    None,
    /// `Metadata`, also meant by an empty parameter: a `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// `Object`: the object as a plain request would return it.
    Object,
}

impl IncludeObject {
    /// Reads the query parameter; `None` for a value that is none of upstream's three (answer 400).
    pub fn from_query(value: &str) -> Option<Self> {
        match value {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// The versions of the group `meta.k8s.io` that have a Table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`, the same fields under an older name.
    V1beta1,
}

impl TableVersion {
    /// Reads the `v` parameter of the media type; `None` for a version without a Table (answer 406).
    pub fn from_name(version: &str) -> Option<Self> {
        match version {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1beta1),
            _ => None,
        }
    }

    /// The `apiVersion` of a Table, and of the partial metadata in its rows, in this version.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Printer {
    /// The printer of a built-in kind as it is served in `version`; [`Printer::Default`] where upstream has none, which
    /// includes kinds that this server does not know.
    pub fn for_builtin(group: &str, version: &str, kind: &str) -> Self {
        BuiltinPrinter::find(group, version, kind).map_or(Self::Default, Self::Builtin)
    }

    /// The printer of the scale of a built-in kind.
    pub fn for_builtin_scale() -> Self {
        Self::for_builtin("autoscaling", "v1", "Scale")
    }

    /// The printer of the scale of a custom resource (apiextensions `pkg/apiserver/helpers.go` `getScaleColumnsForVersion`).
    pub fn for_custom_scale() -> Self {
        let (columns, _) = CustomColumns::compile_leading(&json!([
            {"name": "Desired", "type": "integer", "description": "Pods wanted.", "jsonPath": ".spec.replicas"},
            {"name": "Available", "type": "integer", "description": "Pods that exist.", "jsonPath": ".status.replicas"},
            {"name": "Age", "type": "date", "description": "Time since the object was created.", "jsonPath": ".metadata.creationTimestamp"},
        ]));
        Self::Custom(Arc::new(columns))
    }

    /// The columns, in the order of the cells of [`Printer::row`].
    pub fn columns(&self) -> Vec<ColumnDefinition> {
        match self {
            Self::Builtin(printer) => printer
                .columns
                .iter()
                .copied()
                .map(ColumnDefinition::from)
                .collect(),
            Self::Custom(columns) => columns.columns(),
            Self::Default => DEFAULT_COLUMNS.map(ColumnDefinition::from).to_vec(),
        }
    }

    /// Puts the objects of one response into the order that the table shows, which for a few kinds is not that of their
    /// names.
    pub fn sort(&self, objects: &mut [&Value]) {
        if let Self::Builtin(BuiltinPrinter {
            order: Some(order), ..
        }) = self
        {
            objects.sort_by(|a, b| order(a, b));
        }
    }

    /// One object as a `TableRow`: its cells, the row conditions (a pod that ran to its end is `Completed`) and as much
    /// of the object as `include` asks for. Ages are counted from `now`. The object has its `apiVersion` and `kind`, which
    /// items of a list leave out elsewhere: a row with the whole object shows them.
    pub fn row(
        &self,
        object: &Value,
        include: IncludeObject,
        version: TableVersion,
        now: Timestamp,
    ) -> Value {
        let row = Row { object, now };
        let (cells, conditions) = match self {
            Self::Builtin(printer) => ((printer.cells)(&row), (printer.conditions)(&row)),
            Self::Custom(columns) => (columns.cells(&row), None),
            Self::Default => (default_cells(&row), None),
        };
        let mut out = Map::new();
        out.insert("cells".to_owned(), Value::Array(cells));
        if let Some(conditions) = conditions {
            out.insert("conditions".to_owned(), conditions);
        }
        out.insert("object".to_owned(), included(object, include, version));
        Value::Object(out)
    }
}

/// Wraps rows up as a Table. `metadata` is the metadata of the list, or of the single object that was asked for;
/// `columns` is `None` from the second event of a watch on, where upstream sends `columnDefinitions: null`.
pub fn table(
    metadata: &Value,
    rows: Vec<Value>,
    columns: Option<&[ColumnDefinition]>,
    version: TableVersion,
) -> Value {
    let mut list_meta = Map::new();
    for field in ["resourceVersion", "continue", "remainingItemCount"] {
        match metadata.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(value) => {
                list_meta.insert(field.to_owned(), value.clone());
            }
        }
    }
    json!({
        "kind": "Table",
        "apiVersion": version.api_version(),
        "metadata": list_meta,
        "columnDefinitions": columns.map(|columns| columns.iter().map(ColumnDefinition::to_json).collect::<Vec<_>>()),
        "rows": rows,
    })
}

fn included(object: &Value, include: IncludeObject, version: TableVersion) -> Value {
    let metadata = object.get("metadata");
    match include {
        IncludeObject::Object => object.clone(),
        IncludeObject::None
            if metadata
                .and_then(|metadata| metadata.get("annotations")?.get(INITIAL_EVENTS_END))
                .is_none_or(|value| value != "true") =>
        {
            Value::Null
        }
        IncludeObject::None | IncludeObject::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": version.api_version(),
            "metadata": conversion::shown_metadata(object),
        }),
    }
}

const DEFAULT_COLUMNS: [Column; 2] = [
    NAME,
    col("Created At", "date", "When the server created the object."),
];

fn default_cells(row: &Row<'_>) -> Vec<Value> {
    // An object without a creation time prints the zero time, as upstream's formatter does.
    let created = match row.text("/metadata/creationTimestamp") {
        "" => "0001-01-01T00:00:00Z",
        created => created,
    };
    vec![row.name(), created.into()]
}
