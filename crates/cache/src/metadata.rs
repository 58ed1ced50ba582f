//! Metadata on its own, decoded from its part of an object's text.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright_core::json::decode;
use kubewright_core::{ObjectMeta, OwnerReference};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Decodes metadata. A field that is not of its type is left out and logged, so that it cannot hide the others. Managed
/// fields are left out.
pub(crate) fn decode_metadata(text: &str) -> ObjectMeta {
    // Nearly always all fields are of their types, and managed fields were left out before.
    let has_managed_fields = memchr::memmem::find(text.as_bytes(), b"\"managedFields\"").is_some();
    if has_managed_fields {
        return decode_by_field(text);
    }
    decode(text).unwrap_or_else(|_| decode_by_field(text))
}

fn decode_by_field(text: &str) -> ObjectMeta {
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
