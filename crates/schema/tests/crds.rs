//! The schemas of real definitions: those of cert-manager and the Prometheus operator.
//!
//! `KUBEWRIGHT_FIXTURES` names a folder with `crds`, which holds a definition a file.

#![expect(clippy::unwrap_used, reason = "a broken fixture should stop the test")]

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_schema::{FieldPath, Status, StructuralSchema, check_definition};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

fn main() {
    let arguments = Arguments::from_args();
    let trials = match std::env::var_os("KUBEWRIGHT_FIXTURES") {
        Some(folder) => trials(&PathBuf::from(folder).join("crds")),
        None => {
            vec![Trial::test("skipped: KUBEWRIGHT_FIXTURES is not set", || Ok(())).with_ignored_flag(true)]
        }
    };
    libtest_mimic::run(&arguments, trials).exit();
}

/// One for each definition.
fn trials(folder: &Path) -> Vec<Trial> {
    let files = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "no fixtures in {}", folder.display());
    files.sort();
    let trial = |file: PathBuf| {
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Trial::test(format!("structural and compiles {name}"), move || check(&file))
    };
    files.into_iter().map(trial).collect()
}

fn schemas(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = definition["spec"]["versions"].as_array().unwrap();
    versions
        .iter()
        .map(|version| &version["schema"]["openAPIV3Schema"])
}

fn check(file: &Path) -> Result<(), Failed> {
    let definition: Value = kubewright_yaml::from_str(&fs::read_to_string(file)?)?;
    for schema in schemas(&definition) {
        let errors = check_definition(
            schema,
            &FieldPath::new("openAPIV3Schema"),
            Status::Subresource,
            &|_, _| Vec::new(),
        );
        assert!(errors.is_empty(), "{errors:?}");
        let compiled = StructuralSchema::parse(schema).unwrap();
        let mut object = json!({"apiVersion": "x/v1", "kind": "X", "metadata": {}, "spec": {"unheardOf": 1}});
        assert_eq!(compiled.prune(&mut object), ["spec.unheardOf"]);
        compiled.default(&mut object);
        // Nothing unchanged is ever wrong, whatever the schema requires.
        assert_eq!(compiled.validate(&object, Some(&object)), []);
    }
    Ok(())
}
