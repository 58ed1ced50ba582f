//! Found values as text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// A found value as upstream prints it: strings bare, arrays and objects as compact JSON in the spelling of Go's encoder
/// (`<`, `>` and `&` escaped), other scalars as in JSON but for floats, which Go's `%v` writes without a needless `.0`.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.to_string(),
            None => number.as_f64().map_or_else(|| number.to_string(), go_float),
        },
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => {
            let mut out = Vec::new();
            // Neither a value nor a buffer in memory can fail to be written.
            let written = value.serialize(&mut Serializer::with_formatter(&mut out, GoFormatter));
            if written.is_ok() {
                String::from_utf8(out).unwrap_or_default()
            } else {
                String::new()
            }
        }
    }
}

/// A float as Go's `%v` prints it: the shortest digits that read back, in scientific notation below 1e-4 and from 1e21.
fn go_float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Writes JSON byte for byte as Go's `encoding/json` does.
struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let magnitude = value.abs();
        if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
            let text = format!("{value:e}");
            return match text.split_once('e') {
                Some((mantissa, exponent)) if !exponent.starts_with('-') => {
                    write!(writer, "{mantissa}e+{exponent}")
                }
                _ => writer.write_all(text.as_bytes()),
            };
        }
        write!(writer, "{value}")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut characters = special.chars();
            if let Some(character) = characters.next() {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
            rest = characters.as_str();
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}
