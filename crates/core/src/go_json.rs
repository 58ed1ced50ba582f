//! JSON byte for byte as Go's `encoding/json` writes it: messages of the API server show values so, and some texts are compared.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::json::Sorted;

/// A value as Go's encoder writes it: `<`, `>`, `&` and two separators of lines are escaped, floats have the fewest digits, no
/// needless `.0`, and an exponent below 1e-6 and from 1e21, and members come by name.
///
/// ```
/// use kubewright_core::go_json;
/// use serde_json::json;
///
/// assert_eq!(go_json(&json!({"a": "<b>", "c": [2.0, 1e21]})), r#"{"a":"\u003cb\u003e","c":[2,1e+21]}"#);
/// ```
#[must_use]
pub fn go_json(value: &Value) -> String {
    go_json_of(&Sorted(value))
}

/// The same over several lines, each level indented by one blank.
#[must_use]
pub fn go_json_indented(value: &Value) -> String {
    go_json_indented_of(&Sorted(value))
}

/// The same as [`go_json`] of what has an order of its own, as Go's structs have.
pub fn go_json_of(value: &impl Serialize) -> String {
    written(value, Go(CompactFormatter))
}

/// The same as [`go_json_indented`] of what has an order of its own, as Go's structs have.
pub fn go_json_indented_of(value: &impl Serialize) -> String {
    written(value, Go(PrettyFormatter::with_indent(b" ")))
}

fn written(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut out = Vec::new();
    // Neither a value nor a buffer in memory fails to be written.
    match value.serialize(&mut Serializer::with_formatter(&mut out, formatter)) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// What is Go's own in how values are written; the rest is the other formatter's.
struct Go<F>(F);

/// Methods that the other formatter has.
macro_rules! inner {
    ($($name:ident($($arg:ident: $ty:ty)?);)+) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $arg: $ty)?) -> io::Result<()> {
            self.0.$name(writer $(, $arg)?)
        })+
    };
}

impl<F: Formatter> Formatter for Go<F> {
    inner! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

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
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writes_as_go_does() {
        for (value, expect) in [
            (
                json!([1.0, 0.5, 1e21, 1e-7, -0.0, null]),
                "[1,0.5,1e+21,1e-7,-0,null]",
            ),
            (json!({"&": "\u{2028}\n\"é"}), r#"{"\u0026":"\u2028\n\"é"}"#),
        ] {
            assert_eq!(go_json(&value), expect);
        }
        assert_eq!(
            go_json_indented(&json!({"a": [1.0, "<"], "b": {}})),
            "{\n \"a\": [\n  1,\n  \"\\u003c\"\n ],\n \"b\": {}\n}"
        );
    }
}
