//! What all generated types have in common: the macros that write them, and how they are read.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// A type of the Kubernetes API with every field optional.
///
/// ```text
/// object! { NAME [as API_VERSION KIND] { FIELD METHOD JSON_NAME TYPE, ... } }
/// ```
///
/// A TYPE is a name, `[TYPE]` for a list or `{TYPE}` for a map from strings. What `serde` derives would do the same and take several
/// times as long to compile.
macro_rules! object {
    (
        $(#[$about:meta])*
        $name:ident $(as $api_version:literal $kind:literal)? {
            $($(#[$note:meta])* $field:ident $with:ident $json:literal $type:tt,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("`", $json, "`")]
                $(#[doc = ""] #[$note])*
                pub $field: Option<object!(@type $type)>,
            )*
        }

        impl $name {
            $(object!(@with $with $field $json $type);)*
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                #[allow(unused_mut, reason = "some types have no fields")]
                let mut map = serializer.serialize_map(None)?;
                $(
                    map.serialize_entry("apiVersion", $api_version)?;
                    map.serialize_entry("kind", $kind)?;
                )?
                $(if let Some(value) = &self.$field {
                    map.serialize_entry($json, value)?;
                })*
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::object::Reader::new(stringify!($name)))
            }
        }

        impl $crate::object::Fields for $name {
            fn read<'de, A: ::serde::de::MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
                match name {
                    $(
                        "apiVersion" => $crate::object::expect(map, $api_version)?,
                        "kind" => $crate::object::expect(map, $kind)?,
                    )?
                    $($json => self.$field = map.next_value()?,)*
                    _ => $crate::object::skip(map)?,
                }
                Ok(())
            }
        }
    };

    (@type [$item:tt]) => { Vec<object!(@type $item)> };
    (@type {$entry:tt}) => { ::std::collections::BTreeMap<String, object!(@type $entry)> };
    (@type $type:ident) => { $type };

    (@with $with:ident $field:ident $json:literal [$item:tt]) => {
        #[doc = concat!("Adds to `", $json, "`.")]
        #[must_use]
        pub fn $with<T: $crate::IntoField<object!(@type $item)>>(mut self, items: impl IntoIterator<Item = T>) -> Self {
            let items = items.into_iter().map($crate::IntoField::into_field);
            self.$field.get_or_insert_default().extend(items);
            self
        }
    };
    (@with $with:ident $field:ident $json:literal {$entry:tt}) => {
        #[doc = concat!("Adds to `", $json, "`.")]
        #[must_use]
        pub fn $with<K: Into<String>, T: $crate::IntoField<object!(@type $entry)>>(
            mut self,
            entries: impl IntoIterator<Item = (K, T)>,
        ) -> Self {
            let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into_field()));
            self.$field.get_or_insert_default().extend(entries);
            self
        }
    };
    (@with $with:ident $field:ident $json:literal $type:ident) => {
        #[doc = concat!("Sets `", $json, "`.")]
        #[must_use]
        pub fn $with(mut self, value: impl $crate::IntoField<$type>) -> Self {
            self.$field = Some(value.into_field());
            self
        }
    };
}

/// What kinds have besides: a constructor with what identifies an object, and short ways into its metadata.
macro_rules! kind {
    ($name:ident namespaced) => {
        impl $name {
            /// The object of this name in a namespace, with nothing else set.
            pub fn new(name: impl Into<String>, namespace: impl Into<String>) -> Self {
                Self {
                    metadata: Some($crate::meta::v1::ObjectMeta {
                        name: Some(name.into()),
                        namespace: Some(namespace.into()),
                        ..Default::default()
                    }),
                    ..Self::default()
                }
            }
        }
        kind!(@metadata $name);
    };
    ($name:ident cluster) => {
        impl $name {
            /// The object of this name, with nothing else set.
            pub fn new(name: impl Into<String>) -> Self {
                Self {
                    metadata: Some($crate::meta::v1::ObjectMeta {
                        name: Some(name.into()),
                        ..Default::default()
                    }),
                    ..Self::default()
                }
            }
        }
        kind!(@metadata $name);
    };
    (@metadata $name:ident) => {
        impl $name {
            /// Adds labels to the metadata.
            #[must_use]
            pub fn with_labels<K: Into<String>, V: $crate::IntoField<String>>(
                mut self,
                labels: impl IntoIterator<Item = (K, V)>,
            ) -> Self {
                let metadata = self.metadata.take().unwrap_or_default();
                self.metadata = Some(metadata.with_labels(labels));
                self
            }

            /// Adds annotations to the metadata.
            #[must_use]
            pub fn with_annotations<K: Into<String>, V: $crate::IntoField<String>>(
                mut self,
                annotations: impl IntoIterator<Item = (K, V)>,
            ) -> Self {
                let metadata = self.metadata.take().unwrap_or_default();
                self.metadata = Some(metadata.with_annotations(annotations));
                self
            }

            /// Adds owners to the metadata.
            #[must_use]
            pub fn with_owner_references<T: $crate::IntoField<$crate::meta::v1::OwnerReference>>(
                mut self,
                owners: impl IntoIterator<Item = T>,
            ) -> Self {
                let metadata = self.metadata.take().unwrap_or_default();
                self.metadata = Some(metadata.with_owner_references(owners));
                self
            }
        }
    };
}

/// Ties a type to the kind that it is applied as.
macro_rules! applies {
    ($name:ident: $kind:ty) => {
        impl ::kubewright_core::Applicable<$kind> for $name {}
    };
}

/// A generated type, as it is read.
pub(crate) trait Fields: Default {
    /// Takes the value that is next in the map into the field with this JSON name.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a [`Fields`] from a map.
pub(crate) struct Reader<T> {
    name: &'static str,
    object: PhantomData<fn() -> T>,
}

impl<T> Reader<T> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self {
            name,
            object: PhantomData,
        }
    }
}

impl<'de, T: Fields> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut object = T::default();
        while let Some(Key(name)) = map.next_key()? {
            object.read(&name, &mut map)?;
        }
        Ok(object)
    }
}

/// The name of a member, copied only where it has escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl<'de> Visitor<'de> for Name {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E>(self, name: String) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name)))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

/// The `apiVersion` or `kind` of an object, which is known already.
pub(crate) fn expect<'de, A: MapAccess<'de>>(map: &mut A, expected: &str) -> Result<(), A::Error> {
    let found: Cow<'de, str> = map.next_value()?;
    if found == expected {
        return Ok(());
    }
    Err(A::Error::custom(format_args!(
        "expected {expected}, found {found}"
    )))
}

/// A field that these types do not have.
pub(crate) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}
