//! One stored object: its bytes, and where in them the few things are that everyone asks for.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright_core::{ObjectKey, ObjectMeta, OwnerReference, ResourceVersion};
use parking_lot::Mutex;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::decoded::{Budget, Part};

/// What the records of one store share.
#[derive(Debug)]
pub(crate) struct Context {
    /// `"kind":"Pod","apiVersion":"v1",`: what items of typed lists lack. Empty when not known.
    types: String,
    pub(crate) budget: Budget,
}

impl Context {
    pub(crate) fn new(api_version: &str, kind: &str, decoded_bytes: usize) -> Self {
        if kind.is_empty() {
            return Self {
                types: String::new(),
                budget: Budget::new(decoded_bytes),
            };
        }
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let types = format!(
            "\"kind\":{},\"apiVersion\":{},",
            quoted(kind),
            quoted(api_version)
        );
        Self {
            types,
            budget: Budget::new(decoded_bytes),
        }
    }
}

/// A stored object. Immutable but for the decoded forms it may hold for a while.
pub(crate) struct Record {
    raw: Bytes,
    key: ObjectKey,
    /// Places in `raw`, without the quotes. 32 bits are enough: the API server takes 3 MiB at most.
    uid: Span,
    version: Span,
    metadata: Span,
    pub(crate) context: Arc<Context>,
    decoded: Mutex<Decoded>,
    /// Set by each use of a decoded form, cleared by the budget's clock hand.
    used: AtomicBool,
}

#[derive(Default)]
struct Decoded {
    metadata: Option<Arc<ObjectMeta>>,
    object: Option<Arc<dyn Any + Send + Sync>>,
}

type Span = Range<u32>;

/// Why an object could not be decoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode {key} as {wanted}: {message}")]
#[non_exhaustive]
pub struct DecodeError {
    /// Which object.
    pub key: ObjectKey,
    /// The Rust type that was asked for.
    pub wanted: &'static str,
    /// What does not fit, with its place in the JSON text.
    pub message: String,
}

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
    managed_fields: Option<&'a str>,
    metadata: &'a str,
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

impl Record {
    /// Copies an object out of whatever buffer it came in, so that one kept object never holds a whole list.
    /// `head` is what [`peek`] found in `raw`.
    pub(crate) fn new(
        raw: &[u8],
        head: Head<'_>,
        context: &Arc<Context>,
        intern: impl FnOnce(&str) -> Arc<str>,
        managed_fields: ManagedFields,
    ) -> Result<Self, MalformedObject> {
        let cut = match managed_fields {
            ManagedFields::Drop => head.managed_fields.and_then(|value| member_range(raw, value)),
            ManagedFields::Keep => None,
        };
        let place = |part: &str| -> Result<Span, MalformedObject> {
            let mut span = range_of(raw, part);
            for end in [&mut span.start, &mut span.end] {
                *end -= cut
                    .as_ref()
                    .filter(|cut| cut.end <= *end)
                    .map_or(0, ExactSizeIterator::len);
            }
            let too_large = |_| MalformedObject {
                message: "larger than 4 GiB".to_owned(),
            };
            Ok(u32::try_from(span.start).map_err(too_large)?..u32::try_from(span.end).map_err(too_large)?)
        };
        let (uid, version, metadata) = (place(head.uid)?, place(head.version)?, place(head.metadata)?);
        let namespace = Some(head.namespace).filter(|namespace| !namespace.is_empty());
        let key = ObjectKey {
            namespace: namespace.map(|n| intern(&n)),
            name: Arc::from(&*head.name),
        };
        let raw = match cut {
            None => Bytes::copy_from_slice(raw),
            Some(cut) => {
                let mut kept = Vec::with_capacity(raw.len() - cut.len());
                kept.extend_from_slice(&raw[..cut.start]);
                kept.extend_from_slice(&raw[cut.end..]);
                Bytes::from(kept)
            }
        };
        Ok(Self {
            raw,
            key,
            uid,
            version,
            metadata,
            context: Arc::clone(context),
            decoded: Mutex::default(),
            used: AtomicBool::new(false),
        })
    }

    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }

    pub(crate) fn raw(&self) -> &Bytes {
        &self.raw
    }

    pub(crate) fn uid(&self) -> &str {
        self.text(&self.uid)
    }

    pub(crate) fn version(&self) -> &str {
        self.text(&self.version)
    }

    pub(crate) fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::new(self.version())
    }

    /// The bytes were checked to be UTF-8 and the places are those of whole strings.
    fn text(&self, span: &Span) -> &str {
        let bytes = self
            .raw
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The metadata, decoded now or lately.
    pub(crate) fn metadata(self: &Arc<Self>) -> Arc<ObjectMeta> {
        if let Some(metadata) = &self.decoded.lock().metadata {
            self.used.store(true, Ordering::Relaxed);
            return Arc::clone(metadata);
        }
        let metadata = Arc::new(decode_metadata(self.text(&self.metadata)));
        self.decoded.lock().metadata = Some(Arc::clone(&metadata));
        self.context
            .budget
            .keep(self, Part::Metadata, self.metadata.len() * METADATA_FACTOR);
        metadata
    }

    /// The object as a `K`, decoded now or lately.
    pub(crate) fn object<K>(self: &Arc<Self>) -> Result<Arc<K>, DecodeError>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let kept = self.decoded.lock().object.clone();
        if let Some(object) = kept.and_then(|object| object.downcast::<K>().ok()) {
            self.used.store(true, Ordering::Relaxed);
            return Ok(object);
        }
        let object = Arc::new(self.decode::<K>()?);
        self.decoded.lock().object = Some(object.clone());
        self.context
            .budget
            .keep(self, Part::Object, self.raw.len() * OBJECT_FACTOR);
        Ok(object)
    }

    fn decode<K: DeserializeOwned>(&self) -> Result<K, DecodeError> {
        let failed = |e: serde_json::Error| DecodeError {
            key: self.key.clone(),
            wanted: std::any::type_name::<K>(),
            message: e.to_string(),
        };
        if self.context.types.is_empty() || has_kind(&self.raw) {
            return serde_json::from_slice(&self.raw).map_err(failed);
        }
        // Items of a typed list come without kind and apiVersion, which dynamic objects need.
        let brace = self.raw.iter().position(|b| *b == b'{').map_or(0, |at| at + 1);
        let rest = &self.raw[brace..];
        let types = match rest.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'}') | None => self.context.types.trim_end_matches(','),
            Some(_) => &self.context.types,
        };
        let mut whole = Vec::with_capacity(self.raw.len() + types.len());
        whole.extend_from_slice(&self.raw[..brace]);
        whole.extend_from_slice(types.as_bytes());
        whole.extend_from_slice(rest);
        serde_json::from_slice(&whole).map_err(failed)
    }

    /// Whether a decoded form was used since this was last asked.
    pub(crate) fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// Drops a decoded form.
    pub(crate) fn evict(&self, part: Part) {
        let mut decoded = self.decoded.lock();
        let dropped = match part {
            Part::Metadata => (decoded.metadata.take(), None),
            Part::Object => (None, decoded.object.take()),
        };
        // Freed after the lock: a decoded object can be large.
        drop(decoded);
        drop(dropped);
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", &self.key)
            .field("uid", &self.uid())
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

/// What a store does with `metadata.managedFields`, often a third of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ManagedFields {
    /// Keeps them.
    #[default]
    Keep,
    /// Cuts them out of the bytes before they are stored.
    Drop,
}

