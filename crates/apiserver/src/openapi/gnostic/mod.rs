//! OpenAPI documents as the protobuf messages of gnostic, written straight from JSON.
//!
//! Upstream: google/gnostic-models `openapiv2/OpenAPIv2.proto` and `openapiv3/OpenAPIv3.proto`, and the Go code beside them that makes
//! messages from documents. A message is described by a [`Message`]; what a document says beyond the described members is left
//! out, as the messages have no place for it. Values of any form (`default`, `enum`, extensions) travel as YAML text, of which
//! JSON is a part.

pub(super) mod v2;
pub(super) mod v3;

use kubewright_core::json::by_name;
use serde_json::{Map, Value};

use crate::codec::to_json;

/// How a JSON value becomes a message.
pub(super) enum Message {
    /// An object whose members have tags.
    Object {
        members: &'static [Member],
        /// The tag and form of the members that are not named above: the paths among `paths`.
        entries: Option<(u32, Form)>,
        /// The tag of `x-` members; 0 for none.
        extensions: u32,
    },
    /// An object whose members are all alike: entries at tag 1.
    Entries(Form),
    /// One value or a list of them: values at tag 1.
    Values(Form),
    /// A value that is one of several messages, by its content. `None` writes an empty message.
    OneOf(fn(&Value) -> Option<(u32, Form)>),
}

/// A member of an object.
#[derive(Clone, Copy)]
pub(super) struct Member {
    name: &'static str,
    tag: u32,
    form: Form,
}

