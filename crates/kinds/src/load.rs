//! Reads the table's text into arenas.
//!
//! Two passes over the lines: the first numbers the types, so that the second can resolve references as it goes. The
//! arenas are leaked once; the strings stay where they are, in the text. The grammar, a line each:
//!
//! ```text
//! type NAME [special=VALUE] [map=atomic] [since=MINOR]
//! kind KIND GROUP/VERSION...                 of the type above; the core group is empty
//!  NAME TAG TYPE [ATTRIBUTE...] [enum=VALUE,...]   a field of it (one leading space)
//! resource GROUP/VERSION PLURAL SINGULAR KIND SCOPE VERBS [ATTRIBUTE...]
//! sub NAME GROUP/VERSION/KIND VERBS          of the resource above
//! ```
//!
//! A TAG is `3`, or `2.5` for tag 5 inside the inlined message with tag 2, or one more level of that; 0 is none. A TYPE
//! is an optional presence (`*` for a pointer, `+` where zero is written), then `[]` or `{}` for a list or map, then a
//! value: a lower-case word or the name of a type, short within the same package. Attributes are `required`, `message`
//! (the list is a message of its own), `since=MINOR`, `list=atomic|set|map:KEY,...`, `map=atomic|granular`,
//! `patch=STRATEGY,...[:KEY]` and `default=JSON`; of a resource `short=`, `categories=`, `storage=VERSION` and `off`
//! (not served by default). Types are sorted by name, fields by JSON name, and types come before resources.

use std::collections::HashMap;

use crate::model::{
    Field, KindEntry, ListType, MapType, PatchStrategy, Presence, Resource, Scope, Subresource, Table, Type,
    TypeId, Value,
};

/// What is wrong with the text, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct LoadError {
    /// Counted from 1.
    pub(crate) line: usize,
    /// What was expected.
    pub(crate) reason: &'static str,
}

/// Parses the text.
pub(crate) fn load(text: &'static str) -> Result<Table, LoadError> {
    let names = Names::scan(text)?;
    let mut loader = Loader {
        values: names.values(),
        lists: HashMap::new(),
        types: Vec::with_capacity(names.names.len()),
        fields: Vec::with_capacity(text.len() / BYTES_PER_FIELD),
        names,
        kinds: Vec::new(),
        resources: Vec::new(),
    };
    for (at, line) in lines(text).enumerate() {
        loader
            .line(line)
            .map_err(|reason| LoadError { line: at + 1, reason })?;
    }
    Ok(loader.finish())
}

/// The lines of a text that ends with a line break. The standard library's search is slower, and this is most of the
/// work of loading.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', text.as_bytes()).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    })
}

/// About how many bytes of the text there are for each field, to size the arena once.
const BYTES_PER_FIELD: usize = 52;

type Fault = &'static str;

/// The names of all types, in the text's order, which is sorted.
struct Names {
    names: Vec<&'static str>,
    /// By type: whether it is atomic, and its value if it is a special one.
    atomic: Vec<bool>,
    special: Vec<Option<Value>>,
    /// The package of a name, and the range of types in it.
    packages: HashMap<&'static str, (usize, usize)>,
}

impl Names {
    fn scan(text: &'static str) -> Result<Self, LoadError> {
        let mut names = Self {
            names: Vec::new(),
            atomic: Vec::new(),
            special: Vec::new(),
            packages: HashMap::new(),
        };
        for (at, line) in lines(text).enumerate() {
            let Some(rest) = line.strip_prefix("type ") else {
                continue;
            };
            names
                .add(rest)
                .map_err(|reason| LoadError { line: at + 1, reason })?;
        }
        Ok(names)
    }

    fn add(&mut self, line: &'static str) -> Result<(), Fault> {
        let mut words = line.split(' ');
        let name = words.next().ok_or("a type without a name")?;
        if self.names.last().is_some_and(|last| *last >= name) {
            return Err("types are not sorted");
        }
        let (package, _) = name.rsplit_once('.').ok_or("a type without a package")?;
        let number = self.names.len();
        self.packages.entry(package).or_insert((number, number)).1 = number + 1;
        let (mut atomic, mut special) = (false, None);
        for word in words {
            match word.split_once('=') {
                Some(("map", "atomic")) => atomic = true,
                Some(("special", value)) => special = Some(scalar(value).ok_or("unknown special value")?),
                _ => {}
            }
        }
        self.names.push(name);
        self.atomic.push(atomic);
        self.special.push(special);
        Ok(())
    }

