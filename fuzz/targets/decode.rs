//! Any text as JSON: the reader of cached objects makes of it what the library does, also where a type passes over errors of its parts. What a type skips
//! is not looked at, so types that skip something are tried with what is JSON.
#![no_main]

use std::collections::BTreeMap;
use std::fmt::Debug;

use kubewright_core::json::decode;
use kubewright_core::{DynamicObject, ObjectMeta, PartialObject};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde_json::Value;

/// What does not decode is as if it had not been there.
#[derive(Debug, Default, PartialEq)]
struct Lenient<T>(T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).unwrap_or_default()))
    }
}

fn check<'de, T: Deserialize<'de> + Debug + PartialEq>(text: &'de str) {
    let refused = |error: serde_json::Error| error.to_string();
    let expect = serde_json::from_str::<T>(text).map_err(refused);
    assert_eq!(decode::<T>(text).map_err(refused), expect);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    check::<Value>(text);
    check::<Vec<Lenient<String>>>(text);
    check::<Vec<Lenient<(u8, f32)>>>(text);
    check::<BTreeMap<String, Lenient<Option<i64>>>>(text);
    check::<BTreeMap<String, Lenient<Vec<Lenient<BTreeMap<String, bool>>>>>>(text);
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        check::<ObjectMeta>(text);
        check::<PartialObject<()>>(text);
        check::<Lenient<DynamicObject>>(text);
        check::<Vec<Lenient<ObjectMeta>>>(text);
    }
});
