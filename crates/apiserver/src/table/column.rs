//! Column definitions: the head of a Table.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

/// One column, serialised as `TableColumnDefinition` of `meta.k8s.io`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnDefinition {
    /// What stands above the column, before the client turns it to capitals.
    pub name: Cow<'static, str>,
    /// The OpenAPI type of the cells: `string`, `integer`, `number`, `boolean` or `date`.
    #[serde(rename = "type")]
    pub type_: Cow<'static, str>,
    /// A refinement of the type, empty for none. `name` marks the column that identifies the object.
    pub format: Cow<'static, str>,
    /// What the column shows, for people.
    pub description: Cow<'static, str>,
    /// 0 for a column that always shows; above that, clients show it in wide output only.
    pub priority: i32,
}

impl ColumnDefinition {
    /// The column as the JSON of a `TableColumnDefinition`.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.type_,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

/// A column of a built-in kind: a [`ColumnDefinition`] that can stand in a static table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    type_: &'static str,
    format: &'static str,
    description: &'static str,
    priority: i32,
}

impl Column {
    /// The same column, for wide output only.
    pub(super) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The same column, marked as the one that identifies the object.
    pub(super) const fn identifying(self) -> Self {
        Self {
            format: "name",
            ..self
        }
    }
}

impl From<Column> for ColumnDefinition {
    fn from(column: Column) -> Self {
        Self {
            name: Cow::Borrowed(column.name),
            type_: Cow::Borrowed(column.type_),
            format: Cow::Borrowed(column.format),
            description: Cow::Borrowed(column.description),
            priority: column.priority,
        }
    }
}

/// A column of the given type that always shows.
pub(super) const fn col(name: &'static str, type_: &'static str, description: &'static str) -> Column {
    Column {
        name,
        type_,
        format: "",
        description,
        priority: 0,
    }
}

/// A column of strings.
pub(super) const fn string(name: &'static str, description: &'static str) -> Column {
    col(name, "string", description)
}

/// A column of whole numbers.
pub(super) const fn integer(name: &'static str, description: &'static str) -> Column {
    col(name, "integer", description)
}

/// A column of truth values.
pub(super) const fn boolean(name: &'static str, description: &'static str) -> Column {
    col(name, "boolean", description)
}

/// The first column of nearly every table.
pub(super) const NAME: Column = string("Name", "The object's name, unique in its namespace.").identifying();
/// How long ago the object was created.
pub(super) const AGE: Column = string("Age", "Time since the object was created.");
/// Names of the containers of a pod template.
pub(super) const CONTAINERS: Column = string("Containers", "Names of the template's containers.");
/// Images of the containers of a pod template.
pub(super) const IMAGES: Column = string("Images", "Images of the template's containers.");
/// The label selector of a workload.
pub(super) const SELECTOR: Column = string("Selector", "Labels of the pods that belong to the object.");
