//! Writes the crate `apply` from the table of kinds: a file for each version of a group, and the crate's features.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use kubewright_kinds::{Field, ListType, MapType, Scope, Type, Value, table};

use super::{read, workspace_root};

const HEAD: &str = "// Written by `cargo xtask codegen apply`; do not edit.\n";

/// Where the generated modules are, in the crate.
const GROUPS: &str = "crates/apply/src/groups";

/// Its test's list of the kinds.
const TEST: &str = "crates/apply/tests/round_trip/kinds.rs";

/// Whose features stand in the manifest between these lines.
const MANIFEST: &str = "crates/apply/Cargo.toml";
const FEATURES_BEGIN: &str = "# Groups, written by `cargo xtask codegen apply`.\n";
const FEATURES_END: &str = "\n[dependencies]\n";

/// The first minor version that `k8s-openapi` knows: what is older needs no condition.
const OLDEST_OPENAPI: u8 = 33;

/// Fields of every object's metadata that no applier may send.
const NEVER_APPLIED: &[(&str, &str)] = &[("ObjectMeta", "managedFields"), ("ObjectMeta", "selfLink")];

/// The module that is there whatever the features.
const META: &str = "meta";

/// Every file, by its path from the root of the workspace.
pub(crate) fn files() -> Result<BTreeMap<PathBuf, String>> {
    let kinds = kinds();
    let modules = modules(&kinds)?;
    let stable = needed_by_stable(&modules)?;
    let mut files = BTreeMap::new();
    let folder = Path::new(GROUPS);
    let mut groups = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (module, types) in &modules {
        groups.entry(module.group).or_default().insert(module.version);
        let text = render_module(*module, types, &kinds)?;
        files.insert(
            folder
                .join(module.group)
                .join(module.version)
                .with_extension("rs"),
            text,
        );
    }
    for (group, versions) in &groups {
        let is_needed = |version: &str| stable.iter().any(|m| m.group == *group && m.version == version);
        files.insert(
            folder.join(group).join("mod.rs"),
            render_group(group, versions, is_needed),
        );
    }
    files.insert(folder.join("mod.rs"), render_groups(groups.keys().copied()));
    files.insert(MANIFEST.into(), manifest(&features(&modules)?)?);
    files.insert(TEST.into(), render_test(&kinds, &stable)?);
    Ok(files)
}

/// What is wrong with the files as they are checked in.
pub(crate) fn faults() -> Result<Vec<String>> {
    let root = workspace_root();
    let files = files()?;
    let mut faults = Vec::new();
    for (path, text) in &files {
        if fs::read_to_string(root.join(path)).unwrap_or_default() != *text {
            faults.push(format!(
                "{} is not what `cargo xtask codegen apply` writes",
                path.display()
            ));
        }
    }
    for folder in fs::read_dir(root.join(GROUPS))? {
        let folder = folder?.path();
        for file in fs::read_dir(&folder).into_iter().flatten() {
            let path = file?.path();
            let path = path.strip_prefix(&root).unwrap_or(&path);
            if !files.contains_key(path) {
                faults.push(format!(
                    "{} is no file of `cargo xtask codegen apply`",
                    path.display()
                ));
            }
        }
    }
    Ok(faults)
}

/// The kinds that can be applied, by the name of their type: those of resources and subresources that take patches.
fn kinds() -> BTreeMap<&'static str, Kind> {
    let mut kinds = BTreeMap::new();
    for resource in table().resources() {
        let own = (resource.group, resource.version, resource.kind, resource.verbs);
        let subresources = resource
            .subresources
            .iter()
            .map(|sub| (sub.group, sub.version, sub.kind, sub.verbs));
        for (group, version, kind, verbs) in std::iter::once(own).chain(subresources) {
            let Some(object) = table().kind(group, version, kind) else {
                continue;
            };
            // Requests through a proxy have verbs too, and options for a kind.
            if verbs.contains(&"patch") && object.field("metadata").is_some() {
                kinds.entry(object.name).or_insert_with(|| Kind {
                    kind,
                    api_version: [group, version].join("/").trim_start_matches('/').to_owned(),
                    scope: resource.scope,
                });
            }
        }
    }
    kinds
}

/// What a type travels as.
struct Kind {
    kind: &'static str,
    api_version: String,
    scope: Scope,
}

/// One version of a group, by the names of Rust modules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Module {
    group: &'static str,
    version: &'static str,
}

impl Module {
    /// Of a type named as `io.k8s.api.apps.v1.Deployment`.
    fn of(object: &'static Type) -> Result<Self> {
        let mut words = object.name.rsplit('.').skip(1);
        let (version, group) = (words.next(), words.next());
        let of = || format!("{} is in no group", object.name);
        Ok(Self {
            group: group.with_context(of)?,
            version: version.with_context(of)?,
        })
    }

