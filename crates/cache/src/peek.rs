//! What a store needs to know of an object before it keeps it, read without decoding the rest.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use kubewright_core::ObjectKey;
use kubewright_core::json::Members;
use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// Why bytes from the server cannot be stored as an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct MalformedObject {
    /// Which object it is, if that much can be read.
    pub key: Option<ObjectKey>,
    /// What does not fit.
    pub message: String,
}

impl fmt::Display for MalformedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{key}: {}", self.message),
            None => write!(
                f,
                "not an object with a name and a resource version: {}",
                self.message
            ),
        }
    }
}

impl MalformedObject {
    /// Nobody knows which object it is.
    fn nameless(message: impl fmt::Display) -> Self {
        Self {
            key: None,
            message: message.to_string(),
        }
    }
}

/// What [`peek`] finds.
pub(crate) struct Head<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
    /// The text of `metadata.labels`.
    pub(crate) labels: Option<&'a str>,
    /// The text of `metadata.ownerReferences`.
    pub(crate) owners: Option<&'a str>,
    pub(crate) generation: Option<i64>,
    /// Whether there is a `metadata.deletionTimestamp`.
    pub(crate) is_being_deleted: bool,
    managed_fields: Option<&'a str>,
    metadata: &'a str,
}

/// The text that is kept of an object.
pub(crate) struct Kept<'a> {
    pub(crate) text: Cow<'a, [u8]>,
    /// Where in it the metadata is.
    pub(crate) metadata: Range<usize>,
}

impl<'a> Head<'a> {
    pub(crate) fn key(&self) -> ObjectKey {
        let namespace = Some(&*self.namespace).filter(|namespace| !namespace.is_empty());
        ObjectKey::of(namespace, &self.name)
    }

    /// What is to be kept of the text in which this head was found.
    pub(crate) fn keep(&self, raw: &'a [u8], managed_fields: ManagedFields) -> Kept<'a> {
        let metadata = range_of(raw, self.metadata);
        let cut = match managed_fields {
            ManagedFields::Drop => self.managed_fields.and_then(|value| member_range(raw, value)),
            ManagedFields::Keep => None,
        };
        let Some(cut) = cut else {
            return Kept {
                text: Cow::Borrowed(raw),
                metadata,
            };
        };
        let mut text = Vec::with_capacity(raw.len() - cut.len());
        text.extend_from_slice(&raw[..cut.start]);
        text.extend_from_slice(&raw[cut.end..]);
        Kept {
            text: Cow::Owned(text),
            metadata: metadata.start..metadata.end - cut.len(),
        }
    }
}

/// Reads what a store needs to know of an object, and no more: what follows the metadata is not looked at.
pub(crate) fn peek(raw: &[u8]) -> Result<Head<'_>, MalformedObject> {
    let head = match std::str::from_utf8(raw) {
        Ok(text) => peek_usual(text).map_or_else(|| peek_unusual(text), Ok),
        Err(error) => Err(MalformedObject::nameless(error)),
    };
    head.map_err(|error| MalformedObject {
        key: key_of(&String::from_utf8_lossy(raw)),
        ..error
    })
}

/// The key of an object of which something else cannot be read.
fn key_of(text: &str) -> Option<ObjectKey> {
    let fields = find_fields(text).ok()?;
    let name = text_of("name", fields.name)
        .ok()?
        .filter(|name| !name.is_empty())?;
    let namespace = text_of("namespace", fields.namespace).ok()?;
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    Some(ObjectKey::of(namespace.as_deref(), &name))
}

fn find_fields(text: &str) -> Result<Fields<'_>, MalformedObject> {
    let mut fields = None;
    let outcome = serde_json::Deserializer::from_str(text).deserialize_map(FindMetadata(&mut fields));
    fields.ok_or_else(|| match outcome {
        Ok(()) => MalformedObject::nameless("no metadata"),
        Err(error) => MalformedObject::nameless(error),
    })
}

