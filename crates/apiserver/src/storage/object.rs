//! A stored object: its bytes, its revision and what is read from it most.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};
use kubewright_kinds::Type;
use kubewright_kinds::protobuf::{EncodeError, Versionless};
use serde::Deserialize;
use serde_json::Value;

use super::encoded::EncodingError;
use super::{Encoded, Key, StorageError};
use crate::json;

/// A state of the whole store. One counter serves all resources; every write takes the next number. It is what clients see as
/// `resourceVersion`, also that of a list, so an empty store is at 1 and no revision is ever 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One version of one object, as it is stored. Immutable and cheap to clone.
#[derive(Clone)]
pub struct StoredObject(Arc<Inner>);

struct Inner {
    key: Key,
    encoded: Encoded,
    revision: Revision,
    create_revision: Revision,
    attributes: OnceLock<Arc<Attributes>>,
    fields: OnceLock<Arc<FieldValues>>,
    protobuf: OnceLock<Arc<Versionless>>,
}

/// The values of one version of an object that field selectors compare, in the order of the names that they were taken by. The store
/// keeps them and knows nothing of them: they cost a decoding, and every watcher with a selector asks for them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldValues {
    pub(crate) names: Arc<FieldNames>,
    pub(crate) values: Box<[Box<str>]>,
}

/// Which fields of which representation of an object were read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldNames {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) names: Vec<String>,
}

/// What selectors and preconditions read, parsed once per version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    uid: String,
    labels: BTreeMap<String, String>,
}

impl Attributes {
    /// `metadata.uid`; empty when there is none.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// `metadata.labels`; empty when there are none.
    #[must_use]
    pub const fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn parse(text: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Peek {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            uid: Option<String>,
            labels: Option<BTreeMap<String, String>>,
        }
        // Metadata of another form cannot come through validation; such an object has no labels rather than no place in a list.
        serde_json::from_slice::<Peek>(text).map_or_else(
            |_| Self::default(),
            |peek| Self {
                uid: peek.metadata.uid.unwrap_or_default(),
                labels: peek.metadata.labels.unwrap_or_default(),
            },
        )
    }
}

impl StoredObject {
    /// An object as a store read it: `revision` is that of its last change, `create_revision` that of its creation.
    #[must_use]
    pub fn new(key: Key, encoded: Encoded, revision: Revision, create_revision: Revision) -> Self {
        Self(Arc::new(Inner {
            key,
            encoded,
            revision,
            create_revision,
            attributes: OnceLock::new(),
            fields: OnceLock::new(),
            protobuf: OnceLock::new(),
        }))
    }

    /// Where the object is.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The revision of the last change: its `metadata.resourceVersion`.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// The revision at which the object was created.
    #[must_use]
    pub fn create_revision(&self) -> Revision {
        self.0.create_revision
    }

    /// The storage encoding.
    #[must_use]
    pub fn encoded(&self) -> &Encoded {
        &self.0.encoded
    }

    /// The stored text: JSON without a version.
    #[must_use]
    pub fn storage_bytes(&self) -> &Bytes {
        self.0.encoded.bytes()
    }

    /// Appends the JSON that clients get, with `metadata.resourceVersion`.
    pub fn write_wire(&self, out: &mut impl BufMut) {
        self.0.encoded.write_wire(self.0.revision.0, out);
    }

