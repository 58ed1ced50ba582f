//! What the cache hands out.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use kubewright_core::{DynamicObject, ObjectKey, ObjectMeta, ResourceVersion};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::labels::Labels;
use crate::owners::Owners;
use crate::peek::{MalformedObject, ManagedFields, peek};
use crate::pool::Pool;
use crate::record::{Context, DecodeError, Look, Record};
use crate::store::StoreOptions;

/// An object in the cache, seen as a `K`.
///
/// Key, uid, version, generation and labels cost nothing, owners next to nothing; [`metadata`](Self::metadata) decodes the metadata
/// alone and [`object`](Self::object) the whole object, both when they are asked for. Objects that a reader looked up lately, and whatever is
/// asked for again, stay decoded while the store's byte budget allows; [`project`](Self::project) decodes what a type of yours names and
/// skips the rest. Objects are shared between all readers and never change: a newer version is another `Cached`.
///
/// `K` is a type from `k8s-openapi`, a derived custom resource, [`DynamicObject`] or
/// [`PartialObject`](kubewright_core::PartialObject). It is only a view: [`view`](Self::view) changes it.
pub struct Cached<K = DynamicObject> {
    record: Arc<Record>,
    look: Look,
    kind: PhantomData<fn() -> K>,
}

impl<K> Cached<K> {
    /// One that somebody has looked up.
    pub(crate) fn new(record: Arc<Record>) -> Self {
        Self {
            record,
            look: Look::Lookup,
            kind: PhantomData,
        }
    }

    /// One that is shown to a handler or an index function, as all are.
    pub(crate) fn in_passing(record: Arc<Record>) -> Self {
        Self {
            look: Look::InPassing,
            ..Self::new(record)
        }
    }

    #[cfg(test)]
    pub(crate) fn record(&self) -> &Arc<Record> {
        &self.record
    }

    /// An object that is in no store, such as one made by hand for a test or one that came another way.
    ///
    /// # Errors
    ///
    /// When the bytes are not a JSON object with a name and a resource version.
    pub fn from_json(raw: &[u8]) -> Result<Self, MalformedObject> {
        let context = Arc::new(Context::new("", "", StoreOptions::default().decoded_bytes));
        let head = peek(raw)?;
        let kept = head.keep(raw, ManagedFields::Keep);
        let record = Record::new(&head, &kept, None, &context, &Mutex::new(Pool::default()))?;
        Ok(Self::new(Arc::new(record)))
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        self.record.key()
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.record.key().name
    }

    /// The namespace; `None` for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.record.key().namespace.as_deref()
    }

    /// The uid: two objects of the same key with different uids are different objects.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.record.uid()
    }

    /// The version of this state of the object.
    #[must_use]
    pub fn resource_version(&self) -> ResourceVersion {
        self.record.resource_version()
    }

    /// Whether the other is the same state of the same object.
    #[must_use]
    pub fn same_version(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.record, &other.record)
            || (self.uid() == other.uid() && self.record.version() == other.record.version())
    }

    /// The metadata, without managed fields, decoded without decoding the rest.
    ///
    /// A field that does not have the type it should have is left out (and logged): the server never sends one.
    #[must_use]
    pub fn metadata(&self) -> Arc<ObjectMeta> {
        self.record.metadata()
    }

    /// The labels, without decoding anything.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        self.record.labels()
    }

    /// The owner references. What several objects of the store have in common is not decoded for this.
    ///
    /// A list that is none is left out (and logged): the server never sends one.
    #[must_use]
    pub fn owners(&self) -> Owners {
        self.record.owners()
    }

    /// `metadata.generation`, which the server raises whenever the spec changes, without decoding anything; `None` for kinds that
    /// have none.
    #[must_use]
    pub fn generation(&self) -> Option<i64> {
        self.record.generation()
    }

    /// Whether there is a `metadata.deletionTimestamp`: the object is being deleted and waits for its finalizers or for the end of
    /// its grace period.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.record.is_being_deleted()
    }

    /// The object as JSON, unpacked and copied by each call. An item of a typed list comes without `kind` and
    /// `apiVersion`, and the store may have left out managed fields
    /// ([`StoreOptions::managed_fields`](crate::StoreOptions::managed_fields)).
    #[must_use]
    pub fn raw(&self) -> Bytes {
        Bytes::from(self.record.text().into_owned())
    }

    /// A part of the object: a type that names some fields gets those, and the others are skipped, which takes a
    /// fraction of the time of the whole. Decoded by each call and not kept.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_cache::{Cached, DecodeError};
    /// #[derive(serde::Deserialize)]
    /// struct Placement { spec: PlacementSpec }
    /// #[derive(serde::Deserialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct PlacementSpec { node_name: Option<String> }
    ///
    /// fn node(pod: &Cached<Pod>) -> Result<Option<String>, DecodeError> {
    ///     Ok(pod.project::<Placement>()?.spec.node_name)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// When the bytes do not fit `T`.
    pub fn project<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        self.record.project()
    }

    /// The whole object.
    ///
    /// # Errors
    ///
    /// When the bytes do not fit `K`. One undecodable object concerns nobody who does not look at it.
    pub fn object(&self) -> Result<Arc<K>, DecodeError>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        self.record.object(self.look)
    }

    /// The same object seen as another type.
    #[must_use]
    pub fn view<J>(&self) -> Cached<J> {
        Cached {
            record: Arc::clone(&self.record),
            look: self.look,
            kind: PhantomData,
        }
    }
}

impl<K> Clone for Cached<K> {
    fn clone(&self) -> Self {
        self.view()
    }
}

impl<K> fmt::Debug for Cached<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached")
            .field("key", self.key())
            .field("uid", &self.uid())
            .field("resource_version", &self.record.version())
            .finish_non_exhaustive()
    }
}
