//! From parser events to nodes that remember where they stood.
//!
//! Anchors, merges, tags and duplicate keys are settled here, so that what leaves this module is a JSON value
//! with positions. Recursion is bounded by [`Limits::depth`].

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{DEPTH, Error, ErrorKind, Position};
use crate::parse::{CORE_TAGS, Event, Parser, Properties};
use crate::resolve::{Scalar, float_key, go_float_text, resolve_plain};
use crate::scan::Mark;
use crate::{DuplicateKey, DuplicateKeys, Limits, Options};
use base64::Engine as _;

/// A JSON value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Position,
    /// Plain scalars that a reader may have meant as strings get a hint when they do not fit.
    pub(crate) plain: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Str(String),
    Seq(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Whether the key was a string before it was made one, as all keys of JSON are.
    is_text: bool,
    pub(crate) at: Position,
    pub(crate) value: Node,
    /// True while the entry came from a merge key, so that an explicit one replaces it.
    merged: bool,
}

impl Entry {
    /// The key as Go shows it.
    fn spelling(&self) -> String {
        match self.is_text {
            true => format!("{:?}", self.key),
            false => self.key.clone(),
        }
    }
}

/// A whole document.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) root: Node,
    pub(crate) duplicates: Vec<DuplicateKey>,
}

impl Node {
    fn new(value: Value, at: Position) -> Self {
        Self {
            value,
            at,
            plain: false,
        }
    }

    fn extent(&self) -> Extent {
        let scalar = |bytes: usize| Extent {
            nodes: 1,
            bytes,
            height: 0,
        };
        let add = |sum: Extent, key: Option<&String>, child: Extent| Extent {
            nodes: sum.nodes + usize::from(key.is_some()) + child.nodes,
            bytes: sum.bytes + key.map_or(0, String::len) + child.bytes,
            height: sum.height.max(child.height + 1),
        };
        match &self.value {
            Value::Seq(items) => items
                .iter()
                .fold(scalar(0), |sum, item| add(sum, None, item.extent())),
            Value::Map(entries) => entries.iter().fold(scalar(0), |sum, entry| {
                add(sum, Some(&entry.key), entry.value.extent())
            }),
            Value::Str(text) => scalar(text.len()),
            _ => scalar(0),
        }
    }

    pub(crate) fn into_json(self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self.value {
            Value::Null => Json::Null,
            Value::Bool(b) => Json::Bool(b),
            Value::Int(i) => Json::from(i),
            Value::UInt(u) => Json::from(u),
            Value::Float(f) => Json::from(f),
            Value::Str(s) => Json::String(s),
            Value::Seq(items) => Json::Array(items.into_iter().map(Self::into_json).collect()),
            Value::Map(entries) => Json::Object(
                entries
                    .into_iter()
                    .map(|e| (e.key, e.value.into_json()))
                    .collect(),
            ),
        }
    }
}

/// How many nodes a node is made of, keys included, how many bytes of text those have, and how deep they nest.
#[derive(Debug, Clone, Copy)]
struct Extent {
    nodes: usize,
    bytes: usize,
    height: usize,
}

/// What there is of copies.
#[derive(Debug, Default)]
struct Copies {
    nodes: usize,
    bytes: usize,
}

