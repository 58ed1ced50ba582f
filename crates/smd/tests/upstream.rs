//! What structured-merge-diff v6.4.2 answers to generated cases: typed operations, validation errors, and histories of
//! updates and applies. `upstream/cases.json` has the questions and the answers, `upstream/schema.yaml` the types.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its cases has failed")]

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use kubewright_smd::fields::{FieldSet, Filter, Path, PathElement, ResetFields, equal};
use kubewright_smd::managed::{ManagerId, Managers, Operation};
use kubewright_smd::manager::{ConversionError, Force, ManagerError, Versions};
use kubewright_smd::typed::{
    Duplicates, TypeErrors, compare, extract_items, field_set, merge, remove_items, validate,
};
use kubewright_smd::types::{Atom, Field, List, Map, Relationship, Scalar, Schema, TypeRef, TypeSpec};
use kubewright_smd::updater::Updater;
use serde_json::{Value, json};

fn folder() -> std::path::PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream")
}

fn cases(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("cases.json")).unwrap();
    let mut cases: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(cases[name].take()).unwrap()
}

/// The schema file, in upstream's notation.
fn schema() -> Schema {
    let text = std::fs::read_to_string(folder().join("schema.yaml")).unwrap();
    let schema: Value = kubewright_yaml::from_str(&text).unwrap();
    let named = schema["types"].as_array().unwrap().iter();
    let types = named.map(|ty| (ty["name"].as_str().unwrap().to_owned(), atom(ty)));
    Schema::new(types.collect()).unwrap()
}

fn relationship(value: &Value) -> Option<Relationship> {
    match value["elementRelationship"].as_str()? {
        "atomic" => Some(Relationship::Atomic),
        "associative" => Some(Relationship::Associative),
        _ => Some(Relationship::Separable),
    }
}

fn atom(value: &Value) -> Atom {
    let scalar = value["scalar"].as_str().map(|name| match name {
        "numeric" => Scalar::Numeric,
        "string" => Scalar::String,
        "boolean" => Scalar::Boolean,
        _ => Scalar::Untyped,
    });
    let list = value.get("list").map(|list| List {
        item: spec(&list["elementType"]),
        relationship: relationship(list).unwrap(),
        keys: serde_json::from_value(list.get("keys").cloned().unwrap_or(json!([]))).unwrap(),
    });
    let map = value.get("map").map(|map| {
        let fields = map["fields"].as_array().into_iter().flatten();
        let fields = fields.map(|field| {
            let ty = spec(&field["type"]);
            let default = field.get("default").cloned();
            (field["name"].as_str().unwrap().to_owned(), Field { ty, default })
        });
        Map {
            fields: fields.collect(),
            element: map.get("elementType").map(spec),
            relationship: relationship(map).unwrap_or(Relationship::Separable),
        }
    });
    Atom { scalar, list, map }
}

fn spec(value: &Value) -> TypeSpec {
    match value["namedType"].as_str() {
        Some("__untyped_atomic_") => TypeSpec::Untyped,
        Some("__untyped_deduced_") => TypeSpec::Deduced,
        Some(name) => TypeSpec::Named {
            name: name.to_owned(),
            relationship: relationship(value),
        },
        None => TypeSpec::from(atom(value)),
    }
}

fn set(case: &Value, name: &str) -> FieldSet {
    FieldSet::from_json(case[name].as_str().unwrap()).unwrap()
}

#[test]
fn typed_operations() {
    let schema = schema();
    let ty = schema.named("root").unwrap();
    for (index, case) in cases("typed").iter().enumerate() {
        let (left, right) = (&case["left"], &case["right"]);
        let check = |name: &str, found: String| {
            let expect = case.get(name).and_then(Value::as_str).unwrap_or_default();
            assert_eq!(found, expect, "case {index}, {name}:\n{left}\n{right}");
        };
        let check_value = |name: &str, found: &Value| {
            let expect = &case[name];
            assert!(
                equal(found, expect),
                "case {index}, {name}:\n{left}\n{right}\n{found}\n{expect}"
            );
        };
        let refused = validate(right, ty, Duplicates::Refused).err();
        // Upstream visits members in any order.
        let sorted = |text: &str| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let expect = case.get("duplicates").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(
            sorted(&refused.map(|errors| errors.to_string()).unwrap_or_default()),
            sorted(expect)
        );
        assert_eq!(validate(left, ty, Duplicates::Allowed), Ok(()));
        let own = field_set(left, ty);
        check("set", own.to_json());
        let comparison = compare(left, right, ty).unwrap();
        check("removed", comparison.removed.to_json());
        check("modified", comparison.modified.to_json());
        check("added", comparison.added.to_json());
        match merge(left, right, ty) {
            Ok(merged) => check_value("merged", &merged.unwrap_or_default()),
            Err(errors) => {
                let expect = case["mergeError"].as_str().unwrap();
                assert_eq!(sorted(&errors.to_string()), sorted(expect));
            }
        }
        let items = set(case, "items");
        check("items", items.to_json());
        check_value("without", &remove_items(left, &items, ty));
        check_value("extract", &extract_items(left, &items, ty));
        check("leaves", items.leaves().to_json());
        check("named", items.ensure_named_fields_are_members(ty).to_json());
        check("union", items.clone().union(own.clone()).to_json());
        check(
            "intersection",
            items.intersection(&field_set(right, ty)).to_json(),
        );
        check("difference", own.clone().difference(&items).to_json());
        check("recursive", own.recursive_difference(&items).to_json());
        let paths: Vec<String> = items.iter().map(|path| path.to_string()).collect();
        assert_eq!(json!(paths), case["paths"]);
    }
}