fn peek_unusual(text: &str) -> Result<Head<'_>, MalformedObject> {
    let fields = find_fields(text)?;
    let missing = |field: &str| MalformedObject::nameless(format_args!("missing field `{field}`"));
    let empty = |field: &str| MalformedObject::nameless(format_args!("metadata.{field} is empty"));
    let name = text_of("name", fields.name)?.ok_or_else(|| missing("name"))?;
    if name.is_empty() {
        return Err(empty("name"));
    }
    let version = plain("resourceVersion", fields.version)?.ok_or_else(|| missing("resourceVersion"))?;
    if version.is_empty() {
        // Whoever watched from there would be told of the future alone.
        return Err(empty("resourceVersion"));
    }
    Ok(Head {
        name,
        namespace: text_of("namespace", fields.namespace)?.unwrap_or_default(),
        uid: plain("uid", fields.uid)?.unwrap_or_default(),
        version,
        labels: fields.labels.map(RawValue::get),
        owners: fields.owners.map(RawValue::get),
        generation: fields.generation.and_then(|value| value.get().parse().ok()),
        is_being_deleted: fields.deletion.is_some_and(|value| is_string(value.get())),
        managed_fields: fields.managed_fields.map(RawValue::get),
        metadata: around(text, fields.first, fields.last)
            .ok_or_else(|| MalformedObject::nameless("no metadata"))?,
    })
}

/// The head of an object that is written as servers write it: names and the texts that are looked at have no escapes.
fn peek_usual(text: &str) -> Option<Head<'_>> {
    let mut members = Members::of(text)?;
    while usual_name(&mut members)?? != "metadata" {
        members.value()?;
    }
    let mut members = Members::of(members.rest())?;
    let (mut name, mut namespace, mut uid, mut version) = (None, "", "", None);
    let (mut labels, mut owners, mut managed_fields) = (None, None, None);
    let (mut generation, mut is_being_deleted) = (None, false);
    while let Some(field) = usual_name(&mut members)? {
        let value = members.value()?;
        if value == NULL {
            continue;
        }
        match field {
            "name" => name = Some(usual_text(value)?),
            "namespace" => namespace = usual_text(value)?,
            "uid" => uid = usual_text(value)?,
            "resourceVersion" => version = Some(usual_text(value)?),
            "labels" => labels = Some(value),
            "ownerReferences" => owners = Some(value),
            "generation" => generation = value.parse().ok(),
            "deletionTimestamp" => is_being_deleted = is_string(value),
            "managedFields" => managed_fields = Some(value),
            _ => {}
        }
    }
    Some(Head {
        name: Cow::Borrowed(name.filter(|name| !name.is_empty())?),
        namespace: Cow::Borrowed(namespace),
        uid,
        version: version.filter(|version| !version.is_empty())?,
        labels,
        owners,
        generation,
        is_being_deleted,
        managed_fields,
        metadata: members.passed(),
    })
}

/// What is as good as absent to Go.
const NULL: &str = "null";

/// The name of the next member, within it `None` at the end.
fn usual_name<'a>(members: &mut Members<'a>) -> Option<Option<&'a str>> {
    match members.name() {
        None => Some(None),
        Some(name) => name.ok().filter(|name| !name.contains('\\')).map(Some),
    }
}

fn usual_text(value: &str) -> Option<&str> {
    let text = value.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then_some(text)
}

fn is_string(value: &str) -> bool {
    value.starts_with('"')
}

/// What a JSON string says.
fn text_of<'a>(field: &str, value: Option<&'a RawValue>) -> Result<Option<Cow<'a, str>>, MalformedObject> {
    let Some(text) = value.map(RawValue::get) else {
        return Ok(None);
    };
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.contains('\\') => Ok(Some(Cow::Borrowed(inner))),
        _ => serde_json::from_str(text)
            .map(|text| Some(Cow::Owned(text)))
            .map_err(|e| MalformedObject::nameless(format_args!("metadata.{field}: {e}"))),
    }
}

/// The same of one that is written without escapes, as uids and versions are.
fn plain<'a>(field: &str, value: Option<&'a RawValue>) -> Result<Option<&'a str>, MalformedObject> {
    match text_of(field, value)? {
        None => Ok(None),
        Some(Cow::Borrowed(text)) => Ok(Some(text)),
        Some(Cow::Owned(text)) => Err(MalformedObject::nameless(format_args!(
            "metadata.{field}: {text:?} is written with escapes"
        ))),
    }
}

