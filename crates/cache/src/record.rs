//! One stored object: its bytes, and beside them the few things that everyone asks for.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::num::NonZeroI64;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use kubewright_core::json::{Members, decode};
use kubewright_core::{ObjectKey, ObjectMeta, ResourceVersion};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::decoded::{Budget, Part};
use crate::labels::Labels;
use crate::metadata::decode_metadata;
use crate::owners::{Owned, Owners};
use crate::packing::{Codec, Packed, PackedText, Packer};
use crate::patching::{Base, Patched, patch_last};
use crate::peek::{Head, Kept, MalformedObject};
use crate::pool::{Common, Pool};
use crate::stats::Counters;

/// What the records of one store share.
#[derive(Debug)]
pub(crate) struct Context {
    /// `"kind":"Pod","apiVersion":"v1",`: what items of typed lists lack. Empty when not known.
    types: Arc<str>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) usage: Arc<Usage>,
    pub(crate) counters: Arc<Counters>,
    /// New records are packed with it.
    pub(crate) codec: Option<Codec>,
}

/// What records take, those among them that only handlers or readers still hold.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) records: AtomicUsize,
    /// All that is kept of them but decoded forms.
    pub(crate) bytes: AtomicUsize,
    /// The length of their text.
    pub(crate) text: AtomicUsize,
    /// The length of the text that is not packed.
    pub(crate) plain: AtomicUsize,
}

impl Context {
    pub(crate) fn new(api_version: &str, kind: &str, decoded_bytes: usize) -> Self {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let types = match kind {
            "" => String::new(),
            kind => format!(
                "\"kind\":{},\"apiVersion\":{},",
                quoted(kind),
                quoted(api_version)
            ),
        };
        Self {
            types: types.into(),
            budget: Arc::new(Budget::new(decoded_bytes)),
            usage: Arc::default(),
            counters: Arc::default(),
            codec: None,
        }
    }

    /// The same, but that new records are packed.
    pub(crate) fn packing(&self, codec: Codec) -> Self {
        Self {
            types: Arc::clone(&self.types),
            budget: Arc::clone(&self.budget),
            usage: Arc::clone(&self.usage),
            counters: Arc::clone(&self.counters),
            codec: Some(codec),
        }
    }
}

/// A stored object. Immutable but for the decoded forms it may hold for a while.
pub(crate) struct Record {
    key: ObjectKey,
    /// Uid, version and text, one after the other, in one allocation.
    bytes: Arc<[u8]>,
    /// The lengths of the first two.
    uid: u8,
    version: u8,
    form: Form,
    common: Arc<Common>,
    generation: Option<NonZeroI64>,
    context: Arc<Context>,
    decoded: Mutex<Option<Box<Decoded>>>,
    /// Set by each use of a decoded form, cleared by the budget's clock hand.
    used: AtomicBool,
    /// [`METADATA`] and [`DELETED`].
    marks: AtomicU8,
}

/// What of an object is not in its text alone, because it is asked for all the time.
struct Known<'a> {
    key: ObjectKey,
    uid: &'a str,
    version: &'a str,
    common: Arc<Common>,
    generation: Option<NonZeroI64>,
    /// [`DELETED`] or nothing.
    marks: u8,
}

/// How the text is kept.
#[derive(Debug)]
enum Form {
    /// As it came, with its metadata there. 32 bits are enough: the API server takes 3 MiB at most.
    Plain { metadata: Range<u32> },
    /// By the codec of the record's context.
    Packed(Packed),
    /// As what is different from a packed text, by the same codec.
    Patched(Arc<Base>),
}

#[derive(Default)]
struct Decoded {
    metadata: Option<Arc<ObjectMeta>>,
    /// The object as each type that it was asked for as, of late.
    objects: Vec<(TypeId, Arc<dyn Any + Send + Sync>)>,
}

/// Why somebody has an object at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// He looked it up.
    Lookup,
    /// He is shown all of them, one after the other.
    InPassing,
}

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