#[test]
fn validation_errors() {
    let schema = schema();
    let ty = schema.named("root").unwrap();
    for case in cases("bad") {
        let TypeErrors(errors) = validate(&case["value"], ty, Duplicates::Refused).unwrap_err();
        let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        errors.sort_unstable();
        assert_eq!(json!(errors), case["errors"], "{}", case["value"]);
    }
}

/// Two versions with the same fields.
struct Two<'t>(TypeRef<'t>);

impl Versions for Two<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        ["v1", "v2"].contains(&api_version).then_some(self.0)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        Ok(object)
    }
}

fn id(name: &str) -> ManagerId {
    ManagerId::new(name, Operation::Apply, "", "")
}

fn shown(managers: &Managers) -> Value {
    let entries = managers.iter().map(|(id, owned)| {
        let applied = owned.operation == Operation::Apply;
        let entry = json!({"applied": applied, "set": owned.set.to_json(), "version": owned.api_version});
        (id.manager.clone(), entry)
    });
    Value::Object(entries.collect())
}

/// What the generator ignores in some histories.
fn ignored() -> ResetFields {
    let item = PathElement::key([("name", json!("a"))]);
    let labels = Path(vec![
        PathElement::field("items"),
        item,
        PathElement::field("labels"),
    ]);
    let excluded = [Path::of_fields(["nested"]), labels];
    BTreeMap::from([("v1".to_owned(), Filter::Exclude(excluded.into_iter().collect()))])
}

#[test]
fn histories() {
    let schema = schema();
    let versions = Two(schema.named("root").unwrap());
    for (index, case) in cases("scenarios").iter().enumerate() {
        let reset_fields = if case["ignored"] == true {
            ignored()
        } else {
            ResetFields::new()
        };
        let updater = Updater {
            versions: &versions,
            reset_fields: &reset_fields,
        };
        let mut live = json!({});
        let mut managers = Managers::new();
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let version = step["version"].as_str().unwrap();
            let manager = id(step["manager"].as_str().unwrap());
            live["apiVersion"] = json!(version);
            let before = managers.clone();
            if let Some(new) = step.get("update") {
                managers = updater.update(&live, new, version, before, &manager).unwrap();
                live = new.clone();
            } else {
                let force = if step["force"] == true {
                    Force::Yes
                } else {
                    Force::No
                };
                match updater.apply(&live, &step["apply"], version, before, &manager, force) {
                    Ok((new, owners)) => {
                        assert_eq!(step.get("conflicts"), None);
                        assert_eq!(new.is_none(), step["noop"] == true, "case {index}, step {at}");
                        managers = owners;
                        live = new.unwrap_or(live);
                    }
                    Err(ManagerError::Conflicts(conflicts)) => {
                        let conflicts = conflicts.0.iter();
                        let mut conflicts: Vec<String> = conflicts
                            .map(|one| format!("conflict with {:?}: {}", one.manager.manager, one.path))
                            .collect();
                        conflicts.sort_unstable();
                        assert_eq!(json!(conflicts), step["conflicts"], "case {index}, step {at}");
                        continue;
                    }
                    Err(error) => panic!("case {index}, step {at}: {error}"),
                }
            }
            assert_eq!(
                shown(&managers),
                step["managers"],
                "case {index}, step {at}: {step}"
            );
            assert!(
                equal(&live, &step["live"]),
                "case {index}, step {at}:\n{live}\n{}",
                step["live"]
            );
        }
    }
}