impl Copies {
    /// Counts one more; `whose` names the copies in the error.
    fn add(
        &mut self,
        extent: Extent,
        limits: &Limits,
        whose: [&'static str; 2],
        at: Position,
    ) -> Result<(), Error> {
        self.nodes = self.nodes.saturating_add(extent.nodes);
        self.bytes = self.bytes.saturating_add(extent.bytes);
        let [nodes, bytes] = whose;
        let (what, limit) = if self.nodes > limits.alias_nodes {
            (nodes, limits.alias_nodes)
        } else if self.bytes > limits.alias_bytes {
            (bytes, limits.alias_bytes)
        } else {
            return Ok(());
        };
        Err(Error::at(ErrorKind::Limit { what, limit }, at))
    }
}

/// A copy of an anchored node, for its aliases.
struct Anchor {
    node: Node,
    extent: Extent,
}

/// A parsed node before its parent decides what it is: `<<` and unsupported keys only matter as keys.
struct Parsed {
    node: Node,
    merge: bool,
    /// A float key is spelt by upstream's own rule.
    float: Option<f64>,
}

impl Parsed {
    fn collection(value: Value, at: Position) -> Self {
        Self {
            node: Node::new(value, at),
            merge: false,
            float: None,
        }
    }
}

/// Composes the documents of one text, one at a time.
pub(crate) struct Composer<'a> {
    parser: Parser<'a>,
    options: &'a Options,
    /// `None` while the node that is called so is being read.
    anchors: HashMap<String, Option<Anchor>>,
    /// What is in `anchors`.
    anchored: Copies,
    /// What aliases made.
    expanded: Copies,
    duplicates: Vec<DuplicateKey>,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(text: &'a str, options: &'a Options) -> Self {
        Self {
            parser: Parser::new(text),
            options,
            anchors: HashMap::new(),
            anchored: Copies::default(),
            expanded: Copies::default(),
            duplicates: Vec::new(),
        }
    }

    /// The next document; `None` at the end of the stream.
    pub(crate) fn next_document(&mut self) -> Result<Option<Composed>, Error> {
        loop {
            match self.next()?.0 {
                Event::StreamEnd => return Ok(None),
                Event::DocumentStart => break,
                _ => {}
            }
        }
        self.anchors.clear();
        self.anchored = Copies::default();
        self.expanded = Copies::default();
        self.duplicates.clear();
        let (event, at) = self.next()?;
        let root = self.node(event, at, 0)?.node;
        // What ends a document may be wrong.
        self.next()?;
        Ok(Some(Composed {
            root,
            duplicates: std::mem::take(&mut self.duplicates),
        }))
    }

    fn next(&mut self) -> Result<(Event, Position), Error> {
        match self.parser.next() {
            Ok((event, mark)) => Ok((event, position(mark))),
            Err(fault) => Err(Error::from(fault)),
        }
    }

    fn node(&mut self, event: Event, at: Position, depth: usize) -> Result<Parsed, Error> {
        self.check_depth(depth, at)?;
        let (parsed, anchor) = match event {
            Event::Scalar {
                text,
                is_plain,
                properties,
            } => {
                let parsed = scalar(text.into(), is_plain, properties.tag.as_deref(), at)?;
                (parsed, properties.anchor)
            }
            Event::SequenceStart(properties) => {
                self.open(&properties);
                let value = Value::Seq(self.sequence(depth)?);
                (Parsed::collection(value, at), properties.anchor)
            }
            Event::MappingStart(properties) => {
                self.open(&properties);
                let value = Value::Map(self.mapping(depth)?);
                (Parsed::collection(value, at), properties.anchor)
            }
            Event::Alias(name) => return self.alias(&name, depth, at),
            Event::StreamEnd
            | Event::DocumentStart
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => {
                let message = "did not find expected node content".to_owned();
                return Err(Error::at(ErrorKind::Syntax { message }, at));
            }
        };
        if let Some(anchor) = anchor {
            self.anchor(anchor, &parsed.node, at)?;
        }
        Ok(parsed)
    }

    /// Until it ends, what a collection is called stands for itself.
    fn open(&mut self, properties: &Properties) {
        if let Some(name) = &properties.anchor {
            self.anchors.insert(name.clone(), None);
        }
    }

    fn check_depth(&self, depth: usize, at: Position) -> Result<(), Error> {
        let limit = self.options.limits.depth;
        let what = DEPTH;
        match depth > limit {
            true => Err(Error::at(ErrorKind::Limit { what, limit }, at)),
            false => Ok(()),
        }
    }

    /// Keeps a copy for aliases. Anchors nest, so a node can be copied once for each level above it: what all copies
    /// of a document add up to is bounded too.
    fn anchor(&mut self, name: String, node: &Node, at: Position) -> Result<(), Error> {
        let extent = node.extent();
        let whose = ["nodes under anchors", "bytes under anchors"];
        self.anchored.add(extent, &self.options.limits, whose, at)?;
        let node = node.clone();
        self.anchors.insert(name, Some(Anchor { node, extent }));
        Ok(())
    }

