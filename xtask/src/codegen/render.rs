//! Merges the inputs into the text of the kinds table. Its grammar is in `crates/kinds/src/load.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::definitions::{self, History, NEWEST, OLDEST};
use super::messages::{INLINE, MessageField, Messages, referent, split};
use super::resources::{Extra, Group, Resource};

const HEAD: &str = "\
# The built-in kinds of Kubernetes 1.37. Written by `cargo xtask codegen kinds`; do not edit.
# The grammar is described in load.rs.
";

/// How deep inlined messages may nest, by the table's grammar.
const MAX_INLINED: usize = 2;

/// The whole table.
pub(crate) fn table(
    history: &History,
    messages: &Messages,
    groups: &[Group],
    extra: &[Extra],
) -> Result<String> {
    let merger = Merger { history, messages };
    let kinds = kinds(history, extra)?;
    let mut out = HEAD.to_owned();
    for name in merger.type_names(extra)? {
        merger
            .render_type(&name, kinds.get(&name), &mut out)
            .with_context(|| name.clone())?;
    }
    for group in groups {
        render_group(group, history, &kinds, &mut out)?;
    }
    let sum = fnv1a(out.as_bytes());
    let _ = writeln!(out, "# fnv1a {sum:016x}");
    Ok(out)
}

/// The 64-bit FNV-1a sum, which ends the text so that an edit by hand shows.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// By type: its kind and the group/versions it travels under.
type Kinds = BTreeMap<String, (String, BTreeSet<String>)>;

fn kinds(history: &History, extra: &[Extra]) -> Result<Kinds> {
    let mut kinds = Kinds::new();
    for (name, definition) in history.newest() {
        for gvk in definition["x-kubernetes-group-version-kind"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let part = |key: &str| {
                gvk[key]
                    .as_str()
                    .with_context(|| format!("{name} has a kind without {key}"))
            };
            let entry = kinds
                .entry(name.clone())
                .or_insert_with(|| (String::new(), BTreeSet::new()));
            part("kind")?.clone_into(&mut entry.0);
            entry.1.insert(format!("{}/{}", part("group")?, part("version")?));
        }
    }
    for extra in extra {
        let kind = split(&extra.name).1.to_owned();
        kinds.insert(
            extra.name.clone(),
            (kind, extra.group_versions.iter().cloned().collect()),
        );
    }
    Ok(kinds)
}

/// A field with its place on the wire.
struct Placed<'a> {
    /// The tag, after those of the inlined messages around it.
    path: String,
    field: &'a MessageField,
    /// The shape as seen from the owner of the field.
    shape: String,
}

struct Merger<'a> {
    history: &'a History,
    messages: &'a Messages,
}