    /// One object value per type, for lists and maps to point at.
    fn values(&self) -> &'static [Value] {
        let value = |(at, special): (usize, &Option<Value>)| {
            special.unwrap_or(Value::Object(TypeId(u16::try_from(at).unwrap_or(u16::MAX))))
        };
        Vec::leak(self.special.iter().enumerate().map(value).collect())
    }

    /// The range of types in a package.
    fn package(&self, package: &str) -> Option<(usize, usize)> {
        self.packages.get(package).copied()
    }

    /// The number of a type by its short name, among those of its package.
    fn find(&self, (from, to): (usize, usize), short: &str) -> Option<usize> {
        let skip = self.names.get(from)?.rfind('.')? + 1;
        // All names of a package start alike.
        let at = self.names[from..to]
            .binary_search_by(|name| name[skip..].cmp(short))
            .ok()?;
        Some(from + at)
    }
}

/// A type whose fields are not all there yet.
struct Draft {
    name: &'static str,
    since: u8,
    first_field: usize,
    /// The types of the same package.
    package: (usize, usize),
}

/// The words of a line, with what is left of it.
struct Words {
    rest: &'static str,
}

impl Words {
    fn next(&mut self) -> Option<&'static str> {
        let (word, rest) = match memchr::memchr(b' ', self.rest.as_bytes()) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, ""),
        };
        self.rest = rest;
        Some(word).filter(|word| !word.is_empty())
    }
}

struct Loader {
    names: Names,
    values: &'static [Value],
    /// Comma-separated lists by their text: the same few occur again and again.
    lists: HashMap<&'static str, &'static [&'static str]>,
    types: Vec<Draft>,
    fields: Vec<Field>,
    kinds: Vec<KindEntry>,
    resources: Vec<Resource>,
}

impl Loader {
    fn line(&mut self, line: &'static str) -> Result<(), Fault> {
        if let Some(field) = line.strip_prefix(' ') {
            return self.field(field);
        }
        match line.split_once(' ') {
            Some(("type", rest)) => self.start_type(rest),
            Some(("kind", rest)) => self.kind(rest),
            Some(("resource", rest)) => self.resource(rest),
            Some(("sub", rest)) => self.subresource(rest),
            Some(("#", _)) => Ok(()),
            _ => Err("unknown line"),
        }
    }

    fn start_type(&mut self, line: &'static str) -> Result<(), Fault> {
        let mut words = line.split(' ');
        let name = words.next().ok_or("a type without a name")?;
        let since = words
            .find_map(|w| w.strip_prefix("since="))
            .map_or(Ok(crate::OLDEST_MINOR), minor)?;
        self.types.push(Draft {
            name,
            since,
            first_field: self.fields.len(),
            package: name
                .rsplit_once('.')
                .and_then(|(p, _)| self.names.package(p))
                .ok_or("no package")?,
        });
        Ok(())
    }

    fn kind(&mut self, line: &'static str) -> Result<(), Fault> {
        let object = self.current_type()?;
        let mut words = line.split(' ');
        let kind = words.next().ok_or("a kind without a name")?;
        for word in words {
            let (group, version) = word.split_once('/').ok_or("a kind without a version")?;
            self.kinds.push(KindEntry {
                group,
                version,
                kind,
                object,
            });
        }
        Ok(())
    }

    fn current_type(&self) -> Result<TypeId, Fault> {
        let at = self
            .types
            .len()
            .checked_sub(1)
            .ok_or("a line that belongs to no type")?;
        u16::try_from(at).map(TypeId).map_err(|_| "too many types")
    }

