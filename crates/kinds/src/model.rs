//! What the table holds: resources, types, fields, and how they are looked up.
//!
//! Everything borrows from the included text or from arenas that live as long as the process, so every reference is
//! `'static` and every enum is `Copy`.

use std::cmp::Ordering;
use std::fmt;

use crate::table;

/// Every built-in resource and type. There is one value of it: [`table()`](crate::table()).
#[derive(Debug)]
pub struct Table {
    pub(crate) resources: Vec<Resource>,
    /// Sorted by name.
    pub(crate) types: &'static [Type],
    /// Sorted by group, version, kind.
    pub(crate) kinds: Vec<KindEntry>,
}

/// One group, version and kind that a type can travel under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindEntry {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) object: TypeId,
}

impl Table {
    /// All resources: groups in the priority order of upstream's discovery, versions of a group in priority order
    /// (stable first), resources of a version by plural name.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The resource served at a path, by its plural name. The core group is `""`.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        self.resources
            .iter()
            .find(|r| r.plural == plural && r.version == version && r.group == group)
    }

    /// The resource whose objects have this kind.
    pub fn resource_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Resource> {
        self.resources
            .iter()
            .find(|r| r.kind == kind && r.version == version && r.group == group)
    }

    /// The type of a kind, also of kinds that have no resource of their own: `Scale`, `Eviction`, `TokenRequest`,
    /// `DeleteOptions`, `Status`, `WatchEvent` and all lists.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&'static Type> {
        let at = self
            .kinds
            .binary_search_by(|e| (e.group, e.version, e.kind).cmp(&(group, version, kind)))
            .ok()?;
        self.types.get(usize::from(self.kinds[at].object.0))
    }

    /// The type with a definition name such as `io.k8s.api.core.v1.PodSpec`.
    pub fn type_named(&self, name: &str) -> Option<&'static Type> {
        let at = self.types.binary_search_by(|t| t.name.cmp(name)).ok()?;
        self.types.get(at)
    }

    /// All types, by name.
    pub fn types(&self) -> &[Type] {
        self.types
    }
}

/// Whether objects of a resource live in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Objects live in a namespace.
    Namespaced,
    /// Objects belong to the whole cluster.
    Cluster,
}

/// One resource of one version of a group, as discovery shows it (upstream's `api/discovery/aggregated_v2.json`).
#[derive(Debug)]
#[non_exhaustive]
pub struct Resource {
    /// The API group, `""` for the core group.
    pub group: &'static str,
    /// The version within the group.
    pub version: &'static str,
    /// The kind of the resource's objects.
    pub kind: &'static str,
    /// The name in paths, such as `pods`.
    pub plural: &'static str,
    /// The singular name, such as `pod`.
    pub singular: &'static str,
    /// Whether objects live in a namespace.
    pub scope: Scope,
    /// Short names that command lines accept.
    pub short_names: &'static [&'static str],
    /// Categories such as `all`.
    pub categories: &'static [&'static str],
    /// Verbs, in alphabetical order.
    pub verbs: &'static [&'static str],
    /// Subresources by name.
    pub subresources: Vec<Subresource>,
    /// The version of the group in which upstream 1.37 stores objects of this resource (its own where nothing is
    /// stored, as for reviews).
    pub storage_version: &'static str,
    /// Whether upstream serves it without `--runtime-config`: alpha and, since 1.24, beta versions are off
    /// (KEP-3136).
    pub served_by_default: bool,
    pub(crate) object: TypeId,
}

impl Resource {
    /// The type of the resource's objects.
    pub fn object_type(&self) -> &'static Type {
        self.object.get()
    }

    /// The `apiVersion` of the resource's objects.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The subresource with this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
}

/// A subresource and the kind it takes or answers with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Subresource {
    /// The name below the object's path, such as `status`.
    pub name: &'static str,
    /// The group of its kind.
    pub group: &'static str,
    /// The version of its kind.
    pub version: &'static str,
    /// Its kind, such as `Scale`. Kinds of connect options (`PodExecOptions`) have no type in the table.
    pub kind: &'static str,
    /// Verbs, in alphabetical order.
    pub verbs: &'static [&'static str],
}

/// The number of a type in [`Table::types`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) u16);

impl TypeId {
    /// The type itself.
    pub fn get(self) -> &'static Type {
        &table().types[usize::from(self.0)]
    }
}

impl fmt::Debug for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeId({})", self.0)
    }
}

/// One definition: an object with fields, or one of the types with an encoding of their own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Type {
    /// The definition's name, such as `io.k8s.api.core.v1.PodSpec`.
    pub name: &'static str,
    /// `None` for an object; the value itself for a type with a form of its own, such as [`Value::Quantity`].
    pub special: Option<Value>,
    /// Whether appliers own the object as a whole (`x-kubernetes-map-type`).
    pub map_type: MapType,
    /// The minor version from which the type exists; [`OLDEST_MINOR`](crate::OLDEST_MINOR) means that or before.
    pub since: u8,
    pub(crate) id: TypeId,
    /// Sorted by name.
    pub(crate) fields: &'static [Field],
    /// Indices into `fields` in the order in which protobuf writes them: by tag.
    pub(crate) by_tag: &'static [u8],
}

