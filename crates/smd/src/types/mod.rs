//! What server-side apply has to know about types: which lists have items of their own, and by which keys; which maps
//! are one value; what is a scalar.
//!
//! Upstream: structured-merge-diff `schema/elements.go`, and kube-openapi's `pkg/schemaconv`, which makes such types of
//! OpenAPI documents. Here the built-in types are read from the table of kinds as they are; other types are a
//! [`Schema`]; and where nothing is known, the type is deduced from the value.

mod kinds;
mod schema;

use std::borrow::Cow;

use serde_json::Value;

use kinds::Kind;
pub use schema::{Atom, Field, List, Map, Schema, SchemaError, TypeSpec};

/// What a scalar may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of them.
    Untyped,
}

/// How the parts of a list or a map belong together (structured-merge-diff's `ElementRelationship`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relationship {
    /// The whole is one value with one owner: the default of lists.
    Atomic,
    /// Items are values of their own, found by their keys, or in a set by their value. Only lists.
    Associative,
    /// Members are values of their own: the default of maps.
    Separable,
}

/// A type: what a value may be, and the types below it.
///
/// A type may be a scalar, a list and a map at once, where values of several JSON types are allowed.
#[derive(Debug, Clone, Copy)]
pub struct TypeRef<'t>(Repr<'t>);

#[derive(Debug, Clone, Copy)]
enum Repr<'t> {
    Deduced,
    Untyped,
    Kind(Kind),
    Schema {
        schema: &'t Schema,
        atom: &'t Atom,
        /// Takes the place of the one of the atom.
        relationship: Option<Relationship>,
    },
}

impl<'t> TypeRef<'t> {
    /// A type that is deduced from the value: maps are separable, lists are one value.
    pub const DEDUCED: Self = Self(Repr::Deduced);

    /// Any value, as one value.
    pub const UNTYPED: Self = Self(Repr::Untyped);

    /// The built-in type with a definition name such as `io.k8s.api.apps.v1.Deployment`.
    pub fn named(name: &str) -> Option<Self> {
        kubewright_kinds::table().type_named(name).map(Self::from)
    }

    /// The type of a built-in kind.
    pub fn kind(group: &str, version: &str, kind: &str) -> Option<Self> {
        kubewright_kinds::table()
            .kind(group, version, kind)
            .map(Self::from)
    }

    /// The scalar that values may be.
    pub(crate) fn scalar(self) -> Option<Scalar> {
        match self.0 {
            Repr::Deduced | Repr::Untyped => Some(Scalar::Untyped),
            Repr::Kind(kind) => kind.scalar(),
            Repr::Schema { atom, .. } => atom.scalar,
        }
    }

    /// The list that values may be.
    pub(crate) fn list(self) -> Option<ListRef<'t>> {
        match self.0 {
            Repr::Deduced | Repr::Untyped => Some(ListRef::UNTYPED),
            Repr::Kind(kind) => kind.list(),
            Repr::Schema {
                schema,
                atom,
                relationship,
            } => {
                let list = atom.list.as_ref()?;
                // An override is for the map, if there is one.
                let relationship = relationship.filter(|_| atom.map.is_none());
                Some(ListRef {
                    item: schema.resolve(&list.item),
                    relationship: relationship.unwrap_or(list.relationship),
                    keys: Keys::Owned(&list.keys),
                })
            }
        }
    }

    /// The map or object that values may be.
    pub(crate) fn map(self) -> Option<MapRef<'t>> {
        match self.0 {
            Repr::Deduced => Some(MapRef {
                relationship: Relationship::Separable,
                members: Members::Any(Self::DEDUCED),
            }),
            Repr::Untyped => Some(MapRef {
                relationship: Relationship::Atomic,
                members: Members::Any(Self::UNTYPED),
            }),
            Repr::Kind(kind) => kind.map(),
            Repr::Schema {
                schema,
                atom,
                relationship,
            } => {
                let map = atom.map.as_ref()?;
                Some(MapRef {
                    relationship: relationship.unwrap_or(map.relationship),
                    members: Members::Schema(schema, map),
                })
            }
        }
    }

    /// The object that a Go server has before a user sends one: members that Go always writes, with their zero values.
    ///
    /// What this object has is never owned by the one who creates an object: the reason why `f:spec` has no `.` in the
    /// sets of real servers. Types that are not built in give an empty object.
    pub fn zero_value(self) -> Value {
        match self.0 {
            Repr::Kind(kind) => kind.zero_value(),
            _ => Value::Object(serde_json::Map::new()),
        }
    }

    /// Whether it is a type of the table of kinds.
    pub(crate) fn is_built_in(self) -> bool {
        matches!(self.0, Repr::Kind(_))
    }

    /// Whether every value is of this type, and all that is in it.
    pub(crate) fn takes_anything(self) -> bool {
        matches!(self.0, Repr::Deduced | Repr::Untyped)
    }

    fn is_deduced(self) -> bool {
        matches!(self.0, Repr::Deduced)
    }

    /// Whether the atom is written in place and may be any scalar.
    fn is_inline_untyped(self) -> bool {
        match self.0 {
            Repr::Schema { schema, atom, .. } => {
                atom.scalar == Some(Scalar::Untyped) && !schema.has_named(atom)
            }
            _ => false,
        }
    }
}