    /// A copy of the anchored node. What all aliases of a document add up to is bounded, which stops the
    /// "billion laughs" before memory does.
    fn alias(&mut self, name: &str, depth: usize, at: Position) -> Result<Parsed, Error> {
        let anchor = self.anchors.get(name).ok_or_else(|| {
            let name = name.to_owned();
            Error::at(ErrorKind::UnknownAnchor { name }, at)
        })?;
        let anchor = anchor.as_ref().ok_or_else(|| {
            let name = name.to_owned();
            Error::at(ErrorKind::RecursiveAnchor { name }, at)
        })?;
        // Aliases of aliases nest deeper than the text does.
        self.check_depth(depth + anchor.extent.height, at)?;
        let whose = ["nodes made by aliases", "bytes made by aliases"];
        self.expanded
            .add(anchor.extent, &self.options.limits, whose, at)?;
        Ok(Parsed {
            node: anchor.node.clone(),
            merge: false,
            float: None,
        })
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, at) => items.push(self.node(event, at, depth + 1)?.node),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<Entry>, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        loop {
            let (event, at) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let parsed = self.node(event, at, depth + 1)?;
            let (event, value_at) = self.next()?;
            let value = self.node(event, value_at, depth + 1)?.node;
            if parsed.merge {
                for entry in merged(value)? {
                    self.add_merged(entry, &mut entries, &mut index)?;
                }
                continue;
            }
            let is_text = parsed.float.is_none() && matches!(parsed.node.value, Value::Str(_));
            let told = unsupported_key(&parsed.node, &value);
            let key = key_text(parsed).map_err(|e| e.or_at(at).told(told.unwrap_or_default()))?;
            let entry = Entry {
                key,
                is_text,
                at,
                value,
                merged: false,
            };
            match index.get(&entry.key) {
                None => {
                    index.insert(entry.key.clone(), entries.len());
                    entries.push(entry);
                }
                Some(&slot) => {
                    // To YAML `1` and `"1"` are two keys, of which JSON keeps one.
                    let is_same = entries[slot].is_text == entry.is_text
                        || self.options.duplicate_keys == DuplicateKeys::Reject;
                    // go-yaml itself takes what a merge brings for keys like others.
                    let is_lax = self.options.duplicate_keys == DuplicateKeys::KeepLast;
                    if is_same && (is_lax || !entries[slot].merged) {
                        self.duplicate(&entry, entries[slot].at.line)?;
                    }
                    entries[slot] = entry;
                }
            }
        }
    }

    /// Adds an entry that `<<` brings. Explicit keys win wherever they stand, as the merge key's definition says, unless a text is
    /// read as a server does, where the last wins.
    fn add_merged(
        &mut self,
        entry: Entry,
        entries: &mut Vec<Entry>,
        index: &mut HashMap<String, usize>,
    ) -> Result<(), Error> {
        match index.get(&entry.key) {
            None => {
                index.insert(entry.key.clone(), entries.len());
                entries.push(entry);
            }
            Some(&slot) if self.options.duplicate_keys == DuplicateKeys::KeepLast => {
                if entries[slot].is_text == entry.is_text {
                    self.duplicate(&entry, entries[slot].at.line)?;
                }
                entries[slot] = entry;
            }
            Some(&slot) => {
                if entries[slot].merged {
                    entries[slot] = entry;
                }
            }
        }
        Ok(())
    }

    fn duplicate(&mut self, entry: &Entry, first_line: usize) -> Result<(), Error> {
        match self.options.duplicate_keys {
            DuplicateKeys::Reject => {
                let kind = ErrorKind::DuplicateKey {
                    key: entry.key.clone(),
                    first_line,
                };
                Err(Error::at(kind, entry.at).with_hint("remove one of the two; only one can apply"))
            }
            DuplicateKeys::KeepLast => {
                let Position { line, column } = entry.at;
                self.duplicates.push(DuplicateKey {
                    key: entry.key.clone(),
                    spelling: entry.spelling(),
                    value_line: entry.value.at.line,
                    line,
                    column,
                    first_line,
                });
                Ok(())
            }
        }
    }
}