impl Type {
    /// The fields, by JSON name. Objects that JSON inlines are flattened in.
    pub fn fields(&self) -> &'static [Field] {
        self.fields
    }

    /// The field with this JSON name.
    pub fn field(&self, json_name: &str) -> Option<&'static Field> {
        let at = self.fields.binary_search_by(|f| order(f.name, json_name)).ok()?;
        self.fields.get(at)
    }

    /// The field with this JSON name, for who asks for names in their order: `from` is where the search begins, and where the next one
    /// does.
    pub fn field_from(&self, from: &mut usize, json_name: &str) -> Option<&'static Field> {
        let rest = self.fields.get(*from..)?;
        for (skipped, field) in rest.iter().enumerate() {
            match order(field.name, json_name) {
                Ordering::Less => {}
                Ordering::Equal => {
                    *from += skipped + 1;
                    return Some(field);
                }
                Ordering::Greater => {
                    *from += skipped;
                    return None;
                }
            }
        }
        *from = self.fields.len();
        None
    }

    /// The field with this protobuf tag, of those that are not in an inlined message.
    pub fn field_by_tag(&self, tag: u32) -> Option<&'static Field> {
        self.wire_fields()
            .find(|f| f.inlined_in[0] == 0 && f.tag == tag && tag != 0)
    }

    /// The type's number in the table.
    pub fn id(&self) -> TypeId {
        self.id
    }

    /// The fields in the order in which they are written, those without a tag first.
    pub(crate) fn wire_fields(&self) -> impl DoubleEndedIterator<Item = &'static Field> + use<> {
        let fields = self.fields;
        self.by_tag.iter().map(move |&at| &fields[usize::from(at)])
    }
}

/// The order of two names. Most differ in their first bytes, which are compared in less time than it takes to call `memcmp`.
fn order(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    left.first().cmp(&right.first()).then_with(|| left.cmp(right))
}

/// One field of an object.
#[derive(Debug)]
#[non_exhaustive]
pub struct Field {
    /// The JSON name.
    pub name: &'static str,
    /// The protobuf tag, 0 where protobuf does not carry the field (`apiVersion` and `kind` travel in the envelope).
    pub tag: u32,
    /// The tags of the messages that JSON inlines and this field is in (`volumeSource` of a `Volume` has tag 2),
    /// outermost first, 0 for none.
    pub inlined_in: [u8; 2],
    /// What it holds.
    pub value: Value,
    /// What an absent and what a zero value mean to Go's encoders.
    pub presence: Presence,
    /// Whether the schema requires it.
    pub required: bool,
    /// The minor version from which the field exists; [`OLDEST_MINOR`](crate::OLDEST_MINOR) means that or before.
    pub since: u8,
    /// How appliers share the list (`x-kubernetes-list-type`). `None` means atomic for server-side apply.
    pub list_type: Option<ListType>,
    /// The keys of a list of type map.
    pub map_keys: &'static [&'static str],
    /// Whether appliers own the map or object as a whole, by the field's or by its type's own word.
    pub map_type: MapType,
    /// What strategic merge patch does with it.
    pub patch_strategy: PatchStrategy,
    /// The key by which strategic merge patch merges a list of objects.
    pub merge_key: Option<&'static str>,
    /// The values that upstream's Go type marks with `+enum`, of a list those of its items; empty where any is
    /// allowed.
    pub enum_values: &'static [&'static str],
    /// The default that upstream declares with `+default`, as JSON text. Most defaults are code upstream and not here.
    pub default: Option<&'static str>,
    /// In protobuf the list is a message of its own with the items at tag 1 (Go's named slices `ExtraValue`, `Verbs`).
    pub(crate) list_message: bool,
}

/// What a field, an item of a list or an entry of a map holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A double-precision number.
    Double,
    /// Bytes, base64 in JSON.
    Bytes,
    /// RFC 3339 with seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    /// A `resource.Quantity`: a string such as `100m`; JSON numbers are accepted.
    Quantity,
    /// An integer or a string.
    IntOrString,
    /// An embedded object of any kind.
    RawExtension,
    /// Any JSON value.
    Json,
    /// A set of fields, as `managedFields` has them.
    FieldsV1,
    /// `JSONSchemaPropsOrArray`: a schema or a list of them.
    SchemaOrArray,
    /// `JSONSchemaPropsOrBool`: a schema or a boolean.
    SchemaOrBool,
    /// `JSONSchemaPropsOrStringArray`: a schema or a list of strings.
    SchemaOrStringArray,
    /// An object with fields.
    Object(TypeId),
    /// A list. Inside a map it is a message of its own in protobuf, as that cannot nest them.
    Array(&'static Self),
    /// A map from strings.
    Map(&'static Self),
}

/// What Go's encoders do with a field that is absent or zero. It follows from the Go type and its JSON tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// A pointer, list or map: absent stays absent, and an explicit zero is kept for pointers.
    Optional,
    /// A plain value with `omitempty`: zero is the same as absent in JSON; protobuf always writes it.
    OmitZero,
    /// A plain value whose zero is written: `0`, `""`, `false`, `{}`. Protobuf always writes it. A Go server answers
    /// with it even where the client sent nothing (`status: {}`, `resources: {}`).
    Always,
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListType {
    /// Owned as a whole.
    Atomic,
    /// Unique scalars, owned one by one.
    Set,
    /// Objects with keys, owned one by one.
    Map,
}

/// `x-kubernetes-map-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MapType {
    /// Entries are owned one by one.
    #[default]
    Granular,
    /// Owned as a whole.
    Atomic,
}

/// `x-kubernetes-patch-strategy`. The default is to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PatchStrategy {
    /// Lists merge, by [`Field::merge_key`] if they hold objects.
    pub merge: bool,
    /// Keys that the patch does not name go away.
    pub retain_keys: bool,
}

impl PatchStrategy {
    /// Whether the patch's value replaces the old one.
    pub fn is_replace(self) -> bool {
        !self.merge
    }
}
