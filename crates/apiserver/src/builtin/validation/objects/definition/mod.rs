//! Validation of custom resource definitions.
//!
//! Upstream: apiextensions `pkg/apis/apiextensions/validation/validation.go`. Rules in CEL are not checked here.

use std::collections::HashSet;

use kubewright_core::{FieldError, FieldPath};
use kubewright_schema::{JsonType, StructuralSchema};
use serde_json::Value;

use super::super::super::value::{list_at, str_at, true_at};
use super::super::names::{dns_1035_label, subdomain};
use super::super::{immutable, supported};

/// Checks a definition.
pub(crate) fn custom_resource_definition(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = FieldPath::new("spec");
    let name = str_at(definition, "/metadata/name");
    let (group, plural) = (
        str_at(definition, "/spec/group"),
        str_at(definition, "/spec/names/plural"),
    );
    if name != format!("{plural}.{group}") {
        let path = FieldPath::new("metadata").child("name");
        errors.push(FieldError::invalid(
            path,
            name,
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    check_group(&mut errors, group, &spec.child("group"));
    let scope = str_at(definition, "/spec/scope");
    if scope.is_empty() {
        errors.push(FieldError::required(spec.child("scope"), ""));
    }
    supported(
        &mut errors,
        spec.child("scope"),
        definition.pointer("/spec/scope"),
        &["Cluster", "Namespaced"],
    );
    check_versions(&mut errors, definition, &spec.child("versions"));
    check_names(&mut errors, &definition["spec"]["names"], &spec.child("names"));
    check_conversion(
        &mut errors,
        &definition["spec"]["conversion"],
        &spec.child("conversion"),
    );
    if true_at(definition, "/spec/preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(
            spec.child("preserveUnknownFields"),
            true,
            detail,
        ));
    }
    check_stored_versions(&mut errors, definition);
    check_approval(&mut errors, definition);
    errors
}

/// Checks what an update changes.
pub(crate) fn custom_resource_definition_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let conditions = list_at(old, "/status/conditions");
    if conditions
        .iter()
        .any(|one| one["type"] == "Established" && one["status"] == "True")
    {
        // Objects are stored by these.
        immutable(&mut errors, new, old, "/spec/scope");
        immutable(&mut errors, new, old, "/spec/names/kind");
    }
    immutable(&mut errors, new, old, "/spec/group");
    immutable(&mut errors, new, old, "/spec/names/plural");
    errors
}

fn check_group(errors: &mut Vec<FieldError>, group: &str, path: &FieldPath) {
    if group.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    let wrong = subdomain(group);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path.clone(), group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            path.clone(),
            group,
            "should be a domain with at least one dot",
        ));
    }
}

fn check_names(errors: &mut Vec<FieldError>, names: &Value, path: &FieldPath) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let text = names[name].as_str().unwrap_or_default();
        if text.is_empty() {
            errors.push(FieldError::required(path.child(name), ""));
            continue;
        }
        let is_kind = matches!(name, "kind" | "listKind");
        let wrong = if is_kind {
            dns_1035_label(&text.to_lowercase())
        } else {
            dns_1035_label(text)
        };
        if !wrong.is_empty() {
            let hint = if is_kind {
                "may have mixed case, but should otherwise match: "
            } else {
                ""
            };
            errors.push(FieldError::invalid(
                path.child(name),
                text,
                format!("{hint}{}", wrong.join(",")),
            ));
        }
    }
    if names["kind"] == names["listKind"] && names["kind"].as_str().is_some_and(|kind| !kind.is_empty()) {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            path.child("listKind"),
            names["listKind"].clone(),
            detail,
        ));
    }
    for field in ["shortNames", "categories"] {
        for (i, name) in names[field].as_array().into_iter().flatten().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let wrong = dns_1035_label(name);
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(
                    path.child(field).index(i),
                    name,
                    wrong.join(","),
                ));
            }
        }
    }
}

