//! The protobuf codec on what fixtures do not have: zero values, unions, hostile bytes.

#![expect(clippy::unwrap_used, reason = "tests")]

use kubewright_kinds::protobuf::{self, DecodeError, EncodeError, MAX_DEPTH};
use kubewright_kinds::table;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn encode(value: &Json) -> Vec<u8> {
    let text = |key: &str| value[key].as_str().unwrap();
    protobuf::encode(text("apiVersion"), text("kind"), value).unwrap()
}

/// What an object is after a round trip; `expect` holds what Go's encoders add or drop.
fn check(input: Json, expect: Json) {
    assert_eq!(
        protobuf::decode(&encode(&input)).unwrap().value,
        expect,
        "{input}"
    );
}

#[test]
fn zero_values() {
    let deployment = |spec: Json, status: Json| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec, "status": status});
    // A pointer keeps its zero; a plain number does not; plain objects are always there, and so is a list without `omitempty`.
    check(
        deployment(
            json!({"replicas": 0, "minReadySeconds": 0, "selector": {}, "template": {}}),
            Json::Null,
        ),
        deployment(
            json!({"replicas": 0, "selector": {}, "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": null}}}),
            json!({}),
        ),
    );
    check(
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": []}),
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"}, "items": []}),
    );
    check(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": null}, "data": {"a": null}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": ""}}),
    );
}

#[test]
fn quantities_and_int_or_strings() {
    let quota = |hard: Json| json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {}, "spec": {"hard": hard}, "status": {}});
    check(
        quota(json!({"cpu": 2, "memory": "1Gi"})),
        quota(json!({"cpu": "2", "memory": "1Gi"})),
    );
    let budget = |spec: Json| {
        let status =
            json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {}, "spec": spec, "status": status})
    };
    check(
        budget(json!({"minAvailable": 0})),
        budget(json!({"minAvailable": 0})),
    );
    check(
        budget(json!({"minAvailable": "50%"})),
        budget(json!({"minAvailable": "50%"})),
    );
    check(
        budget(json!({"minAvailable": -1})),
        budget(json!({"minAvailable": -1})),
    );
}

#[test]
fn unions_of_schemas() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "a": {"items": {"type": "string"}, "default": [1, null], "enum": ["x", 2], "maxLength": 0},
            "b": {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": true},
            "c": {"additionalProperties": {"$ref": "#/d"}, "x-kubernetes-preserve-unknown-fields": false},
        },
        "dependencies": {"a": ["b", "c"], "b": {"type": "object"}},
        "multipleOf": 0.5,
    });
    let crd = |schema: Json| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {},
            "spec": {"group": "g", "scope": "Cluster", "names": {"kind": "K", "plural": "ks"}, "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
            "status": {"conditions": [], "acceptedNames": {"kind": "", "plural": ""}, "storedVersions": ["v1"]}})
    };
    let mut expect = crd(schema.clone());
    // An empty list is nothing in protobuf, and Go writes `null` for it.
    expect["status"]["conditions"] = Json::Null;
    check(crd(schema), expect);
}