impl Record {
    /// Copies an object out of whatever buffer it came in, so that one kept object never holds a whole list. `kept` is
    /// the text of the head, `other` another state of the object.
    pub(crate) fn new(
        head: &Head<'_>,
        kept: &Kept<'_>,
        other: Option<&Self>,
        context: &Arc<Context>,
        pool: &Mutex<Pool>,
    ) -> Result<Self, MalformedObject> {
        let is_key = |key: &ObjectKey| {
            *key.name == *head.name && *key.namespace.as_deref().unwrap_or_default() == *head.namespace
        };
        let other = other.filter(|other| is_key(&other.key));
        let mut pool = pool.lock();
        let key = match other {
            Some(other) => other.key.clone(),
            None => ObjectKey {
                namespace: (!head.namespace.is_empty()).then(|| pool.string(&head.namespace)),
                name: Arc::from(&*head.name),
            },
        };
        let common = pool.common(head.labels, head.owners);
        drop(pool);
        let known = Known {
            key,
            uid: head.uid,
            version: head.version,
            common,
            generation: head.generation.and_then(NonZeroI64::new),
            marks: if head.is_being_deleted { DELETED } else { 0 },
        };
        let base = other.filter(|other| other.was_made_with(context));
        let base = base.and_then(Self::base);
        Self::build(known, (&kept.text, &kept.metadata), base.as_ref(), context)
    }

    /// The same object in the form that the context asks for.
    pub(crate) fn again(&self, context: &Arc<Context>) -> Result<Self, MalformedObject> {
        let (text, metadata) = self.text_and_metadata();
        let known = Known {
            key: self.key.clone(),
            uid: self.uid(),
            version: self.version(),
            common: Arc::clone(&self.common),
            generation: self.generation,
            marks: self.marks.load(Ordering::Relaxed) & DELETED,
        };
        Self::build(known, (&text, &metadata), None, context)
    }

    fn build(
        known: Known<'_>,
        (text, metadata): (&[u8], &Range<usize>),
        base: Option<&Arc<Base>>,
        context: &Arc<Context>,
    ) -> Result<Self, MalformedObject> {
        let Known { uid, version, .. } = known;
        let too_large = |what: &str| MalformedObject {
            key: Some(known.key.clone()),
            message: format!("{what} is too large"),
        };
        let short = |part: &str| {
            u8::try_from(part.len())
                .map_err(|_| too_large("a uid or resource version of more than 255 bytes"))
        };
        let (uid_len, version_len) = (short(uid)?, short(version)?);
        // Put together in room that is too large, and copied: an allocator does not take back what is left over.
        let mut bytes = Vec::with_capacity(uid.len() + version.len() + text.len() / 8);
        bytes.extend_from_slice(uid.as_bytes());
        bytes.extend_from_slice(version.as_bytes());
        let short_form = shorten((text, metadata), base, context, &mut bytes);
        let (form, bytes) = match short_form {
            Some(kept) => kept,
            None => {
                let place =
                    |at: usize| u32::try_from(at).map_err(|_| too_large("an object of more than 4 GiB"));
                let metadata = place(metadata.start)?..place(metadata.end)?;
                bytes.extend_from_slice(text);
                (Form::Plain { metadata }, Arc::from(&*bytes))
            }
        };
        let record = Self {
            uid: uid_len,
            version: version_len,
            key: known.key,
            bytes,
            form,
            common: known.common,
            generation: known.generation,
            context: Arc::clone(context),
            decoded: Mutex::default(),
            used: AtomicBool::new(false),
            marks: AtomicU8::new(known.marks),
        };
        record.count(AtomicUsize::fetch_add);
        Ok(record)
    }

    /// What other states of the object can be kept as differences from.
    fn base(&self) -> Option<Arc<Base>> {
        match &self.form {
            Form::Plain { .. } => None,
            Form::Packed(packed) => Some(Arc::new(Base::new(
                self.packed_text(*packed),
                &self.context.usage,
            ))),
            Form::Patched(base) => Some(Arc::clone(base)),
        }
    }

    fn packed_text(&self, packed: Packed) -> PackedText {
        PackedText {
            bytes: Arc::clone(&self.bytes),
            from: u16::from(self.uid) + u16::from(self.version),
            packed,
        }
    }

