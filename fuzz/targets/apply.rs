//! Server-side apply of any two configurations, a line of JSON each, by two managers: no panic, and the same again changes nothing.
#![no_main]

use jiff::Timestamp;
use kubewright_kinds::table;
use kubewright_smd::fields::ResetFields;
use kubewright_smd::manager::{FieldManager, Force, OneType};
use kubewright_smd::types::TypeRef;
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((first, second)) = text.split_once('\n') else { return };
    let (Ok(mut first), Ok(mut second)) = (
        serde_json::from_str::<Value>(first),
        serde_json::from_str::<Value>(second),
    ) else {
        return;
    };
    for config in [&mut first, &mut second] {
        let Some(fields) = config.as_object_mut() else { return };
        fields.insert("apiVersion".into(), "v1".into());
        fields.insert("kind".into(), "Pod".into());
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
    let ty = table().kind("", "v1", "Pod").expect("a built-in kind");
    let manager = FieldManager {
        versions: &OneType {
            ty: TypeRef::from(ty),
            api_versions: &["v1"],
        },
        api_version: "v1",
        kind: "Pod",
        subresource: "",
        reset_fields: &ResetFields::default(),
        now: Timestamp::UNIX_EPOCH,
    };
    let Ok(live) = manager.apply(None, &first, "first", Force::No) else { return };
    let again = manager.apply(Some(&live), &first, "first", Force::No);
    assert_eq!(again.expect("it was applied before"), live, "the same again changed something");
    let _ = manager.update(&live, second.clone(), "updater");
    let _ = manager.apply(Some(&live), &second, "second", Force::No);
    if let Ok(forced) = manager.apply(Some(&live), &second, "second", Force::Yes) {
        let again = manager.apply(Some(&forced), &second, "second", Force::No);
        assert_eq!(again.expect("it was applied before"), forced, "the same again changed something");
    }
});
