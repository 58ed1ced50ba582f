//! Checking values against a schema, with the error texts of kube-openapi's `pkg/validation/validate`.
//!
//! The order of checks, what ends a check early and which alternative of an `anyOf` gets to explain itself follow
//! upstream, since all of it shows in messages that users and tests know. Where upstream walks maps in random order,
//! this walks them by name.

mod embedded;
mod leaf;
mod lists;
mod ratchet;

use std::fmt::Write;

use kubewright_core::json::by_name;
use kubewright_core::{FieldError, FieldPath, go_json};
use serde_json::{Map, Value};

pub(crate) use self::ratchet::Correlated;
use crate::structural::{AdditionalProperties, StructuralSchema, Types, ValueValidation};

/// The most errors that one check reports. Beyond them, nobody reads; a large object could have millions.
pub const MAX_ERRORS: usize = 1000;

impl StructuralSchema {
    /// Checks an object, and on update what has changed of it.
    ///
    /// With `old`, errors of parts that are unchanged and can be correlated with the old object do not count
    /// (KEP-4008, ratcheting): members of objects and items of lists of type map can be, items of other lists cannot.
    /// Duplicates in lists of type set and map do not count where the old object had some as well.
    ///
    /// Besides the keywords of OpenAPI this checks the uniqueness that list types promise and that embedded resources
    /// have an `apiVersion` and a `kind`. Rules in CEL are run by [`Rules`](crate::Rules).
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.check_values(object, old);
        embedded::check(self, object, &mut errors);
        let duplicates = lists::check(self, object);
        if !duplicates.is_empty() && old.is_none_or(|old| lists::check(self, old).is_empty()) {
            errors.extend(duplicates);
        }
        errors.truncate(MAX_ERRORS);
        errors
    }

    /// Checks what a write to the status of an object may have changed: the status against its own schema, in whose errors the path
    /// begins there, and besides that the object as [`validate`](Self::validate) does (apiextensions
    /// `pkg/registry/customresource/validator.go` `ValidateStatusUpdate`).
    pub fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let (Some(schema), Some(status)) = (self.properties.get("status"), object.get("status")) {
            let base = FieldPath::new("status");
            errors.extend(schema.check_values(status, old.get("status")));
            for error in &mut errors {
                error.path = match error.path == FieldPath::root() {
                    true => base.clone(),
                    false => base.child(error.path.as_str()),
                };
            }
        }
        embedded::check(self, object, &mut errors);
        let duplicates = lists::check(self, object);
        if !duplicates.is_empty() && lists::check(self, old).is_empty() {
            errors.extend(duplicates);
        }
        errors.truncate(MAX_ERRORS);
        errors
    }

    /// Checks a default of the definition: upstream does it by a form of the schema in which what may be an integer or a string has
    /// no type (apiextensions `pkg/apiserver/schema/kubeopenapi.go`).
    pub(crate) fn check_default(&self, default: &Value) -> Vec<FieldError> {
        let mut validator = Validator {
            is_int_or_string_untyped: true,
            ..Validator::default()
        };
        validator.visit(self, default, None);
        validator.errors
    }

    /// Checks a value against the keywords of OpenAPI alone.
    pub(crate) fn check_values(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut validator = Validator::default();
        validator.visit(self, object, old.map(|old| Correlated { old, schema: self }));
        validator.errors
    }
}

/// How many checks ran well: what upstream's `MatchCount` counts. Of several failed alternatives, that with the most is
/// reported.
type Matches = usize;

#[derive(Default)]
struct Validator {
    path: String,
    errors: Vec<FieldError>,
    is_int_or_string_untyped: bool,
}

impl Validator {
    /// The types that a schema asks for.
    fn types_of(&self, schema: &StructuralSchema) -> Types {
        match schema.int_or_string && self.is_int_or_string_untyped {
            true => Types::default(),
            false => schema.types,
        }
    }

    /// Checks a value that may be correlated with an old one: if it is unchanged, its errors do not count.
    fn visit(&mut self, schema: &StructuralSchema, value: &Value, old: Option<Correlated<'_>>) -> Matches {
        let before = self.errors.len();
        let matches = self.node(schema, value, old);
        if self.errors.len() > before && old.is_some_and(|old| old.is_unchanged(value)) {
            self.errors.truncate(before);
        }
        matches
    }

