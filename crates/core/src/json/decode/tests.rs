//! [`decode`](super::decode) beside the library.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
enum Kind {
    Unit,
    Newtype(u8),
    Tuple(u8, String),
    Struct { a: Option<bool> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(Vec<i8>);

#[derive(Debug, PartialEq, Deserialize)]
struct Flat {
    x: Option<u64>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Passes over errors of its part.
#[derive(Debug, PartialEq)]
struct Lenient<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(from).ok()))
    }
}

/// Passes over errors of its elements, and asks for more of them.
#[derive(Debug, PartialEq)]
struct Insistent<T>(Vec<Option<T>>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Insistent<T> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Elements<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = Insistent<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Insistent<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(element) = seq.next_element().map_or(Some(None), |element| element.map(Some)) {
                    all.push(element);
                    assert!(all.len() < 20, "it goes on for ever");
                }
                Ok(Insistent(all))
            }
        }
        from.deserialize_seq(Elements(std::marker::PhantomData))
    }
}

/// Whatever a deserializer gives when it is asked for something: the name of that, and how it was given.
#[derive(Debug)]
struct Asked<const WHAT: usize>(#[expect(dead_code, reason = "printed")] String);

impl<'de, const WHAT: usize> Deserialize<'de> for Asked<WHAT> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let given = match WHAT {
            0 => from.deserialize_any(Anything),
            1 => from.deserialize_bool(Anything),
            2 => from.deserialize_i64(Anything),
            3 => from.deserialize_u8(Anything),
            4 => from.deserialize_f64(Anything),
            5 => from.deserialize_i128(Anything),
            6 => from.deserialize_str(Anything),
            7 => from.deserialize_string(Anything),
            8 => from.deserialize_bytes(Anything),
            9 => from.deserialize_unit(Anything),
            10 => from.deserialize_seq(Anything),
            11 => from.deserialize_map(Anything),
            12 => from.deserialize_struct("", &[], Anything),
            13 => from.deserialize_tuple(2, Anything),
            14 => from.deserialize_identifier(Anything),
            15 => from.deserialize_char(Anything),
            _ => from.deserialize_byte_buf(Anything),
        };
        given.map(Self)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, value: bool) -> Result<String, E> {
        Ok(format!("bool {value}"))
    }

    fn visit_i64<E>(self, value: i64) -> Result<String, E> {
        Ok(format!("i64 {value}"))
    }

    fn visit_u64<E>(self, value: u64) -> Result<String, E> {
        Ok(format!("u64 {value}"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<String, E> {
        Ok(format!("f64 {value}"))
    }

    fn visit_i128<E>(self, value: i128) -> Result<String, E> {
        Ok(format!("i128 {value}"))
    }

    fn visit_str<E>(self, value: &str) -> Result<String, E> {
        Ok(format!("str {value}"))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<String, E> {
        Ok(format!("borrowed str {value}"))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<String, E> {
        Ok(format!("bytes {value:?}"))
    }

    fn visit_borrowed_bytes<E>(self, value: &'de [u8]) -> Result<String, E> {
        Ok(format!("borrowed bytes {value:?}"))
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok("unit".to_owned())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<String, A::Error> {
        let mut all = String::from("seq");
        while let Some(element) = seq.next_element::<Value>()? {
            all += &format!(" {element}");
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let mut all = String::from("map");
        while let Some(member) = map.next_entry::<String, Value>()? {
            all += &format!(" {member:?}");
        }
        Ok(all)
    }
}

fn check_asked<const WHAT: usize>(text: &str) {
    check::<Asked<WHAT>>(text);
    let keyed = format!(r#"{{{text}:["x"]}}"#);
    check::<MapOf<Asked<WHAT>>>(&keyed);
}

/// Entries in their order, whatever keys are.
#[derive(Debug)]
struct MapOf<K>(#[expect(dead_code, reason = "printed")] Vec<(K, Value)>);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for MapOf<K> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<K>(std::marker::PhantomData<K>);
        impl<'de, K: Deserialize<'de>> Visitor<'de> for Entries<K> {
            type Value = MapOf<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MapOf<K>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(MapOf(all))
            }
        }
        from.deserialize_map(Entries(std::marker::PhantomData))
    }
}

/// Visitors may take more than is asked for, as those do that take numbers and text.
#[test]
fn a_type_gets_what_it_asks_for_and_nothing_else() {
    let texts = [
        "null",
        "true",
        "7",
        "-7",
        "-0",
        "1.5",
        "1e400",
        "300",
        "18446744073709551616",
        "\"x\"",
        "\"7\"",
        "\"true\"",
        "\"a\\nb\"",
        "[]",
        "[1,\"x\"]",
        "{}",
        r#"{"a":1}"#,
        "",
    ];
    for text in texts {
        check_asked::<0>(text);
        check_asked::<1>(text);
        check_asked::<2>(text);
        check_asked::<3>(text);
        check_asked::<4>(text);
        check_asked::<5>(text);
        check_asked::<6>(text);
        check_asked::<7>(text);
        check_asked::<8>(text);
        check_asked::<9>(text);
        check_asked::<10>(text);
        check_asked::<11>(text);
        check_asked::<12>(text);
        check_asked::<13>(text);
        check_asked::<14>(text);
        check_asked::<15>(text);
        check_asked::<16>(text);
    }
}

/// An enum whose variant is asked for as a `T`, or not at all, and then for its content as this is asked for.
#[derive(Debug)]
struct Variant<T, const CONTENT: usize>(Option<T>);

impl<'de, T: Deserialize<'de>, const CONTENT: usize> Deserialize<'de> for Variant<T, CONTENT> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Access<T, const CONTENT: usize>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const CONTENT: usize> Visitor<'de> for Access<T, CONTENT> {
            type Value = Variant<T, CONTENT>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an enum")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Self::Value, A::Error> {
                if CONTENT == 0 {
                    return Ok(Variant(None));
                }
                let (variant, content) = access.variant()?;
                match CONTENT {
                    1 => {}
                    2 => content.unit_variant()?,
                    3 => content.newtype_variant::<Value>().map(drop)?,
                    4 => content.tuple_variant(1, Anything).map(drop)?,
                    5 => content.struct_variant(&[], Anything).map(drop)?,
                    _ => return Ok(Variant(content.newtype_variant().ok())),
                }
                Ok(Variant(Some(variant)))
            }
        }
        from.deserialize_enum("", &[], Access::<T, CONTENT>(std::marker::PhantomData))
    }
}

fn check_variant<const CONTENT: usize>(text: &str) {
    fn check_as<'de, T: Deserialize<'de> + Debug>(text: &'de str) {
        check::<T>(text);
        check::<Vec<T>>(text);
        check::<MapOf<T>>(text);
    }
    check_as::<Variant<Asked<0>, CONTENT>>(text);
    check_as::<Variant<Asked<2>, CONTENT>>(text);
    check_as::<Variant<Asked<8>, CONTENT>>(text);
    check_as::<Variant<Asked<10>, CONTENT>>(text);
    check_as::<Variant<Asked<14>, CONTENT>>(text);
    check_as::<Variant<Option<&str>, CONTENT>>(text);
    check_as::<Variant<Kind, CONTENT>>(text);
    check_as::<Variant<de::IgnoredAny, CONTENT>>(text);
}

/// Not every type asks for the variant of an enum, nor as those do that are derived.
#[test]
fn variants_are_read_when_they_are_asked_for() {
    let values = [
        r#""Unit""#,
        r#""a\nb""#,
        "{}",
        "7",
        "null",
        r#"{"Unit":null}"#,
        r#"{"Unit":[7]}"#,
        r#"{"a\nb":{"x":1}}"#,
        r#"{7:null}"#,
        r#"{["x"]:null}"#,
    ];
    for value in values {
        for text in [
            value.to_owned(),
            format!("[{value},{value}]"),
            format!("{{{value}:1}}"),
        ] {
            check_variant::<0>(&text);
            check_variant::<1>(&text);
            check_variant::<2>(&text);
            check_variant::<3>(&text);
            check_variant::<4>(&text);
            check_variant::<5>(&text);
            check_variant::<6>(&text);
        }
    }
}

/// What decodes, or what is said of what does not: both are the library's.
fn check<'de, T: Deserialize<'de> + Debug>(text: &'de str) {
    let expect = serde_json::from_str::<T>(text);
    let found = decode::<T>(text);
    assert_eq!(format!("{found:?}"), format!("{expect:?}"), "{text}");
}

#[test]
fn every_type_is_decoded_as_the_library_does() {
    let texts = [
        "",
        " ",
        "null",
        " null ",
        "nul",
        "true",
        "false",
        "falsey",
        "0",
        "-0",
        "-1",
        "7 ",
        "01",
        "-",
        "1.",
        "1.5",
        "1e3",
        "1e999",
        "255",
        "256",
        "-129",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "9223372036854775807",
        "999999999999999999",
        "1234567890123456789",
        "\"\"",
        "\"Unit\"",
        "\"a\\\"b\\u00e9\\n\"",
        "\"\\ud800\"",
        "\"\n\"",
        "\"open",
        "\"é\"",
        "[]",
        "[1,2]",
        "[1,2,]",
        "[,]",
        "[1 2]",
        "[1,\"x\"]",
        "[1,\"x\",3]",
        " [ 1 , \"x\" ] ",
        "{}",
        "{ }",
        r#"{"Newtype":3}"#,
        r#"{"Newtype":300}"#,
        r#"{"Tuple":[1,"x"]}"#,
        r#"{"Struct":{"a":true}}"#,
        r#"{"Struct":{"a":null,"b":[{"c":"}"}]}}"#,
        r#"{"Unit":null}"#,
        r#"{"Unit":1}"#,
        r#"{"Unit":null,"Newtype":1}"#,
        r#"{"Other":1}"#,
        r#"{"x":1,"y":{"z":[null]}}"#,
        r#"{"x":1,"x":2}"#,
        r#"{"x":"1"}"#,
        r#"{"1":"a","2":"b"}"#,
        r#"{"a\u0062":1}"#,
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{a:1}"#,
        r#"{"a":}"#,
        "{\"a\":1}x",
        "[[[]]]",
        "\"x\"",
    ];
    for text in texts {
        check::<Value>(text);
        check::<Kind>(text);
        check::<Either>(text);
        check::<Wrapped>(text);
        check::<Flat>(text);
        check::<Option<u8>>(text);
        check::<(u8, String)>(text);
        check::<BTreeMap<u8, String>>(text);
        check::<BTreeMap<String, Option<Value>>>(text);
        check::<&RawValue>(text);
        check::<&str>(text);
        check::<Cow<'_, str>>(text);
        check::<char>(text);
        check::<i128>(text);
        check::<f32>(text);
        check::<f64>(text);
        check::<()>(text);
        check_lenient(text);
    }
}

fn check_lenient(text: &str) {
    check::<Lenient<Value>>(text);
    check::<Lenient<Kind>>(text);
    check::<Lenient<Either>>(text);
    check::<Lenient<Flat>>(text);
    check::<Lenient<&RawValue>>(text);
    check::<Vec<Lenient<&RawValue>>>(text);
    check::<Vec<Lenient<u8>>>(text);
    check::<Vec<Lenient<f32>>>(text);
    check::<Vec<Lenient<Wrapped>>>(text);
    check::<Lenient<Vec<Lenient<(u8, String)>>>>(text);
    check::<BTreeMap<String, Lenient<Option<bool>>>>(text);
    check::<BTreeMap<String, Lenient<BTreeMap<u8, Lenient<String>>>>>(text);
}

#[test]
fn an_error_that_a_type_passes_over_is_one() {
    // The library goes on where it stands, and may not make sense of what is there.
    assert!(decode::<Lenient<String>>(r#""\q""#).is_err());
    assert!(decode::<Lenient<u8>>("01").is_err());
    assert!(decode::<Vec<Lenient<Vec<u8>>>>("[[300]").is_err());
    assert_eq!(
        decode::<Vec<Lenient<u8>>>(r#"[1,"x",300]"#).unwrap(),
        [Lenient(Some(1)), Lenient(None), Lenient(None)],
    );
    for text in ["[]", "[1,2]", "[0.1,2]", r#"["x",1,true]"#, r#"[300,"\u0041"]"#] {
        check::<Insistent<u8>>(text);
        check::<Insistent<f32>>(text);
    }
    let texts = [
        r#""\q""#,
        r#"["\q"]"#,
        r#"{"a":"\q","b":true}"#,
        "01",
        "[01]",
        "[1e999]",
        "[[300]",
        "[[300],[1]]",
        "[[300,[1]],2]",
        r#"["x",1,"y"]"#,
        r#"[[1,"x"],[1],[1,"x",2],["x",1]]"#,
        r#"{"a":nul,"b":true}"#,
        r#"{"a":null,"b":[true],"c":true}"#,
        r#"{"a":{"1":"x","y":"z"},"b":{"2":3}}"#,
        r#"{"a":{"1":"x","y":{"b":{"2":"x"}}"#,
        r#"["Unit","Other",{"Newtype":300},{"Newtype":1}]"#,
        r#"[{"Newtype":300,"Tuple":[1,"x"]}]"#,
        r#"[{"Struct":{"a":1}}"#,
        "[0.1,0.30000001192092896,16777217,1e39]",
        "[+1]",
        "[x",
        "[x]",
    ];
    for text in texts {
        check_lenient(text);
    }
}

#[test]
fn what_lies_deep_is_left_to_the_library() {
    for depth in [126, 127, 128, 10_000] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let found = decode::<Value>(&text).map_err(|error| error.to_string());
        let expect = serde_json::from_str::<Value>(&text).map_err(|error| error.to_string());
        assert!(found == expect, "{depth}");
    }
}

#[test]
fn what_a_type_skips_is_not_looked_at() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Name {
        name: String,
    }
    let name = decode::<Name>(r#"{"other":{"a":[oops]},"name":"x","more":"\q","yet":true}"#).unwrap();
    assert_eq!(name.name, "x");
    for text in [
        r#"{"other":{,"name":"x"}"#,
        r#"{"other":,"name":"x"}"#,
        r#"{"name":"x","other":tru}"#,
        r#"{"name":"x","a":"b}"#,
    ] {
        check::<Name>(text);
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[a-z\"\\\\]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(".{0,6}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_decoded_as_the_library_does(
        value in json(), pretty in any::<bool>(), damage in proptest::option::of((any::<proptest::sample::Index>(), any::<char>())),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let mut text = text.unwrap();
        if let Some((index, with)) = damage {
            let (at, old) = text.char_indices().nth(index.index(text.chars().count())).unwrap();
            text.replace_range(at..at + old.len_utf8(), with.encode_utf8(&mut [0; 4]));
        }
        check::<Value>(&text);
        check::<BTreeMap<String, Either>>(&text);
        check::<Vec<Flat>>(&text);
        check_lenient(&text);
    }
}