    fn field(&mut self, line: &'static str) -> Result<(), Fault> {
        let owner = self.types.last().ok_or("a field of no type")?;
        let (since, package) = (owner.since, owner.package);
        let mut words = Words { rest: line };
        let name = words.next().ok_or("a field without a name")?;
        let (inlined_in, tag) = tag(words.next().ok_or("a field without a tag")?)?;
        let shape = words.next().ok_or("a field without a type")?;
        let (presence, value, atomic) = self.shape(package, shape)?;
        let mut field = Field {
            name,
            tag,
            inlined_in,
            value,
            presence,
            required: false,
            since,
            list_type: None,
            map_keys: &[],
            map_type: if atomic {
                MapType::Atomic
            } else {
                MapType::Granular
            },
            patch_strategy: PatchStrategy::default(),
            merge_key: None,
            enum_values: &[],
            default: None,
            list_message: false,
        };
        while !words.rest.is_empty() {
            // Enum values may have spaces, so they come last and take the rest of the line.
            if let Some(values) = words.rest.strip_prefix("enum=") {
                field.enum_values = self.list(values);
                break;
            }
            let word = words.next().unwrap_or_default();
            self.attribute(&mut field, word)?;
        }
        self.fields.push(field);
        Ok(())
    }

    fn attribute(&mut self, field: &mut Field, word: &'static str) -> Result<(), Fault> {
        match word.split_once('=') {
            None if word == "required" => field.required = true,
            None if word == "message" => field.list_message = true,
            Some(("since", value)) => field.since = minor(value)?,
            Some(("list", "atomic")) => field.list_type = Some(ListType::Atomic),
            Some(("list", "set")) => field.list_type = Some(ListType::Set),
            Some(("list", value)) => {
                let keys = value.strip_prefix("map:").ok_or("unknown list type")?;
                field.list_type = Some(ListType::Map);
                field.map_keys = self.list(keys);
            }
            Some(("map", "atomic")) => field.map_type = MapType::Atomic,
            Some(("map", "granular")) => field.map_type = MapType::Granular,
            Some(("patch", value)) => {
                let (strategy, key) = value.split_once(':').map_or((value, None), |(s, k)| (s, Some(k)));
                field.merge_key = key;
                for flag in strategy.split(',') {
                    match flag {
                        "replace" => {}
                        "merge" => field.patch_strategy.merge = true,
                        "retainKeys" => field.patch_strategy.retain_keys = true,
                        _ => return Err("unknown patch strategy"),
                    }
                }
            }
            Some(("default", value)) => field.default = Some(value),
            _ => return Err("unknown attribute"),
        }
        Ok(())
    }

    /// A field's presence and value, and whether its type is atomic.
    fn shape(&self, package: (usize, usize), shape: &'static str) -> Result<(Presence, Value, bool), Fault> {
        let (mark, rest) = match shape.as_bytes().first() {
            Some(b'*') => (Some(Presence::Optional), &shape[1..]),
            Some(b'+') => (Some(Presence::Always), &shape[1..]),
            _ => (None, shape),
        };
        let (value, atomic, plain) = if let Some(item) = rest.strip_prefix("[]") {
            (Value::Array(self.value_ref(package, item)?), false, false)
        } else if let Some(item) = rest.strip_prefix("{}[]") {
            let item = if item == "string" {
                &Value::Array(&Value::String)
            } else {
                return Err("unknown map");
            };
            (Value::Map(item), false, false)
        } else if let Some(item) = rest.strip_prefix("{}") {
            (Value::Map(self.value_ref(package, item)?), false, false)
        } else {
            let value = *self.value_ref(package, rest)?;
            let atomic = matches!(value, Value::Object(id) if self.names.atomic[usize::from(id.0)]);
            (value, atomic, !matches!(value, Value::Bytes))
        };
        let presence = mark.unwrap_or(if plain {
            Presence::OmitZero
        } else {
            Presence::Optional
        });
        Ok((presence, value, atomic))
    }

    fn value_ref(&self, package: (usize, usize), word: &str) -> Result<&'static Value, Fault> {
        if let Some(value) = scalar_ref(word) {
            return Ok(value);
        }
        let at = match word.rsplit_once('.') {
            Some((package, short)) => self
                .names
                .package(package)
                .and_then(|package| self.names.find(package, short)),
            None => self.names.find(package, word),
        };
        let at = at.ok_or("a reference to an unknown type")?;
        Ok(&self.values[at])
    }