    /// Whether the version is neither alpha nor beta.
    fn is_stable(self) -> bool {
        !self.version.contains("alpha") && !self.version.contains("beta")
    }
}

/// The name of a type within its module.
fn short(object: &'static Type) -> &'static str {
    object.name.rsplit('.').next().unwrap_or(object.name)
}

/// Types by module and name.
type Modules = BTreeMap<Module, BTreeMap<&'static str, &'static Type>>;

/// All types that the kinds reach, by module and name.
fn modules(kinds: &BTreeMap<&'static str, Kind>) -> Result<Modules> {
    let mut modules = Modules::new();
    let mut open: Vec<&Type> = kinds.keys().filter_map(|name| table().type_named(name)).collect();
    while let Some(object) = open.pop() {
        let types = modules.entry(Module::of(object)?).or_default();
        if types.insert(short(object), object).is_none() {
            open.extend(fields(object).filter_map(|field| referent(&field.value)));
        }
    }
    Ok(modules)
}

/// The fields that appliers may set.
fn fields(object: &'static Type) -> impl Iterator<Item = &'static Field> {
    let is_never = move |field: &Field| NEVER_APPLIED.contains(&(short(object), field.name));
    object.fields().iter().filter(move |field| !is_never(field))
}

/// The type that a value is made of, if it is one of those written here.
fn referent(value: &Value) -> Option<&'static Type> {
    match value {
        Value::Object(id) if shared(short(id.get())).is_none() => Some(id.get()),
        Value::Array(item) => referent(item),
        Value::Map(entry) => referent(entry),
        _ => None,
    }
}

/// The path of a type that is shared with `k8s-openapi`: values with forms of their own, and schemas, in which every field is
/// optional already and which contain themselves.
fn shared(name: &str) -> Option<&'static str> {
    let path = match name {
        "ByteString" => "k8s_openapi::ByteString",
        "IntOrString" => "k8s_openapi::apimachinery::pkg::util::intstr::IntOrString",
        "JSONSchemaProps" => {
            "k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps"
        }
        "MicroTime" => "k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime",
        "Quantity" => "k8s_openapi::apimachinery::pkg::api::resource::Quantity",
        "Time" => "k8s_openapi::apimachinery::pkg::apis::meta::v1::Time",
        "Value" => "serde_json::Value",
        _ => return None,
    };
    Some(path)
}

/// One version of a group.
fn render_module(
    module: Module,
    types: &BTreeMap<&'static str, &'static Type>,
    kinds: &BTreeMap<&'static str, Kind>,
) -> Result<String> {
    let mut imports = BTreeSet::new();
    let mut body = String::new();
    for (name, object) in types {
        render_type(module, object, kinds.get(object.name), &mut imports, &mut body)
            .with_context(|| (*name).to_owned())?;
    }
    let mut out = format!(
        "{HEAD}\n//! Version `{}` of the group `{}`: one module for each version, as in `k8s-openapi`, however long that is.\n\n",
        module.version, module.group
    );
    for import in &imports {
        let _ = writeln!(out, "use {import};");
    }
    if !imports.is_empty() {
        out.push('\n');
    }
    out.push_str(body.trim_end());
    out.push('\n');
    Ok(out)
}

fn render_type(
    module: Module,
    object: &'static Type,
    kind: Option<&Kind>,
    imports: &mut BTreeSet<String>,
    out: &mut String,
) -> Result<()> {
    let name = short(object);
    let travels = kind.map_or_else(String::new, |kind| {
        format!(" as {:?} {:?}", kind.api_version, kind.kind)
    });
    let about = match kind {
        Some(kind) => format!(
            "What an applier sets of a `{}` of `{}`.",
            kind.kind, kind.api_version
        ),
        None => format!("`{name}`, as far as an applier sets it."),
    };
    let whole = match object.map_type {
        MapType::Atomic => " It has one owner as a whole.",
        MapType::Granular => "",
    };
    let _ = writeln!(
        out,
        "object! {{\n    /// {about}{whole}{}\n    {name}{travels} {{",
        since(object.since)
    );
    for field in fields(object) {
        if kind.is_some() && ["apiVersion", "kind"].contains(&field.name) {
            continue;
        }
        if let Some(note) = note(object, field) {
            let _ = writeln!(out, "        /// {note}");
        }
        let (ident, plain) = (ident(field.name), snake(field.name));
        let rust = rust_type(module, &field.value, imports)?;
        let _ = writeln!(out, "        {ident} with_{plain} {:?} {rust},", field.name);
    }
    out.push_str("    }\n}\n");
    if let Some(kind) = kind {
        let scope = match kind.scope {
            Scope::Namespaced => "namespaced",
            Scope::Cluster => "cluster",
        };
        let _ = writeln!(out, "kind!({name} {scope});");
        let applies = format!("applies! {{ {name}: {} }}", openapi_path(object)?);
        let _ = match object.since {
            minor if minor > OLDEST_OPENAPI => {
                writeln!(out, "k8s_openapi::k8s_if_ge_1_{minor}! {{ {applies} }}")
            }
            _ => writeln!(out, "{applies}"),
        };
    }
    out.push('\n');
    Ok(())
}

