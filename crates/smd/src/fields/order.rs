//! Equality, order and text of JSON values, as structured-merge-diff has them (`value/value.go`).
//!
//! They differ from those of [`serde_json`]: integers and floats are one kind of number, and there is a total order
//! over values of all types.

use std::cmp::Ordering;
use std::fmt::{self, Write};

use kubewright_core::json::by_name;
use serde_json::{Number, Value};

/// Whether two values are the same; `1` and `1.0` are.
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || compare_numbers(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && by_name(left)
                    .zip(by_name(right))
                    .all(|((left_key, left), (right_key, right))| left_key == right_key && equal(left, right))
        }
        _ => left == right,
    }
}

/// The order of values: numbers, strings, booleans, lists, maps, null.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let unequal = left
                .iter()
                .zip(right)
                .map(|(left, right)| compare(left, right))
                .find(|order| order.is_ne());
            unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let unequal = by_name(left)
                .zip(by_name(right))
                .map(|((left_key, left), (right_key, right))| {
                    left_key.cmp(right_key).then_with(|| compare(left, right))
                })
                .find(|order| order.is_ne());
            unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
        return left.cmp(&right);
    }
    if let (Some(left), Some(right)) = (left.as_u64(), right.as_u64()) {
        return left.cmp(&right);
    }
    let (left, right) = (
        left.as_f64().unwrap_or_default(),
        right.as_f64().unwrap_or_default(),
    );
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Prints a value as paths show it: strings quoted as Go's `%q` does, maps without braces.
pub(crate) fn print(f: &mut impl Write, value: &Value) -> fmt::Result {
    match value {
        Value::String(text) => quote(f, text),
        Value::Array(items) => {
            f.write_char('[')?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                print(f, item)?;
            }
            f.write_char(']')
        }
        Value::Object(members) => by_name(members).try_for_each(|(name, member)| {
            write!(f, "{name}=")?;
            print(f, member)
        }),
        Value::Null => f.write_str("null"),
        scalar => write!(f, "{}", crate::go::Verb(scalar)),
    }
}

/// Go's `strconv.Quote`, with Rust's idea of what can be printed.
pub(crate) fn quote(f: &mut impl Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{7}' => f.write_str("\\a")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{b}' => f.write_str("\\v")?,
            _ if letter.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(letter))?,
            _ if is_printable(letter) => f.write_char(letter)?,
            _ if u32::from(letter) < 0x1_0000 => write!(f, "\\u{:04x}", u32::from(letter))?,
            _ => write!(f, "\\U{:08x}", u32::from(letter))?,
        }
    }
    f.write_char('"')
}

/// Go's `unicode.IsPrint`, save that unassigned code points count as printable.
pub(crate) fn is_printable(letter: char) -> bool {
    letter == ' '
        || !(letter.is_control()
            || letter.is_whitespace()
            || matches!(letter,
                '\u{ad}' | '\u{600}'..='\u{605}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}' | '\u{f0000}'..))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn orders_values_of_all_types() {
        let ascending = [
            json!(-1),
            json!(1),
            json!(1.5),
            json!(2),
            json!(u64::MAX),
            json!(""),
            json!("a"),
            json!("b"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 1, "b": 0}),
            json!({"a": 2}),
            json!({"b": 0}),
            json!(null),
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), index.cmp(&other), "{left} {right}");
                assert_eq!(equal(left, right), index == other, "{left} {right}");
            }
        }
        assert!(equal(&json!({"a": [1, 2]}), &json!({"a": [1.0, 2]})));
    }

    #[test]
    fn quotes_as_go_does() {
        for (text, expect) in [
            ("a", r#""a""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("\n\t\u{0}\u{7f}", r#""\n\t\x00\x7f""#),
            ("é\u{200b}", "\"é\\u200b\""),
        ] {
            let mut quoted = String::new();
            quote(&mut quoted, text).unwrap();
            assert_eq!(quoted, expect);
        }
    }
}
