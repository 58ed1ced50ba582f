//! Every kind through its type: what is read is written again, nothing less and nothing more.
//!
//! Objects come from two places: from the table of kinds, with fields that chance chooses, and from upstream's fixtures if
//! `KUBEWRIGHT_FIXTURES` names a folder with `builtin-kinds`. Kinds whose group is not compiled in are ignored.

#![expect(clippy::unwrap_used, reason = "a broken fixture should stop the test")]

#[rustfmt::skip]
mod kinds;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_kinds::{Resource, Type, Value as Kind, table};
use libtest_mimic::{Arguments, Failed, Trial};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// An object as its type writes it, and as it does after having read that from text.
type Written = Result<(Value, Value), serde_json::Error>;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = table().resources().iter().filter_map(made).collect();
    match std::env::var_os("KUBEWRIGHT_FIXTURES") {
        Some(folder) => trials.extend(fixtures(&PathBuf::from(folder).join("builtin-kinds"))),
        None => trials
            .push(Trial::test("skipped: KUBEWRIGHT_FIXTURES is not set", || Ok(())).with_ignored_flag(true)),
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn written<T: DeserializeOwned + Serialize + PartialEq>(object: &Value) -> Written {
    let first = T::deserialize(object)?;
    let text = serde_json::to_string(&first)?;
    let second: T = serde_json::from_str(&text)?;
    assert!(first == second, "{text}");
    Ok((serde_json::to_value(&first)?, serde_json::from_str(&text)?))
}

/// Reads and writes an object, of which `expect` is what an applier may send.
fn check(object: &Value, expect: &Value) -> Result<(), String> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let written = kinds::round_trip(text("apiVersion"), text("kind"), object);
    let written = written.ok_or("no such kind is compiled in")?;
    let (value, parsed) = written.map_err(|error| error.to_string())?;
    let mut differences = Vec::new();
    differ("", &value, expect, &mut differences);
    differ("as text ", &parsed, expect, &mut differences);
    match differences.is_empty() {
        true => Ok(()),
        false => Err(differences.join("\n")),
    }
}

fn is_compiled(api_version: &str, kind: &str) -> bool {
    kinds::round_trip(api_version, kind, &json!({})).is_some()
}

/// Objects of a kind with fields that chance chooses.
fn made(resource: &'static Resource) -> Option<Trial> {
    let api_version = resource.api_version();
    let has_type = resource.verbs.contains(&"patch");
    let is_ignored = !is_compiled(&api_version, resource.kind);
    let trial = Trial::test(format!("made {api_version} {}", resource.kind), move || {
        let mut runner = TestRunner::new(Config {
            cases: 8,
            failure_persistence: None,
            ..Config::default()
        });
        let outcome = runner.run(&proptest::num::u64::ANY, |seed| {
            let object = Maker { state: seed }.object(resource.object_type(), 0);
            check(&object, &object).map_err(TestCaseError::fail)
        });
        outcome.map_err(|error| Failed::from(error.to_string()))
    });
    has_type.then(|| trial.with_ignored_flag(is_ignored))
}

/// Makes objects of the table's types.
struct Maker {
    state: u64,
}

impl Maker {
    /// A number below `limit` (splitmix64).
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn object(&mut self, object: &'static Type, depth: u32) -> Value {
        let mut members = Map::new();
        name_kind(object, &mut members);
        for field in object.fields() {
            let is_wanted = depth == 0 || self.below(2) == 0;
            if is_wanted
                && depth < MAX_DEPTH
                && !members.contains_key(field.name)
                && !is_never_sent(field.name)
            {
                members.insert(field.name.to_owned(), self.value(&field.value, depth));
            }
        }
        Value::Object(members)
    }