impl From<&'static kubewright_kinds::Type> for TypeRef<'_> {
    fn from(ty: &'static kubewright_kinds::Type) -> Self {
        Self(Repr::Kind(Kind::root(ty)))
    }
}

/// A type seen as a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRef<'t> {
    pub(crate) item: TypeRef<'t>,
    pub(crate) relationship: Relationship,
    keys: Keys<'t>,
}

#[derive(Debug, Clone, Copy)]
enum Keys<'t> {
    Static(&'static [&'static str]),
    One(&'static str),
    Owned(&'t [String]),
}

impl<'t> ListRef<'t> {
    const UNTYPED: Self = Self {
        item: TypeRef::UNTYPED,
        relationship: Relationship::Atomic,
        keys: Keys::Static(&[]),
    };

    pub(crate) fn is_atomic(&self) -> bool {
        self.relationship == Relationship::Atomic
    }

    pub(crate) fn key_count(&self) -> usize {
        match self.keys {
            Keys::Static(keys) => keys.len(),
            Keys::One(_) => 1,
            Keys::Owned(keys) => keys.len(),
        }
    }

    /// The names of the keys, as declared.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        let keys = self.keys;
        (0..self.key_count()).map(move |at| match keys {
            Keys::Static(keys) => keys[at],
            Keys::One(key) => key,
            Keys::Owned(keys) => keys[at].as_str(),
        })
    }
}

/// A type seen as a map or an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapRef<'t> {
    pub(crate) relationship: Relationship,
    members: Members<'t>,
}

#[derive(Debug, Clone, Copy)]
enum Members<'t> {
    /// None is declared, all have this type.
    Any(TypeRef<'t>),
    Object(&'static kubewright_kinds::Type),
    Schema(&'t Schema, &'t Map),
}

impl<'t> MapRef<'t> {
    pub(crate) fn is_atomic(&self) -> bool {
        self.relationship == Relationship::Atomic
    }

    /// The type of a declared member.
    pub(crate) fn field(&self, name: &str) -> Option<TypeRef<'t>> {
        match self.members {
            Members::Any(_) => None,
            Members::Object(ty) => ty
                .field(name)
                .map(|field| TypeRef(Repr::Kind(Kind::of_field(field)))),
            Members::Schema(schema, map) => map.fields.get(name).map(|field| schema.resolve(&field.ty)),
        }
    }

    /// The type of members that are not declared, if there may be any.
    pub(crate) fn element(&self) -> Option<TypeRef<'t>> {
        match self.members {
            Members::Any(ty) => Some(ty),
            Members::Object(_) => None,
            Members::Schema(schema, map) => map.element.as_ref().map(|element| schema.resolve(element)),
        }
    }

    /// The default of a declared member.
    pub(crate) fn default(&self, name: &str) -> Option<Cow<'t, Value>> {
        match self.members {
            Members::Any(_) => None,
            Members::Object(ty) => kinds::default(ty.field(name)?).map(Cow::Owned),
            Members::Schema(_, map) => map.fields.get(name)?.default.as_ref().map(Cow::Borrowed),
        }
    }

    /// Whether only the values tell what the members are: such maps are not reconciled with changed schemas.
    pub(crate) fn is_deduced(&self) -> bool {
        let no_fields = match self.members {
            Members::Any(_) => true,
            Members::Object(_) => false,
            Members::Schema(_, map) => map.fields.is_empty(),
        };
        no_fields
            && self
                .element()
                .is_some_and(|element| element.is_deduced() || element.is_inline_untyped())
    }
}