impl Merger<'_> {
    /// All definitions, the extra kinds, and what those refer to.
    fn type_names(&self, extra: &[Extra]) -> Result<BTreeSet<String>> {
        let mut names: BTreeSet<String> = self.history.newest().keys().cloned().collect();
        let mut open: Vec<String> = extra.iter().map(|e| e.name.clone()).collect();
        while let Some(name) = open.pop() {
            if !names.insert(name.clone()) {
                continue;
            }
            let package = split(&name).0;
            let fields = self
                .messages
                .get(&name)
                .with_context(|| format!("no message {name}"))?;
            open.extend(fields.iter().filter_map(|f| referent(package, &f.shape)));
        }
        Ok(names)
    }

    fn render_type(
        &self,
        name: &str,
        kind: Option<&(String, BTreeSet<String>)>,
        out: &mut String,
    ) -> Result<()> {
        let definition = self.history.newest().get(name);
        let _ = write!(out, "type {name}");
        if let Some(word) = definitions::special(name) {
            let _ = write!(out, " special={word}");
        }
        if definition.is_some_and(|d| d["x-kubernetes-map-type"] == "atomic") {
            out.push_str(" map=atomic");
        }
        let since = if definition.is_some() {
            self.history.type_since(name)
        } else {
            OLDEST
        };
        if since > OLDEST {
            let _ = write!(out, " since={since}");
        }
        out.push('\n');
        if let Some((kind, group_versions)) = kind {
            let _ = write!(out, "kind {kind}");
            for group_version in group_versions {
                let _ = write!(out, " {group_version}");
            }
            out.push('\n');
        }
        if definitions::special(name).is_none() {
            self.render_fields(name, definition, kind.is_some(), since, out)?;
        }
        Ok(())
    }

    fn render_fields(
        &self,
        name: &str,
        definition: Option<&Value>,
        is_kind: bool,
        type_since: u8,
        out: &mut String,
    ) -> Result<()> {
        let mut placed = self.placed(name)?;
        let no_schema = Value::Null;
        let properties = definition.map_or(&no_schema, |d| &d["properties"]);
        for (property, schema) in properties.as_object().into_iter().flatten() {
            let place = placed.remove(property);
            let declared = definitions::shape(split(name).0, schema)?;
            let field = FieldLine {
                name: property,
                place: place.as_ref(),
                declared: Some(&declared),
                schema,
                required: strings(definition.map_or(&no_schema, |d| &d["required"])).any(|r| r == property),
                is_items: property == "items" && name.ends_with("List") && is_kind,
                since: Some(self.history.field_since(name, property)).filter(|s| *s > type_since),
            };
            field.render(out).with_context(|| property.clone())?;
        }
        if definition.is_some_and(|d| !d["properties"].is_null()) && !placed.is_empty() {
            bail!("fields that the definition lacks: {:?}", placed.keys());
        }
        for (property, place) in &placed {
            let field = FieldLine {
                name: property,
                place: Some(place),
                declared: None,
                schema: &no_schema,
                required: place.field.required,
                is_items: *property == "items" && name.ends_with("List") && is_kind,
                since: None,
            };
            field.render(out).with_context(|| property.clone())?;
        }
        Ok(())
    }

    /// The fields of a message by JSON name, inlined ones included. Empty for the few types that protobuf lacks.
    fn placed(&self, name: &str) -> Result<BTreeMap<String, Placed<'_>>> {
        let mut placed = BTreeMap::new();
        if self.messages.contains_key(name) {
            self.place(split(name).0, name, &mut Vec::new(), &mut placed)?;
        }
        Ok(placed)
    }

    /// Adds the fields of a message that is `path` inlined messages deep.
    fn place<'a>(
        &'a self,
        owner_package: &str,
        name: &str,
        path: &mut Vec<u32>,
        placed: &mut BTreeMap<String, Placed<'a>>,
    ) -> Result<()> {
        if path.len() > MAX_INLINED {
            bail!("{name} is inlined deeper than the table can say");
        }
        let package = split(name).0;
        for field in self
            .messages
            .get(name)
            .with_context(|| format!("no message {name}"))?
        {
            path.push(field.tag);
            if field.name == INLINE {
                let inner = referent(package, &field.shape).context("an inlined value that is no message")?;
                self.place(owner_package, &inner, path, placed)?;
            } else {
                let path = path.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
                let shape = rebase(package, owner_package, &field.shape);
                placed.insert(field.name.clone(), Placed { path, field, shape });
            }
            path.pop();
        }
        Ok(())
    }
}

/// The same shape, seen from another package.
fn rebase(from: &str, to: &str, shape: &str) -> String {
    let Some(name) = referent(from, shape) else {
        return shape.to_owned();
    };
    let marks = &shape[..shape.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0)];
    format!("{marks}{}", super::messages::shorten(to, &name))
}

/// Everything that a line of a field says.
struct FieldLine<'a> {
    name: &'a str,
    place: Option<&'a Placed<'a>>,
    /// The shape that the schema declares.
    declared: Option<&'a str>,
    schema: &'a Value,
    required: bool,
    is_items: bool,
    since: Option<u8>,
}

