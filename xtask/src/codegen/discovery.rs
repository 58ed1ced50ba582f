//! Compares the table's resources with upstream's recorded discovery documents, `api/discovery` of
//! github.com/kubernetes/kubernetes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Fails unless the generated table and the documents in a folder have the same resources, described alike.
pub(crate) fn compare(table: &str, folder: &Path) -> Result<()> {
    let ours = from_table(table)?;
    let theirs = from_documents(folder)?;
    if theirs.is_empty() {
        bail!("{} has no resource lists", folder.display());
    }
    let difference = |sign: &str, left: &BTreeSet<String>, right: &BTreeSet<String>| {
        left.difference(right)
            .map(|line| format!("{sign} {line}\n"))
            .collect::<String>()
    };
    let text = difference("-", &theirs, &ours) + &difference("+", &ours, &theirs);
    if text.is_empty() {
        Ok(())
    } else {
        bail!("resources.txt (+) differs from upstream (-):\n{text}")
    }
}

/// One resource or subresource on a line.
struct Line<'a> {
    group_version: &'a str,
    name: String,
    singular: &'a str,
    kind: String,
    scope: &'a str,
    lists: [String; 3],
}

impl Line<'_> {
    fn render(&self) -> String {
        let [verbs, short, categories] = &self.lists;
        let Self {
            group_version,
            name,
            singular,
            kind,
            scope,
            ..
        } = self;
        format!("{group_version} {name} ({singular}) {kind} {scope} [{verbs}] [{short}] [{categories}]")
    }
}

/// The `resource` and `sub` lines of the table.
fn from_table(table: &str) -> Result<BTreeSet<String>> {
    let mut lines = BTreeSet::new();
    let mut owner: Option<(&str, &str, &str)> = None;
    for line in table.lines() {
        let words = line.split(' ').collect::<Vec<_>>();
        match words.as_slice() {
            [
                "resource",
                group_version,
                plural,
                singular,
                kind,
                scope,
                verbs,
                attributes @ ..,
            ] => {
                owner = Some((group_version, plural, scope));
                let list = |key: &str| {
                    attributes
                        .iter()
                        .find_map(|a| a.strip_prefix(key))
                        .unwrap_or_default()
                };
                let lists = [*verbs, list("short="), list("categories=")].map(str::to_owned);
                let kind = format!("{group_version}/{kind}");
                lines.insert(
                    Line {
                        group_version,
                        name: (*plural).to_owned(),
                        singular,
                        kind,
                        scope,
                        lists,
                    }
                    .render(),
                );
            }
            ["sub", name, kind, verbs] => {
                let (group_version, plural, scope) = owner.context("a subresource of no resource")?;
                let lists = [(*verbs).to_owned(), String::new(), String::new()];
                let (name, kind) = (format!("{plural}/{name}"), (*kind).to_owned());
                lines.insert(
                    Line {
                        group_version,
                        name,
                        singular: "",
                        kind,
                        scope,
                        lists,
                    }
                    .render(),
                );
            }
            _ => {}
        }
    }
    Ok(lines)
}

/// The resources of every `APIResourceList` in a folder.
fn from_documents(folder: &Path) -> Result<BTreeSet<String>> {
    let mut lines = BTreeSet::new();
    for file in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = file?.path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let document: Value = serde_json::from_str(&super::read(&path)?)?;
        if document["kind"] == "APIResourceList" {
            for resource in document["resources"].as_array().into_iter().flatten() {
                let line = from_document(&document["groupVersion"], resource);
                lines.insert(line.with_context(|| path.display().to_string())?);
            }
        }
    }
    Ok(lines)
}

fn from_document(group_version: &Value, resource: &Value) -> Result<String> {
    let text = |key: &str| {
        resource[key]
            .as_str()
            .with_context(|| format!("a resource without {key}"))
    };
    let list = |key: &str| {
        let words = resource[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(",")
    };
    let group_version = group_version.as_str().context("no groupVersion")?;
    let group_version = if group_version.contains('/') {
        group_version.to_owned()
    } else {
        format!("/{group_version}")
    };
    // A kind of another group says so.
    let kind = match resource["version"].as_str() {
        Some(version) => format!(
            "{}/{version}/{}",
            resource["group"].as_str().unwrap_or_default(),
            text("kind")?
        ),
        None => format!("{group_version}/{}", text("kind")?),
    };
    let line = Line {
        group_version: &group_version,
        name: text("name")?.to_owned(),
        singular: text("singularName")?,
        kind,
        scope: if resource["namespaced"] == true {
            "namespaced"
        } else {
            "cluster"
        },
        lists: [list("verbs"), list("shortNames"), list("categories")],
    };
    Ok(line.render())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_document_say_the_same_in_the_same_words() {
        let table =
            "resource apps/v1 as a A namespaced get,list short=x off\nsub scale autoscaling/v1/Scale get\n";
        let ours = from_table(table).unwrap();
        let document = serde_json::json!([
            {"name": "as", "singularName": "a", "kind": "A", "namespaced": true, "verbs": ["get", "list"],
                "shortNames": ["x"]},
            {"name": "as/scale", "singularName": "", "group": "autoscaling", "version": "v1", "kind": "Scale",
                "namespaced": true, "verbs": ["get"]},
        ]);
        let theirs = document
            .as_array()
            .unwrap()
            .iter()
            .map(|r| from_document(&"apps/v1".into(), r).unwrap());
        assert_eq!(ours, theirs.collect());
    }
}
