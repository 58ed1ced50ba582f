//! Columns of custom resources: `additionalPrinterColumns` of a version of a custom resource definition.
//!
//! Upstream: `apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go` for the cells and
//! `pkg/apiserver/helpers.go` there for the columns of a version that declares none.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::column::{ColumnDefinition, NAME, col};
use super::format::{INVALID, UNKNOWN, age, parse_rfc3339, parse_time};
use super::jsonpath::{self, JsonPath};
use super::view::Row;

/// Why printer columns cannot be compiled.
///
/// A definition with a faulty path is stored all the same: validation of definitions only asks for a leading dot. What
/// upstream then serves is [`CustomColumns::compile_leading`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `additionalPrinterColumns` is no array.
    #[error("additionalPrinterColumns must be an array")]
    NotAnArray,
    /// A column lacks one of the required strings.
    #[error("additionalPrinterColumns[{index}].{field} must be a non-empty string")]
    MissingField {
        /// Position of the column.
        index: usize,
        /// The missing field: `name`, `type` or `jsonPath`.
        field: &'static str,
    },
    /// The path of a column is not a JSONPath.
    #[error("additionalPrinterColumns[{index}].jsonPath {path:?} is no valid path")]
    JsonPath {
        /// Position of the column.
        index: usize,
        /// The path as written.
        path: String,
        /// What is wrong with it.
        #[source]
        source: jsonpath::Error,
    },
}

/// The compiled printer columns of one version: the name, then what the definition adds.
#[derive(Clone, Debug)]
pub struct CustomColumns {
    columns: Vec<CustomColumn>,
}

#[derive(Clone, Debug)]
struct CustomColumn {
    definition: ColumnDefinition,
    path: JsonPath,
}

impl CustomColumns {
    /// Compiles the `additionalPrinterColumns` of a version. Null or an empty array means the one column `Age`.
    pub fn compile(columns: &Value) -> Result<Self, Error> {
        match Self::compile_leading(columns) {
            (columns, None) => Ok(columns),
            (_, Some(error)) => Err(error),
        }
    }

    /// Compiles the columns before the first faulty one, and tells what is wrong with that: a faulty column costs itself
    /// and those after it, not the whole table.
    pub fn compile_leading(columns: &Value) -> (Self, Option<Error>) {
        let columns = match columns {
            Value::Null => &[],
            Value::Array(columns) => columns.as_slice(),
            _ => return (Self { columns: Vec::new() }, Some(Error::NotAnArray)),
        };
        let mut compiled = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            match CustomColumn::compile(index, column) {
                Ok(column) => compiled.push(column),
                Err(error) => return (Self { columns: compiled }, Some(error)),
            }
        }
        if compiled.is_empty() {
            compiled.push(CustomColumn {
                definition: col("Age", "date", "Time since the object was created.").into(),
                path: JsonPath::of_fields(["metadata", "creationTimestamp"]),
            });
        }
        (Self { columns: compiled }, None)
    }

    pub(super) fn columns(&self) -> Vec<ColumnDefinition> {
        std::iter::once(NAME.into())
            .chain(self.columns.iter().map(|column| column.definition.clone()))
            .collect()
    }

    pub(super) fn cells(&self, row: &Row<'_>) -> Vec<Value> {
        std::iter::once(row.name())
            .chain(self.columns.iter().map(|column| column.cell(row)))
            .collect()
    }
}

impl CustomColumn {
    fn compile(index: usize, column: &Value) -> Result<Self, Error> {
        let field = |field: &'static str| match column.get(field).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(Error::MissingField { index, field }),
        };
        let optional = |field| {
            column
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let path = field("jsonPath")?;
        let compiled = JsonPath::parse(&path);
        let compiled = compiled.map_err(|source| Error::JsonPath {
            index,
            path: path.clone(),
            source,
        })?;
        let description = match optional("description") {
            text if text.is_empty() => format!("The value at {path}."),
            text => text,
        };
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
        Ok(Self {
            definition: ColumnDefinition {
                name: Cow::Owned(field("name")?),
                type_: Cow::Owned(field("type")?),
                format: Cow::Owned(optional("format")),
                description: Cow::Owned(description),
                priority: i32::try_from(priority).unwrap_or(i32::MAX),
            },
            path: compiled,
        })
    }

    /// The first value at the path, as the column's type; null where there is none or it is of another type.
    fn cell(&self, row: &Row<'_>) -> Value {
        let Ok(found) = self.path.find(row.object) else {
            return Value::Null;
        };
        let Some(value) = found.first() else {
            return Value::Null;
        };
        match (&*self.definition.type_, &**value) {
            // Upstream's formatter meets a missing value here, not a null, and says so.
            ("string", Value::Null) => "<no value>".into(),
            ("string", value) => jsonpath::text(value).into(),
            ("integer", Value::Number(number)) => whole(number).into(),
            ("number", Value::Number(number)) => real(number),
            ("boolean", Value::Bool(value)) => (*value).into(),
            ("date", Value::String(text)) => date(text, row).into(),
            _ => Value::Null,
        }
    }
}

/// The number without its fraction. What no `i64` holds becomes the least of all, as it does for Go on most processors.
fn whole(number: &Number) -> i64 {
    // 2^63 is a double, the largest integer is none.
    const HELD: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the filter")]
    let truncated = || {
        let held = number.as_f64().filter(|float| HELD.contains(float));
        held.map_or(i64::MIN, |float| float as i64)
    };
    number.as_i64().unwrap_or_else(truncated)
}

