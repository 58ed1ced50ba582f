//! Checks of a single value: its type, its format, its bounds.

use kubewright_core::{FieldError, FieldPath};
use serde_json::{Number, Value};

use super::{Matches, Validator};
use crate::format::Format;
use crate::number::{self, GoNumber};
use crate::structural::{Bound, JsonType, StructuralSchema, ValueValidation};

impl Validator {
    /// Upstream's `typeValidator`, with its peculiar way with formats.
    pub(super) fn check_type(&mut self, schema: &StructuralSchema, value: &Value) -> Matches {
        let types = self.types_of(schema);
        if value.is_null() {
            if types.is_empty() || schema.nullable {
                return 1;
            }
            return self.wrong_type(types.join(), "null");
        }
        let (actual, actual_format) = type_of(value);
        let number = if let Value::Number(number) = value {
            Some(GoNumber::of(number))
        } else {
            None
        };
        let float_as_int = matches!(number, Some(number @ GoNumber::Float(_)) if number.is_integer());
        let fits = types.is_empty()
            || types.contains(actual)
            || (float_as_int && types.contains(JsonType::Integer))
            || (matches!(number, Some(GoNumber::Int(_))) && types.contains(JsonType::Number));
        let numeric = types.contains(JsonType::Number) || types.contains(JsonType::Integer);
        if let Some(format) = schema.format_name() {
            let text_or_list = matches!(value, Value::String(_) | Value::Array(_));
            if !text_or_list && !fits && actual_format != format {
                return self.wrong_type(format, actual_format);
            }
            if !numeric && text_or_list {
                return 1;
            }
        }
        if fits {
            1
        } else {
            self.wrong_type(types.join(), actual.as_str())
        }
    }

    fn wrong_type(&mut self, expected: &str, actual: &str) -> Matches {
        let detail = format!("{} in body must be of type {expected}: {actual:?}", self.path);
        self.push(FieldError::type_invalid(
            FieldPath::new(self.path.as_str()),
            actual,
            detail,
        ));
        0
    }

    pub(super) fn check_format(&mut self, format: Format, name: &str, text: &str) {
        if !format.accepts(text) {
            let shown = Value::from(text);
            let detail = format!("{} in body must be of type {name}: {shown}", self.path);
            self.push(FieldError::type_invalid(
                FieldPath::new(self.path.as_str()),
                text,
                detail,
            ));
        }
    }

    /// The first of the checks that fails is reported.
    pub(super) fn check_string(&mut self, validation: Option<&ValueValidation>, text: &str) {
        let Some(validation) = validation else { return };
        if validation.max_length.is_some() || validation.min_length.is_some() {
            let length = super::size(text.chars().count());
            if let Some(max) = validation.max_length.filter(|max| length > *max) {
                let max = usize::try_from(max).unwrap_or_default();
                return self.push(FieldError::too_long(FieldPath::new(self.path.as_str()), max));
            }
            if let Some(min) = validation.min_length.filter(|min| length < *min) {
                return self.invalid(text, format!("should be at least {min} chars long"));
            }
        }
        let Some(pattern) = &validation.pattern else {
            return;
        };
        match pattern.is_match(text) {
            Ok(true) => {}
            Ok(false) => self.invalid(text, format!("should match '{}'", pattern.source())),
            Err(error) => {
                self.invalid(
                    text,
                    format!(
                        "should match '{}, but pattern is invalid: {error}'",
                        pattern.source()
                    ),
                );
            }
        }
    }

    pub(super) fn check_number(&mut self, schema: &StructuralSchema, number: &Number) {
        let value = GoNumber::of(number);
        self.check_range(schema, value, "Checked");
        let Some(validation) = schema.validation.as_deref() else {
            return;
        };
        if let Some(factor) = validation.multiple_of {
            self.check_multiple(schema, value, factor);
        }
        if let Some(Bound {
            value: min,
            exclusive,
        }) = validation.minimum
        {
            let min = self.bound(schema, value, min, "Minimum boundary");
            let order = compare(value, min);
            if order.is_lt() || (exclusive && order.is_eq()) {
                let or_equal = if exclusive { "" } else { " or equal to" };
                self.invalid(
                    value.to_value(),
                    format!("should be greater than{or_equal} {}", print(min)),
                );
            }
        }
        if let Some(Bound {
            value: max,
            exclusive,
        }) = validation.maximum
        {
            let max = self.bound(schema, value, max, "Maximum boundary");
            let order = compare(value, max);
            if order.is_gt() || (exclusive && order.is_eq()) {
                let or_equal = if exclusive { "" } else { " or equal to" };
                self.invalid(
                    value.to_value(),
                    format!("should be less than{or_equal} {}", print(max)),
                );
            }
        }
    }