#[test]
fn mistakes_are_named_with_their_path() {
    let pod = |spec: Json| json!({"apiVersion": "v1", "kind": "Pod", "spec": spec});
    let check = |input: Json, expect: &str| {
        let error = protobuf::encode("v1", "Pod", &input).unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    check(
        pod(json!({"containers": [{"name": 1}]})),
        "spec.containers[0].name: expected a string",
    );
    check(
        pod(json!({"nodeSelector": {"a": true}})),
        "spec.nodeSelector[a]: expected a string",
    );
    check(
        pod(json!({"priority": 3_000_000_000_u32})),
        "spec.priority: expected a 32-bit integer",
    );
    check(
        pod(json!({"volumes": [{"hostPath": 1}]})),
        "spec.volumes[0].hostPath: expected an object",
    );
    check(
        json!({"metadata": {"deletionTimestamp": "x"}}),
        "metadata.deletionTimestamp: expected a time as in RFC 3339",
    );
    check(json!([]), "Pod: expected an object");
    let table = json!({"columnDefinitions": []});
    let error = protobuf::encode("meta.k8s.io/v1", "Table", &table).unwrap_err();
    assert_eq!(
        error,
        EncodeError::NoTag {
            path: "columnDefinitions".to_owned()
        }
    );
    assert!(matches!(
        protobuf::encode("v1", "Nothing", &json!({})),
        Err(EncodeError::UnknownKind { .. })
    ));
}

#[test]
fn depth_has_a_limit_both_ways() {
    let nest = |levels: usize| (0..levels).fold(json!({"type": "object"}), |inner, _| json!({"not": inner}));
    let object = table()
        .type_named("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        .unwrap();
    let fits = protobuf::encode_message(object, &nest(MAX_DEPTH)).unwrap();
    assert_eq!(protobuf::decode_message(object, &fits).unwrap(), nest(MAX_DEPTH));
    let error = protobuf::encode_message(object, &nest(MAX_DEPTH + 1)).unwrap_err();
    assert!(matches!(error, EncodeError::TooDeep { .. }));
    // One level more around what fits.
    let varint = |mut value: usize, out: &mut Vec<u8>| {
        while value >= 0x80 {
            out.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    };
    let mut deeper = Vec::new();
    varint((object.field("not").unwrap().tag << 3 | 2) as usize, &mut deeper);
    varint(fits.len(), &mut deeper);
    deeper.extend(&fits);
    let error = protobuf::decode_message(object, &deeper).unwrap_err();
    assert!(matches!(error, DecodeError::TooDeep { .. }), "{error}");
}

#[test]
fn missing_fields_have_a_limit() {
    // A list of empty pods, two bytes each, of which every one would grow to a dozen values.
    let list = table().kind("", "v1", "PodList").unwrap();
    let bytes = [0x12, 0].repeat(100_000);
    let error = protobuf::decode_message(list, &bytes).unwrap_err();
    assert!(matches!(error, DecodeError::TooManyMissing { .. }), "{error}");
    assert!(protobuf::decode_message(list, &bytes[..1000]).is_ok());
}

#[test]
fn watch_events() {
    let object = encode(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    let event = protobuf::encode_watch_event("ADDED", &object);
    assert_eq!(
        protobuf::decode_watch_event(&event).unwrap(),
        ("ADDED", object.as_slice())
    );
    // The general codec sees the same event.
    let kind = table().kind("", "v1", "WatchEvent").unwrap();
    let value = protobuf::decode_message(kind, &event).unwrap();
    assert_eq!(value["type"], "ADDED");
    assert_eq!(value["object"]["metadata"]["name"], "a");
    let plain = json!({"type": "ADDED", "object": {"a": 1}});
    let bytes = protobuf::encode_message(kind, &plain).unwrap();
    assert_eq!(protobuf::decode_message(kind, &bytes).unwrap(), plain);
}

#[test]
fn lists_of_encoded_items() {
    let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {}});
    let encoded = ["a", "b"].map(|name| encode(&pod(name)));
    let raw = encoded
        .iter()
        .map(|bytes| protobuf::open_envelope(bytes).unwrap().raw);
    let metadata = json!({"resourceVersion": "7"});
    let list = protobuf::encode_list("v1", "PodList", &metadata, raw.clone()).unwrap();
    let whole =
        json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": [pod("a"), pod("b")]});
    assert_eq!(list, encode(&whole));
    let first = protobuf::seal_envelope("v1", "Pod", raw.clone().next().unwrap());
    assert_eq!(first, encoded[0]);
    let error = protobuf::encode_list("v1", "Pod", &metadata, raw).unwrap_err();
    assert!(matches!(error, EncodeError::UnknownKind { .. }));
}

#[test]
fn foreign_bytes() {
    assert!(matches!(protobuf::decode(b"{}"), Err(DecodeError::NoMagic)));
    assert!(matches!(
        protobuf::decode(b"k8s\0"),
        Err(DecodeError::UnknownKind { .. })
    ));
    // An unknown tag of each wire type in front of a known field.
    let kind = table().kind("", "v1", "WatchEvent").unwrap();
    let bytes = [
        0xf8, 7, 1, 0xfa, 7, 1, 0, 0xfd, 7, 0, 0, 0, 0, 0xf9, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0xfb, 7, 0xfc, 7,
        10, 1, b'A',
    ];
    assert_eq!(protobuf::decode_message(kind, &bytes).unwrap()["type"], "A");
    // The same message in two parts is merged.
    let pod = table().kind("", "v1", "Pod").unwrap();
    let parts = [0x0a, 3, 0x0a, 1, b'a', 0x0a, 3, 0x1a, 1, b'b'];
    let metadata = &protobuf::decode_message(pod, &parts).unwrap()["metadata"];
    assert_eq!(metadata, &json!({"name": "a", "namespace": "b"}));
}

fn sample() -> Vec<u8> {
    encode(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "y"}, "creationTimestamp": "2008-01-01T01:01:01Z",
            "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {}}}]},
        "spec": {
            "containers": [{"name": "c", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 3}}],
            "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
            "terminationGracePeriodSeconds": 0,
        },
    }))
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let _ = protobuf::decode(&bytes);
        let framed = [sample()[..12].to_vec(), bytes.clone()].concat();
        let _ = protobuf::decode(&framed);
        let _ = protobuf::decode_watch_event(&bytes);
        for object in [("", "v1", "Pod"), ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), ("", "v1", "WatchEvent")] {
            let _ = protobuf::decode_message(table().kind(object.0, object.1, object.2).unwrap(), &bytes);
        }
    }

    #[test]
    fn damaged_messages_are_refused_or_decoded(cut in any::<prop::sample::Index>(), flips in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 0..4)) {
        let mut bytes = sample();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        let _ = protobuf::decode(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        if let Ok(decoded) = protobuf::decode(&bytes) {
            // What was decoded can be encoded again; the zero of a union may be lost, so only that it does not fail.
            let _ = protobuf::encode(&decoded.api_version, &decoded.kind, &decoded.value);
        }
    }

    #[test]
    fn a_round_trip_is_stable(replicas in proptest::option::of(any::<i32>()), name in "[a-z]{0,8}", labels in proptest::collection::btree_map("[a-z]{1,4}", ".{0,4}", 0..4), paused in any::<bool>()) {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "labels": labels}, "spec": {"replicas": replicas, "paused": paused}});
        let once = encode(&object);
        let decoded = protobuf::decode(&once).unwrap().value;
        prop_assert_eq!(encode(&decoded), once);
        prop_assert_eq!(&decoded["spec"]["replicas"], &json!(replicas));
    }
}