    /// Counts the record in or out.
    fn count(&self, by: fn(&AtomicUsize, usize, Ordering) -> usize) {
        let usage = &self.context.usage;
        by(&usage.records, 1, Ordering::Relaxed);
        by(&usage.bytes, self.size(), Ordering::Relaxed);
        by(&usage.text, self.text_len(), Ordering::Relaxed);
        if self.is_plain() {
            by(&usage.plain, self.text_len(), Ordering::Relaxed);
        }
    }

    /// What is kept of it but decoded forms and what it shares with others.
    fn size(&self) -> usize {
        // Both are behind an `Arc`, which counts its holders.
        let counts = 4 * size_of::<usize>();
        size_of::<Self>() + counts + self.bytes.len() + self.key.name.len()
    }

    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }

    pub(crate) fn uid(&self) -> &str {
        str_of(&self.bytes[..self.uid as usize])
    }

    pub(crate) fn version(&self) -> &str {
        let uid = self.uid as usize;
        str_of(&self.bytes[uid..uid + self.version as usize])
    }

    pub(crate) fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::new(self.version())
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.common.labels
    }

    pub(crate) fn owners(&self) -> Owners {
        match &self.common.owners {
            Owned::ByNobody => Owners::default(),
            Owned::Shared(owners) => Owners::shared(owners),
            Owned::InText => self.context.counters.decode(|| {
                let text = self.metadata_text();
                member(str_of(&text), "ownerReferences").map_or_else(Owners::default, Owners::read)
            }),
        }
    }

    pub(crate) fn generation(&self) -> Option<i64> {
        self.generation.map(NonZeroI64::get)
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        self.marks.load(Ordering::Relaxed) & DELETED != 0
    }

    pub(crate) fn was_made_with(&self, context: &Arc<Context>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.form, Form::Plain { .. })
    }

    #[cfg(test)]
    pub(crate) fn is_patched(&self) -> bool {
        matches!(self.form, Form::Patched(_))
    }

    pub(crate) fn text_len(&self) -> usize {
        match &self.form {
            Form::Plain { .. } => self.kept().len(),
            Form::Packed(packed) => packed.text_len(),
            Form::Patched(base) => self.patched(base).map_or(0, |patched| patched.text_len()),
        }
    }

    /// The object as it came, or as it was changed before it was stored.
    pub(crate) fn text(&self) -> Cow<'_, [u8]> {
        match &self.form {
            Form::Plain { .. } => Cow::Borrowed(self.kept()),
            Form::Packed(packed) => Cow::Owned(self.unpack(|codec| codec.text(&self.packed_text(*packed)))),
            Form::Patched(base) => Cow::Owned(self.unpack(|codec| self.patched(base)?.text(codec))),
        }
    }

    /// The same, with the place of the metadata.
    pub(crate) fn text_and_metadata(&self) -> (Cow<'_, [u8]>, Range<usize>) {
        (self.text(), self.metadata_range())
    }

    fn metadata_range(&self) -> Range<usize> {
        match &self.form {
            Form::Plain { metadata } => metadata.start as usize..metadata.end as usize,
            Form::Packed(packed) => packed.metadata(),
            Form::Patched(base) => self.patched(base).map_or(0..0, |patched| patched.metadata()),
        }
    }

    fn metadata_text(&self) -> Cow<'_, [u8]> {
        match &self.form {
            Form::Plain { metadata } => {
                Cow::Borrowed(&self.kept()[metadata.start as usize..metadata.end as usize])
            }
            Form::Packed(packed) => {
                let text = self.packed_text(*packed);
                Cow::Owned(self.unpack(|codec| codec.metadata(&text, <[u8]>::to_vec)))
            }
            Form::Patched(base) => Cow::Owned(self.unpack(|codec| self.patched(base)?.metadata_text(codec))),
        }
    }

    fn patched<'a>(&'a self, base: &'a Base) -> io::Result<Patched<'a>> {
        Patched::read(base, self.kept())
    }

    /// The text, as it is kept.
    fn kept(&self) -> &[u8] {
        &self.bytes[self.uid as usize + self.version as usize..]
    }

    /// What cannot be unpacked would be a fault of this crate or of the memory: whoever decodes it gets an error.
    fn unpack(&self, unpack: impl FnOnce(&Codec) -> io::Result<Vec<u8>>) -> Vec<u8> {
        let text = self.context.codec.as_ref().map(unpack);
        text.and_then(|text| {
            text.inspect_err(|error| tracing::error!(key = %self.key, %error, "an object cannot be unpacked"))
                .ok()
        })
        .unwrap_or_default()
    }

    /// The metadata, decoded now or lately.
    pub(crate) fn metadata(self: &Arc<Self>) -> Arc<ObjectMeta> {
        if let Some(metadata) = self
            .decoded
            .lock()
            .as_ref()
            .and_then(|decoded| decoded.metadata.as_ref())
        {
            self.used.store(true, Ordering::Relaxed);
            return Arc::clone(metadata);
        }
        let metadata = self.context.counters.decode(|| {
            let text = self.metadata_text();
            Arc::new(decode_metadata(str_of(&text)))
        });
        let (budget, bytes) = (&self.context.budget, self.decoded_bytes(Part::Metadata));
        if budget.admits(Part::Metadata, bytes, self.had_metadata()) {
            let mut decoded = self.decoded.lock();
            let before = decoded
                .get_or_insert_default()
                .metadata
                .replace(Arc::clone(&metadata));
            drop(decoded);
            // Another thread may have decoded it at the same time.
            if before.is_none() {
                budget.keep(self, Part::Metadata);
            }
        }
        metadata
    }

    /// The object as a `K`, decoded now or lately.
    pub(crate) fn object<K>(self: &Arc<Self>, look: Look) -> Result<Arc<K>, DecodeError>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let wanted = TypeId::of::<K>();
        let kept = self
            .decoded
            .lock()
            .as_ref()
            .and_then(|decoded| decoded.object(wanted));
        if let Some(object) = kept.and_then(|object| object.downcast::<K>().ok()) {
            self.used.store(true, Ordering::Relaxed);
            return Ok(object);
        }
        let object = Arc::new(self.project::<K>()?);
        let (budget, part) = (&self.context.budget, Part::Object(wanted));
        // A handler is shown every object, and again when that changes; who looks one up comes back.
        if budget.admits(part, self.decoded_bytes(part), look == Look::Lookup) {
            let mut decoded = self.decoded.lock();
            let objects = &mut decoded.get_or_insert_default().objects;
            let is_new = objects.iter().all(|(other, _)| *other != wanted);
            if is_new {
                objects.push((wanted, object.clone()));
            }
            drop(decoded);
            if is_new {
                budget.keep(self, part);
            }
        }
        Ok(object)
    }

    /// The object as a `K`, decoded now and not kept.
    pub(crate) fn project<K: DeserializeOwned>(&self) -> Result<K, DecodeError> {
        self.context.counters.decode(|| self.decode(&self.text()))
    }

    fn decode<K: DeserializeOwned>(&self, text: &[u8]) -> Result<K, DecodeError> {
        let text = str_of(text);
        let types = &*self.context.types;
        let decoded = if types.is_empty() || has_kind(text, Some("metadata")) {
            decode(text)
        } else {
            // A server that writes it behind the metadata would have it twice.
            let decoded = decode(&with_types(text, types));
            decoded.or_else(|error| {
                if has_kind(text, None) {
                    decode(text)
                } else {
                    Err(error)
                }
            })
        };
        decoded.map_err(|error: serde_json::Error| DecodeError {
            key: self.key.clone(),
            wanted: std::any::type_name::<K>(),
            message: error.to_string(),
        })
    }

    /// Whether the metadata were decoded before.
    fn had_metadata(&self) -> bool {
        self.marks.fetch_or(METADATA, Ordering::Relaxed) & METADATA != 0
    }

    /// Whether a decoded form was used since this was last asked.
    pub(crate) fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// What a decoded form takes, by an estimate.
    pub(crate) fn decoded_bytes(&self, part: Part) -> usize {
        match part {
            Part::Metadata => self.metadata_range().len().saturating_mul(METADATA_FACTOR),
            Part::Object(_) => self.text_len().saturating_mul(OBJECT_FACTOR),
        }
    }

    /// Takes a decoded form away, if there is one. Whoever gets it frees it: a decoded object can be large.
    pub(crate) fn evict(&self, part: Part) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut decoded = self.decoded.lock();
        let forms = decoded.as_deref_mut()?;
        let dropped: Option<Arc<dyn Any + Send + Sync>> = match part {
            Part::Metadata => forms.metadata.take().map(|metadata| metadata as _),
            Part::Object(wanted) => {
                let at = forms.objects.iter().position(|(other, _)| *other == wanted);
                at.map(|at| forms.objects.swap_remove(at).1)
            }
        };
        if forms.metadata.is_none() && forms.objects.is_empty() {
            *decoded = None;
        }
        dropped
    }
}

