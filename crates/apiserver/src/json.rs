//! JSON as Go reads it (encoding/json and sigs.k8s.io/json).
//!
//! `serde_json` is stricter than Go with text and laxer with names: what is no UTF-8 and halves of surrogate pairs become U+FFFD in
//! Go, and a field that is named twice is told of. Where a text is no JSON at all, the failure is in Go's words, since people look
//! for them. Deeper nesting than [`serde_json`] takes, 127 levels, is refused in the words in which Go refuses 10 000: what reads,
//! checks, merges and drops values goes down by calls, and no kind that anybody has comes near.

use std::fmt::{self, Write as _};

use serde::Deserialize;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::registry::path::{self, MAX_FINDINGS};

mod order;
pub(crate) mod plain;
mod syntax;
pub(crate) mod write;

/// A value and what is strange about its text.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// Paths of the first [`MAX_FINDINGS`] fields that were named twice; the last value counts.
    pub(crate) duplicate_fields: Vec<String>,
}

/// Reads one value, and nothing behind it. Members come by name, as Go goes through its maps, whatever order they are in and whatever the maps of
/// [`serde_json`] keep of it in this program.
///
/// # Errors
/// What is wrong with the text, in Go's words.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, String> {
    if let Some(value) = plain::read(bytes) {
        return Ok(Document {
            value,
            duplicate_fields: Vec::new(),
        });
    }
    let error = match parse(bytes) {
        Ok(document) => return Ok(document),
        Err(error) => error,
    };
    if let Some(error) = syntax::error(bytes) {
        return Err(error);
    }
    match repair(bytes) {
        Some(repaired) => parse(&repaired).map_err(|error| error.to_string()),
        None => Err(error.to_string()),
    }
}

/// The first number of a text that no `float64` holds, where nothing else is wrong with the text: Go reads its tokens before it makes
/// values of them, so this is told of as a fault of the object.
pub(crate) fn out_of_range(bytes: &[u8]) -> Option<&str> {
    if syntax::error(bytes).is_some() {
        return None;
    }
    let mut rest = bytes;
    while let Some(&byte) = rest.first() {
        let taken = match byte {
            b'"' => string_len(rest),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let length = rest.iter().take_while(|byte| is_part(byte)).count();
                let number = std::str::from_utf8(&rest[..length]).ok()?;
                if number.parse::<f64>().is_ok_and(f64::is_infinite) {
                    return Some(number);
                }
                length
            }
            _ => 1,
        };
        rest = &rest[taken..];
    }
    None
}

/// How long the string at the beginning of a text is, its quotes included.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    text.len()
}

/// Reads a text that [`write::value`] wrote, or somebody else who writes JSON: the last of two members with one name counts.
///
/// # Errors
/// Where the text is no JSON, or nested too deeply.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    if let Some(value) = plain::read(bytes) {
        return Ok(value);
    }
    let mut value: Value = serde_json::from_slice(bytes)?;
    value.sort_all_objects();
    Ok(value)
}

/// What strict decoding into a Go type finds, in the order of the text: the fields at the paths `unknown`, once each and nothing below
/// them, and those that are named twice. `None` for a text that [`read`] does not read.
pub(crate) fn findings(bytes: &[u8], unknown: &[String]) -> Option<Vec<String>> {
    order::findings(bytes, unknown).or_else(|| order::findings(&repair(bytes)?, unknown))
}

/// Turns numbers without a fraction into integers, wherever they are in a value without a type.
///
/// Go writes `1.0` and `1e3` as `1` and `1000`, so that this is what anybody sees of them (encoding/json `floatEncoder`).
pub(crate) fn make_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && float.abs() < INTEGERS_BELOW);
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_integers),
        Value::Object(fields) => fields.values_mut().for_each(make_integers),
        _ => {}
    }
}

/// Beyond this not every integer is a double: 2 to the power of 53.
const INTEGERS_BELOW: f64 = 9_007_199_254_740_992.0;

fn parse(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    let mut duplicate_fields = Vec::new();
    let mut path = String::new();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let mut value = Node {
        path: &mut path,
        duplicates: &mut duplicate_fields,
    }
    .deserialize(&mut deserializer)?;
    deserializer.end()?;
    value.sort_all_objects();
    Ok(Document {
        value,
        duplicate_fields,
    })
}