    /// What a value is compared with: Go converts bounds to the type of the value, unless the schema's type cannot hold them, which is
    /// told of.
    fn bound(&mut self, schema: &StructuralSchema, value: GoNumber, bound: f64, name: &str) -> GoNumber {
        let bound = GoNumber::Float(bound);
        if !self.check_range(schema, bound, name) || matches!(value, GoNumber::Float(_)) {
            return bound;
        }
        bound.truncated().map_or(bound, GoNumber::Int)
    }

    fn check_multiple(&mut self, schema: &StructuralSchema, value: GoNumber, factor: f64) {
        let factor = self.bound(schema, value, factor, "MultipleOf");
        let is_positive = factor.as_f64() > 0.0;
        if !is_positive {
            let shown = print(factor);
            let detail = format!(
                "factor MultipleOf declared for {} must be positive: {shown}",
                self.path
            );
            let path = FieldPath::new(self.path.as_str());
            self.push(FieldError::invalid(path, factor.to_value(), detail));
        } else if !is_multiple(value, factor) {
            self.invalid(
                value.to_value(),
                format!("should be a multiple of {}", print(factor)),
            );
        }
    }

    /// Whether a number can be held by the type and format at all.
    fn check_range(&mut self, schema: &StructuralSchema, value: GoNumber, name: &str) -> bool {
        let format = schema.format();
        let only = schema.types.only();
        let fits = match (only, format) {
            (Some(JsonType::Integer), Some(Format::Int32)) => {
                value.as_integer().is_some_and(|int| i32::try_from(int).is_ok())
            }
            (Some(JsonType::Integer), _) => value.as_integer().is_some(),
            (_, Some(Format::Float)) => value.as_f64().abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if fits {
            return true;
        }
        let type_name = only.map_or("", JsonType::as_str);
        let path = &self.path;
        let detail = match format {
            Some(format) => {
                format!(
                    "{name} value must be of type {type_name} with format {} in {path}",
                    format.as_str()
                )
            }
            None => format!("{name} value must be of type {type_name} (default format) in {path}"),
        };
        self.general(detail);
        false
    }

    pub(super) fn check_enum(&mut self, validation: Option<&ValueValidation>, value: &Value) {
        let Some(validation) = validation.filter(|validation| !validation.allowed.is_empty()) else {
            return;
        };
        // Null is never found, as upstream compares values of a type only.
        if !value.is_null() && validation.allowed.iter().any(|allowed| equal(allowed, value)) {
            return;
        }
        let print = |allowed: &Value| {
            allowed
                .as_str()
                .map_or_else(|| allowed.to_string(), str::to_owned)
        };
        let supported: Vec<String> = validation.allowed.iter().map(print).collect();
        self.push(FieldError::not_supported(
            FieldPath::new(self.path.as_str()),
            value.clone(),
            &supported,
        ));
    }
}

/// The JSON type of a value, and the format that go-openapi derives from the Go type.
fn type_of(value: &Value) -> (JsonType, &'static str) {
    match value {
        // Null is handled before; no schema names its type.
        Value::Null | Value::Object(_) => (JsonType::Object, ""),
        Value::Bool(_) => (JsonType::Boolean, ""),
        Value::String(_) => (JsonType::String, ""),
        Value::Array(_) => (JsonType::Array, ""),
        Value::Number(number) => match GoNumber::of(number) {
            GoNumber::Int(_) => (JsonType::Integer, "int64"),
            GoNumber::Float(_) => (JsonType::Number, "float64"),
        },
    }
}

fn compare(value: GoNumber, bound: GoNumber) -> std::cmp::Ordering {
    match (value, bound) {
        (GoNumber::Int(value), GoNumber::Int(bound)) => value.cmp(&bound),
        (value, bound) if value.as_f64() == bound.as_f64() => std::cmp::Ordering::Equal,
        (value, bound) => value.as_f64().total_cmp(&bound.as_f64()),
    }
}

fn is_multiple(value: GoNumber, factor: GoNumber) -> bool {
    if let (GoNumber::Int(value), GoNumber::Int(factor)) = (value, factor) {
        return value.checked_rem(factor).is_none_or(|rest| rest == 0);
    }
    let (value, factor) = (value.as_f64(), factor.as_f64());
    let quotient = if factor < 1.0 {
        1.0 / factor * value
    } else {
        value / factor
    };
    (quotient - quotient.round()).abs() < 1e-9 * quotient.abs().max(1.0)
}

fn print(number: GoNumber) -> String {
    match number {
        GoNumber::Int(int) => int.to_string(),
        GoNumber::Float(float) => number::print(float),
    }
}

/// Equality of JSON values where 1 and 1.0 are the same.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || GoNumber::of(left).as_f64() == GoNumber::of(right).as_f64()
        }
        (left, right) => left == right,
    }
}
