//! The storage encoding of an object: its JSON without `metadata.resourceVersion`, and the place where the version goes.
//!
//! A store that is shared learns the version of an object only after the commit, so the version cannot be part of the stored text;
//! what goes over the wire is the same text with the version spliced in. etcd's layout in Kubernetes is the same (the field is
//! cleared in `etcd3/store.go` and set again after decoding).

use std::ops::Range;

use bytes::{BufMut, Bytes};
use kubewright_core::json::by_name;
use serde_json::Value;

use crate::json::write;

/// Nothing in the text can take a version: it is no JSON object.
const NOWHERE: u32 = u32::MAX;

/// The deepest nesting that a stored text may have. `serde_json` refuses to decode anything deeper than 128, so such a text could
/// never be read back.
pub const MAX_DEPTH: usize = 127;

/// JSON in storage encoding with the place of its version.
///
/// Cheap to clone. Equal when the texts are, which is how a write that changes nothing is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    bytes: Bytes,
    /// Where `"resourceVersion":"N",` goes: the first byte after the brace that opens `metadata` (and after blanks).
    version_at: u32,
    /// Where the text says what the object is; an item of a list may not.
    types: TypeMembers,
}

/// The places of the members `apiVersion` and `kind` in a text, up to the beginning of the member behind each, in the order of the
/// text. Empty for one that is not there, or not before `metadata`: names are sorted in what the server writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TypeMembers([(u32, u32); 2]);

impl TypeMembers {
    const NAMES: [&str; 2] = ["apiVersion", "kind"];

    /// Takes note of a member of the object.
    fn note(&mut self, name: &[u8], place: Range<usize>) {
        let (Some(index), Ok(start), Ok(end)) = (
            Self::NAMES.iter().position(|known| known.as_bytes() == name),
            u32::try_from(place.start),
            u32::try_from(place.end),
        ) else {
            return;
        };
        self.0[index] = (start, end);
    }

    fn in_order(self) -> [Range<usize>; 2] {
        let [mut first, mut second] = self.0.map(|(start, end)| start as usize..end as usize);
        if first.start > second.start {
            std::mem::swap(&mut first, &mut second);
        }
        [first, second]
    }

    fn len(self) -> usize {
        self.0.iter().map(|(start, end)| (end - start) as usize).sum()
    }
}

/// A text that is not in storage encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// The text is not well-formed JSON.
    #[error("not JSON: {reason} (byte {offset})")]
    Syntax {
        /// What is wrong.
        reason: String,
        /// Where, counted in bytes from the start.
        offset: usize,
    },
    /// The text is JSON, but no object with a `metadata` object in it.
    #[error("not an object with metadata")]
    NoMetadata,
    /// The text is nested more deeply than [`MAX_DEPTH`].
    #[error("nested more deeply than {MAX_DEPTH} levels")]
    TooDeep,
    /// The text is longer than 4 GiB.
    #[error("longer than 4 GiB")]
    TooLong,
}

