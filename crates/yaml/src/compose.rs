//! From parser events to nodes that remember where they stood.
//!
//! Anchors, merges, tags and duplicate keys are settled here, so that what leaves this module is a JSON value
//! with positions. Recursion is bounded by [`Limits::depth`].

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use crate::error::{Error, ErrorKind, Position};
use crate::resolve::{Scalar, float_key, resolve_plain};
use crate::{DuplicateKey, DuplicateKeys, Options};

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
    pub(crate) at: Position,
    pub(crate) value: Node,
    /// True while the entry came from a merge key, so that an explicit one replaces it.
    merged: bool,
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
        let scalar = Extent { nodes: 1, height: 0 };
        let add = |sum: Extent, keys: usize, child: Extent| Extent {
            nodes: sum.nodes + keys + child.nodes,
            height: sum.height.max(child.height + 1),
        };
        match &self.value {
            Value::Seq(items) => items.iter().fold(scalar, |sum, item| add(sum, 0, item.extent())),
            Value::Map(entries) => entries
                .iter()
                .fold(scalar, |sum, entry| add(sum, 1, entry.value.extent())),
            _ => scalar,
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

/// How many nodes a node is made of, keys included, and how deep they nest.
#[derive(Debug, Clone, Copy)]
struct Extent {
    nodes: usize,
    height: usize,
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

/// Composes the documents of one text, one at a time.
pub(crate) struct Composer<'a> {
    parser: Parser<'a, StrInput<'a>>,
    options: &'a Options,
    anchors: HashMap<usize, Anchor>,
    /// Nodes in `anchors`.
    anchored: usize,
    /// Nodes made by aliases.
    expanded: usize,
    duplicates: Vec<DuplicateKey>,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(text: &'a str, options: &'a Options) -> Self {
        let parser_options = granit_parser::options! {
            // A little above ours, so that ours is the one reported.
            flow_nesting_limit: options.limits.depth.saturating_add(2),
            block_nesting_limit: options.limits.depth.saturating_add(2),
        };
        Self {
            parser: Parser::new_from_str_with_options(text, parser_options),
            options,
            anchors: HashMap::new(),
            anchored: 0,
            expanded: 0,
            duplicates: Vec::new(),
        }
    }

    /// The next document; `None` at the end of the stream.
    pub(crate) fn next_document(&mut self) -> Result<Option<Composed>, Error> {
        loop {
            match self.next()? {
                None | Some((Event::StreamEnd, _)) => return Ok(None),
                Some((Event::DocumentStart(..), _)) => break,
                Some(_) => {}
            }
        }
        self.anchors.clear();
        self.anchored = 0;
        self.expanded = 0;
        self.duplicates.clear();
        let (event, span) = self.expect_next()?;
        let root = self.node(event, span, 0)?.node;
        Ok(Some(Composed {
            root,
            duplicates: std::mem::take(&mut self.duplicates),
        }))
    }

    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Error> {
        self.parser.next_event().transpose().map_err(|e| {
            let at = Position {
                line: e.marker().line(),
                column: e.marker().col() + 1,
            };
            let message = e.info();
            let tab = message.contains("tab");
            let error = Error::at(ErrorKind::Syntax { message }, at);
            if tab {
                error.with_hint("indent with spaces; YAML forbids tabs there")
            } else {
                error
            }
        })
    }

    fn expect_next(&mut self) -> Result<(Event<'a>, Span), Error> {
        self.next()?.ok_or_else(|| {
            Error::new(ErrorKind::Syntax {
                message: "the text ends inside a node".to_owned(),
            })
        })
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Parsed, Error> {
        let at = position(span);
        self.check_depth(depth, at)?;
        let (parsed, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => (scalar(text, style, tag.as_deref(), at)?, anchor),
            Event::SequenceStart(_, anchor, _) => {
                let node = Node::new(Value::Seq(self.sequence(depth)?), at);
                (
                    Parsed {
                        node,
                        merge: false,
                        float: None,
                    },
                    anchor,
                )
            }
            Event::MappingStart(_, anchor, _) => {
                let node = Node::new(Value::Map(self.mapping(depth)?), at);
                (
                    Parsed {
                        node,
                        merge: false,
                        float: None,
                    },
                    anchor,
                )
            }
            Event::Alias(id) => return self.alias(id, depth, at),
            _ => {
                return Err(Error::at(
                    ErrorKind::Syntax {
                        message: "a node was expected".to_owned(),
                    },
                    at,
                ));
            }
        };
        if anchor != 0 {
            self.anchor(anchor, &parsed.node, at)?;
        }
        Ok(parsed)
    }

    fn check_depth(&self, depth: usize, at: Position) -> Result<(), Error> {
        let limit = self.options.limits.depth;
        let what = "nesting depth";
        match depth > limit {
            true => Err(Error::at(ErrorKind::Limit { what, limit }, at)),
            false => Ok(()),
        }
    }

    /// Keeps a copy for aliases. Anchors nest, so a node can be copied once for each level above it: what all copies
    /// of a document add up to is bounded too.
    fn anchor(&mut self, id: usize, node: &Node, at: Position) -> Result<(), Error> {
        let extent = node.extent();
        self.anchored = self.anchored.saturating_add(extent.nodes);
        let limit = self.options.limits.alias_nodes;
        if self.anchored > limit {
            let what = "nodes under anchors";
            return Err(Error::at(ErrorKind::Limit { what, limit }, at));
        }
        let node = node.clone();
        self.anchors.insert(id, Anchor { node, extent });
        Ok(())
    }

    /// A copy of the anchored node. What all aliases of a document add up to is bounded, which stops the
    /// "billion laughs" before memory does.
    fn alias(&mut self, id: usize, depth: usize, at: Position) -> Result<Parsed, Error> {
        let anchor = self
            .anchors
            .get(&id)
            .ok_or_else(|| Error::at(ErrorKind::RecursiveAnchor, at))?;
        // Aliases of aliases nest deeper than the text does.
        self.check_depth(depth + anchor.extent.height, at)?;
        self.expanded = self.expanded.saturating_add(anchor.extent.nodes);
        let limit = self.options.limits.alias_nodes;
        if self.expanded > limit {
            let what = "nodes made by aliases";
            return Err(Error::at(ErrorKind::Limit { what, limit }, at));
        }
        Ok(Parsed {
            node: anchor.node.clone(),
            merge: false,
            float: None,
        })
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        loop {
            match self.expect_next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?.node),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<Entry>, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        loop {
            let (event, span) = self.expect_next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(entries);
            }
            let at = position(span);
            let parsed = self.node(event, span, depth + 1)?;
            let (event, span) = self.expect_next()?;
            let value = self.node(event, span, depth + 1)?.node;
            if parsed.merge {
                merge(value, &mut entries, &mut index)?;
                continue;
            }
            let key = key_text(parsed).map_err(|e| e.or_at(at))?;
            let entry = Entry {
                key,
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
                    if !entries[slot].merged {
                        self.duplicate(&entry, entries[slot].at.line)?;
                    }
                    entries[slot] = entry;
                }
            }
        }
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
                    line,
                    column,
                    first_line,
                });
                Ok(())
            }
        }
    }
}