/// What `<<` brings, those that win last: of several mappings that is the first.
fn merged(value: Node) -> Result<Vec<Entry>, Error> {
    let at = value.at;
    let sources = match value.value {
        Value::Map(_) => vec![value],
        Value::Seq(items) => items,
        _ => return Err(Error::at(ErrorKind::Merge, at)),
    };
    let mut merged = Vec::new();
    for source in sources.into_iter().rev() {
        let Value::Map(entries) = source.value else {
            return Err(Error::at(ErrorKind::Merge, source.at));
        };
        merged.extend(entries.into_iter().map(|entry| Entry {
            merged: true,
            ..entry
        }));
    }
    Ok(merged)
}

/// What go-yaml, or sigs.k8s.io/yaml after it, says of a key that JSON has no spelling for.
fn unsupported_key(key: &Node, value: &Node) -> Option<String> {
    match &key.value {
        Value::Null => Some(format!(
            "unsupported map key of type: %!s(<nil>), key: <nil>, value: {}",
            match value.value {
                Value::Null => "<nil>".to_owned(),
                _ => go_value(value),
            }
        )),
        Value::Seq(_) | Value::Map(_) => Some(format!("yaml: invalid map key: {}", go_value(key))),
        _ => None,
    }
}

/// A value as Go writes it in a program, which is how such a key is shown.
fn go_value(node: &Node) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match &node.value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => format!("0x{u:x}"),
        Value::Float(f) => go_float_text(*f),
        Value::Str(s) => format!("{s:?}"),
        Value::Seq(items) => format!(
            "[]interface {{}}{{{}}}",
            join(items.iter().map(go_value).collect())
        ),
        Value::Map(entries) => {
            let mut entries: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}:{}", entry.spelling(), go_value(&entry.value)))
                .collect();
            entries.sort_unstable();
            format!("map[interface {{}}]interface {{}}{{{}}}", join(entries))
        }
    }
}

fn key_text(parsed: Parsed) -> Result<String, Error> {
    if let Some(float) = parsed.float {
        return Ok(float_key(float));
    }
    let found = match parsed.node.value {
        Value::Str(text) => return Ok(text),
        Value::Int(i) => return Ok(i.to_string()),
        // Upstream refuses unsigned keys beyond i64; spelling them out loses nothing.
        Value::UInt(u) => return Ok(u.to_string()),
        Value::Bool(b) => return Ok(b.to_string()),
        Value::Float(f) => return Ok(float_key(f)),
        Value::Null => "null",
        Value::Seq(_) => "a list",
        Value::Map(_) => "a mapping",
    };
    let error = Error::new(ErrorKind::UnsupportedKey { found });
    Err(if found == "a mapping" {
        error.with_hint("a template placeholder like {{ x }} must be quoted")
    } else {
        error.with_hint("quote the key to make it a string")
    })
}

/// Resolves a scalar by tag and style (goyaml.v2 `decode.go`, `scalar`).
fn scalar(text: Cow<'_, str>, is_plain: bool, tag: Option<&str>, at: Position) -> Result<Parsed, Error> {
    let core = tag.and_then(|tag| tag.strip_prefix(CORE_TAGS));
    let tagged = |wanted: &'static str| {
        let found = resolve_plain(&text);
        json(found, Cow::Borrowed(&*text), at).and_then(|parsed| {
            let fits = match (&parsed.node.value, wanted) {
                (Value::Null, "null") | (Value::Bool(_), "bool") => true,
                (Value::Int(_) | Value::UInt(_), "int") => parsed.float.is_none(),
                (Value::Int(_) | Value::UInt(_) | Value::Float(_), "float") => true,
                _ => false,
            };
            if fits {
                Ok(parsed)
            } else {
                let told = format!(
                    "yaml: cannot decode {} `{text}` as a !!{wanted}",
                    short_tag(&parsed)
                );
                let text = text.to_string();
                Err(Error::at(ErrorKind::Scalar { text, wanted }, at).told(told))
            }
        })
    };
    match (tag, core) {
        (_, Some("bool")) => tagged("bool"),
        (_, Some("int")) => tagged("int"),
        (_, Some("float")) => tagged("float"),
        (_, Some("null")) => tagged("null"),
        (_, Some("binary")) => binary(&text, at),
        (_, Some("merge")) => Ok(Parsed {
            merge: true,
            ..string(text.into_owned(), at)
        }),
        // The tag that asks for none counts as none at all, even before a quoted scalar (libyaml).
        (Some("!"), None) => {
            let found = resolve_plain(&text);
            json(found, text, at)
        }
        (None, _) if is_plain => {
            let found = resolve_plain(&text);
            let mut parsed = json(found, text, at)?;
            parsed.node.plain = true;
            Ok(parsed)
        }
        // Quoted, `!!str`, `!!timestamp` and foreign tags: the text as it is.
        _ => Ok(string(text.into_owned(), at)),
    }
}