/// The text with U+FFFD for each byte of a string that belongs to no character, and for each half of a surrogate pair that stands
/// alone. `None` where there is nothing to repair.
fn repair(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut in_string, mut is_changed) = (0, false, false);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let (taken, instead) = match byte {
            b'"' => {
                in_string = !in_string;
                (1, None)
            }
            b'\\' if in_string => match (surrogate(rest), surrogate(rest.get(6..).unwrap_or_default())) {
                (Some(Half::High), Some(Half::Low)) => (12, None),
                (Some(_), _) => (6, Some(&br"\ufffd"[..])),
                (None, _) => (rest.len().min(2), None),
            },
            0x80.. if in_string => match character_len(rest) {
                Some(length) => (length, None),
                None => (1, Some("\u{fffd}".as_bytes())),
            },
            _ => (1, None),
        };
        out.extend_from_slice(instead.unwrap_or(&rest[..taken]));
        is_changed |= instead.is_some();
        at += taken;
    }
    is_changed.then_some(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// The half of a surrogate pair that an escape at the beginning stands for.
fn surrogate(text: &[u8]) -> Option<Half> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

/// The length of the character at the beginning; `None` where there is none.
fn character_len(text: &[u8]) -> Option<usize> {
    (2..=4).find(|length| {
        text.get(..*length)
            .is_some_and(|bytes| std::str::from_utf8(bytes).is_ok())
    })
}

/// Reads one value and notes duplicate fields below it.
struct Node<'a> {
    path: &'a mut String,
    duplicates: &'a mut Vec<String>,
}
impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // `-0` is an integer to Go.
        if value == 0.0 && value.is_sign_negative() {
            return Ok(0.into());
        }
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        let length = self.path.len();
        loop {
            // Writing to a string cannot fail.
            let _ = write!(self.path, "[{}]", items.len());
            let item = seq.next_element_seed(Node {
                path: &mut *self.path,
                duplicates: &mut *self.duplicates,
            })?;
            self.path.truncate(length);
            match item {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        let length = self.path.len();
        while let Some(key) = map.next_key::<String>()? {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key);
            if fields.contains_key(&key) && self.duplicates.len() < MAX_FINDINGS {
                self.duplicates.push(path::beginning(self.path));
            }
            let value = map.next_value_seed(Node {
                path: &mut *self.path,
                duplicates: &mut *self.duplicates,
            })?;
            self.path.truncate(length);
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_read_as_go_reads_it() {
        for (text, expect) in [
            (&br#""\ud800""#[..], Ok("\u{fffd}")),
            (br#""\udc00x""#, Ok("\u{fffd}x")),
            (br#""\ud800\u0041""#, Ok("\u{fffd}A")),
            (br#""\ud800\ud83d\ude00""#, Ok("\u{fffd}\u{1f600}")),
            (br#""\ud83d\ude00""#, Ok("\u{1f600}")),
            (br#""\\ud800""#, Ok("\\ud800")),
            (b"\"\xff\"", Ok("\u{fffd}")),
            (b"\"a\xc3\x28\"", Ok("a\u{fffd}(")),
            (b"\"\xe2\x82\"", Ok("\u{fffd}\u{fffd}")),
            (b"\"\xc3\xa4\xff\"", Ok("\u{e4}\u{fffd}")),
            (b"\"\xed\xa0\x80\"", Ok("\u{fffd}\u{fffd}\u{fffd}")),
            (
                b"\xff",
                Err("invalid character '\u{ff}' looking for beginning of value"),
            ),
            (
                b"\xef\xbb\xbf{}",
                Err("invalid character '\u{ef}' looking for beginning of value"),
            ),
        ] {
            let found = read(text).map(|document| document.value);
            let expect = expect.map(Value::from).map_err(str::to_owned);
            assert_eq!(found, expect, "{}", text.escape_ascii());
        }
        let body = read(b"{\"a\xff\":1,\"a\xff\":2}").unwrap();
        assert_eq!(body.value, json!({"a\u{fffd}": 2}));
        assert_eq!(body.duplicate_fields, ["a\u{fffd}"]);
    }

    #[test]
    fn numbers() {
        for (text, expect) in [
            ("-0", json!(0)),
            ("9007199254740993", json!(9_007_199_254_740_993_i64)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1e3", json!(1000.0)),
            ("1.5", json!(1.5)),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap().value, expect, "{text}");
        }
        assert!(read(b"1e999").is_err());
        for (text, expect) in [
            ("1e999", Some("1e999")),
            (r#"{"a\"1e999": ["1e999", 1e30, -1e400]}"#, Some("-1e400")),
            (r#"{"a": "\\", "b": 1E+309}"#, Some("1E+309")),
            (r#"{"a": "\ud800"}"#, None),
            ("[1e999", None),
            ("1e308", None),
        ] {
            assert_eq!(out_of_range(text.as_bytes()), expect, "{text}");
        }
        let mut value = json!({"a": [1.0, 1.5, -2e3, 1e300], "b": 7});
        make_integers(&mut value);
        assert_eq!(value, json!({"a": [1, 1.5, -2000, 1e300], "b": 7}));
    }

    proptest! {
        /// Whatever comes is read or refused, and what serde_json reads is read alike.
        #[test]
        fn no_text_panics(bytes in prop::collection::vec(any::<u8>(), 0..64), text in r#"[\[\]{}:,"\\ud8dc0-9eE.+a\x00-]{0,24}"#) {
            for bytes in [&bytes[..], text.as_bytes()] {
                if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
                    // But for the sign of zero.
                    prop_assert_eq!(read(bytes).unwrap().value.to_string(), value.to_string().replace("-0.0", "0"));
                } else {
                    let _ = read(bytes);
                }
            }
        }

        /// What is no JSON is told in Go's words, and what is JSON is no fault: the second reader agrees with the first.
        #[test]
        fn both_readers_agree(text in r#"[\[\]{}:,"\\utrfalsn0-9eE.+ -]{0,16}"#) {
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            if is_json {
                prop_assert_eq!(syntax::error(text.as_bytes()), None);
            } else if syntax::error(text.as_bytes()).is_none() {
                // Halves of surrogate pairs and numbers out of range are all that is between them.
                let is_excused = text.contains("\\u") || text.contains(['e', 'E']);
                prop_assert!(is_excused, "{}", text);
            }
        }
    }
}