    fn value(&mut self, kind: &Kind, depth: u32) -> Value {
        match kind {
            Kind::String => ["", "a", "\u{e9}\"\n"][self.below(3) as usize].into(),
            Kind::Boolean => (self.below(2) == 0).into(),
            Kind::Int32 => [0, 1, -1, i32::MAX, i32::MIN][self.below(5) as usize].into(),
            Kind::Int64 => [0, 1, -1, i64::MAX, i64::MIN][self.below(5) as usize].into(),
            Kind::Double => [0.5, -1.25, 1e300][self.below(3) as usize].into(),
            Kind::Bytes => ["", "AA==", "aGVsbG8="][self.below(3) as usize].into(),
            Kind::Time => ["2026-02-03T04:05:06Z", "1950-01-01T00:00:00Z"][self.below(2) as usize].into(),
            Kind::MicroTime => {
                ["2026-02-03T04:05:06.000000Z", "2026-02-03T04:05:06.123456Z"][self.below(2) as usize].into()
            }
            Kind::Quantity => ["0", "100m", "1.5Gi"][self.below(3) as usize].into(),
            Kind::IntOrString => [json!(0), json!(8080), json!("25%")][self.below(3) as usize].clone(),
            Kind::Object(id) if id.get().name.ends_with(".JSONSchemaProps") => json!({"type": "object"}),
            Kind::Object(id) => self.object(id.get(), depth + 1),
            Kind::Array(item) => (0..self.below(3)).map(|_| self.value(item, depth)).collect(),
            Kind::Map(entry) => {
                let entries = (0..self.below(3)).map(|at| (format!("k{at}"), self.value(entry, depth)));
                Value::Object(entries.collect())
            }
            _ => json!({"any": [1, "thing"]}),
        }
    }
}

/// What travels as a kind of its own says so, also within another.
fn name_kind(object: &Type, members: &mut Map<String, Value>) {
    let resources = table().resources();
    if let Some(resource) = resources.iter().find(|r| r.object_type().name == object.name) {
        members.insert("apiVersion".to_owned(), resource.api_version().into());
        members.insert("kind".to_owned(), resource.kind.into());
    }
}

/// How deep objects nest.
const MAX_DEPTH: u32 = 7;

/// Fields of metadata that only servers write.
fn is_never_sent(name: &str) -> bool {
    ["managedFields", "selfLink"].contains(&name)
}

/// Upstream's fixtures, in which every field has a value.
fn fixtures(folder: &Path) -> Vec<Trial> {
    let files = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let trials: Vec<Trial> = paths.iter().filter_map(|path| fixture(path)).collect();
    assert!(!trials.is_empty(), "no fixtures in {}", folder.display());
    trials
}

fn fixture(path: &Path) -> Option<Trial> {
    // Named as `apps.v1.Deployment.json`.
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
    let mut object: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    // Go writes null for a time that is not set, also in maps.
    without_nulls(&mut object);
    let (api_version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = table().resource_of_kind(group, version, kind)?;
    let is_compiled = is_compiled(api_version, kind);
    let mut expect = object.clone();
    sent(&mut expect, resource.object_type());
    let trial = Trial::test(format!("fixture {name}"), move || Ok(check(&object, &expect)?));
    let has_type = resource.verbs.contains(&"patch");
    has_type.then(|| trial.with_ignored_flag(!is_compiled))
}

/// Takes away what no applier sends: fields that only servers write, and those of other versions of Kubernetes.
fn sent(value: &mut Value, object: &Type) {
    let Value::Object(members) = value else { return };
    members.retain(|name, _| !is_never_sent(name) && object.field(name).is_some());
    name_kind(object, members);
    for (name, value) in members {
        let Some(field) = object.field(name) else { continue };
        match (field.value, value) {
            (Kind::Object(id), value) => sent(value, id.get()),
            (Kind::Array(Kind::Object(id)), Value::Array(items)) => {
                items.iter_mut().for_each(|item| sent(item, id.get()));
            }
            (Kind::Map(Kind::Object(id)), Value::Object(entries)) => {
                entries.values_mut().for_each(|entry| sent(entry, id.get()));
            }
            _ => {}
        }
    }
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

fn differ(path: &str, ours: &Value, theirs: &Value, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => differ(&format!("{path}.{key}"), left, right, out),
                    (left, right) => out.push(format!("{path}.{key}: ours {left:?}, theirs {right:?}")),
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                differ(&format!("{path}[{at}]"), left, right, out);
            }
        }
        _ if ours != theirs => out.push(format!("{path}: ours {ours}, theirs {theirs}")),
        _ => {}
    }
}
