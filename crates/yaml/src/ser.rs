//! Writing: block style, lists not indented below their key, strings quoted where they would be read as something else.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::emit::{self, Tree};
use crate::error::{Error, ErrorKind};
use crate::natural;
use crate::resolve::go_float_text;

/// Writes a value as one YAML document. Keys come in the order in which the value serialises them, and long lines stay whole:
/// folding would hide them from `grep` and from diffs.
///
/// # Errors
///
/// When the value's own `Serialize` fails, or it is no JSON: a key that is no text, nesting beyond 127 levels.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let write = |why: serde_json::Error| {
        Error::new(ErrorKind::Write {
            message: why.to_string(),
        })
    };
    // By way of JSON, as sigs.k8s.io/yaml goes: what has no place there has none in a manifest.
    let json = serde_json::to_string(value).map_err(write)?;
    let tree: Tree<'_> = serde_json::from_str(&json).map_err(write)?;
    Ok(emit::document(&tree, usize::MAX))
}

/// Writes values as a stream of documents, with `---` between them.
///
/// # Errors
///
/// As [`to_string`].
pub fn to_string_multi<T: Serialize>(values: impl IntoIterator<Item = T>) -> Result<String, Error> {
    let mut out = String::new();
    for value in values {
        if !out.is_empty() {
            out.push_str("---\n");
        }
        out.push_str(&to_string(&value)?);
    }
    Ok(out)
}

/// Writes a JSON value byte for byte as a server does (sigs.k8s.io/yaml `JSONToYAML`): keys in go-yaml's natural order, in which
/// `a2` comes before `a10`, and text folded at the first space beyond column 80.
///
/// Recurses as deep as the value is nested.
///
/// ```
/// let object = serde_json::json!({"f:a10": {}, "f:a2": {"k:{\"name\":\"c\"}": {".": {}}}, "on": "10.0.0.1"});
/// let expect = "f:a2:\n  k:{\"name\":\"c\"}:\n    .: {}\nf:a10: {}\n\"on\": 10.0.0.1\n";
/// assert_eq!(kubewright_yaml::json_to_string(&object), expect);
/// ```
#[must_use]
pub fn json_to_string(value: &Value) -> String {
    emit::document(&tree(value), FOLDED_BEYOND)
}

/// As libyaml has it.
const FOLDED_BEYOND: usize = 80;

fn tree(value: &Value) -> Tree<'_> {
    match value {
        Value::Null => Tree::Plain("null".into()),
        Value::Bool(b) => Tree::Plain(boolean(*b)),
        Value::Number(number) => Tree::Plain(match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => go_number(float).into(),
            None => number.to_string().into(),
        }),
        Value::String(text) => Tree::Text(text.into()),
        Value::Array(items) => Tree::List(items.iter().map(tree).collect()),
        Value::Object(members) => {
            let mut members: Vec<(Cow<'_, str>, &Value)> =
                members.iter().map(|(key, value)| (key.into(), value)).collect();
            natural::sort(&mut members);
            Tree::Map(
                members
                    .into_iter()
                    .map(|(key, value)| (key, tree(value)))
                    .collect(),
            )
        }
    }
}

fn boolean(value: bool) -> Cow<'static, str> {
    if value { "true" } else { "false" }.into()
}

/// Go's JSON writes a whole number without a fraction, so that YAML takes it for an integer as long as it is one of 64 bits.
fn go_number(value: f64) -> String {
    /// 2 to the power of 63, and of 64.
    const SIGNED: f64 = 9_223_372_036_854_775_808.0;
    const UNSIGNED: f64 = 18_446_744_073_709_551_616.0;
    if value.fract() == 0.0 && (-SIGNED..UNSIGNED).contains(&value) {
        // Without the sign of zero.
        return format!("{:.0}", value + 0.0);
    }
    go_float_text(value)
}

impl<'de> Deserialize<'de> for Tree<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Plain("null".into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Tree::Plain(boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Tree::Plain(value.to_string().into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Tree::Plain(value.to_string().into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Tree::Plain(go_number(value).into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(value.to_owned().into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
        Ok(Tree::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Tree<'static>>()? {
            entries.push((key.into(), value));
        }
        Ok(Tree::Map(entries))
    }
}
