//! What belongs to a version: its schema, subresources, columns and selectable fields.
//!
//! Upstream keeps what all versions have alike at the definition itself, and reports it there: a definition of one version has its
//! schema at `spec.validation` (apiextensions `pkg/apis/apiextensions/v1/conversion.go`).

use std::collections::HashSet;

use kubewright_core::{FieldError, FieldPath};
use kubewright_schema::{JsonType, Status, StructuralSchema, check_definition};
use serde_json::Value;

use super::super::super::super::value::{list_at, str_at, true_at};
use super::super::super::metadata;
use super::{Errors, SCHEMA};

/// Which parts all versions have alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lifted {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

/// Requires a schema of every version.
pub(super) fn check_schemas_given(errors: &mut Errors, versions: &[Value], path: &FieldPath) {
    let is_missing = |version: &Value| version.pointer(SCHEMA).is_none_or(Value::is_null);
    for (index, _) in versions
        .iter()
        .enumerate()
        .filter(|(_, version)| is_missing(version))
    {
        let path = path.index(index).child("schema").child("openAPIV3Schema");
        errors.push(FieldError::required(path, ""));
    }
}

impl Lifted {
    pub(super) fn of(versions: &[Value]) -> Self {
        let alike = |pointer: &str| {
            let part = |version: &'_ Value| version.pointer(pointer).filter(|part| !part.is_null()).cloned();
            versions.windows(2).all(|pair| part(&pair[0]) == part(&pair[1]))
        };
        Self {
            schema: alike(SCHEMA),
            subresources: alike("/subresources"),
            columns: alike("/additionalPrinterColumns"),
            selectable: alike("/selectableFields"),
        }
    }

    /// What a version keeps when the parts that all have alike are taken out.
    pub(super) fn rest_of(self, version: &Value) -> Value {
        let mut rest = version.clone();
        let parts = [
            ("schema", self.schema),
            ("subresources", self.subresources),
            ("additionalPrinterColumns", self.columns),
            ("selectableFields", self.selectable),
        ];
        if let Some(members) = rest.as_object_mut() {
            members.retain(|name, _| !parts.contains(&(name, true)));
        }
        rest
    }

    /// Checks what a version has of its own.
    pub(super) fn check_version(self, errors: &mut Errors, version: &Value, path: &FieldPath) {
        check_deprecation(errors, version, &path.child("deprecationWarning"));
        if !self.schema {
            check_schema(errors, version, &path.child("schema"), status_of(version));
        }
        if !self.subresources {
            check_scale(errors, version, path);
        }
        if !self.columns {
            check_columns(errors, version, path);
        }
        if !self.selectable {
            check_selectable_fields(errors, version, path);
        }
    }

    /// Checks what the versions have in common.
    pub(super) fn check_common(self, errors: &mut Errors, versions: &[Value], spec: &FieldPath) {
        let Some(first) = versions.first() else { return };
        if self.schema {
            let with_status = versions
                .iter()
                .any(|version| status_of(version) == Status::Subresource);
            let status = if with_status {
                Status::Subresource
            } else {
                Status::Absent
            };
            check_schema(errors, first, &spec.child("validation"), status);
        }
        if self.subresources {
            check_scale(errors, first, spec);
        }
        if self.columns {
            check_columns(errors, first, spec);
        }
        if self.selectable {
            check_selectable_fields(errors, first, spec);
        }
    }
}

fn status_of(version: &Value) -> Status {
    match version.pointer("/subresources/status") {
        None | Some(Value::Null) => Status::Absent,
        Some(_) => Status::Subresource,
    }
}

fn check_schema(errors: &mut Errors, version: &Value, path: &FieldPath, status: Status) {
    if let Some(schema) = version.pointer(SCHEMA).filter(|schema| !schema.is_null()) {
        let path = path.child("openAPIV3Schema");
        errors.extend(check_definition(schema, &path, status, &metadata::embedded));
    }
}