/// Where `k8s-openapi` has a type.
fn openapi_path(object: &'static Type) -> Result<String> {
    let path = object.name.strip_prefix("io.k8s.");
    let path = path.with_context(|| format!("{} is no type of upstream", object.name))?;
    Ok(format!(
        "k8s_openapi::{}",
        path.replace('-', "_").replace('.', "::")
    ))
}

/// What an applier should know of a field.
fn note(object: &Type, field: &Field) -> Option<String> {
    let mut note = String::new();
    if matches!(field.value, Value::Array(_)) {
        // What strategic merge patch knows stands in for what is not declared, as it does on servers.
        let keys = match (field.list_type, field.merge_key) {
            (Some(ListType::Map), _) => Some(field.map_keys.to_vec()),
            (Some(ListType::Set), _) => Some(Vec::new()),
            (None, key) if field.patch_strategy.merge => Some(key.into_iter().collect()),
            (Some(ListType::Atomic) | None, _) => None,
        };
        match keys.map(|keys| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>()) {
            Some(keys) if keys.is_empty() => note.push_str(" Items are owned one by one."),
            Some(keys) => {
                let _ = write!(note, " Items are owned one by one, by {}.", keys.join(" and "));
            }
            None => note.push_str(" It has one owner as a whole."),
        }
    } else if field.map_type == MapType::Atomic && referent(&field.value).is_none() {
        note.push_str(" It has one owner as a whole.");
    }
    if !field.enum_values.is_empty() {
        let values: Vec<String> = field
            .enum_values
            .iter()
            .map(|value| format!("`{value}`"))
            .collect();
        let _ = write!(note, " One of {}.", values.join(", "));
    }
    if field.since > object.since {
        note.push_str(&since(field.since));
    }
    (!note.is_empty()).then(|| note.trim_start().to_owned())
}

/// Since when there is something that not every server has.
fn since(minor: u8) -> String {
    if minor > OLDEST_OPENAPI {
        format!(" Since 1.{minor}.")
    } else {
        String::new()
    }
}

/// The type of a value as the macros read it; what it needs from elsewhere is added to the imports.
fn rust_type(module: Module, value: &Value, imports: &mut BTreeSet<String>) -> Result<String> {
    let name = match value {
        Value::String => "String",
        Value::Boolean => "bool",
        Value::Int32 => "i32",
        Value::Int64 => "i64",
        Value::Double => "f64",
        Value::Bytes => "ByteString",
        Value::Time => "Time",
        Value::MicroTime => "MicroTime",
        Value::Quantity => "Quantity",
        Value::IntOrString => "IntOrString",
        Value::RawExtension | Value::Json => "Value",
        Value::Array(item) => return Ok(format!("[{}]", rust_type(module, item, imports)?)),
        Value::Map(entry) => return Ok(format!("{{{}}}", rust_type(module, entry, imports)?)),
        Value::Object(id) => {
            let object = id.get();
            let (home, name) = (Module::of(object)?, short(object));
            if home != module && shared(name).is_none() {
                // Two versions of one name in one module would need names of their own; none does so far.
                let path = format!("crate::{}::{}::{name}", home.group, home.version);
                let suffix = format!("::{name}");
                ensure!(
                    !imports
                        .iter()
                        .any(|other| other.ends_with(&suffix) && *other != path),
                    "two types named {name}"
                );
                imports.insert(path);
            }
            name
        }
        other => bail!("no type for {other:?}"),
    };
    if let Some(path) = shared(name) {
        imports.insert(path.to_owned());
    }
    Ok(name.to_owned())
}

/// A name of JSON as Rust writes it: `clusterIPs` is `cluster_ips`.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let rest = &letters[at + 1..];
        let is_version = *letter == 'V' && rest.first().is_some_and(char::is_ascii_digit);
        let begins_word = is_version
            || before.is_some_and(|before| !before.is_uppercase())
            || rest.first().is_some_and(|next| next.is_lowercase()) && rest != ['s'];
        if letter.is_uppercase() && at > 0 && begins_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// The name of a field, which must not be a keyword.
fn ident(name: &str) -> String {
    match snake(name).as_str() {
        word @ ("as" | "continue" | "enum" | "ref" | "type") => format!("{word}_"),
        word => word.to_owned(),
    }
}

fn render_group(group: &str, versions: &BTreeSet<&str>, is_needed: impl Fn(&str) -> bool) -> String {
    let mut out = format!("{HEAD}\n//! The group `{group}`.\n\n");
    for version in versions {
        if !is_needed(version) {
            out.push_str("#[cfg(feature = \"prerelease\")]\n");
        }
        let _ = writeln!(out, "pub mod {version};");
    }
    out
}