    fn list(&mut self, text: &'static str) -> &'static [&'static str] {
        if text == "-" {
            return &[];
        }
        self.lists
            .entry(text)
            .or_insert_with(|| Vec::leak(text.split(',').collect()))
    }

    fn resource(&mut self, line: &'static str) -> Result<(), Fault> {
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or("a resource with too few words");
        let (group, version) = next()?.split_once('/').ok_or("a resource without a version")?;
        let (plural, singular, kind) = (next()?, next()?, next()?);
        let scope = match next()? {
            "namespaced" => Scope::Namespaced,
            "cluster" => Scope::Cluster,
            _ => return Err("unknown scope"),
        };
        let verbs = next()?;
        if self.resources.is_empty() {
            // All types are read by now.
            self.kinds.sort_unstable();
        }
        let wanted = (group, version, kind);
        let at = self
            .kinds
            .binary_search_by(|e| (e.group, e.version, e.kind).cmp(&wanted));
        let object = self.kinds[at.map_err(|_| "a resource without a type")?].object;
        let mut resource = Resource {
            group,
            version,
            kind,
            plural,
            singular,
            scope,
            short_names: &[],
            categories: &[],
            verbs: self.list(verbs),
            subresources: Vec::new(),
            storage_version: version,
            served_by_default: true,
            object,
        };
        for word in words {
            match word.split_once('=') {
                Some(("short", value)) => resource.short_names = self.list(value),
                Some(("categories", value)) => resource.categories = self.list(value),
                Some(("storage", value)) => resource.storage_version = value,
                None if word == "off" => resource.served_by_default = false,
                _ => return Err("unknown attribute of a resource"),
            }
        }
        self.resources.push(resource);
        Ok(())
    }

    fn subresource(&mut self, line: &'static str) -> Result<(), Fault> {
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or("a subresource with too few words");
        let name = next()?;
        let (group, rest) = next()?.split_once('/').ok_or("a subresource without a version")?;
        let (version, kind) = rest.split_once('/').ok_or("a subresource without a kind")?;
        let verbs = self.list(next()?);
        let resource = self.resources.last_mut().ok_or("a subresource of no resource")?;
        resource.subresources.push(Subresource {
            name,
            group,
            version,
            kind,
            verbs,
        });
        Ok(())
    }

    fn finish(mut self) -> Table {
        self.kinds.sort_unstable();
        let fields: &'static [Field] = Vec::leak(self.fields);
        let ends = self
            .types
            .iter()
            .skip(1)
            .map(|t| t.first_field)
            .chain([fields.len()])
            .collect::<Vec<_>>();
        let order = wire_order(
            fields,
            self.types.iter().map(|t| t.first_field).zip(ends.iter().copied()),
        );
        let build = |(at, (draft, end)): (usize, (&Draft, &usize))| Type {
            name: draft.name,
            special: self.names.special[at],
            map_type: if self.names.atomic[at] {
                MapType::Atomic
            } else {
                MapType::Granular
            },
            since: draft.since,
            id: TypeId(u16::try_from(at).unwrap_or(u16::MAX)),
            fields: &fields[draft.first_field..*end],
            by_tag: &order[draft.first_field..*end],
        };
        let types = self.types.iter().zip(&ends).enumerate().map(build).collect();
        Table {
            resources: self.resources,
            types: Vec::leak(types),
            kinds: self.kinds,
        }
    }
}

/// For each range of fields, their offsets within the range in the order in which protobuf writes them.
fn wire_order(fields: &[Field], ranges: impl Iterator<Item = (usize, usize)>) -> &'static [u8] {
    let mut order = vec![0_u8; fields.len()];
    for (from, to) in ranges {
        for (offset, slot) in order[from..to].iter_mut().enumerate() {
            *slot = u8::try_from(offset).unwrap_or(u8::MAX);
        }
        let key = |offset: &u8| wire_path(&fields[from + usize::from(*offset)]);
        order[from..to].sort_unstable_by_key(key);
    }
    Vec::leak(order)
}