fn check_deprecation(errors: &mut Errors, version: &Value, path: &FieldPath) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let mut refuse = |detail: String| errors.push(FieldError::invalid(path.clone(), warning, detail));
    if !true_at(version, "/deprecated") {
        return refuse("can only be set for deprecated versions".to_owned());
    }
    if warning.len() > MAX_WARNING_BYTES {
        refuse(format!("must be <= {MAX_WARNING_BYTES} characters long"));
    }
    if warning.is_empty() {
        refuse("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        refuse(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

fn check_scale(errors: &mut Errors, version: &Value, path: &FieldPath) {
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|scale| !scale.is_null())
    else {
        return;
    };
    let path = path.child("subresources");
    let paths = [
        (
            "specReplicasPath",
            &[".spec."][..],
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            &[".status."],
            "should be a json path under .status",
        ),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ];
    for (field, prefixes, detail) in paths {
        let path = path.child("scale").child(field);
        match scale[field].as_str().unwrap_or_default() {
            "" if field == "labelSelectorPath" => {}
            "" => errors.push(FieldError::required(path, "")),
            text if !text.starts_with('.') => errors.push(not_simple(path, text)),
            text if !prefixes.iter().any(|prefix| text.starts_with(prefix)) => {
                errors.push(FieldError::invalid(path, text, detail));
            }
            _ => {}
        }
    }
}

fn not_simple(path: FieldPath, text: &str) -> FieldError {
    FieldError::invalid(path, text, "must be a simple json path starting with .")
}

fn check_columns(errors: &mut Errors, version: &Value, path: &FieldPath) {
    for (index, column) in list_at(version, "/additionalPrinterColumns").iter().enumerate() {
        check_column(
            errors,
            column,
            &path.child("additionalPrinterColumns").index(index),
        );
    }
}

fn check_column(errors: &mut Errors, column: &Value, path: &FieldPath) {
    let text = |field: &str| column[field].as_str().unwrap_or_default();
    if text("name").is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    let one_of = |all: &[&str]| format!("must be one of {}", all.join(","));
    match text("type") {
        "" => errors.push(FieldError::required(path.child("type"), one_of(COLUMN_TYPES))),
        ty if !COLUMN_TYPES.contains(&ty) => {
            errors.push(FieldError::invalid(path.child("type"), ty, one_of(COLUMN_TYPES)));
        }
        _ => {}
    }
    let format = text("format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        errors.push(FieldError::invalid(
            path.child("format"),
            format,
            one_of(COLUMN_FORMATS),
        ));
    }
    match text("jsonPath") {
        "" => errors.push(FieldError::required(path.child("JSONPath"), "")),
        text if !text.starts_with('.') => errors.push(not_simple(path.child("JSONPath"), text)),
        _ => {}
    }
}

fn check_selectable_fields(errors: &mut Errors, version: &Value, path: &FieldPath) {
    let fields = list_at(version, "/selectableFields");
    if fields.is_empty() {
        return;
    }
    let Some(Ok(schema)) = version.pointer(SCHEMA).map(StructuralSchema::parse) else {
        // What keeps a schema from being compiled is told of where the schema is.
        return;
    };
    let path = path.child("selectableFields");
    let mut seen = HashSet::new();
    for (index, field) in fields.iter().enumerate() {
        let path = path.index(index).child("jsonPath");
        let text = str_at(field, "/jsonPath");
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let (leads_to, found) = match schema.field_at(text) {
            Ok(found) => found,
            Err(wrong) => {
                let detail = format!("is an invalid path: {wrong}");
                errors.push(FieldError::invalid(path, text, detail));
                continue;
            }
        };
        if leads_to.as_str().split(['.', '[']).next() == Some("metadata") {
            let detail = "must not point to fields in metadata";
            errors.push(FieldError::invalid(path.clone(), text, detail));
        }
        let ty = found.json_type();
        if !matches!(ty, Some(JsonType::String | JsonType::Boolean | JsonType::Integer)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(path.clone(), text, detail));
        }
        if !seen.insert(leads_to) {
            errors.push(FieldError::duplicate(path, text));
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS));
    }
}

/// Upstream's `MaxSelectableFields`.
const MAX_SELECTABLE_FIELDS: usize = 8;
const MAX_WARNING_BYTES: usize = 256;
const COLUMN_TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: &[&str] = &[
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