/// The number, written without a fraction where it has none, as Go's encoder writes floats.
fn real(number: &Number) -> Value {
    let whole = whole(number);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a loss shows as inequality, and then the number stays as it is"
    )]
    if number.as_f64() == Some(whole as f64) {
        whole.into()
    } else {
        number.clone().into()
    }
}

/// The age at a date; what is no date is `<invalid>`, and no date at all `<unknown>`.
fn date(text: &str, row: &Row<'_>) -> String {
    if text.is_empty() || text == "null" {
        UNKNOWN.to_owned()
    } else if parse_rfc3339(text).is_none() {
        INVALID.to_owned()
    } else {
        age(parse_time(text), row.now)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn cells(columns: &Value, object: &Value) -> Vec<Value> {
        let now = Timestamp::from_second(1_000_000).unwrap();
        CustomColumns::compile(columns)
            .unwrap()
            .cells(&Row { object, now })
    }

    #[test]
    fn cells_follow_the_type_of_the_column() {
        let check = |type_: &str, value: Value, expect: Value| {
            let columns = json!([{"name": "C", "type": type_, "jsonPath": ".spec.value"}]);
            let object = json!({"metadata": {"name": "n"}, "spec": {"value": value}});
            assert_eq!(
                cells(&columns, &object),
                vec!["n".into(), expect],
                "{type_} of {value}"
            );
        };
        for (type_, value, expect) in [
            ("integer", json!(42), json!(42)),
            ("integer", json!(3.75), json!(3)),
            ("integer", json!(u64::MAX), json!(i64::MIN)),
            ("integer", json!(-1e19), json!(i64::MIN)),
            ("integer", json!(true), Value::Null),
            ("integer", json!("foo"), Value::Null),
            ("number", json!(42), json!(42)),
            ("number", json!(42.0), json!(42)),
            ("number", json!(3.75), json!(3.75)),
            ("number", json!("foo"), Value::Null),
            ("boolean", json!(true), json!(true)),
            ("boolean", json!(1), Value::Null),
            ("string", json!("foo"), json!("foo")),
            ("string", json!(""), json!("")),
            ("string", json!(42), json!("42")),
            ("string", json!(3.5), json!("3.5")),
            ("string", json!(false), json!("false")),
            (
                "string",
                json!({"b": 1, "a": "<"}),
                json!(r#"{"a":"\u003c","b":1}"#),
            ),
            ("string", json!([1, "x"]), json!(r#"[1,"x"]"#)),
            ("string", Value::Null, json!("<no value>")),
            ("date", json!("1970-01-12T01:46:40Z"), json!("12h")),
            ("date", json!("1970-01-13T13:46:40Z"), json!("<invalid>")),
            ("date", json!("yesterday"), json!("<invalid>")),
            ("date", json!(""), json!("<unknown>")),
            ("date", json!(7), Value::Null),
            ("unknown", json!("foo"), Value::Null),
        ] {
            check(type_, value, expect);
        }
    }

    #[test]
    fn a_missing_value_is_null_for_every_type() {
        for type_ in ["string", "integer", "number", "boolean", "date"] {
            let columns = json!([{"name": "C", "type": type_, "jsonPath": ".status.a[0].b"}]);
            assert_eq!(
                cells(&columns, &json!({"metadata": {"name": "n"}}))[1],
                Value::Null,
                "{type_}"
            );
        }
    }

    #[test]
    fn no_columns_means_age() {
        for columns in [json!(null), json!([])] {
            let object = json!({"metadata": {"name": "n", "creationTimestamp": "1970-01-12T13:46:30Z"}});
            assert_eq!(cells(&columns, &object), vec![json!("n"), json!("10s")]);
        }
    }

    #[test]
    fn columns_keep_what_the_definition_says() {
        let columns = json!([
            {"name": "Full", "type": "string", "format": "byte", "description": "d", "priority": 1, "jsonPath": ".a"},
            {"name": "Bare", "type": "date", "jsonPath": ".b"},
        ]);
        let columns = CustomColumns::compile(&columns).unwrap().columns();
        assert_eq!(
            columns[1].to_json(),
            json!({"name": "Full", "type": "string", "format": "byte", "description": "d", "priority": 1})
        );
        assert_eq!(
            columns[2].to_json(),
            json!({"name": "Bare", "type": "date", "format": "", "description": "The value at .b.", "priority": 0})
        );
    }

    #[test]
    fn columns_before_a_faulty_one_stay() {
        let column = |name, path| json!({"name": name, "type": "string", "jsonPath": path});
        let columns = json!([column("A", ".a"), column("B", ".b[x]"), column("C", ".c")]);
        let (columns, error) = CustomColumns::compile_leading(&columns);
        assert_eq!(
            columns
                .columns()
                .iter()
                .map(|column| &*column.name)
                .collect::<Vec<_>>(),
            ["Name", "A"]
        );
        assert!(matches!(error, Some(Error::JsonPath { index: 1, .. })));
    }

    #[test]
    fn faulty_columns_say_where() {
        let check = |columns: Value, expect: &str| {
            assert_eq!(CustomColumns::compile(&columns).unwrap_err().to_string(), expect);
        };
        check(json!({}), "additionalPrinterColumns must be an array");
        check(
            json!([{"name": "A", "type": "string"}]),
            "additionalPrinterColumns[0].jsonPath must be a non-empty string",
        );
        check(
            json!([{"name": "A", "type": "string", "jsonPath": ".a[x]"}]),
            r#"additionalPrinterColumns[0].jsonPath ".a[x]" is no valid path"#,
        );
    }
}
