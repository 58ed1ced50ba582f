//! Types that are made at run time: of custom resources, and of tests.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use super::{Relationship, Repr, Scalar, TypeRef};

/// What a value may be. One that is nothing at all takes no value.
#[derive(Debug, Clone, Default)]
pub struct Atom {
    /// A scalar. Default: none.
    pub scalar: Option<Scalar>,
    /// A list. Default: none.
    pub list: Option<List>,
    /// A map or an object. Default: none.
    pub map: Option<Map>,
}

impl Atom {
    /// A scalar and nothing else.
    pub fn scalar(scalar: Scalar) -> Self {
        Self {
            scalar: Some(scalar),
            ..Self::default()
        }
    }

    /// A list and nothing else.
    pub fn list(list: List) -> Self {
        Self {
            list: Some(list),
            ..Self::default()
        }
    }

    /// A map and nothing else.
    pub fn map(map: Map) -> Self {
        Self {
            map: Some(map),
            ..Self::default()
        }
    }
}

/// A list.
#[derive(Debug, Clone)]
pub struct List {
    /// The type of the items.
    pub item: TypeSpec,
    /// Whether the items are values of their own.
    pub relationship: Relationship,
    /// The keys by which items are found; none for sets.
    pub keys: Vec<String>,
}

/// A map or an object.
#[derive(Debug, Clone)]
pub struct Map {
    /// The declared members.
    pub fields: BTreeMap<String, Field>,
    /// The type of all other members; without one there may be none.
    pub element: Option<TypeSpec>,
    /// Whether the members are values of their own.
    pub relationship: Relationship,
}

impl Default for Map {
    /// A separable map without members.
    fn default() -> Self {
        Self {
            fields: BTreeMap::new(),
            element: None,
            relationship: Relationship::Separable,
        }
    }
}

/// A declared member.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its type.
    pub ty: TypeSpec,
    /// What stands for an absent value, where it is a key of a list.
    pub default: Option<Value>,
}

impl From<TypeSpec> for Field {
    fn from(ty: TypeSpec) -> Self {
        Self { ty, default: None }
    }
}

/// A reference to a type from within a schema.
#[derive(Debug, Clone)]
pub enum TypeSpec {
    /// The type is written here.
    Inline(Box<Atom>),
    /// A type of the schema.
    Named {
        /// Its name.
        name: String,
        /// What takes the place of its own relationship.
        relationship: Option<Relationship>,
    },
    /// A built-in type, by the name of its definition.
    BuiltIn(String),
    /// The type is deduced from the value: maps are separable, lists are one value.
    Deduced,
    /// Any value, as one value.
    Untyped,
}

impl From<Atom> for TypeSpec {
    fn from(atom: Atom) -> Self {
        Self::Inline(Box::new(atom))
    }
}

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A reference leads nowhere.
    #[error("schema error: no type found matching: {name}")]
    NoSuchType {
        /// The name referred to.
        name: String,
    },
    /// Types nest deeper than [`MAX_DEPTH`](crate::fields::MAX_DEPTH).
    #[error(
        "schema error: types are nested deeper than {} levels",
        crate::fields::MAX_DEPTH
    )]
    TooDeep,
}

/// Named types. Immutable, and complete: every reference leads somewhere.
#[derive(Debug, Default)]
pub struct Schema {
    types: BTreeMap<String, Atom>,
}

impl Schema {
    /// A schema of these types.
    ///
    /// # Errors
    /// Where a type refers to one that is not there, or nests too deep.
    pub fn new(types: BTreeMap<String, Atom>) -> Result<Self, SchemaError> {
        let schema = Self { types };
        for atom in schema.types.values() {
            schema.check_atom(atom, 0)?;
        }
        Ok(schema)
    }

    /// A schema of one type, see [`root`](Self::root).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn single(root: Atom) -> Result<Self, SchemaError> {
        Self::new(BTreeMap::from([(String::new(), root)]))
    }

    /// The type of a schema of one type; of others, a deduced one.
    pub fn root(&self) -> TypeRef<'_> {
        self.named("").unwrap_or(TypeRef::DEDUCED)
    }

    /// The type with a name.
    pub fn named(&self, name: &str) -> Option<TypeRef<'_>> {
        let atom = self.types.get(name)?;
        Some(TypeRef(Repr::Schema {
            schema: self,
            atom,
            relationship: None,
        }))
    }

    fn check_atom(&self, atom: &Atom, depth: usize) -> Result<(), SchemaError> {
        if depth > crate::fields::MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        if let Some(list) = &atom.list {
            self.check(&list.item, depth + 1)?;
        }
        if let Some(map) = &atom.map {
            let fields = map.fields.values().map(|field| &field.ty);
            fields
                .chain(&map.element)
                .try_for_each(|ty| self.check(ty, depth + 1))?;
        }
        Ok(())
    }

    fn check(&self, ty: &TypeSpec, depth: usize) -> Result<(), SchemaError> {
        let (found, name) = match ty {
            TypeSpec::Inline(atom) => return self.check_atom(atom, depth),
            TypeSpec::Named { name, .. } => (self.types.contains_key(name), name),
            TypeSpec::BuiltIn(name) => (TypeRef::named(name).is_some(), name),
            TypeSpec::Deduced | TypeSpec::Untyped => return Ok(()),
        };
        if found {
            Ok(())
        } else {
            Err(SchemaError::NoSuchType { name: name.clone() })
        }
    }

    /// The type that a reference means. References were checked, so that none falls back to an untyped value.
    pub(super) fn resolve<'t>(&'t self, ty: &'t TypeSpec) -> TypeRef<'t> {
        let (atom, relationship) = match ty {
            TypeSpec::Inline(atom) => (Some(&**atom), None),
            TypeSpec::Named { name, relationship } => (self.types.get(name), *relationship),
            TypeSpec::BuiltIn(name) => return TypeRef::named(name).unwrap_or(TypeRef::UNTYPED),
            TypeSpec::Deduced => return TypeRef::DEDUCED,
            TypeSpec::Untyped => return TypeRef::UNTYPED,
        };
        match atom {
            Some(atom) => TypeRef(Repr::Schema {
                schema: self,
                atom,
                relationship,
            }),
            None => TypeRef::UNTYPED,
        }
    }

    /// Whether the atom is that of a named type.
    pub(super) fn has_named(&self, atom: &Atom) -> bool {
        self.types.values().any(|named| std::ptr::eq(named, atom))
    }
}