fn check_versions(errors: &mut Vec<FieldError>, definition: &Value, path: &FieldPath) {
    let versions = list_at(definition, "/spec/versions");
    let mut names = HashSet::new();
    let mut is_unique = true;
    for (i, version) in versions.iter().enumerate() {
        let path = path.index(i);
        let name = str_at(version, "/name");
        is_unique &= names.insert(name);
        let wrong = dns_1035_label(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(path.child("name"), name, wrong.join(",")));
        }
        check_version(errors, version, &path);
    }
    // Upstream shows the versions in Go's notation here, which nobody reads to the end.
    let mut whole = |detail: &str| errors.push(FieldError::invalid(path.clone(), names_of(versions), detail));
    if !is_unique {
        whole("must contain unique version names");
    }
    if versions
        .iter()
        .filter(|version| true_at(version, "/storage"))
        .count()
        != 1
    {
        whole("must have exactly one version marked as storage version");
    }
}

fn names_of(versions: &[Value]) -> Value {
    versions.iter().map(|version| version["name"].clone()).collect()
}

fn check_version(errors: &mut Vec<FieldError>, version: &Value, path: &FieldPath) {
    check_deprecation(errors, version, &path.child("deprecationWarning"));
    let schema_path = path.child("schema").child("openAPIV3Schema");
    let schema = match version.pointer("/schema/openAPIV3Schema") {
        Some(schema) if !schema.is_null() => check_schema(errors, version, schema, &schema_path),
        _ => {
            errors.push(FieldError::required(schema_path, ""));
            None
        }
    };
    if let Some(scale) = version.pointer("/subresources/scale") {
        check_scale(errors, scale, &path.child("subresources"));
    }
    for (i, column) in list_at(version, "/additionalPrinterColumns").iter().enumerate() {
        check_column(errors, column, &path.child("additionalPrinterColumns").index(i));
    }
    let fields = list_at(version, "/selectableFields");
    if let Some(schema) = schema.filter(|_| !fields.is_empty()) {
        check_selectable_fields(errors, fields, &schema, &path.child("selectableFields"));
    }
}

fn check_deprecation(errors: &mut Vec<FieldError>, version: &Value, path: &FieldPath) {
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

/// Checks a schema and compiles it, where it can be.
fn check_schema(
    errors: &mut Vec<FieldError>,
    version: &Value,
    schema: &Value,
    path: &FieldPath,
) -> Option<StructuralSchema> {
    let before = errors.len();
    if version.pointer("/subresources/status").is_some() {
        check_root(errors, schema, path);
    }
    if true_at(schema, "/nullable") {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    errors.extend(kubewright_schema::check(schema, path));
    match StructuralSchema::parse(schema) {
        Ok(compiled) => {
            if errors.len() == before {
                check_defaults(errors, &compiled, path, Depth(0));
            }
            Some(compiled)
        }
        Err(error) => {
            // What keeps a schema from being compiled mostly makes it no structural one either.
            if errors.len() == before {
                errors.push(FieldError::invalid(path.clone(), "", error.to_string()));
            }
            None
        }
    }
}

/// With a status subresource, the schema of `status` is taken out of the whole, so the whole may only say what does not get lost
/// by that.
fn check_root(errors: &mut Vec<FieldError>, schema: &Value, path: &FieldPath) {
    if schema["type"] != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(
            path.child("type"),
            schema["type"].clone(),
            detail,
        ));
    }
    let Some(fields) = schema.as_object() else { return };
    if fields
        .keys()
        .any(|field| ROOT_FORBIDDEN.contains(&field.as_str()))
    {
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            ROOT_ALLOWED.join(" ")
        );
        errors.push(FieldError::invalid(path.clone(), "", detail));
    }
}

/// How deep a schema is looked into; what is deeper does not compile.
#[derive(Clone, Copy)]
struct Depth(usize);