/// Appends a text in the shortest form that takes little time, to what else a record keeps; `None`, and nothing appended, where it is to stay as it is.
fn shorten(
    (text, metadata): (&[u8], &Range<usize>),
    base: Option<&Arc<Base>>,
    context: &Context,
    bytes: &mut Vec<u8>,
) -> Option<(Form, Arc<[u8]>)> {
    let codec = context.codec.as_ref()?;
    if let Some(base) = base
        && base.patch(codec, text, metadata, bytes).is_some()
    {
        return Some((Form::Patched(Arc::clone(base)), Arc::from(&**bytes)));
    }
    let others = |packer: &mut Packer| {
        if let Some(base) = patch_last(packer, text, metadata, &context.usage, bytes) {
            return Some((Form::Patched(base), Arc::from(&**bytes)));
        }
        let from = u16::try_from(bytes.len()).ok()?;
        let packed = packer.pack(text, metadata, bytes)?;
        let bytes: Arc<[u8]> = Arc::from(&**bytes);
        packer.stored(PackedText {
            bytes: Arc::clone(&bytes),
            from,
            packed,
        });
        Some((Form::Packed(packed), bytes))
    };
    codec.with_packer(others)?
}

impl Decoded {
    fn object(&self, wanted: TypeId) -> Option<Arc<dyn Any + Send + Sync>> {
        let found = self.objects.iter().find(|(other, _)| *other == wanted)?;
        Some(Arc::clone(&found.1))
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(forms) = self.decoded.get_mut().take() {
            let objects = forms.objects.len() * self.decoded_bytes(Part::Object(TypeId::of::<()>()));
            let metadata = forms.metadata.map_or(0, |_| self.decoded_bytes(Part::Metadata));
            self.context.budget.gone(objects + metadata);
        }
        self.count(AtomicUsize::fetch_sub);
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

/// Bits of [`Record::marks`]. The metadata were decoded before.
const METADATA: u8 = 1;
/// There is a deletion timestamp.
const DELETED: u8 = 2;

/// How much larger than its JSON text a decoded object is, roughly: a measured pod of 10 KB took 80 KiB, one of 6 KB
/// without managed fields 39.
const OBJECT_FACTOR: usize = 7;

/// The same for metadata: those of a pod, 900 bytes, took 3 KB.
const METADATA_FACTOR: usize = 4;

/// Text that was checked to be UTF-8 when it came.
fn str_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The value of a member of an object, as it is written; of two of one name the last. Names are not looked for behind escapes, with
/// which no server writes them.
fn member<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let mut members = Members::of(text)?;
    let mut found = None;
    while let Some(Ok(name)) = members.name() {
        let value = members.value()?;
        if name == wanted {
            found = Some(value);
        }
    }
    found
}

/// The text with the members that items of a typed list come without, and that dynamic objects need.
fn with_types(text: &str, types: &str) -> String {
    let (brace, rest) = text.split_at(text.find('{').map_or(0, |at| at + 1));
    let types = match rest.trim_ascii_start().chars().next() {
        Some('}') | None => types.trim_end_matches(','),
        Some(_) => types,
    };
    [brace, types, rest].concat()
}

/// Whether the object says of what kind it is, in front of a member. Servers say so first, and the values that come later are long.
fn has_kind(text: &str, in_front_of: Option<&str>) -> bool {
    let Some(mut members) = Members::of(text) else {
        return false;
    };
    while let Some(Ok(name)) = members.name() {
        if name == "kind" || name == "apiVersion" {
            return true;
        }
        if Some(name) == in_front_of || members.value().is_none() {
            break;
        }
    }
    false
}
