//! Definitions of custom resources.

use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{NAME, boolean, col, string};
use crate::table::view::{Row, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[printer(
    "apiextensions.k8s.io",
    "CustomResourceDefinition",
    &[
        NAME,
        string("Scope", "Whether its objects are in namespaces."),
        string("Versions", "The versions that are served."),
        col("Created At", "date", "When the server created the object."),
        string("Group", "The group of its objects.").wide(),
        string("Kind", "The kind of its objects.").wide(),
        string("ShortNames", "Short names for its objects.").wide(),
        boolean("Established", "Whether its objects are served.").wide(),
    ],
    definition,
)];

fn definition(row: &Row<'_>) -> Vec<Value> {
    let mut versions: Vec<String> = row
        .items("/spec/versions")
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| {
            let storage = if version["storage"] == true {
                "(storage)"
            } else {
                ""
            };
            format!("{}{storage}", text(version, "/name"))
        })
        .collect();
    versions.sort_unstable();
    let short_names: Vec<&str> = row
        .items("/spec/names/shortNames")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let is_established = row
        .items("/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let created = match row.text("/metadata/creationTimestamp") {
        "" => "0001-01-01T00:00:00Z",
        created => created,
    };
    vec![
        row.name(),
        row.text("/spec/scope").into(),
        versions.join(",").into(),
        created.into(),
        row.text("/spec/group").into(),
        row.text("/spec/names/kind").into(),
        short_names.join(",").into(),
        is_established.into(),
    ]
}
