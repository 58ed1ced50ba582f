//! The codec on objects of every type of the table, made from the table itself.

#![expect(clippy::unwrap_used, reason = "tests")]

use kubewright_kinds::{Presence, Type, TypeId, Value, protobuf, table};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// Makes objects as Go's JSON encoder would write them: no zero where Go leaves it out, none missing where it does not.
struct Maker {
    state: u64,
}

impl Maker {
    /// A number below `limit` (splitmix64).
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn object(&mut self, object: &Type, depth: usize) -> Json {
        let mut members = Map::new();
        for field in object.fields().iter().filter(|field| field.tag != 0) {
            let is_wanted = depth < MAX_DEPTH && self.below(3) == 0;
            let value = match field.presence {
                Presence::Always if is_wanted || !is_list(&field.value) => self.value(&field.value, depth),
                Presence::Always if field.name == "items" => json!([]),
                Presence::Always => Json::Null,
                _ if is_wanted => self.value(&field.value, depth),
                _ => continue,
            };
            let is_left_out = match field.presence {
                Presence::Always => false,
                Presence::OmitZero => is_zero(&value),
                Presence::Optional => is_list(&field.value) && is_zero(&value),
            };
            // Go leaves out empty bytes as it does an empty list.
            let is_bytes = field.value == Value::Bytes && field.presence == Presence::Optional;
            if !(is_left_out || is_bytes && is_zero(&value)) {
                members.insert(field.name.to_owned(), value);
            }
        }
        Json::Object(members)
    }

    fn value(&mut self, kind: &Value, depth: usize) -> Json {
        match kind {
            Value::String => self.text().into(),
            Value::Boolean => (self.below(2) == 0).into(),
            Value::Int32 => [0, 1, -1, i32::MAX, i32::MIN][self.below(5) as usize].into(),
            Value::Int64 => [0, 1, -1, i64::MAX, i64::MIN][self.below(5) as usize].into(),
            Value::Double => [0.5, -1.25, 1e300, 2.5e-308][self.below(4) as usize].into(),
            Value::Bytes => ["", "AA==", "aGVsbG8=", "////"][self.below(4) as usize].into(),
            Value::Time => [
                "1970-01-01T00:00:00Z",
                "2026-02-03T04:05:06Z",
                "1950-01-01T00:00:00Z",
            ][self.below(3) as usize]
                .into(),
            Value::MicroTime => {
                ["1970-01-01T00:00:00.000000Z", "2026-02-03T04:05:06.000007Z"][self.below(2) as usize].into()
            }
            Value::Quantity => ["0", "1500m", "12Gi", "1e3"][self.below(4) as usize].into(),
            Value::IntOrString if self.below(2) == 0 => self.text().into(),
            Value::IntOrString => [0, 7, i32::MIN][self.below(3) as usize].into(),
            Value::RawExtension | Value::FieldsV1 => json!({"f:a": {"k": [self.text(), null, 1.5, true]}}),
            Value::Json => [json!(0), json!(""), json!([null]), json!({"a": -1}), json!(false)]
                [self.below(5) as usize]
                .clone(),
            Value::SchemaOrArray if self.below(2) == 0 => {
                Json::Array(vec![self.schema(depth), self.schema(depth)])
            }
            Value::SchemaOrBool if self.below(2) == 0 => (self.below(2) == 0).into(),
            Value::SchemaOrStringArray if self.below(2) == 0 => json!([self.text(), "b"]),
            Value::SchemaOrArray | Value::SchemaOrBool | Value::SchemaOrStringArray => self.schema(depth),
            Value::Object(id) => self.object(id.get(), depth + 1),
            Value::Array(item) => {
                let count = 1 + self.below(2);
                (0..count).map(|_| self.value(item, depth + 1)).collect()
            }
            Value::Map(item) => {
                let count = 1 + self.below(2);
                let entries = (0..count).map(|_| (self.text(), self.value(item, depth + 1)));
                Json::Object(entries.collect())
            }
            other => panic!("no value is made for {other:?}"),
        }
    }

    fn schema(&mut self, depth: usize) -> Json {
        self.object(schema().get(), depth + 1)
    }

    fn text(&mut self) -> String {
        ["", "a", "name", "\u{e4}\u{1f600}", "k8s\0", "0"][self.below(6) as usize].to_owned()
    }
}

/// Below this, only what must be there is made: schemas nest without end.
const MAX_DEPTH: usize = 6;

fn schema() -> TypeId {
    let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    table().type_named(name).unwrap().id()
}

fn is_list(kind: &Value) -> bool {
    matches!(kind, Value::Array(_) | Value::Map(_))
}

fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(flag) => !flag,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
    }
}

/// The types that are objects.
fn types() -> impl Iterator<Item = &'static Type> {
    table().types().iter().filter(|kind| kind.special.is_none())
}

/// Types without a form in protobuf: some field with a value has no tag.
fn has_protobuf(kind: &Type) -> bool {
    kind.fields()
        .iter()
        .all(|field| field.tag != 0 || matches!(field.name, "apiVersion" | "kind"))
}

proptest! {
    // Each case goes through every type.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_encoded_is_what_is_decoded(seed: u64) {
        let mut maker = Maker { state: seed };
        prop_assert!(types().filter(|kind| has_protobuf(kind)).count() > 800, "nearly all types have protobuf");
        for kind in types().filter(|kind| has_protobuf(kind)) {
            let object = maker.object(kind, 0);
            let bytes = protobuf::encode_message(kind, &object).unwrap();
            let decoded = protobuf::decode_message(kind, &bytes).unwrap();
            prop_assert_eq!(&decoded, &object, "{} with seed {}", kind.name, seed);
            prop_assert_eq!(protobuf::encode_message(kind, &decoded).unwrap(), bytes, "{}", kind.name);
        }
    }

    #[test]
    fn nothing_that_comes_is_a_panic(seed: u64, noise in prop::collection::vec(any::<u8>(), 0..96)) {
        let mut maker = Maker { state: seed };
        for kind in types() {
            let _ = protobuf::decode_message(kind, &noise);
            let object = maker.object(kind, 3);
            let Ok(mut bytes) = protobuf::encode_message(kind, &object) else { continue };
            if bytes.is_empty() {
                continue;
            }
            let at = maker.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << maker.below(8);
            let _ = protobuf::decode_message(kind, &bytes);
            bytes.truncate(at);
            let _ = protobuf::decode_message(kind, &bytes);
        }
    }
}

/// Small messages that claim to be large, or grow when they are read.
#[test]
fn bombs_stay_small() {
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let pods = table().kind("", "v1", "PodList").unwrap();
    let map = table().kind("", "v1", "ConfigMap").unwrap();
    for length in [1, 1 << 20, u64::from(u32::MAX), 1 << 62, u64::MAX] {
        for tag in [0x0a_u8, 0x12] {
            let lie = [vec![tag], varint(length)].concat();
            assert!(protobuf::decode_message(pods, &lie).is_err(), "{length}");
            let event = [&[0, 0, 0, 9][..], &lie].concat();
            assert!(protobuf::decode_watch_event(&event[4..]).is_err(), "{length}");
            assert!(
                protobuf::decode(&[&protobuf::MAGIC[..], &lie].concat()).is_err(),
                "{length}"
            );
        }
    }
    // A million entries of one key are one entry.
    let entries = [0x12, 0].repeat(1 << 20);
    let decoded = protobuf::decode_message(map, &entries).unwrap();
    assert_eq!(decoded["data"], json!({"": ""}));
    // Groups that nest without end are counted, not followed.
    assert!(protobuf::decode_message(map, &[0x7b].repeat(1 << 20)).is_err());
}