/// Adds what `<<` brings. Explicit keys win wherever they stand, as the merge key's definition says (goyaml.v2
/// itself lets a later `<<` override an earlier explicit key); of several mappings the first wins.
fn merge(value: Node, entries: &mut Vec<Entry>, index: &mut HashMap<String, usize>) -> Result<(), Error> {
    let at = value.at;
    let sources = match value.value {
        Value::Map(_) => vec![value],
        Value::Seq(items) => items,
        _ => return Err(Error::at(ErrorKind::Merge, at)),
    };
    for source in sources {
        let Value::Map(merged) = source.value else {
            return Err(Error::at(ErrorKind::Merge, source.at));
        };
        for entry in merged {
            if !index.contains_key(&entry.key) {
                index.insert(entry.key.clone(), entries.len());
                entries.push(Entry {
                    merged: true,
                    ..entry
                });
            }
        }
    }
    Ok(())
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
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>, at: Position) -> Result<Parsed, Error> {
    let plain = style == ScalarStyle::Plain;
    let core = tag.and_then(|tag| tag.suffix_in_namespace(CORE_TAGS));
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
                Err(Error::at(
                    ErrorKind::Scalar {
                        text: text.to_string(),
                        wanted,
                    },
                    at,
                ))
            }
        })
    };
    match (tag, core.as_deref()) {
        (_, Some("bool")) => tagged("bool"),
        (_, Some("int")) => tagged("int"),
        (_, Some("float")) => tagged("float"),
        (_, Some("null")) => tagged("null"),
        (_, Some("binary")) => binary(&text, at),
        (_, Some("merge")) => Ok(Parsed {
            merge: true,
            ..string(text.into_owned(), at)
        }),
        // The non-specific tag `!` counts as no tag at all, even before a quoted scalar (libyaml).
        (Some(tag), None) if tag.handle().is_empty() && tag.suffix() == "!" => {
            let found = resolve_plain(&text);
            json(found, text, at)
        }
        (None, _) if plain => {
            let found = resolve_plain(&text);
            let mut parsed = json(found, text, at)?;
            parsed.node.plain = true;
            Ok(parsed)
        }
        // Quoted, `!!str`, `!!timestamp` and foreign tags: the text as it is.
        _ => Ok(string(text.into_owned(), at)),
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
            return Err(Error::at(kind, at).with_hint("quote it to make it a string"));
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
        Err(_) => Err(Error::at(
            ErrorKind::Scalar {
                text: text.to_owned(),
                wanted: "base64",
            },
            at,
        )),
    }
}

fn position(span: Span) -> Position {
    Position {
        line: span.start.line(),
        column: span.start.col() + 1,
    }
}

const CORE_TAGS: &str = "tag:yaml.org,2002:";
