//! The schemas of real definitions: those of cert-manager and the Prometheus operator.
#![expect(clippy::print_stderr, clippy::unwrap_used, reason = "a test")]

use std::path::PathBuf;

use kubewright_schema::{FieldPath, Status, StructuralSchema, check_definition};
use serde_json::{Value, json};

/// The definitions, or `None` with a word about it where the environment names no fixtures.
fn definitions() -> Option<Vec<(String, Value)>> {
    let Some(root) = std::env::var_os("KUBEWRIGHT_FIXTURES") else {
        eprintln!("skipped: KUBEWRIGHT_FIXTURES is not set");
        return None;
    };
    let folder = PathBuf::from(root).join("crds");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (
            path.display().to_string(),
            kubewright_yaml::from_str(&text).unwrap(),
        )
    };
    Some(files.into_iter().map(read).collect())
}

fn schemas(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = definition["spec"]["versions"].as_array().unwrap();
    versions
        .iter()
        .map(|version| &version["schema"]["openAPIV3Schema"])
}

#[test]
fn are_structural_and_compile() {
    let Some(definitions) = definitions() else { return };
    assert!(!definitions.is_empty());
    for (file, definition) in &definitions {
        for schema in schemas(definition) {
            let errors = check_definition(schema, &FieldPath::new("openAPIV3Schema"), Status::Subresource);
            assert!(errors.is_empty(), "{file}: {errors:?}");
            let compiled = StructuralSchema::parse(schema).unwrap();
            let mut object =
                json!({"apiVersion": "x/v1", "kind": "X", "metadata": {}, "spec": {"unheardOf": 1}});
            assert_eq!(compiled.prune(&mut object), ["spec.unheardOf"], "{file}");
            compiled.default(&mut object);
            // Nothing unchanged is ever wrong, whatever the schema requires.
            assert_eq!(compiled.validate(&object, Some(&object)), [], "{file}");
        }
    }
}