    /// An upper bound for the bytes that [`StoredObject::write_wire`] appends, at most 21 above what it will be.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        self.0.encoded.wire_len()
    }

    /// How many bytes [`StoredObject::write_wire`] appends.
    #[must_use]
    pub fn exact_wire_len(&self) -> usize {
        self.0.encoded.exact_wire_len(self.0.revision.0)
    }

    /// Appends the same without `apiVersion` and `kind`, as the items of lists of built-in kinds are.
    pub fn write_untyped(&self, out: &mut impl BufMut) {
        self.0.encoded.write_untyped(self.0.revision.0, out);
    }

    /// How many bytes [`StoredObject::write_untyped`] appends.
    #[must_use]
    pub fn exact_untyped_len(&self) -> usize {
        self.0.encoded.exact_untyped_len(self.0.revision.0)
    }

    /// The JSON that clients get, with `metadata.resourceVersion`.
    #[must_use]
    pub fn wire(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.wire_len());
        self.write_wire(&mut out);
        out.freeze()
    }

    /// The decoded object, with `metadata.resourceVersion`.
    ///
    /// A text that cannot be decoded gives `null` and a line in the log. Texts are checked when they enter ([`Encoded`]), so this
    /// takes a number beyond the range of a double that someone else wrote into the store; [`StoredObject::decode`] has the error.
    #[must_use]
    pub fn value(&self) -> Value {
        self.decode().unwrap_or_else(|err| {
            tracing::error!(key = %self.key(), error = &err as &dyn std::error::Error, "an object in the store cannot be decoded");
            Value::Null
        })
    }

    /// The decoded object, with `metadata.resourceVersion`.
    ///
    /// # Errors
    ///
    /// [`StorageError::Corrupt`] when the text is no JSON.
    pub fn decode(&self) -> Result<Value, StorageError> {
        let mut value = json::decode(self.storage_bytes()).map_err(|err| StorageError::Corrupt {
            key: self.key().clone(),
            source: EncodingError::Syntax {
                reason: err.to_string(),
                offset: err.column(),
            },
        })?;
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert(
                "resourceVersion".to_owned(),
                Value::String(self.0.revision.to_string()),
            );
        }
        Ok(value)
    }

    /// Whether a string of the object may have these letters in it. False tells that none has, without decoding.
    pub(crate) fn may_have(&self, letters: &str) -> bool {
        let text = self.storage_bytes();
        // Letters can be written as escapes, too.
        memchr::memmem::find(text, letters.as_bytes()).is_some() || memchr::memchr(b'\\', text).is_some()
    }

    /// Uid and labels, parsed at the first call.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        self.0
            .attributes
            .get_or_init(|| Arc::new(Attributes::parse(self.storage_bytes())))
    }

    /// The object in protobuf, where the stored text is one of a built-in kind. Encoded at the first call, for all who ask later.
    ///
    /// # Errors
    ///
    /// When the text is no object of that kind.
    pub(crate) fn protobuf(&self, kind: &Type) -> Result<Arc<Versionless>, EncodeError> {
        if let Some(encoded) = self.0.protobuf.get() {
            return Ok(encoded.clone());
        }
        let encoded = Arc::new(Versionless::encode(kind, &self.value())?);
        Ok(self.0.protobuf.get_or_init(|| encoded).clone())
    }

    /// The same state shown with another version, as the event of a deletion shows the last state with the revision of the
    /// deletion. Shares the bytes.
    #[must_use]
    pub fn at_revision(&self, revision: Revision) -> Self {
        Self(Arc::new(Inner {
            key: self.0.key.clone(),
            encoded: self.0.encoded.clone(),
            revision,
            create_revision: self.0.create_revision,
            attributes: self.0.attributes.clone(),
            fields: self.0.fields.clone(),
            protobuf: self.0.protobuf.clone(),
        }))
    }

    /// The values of these fields: those that were read first are kept, others are read each time.
    pub(crate) fn field_values(
        &self,
        names: &Arc<FieldNames>,
        read: impl FnOnce() -> Box<[Box<str>]>,
    ) -> Arc<FieldValues> {
        let read = || {
            Arc::new(FieldValues {
                names: Arc::clone(names),
                values: read(),
            })
        };
        match self.0.fields.get() {
            Some(kept) if Arc::ptr_eq(&kept.names, names) || kept.names == *names => Arc::clone(kept),
            Some(_) => read(),
            None => {
                let values = read();
                // Where another reader was faster, its values are the kept ones.
                let _ = self.0.fields.set(Arc::clone(&values));
                values
            }
        }
    }

    /// Whether both are one version of one object.
    pub(super) fn same_version(&self, other: &Self) -> bool {
        self.revision() == other.revision() && self.key() == other.key()
    }
}

/// Equal when key, revisions and bytes are.
impl PartialEq for StoredObject {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.same_version(other)
                && self.create_revision() == other.create_revision()
                && self.storage_bytes() == other.storage_bytes())
    }
}