/// The object of which these are the first and the last value.
fn around<'a>(text: &'a str, first: &'a str, last: &'a str) -> Option<&'a str> {
    let (first, last) = (range_of(text.as_bytes(), first), range_of(text.as_bytes(), last));
    // No brace lies between an object's own and its first value but in the name of that.
    let colon = text[..first.start].trim_ascii_end().strip_suffix(':')?;
    let name = colon.trim_ascii_end().strip_suffix('"')?;
    let quote = name
        .char_indices()
        .rev()
        .find(|(at, c)| *c == '"' && !is_escaped(name, *at))?;
    let start = name[..quote.0].trim_ascii_end().strip_suffix('{')?.len();
    let rest = &text[last.end..];
    let end = text.len() - rest.trim_ascii_start().strip_prefix('}')?.len();
    text.get(start..end)
}

fn is_escaped(text: &str, at: usize) -> bool {
    let before = text[..at].bytes().rev().take_while(|b| *b == b'\\').count();
    before % 2 == 1
}

/// The fields of metadata that are looked at, and the first and last of all.
#[derive(Default)]
struct Fields<'a> {
    first: &'a str,
    last: &'a str,
    name: Option<&'a RawValue>,
    namespace: Option<&'a RawValue>,
    uid: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
    labels: Option<&'a RawValue>,
    owners: Option<&'a RawValue>,
    generation: Option<&'a RawValue>,
    deletion: Option<&'a RawValue>,
    managed_fields: Option<&'a RawValue>,
}

/// A name that is not copied unless it is written with escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Leaves the fields of `metadata` behind and stops there, by an error that nobody sees.
struct FindMetadata<'a, 'de>(&'a mut Option<Fields<'de>>);

impl<'de> Visitor<'de> for FindMetadata<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(key)) = map.next_key()? {
            if key == "metadata" {
                *self.0 = Some(map.next_value_seed(Fields::default())?);
                return Err(de::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Fields<'de> {
    type Value = Self;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            if self.first.is_empty() {
                self.first = value.get();
            }
            self.last = value.get();
            if value.get() == NULL {
                continue;
            }
            let field = match &*name {
                "name" => &mut self.name,
                "namespace" => &mut self.namespace,
                "uid" => &mut self.uid,
                "resourceVersion" => &mut self.version,
                "labels" => &mut self.labels,
                "ownerReferences" => &mut self.owners,
                "generation" => &mut self.generation,
                "deletionTimestamp" => &mut self.deletion,
                "managedFields" => &mut self.managed_fields,
                _ => continue,
            };
            *field = Some(value);
        }
        Ok(self)
    }
}

/// What a store does with `metadata.managedFields`, often a third of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ManagedFields {
    /// Cuts them out of the bytes before they are stored.
    #[default]
    Drop,
    /// Keeps them, for who reads them from the cache.
    Keep,
}

fn range_of(raw: &[u8], part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(raw.as_ptr() as usize);
    // A default (`""`) is no part of the text: it becomes an empty place.
    if part.is_empty() || start + part.len() > raw.len() {
        0..0
    } else {
        start..start + part.len()
    }
}

/// The range of a whole member `"managedFields": value`, with one of the commas around it.
fn member_range(raw: &[u8], value: &str) -> Option<Range<usize>> {
    const NAME: &[u8] = b"\"managedFields\"";
    let value = range_of(raw, value);
    let back = |to: usize| raw[..to].trim_ascii_end().len();
    let colon = back(value.start).checked_sub(1).filter(|at| raw[*at] == b':')?;
    let start = back(colon)
        .checked_sub(NAME.len())
        .filter(|at| raw[*at..].starts_with(NAME))?;
    let after = value.end + (raw[value.end..].len() - raw[value.end..].trim_ascii_start().len());
    if raw.get(after) == Some(&b',') {
        return Some(start..after + 1);
    }
    match back(start).checked_sub(1).filter(|at| raw[*at] == b',') {
        Some(comma) => Some(comma..value.end),
        None => Some(start..value.end),
    }
}
