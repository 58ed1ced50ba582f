//! What a store needs to know of an object before it keeps it, read without decoding the rest.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// Why bytes from the server cannot be stored as an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an object with a name and a resource version: {message}")]
#[non_exhaustive]
pub struct MalformedObject {
    /// What does not fit.
    pub message: String,
}

/// What [`peek`] finds.
pub(crate) struct Head<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) namespace: Cow<'a, str>,
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
    /// The text of `metadata.labels`.
    pub(crate) labels: Option<&'a str>,
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
    let malformed = |message: &dyn fmt::Display| MalformedObject {
        message: message.to_string(),
    };
    let text = std::str::from_utf8(raw).map_err(|e| malformed(&e))?;
    let mut metadata = None;
    let outcome = serde_json::Deserializer::from_str(text).deserialize_map(FindMetadata(&mut metadata));
    let Some(metadata) = metadata else {
        return Err(outcome
            .err()
            .map_or_else(|| malformed(&"no metadata"), |e| malformed(&e)));
    };
    let head: MetadataHead<'_> = serde_json::from_str(metadata).map_err(|e| malformed(&e))?;
    if head.name.is_empty() {
        return Err(malformed(&"metadata.name is empty"));
    }
    Ok(Head {
        name: head.name,
        namespace: head.namespace,
        uid: head.uid,
        version: head.resource_version,
        labels: head.labels.map(RawValue::get),
        managed_fields: head.managed_fields.map(RawValue::get),
        metadata,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataHead<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(default)]
    uid: &'a str,
    resource_version: &'a str,
    #[serde(borrow, default)]
    labels: Option<&'a RawValue>,
    #[serde(borrow, default)]
    managed_fields: Option<&'a RawValue>,
}

/// Leaves the text of `metadata` behind and stops there, by an error that nobody sees.
struct FindMetadata<'a, 'de>(&'a mut Option<&'de str>);

impl<'de> Visitor<'de> for FindMetadata<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "metadata" {
                *self.0 = Some(map.next_value::<&'de RawValue>()?.get());
                return Err(de::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
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