/// Defaults must themselves be valid and hold nothing that is pruned (`schema/defaulting/validation.go`).
fn check_defaults(errors: &mut Vec<FieldError>, schema: &StructuralSchema, path: &FieldPath, depth: Depth) {
    if depth.0 > kubewright_schema::MAX_DEPTH {
        return;
    }
    if let Some(default) = schema.default_value() {
        let path = path.child("default");
        let mut pruned = default.clone();
        if !schema.prune(&mut pruned).is_empty() {
            errors.push(FieldError::invalid(
                path.clone(),
                default.clone(),
                "must not have unknown fields",
            ));
        }
        errors.extend(
            schema
                .validate(default, None)
                .into_iter()
                .map(|error| within(&path, error)),
        );
    }
    if let Some(items) = schema.items() {
        check_defaults(errors, items, &path.child("items"), Depth(depth.0 + 1));
    }
    for (name, property) in schema.properties() {
        check_defaults(
            errors,
            property,
            &path.child("properties").key(name),
            Depth(depth.0 + 1),
        );
    }
}

/// An error of a value, told of where the value stands.
fn within(path: &FieldPath, mut error: FieldError) -> FieldError {
    let is_default_itself = error.path == FieldPath::root();
    let inner = if is_default_itself {
        ""
    } else {
        error.path.as_str()
    };
    // Details begin with the path of the value, which is empty for the default itself.
    if let Some(rest) = error
        .detail
        .strip_prefix(inner)
        .filter(|rest| rest.starts_with(" in body"))
    {
        let dot = if inner.is_empty() { "" } else { "." };
        error.detail = format!("{path}{dot}{inner}{rest}");
    }
    error.path = match inner {
        "" => path.clone(),
        inner if inner.starts_with('[') => FieldPath::new(format!("{path}{inner}")),
        inner => path.child(inner),
    };
    error
}

fn check_scale(errors: &mut Vec<FieldError>, scale: &Value, path: &FieldPath) {
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

fn check_column(errors: &mut Vec<FieldError>, column: &Value, path: &FieldPath) {
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

fn check_selectable_fields(
    errors: &mut Vec<FieldError>,
    fields: &[Value],
    schema: &StructuralSchema,
    path: &FieldPath,
) {
    let mut seen = HashSet::new();
    for (i, field) in fields.iter().enumerate() {
        let path = path.index(i).child("jsonPath");
        let text = str_at(field, "/jsonPath");
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let Some(steps) = text
            .strip_prefix('.')
            .map(|rest| rest.split('.').collect::<Vec<_>>())
        else {
            errors.push(FieldError::invalid(
                path,
                text,
                "is an invalid path: expected [ or . but got: no such path",
            ));
            continue;
        };
        if steps[0] == "metadata" {
            errors.push(FieldError::invalid(
                path.clone(),
                text,
                "must not point to fields in metadata",
            ));
        } else {
            match steps.iter().try_fold(schema, |schema, step| schema.member(step)) {
                None => errors.push(FieldError::invalid(
                    path.clone(),
                    text,
                    "is an invalid path: does not refer to a valid field",
                )),
                Some(found) => {
                    let ty = found.json_type();
                    if !matches!(ty, Some(JsonType::String | JsonType::Boolean | JsonType::Integer)) {
                        let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
                        errors.push(FieldError::invalid(path.clone(), text, detail));
                    }
                }
            }
        }
        if !seen.insert(text) {
            errors.push(FieldError::duplicate(path, text));
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        errors.push(FieldError::too_many(
            path.clone(),
            seen.len(),
            MAX_SELECTABLE_FIELDS,
        ));
    }
}

fn check_conversion(errors: &mut Vec<FieldError>, conversion: &Value, path: &FieldPath) {
    if !conversion.is_object() {
        return;
    }
    let strategy = str_at(conversion, "/strategy");
    if strategy.is_empty() {
        errors.push(FieldError::required(path.child("strategy"), ""));
    }
    supported(
        errors,
        path.child("strategy"),
        conversion.get("strategy"),
        &["None", "Webhook"],
    );
    let webhook = conversion.get("webhook").filter(|webhook| !webhook.is_null());
    let client_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if webhook.and_then(|webhook| webhook.get("clientConfig")).is_some() {
            errors.push(FieldError::forbidden(client_path, detail));
        }
        if webhook.is_some_and(|webhook| !list_at(webhook, "/conversionReviewVersions").is_empty()) {
            errors.push(FieldError::forbidden(versions_path, detail));
        }
        return;
    }
    match webhook.and_then(|webhook| webhook.get("clientConfig")) {
        None => errors.push(FieldError::required(
            client_path,
            "required when strategy is set to Webhook",
        )),
        Some(config) if config.get("url").is_some() == config.get("service").is_some() => {
            errors.push(FieldError::required(
                client_path,
                "exactly one of url or service is required",
            ));
        }
        Some(_) => {}
    }
    let versions = webhook
        .map(|webhook| list_at(webhook, "/conversionReviewVersions"))
        .unwrap_or_default();
    if versions.is_empty() {
        errors.push(FieldError::required(versions_path, ""));
    } else if !versions
        .iter()
        .any(|version| version == "v1" || version == "v1beta1")
    {
        let all = Value::Array(versions.to_vec());
        errors.push(FieldError::invalid(
            versions_path,
            all,
            "must include at least one of v1, v1beta1",
        ));
    }
}

fn check_stored_versions(errors: &mut Vec<FieldError>, definition: &Value) {
    let path = FieldPath::new("status").child("storedVersions");
    let stored = list_at(definition, "/status/storedVersions");
    let versions = list_at(definition, "/spec/versions");
    let all = || Value::Array(stored.to_vec());
    if stored.is_empty() {
        return errors.push(FieldError::invalid(
            path,
            all(),
            "must have at least one stored version",
        ));
    }
    for version in versions.iter().filter(|version| true_at(version, "/storage")) {
        if !stored.contains(&version["name"]) {
            let detail = format!("must have the storage version {}", str_at(version, "/name"));
            errors.push(FieldError::invalid(path.clone(), all(), detail));
        }
    }
    for (i, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let v = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {v} and removes {v} from status.storedVersions"
            );
            errors.push(FieldError::invalid(path.index(i), v, detail));
        }
    }
}

