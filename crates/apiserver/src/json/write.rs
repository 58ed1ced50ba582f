//! Writing values as [`serde_json`] writes them compactly, members by name, in a third of the time: a string that needs no escapes is copied
//! as it is.

use kubewright_core::json::by_name;
use serde::Serialize;
use serde_json::Value;

/// Appends a value.
pub(crate) fn value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::String(text) => string(out, text),
        Value::Object(members) => {
            out.push(b'{');
            for (index, (name, member)) in by_name(members).enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string(out, name);
                out.push(b':');
                self::value(out, member);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                self::value(out, item);
            }
            out.push(b']');
        }
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => by_serde(out, number),
    }
}

/// Appends a string with its quotes.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    // Without an end before the last byte, so that many bytes are looked at in one step.
    if text.bytes().fold(false, |found, byte| found | is_special(byte)) {
        return by_serde(out, text);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn by_serde(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(
        written.is_ok(),
        "a vector takes every byte, a value's names are texts"
    );
}

#[cfg(test)]
mod tests {
    use kubewright_core::json::Sorted;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value) {
        let mut out = Vec::new();
        self::value(&mut out, value);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            serde_json::to_string(&Sorted(value)).unwrap()
        );
    }

    #[test]
    fn values_are_written_as_serde_json_writes_them() {
        check(
            &json!({"a": [1, -1, 1.5, u64::MAX, 1e300, null, true, false, [], {}, ""], "b\"\\\n": "\u{1}\u{7f}\u{2028}\u{e4}</>"}),
        );
    }

    proptest! {
        #[test]
        fn strings_are_written_as_serde_json_writes_them(text in any::<String>(), more in r#"["\\\x00-\x7f]{0,40}"#) {
            check(&json!([text, more]));
        }
    }
}