impl Eq for StoredObject {}

impl fmt::Debug for StoredObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the content: it may be a secret.
        f.debug_struct("StoredObject")
            .field("key", self.key())
            .field("revision", &self.0.revision.0)
            .field("create_revision", &self.0.create_revision.0)
            .field("bytes", &self.storage_bytes().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> StoredObject {
        StoredObject::new(
            Key::new("", "pods", Some("a"), "b"),
            Encoded::from_value(value),
            Revision(9),
            Revision(4),
        )
    }

    #[test]
    fn shows_its_version_in_every_form() {
        let stored = object(&json!({"metadata": {"name": "b", "uid": "u", "labels": {"x": "y"}}}));
        let expect =
            json!({"metadata": {"name": "b", "uid": "u", "labels": {"x": "y"}, "resourceVersion": "9"}});
        assert_eq!(stored.value(), expect);
        assert_eq!(serde_json::from_slice::<Value>(&stored.wire()).unwrap(), expect);
        for metadata in [json!({}), json!({"name": "b"})] {
            let stored = object(&json!({"metadata": metadata}));
            for revision in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
                let stored = stored.at_revision(Revision(revision));
                assert_eq!(stored.exact_wire_len(), stored.wire().len(), "{revision}");
            }
        }
        assert_eq!(object(&json!(7)).exact_wire_len(), 1);
        let later = stored.at_revision(Revision(11));
        assert_eq!(later.value()["metadata"]["resourceVersion"], "11");
        assert_eq!(later.create_revision(), Revision(4));
        assert_eq!(
            later.storage_bytes().as_ptr(),
            stored.storage_bytes().as_ptr(),
            "the bytes are shared"
        );
    }

    #[test]
    fn attributes_are_read_without_decoding_the_rest() {
        let check = |value: Value, uid: &str, labels: &[(&str, &str)]| {
            let stored = object(&value);
            let expect: BTreeMap<_, _> = labels
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect();
            assert_eq!(
                (stored.attributes().uid(), stored.attributes().labels()),
                (uid, &expect),
                "{value}"
            );
        };
        check(
            json!({"metadata": {"uid": "u", "labels": {"b": "2", "a": "1"}}, "spec": {"labels": 3}}),
            "u",
            &[("a", "1"), ("b", "2")],
        );
        check(json!({"metadata": {"labels": null}}), "", &[]);
        check(json!({"metadata": {"labels": 7}}), "", &[]);
        check(json!({}), "", &[]);
    }

    #[test]
    fn fields_are_read_once_for_all_who_ask_for_the_same() {
        let names = |version: &str, names: &[&str]| {
            Arc::new(FieldNames {
                group: String::new(),
                version: version.to_owned(),
                names: names.iter().map(|&name| name.to_owned()).collect(),
            })
        };
        let stored = object(&json!({"metadata": {"name": "b"}}));
        let reads = std::cell::Cell::new(0);
        let check = |stored: &StoredObject, of: &Arc<FieldNames>, expect: usize| {
            let found = stored.field_values(of, || {
                reads.set(reads.get() + 1);
                of.names.iter().map(|name| name.as_str().into()).collect()
            });
            let texts: Vec<&str> = found.values.iter().map(AsRef::as_ref).collect();
            assert_eq!(texts, of.names);
            assert_eq!(reads.get(), expect, "{of:?}");
        };
        check(&stored, &names("v1", &["a", "b"]), 1);
        check(&stored, &names("v1", &["a", "b"]), 1);
        check(&stored.at_revision(Revision(11)), &names("v1", &["a", "b"]), 1);
        check(&stored, &names("v2", &["a", "b"]), 2);
        check(&stored, &names("v1", &["a"]), 3);
        check(&stored, &names("v1", &["a", "b"]), 3);
    }

    #[test]
    fn debug_output_does_not_show_the_content() {
        let stored = object(&json!({"data": {"password": "hunter2"}, "metadata": {}}));
        assert!(!format!("{stored:?}").contains("hunter2"));
    }
}
