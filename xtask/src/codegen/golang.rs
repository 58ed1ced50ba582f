//! Reads the struct types of upstream's Go modules, as far as they say how objects are encoded.
//!
//! This is no Go parser: upstream's API types are formatted by gofmt and keep to one field per line, each with its
//! `json` and `protobuf` tags. Whatever does not fit is an error, so that a change of habit upstream is noticed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::definitions::NEWEST;
use super::messages::{INLINE, MessageField, Messages, shorten, split};

/// Reads all packages of the four modules with API types, below a folder such as Go's module cache for `k8s.io`.
pub(crate) fn read(upstream: &Path) -> Result<Messages> {
    let mut source = Source::default();
    for module in [
        "api",
        "apimachinery",
        "apiextensions-apiserver",
        "kube-aggregator",
    ] {
        let root = upstream.join(format!("{module}@v0.{NEWEST}.0"));
        for folder in package_folders(module, &root)? {
            source.read_package(&format!("k8s.io/{module}"), &root, &folder)?;
        }
    }
    source.messages()
}

/// The folders of a module that hold API types.
fn package_folders(module: &str, root: &Path) -> Result<Vec<PathBuf>> {
    let fixed: &[&str] = match module {
        "apimachinery" => &["pkg/apis/meta/v1", "pkg/apis/meta/v1beta1"],
        "apiextensions-apiserver" => &["pkg/apis/apiextensions/v1"],
        "kube-aggregator" => &["pkg/apis/apiregistration/v1"],
        _ => &[],
    };
    if !fixed.is_empty() {
        return Ok(fixed.iter().map(|folder| root.join(folder)).collect());
    }
    let mut folders = Vec::new();
    for group in fs::read_dir(root).with_context(|| format!("cannot read {}", root.display()))? {
        let group = group?.path();
        if !group.is_dir() {
            continue;
        }
        for version in fs::read_dir(group)? {
            let version = version?.path();
            if version.join("types.go").is_file() {
                folders.push(version);
            }
        }
    }
    folders.sort();
    Ok(folders)
}

/// A line of a struct.
#[derive(Debug)]
struct GoField {
    /// The Go type as written, with package names resolved.
    go_type: String,
    json_name: String,
    omit_empty: bool,
    omit_zero: bool,
    /// A `+optional` marker.
    optional: bool,
    tag: u32,
    default: Option<String>,
}

#[derive(Default)]
struct Source {
    structs: BTreeMap<String, Vec<GoField>>,
    /// Named types that are no structs: what they stand for.
    named: HashMap<String, String>,
    /// String constants, for defaults that refer to one.
    constants: HashMap<String, String>,
    /// Types with a `+enum` marker.
    enums: BTreeSet<String>,
    /// The values of string constants by their type.
    values: HashMap<String, BTreeSet<String>>,
}

