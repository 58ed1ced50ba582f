//! What every embedded resource must have (apiextensions `pkg/apiserver/schema/objectmeta/validation.go`).

use kubewright_core::json::by_name;
use kubewright_core::{FieldError, FieldPath};
use serde_json::{Map, Value};

use crate::structural::StructuralSchema;

pub(super) fn check(schema: &StructuralSchema, object: &Value, errors: &mut Vec<FieldError>) {
    schema.each_embedded(object, &mut |path, resource| {
        if let Value::Object(members) = resource {
            check_type_meta(members, path, errors);
        }
    });
}

impl StructuralSchema {
    /// Calls `visit` with every resource that is embedded in an object, and where it is: their metadata has rules that no schema
    /// says.
    pub fn each_embedded<'a>(&self, object: &'a Value, visit: &mut impl FnMut(&FieldPath, &'a Value)) {
        walk(self, object, &FieldPath::root(), visit);
    }

    /// Checks what embedded resources of a value must have; with `is_root`, the value is one, too.
    pub(crate) fn check_embedded(&self, value: &Value, is_root: bool) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Value::Object(members) = value
            && is_root
            && !self.embedded_resource
        {
            check_type_meta(members, &FieldPath::root(), &mut errors);
        }
        check(self, value, &mut errors);
        errors
    }
}

fn walk<'a>(
    schema: &StructuralSchema,
    value: &'a Value,
    path: &FieldPath,
    visit: &mut impl FnMut(&FieldPath, &'a Value),
) {
    if !schema.within.embedded {
        return;
    }
    match value {
        Value::Object(members) => {
            if schema.embedded_resource {
                visit(path, value);
            }
            for (name, member) in by_name(members) {
                if let Some(below) = schema.properties.get(name) {
                    walk(below, member, &path.child(name), visit);
                } else if let Some(below) = schema.additional_schema() {
                    walk(below, member, &path.key(name), visit);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(below) = schema.items.as_deref() {
                    walk(below, item, &path.index(index), visit);
                }
            }
        }
        _ => {}
    }
}

fn check_type_meta(members: &Map<String, Value>, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        let path = path.child(name);
        match members.get(name) {
            None => errors.push(FieldError::required(path, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(path, "", "must not be empty"));
            }
            Some(Value::String(text)) => {
                let problem = if name == "kind" {
                    kind_problem(text)
                } else {
                    group_version_problem(text)
                };
                errors.extend(problem.map(|problem| FieldError::invalid(path, text.as_str(), problem)));
            }
            Some(other) => errors.push(FieldError::invalid(path, other.clone(), "must be a string")),
        }
    }
    if let Some(metadata) = members.get("metadata")
        && !metadata.is_object()
    {
        errors.push(FieldError::invalid(
            path.child("metadata"),
            metadata.clone(),
            "must be an object",
        ));
    }
}

fn group_version_problem(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

/// The kind in lower case has to be a DNS label of RFC 1035.
fn kind_problem(text: &str) -> Option<String> {
    const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
        alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
        validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    const MAX_LENGTH: usize = 63;
    let mut problems = Vec::new();
    if text.len() > MAX_LENGTH {
        problems.push(format!("must be no more than {MAX_LENGTH} bytes"));
    }
    let edges = text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.ends_with('-');
    if !edges
        || !text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        problems.push(LABEL.to_owned());
    }
    let joined = problems.join(",");
    (!problems.is_empty()).then(|| format!("may have mixed case, but should otherwise match: {joined}"))
}