impl FieldLine<'_> {
    fn render(&self, out: &mut String) -> Result<()> {
        let tag = self.place.map_or("0", |place| &place.path);
        let _ = write!(out, " {} {tag} {}", self.name, self.shape()?);
        if self.required {
            out.push_str(" required");
        }
        if self.place.is_some_and(|p| p.field.list_message) {
            out.push_str(" message");
        }
        if let Some(since) = self.since {
            let _ = write!(out, " since={since}");
        }
        self.render_merging(out)?;
        if let Some(default) = self.place.and_then(|p| p.field.default.as_deref()) {
            serde_json::from_str::<Value>(default).with_context(|| format!("default {default}"))?;
            let _ = write!(out, " default={default}");
        }
        self.render_enum(out)?;
        out.push('\n');
        Ok(())
    }

    fn shape(&self) -> Result<String> {
        let Some(place) = self.place else {
            return Ok(self.declared.context("no shape")?.to_owned());
        };
        let bare = place.shape.trim_start_matches(['*', '+']);
        if self.declared.is_some_and(|declared| declared != bare) {
            bail!("the schema says {:?}, the Go type {bare:?}", self.declared);
        }
        Ok(if self.is_items {
            format!("+{bare}")
        } else {
            place.shape.clone()
        })
    }

    fn render_merging(&self, out: &mut String) -> Result<()> {
        let keys = strings(&self.schema["x-kubernetes-list-map-keys"]).collect::<Vec<_>>();
        match (self.schema["x-kubernetes-list-type"].as_str(), keys.as_slice()) {
            (Some("map"), [_, ..]) => drop(write!(out, " list=map:{}", keys.join(","))),
            (Some(word @ ("atomic" | "set")), []) => drop(write!(out, " list={word}")),
            (None, []) => {}
            other => bail!("unknown list type {other:?}"),
        }
        if let Some(word) = self.schema["x-kubernetes-map-type"].as_str() {
            let _ = write!(out, " map={word}");
        }
        let key = self.schema["x-kubernetes-patch-merge-key"].as_str();
        match (self.schema["x-kubernetes-patch-strategy"].as_str(), key) {
            (Some(strategy), Some(key)) => drop(write!(out, " patch={strategy}:{key}")),
            (Some(strategy), None) => drop(write!(out, " patch={strategy}")),
            (None, None) => {}
            (None, Some(key)) => bail!("a merge key {key} without a strategy"),
        }
        Ok(())
    }

    /// The values of a string, or of a list's items. Upstream's schemas leave them out, its Go types mark them.
    fn render_enum(&self, out: &mut String) -> Result<()> {
        let values = self.place.map_or(&[][..], |place| &place.field.enum_values);
        if values.iter().any(|v| v.contains([',', '\n'])) {
            bail!("an enum value that the table cannot hold: {values:?}");
        }
        if !values.is_empty() {
            let _ = write!(out, " enum={}", values.join(","));
        }
        Ok(())
    }
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn render_group(group: &Group, history: &History, kinds: &Kinds, out: &mut String) -> Result<()> {
    // The type of a kind in one version of the group, if that version has it.
    let type_of = |version: &str, kind: &str| {
        let group_version = format!("{}/{version}", group.name);
        kinds
            .iter()
            .find(|(_, (k, all))| k == kind && all.contains(&group_version))
            .map(|(name, _)| name.as_str())
    };
    for version in &group.versions {
        for resource in &group.resources {
            if type_of(version, &resource.kind).is_none() {
                continue;
            }
            let served_in = group
                .versions
                .iter()
                .filter_map(|v| Some((v, type_of(v, &resource.kind)?)));
            let storage = storage_version(resource, version, history, served_in)?;
            render_resource(group, version, resource, &storage, out);
        }
    }
    Ok(())
}

/// Upstream stores an object in the first version, by priority, that the previous minor version could read.
fn storage_version<'a>(
    resource: &Resource,
    own: &str,
    history: &History,
    served_in: impl Iterator<Item = (&'a String, &'a str)>,
) -> Result<String> {
    if let Some(version) = &resource.storage {
        return Ok(version.clone());
    }
    if !resource.verbs.contains("get") {
        return Ok(own.to_owned());
    }
    let all = served_in.collect::<Vec<_>>();
    let known_before = all.iter().find(|(_, name)| history.type_since(name) < NEWEST);
    let (version, _) = known_before
        .or_else(|| all.first())
        .context("a resource without a version")?;
    Ok((*version).clone())
}

fn render_resource(group: &Group, version: &str, resource: &Resource, storage: &str, out: &mut String) {
    let Resource {
        plural,
        singular,
        kind,
        scope,
        verbs,
        ..
    } = resource;
    let _ = write!(
        out,
        "resource {}/{version} {plural} {singular} {kind} {scope} {verbs}",
        group.name
    );
    if let Some(short) = &resource.short {
        let _ = write!(out, " short={short}");
    }
    if let Some(categories) = &resource.categories {
        let _ = write!(out, " categories={categories}");
    }
    if storage != version {
        let _ = write!(out, " storage={storage}");
    }
    if version.contains("alpha") || version.contains("beta") {
        out.push_str(" off");
    }
    out.push('\n');
    for subresource in &resource.subresources {
        let own = format!("{}/{version}/{kind}", group.name);
        let kind = subresource.kind.as_ref().unwrap_or(&own);
        let _ = writeln!(out, "sub {} {kind} {}", subresource.name, subresource.verbs);
    }
}