fn render_groups<'a>(groups: impl Iterator<Item = &'a str>) -> String {
    let mut out = format!("{HEAD}\n//! A module for each group.\n\n");
    for group in groups {
        if group != META {
            let _ = writeln!(out, "#[cfg(feature = {group:?})]");
        }
        let _ = writeln!(out, "pub mod {group};");
    }
    out
}

/// The stable versions and those whose types they use: fields of stable types may be of alpha ones.
fn needed_by_stable(modules: &Modules) -> Result<BTreeSet<Module>> {
    let mut needed = BTreeSet::new();
    let mut open: Vec<Module> = modules.keys().copied().filter(|m| m.is_stable()).collect();
    while let Some(module) = open.pop() {
        if needed.insert(module) {
            open.extend(used_by(&modules[&module])?);
        }
    }
    Ok(needed)
}

/// The modules whose types are used by these.
fn used_by(types: &BTreeMap<&'static str, &'static Type>) -> Result<BTreeSet<Module>> {
    let fields = types.values().flat_map(|object| fields(object));
    fields
        .filter_map(|field| referent(&field.value))
        .map(Module::of)
        .collect()
}

/// What reads an object as the type of its kind, for the crate's test.
fn render_test(kinds: &BTreeMap<&'static str, Kind>, stable: &BTreeSet<Module>) -> Result<String> {
    let mut out = format!(
        "{HEAD}\n//! The type of each kind.\n\nuse serde_json::Value;\n\nuse super::{{Written, written}};\n\n\
         /// The object as its type writes it again; `None` if its group is not compiled in.\n\
         pub(super) fn round_trip(api_version: &str, kind: &str, object: &Value) -> Option<Written> {{\n    \
         let write: fn(&Value) -> Written = match (api_version, kind) {{\n"
    );
    for (name, kind) in kinds {
        let object = table().type_named(name).context("kinds are of the table")?;
        let module = Module::of(object)?;
        let feature = format!("feature = {:?}", module.group);
        let condition = match stable.contains(&module) {
            true => feature,
            false => format!("all({feature}, feature = \"prerelease\")"),
        };
        let (group, version) = (module.group, module.version);
        let _ = writeln!(
            out,
            "        #[cfg({condition})]\n        ({:?}, {:?}) => written::<kubewright_apply::{group}::{version}::{}>,",
            kind.api_version,
            kind.kind,
            short(object)
        );
    }
    out.push_str("        _ => return None,\n    };\n    Some(write(object))\n}\n");
    Ok(out)
}

/// By group, the other groups whose types it uses.
fn features(modules: &Modules) -> Result<BTreeMap<&'static str, BTreeSet<&'static str>>> {
    let mut features = BTreeMap::<_, BTreeSet<_>>::new();
    for (module, types) in modules {
        let used = features.entry(module.group).or_default();
        let others = used_by(types)?.into_iter().map(|other| other.group);
        used.extend(others.filter(|group| *group != module.group && *group != META));
    }
    features.remove(META);
    Ok(features)
}

/// The manifest with these features.
fn manifest(features: &BTreeMap<&'static str, BTreeSet<&'static str>>) -> Result<String> {
    let text = read(&workspace_root().join(MANIFEST))?;
    let parts = text
        .split_once(FEATURES_BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(FEATURES_END)?.1)));
    let (before, after) = parts.with_context(|| format!("{MANIFEST} has no place for features"))?;
    let mut written = format!("all = [\"prerelease\", {}]\n", quoted(features.keys()));
    for (group, used) in features {
        let _ = writeln!(written, "{group} = [{}]", quoted(used));
    }
    Ok(format!("{before}{FEATURES_BEGIN}{written}{FEATURES_END}{after}"))
}

fn quoted<'a>(names: impl IntoIterator<Item = &'a &'static str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::snake;

    #[test]
    fn names_are_those_of_rust() {
        for (json, rust) in [
            ("name", "name"),
            ("minReadySeconds", "min_ready_seconds"),
            ("clusterIP", "cluster_ip"),
            ("clusterIPs", "cluster_ips"),
            ("podCIDRs", "pod_cidrs"),
            ("targetWWNs", "target_wwns"),
            ("nonResourceURLs", "non_resource_urls"),
            ("scaleIO", "scale_io"),
            ("hostIPC", "host_ipc"),
            ("isCA", "is_ca"),
            ("tcpSocket", "tcp_socket"),
            ("x509Name", "x509_name"),
            ("FSGroup", "fs_group"),
            ("openAPIV3Schema", "open_api_v3_schema"),
        ] {
            assert_eq!(snake(json), rust);
        }
    }
}
