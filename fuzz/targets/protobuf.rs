//! Any bytes as Kubernetes protobuf: they are refused or read, and what was read can be written and read again to the same.
#![no_main]

use kubewright_kinds::protobuf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = protobuf::decode_watch_event(bytes);
    let Ok(decoded) = protobuf::decode(bytes) else {
        return;
    };
    let value = decoded.value;
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let encoded = protobuf::encode(&api_version, &kind, &value).expect("what was read can be written");
    let again = protobuf::decode(&encoded).expect("what was written can be read");
    assert_eq!(again.value, value);
});
