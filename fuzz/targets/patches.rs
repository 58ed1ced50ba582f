//! An object and a patch, a line of JSON each, in every kind of patch.
#![no_main]

use kubewright_kinds::table;
use kubewright_smd::strategic::KindTypes;
use kubewright_smd::{json, merge, strategic};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((object, patch)) = text.split_once('\n') else { return };
    let (Ok(object), Ok(patch)) = (
        serde_json::from_str::<Value>(object),
        serde_json::from_str::<Value>(patch),
    ) else {
        return;
    };
    // A patch may refuse, but never panic; a merge patch that was applied changes nothing a second time.
    let merged = merge::patch(object.clone(), &patch);
    assert_eq!(merge::patch(merged.clone(), &patch), merged);
    let _ = json::patch(object.clone(), &patch);
    for (group, version, kind) in [("", "v1", "Pod"), ("apps", "v1", "Deployment"), ("", "v1", "Service")] {
        let ty = table().kind(group, version, kind).expect("a built-in kind");
        let _ = strategic::patch(object.clone(), &patch, &KindTypes::from(ty));
    }
});