/// Whether the group is anybody's, or has the annotation of an approval or of a deliberate lack of one.
fn is_approved_enough(definition: &Value) -> bool {
    let group = str_at(definition, "/spec/group");
    let is_protected = ["k8s.io", "kubernetes.io"].iter().any(|owner| {
        group
            .strip_suffix(owner)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let annotation = definition["metadata"]["annotations"][APPROVED]
        .as_str()
        .unwrap_or_default();
    let is_url = annotation.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty()
            && !rest.is_empty()
            && !rest.starts_with('/')
            && !rest.contains(char::is_whitespace)
    });
    !is_protected || annotation.starts_with("unapproved") || is_url
}

/// Groups of the Kubernetes project need an approval (KEP-1111).
fn check_approval(errors: &mut Vec<FieldError>, definition: &Value) {
    if is_approved_enough(definition) {
        return;
    }
    let path = FieldPath::new("metadata").child("annotations").key(APPROVED);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let annotation = definition["metadata"]["annotations"][APPROVED]
        .as_str()
        .unwrap_or_default();
    errors.push(if annotation.is_empty() {
        FieldError::required(path, format!("protected groups must have approval annotation {APPROVED:?}, {see}"))
    } else {
        let detail = format!(
            "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting with \"unapproved\", {see}"
        );
        FieldError::invalid(path, annotation, detail)
    });
}

const APPROVED: &str = "api-approved.kubernetes.io";
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
/// Keywords that would be lost at the root; upstream lists the others.
const ROOT_FORBIDDEN: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "enum",
    "maxProperties",
    "minProperties",
    "not",
    "oneOf",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];
/// `allowedFieldsAtRootSchema`, in Go's names as the message has them.
const ROOT_ALLOWED: &[&str] = &[
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

#[cfg(test)]
mod tests;
