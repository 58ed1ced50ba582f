//! A list that comes in pieces, whose size is the first byte: no panic, it is cut alike whatever the pieces are, and as in one piece. The text is tried
//! as an event of a watch, too.
#![no_main]

use bytes::Bytes;
use kubewright_client::{ListSplitter, RawEvent, RawList, SplitError};
use serde::de::IgnoredAny;

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
    if let Ok(event) = RawEvent::split(&text) {
        assert!(event.object.len() < text.len());
    }
});