    fn node(&mut self, schema: &StructuralSchema, value: &Value, old: Option<Correlated<'_>>) -> Matches {
        let validation = schema.validation.as_deref();
        let mut matches = 0;
        if value.is_null() {
            matches += self.check_type(schema, value);
            self.check_enum(validation, value);
            return matches;
        }
        if !self.types_of(schema).is_empty() || schema.format().is_some() {
            matches += self.check_type(schema, value) + 1;
        }
        // The junctors always count once for having been looked at and once for the step.
        matches += 2;
        if let Some(validation) = validation {
            matches += self.check_junctors(validation, value, old);
        }
        match value {
            Value::String(text) => {
                self.check_string(validation, text);
                matches += 1;
                if let (Some(format), Some(name)) = (schema.format(), schema.format_name()) {
                    self.check_format(format, name, text);
                    matches += 1;
                }
            }
            Value::Number(number) => {
                self.check_number(schema, number);
                matches += 2;
            }
            Value::Array(items) => matches += self.check_list(schema, items, old) + 2,
            _ => {}
        }
        self.check_enum(validation, value);
        matches += 1;
        if let Value::Object(members) = value {
            matches += self.check_object(schema, members, old) + 1;
        }
        matches + 1
    }

    fn check_list(
        &mut self,
        schema: &StructuralSchema,
        items: &[Value],
        old: Option<Correlated<'_>>,
    ) -> Matches {
        let mut matches = 0;
        if let Some(below) = &schema.items {
            let old_items = old.and_then(|old| old.items());
            for (index, item) in items.iter().enumerate() {
                let length = self.path.len();
                // Writing to a string cannot fail.
                let _ = write!(self.path, "[{index}]");
                let old = old_items.as_ref().and_then(|old| old.item(item));
                matches += self.visit(below, item, old);
                self.path.truncate(length);
            }
        }
        let Some(validation) = schema.validation.as_deref() else {
            return matches;
        };
        let size = size(items.len());
        if let Some(min) = validation.min_items.filter(|min| size < *min) {
            self.invalid(size, format!("should have at least {min} items"));
        }
        if let Some(max) = validation.max_items.filter(|max| size > *max) {
            self.too_many(items.len(), max);
        }
        if validation.unique_items && has_duplicates(items) {
            self.invalid("", "shouldn't contain duplicates".to_owned());
        }
        matches
    }

    fn check_object(
        &mut self,
        schema: &StructuralSchema,
        members: &Map<String, Value>,
        old: Option<Correlated<'_>>,
    ) -> Matches {
        if let Some(validation) = schema.validation.as_deref() {
            let size = size(members.len());
            if let Some(min) = validation.min_properties.filter(|min| size < *min) {
                self.invalid(size, format!("should have at least {min} properties"));
                return 0;
            }
            if let Some(max) = validation.max_properties.filter(|max| size > *max) {
                self.too_many(members.len(), max);
                return 0;
            }
        }
        let mut matches = 0;
        let others = || by_name(members).filter(|(name, _)| !schema.properties.contains_key(*name));
        match &schema.additional_properties {
            Some(AdditionalProperties::Allowed(false)) => {
                others().for_each(|(name, _)| self.forbidden_member(name));
            }
            Some(AdditionalProperties::Schema(below)) => {
                for (name, member) in others() {
                    matches += self.member(below, name, member, old);
                }
            }
            Some(AdditionalProperties::Allowed(true)) | None => {}
        }
        for (name, member) in by_name(members) {
            if let Some(below) = schema.properties.get(name) {
                matches += self.member(below, name, member, old);
            }
        }
        for name in schema.required.iter().filter(|name| !members.contains_key(*name)) {
            let path = self.below_path(name);
            self.push(FieldError::required(path, ""));
        }
        matches
    }

    fn member(
        &mut self,
        schema: &StructuralSchema,
        name: &str,
        member: &Value,
        old: Option<Correlated<'_>>,
    ) -> Matches {
        // What version an object was sent in does not show in the old one.
        let meta = self.path.is_empty() && matches!(name, "apiVersion" | "kind");
        let old = old.filter(|_| !meta).and_then(|old| old.member(name));
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let matches = self.visit(schema, member, old);
        self.path.truncate(length);
        matches
    }