impl Encoded {
    /// Encodes an object compactly, leaving `metadata.resourceVersion` out. An object without `metadata` gets an empty one.
    ///
    /// A value that is no JSON object is encoded as it is and never shows a version; nothing the server stores looks so.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let mut text = Vec::with_capacity(1024);
        let Value::Object(fields) = value else {
            write::value(&mut text, value);
            return Self::new(text, NOWHERE as usize, TypeMembers::default());
        };
        let mut version_at = NOWHERE as usize;
        let mut types = TypeMembers::default();
        text.push(b'{');
        for (name, field) in by_name(fields) {
            separate(&mut text);
            let start = text.len();
            name_field(&mut text, name);
            match field {
                Value::Object(metadata) if name == "metadata" => {
                    text.push(b'{');
                    version_at = text.len();
                    for (name, field) in by_name(metadata).filter(|(name, _)| *name != "resourceVersion") {
                        open_field(&mut text, name);
                        write::value(&mut text, field);
                    }
                    text.push(b'}');
                }
                _ if name == "metadata" => {
                    text.extend_from_slice(b"{}");
                    version_at = text.len() - 1;
                }
                _ => write::value(&mut text, field),
            }
            // `metadata` comes behind, and a comma before it.
            types.note(name.as_bytes(), start..text.len() + 1);
        }
        if version_at == NOWHERE as usize {
            open_field(&mut text, "metadata");
            text.extend_from_slice(b"{}");
            version_at = text.len() - 1;
        }
        text.push(b'}');
        Self::new(text, version_at, types)
    }

    /// Takes a text as a store kept it, or as a client sent it: a `metadata.resourceVersion` in it is cut out.
    ///
    /// # Errors
    ///
    /// When the text is no JSON, is nested too deeply, or is no object with `metadata`.
    pub fn from_storage(bytes: Bytes) -> Result<Self, EncodingError> {
        let places = scan::metadata(&bytes)?;
        if let Some(cut) = places.version {
            let mut text = Vec::with_capacity(bytes.len() - cut.len());
            text.extend_from_slice(&bytes[..cut.start]);
            text.extend_from_slice(&bytes[cut.end..]);
            return Ok(Self::new(text, places.version_at, places.types));
        }
        let version_at = u32::try_from(places.version_at).map_err(|_| EncodingError::TooLong)?;
        let types = places.types;
        Ok(Self {
            bytes,
            version_at,
            types,
        })
    }

    fn new(text: Vec<u8>, version_at: usize, types: TypeMembers) -> Self {
        // These bytes may stay for as long as the server runs, so what was allocated beyond them must not. They are copied, since
        // allocators leave a block as it is that would become no smaller than half.
        Self {
            bytes: Bytes::copy_from_slice(&text),
            version_at: u32::try_from(version_at).unwrap_or(NOWHERE),
            types,
        }
    }

    /// The same object with other values of the same length.
    pub(crate) fn with_text(&self, text: Vec<u8>) -> Self {
        debug_assert_eq!(
            text.len(),
            self.bytes.len(),
            "what stands where is known of the old text"
        );
        Self {
            bytes: text.into(),
            version_at: self.version_at,
            types: self.types,
        }
    }

    /// The stored text, without a version.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Writes the text with `metadata.resourceVersion` set to `revision`.
    pub(super) fn write_wire(&self, revision: u64, out: &mut impl BufMut) {
        self.write_from(0, revision, out);
    }

    /// Writes the same without `apiVersion` and `kind`.
    pub(super) fn write_untyped(&self, revision: u64, out: &mut impl BufMut) {
        let mut from = 0;
        for member in self.types.in_order() {
            if !member.is_empty() {
                out.put_slice(&self.bytes[from..member.start]);
                from = member.end;
            }
        }
        self.write_from(from, revision, out);
    }

    /// Writes the text from an offset on that is not behind the place of the version.
    fn write_from(&self, from: usize, revision: u64, out: &mut impl BufMut) {
        let at = self.version_at as usize;
        let Some(next) = self.bytes.get(at) else {
            out.put_slice(&self.bytes[from..]);
            return;
        };
        out.put_slice(&self.bytes[from..at]);
        out.put_slice(VERSION_OPEN);
        let mut digits = [0; MAX_DIGITS];
        out.put_slice(decimal(revision, &mut digits));
        out.put_slice(if *next == b'}' { b"\"" } else { b"\"," });
        out.put_slice(&self.bytes[at..]);
    }

    /// How many bytes [`Encoded::write_wire`] writes for this revision.
    pub(super) fn exact_wire_len(&self, revision: u64) -> usize {
        let Some(next) = self.bytes.get(self.version_at as usize) else {
            return self.bytes.len();
        };
        let digits = revision.checked_ilog10().unwrap_or(0) as usize + 1;
        let close = if *next == b'}' { 1 } else { 2 };
        self.bytes.len() + VERSION_OPEN.len() + digits + close
    }

    /// How many bytes [`Encoded::write_untyped`] writes for this revision.
    pub(super) fn exact_untyped_len(&self, revision: u64) -> usize {
        self.exact_wire_len(revision) - self.types.len()
    }

    /// At most this many bytes are written by [`Encoded::write_wire`].
    pub(super) const fn wire_len(&self) -> usize {
        self.bytes.len() + VERSION_OPEN.len() + MAX_DIGITS + 2
    }
}

const VERSION_OPEN: &[u8] = br#""resourceVersion":""#;

/// The digits of `u64::MAX`.
const MAX_DIGITS: usize = 20;

