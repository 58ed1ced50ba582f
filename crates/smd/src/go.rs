//! How Go prints JSON values with `%v` and names their types: error texts of patches contain both.

use std::fmt::{self, Display, Formatter, Write};

use kubewright_core::json::by_name;
use serde_json::{Number, Value};

/// Prints a JSON value as Go's `%v` prints the `interface{}` it decodes to.
pub(crate) struct Verb<'a>(pub(crate) &'a Value);

impl Display for Verb<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(value) => number(f, value),
            Value::String(value) => f.write_str(value),
            Value::Array(items) => list(f, items),
            Value::Object(map) => {
                f.write_str("map[")?;
                for (index, (key, value)) in by_name(map).enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    write!(f, "{space}{key}:{}", Self(value))?;
                }
                f.write_char(']')
            }
        }
    }
}

/// Prints a JSON value as Go's `%#v` prints the `interface{}` it decodes to.
pub(crate) struct Source<'a>(pub(crate) &'a Value);

impl Display for Source<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => crate::fields::quote(f, text),
            Value::Null => f.write_str("interface {}(nil)"),
            Value::Array(items) => {
                f.write_str("[]interface {}{")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Self(item))?;
                }
                f.write_char('}')
            }
            Value::Object(members) => {
                f.write_str("map[string]interface {}{")?;
                for (index, (name, member)) in by_name(members).enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}")?;
                    crate::fields::quote(f, name)?;
                    write!(f, ":{}", Self(member))?;
                }
                f.write_char('}')
            }
            scalar => write!(f, "{}", Verb(scalar)),
        }
    }
}

/// A JSON value as Go's `%v` prints the `interface{}` it decodes to: messages of the API server show patches so.
pub fn go_print(value: &Value) -> String {
    Verb(value).to_string()
}

/// Prints a list as Go's `%v` prints a `[]interface{}`.
pub(crate) fn list(f: &mut impl Write, items: &[Value]) -> fmt::Result {
    f.write_char('[')?;
    for (index, item) in items.iter().enumerate() {
        let space = if index == 0 { "" } else { " " };
        write!(f, "{space}{}", Verb(item))?;
    }
    f.write_char(']')
}

/// `%v` of a float64 is `%g` with the shortest digits: an exponent below -4 and from 6 on, two digits at least.
fn number(f: &mut Formatter<'_>, number: &Number) -> fmt::Result {
    if !number.is_f64() {
        return write!(f, "{number}");
    }
    let value = number.as_f64().unwrap_or_default();
    let magnitude = value.abs();
    if value == 0.0 || (1e-4..1e6).contains(&magnitude) {
        return write!(f, "{value}");
    }
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return f.write_str(&text);
    };
    match exponent.strip_prefix('-') {
        Some(digits) => write!(f, "{mantissa}e-{digits:0>2}"),
        None => write!(f, "{mantissa}e+{exponent:0>2}"),
    }
}

/// The name of the Go type that a JSON value decodes to, as `reflect.TypeOf` prints it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prints_like_go() {
        for (value, expect) in [
            (
                json!({"b": 1, "a": ["x", null, true]}),
                "map[a:[x <nil> true] b:1]",
            ),
            (json!({}), "map[]"),
            (json!(1.5), "1.5"),
            (json!(1e21), "1e+21"),
            (json!(0.00001), "1e-05"),
            (json!(100000.0), "100000"),
        ] {
            assert_eq!(Verb(&value).to_string(), expect);
        }
    }
}
