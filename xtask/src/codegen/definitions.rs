//! Upstream's OpenAPI definitions of every minor version, as the wheel `kubernetes-validate` publishes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// The oldest minor version that is told apart.
pub(crate) const OLDEST: u8 = 25;
/// The version that the table describes.
pub(crate) const NEWEST: u8 = 37;

/// The definitions of all versions from [`OLDEST`] to [`NEWEST`].
pub(crate) struct History {
    by_minor: BTreeMap<u8, Map<String, Value>>,
}

impl History {
    /// Reads `v1.NN.0-local/_definitions.json` below a folder.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let mut by_minor = BTreeMap::new();
        for minor in OLDEST..=NEWEST {
            let path = folder.join(format!("v1.{minor}.0-local/_definitions.json"));
            let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
            let mut document: Value = serde_json::from_reader(BufReader::new(file))
                .with_context(|| format!("cannot read {}", path.display()))?;
            let Some(Value::Object(definitions)) = document.get_mut("$defs").map(Value::take) else {
                anyhow::bail!("{} has no $defs", path.display());
            };
            by_minor.insert(minor, definitions);
        }
        Ok(Self { by_minor })
    }

    /// The definitions of the newest version.
    pub(crate) fn newest(&self) -> &Map<String, Value> {
        &self.by_minor[&NEWEST]
    }

    /// The first version that has a type.
    pub(crate) fn type_since(&self, name: &str) -> u8 {
        self.first(|definitions| definitions.contains_key(name))
    }

    /// The first version that has a property of a type.
    pub(crate) fn field_since(&self, name: &str, field: &str) -> u8 {
        self.first(|definitions| {
            definitions
                .get(name)
                .is_some_and(|d| !d["properties"][field].is_null())
        })
    }

    fn first(&self, has: impl Fn(&Map<String, Value>) -> bool) -> u8 {
        self.by_minor
            .iter()
            .find(|(_, definitions)| has(definitions))
            .map_or(NEWEST, |(minor, _)| *minor)
    }
}

/// The shape of a property in the grammar of the kinds table, without a mark of presence.
pub(crate) fn shape(package: &str, property: &Value) -> Result<String> {
    if let Some(reference) = property["$ref"].as_str() {
        let name = reference.trim_start_matches("#/$defs/");
        return Ok(special(name).map_or_else(|| super::messages::shorten(package, name), str::to_owned));
    }
    let word = match &property["type"] {
        Value::String(word) => word.as_str(),
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .find(|w| *w != "null")
            .context("no type")?,
        _ => return Ok("json".to_owned()),
    };
    Ok(match (word, property["format"].as_str()) {
        ("string", Some("byte")) => "bytes".to_owned(),
        ("string", _) => "string".to_owned(),
        ("boolean", _) => "bool".to_owned(),
        ("integer", Some("int32")) => "int32".to_owned(),
        ("integer", _) => "int64".to_owned(),
        ("number", _) => "double".to_owned(),
        ("array", _) => format!("[]{}", shape(package, &property["items"])?),
        ("object", _) if property["additionalProperties"].is_object() => {
            format!("{{}}{}", shape(package, &property["additionalProperties"])?)
        }
        ("object", _) => "json".to_owned(),
        (other, _) => anyhow::bail!("unknown type {other}"),
    })
}

/// The definitions that stand for a value with a form of its own. The wheel rewrites some of their schemas, so they
/// are known by name.
pub(crate) fn special(name: &str) -> Option<&'static str> {
    let short = name.strip_prefix("io.k8s.apimachinery.pkg.").or_else(|| {
        name.strip_prefix("io.k8s.apiextensions-apiserver.pkg.apis.")
            .filter(|n| n.starts_with("apiextensions.v1.JSON"))
    })?;
    Some(match short {
        "api.resource.Quantity" => "quantity",
        "apis.meta.v1.FieldsV1" => "fieldsv1",
        "apis.meta.v1.MicroTime" => "microtime",
        "apis.meta.v1.Patch" => "json",
        "apis.meta.v1.Time" => "time",
        "runtime.RawExtension" => "raw",
        "util.intstr.IntOrString" => "intorstring",
        "apiextensions.v1.JSON" => "json",
        "apiextensions.v1.JSONSchemaPropsOrArray" => "schemaorarray",
        "apiextensions.v1.JSONSchemaPropsOrBool" => "schemaorbool",
        "apiextensions.v1.JSONSchemaPropsOrStringArray" => "schemaorstrings",
        _ => return None,
    })
}