/// The tags that lead to a field: an inlined message is written at its own tag, among the others.
pub(crate) fn wire_path(field: &Field) -> [u32; 3] {
    match field.inlined_in {
        [0, _] => [field.tag, 0, 0],
        [outer, 0] => [outer.into(), field.tag, 0],
        [outer, inner] => [outer.into(), inner.into(), field.tag],
    }
}

fn tag(word: &str) -> Result<([u8; 2], u32), Fault> {
    if let Ok(tag) = word.parse() {
        return Ok(([0, 0], tag));
    }
    let (outer, tag) = word.rsplit_once('.').unwrap_or(("0", word));
    let (outer, inner) = outer.split_once('.').unwrap_or((outer, "0"));
    let number = |text: &str| text.parse().map_err(|_| "a tag that is no number");
    Ok((
        [number(outer)?, number(inner)?],
        tag.parse().map_err(|_| "a tag that is no number")?,
    ))
}

fn minor(word: &str) -> Result<u8, Fault> {
    word.parse().map_err(|_| "a version that is no number")
}

fn scalar(word: &str) -> Option<Value> {
    scalar_ref(word).copied()
}

fn scalar_ref(word: &str) -> Option<&'static Value> {
    Some(match word {
        "string" => &Value::String,
        "bool" => &Value::Boolean,
        "int32" => &Value::Int32,
        "int64" => &Value::Int64,
        "double" => &Value::Double,
        "bytes" => &Value::Bytes,
        "time" => &Value::Time,
        "microtime" => &Value::MicroTime,
        "quantity" => &Value::Quantity,
        "intorstring" => &Value::IntOrString,
        "raw" => &Value::RawExtension,
        "json" => &Value::Json,
        "fieldsv1" => &Value::FieldsV1,
        "schemaorarray" => &Value::SchemaOrArray,
        "schemaorbool" => &Value::SchemaOrBool,
        "schemaorstrings" => &Value::SchemaOrStringArray,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &'static str, line: usize, reason: &str) {
        let error = load(text).map(drop).unwrap_err();
        assert_eq!((error.line, error.reason), (line, reason), "{text}");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        fails("type a.B\ntype a.A\n", 2, "types are not sorted");
        fails("type a.A\n b x string\n", 2, "a tag that is no number");
        fails("type a.A\n b 1 C\n", 2, "a reference to an unknown type");
        fails("type a.A\n b 1 string color=red\n", 2, "unknown attribute");
        fails(" b 1 string\n", 1, "a field of no type");
        fails("type a.A special=odd\n", 1, "unknown special value");
        fails(
            "resource apps/v1 as a A cluster get\n",
            1,
            "a resource without a type",
        );
        fails("sub status apps/v1/A get\n", 1, "a subresource of no resource");
        fails("hello\n", 1, "unknown line");
    }

    #[test]
    fn a_small_table() {
        let table = load(concat!(
            "type a.v1.A since=30\nkind A g/v1\n b 2.1 string enum=x,y z\n c 1 *B\n d 3 {}[]string\n",
            "type a.v1.B map=atomic\nresource g/v1 as a A namespaced get,list short=x off\nsub s g/v1/A get\n",
        ))
        .unwrap();
        let object = table.kind("g", "v1", "A").unwrap();
        let [b, c, d] = object.fields() else {
            panic!("three fields")
        };
        assert_eq!(
            (b.inlined_in, b.tag, b.since, b.enum_values),
            ([2, 0], 1, 30, &["x", "y z"][..])
        );
        assert_eq!((c.value, c.map_type), (Value::Object(TypeId(1)), MapType::Atomic));
        assert_eq!(d.value, Value::Map(&Value::Array(&Value::String)));
        assert_eq!(
            object.wire_fields().map(|f| f.name).collect::<Vec<_>>(),
            ["c", "b", "d"]
        );
        let resource = table.resource("g", "v1", "as").unwrap();
        assert_eq!(
            (resource.verbs, resource.served_by_default),
            (&["get", "list"][..], false)
        );
        assert_eq!(resource.subresources[0].name, "s");
    }
}