/// How much larger than its JSON text a decoded object is, roughly: a measured pod of 10 KB took 80 KiB, one of 6 KB
/// without managed fields 39.
const OBJECT_FACTOR: usize = 7;

/// The same for metadata.
const METADATA_FACTOR: usize = 2;

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

fn has_kind(raw: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: Option<IgnoredAny>,
    }
    // Nearly always the first member, where a look is enough.
    let start = raw
        .trim_ascii_start()
        .strip_prefix(b"{")
        .unwrap_or(raw)
        .trim_ascii_start();
    start.starts_with(b"\"kind\"")
        || start.starts_with(b"\"apiVersion\"")
        || serde_json::from_slice::<Kind>(raw).is_ok_and(|found| found.kind.is_some())
}

/// Decodes metadata field by field: one that is not of its type is left out and logged, so that it cannot hide the
/// others. Managed fields are left out.
fn decode_metadata(text: &str) -> ObjectMeta {
    let mut metadata = ObjectMeta::default();
    let fields = MetadataFields(&mut metadata);
    if let Err(error) = fields.deserialize(&mut serde_json::Deserializer::from_str(text)) {
        tracing::warn!(%error, "metadata is not a JSON object");
    }
    metadata
}

struct MetadataFields<'a>(&'a mut ObjectMeta);

impl<'de> DeserializeSeed<'de> for MetadataFields<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MetadataFields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let meta = self.0;
        while let Some(field) = map.next_key::<Cow<'de, str>>()? {
            if field == "managedFields" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let raw = map.next_value::<&'de RawValue>()?.get();
            match &*field {
                "annotations" => set(&mut meta.annotations, &field, raw),
                "creationTimestamp" => set::<Time>(&mut meta.creation_timestamp, &field, raw),
                "deletionGracePeriodSeconds" => set(&mut meta.deletion_grace_period_seconds, &field, raw),
                "deletionTimestamp" => set::<Time>(&mut meta.deletion_timestamp, &field, raw),
                "finalizers" => set(&mut meta.finalizers, &field, raw),
                "generateName" => set(&mut meta.generate_name, &field, raw),
                "generation" => set(&mut meta.generation, &field, raw),
                "labels" => set(&mut meta.labels, &field, raw),
                "name" => set(&mut meta.name, &field, raw),
                "namespace" => set(&mut meta.namespace, &field, raw),
                "ownerReferences" => set::<Vec<OwnerReference>>(&mut meta.owner_references, &field, raw),
                "resourceVersion" => set(&mut meta.resource_version, &field, raw),
                "selfLink" => set(&mut meta.self_link, &field, raw),
                "uid" => set(&mut meta.uid, &field, raw),
                _ => {}
            }
        }
        Ok(())
    }
}

fn set<T: DeserializeOwned>(target: &mut Option<T>, field: &str, raw: &str) {
    match serde_json::from_str(raw) {
        Ok(value) => *target = value,
        Err(error) => tracing::warn!(field, %error, "metadata field is not of its type, left out"),
    }
}