impl Source {
    fn read_package(&mut self, module: &str, root: &Path, folder: &Path) -> Result<()> {
        let relative = folder.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let package = definition_package(&format!("{module}/{relative}"));
        let mut files = fs::read_dir(folder)?
            .map(|f| Ok(f?.path()))
            .collect::<Result<Vec<_>>>()?;
        files.sort();
        for file in files {
            let name = file
                .file_name()
                .map(|n| n.to_string_lossy().into_owned())
                .unwrap_or_default();
            let types = name.starts_with("types") || name == "group_version.go" || name == "watch.go";
            if types && name.ends_with(".go") && !name.contains("generated") && !name.ends_with("_test.go") {
                let text = fs::read_to_string(&file)?;
                self.read_file(&package, &text)
                    .with_context(|| file.display().to_string())?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, package: &str, text: &str) -> Result<()> {
        let imports = imports(text);
        let mut current: Option<(String, Vec<GoField>)> = None;
        let mut comments: Vec<&str> = Vec::new();
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(comment) = trimmed.strip_prefix("//") {
                comments.push(comment.trim());
                continue;
            }
            if let Some((_, fields)) = &mut current {
                if line == "}" {
                    let (name, fields) = current.take().context("a struct that was never opened")?;
                    self.structs.insert(name, fields);
                } else if trimmed.contains("json:\"") {
                    fields.extend(
                        field(package, &imports, trimmed, &comments).with_context(|| line.to_owned())?,
                    );
                }
            } else if let Some(declaration) = line.strip_prefix("type ") {
                let (name, rest) = declaration.split_once(' ').context("a type without a body")?;
                let name = format!("{package}.{name}");
                match rest.trim_end_matches(" {") {
                    "struct" => current = Some((name, Vec::new())),
                    "struct{}" => drop(self.structs.insert(name, Vec::new())),
                    other if other.starts_with("interface") => {}
                    other => {
                        if comments.contains(&"+enum") {
                            self.enums.insert(name.clone());
                        }
                        let target = qualify(package, &imports, other.trim_start_matches("= "))?;
                        self.named.insert(name, target);
                    }
                }
            } else {
                self.constant(package, trimmed);
            }
            if !trimmed.is_empty() {
                comments.clear();
            }
        }
        Ok(())
    }

    /// `Name Type = "value"`, as constants are declared.
    fn constant(&mut self, package: &str, line: &str) {
        let Some((left, value)) = line.trim_start_matches("const ").split_once(" = \"") else {
            return;
        };
        let mut words = left.split_whitespace();
        let (Some(name), Some(value)) = (words.next(), value.split('"').next()) else {
            return;
        };
        if let Some(go_type) = words.next() {
            self.values
                .entry(format!("{package}.{go_type}"))
                .or_default()
                .insert(value.to_owned());
        }
        self.constants
            .insert(format!("{package}.{name}"), format!("\"{value}\""));
    }

    fn messages(&self) -> Result<Messages> {
        let mut messages = Messages::new();
        // An alias of a struct in another package is a definition of its own.
        let aliases = self
            .named
            .iter()
            .filter_map(|(name, target)| Some((name, self.structs.get(target)?)));
        for (name, fields) in self.structs.iter().chain(aliases) {
            if special(name).is_some() {
                continue;
            }
            let mut out = Vec::new();
            for field in fields {
                self.message_field(name, field, &mut out)
                    .with_context(|| format!("{name}: {}", field.json_name))?;
            }
            messages.insert(name.clone(), out);
        }
        Ok(messages)
    }

    fn message_field(&self, owner: &str, field: &GoField, out: &mut Vec<MessageField>) -> Result<()> {
        let (package, _) = split(owner);
        if field.json_name.is_empty() && field.tag == 0 {
            // An embedded struct that protobuf does not know of, such as TypeMeta: its fields are the owner's.
            let embedded = self
                .structs
                .get(&field.go_type)
                .context("embeds an unknown struct")?;
            for inner in embedded {
                let shape = self.shape(package, inner)?.0;
                let bare = MessageField {
                    tag: 0,
                    ..message(inner.json_name.clone(), inner, shape)
                };
                out.push(MessageField {
                    required: false,
                    ..bare
                });
            }
            return Ok(());
        }
        let (shape, list_message) = self.shape(package, field)?;
        let name = if field.json_name.is_empty() {
            INLINE.to_owned()
        } else {
            field.json_name.clone()
        };
        let mut message = message(name, field, shape);
        message.list_message = list_message;
        message.enum_values = self.enum_of(&field.go_type);
        message.required &= !field.json_name.is_empty();
        if let Some(reference) = message.default.as_deref().and_then(|d| d.strip_prefix("ref(")) {
            let constant = format!("{package}.{}", reference.trim_end_matches(')'));
            message.default = Some(
                self.constants
                    .get(&constant)
                    .context("an unknown default")?
                    .clone(),
            );
        }
        out.push(message);
        Ok(())
    }

    /// A field's shape, and whether it is a list with a message of its own.
    fn shape(&self, package: &str, field: &GoField) -> Result<(String, bool)> {
        let (pointer, plain) = match field.go_type.strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, field.go_type.as_str()),
        };
        let list_message = self.is_list_message(plain);
        let value = self.value(package, plain)?;
        let zero_written = match value.as_str() {
            "string" | "bool" | "int32" | "int64" | "double" => !field.omit_empty,
            // Structs to Go, which `omitempty` does not leave out: `null` for a time and for embedded JSON.
            "quantity" | "intorstring" | "time" | "microtime" | "raw" => !field.omit_zero,
            "json" | "fieldsv1" => false,
            // `null` where there is no list.
            "bytes" => !field.omit_empty && !field.omit_zero,
            other if other.starts_with(['[', '{']) => !field.omit_empty && !field.omit_zero,
            _ => !field.omit_zero && !field.json_name.is_empty(),
        };
        let mark = if pointer {
            "*"
        } else if zero_written {
            "+"
        } else {
            ""
        };
        Ok((format!("{mark}{value}"), list_message))
    }

    /// The values of an enum, also of a pointer to one or a list of them.
    fn enum_of(&self, go_type: &str) -> Vec<String> {
        let mut name = go_type.trim_start_matches(['*', '[', ']']);
        while let Some(target) = self.named.get(name).filter(|target| self.enums.contains(*target)) {
            name = target;
        }
        let values = self.enums.get(name).and_then(|name| self.values.get(name));
        values.into_iter().flatten().cloned().collect()
    }

    /// Named lists without a marker of being plain are messages: `ExtraValue`, `Verbs` and their like.
    fn is_list_message(&self, go_type: &str) -> bool {
        self.named.get(go_type).is_some_and(|target| target == "[]string")
    }

    fn value(&self, package: &str, go_type: &str) -> Result<String> {
        if let Some(word) = special(go_type) {
            return Ok(word.to_owned());
        }
        if go_type == "[]byte" {
            return Ok("bytes".to_owned());
        }
        if let Some(item) = go_type.strip_prefix("[]") {
            return Ok(format!(
                "[]{}",
                self.value(package, item.trim_start_matches('*'))?
            ));
        }
        if let Some(rest) = go_type.strip_prefix("map[") {
            let (_, value) = rest.split_once(']').context("a map without a value")?;
            return Ok(format!("{{}}{}", self.value(package, value)?));
        }
        if let Some(target) = self
            .named
            .get(go_type)
            .filter(|target| !self.structs.contains_key(*target))
        {
            return self.value(package, target);
        }
        if self.structs.contains_key(go_type) || self.named.contains_key(go_type) {
            return Ok(shorten(package, go_type));
        }
        bail!("unknown type {go_type}")
    }
}