/// What a field of a message holds.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Text,
    /// Text that is written also where it is empty.
    TextOfMany,
    Flag,
    /// A flag that is written also where it is false, as members of a oneof are.
    FlagOfMany,
    Integer,
    Double,
    /// A double that is written also where it is zero.
    DoubleOfMany,
    /// A value of any form, as YAML.
    Any,
    Texts,
    Anys,
    Message(&'static Message),
    Messages(&'static Message),
}

const fn member(name: &'static str, tag: u32, form: Form) -> Member {
    Member { name, tag, form }
}

/// An object with members and extensions.
const fn object(members: &'static [Member], extensions: u32) -> Message {
    Message::Object {
        members,
        entries: None,
        extensions,
    }
}

/// The message for a value.
pub(super) fn encode(message: &Message, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_message(message, value, &mut out, MAX_DEPTH);
    out
}

/// A field that holds an entry with a name: a path or a definition.
pub(super) fn write_entry(out: &mut Vec<u8>, tag: u32, name: &str, form: Form, value: &Value) {
    write_named(tag, name, form, value, out, MAX_DEPTH);
}

/// A field that holds bytes that are made already.
pub(super) fn write_bytes(out: &mut Vec<u8>, tag: u32, content: &[u8]) {
    write_varint(out, u64::from(tag << 3 | LENGTH_DELIMITED));
    write_varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

fn write_message(message: &Message, value: &Value, out: &mut Vec<u8>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let none = Map::new();
    let members = value.as_object().unwrap_or(&none);
    match message {
        Message::Object {
            members: known,
            entries,
            extensions,
        } => {
            for Member { name, tag, form } in *known {
                if let Some(value) = members.get(*name) {
                    write_field(*tag, *form, value, out, depth);
                }
            }
            for (name, value) in by_name(members) {
                if name.starts_with(EXTENSION) {
                    if *extensions != 0 {
                        write_named(*extensions, name, Form::Any, value, out, depth);
                    }
                } else if let Some((tag, form)) = entries
                    && known.iter().all(|known| known.name != name)
                {
                    write_named(*tag, name, *form, value, out, depth);
                }
            }
        }
        Message::Entries(form) => {
            by_name(members).for_each(|(name, value)| write_named(1, name, *form, value, out, depth))
        }
        Message::Values(form) => match value {
            Value::Array(values) => values
                .iter()
                .for_each(|value| write_field(1, *form, value, out, depth)),
            value => write_field(1, *form, value, out, depth),
        },
        Message::OneOf(choose) => {
            if let Some((tag, form)) = choose(value) {
                write_field(tag, form, value, out, depth);
            }
        }
    }
}

/// An entry: a message with the name (1) and the value (2).
fn write_named(tag: u32, name: &str, form: Form, value: &Value, out: &mut Vec<u8>, depth: usize) {
    let mut entry = Vec::new();
    write_bytes(&mut entry, 1, name.as_bytes());
    write_field(2, form, value, &mut entry, depth);
    write_bytes(out, tag, &entry);
}

/// Values that are of another form than the field are left out.
fn write_field(tag: u32, form: Form, value: &Value, out: &mut Vec<u8>, depth: usize) {
    let items = || value.as_array().into_iter().flatten();
    match form {
        Form::Text | Form::TextOfMany => {
            if let Some(text) = value
                .as_str()
                .filter(|text| !text.is_empty() || matches!(form, Form::TextOfMany))
            {
                write_bytes(out, tag, text.as_bytes());
            }
        }
        Form::Texts => items()
            .filter_map(Value::as_str)
            .for_each(|text| write_bytes(out, tag, text.as_bytes())),
        Form::Flag | Form::FlagOfMany => {
            if let Some(flag) = value
                .as_bool()
                .filter(|flag| *flag || matches!(form, Form::FlagOfMany))
            {
                write_varint(out, u64::from(tag << 3));
                out.push(flag.into());
            }
        }
        Form::Integer => {
            if let Some(number) = value.as_i64().filter(|number| *number != 0) {
                write_varint(out, u64::from(tag << 3));
                // Two's complement, as protobuf has negative numbers.
                write_varint(out, number as u64);
            }
        }
        Form::Double | Form::DoubleOfMany => {
            if let Some(number) = value
                .as_f64()
                .filter(|number| *number != 0.0 || matches!(form, Form::DoubleOfMany))
            {
                write_varint(out, u64::from(tag << 3 | FIXED_64));
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        Form::Any => {
            let mut any = Vec::new();
            write_bytes(&mut any, YAML, &to_json(value));
            write_bytes(out, tag, &any);
        }
        Form::Anys => items().for_each(|value| write_field(tag, Form::Any, value, out, depth)),
        Form::Message(message) => {
            let mut content = Vec::new();
            write_message(message, value, &mut content, depth);
            write_bytes(out, tag, &content);
        }
        Form::Messages(message) => {
            items().for_each(|value| write_field(tag, Form::Message(message), value, out, depth))
        }
    }
}

fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Messages within messages. Definitions nest no deeper than a structural schema may, and a level of that is three messages.
const MAX_DEPTH: usize = 512;
const EXTENSION: &str = "x-";
/// The field of `Any` that holds text.
const YAML: u32 = 2;
const FIXED_64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_as_protobuf_has_them() {
        static MESSAGE: Message = Message::Object {
            members: &[
                member("text", 1, Form::Text),
                member("flag", 2, Form::Flag),
                member("always", 3, Form::FlagOfMany),
                member("number", 4, Form::Integer),
                member("double", 5, Form::Double),
                member("texts", 6, Form::Texts),
                member("any", 7, Form::Any),
                member("self", 16, Form::Message(&MESSAGE)),
            ],
            entries: Some((8, Form::Text)),
            extensions: 9,
        };
        let check = |value: Value, expect: &[u8]| assert_eq!(encode(&MESSAGE, &value), expect, "{value}");
        check(json!({}), &[]);
        check(json!({"text": "ab"}), b"\x0a\x02ab");
        check(json!({"text": "", "flag": false, "number": 0, "double": 0}), &[]);
        check(json!({"text": 1, "flag": "yes", "number": "1"}), &[]);
        check(json!({"flag": true, "always": false}), b"\x10\x01\x18\x00");
        check(json!({"number": 300}), b"\x20\xac\x02");
        check(
            json!({"number": -1}),
            b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        );
        check(json!({"double": 1.5}), b"\x29\0\0\0\0\0\0\xf8\x3f");
        check(json!({"texts": ["a", ""]}), b"\x32\x01a\x32\x00");
        check(json!({"any": {"a": [1]}}), b"\x3a\x0b\x12\x09{\"a\":[1]}");
        check(json!({"other": "o"}), b"\x42\x0a\x0a\x05other\x12\x01o");
        check(json!({"x-y": true}), b"\x4a\x0d\x0a\x03x-y\x12\x06\x12\x04true");
        // A tag beyond 15 takes two bytes, a length beyond 127 too.
        check(json!({"self": {"flag": true}}), b"\x82\x01\x02\x10\x01");
        let long = "x".repeat(200);
        let bytes = encode(&MESSAGE, &json!({"text": long}));
        assert_eq!((&bytes[..3], bytes.len()), (&b"\x0a\xc8\x01"[..], 203));
    }

    #[test]
    fn endless_depth_ends() {
        static NESTED: Message = object(&[member("in", 1, Form::Message(&NESTED))], 0);
        let mut value = json!({});
        for _ in 0..2 * MAX_DEPTH {
            value = json!({ "in": value });
        }
        assert!(encode(&NESTED, &value).len() < 8 * MAX_DEPTH);
    }
}