/// The tag that a value has by itself.
fn short_tag(parsed: &Parsed) -> &'static str {
    match &parsed.node.value {
        _ if parsed.merge => "!!merge",
        _ if parsed.float.is_some() => "!!float",
        Value::Null => "!!null",
        Value::Bool(_) => "!!bool",
        Value::Int(_) | Value::UInt(_) => "!!int",
        _ => "!!str",
    }
}

fn string(text: String, at: Position) -> Parsed {
    Parsed {
        node: Node::new(Value::Str(text), at),
        merge: false,
        float: None,
    }
}

fn json(scalar: Scalar, text: Cow<'_, str>, at: Position) -> Result<Parsed, Error> {
    let mut float = None;
    let mut merge = false;
    let value = match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(b) => Value::Bool(b),
        Scalar::Int(i) => Value::Int(i),
        Scalar::UInt(u) => Value::UInt(u),
        Scalar::Float(f) if !f.is_finite() => {
            let kind = ErrorKind::Scalar {
                text: text.into_owned(),
                wanted: "a JSON number",
            };
            let name = match f {
                _ if f.is_nan() => "NaN",
                _ if f > 0.0 => "+Inf",
                _ => "-Inf",
            };
            return Err(Error::at(kind, at)
                .with_hint("quote it to make it a string")
                .told(format!("json: unsupported value: {name}")));
        }
        Scalar::Float(f) => {
            float = Some(f);
            integral(f)
        }
        Scalar::Merge => {
            merge = true;
            Value::Str(text.into_owned())
        }
        Scalar::Str => Value::Str(text.into_owned()),
    };
    Ok(Parsed {
        node: Node::new(value, at),
        merge,
        float,
    })
}

/// Go's JSON writes `1.0` and `1e3` without a fraction, so they reach an integer field; so they do here.
fn integral(f: f64) -> Value {
    /// 2^63 and 2^64 are exact in a float, the largest integers below them are not.
    const I64_END: f64 = 9_223_372_036_854_775_808.0;
    const U64_END: f64 = 18_446_744_073_709_551_616.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the ranges are checked"
    )]
    match f {
        f if f.fract() != 0.0 => Value::Float(f),
        f if (-I64_END..I64_END).contains(&f) => Value::Int(f as i64),
        f if (0.0..U64_END).contains(&f) => Value::UInt(f as u64),
        f => Value::Float(f),
    }
}

/// `!!binary` is decoded; upstream then puts the bytes into a string, and Go's JSON replaces what is not UTF-8.
fn binary(text: &str, at: Position) -> Result<Parsed, Error> {
    let compact: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    match base64::engine::general_purpose::STANDARD.decode(compact) {
        Ok(bytes) => Ok(string(String::from_utf8_lossy(&bytes).into_owned(), at)),
        Err(_) => {
            let kind = ErrorKind::Scalar {
                text: text.to_owned(),
                wanted: "base64",
            };
            let told = "yaml: !!binary value contains invalid base64 data";
            Err(Error::at(kind, at).told(told.to_owned()))
        }
    }
}

fn position(mark: Mark) -> Position {
    Position {
        line: mark.line + 1,
        column: mark.column + 1,
    }
}