fn message(name: String, field: &GoField, shape: String) -> MessageField {
    let required = !field.omit_empty && !field.optional;
    MessageField {
        name,
        tag: field.tag,
        shape,
        required,
        list_message: false,
        enum_values: Vec::new(),
        default: field.default.clone(),
    }
}

/// The types with an encoding of their own, and Go's scalars.
fn special(go_type: &str) -> Option<&'static str> {
    Some(match go_type {
        "string" | "io.k8s.apimachinery.pkg.types.UID" | "io.k8s.apimachinery.pkg.types.NodeName" => "string",
        "bool" => "bool",
        "int32" => "int32",
        "int64" => "int64",
        "float64" => "double",
        "interface{}" => "json",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time" => "time",
        "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime" => "microtime",
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1" => "fieldsv1",
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => "quantity",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => "intorstring",
        "io.k8s.apimachinery.pkg.runtime.RawExtension" => "raw",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON" => "json",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray" => "schemaorarray",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool" => "schemaorbool",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray" => {
            "schemaorstrings"
        }
        _ => return None,
    })
}

/// `k8s.io/api/core/v1` becomes `io.k8s.api.core.v1`.
fn definition_package(path: &str) -> String {
    path.replacen("k8s.io/", "io.k8s.", 1).replace('/', ".")
}

/// Import names and the definition packages they stand for.
fn imports(text: &str) -> HashMap<String, String> {
    let mut imports = HashMap::new();
    for line in text.lines().take_while(|l| !l.starts_with("type ")) {
        let line = line.trim().trim_start_matches("import ");
        let Some(rest) = line.strip_suffix('"') else {
            continue;
        };
        let Some((name, path)) = rest.split_once('"') else {
            continue;
        };
        if path.starts_with("k8s.io/") {
            let name = if name.is_empty() {
                path.rsplit('/').next().unwrap_or(path)
            } else {
                name.trim()
            };
            imports.insert(name.to_owned(), definition_package(path));
        }
    }
    imports
}

/// Replaces a type's package name, or its lack, by the definition package.
fn qualify(package: &str, imports: &HashMap<String, String>, go_type: &str) -> Result<String> {
    for prefix in ["*", "[]"] {
        if let Some(rest) = go_type.strip_prefix(prefix) {
            let inner = qualify(package, imports, rest)?;
            return Ok(if inner == "byte" {
                "[]byte".to_owned()
            } else {
                format!("{prefix}{inner}")
            });
        }
    }
    if let Some((key, value)) = go_type.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return Ok(format!("map[{key}]{}", qualify(package, imports, value)?));
    }
    if let Some((import, name)) = go_type.split_once('.') {
        let package = imports
            .get(import)
            .with_context(|| format!("unknown import {import}"))?;
        return Ok(format!("{package}.{name}"));
    }
    let builtin = go_type.starts_with(|c: char| c.is_ascii_lowercase());
    Ok(if builtin {
        go_type.to_owned()
    } else {
        format!("{package}.{go_type}")
    })
}

