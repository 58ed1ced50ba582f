//! What is in `config` is what the operator makes, and the sample is valid.

use std::path::Path;

use guestbook::{Guestbook, operator};
use kubewright::CustomResourceExt;
use kubewright::manifests::{Options, install};
use kubewright::schema::{FieldPath, StructuralSchema, check};
use serde_json::{Value, json};

#[test]
fn config_is_up_to_date() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let tree = install(&operator(), &Options::default()).unwrap();
    assert_eq!(
        tree.differences(&config).unwrap(),
        [],
        "run `cargo run -p guestbook -- manifests --output examples/guestbook/config`"
    );
}

#[test]
fn the_schema_holds() {
    let schema = Guestbook::definition().schema;
    assert_eq!(check(&schema, &FieldPath::root()), []);
    let schema = StructuralSchema::parse(&schema).unwrap();
    let sample = include_str!("../config/sample.yaml");
    let sample: Value = kubewright::yaml::from_str(sample).unwrap();
    let spec =
        |spec: Value| json!({"apiVersion": "example.kubewright.dev/v1", "kind": "Guestbook", "spec": spec});
    // object, what is wrong with it
    let rows = [
        (sample, ""),
        (spec(json!({"message": "m"})), ""),
        (spec(json!({"message": "m", "replicas": 10})), ""),
        (spec(json!({"message": "m", "replicas": 11})), "spec.replicas"),
        (spec(json!({"message": "m", "replicas": -1})), "spec.replicas"),
        (spec(json!({"message": "m", "image": ""})), "spec.image"),
        (spec(json!({"message": ""})), "spec.message"),
        (spec(json!({})), "spec.message"),
    ];
    for (mut object, expect) in rows {
        assert_eq!(schema.prune(&mut object), [""; 0]);
        schema.default(&mut object);
        let errors = schema.validate(&object, None);
        let fields: Vec<_> = errors.iter().map(|error| error.path.to_string()).collect();
        assert_eq!(fields.join(", "), expect, "{object}");
        if errors.is_empty() {
            let typed: Guestbook = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(serde_json::to_value(&typed.spec).unwrap(), object["spec"]);
        }
    }
}