    fn check_junctors(
        &mut self,
        validation: &ValueValidation,
        value: &Value,
        old: Option<Correlated<'_>>,
    ) -> Matches {
        let mut matches = 0;
        if !validation.any_of.is_empty() {
            matches += self.check_any_of(&validation.any_of, value, old);
        }
        if !validation.one_of.is_empty() {
            matches += self.check_one_of(&validation.one_of, value, old);
        }
        if !validation.all_of.is_empty() {
            matches += self.check_all_of(&validation.all_of, value, old);
        }
        if let Some(not) = &validation.not
            && self.alternative(not, value, old).0.is_empty()
        {
            self.general(format!("{:?} must not validate the schema (not)", self.path));
        }
        matches
    }

    fn check_any_of(
        &mut self,
        parts: &[StructuralSchema],
        value: &Value,
        old: Option<Correlated<'_>>,
    ) -> Matches {
        let mut best: Option<(Vec<FieldError>, Matches)> = None;
        for part in parts {
            let (errors, matches) = self.alternative(part, value, old);
            if errors.is_empty() {
                return matches;
            }
            if best.as_ref().is_none_or(|(_, most)| matches > *most) {
                best = Some((errors, matches));
            }
        }
        self.general(format!(
            "{:?} must validate at least one schema (anyOf)",
            self.path
        ));
        self.adopt(best)
    }

    fn check_one_of(
        &mut self,
        parts: &[StructuralSchema],
        value: &Value,
        old: Option<Correlated<'_>>,
    ) -> Matches {
        let mut best: Option<(Vec<FieldError>, Matches)> = None;
        let mut first = 0;
        let mut valid = 0;
        for part in parts {
            let (errors, matches) = self.alternative(part, value, old);
            if errors.is_empty() {
                valid += 1;
                if valid == 1 {
                    first = matches;
                    best = None;
                }
            } else if valid == 0 && best.as_ref().is_none_or(|(_, most)| matches > *most) {
                best = Some((errors, matches));
            }
        }
        let found = match valid {
            1 => return first,
            0 => "Found none valid".to_owned(),
            more => format!("Found {more} valid alternatives"),
        };
        self.general(format!(
            "{:?} must validate one and only one schema (oneOf). {found}",
            self.path
        ));
        self.adopt(best)
    }

    fn check_all_of(
        &mut self,
        parts: &[StructuralSchema],
        value: &Value,
        old: Option<Correlated<'_>>,
    ) -> Matches {
        let mut total = 0;
        let mut valid = 0;
        for part in parts {
            let (errors, matches) = self.alternative(part, value, old);
            valid += usize::from(errors.is_empty());
            total += matches;
            self.errors.extend(errors);
        }
        if valid != parts.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.general(format!(
                "{:?} must validate all the schemas (allOf){none}",
                self.path
            ));
        }
        total
    }

    /// Checks a part of a junctor on the side.
    fn alternative(
        &mut self,
        schema: &StructuralSchema,
        value: &Value,
        old: Option<Correlated<'_>>,
    ) -> (Vec<FieldError>, Matches) {
        let outside = std::mem::take(&mut self.errors);
        let matches = self.node(schema, value, old);
        (std::mem::replace(&mut self.errors, outside), matches)
    }

    fn adopt(&mut self, alternative: Option<(Vec<FieldError>, Matches)>) -> Matches {
        let Some((errors, matches)) = alternative else {
            return 0;
        };
        self.errors.extend(errors);
        matches
    }

    fn forbidden_member(&mut self, name: &str) {
        let detail = format!("{}.{name} in body is a forbidden property", self.path);
        self.push(FieldError::invalid(self.here(), name, detail));
    }

    fn too_many(&mut self, actual: usize, max: i64) {
        let max = usize::try_from(max).unwrap_or_default();
        self.push(FieldError::too_many(self.here(), actual, max));
    }

    /// An error at the value, with upstream's beginning of the sentence.
    fn invalid(&mut self, value: impl Into<Value>, rest: String) {
        let detail = format!("{} in body {rest}", self.path);
        self.push(FieldError::invalid(self.here(), value, detail));
    }

    /// An error that upstream does not tie to a field.
    fn general(&mut self, detail: String) {
        self.push(FieldError::invalid(FieldPath::root(), "", detail));
    }

    fn push(&mut self, error: FieldError) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    fn here(&self) -> FieldPath {
        FieldPath::new(self.path.as_str())
    }

    fn below_path(&self, name: &str) -> FieldPath {
        self.here().child(name)
    }
}

fn size(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

fn has_duplicates(items: &[Value]) -> bool {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    items.iter().any(|item| !seen.insert(go_json(item)))
}

#[cfg(test)]
mod tests;