/// Writes a number into the end of `buffer` and gives the part used; `format!` would allocate for each object of a list.
fn decimal(mut number: u64, buffer: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut at = MAX_DIGITS;
    loop {
        at -= 1;
        buffer[at] = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}

/// Writes a comma where one is due, then `"name":`.
fn open_field(text: &mut Vec<u8>, name: &str) {
    separate(text);
    name_field(text, name);
}

fn separate(text: &mut Vec<u8>) {
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
}

fn name_field(text: &mut Vec<u8>, name: &str) {
    write::string(text, name);
    text.push(b':');
}

/// Finds `metadata` without decoding.
mod scan {
    use std::ops::Range;

    use super::{EncodingError, MAX_DEPTH, TypeMembers};

    pub(super) struct Places {
        /// The first byte after the brace that opens `metadata` and the blanks behind it.
        pub(super) version_at: usize,
        /// The member `resourceVersion` of `metadata` with one of the commas around it.
        pub(super) version: Option<Range<usize>>,
        /// What is before `metadata`.
        pub(super) types: TypeMembers,
    }

    pub(super) fn metadata(text: &[u8]) -> Result<Places, EncodingError> {
        // The check of the grammar is serde_json's, which skips values without building them; what follows may trust the text.
        serde_json::from_slice::<serde::de::IgnoredAny>(text).map_err(|err| EncodingError::Syntax {
            reason: err.to_string(),
            offset: offset(text, &err),
        })?;
        check_depth(text)?;
        let mut cursor = Cursor { text, at: 0 };
        if !cursor.eat(b'{') {
            return Err(EncodingError::NoMetadata);
        }
        let mut types = TypeMembers::default();
        while let Some(name) = cursor.name() {
            let start = name.start - 1;
            let name = &text[name];
            if name == b"metadata" && cursor.eat(b'{') {
                return Ok(Places {
                    types,
                    ..cursor.version()
                });
            }
            cursor.skip_value();
            cursor.eat(b',');
            cursor.blanks();
            types.note(name, start..cursor.at);
        }
        Err(EncodingError::NoMetadata)
    }

    /// A reader over text that is known to be JSON.
    struct Cursor<'a> {
        text: &'a [u8],
        at: usize,
    }

    impl Cursor<'_> {
        fn blanks(&mut self) {
            while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
        }

        fn eat(&mut self, byte: u8) -> bool {
            self.blanks();
            let found = self.text.get(self.at) == Some(&byte);
            self.at += usize::from(found);
            found
        }

        /// The raw name of the next member, with the colon behind it consumed; `None` at the closing brace.
        fn name(&mut self) -> Option<Range<usize>> {
            self.blanks();
            if self.text.get(self.at) != Some(&b'"') {
                return None;
            }
            let start = self.at + 1;
            self.at = end_of_string(self.text, self.at);
            let name = start..self.at - 1;
            self.eat(b':');
            Some(name)
        }

        /// Consumes one value.
        fn skip_value(&mut self) {
            self.blanks();
            let mut depth = 0_usize;
            while let Some(byte) = self.text.get(self.at) {
                match byte {
                    b'"' => {
                        self.at = end_of_string(self.text, self.at);
                        if depth == 0 {
                            return;
                        }
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    // The end of the object around a number or a word that was the value.
                    b',' | b'}' | b']' if depth == 0 => return,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            self.at += 1;
                            return;
                        }
                    }
                    _ => {}
                }
                self.at += 1;
            }
        }

        /// Looks through the members of `metadata`, whose brace was just consumed.
        fn version(mut self) -> Places {
            self.blanks();
            let version_at = self.at;
            let mut before_comma = self.at;
            while let Some(name) = self.name() {
                let start = name.start - 1;
                let found = &self.text[name] == b"resourceVersion";
                self.skip_value();
                let end = self.at;
                self.eat(b',');
                self.blanks();
                if found {
                    // The first member takes along what is behind it up to the next one, a later one the comma before it.
                    let cut = if start == version_at {
                        start..self.at
                    } else {
                        before_comma..end
                    };
                    return Places {
                        version_at,
                        version: Some(cut),
                        types: TypeMembers::default(),
                    };
                }
                before_comma = end;
            }
            Places {
                version_at,
                version: None,
                types: TypeMembers::default(),
            }
        }
    }

    /// The offset behind the quote that closes the string opened at `at`.
    fn end_of_string(text: &[u8], mut at: usize) -> usize {
        at += 1;
        while let Some(byte) = text.get(at) {
            match byte {
                b'\\' => at += 2,
                b'"' => return at + 1,
                _ => at += 1,
            }
        }
        text.len()
    }

    fn check_depth(text: &[u8]) -> Result<(), EncodingError> {
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = text.get(at) {
            match byte {
                b'"' => {
                    at = end_of_string(text, at);
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_DEPTH {
                return Err(EncodingError::TooDeep);
            }
            at += 1;
        }
        Ok(())
    }

    fn offset(text: &[u8], err: &serde_json::Error) -> usize {
        let line_start: usize = text
            .split_inclusive(|byte| *byte == b'\n')
            .take(err.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        line_start + err.column().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn wire(encoded: &Encoded, revision: u64) -> String {
        let mut out = Vec::new();
        encoded.write_wire(revision, &mut out);
        assert!(out.len() <= encoded.wire_len());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_encoded_without_a_version() {
        let check = |value: Value, stored: &str, shown: &str| {
            let encoded = Encoded::from_value(&value);
            assert_eq!(encoded.bytes(), stored.as_bytes());
            assert_eq!(wire(&encoded, 7), shown);
        };
        check(
            json!({"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "3"}}),
            r#"{"kind":"Pod","metadata":{"name":"a"}}"#,
            r#"{"kind":"Pod","metadata":{"resourceVersion":"7","name":"a"}}"#,
        );
        check(
            json!({"metadata": {"resourceVersion": "3"}, "spec": {"metadata": {"resourceVersion": "kept"}}}),
            r#"{"metadata":{},"spec":{"metadata":{"resourceVersion":"kept"}}}"#,
            r#"{"metadata":{"resourceVersion":"7"},"spec":{"metadata":{"resourceVersion":"kept"}}}"#,
        );
        check(
            json!({}),
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"resourceVersion":"7"}}"#,
        );
        check(
            json!({"metadata": null}),
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"resourceVersion":"7"}}"#,
        );
        check(
            json!({"a": "{"}),
            r#"{"a":"{","metadata":{}}"#,
            r#"{"a":"{","metadata":{"resourceVersion":"7"}}"#,
        );
        check(json!([1]), "[1]", "[1]");
    }

    #[test]
    fn items_of_lists_do_not_say_what_they_are() {
        let untyped = |encoded: &Encoded| {
            let mut out = Vec::new();
            encoded.write_untyped(7, &mut out);
            assert_eq!(out.len(), encoded.exact_untyped_len(7));
            String::from_utf8(out).unwrap()
        };
        for (text, expect) in [
            (
                r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"kind":"x"}}"#,
                r#"{"metadata":{"resourceVersion":"7","name":"a"},"spec":{"kind":"x"}}"#,
            ),
            (
                r#"{"apiVersion":"v1","data":{"kind":"x"},"kind":"ConfigMap","metadata":{}}"#,
                r#"{"data":{"kind":"x"},"metadata":{"resourceVersion":"7"}}"#,
            ),
            (r#"{"metadata":{}}"#, r#"{"metadata":{"resourceVersion":"7"}}"#),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(untyped(&Encoded::from_value(&value)), expect);
            assert_eq!(untyped(&Encoded::from_storage(text.into()).unwrap()), expect);
        }
        for (text, expect) in [
            (
                "{ \"kind\" : \"a\" ,\n \"apiVersion\" : \"b\" , \"x\" : 1 , \"metadata\" : { } }",
                "{ \"x\" : 1 , \"metadata\" : { \"resourceVersion\":\"7\"} }",
            ),
            (
                r#"{"kind":"a","metadata":{"resourceVersion":"1","name":"a"},"apiVersion":"b"}"#,
                r#"{"metadata":{"resourceVersion":"7","name":"a"},"apiVersion":"b"}"#,
            ),
        ] {
            assert_eq!(untyped(&Encoded::from_storage(text.into()).unwrap()), expect);
        }
    }

    #[test]
    fn stored_texts_are_scanned() {
        let check = |text: &'static str, expect: Result<&str, EncodingError>| {
            let found =
                Encoded::from_storage(Bytes::from_static(text.as_bytes())).map(|encoded| wire(&encoded, 12));
            assert_eq!(found.as_deref().map_err(Clone::clone), expect, "{text}");
        };
        check(
            r#"{"metadata":{"name":"a"}}"#,
            Ok(r#"{"metadata":{"resourceVersion":"12","name":"a"}}"#),
        );
        check(
            r#"{"metadata":{}}"#,
            Ok(r#"{"metadata":{"resourceVersion":"12"}}"#),
        );
        check(
            "{ \"a\" : [ 1 , {} ] , \"metadata\" : { } }",
            Ok("{ \"a\" : [ 1 , {} ] , \"metadata\" : { \"resourceVersion\":\"12\"} }"),
        );
        check(
            r#"{"x":"\"metadata\":{","n":-1.5e3,"b":true,"metadata":{"name":"a"}}"#,
            Ok(
                r#"{"x":"\"metadata\":{","n":-1.5e3,"b":true,"metadata":{"resourceVersion":"12","name":"a"}}"#,
            ),
        );
        for text in [
            r#"{"metadata":{"resourceVersion":"9","name":"a"}}"#,
            r#"{"metadata":{"resourceVersion":"9" , "name":"a"}}"#,
            r#"{"metadata":{"name":"a","resourceVersion":"9"}}"#,
            r#"{"metadata":{"name":"a" , "resourceVersion" : "9"}}"#,
        ] {
            check(text, Ok(r#"{"metadata":{"resourceVersion":"12","name":"a"}}"#));
        }
        check(
            r#"{"metadata":{"resourceVersion":"9"}}"#,
            Ok(r#"{"metadata":{"resourceVersion":"12"}}"#),
        );
        check(
            r#"{"metadata":{"a":1,"resourceVersion":"9","b":2}}"#,
            Ok(r#"{"metadata":{"resourceVersion":"12","a":1,"b":2}}"#),
        );
        check(
            r#"{"metadata":{ "resourceVersion": [] }}"#,
            Ok(r#"{"metadata":{ "resourceVersion":"12"}}"#),
        );
        check("[]", Err(EncodingError::NoMetadata));
        check("{}", Err(EncodingError::NoMetadata));
        check(r#"{"metadata":3}"#, Err(EncodingError::NoMetadata));
        check(r#"{"spec":{"metadata":{}}}"#, Err(EncodingError::NoMetadata));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for text in ["", "{", r#"{"metadata":{}} x"#, r#"{"metadata":{"a":}}"#, "\u{0}"] {
            let found = Encoded::from_storage(Bytes::from_static(text.as_bytes()));
            assert!(
                matches!(found, Err(EncodingError::Syntax { offset, .. }) if offset <= text.len()),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| {
            let text = format!(
                r#"{{"metadata":{{}},"a":{}{}}}"#,
                "[".repeat(depth),
                "]".repeat(depth)
            );
            Encoded::from_storage(text.clone().into()).map(|_| serde_json::from_str::<Value>(&text).is_ok())
        };
        assert_eq!(nested(MAX_DEPTH - 1), Ok(true), "what is let in can be decoded");
        assert_eq!(nested(MAX_DEPTH), Err(EncodingError::TooDeep));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{},:\u{e9} ]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let names = prop_oneof![
                Just("metadata".to_owned()),
                Just("resourceVersion".to_owned()),
                "[a-z\"\\\\]{0,4}"
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(names, inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_object_keeps_all_but_its_version(
            metadata in values().prop_filter("an object", Value::is_object),
            rest in values().prop_filter("an object", Value::is_object),
            revision: u64,
        ) {
            let mut value = rest;
            value["metadata"] = metadata;
            let encoded = Encoded::from_value(&value);
            let pretty = Encoded::from_storage(serde_json::to_string_pretty(&value).unwrap().into()).unwrap();
            value["metadata"]["resourceVersion"] = revision.to_string().into();
            for text in [wire(&encoded, revision), wire(&pretty, revision)] {
                let shown: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(&shown, &value);
                prop_assert_eq!(text.matches(&format!("\"resourceVersion\":\"{revision}\"")).count() >= 1, true);
            }
            value["metadata"].as_object_mut().unwrap().remove("resourceVersion");
            let stored: Value = serde_json::from_slice(encoded.bytes()).unwrap();
            prop_assert_eq!(&stored, &value);
            prop_assert_eq!(Encoded::from_storage(encoded.bytes().clone()).unwrap(), encoded);
        }

        #[test]
        fn no_text_makes_the_scan_panic(text in "[{}\\[\\]\",:a-c0-9 \\\\]{0,24}|\\{\"metadata\":.{0,16}") {
            let _ = Encoded::from_storage(text.into());
        }
    }
}
