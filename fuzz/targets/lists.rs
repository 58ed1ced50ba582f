//! A list that comes in pieces, whose size is the first byte: no panic, it is cut alike whatever the pieces are, and as in one piece. The text is tried
//! as an event of a watch, too: of a JSON object, kind and object are those that a parser reads.
#![no_main]

use std::fmt;

use bytes::Bytes;
use kubewright_client::{ListSplitter, RawEvent, RawList, SplitError};
use kubewright_core::WatchEventKind;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

fn split(text: &Bytes, size: usize) -> Result<RawList, SplitError> {
    let mut splitter = ListSplitter::new(4096);
    let mut items = Vec::new();
    for piece in text.chunks(size) {
        splitter.push(text.slice_ref(piece));
        while let Some(item) = splitter.next_item()? {
            items.push(item);
        }
    }
    let metadata = splitter.finish()?;
    Ok(RawList { metadata, items })
}

fn is_json(text: &Bytes) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((size, text)) = bytes.split_first() else {
        return;
    };
    let text = Bytes::copy_from_slice(text);
    let whole = split(&text, text.len().max(1));
    assert_eq!(split(&text, usize::from(*size).max(1)), whole);
    let expect = RawList::split(&text);
    match (whole, expect) {
        (Ok(list), Ok(expect)) => assert_eq!(list, expect),
        // Items are not looked at.
        (Ok(list), Err(error)) => assert!(!list.items.iter().all(is_json), "{error}"),
        // The limit holds here alone.
        (Err(_), Ok(_)) => assert!(text.len() > 4096),
        (Err(_), Err(_)) => {}
    }
    if let Ok(members) = serde_json::from_slice::<Members>(&text) {
        let event = RawEvent::split(&text).ok();
        let event = event.map(|event| (event.kind, event.object.to_vec()));
        assert_eq!(event, members.event());
    }
});

/// The members of an object as a parser reads them, those of one name too.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Members {
    /// The value of a name, if it is there once.
    fn only(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(of, _)| of == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value.get()),
            _ => None,
        }
    }

    fn event(&self) -> Option<(WatchEventKind, Vec<u8>)> {
        let kind = serde_json::from_str(self.only("type")?).ok()?;
        Some((kind, self.only("object")?.as_bytes().to_vec()))
    }
}
