//! Upstream's round-trip fixtures: every kind as JSON, YAML and protobuf, as Go's encoders wrote it.
//!
//! `KUBEWRIGHT_FIXTURES` names a folder with `builtin-kinds`, which is `testdata/HEAD` of github.com/kubernetes/api and
//! its sister modules. The kinds that Kubernetes 1.37 does not have any more are listed in `not_served.txt`, and their fixtures ignored.

#![expect(clippy::unwrap_used, reason = "a broken fixture should stop the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_kinds::{protobuf, table};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value as Json;

fn main() {
    let arguments = Arguments::from_args();
    let trials = match std::env::var_os("KUBEWRIGHT_FIXTURES") {
        Some(folder) => trials(&PathBuf::from(folder).join("builtin-kinds")),
        None => {
            vec![Trial::test("skipped: KUBEWRIGHT_FIXTURES is not set", || Ok(())).with_ignored_flag(true)]
        }
    };
    libtest_mimic::run(&arguments, trials).exit();
}

fn trials(folder: &Path) -> Vec<Trial> {
    let files = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let names = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".pb")?.to_owned()))
        .collect::<BTreeSet<_>>();
    assert!(!names.is_empty(), "no fixtures in {}", folder.display());
    let found = names
        .iter()
        .filter(|name| NOT_SERVED.lines().any(|line| line == *name))
        .count();
    let count = Trial::test(format!("{found} kinds are not served"), move || {
        match found == NOT_SERVED.lines().filter(|line| !line.starts_with('#')).count() {
            true => Ok(()),
            false => Err("not_served.txt names kinds that there are no fixtures of".into()),
        }
    });
    let fixtures = names
        .into_iter()
        .flat_map(|name| fixture_trials(&folder.join(name)));
    std::iter::once(count).chain(fixtures).collect()
}

/// The fixtures of kinds that are not served any more, a name a line.
const NOT_SERVED: &str = include_str!("not_served.txt");

/// What is known of one fixture: the three files.
#[derive(Clone)]
struct Fixture {
    json: Json,
    bytes: Vec<u8>,
    yaml: Vec<u8>,
}

fn fixture_trials(path: &Path) -> Vec<Trial> {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let file = |suffix: &str| fs::read(format!("{}.{suffix}", path.display())).unwrap();
    let mut json: Json = serde_json::from_slice(&file("json")).unwrap();
    let bytes = file("pb");
    let (api_version, kind) = envelope_type(&bytes);
    if kind.is_empty() {
        // Only an event of a watch travels without its type.
        return vec![Trial::test(format!("event {name}"), move || {
            watch_event(&Fixture {
                json,
                bytes,
                yaml: Vec::new(),
            })
        })];
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let is_known = table().kind(group, version, &kind).is_some();
    let is_listed = NOT_SERVED.lines().any(|line| line == name);
    // Some JSON fixtures of meta types are written without their type; the envelope has it.
    json["apiVersion"] = api_version.into();
    json["kind"] = kind.into();
    let fixture = Fixture {
        json,
        bytes,
        yaml: file("yaml"),
    };
    let listed = Trial::test(format!("served {name}"), move || match is_known != is_listed {
        true => Ok(()),
        false => Err("not_served.txt says otherwise than the table".into()),
    });
    let trial = |check: fn(&Fixture) -> Result<(), Failed>, what: &str| {
        let fixture = fixture.clone();
        Trial::test(format!("{what} {name}"), move || check(&fixture)).with_ignored_flag(!is_known)
    };
    vec![
        listed,
        trial(decodes, "decode"),
        trial(encodes, "encode"),
        trial(reads_yaml, "yaml"),
    ]
}

/// JSON and YAML are one object.
fn reads_yaml(fixture: &Fixture) -> Result<(), Failed> {
    let mut yaml: Json = kubewright_yaml::from_slice(&fixture.yaml)?;
    for key in ["apiVersion", "kind"] {
        yaml[key] = fixture.json[key].clone();
    }
    same(&yaml, &fixture.json)
}

fn decodes(fixture: &Fixture) -> Result<(), Failed> {
    let decoded = protobuf::decode(&fixture.bytes)?;
    same(&decoded.value, &fixture.json)
}

fn watch_event(fixture: &Fixture) -> Result<(), Failed> {
    let object = table().kind("", "v1", "WatchEvent").ok_or("no kind WatchEvent")?;
    let raw = protobuf::open_envelope(&fixture.bytes)?.raw;
    same(&protobuf::decode_message(object, raw)?, &fixture.json)?;
    same(
        &protobuf::decode_message(object, &protobuf::encode_message(object, &fixture.json)?)?,
        &fixture.json,
    )
}

fn encodes(fixture: &Fixture) -> Result<(), Failed> {
    let text = |key: &str| fixture.json[key].as_str().unwrap_or_default().to_owned();
    let bytes = protobuf::encode(&text("apiVersion"), &text("kind"), &fixture.json)?;
    same(&protobuf::decode(&bytes)?.value, &fixture.json)?;
    if bytes == fixture.bytes {
        return Ok(());
    }
    let at = bytes
        .iter()
        .zip(&fixture.bytes)
        .take_while(|(ours, theirs)| ours == theirs)
        .count();
    let window = |bytes: &[u8]| {
        bytes[at.saturating_sub(24)..bytes.len().min(at + 24)]
            .escape_ascii()
            .to_string()
    };
    Err(format!(
        "differs at byte {at}:\n ours   {}\n theirs {}",
        window(&bytes),
        window(&fixture.bytes)
    )
    .into())
}

fn same(ours: &Json, theirs: &Json) -> Result<(), Failed> {
    if ours == theirs {
        return Ok(());
    }
    let mut differences = Vec::new();
    differ("", ours, theirs, &mut differences);
    Err(differences.join("\n").into())
}

fn differ(path: &str, ours: &Json, theirs: &Json, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Json::Object(left), Json::Object(right)) => {
            for key in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
                differ(&format!("{path}.{key}"), &ours[key], &theirs[key], out);
            }
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            for (at, (left, right)) in left.iter().zip(right).enumerate() {
                differ(&format!("{path}[{at}]"), left, right, out);
            }
        }
        _ if ours != theirs => out.push(format!("{path}: ours {ours}, theirs {theirs}")),
        _ => {}
    }
}

/// `apiVersion` and `kind` of the envelope, read without the codec under test: they come first, and are short.
fn envelope_type(bytes: &[u8]) -> (String, String) {
    let text = |at: usize| {
        let length = usize::from(bytes[at]);
        (
            String::from_utf8(bytes[at + 1..at + 1 + length].to_vec()).unwrap(),
            at + 1 + length,
        )
    };
    // The magic, the key and length of the type, the key of `apiVersion`.
    let (api_version, end) = text(7);
    let (kind, _) = text(end + 1);
    (api_version, kind)
}