/// Reads a line such as ``Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"` ``.
fn field(
    package: &str,
    imports: &HashMap<String, String>,
    line: &str,
    comments: &[&str],
) -> Result<Option<GoField>> {
    let (declaration, tags) = line.split_once('`').context("no tags")?;
    let json = tag_value(tags, "json").context("no json tag")?;
    let mut json = json.split(',');
    let json_name = json.next().unwrap_or_default().to_owned();
    if json_name == "-" {
        return Ok(None);
    }
    let flags = json.collect::<Vec<_>>();
    let tag = match tag_value(tags, "protobuf") {
        Some(protobuf) => protobuf
            .split(',')
            .nth(1)
            .context("a protobuf tag without a number")?
            .parse()?,
        None => 0,
    };
    let go_type = declaration.split_whitespace().last().context("no type")?;
    let default = comments.iter().find_map(|c| c.strip_prefix("+default="));
    Ok(Some(GoField {
        go_type: qualify(package, imports, go_type)?,
        json_name,
        omit_empty: flags.contains(&"omitempty"),
        omit_zero: flags.contains(&"omitzero"),
        optional: comments
            .iter()
            .any(|c| *c == "+optional" || *c == "+k8s:optional"),
        tag,
        default: default.map(|d| d.replace(": ", ":")),
    }))
}

fn tag_value<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let start = tags.find(&format!("{name}:\""))? + name.len() + 2;
    tags[start..].split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one file of package `k8s.io/api/x/v1` and writes what was found as the table does.
    fn check(go: &str, expect: &str) {
        let mut source = Source::default();
        source.read_file("io.k8s.api.x.v1", go).unwrap();
        let text = super::super::messages::render(&source.messages().unwrap());
        let (_, body) = text.split_once('\n').unwrap();
        assert_eq!(body, expect);
    }

    #[test]
    fn fields_keep_what_matters_to_encoders() {
        check(
            concat!(
                "import metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n",
                "type A struct {\n",
                "\tName string `json:\"name\" protobuf:\"bytes,1,opt,name=name\"`\n",
                "\t// +optional\n",
                "\tSize *int32 `json:\"size,omitempty\" protobuf:\"varint,3,opt,name=size\"`\n",
                "\t// +default=\"x\"\n",
                "\tMode Mode `json:\"mode,omitempty\" protobuf:\"bytes,4,opt,name=mode\"`\n",
                "\tB `json:\",inline\" protobuf:\"bytes,5,opt,name=b\"`\n",
                "\tAt metav1.Time `json:\"at,omitempty\" protobuf:\"bytes,6,opt,name=at\"`\n",
                "\t// +optional\n",
                "\tZero metav1.Time `json:\"zero,omitzero\" protobuf:\"bytes,10,opt,name=zero\"`\n",
                "\tExtra map[string]Values `json:\"extra,omitempty\" protobuf:\"bytes,7,rep,name=extra\"`\n",
                "\tRaw []byte `json:\"raw,omitempty\" protobuf:\"bytes,8,opt,name=raw\"`\n",
                "\tPlain B `json:\"plain,omitempty\" protobuf:\"bytes,9,opt,name=plain\"`\n",
                "\tHidden bool `json:\"-\"`\n",
                "}\n",
                "type B struct {\n",
                "\tItems []A `json:\"items\" protobuf:\"bytes,2,rep,name=items\"`\n",
                "}\n",
                "type Values []string\n",
                "// +enum\n",
                "type Mode string\n",
                "const (\n",
                "\tModeX Mode = \"x\"\n",
                "\tModeY Mode = \"y z\"\n",
                ")\n",
            ),
            "message io.k8s.api.x.v1.A\n name 1 +string required\n size 3 *int32\n \
             mode 4 string default=\"x\" enum=x,y z\n > 5 B\n at 6 +time\n zero 10 time\n extra 7 {}[]string\n raw 8 bytes\n \
             plain 9 +B\nmessage io.k8s.api.x.v1.B\n items 2 +[]A required\n",
        );
    }

    #[test]
    fn what_it_cannot_read_is_an_error() {
        let fails = |line: &str| {
            let mut source = Source::default();
            let go = format!("type A struct {{\n{line}\n}}\n");
            source
                .read_file("io.k8s.api.x.v1", &go)
                .and_then(|()| source.messages().map(drop))
                .is_err()
        };
        assert!(
            fails("\tA other.B `json:\"a\" protobuf:\"bytes,1,opt,name=a\"`"),
            "an unknown import"
        );
        assert!(
            fails("\tA Missing `json:\"a\" protobuf:\"bytes,1,opt,name=a\"`"),
            "an unknown type"
        );
        assert!(
            fails("\tA string `json:\"a\" protobuf:\"bytes\"`"),
            "a tag without a number"
        );
    }
}
