//! A schema and an object of it, a line of JSON each: no panic, the steps that an object goes through change nothing the second time,
//! and no schema makes much of little.
#![no_main]

use kubewright_schema::{FieldPath, MAX_ERRORS, Malformed, Status, StructuralSchema, check_definition};
use serde_json::Value;

/// The most that an object may grow to, in bytes of JSON for each byte of schema and object: defaults are put into every item.
const MAX_GROWTH: usize = 8192;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Some((schema, object)) = text.split_once('\n') else {
        return;
    };
    let (Ok(schema), Ok(mut object)) = (
        serde_json::from_str::<Value>(schema),
        serde_json::from_str::<Value>(object),
    ) else {
        return;
    };
    let path = FieldPath::new("spec");
    let faults = check_definition(&schema, &path, Status::Subresource, &|_, _| Vec::new());
    let Ok(mut compiled) = StructuralSchema::parse(&schema) else {
        assert!(!faults.is_empty(), "a schema that cannot be compiled is let in");
        return;
    };
    compiled.prune_defaults();
    let old = object.clone();
    let _ = compiled.validate(&object, None);
    compiled.prune(&mut object);
    assert_eq!(compiled.prune(&mut object), [""; 0], "pruning again finds more");
    compiled.drop_nulls(&mut object);
    let coerced = compiled.coerce_metadata(&mut object, Malformed::Drop);
    assert!(coerced.is_ok(), "what is dropped cannot be refused");
    compiled.default(&mut object);
    let once = object.clone();
    compiled.default(&mut object);
    assert_eq!(object, once, "filling in again changes something");
    assert!(
        object.to_string().len() <= MAX_GROWTH * bytes.len(),
        "the object outgrew its schema"
    );
    let all = compiled.validate(&object, None);
    assert!(all.len() <= MAX_ERRORS);
    assert_eq!(
        compiled.validate(&object, None),
        all,
        "what is wrong depends on chance"
    );
    for error in compiled.validate(&object, Some(&old)) {
        assert!(all.contains(&error), "an old object adds {error}");
    }
});
