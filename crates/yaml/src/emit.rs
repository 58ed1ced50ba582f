//! From trees to text, laid out and quoted as go-yaml does it (go.yaml.in/yaml/v2 encode.go and emitterc.go), byte for byte.
//!
//! Block style throughout; lists are not indented below their key; a string is left plain where go-yaml would read it back as a
//! string, goes over several lines where it has several, and is quoted otherwise.

use std::borrow::Cow;

use crate::resolve::{Scalar, is_base60, is_timestamp, resolve_plain};

/// What is written. Mappings keep the order of their entries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree<'a> {
    /// A null, a boolean or a number: the text as it is.
    Plain(Cow<'a, str>),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Map(Vec<(Cow<'a, str>, Self)>),
}

/// Writes one document. Text is folded at the first space beyond the column `width`.
pub(crate) fn document(tree: &Tree<'_>, width: usize) -> String {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        width,
        after_blank: true,
        indents_only: true,
    };
    emitter.node(tree, None, Place::Item);
    emitter.line(0);
    emitter.out
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a list, or alone.
    Item,
    /// Behind its key.
    Value,
}

struct Emitter {
    out: String,
    /// Characters on the last line.
    column: usize,
    width: usize,
    /// Whether what comes next needs no space before it.
    after_blank: bool,
    /// Whether the last line has nothing but indentation and indicators that indent.
    indents_only: bool,
}

/// What an indicator is to what comes behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indicator {
    /// `-`, `?`, and the `:` of a long key.
    Indenting,
    /// An opening bracket.
    Opening,
    /// Anything else that begins a token.
    Starting,
    /// What stands directly behind what was before.
    Attached,
}

impl Emitter {
    /// `indent` is that of the collection around the node.
    fn node(&mut self, tree: &Tree<'_>, indent: Option<usize>, place: Place) {
        let deeper = indent.map_or(0, |indent| indent + STEP);
        match tree {
            Tree::Plain(text) => self.plain(text, indent.map_or(STEP, |_| deeper), Folds::Yes),
            Tree::Text(text) => self.text(text, indent.map_or(STEP, |_| deeper), Folds::Yes),
            Tree::List(items) if items.is_empty() => {
                self.indicator('[', Indicator::Opening);
                self.indicator(']', Indicator::Attached);
            }
            Tree::Map(entries) if entries.is_empty() => {
                self.indicator('{', Indicator::Opening);
                self.indicator('}', Indicator::Attached);
            }
            Tree::List(items) => {
                let is_flush = place == Place::Value && !self.indents_only;
                let indent = if is_flush { indent.unwrap_or(0) } else { deeper };
                for item in items {
                    self.line(indent);
                    self.indicator('-', Indicator::Indenting);
                    self.node(item, Some(indent), Place::Item);
                }
            }
            Tree::Map(entries) => {
                for (key, value) in entries {
                    self.line(deeper);
                    self.key(key, deeper);
                    self.node(value, Some(deeper), Place::Value);
                }
            }
        }
    }

    fn key(&mut self, key: &str, indent: usize) {
        let is_simple = key.len() <= MAX_SIMPLE_KEY_BYTES && !key.contains(is_break);
        if is_simple {
            self.text(key, indent + STEP, Folds::No);
            self.indicator(':', Indicator::Attached);
        } else {
            self.indicator('?', Indicator::Indenting);
            self.text(key, indent + STEP, Folds::Yes);
            self.line(indent);
            self.indicator(':', Indicator::Indenting);
        }
    }

    /// Begins a line, unless the last one is still where it would begin.
    fn line(&mut self, indent: usize) {
        let is_used = !self.indents_only || self.column > indent;
        if is_used || (self.column == indent && !self.after_blank) {
            self.line_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.after_blank = true;
        self.indents_only = true;
    }

    fn indicator(&mut self, indicator: char, kind: Indicator) {
        if kind != Indicator::Attached && !self.after_blank {
            self.put(' ');
        }
        self.put(indicator);
        self.after_blank = kind == Indicator::Opening;
        self.indents_only &= kind == Indicator::Indenting;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn text(&mut self, text: &str, indent: usize, folds: Folds) {
        match Style::of(text, folds) {
            Style::Plain => self.plain(text, indent, folds),
            Style::Single => self.single(text, indent, folds),
            Style::Double => self.double(text, indent, folds),
            Style::Literal => self.literal(text, indent),
        }
    }

    fn plain(&mut self, text: &str, indent: usize, folds: Folds) {
        if !self.after_blank {
            self.put(' ');
        }
        let mut spaces = false;
        for (at, c) in text.char_indices() {
            let is_space = c == ' ';
            if is_space
                && !spaces
                && folds == Folds::Yes
                && self.column > self.width
                && !space_at(text, at + 1)
            {
                self.line(indent);
            } else {
                self.put(c);
                self.indents_only &= is_space;
            }
            spaces = is_space;
        }
        self.after_blank = false;
        self.indents_only = false;
    }

    fn single(&mut self, text: &str, indent: usize, folds: Folds) {
        self.indicator('\'', Indicator::Starting);
        let (mut spaces, mut breaks) = (false, false);
        for (at, c) in text.char_indices() {
            if c == ' ' {
                let is_inner = at > 0 && at + 1 < text.len() && !space_at(text, at + 1);
                if is_inner && !spaces && folds == Folds::Yes && self.column > self.width {
                    self.line(indent);
                } else {
                    self.put(c);
                }
                spaces = true;
            } else if is_break(c) {
                self.line_break(c);
                self.indents_only = true;
                breaks = true;
            } else {
                if breaks {
                    self.line(indent);
                }
                if c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.indents_only = false;
                (spaces, breaks) = (false, false);
            }
        }
        self.indicator('\'', Indicator::Attached);
        self.indents_only = false;
    }

    fn double(&mut self, text: &str, indent: usize, folds: Folds) {
        self.indicator('"', Indicator::Starting);
        // A quirk of libyaml: it looks for the mark at the beginning, whichever character it is about to write.
        let escapes_all = text.starts_with('\u{feff}');
        let mut spaces = false;
        for (at, c) in text.char_indices() {
            if escapes_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                for c in escape(c).chars() {
                    self.put(c);
                }
                spaces = false;
            } else if c == ' ' {
                let is_inner = at > 0 && at + 1 < text.len();
                if is_inner && !spaces && folds == Folds::Yes && self.column > self.width {
                    self.line(indent);
                    if space_at(text, at + 1) {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator('"', Indicator::Attached);
        self.indents_only = false;
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.indicator('|', Indicator::Starting);
        if text.starts_with(' ') || text.starts_with(is_break) {
            self.put('2');
        }
        let mut from_end = text.chars().rev().map(is_break);
        match (from_end.next(), from_end.next()) {
            (Some(true), Some(false)) => {}
            (Some(true), _) => self.put('+'),
            _ => self.put('-'),
        }
        self.line_break('\n');
        self.indents_only = true;
        self.after_blank = true;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.line_break(c);
                self.indents_only = true;
                breaks = true;
            } else {
                if breaks {
                    self.line(indent);
                }
                self.put(c);
                self.indents_only = false;
                breaks = false;
            }
        }
    }
}

/// Whether a text may go on on another line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folds {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Style {
    fn of(text: &str, folds: Folds) -> Self {
        let look = Look::at(text);
        let has_quotes = |is_single: bool| if is_single { Self::Single } else { Self::Double };
        if text.contains('\n') {
            let is_block = !look.is_special && !look.ends_with_space && folds == Folds::Yes;
            return if is_block { Self::Literal } else { Self::Double };
        }
        // Of what merges, only keys are to be told apart.
        let is_plain = match resolve_plain(text) {
            Scalar::Str => true,
            Scalar::Merge => folds == Folds::Yes,
            _ => false,
        };
        let is_text = is_plain && !is_timestamp(text) && !is_base60(text);
        if !is_text {
            return Self::Double;
        }
        match look.is_plain {
            true => Self::Plain,
            false => has_quotes(!look.is_special && !look.has_space_after_break),
        }
    }
}

/// What a text needs, as libyaml analyses it.
struct Look {
    is_plain: bool,
    ends_with_space: bool,
    has_space_after_break: bool,
    /// Only double quotes can show it.
    is_special: bool,
}

impl Look {
    fn at(text: &str) -> Self {
        let mut indicates = text.starts_with("---") || text.starts_with("...");
        let (mut is_special, mut has_space_after_break, mut has_break) = (false, false, false);
        let mut before = None;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let is_followed = matches!(rest.peek(), None | Some(' ' | '\t'));
            indicates |= match (before, c) {
                (None, '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>') => true,
                (None, '\'' | '"' | '%' | '@' | '`') => true,
                (None, '?' | '-') | (_, ':') => is_followed,
                (Some(before), '#') => matches!(before, ' ' | '\t' | '\0') || is_break(before),
                _ => false,
            };
            is_special |= !is_printable(c);
            has_break |= is_break(c);
            let was_break = before.is_some_and(is_break);
            has_space_after_break |= c == ' ' && was_break;
            is_special |= is_break(c) && before == Some(' ');
            before = Some(c);
        }
        let is_edge = |c: char| c == ' ' || is_break(c);
        Self {
            is_plain: !indicates
                && !is_special
                && !has_break
                && !text.starts_with(is_edge)
                && !text.ends_with(is_edge),
            ends_with_space: text.ends_with(' '),
            has_space_after_break,
            is_special,
        }
    }
}

fn space_at(text: &str, at: usize) -> bool {
    text.as_bytes().get(at) == Some(&b' ')
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// go-yaml's translation of libyaml knows no characters beyond the basic plane here, so that it escapes them.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// Columns that a nested collection is indented by.
const STEP: usize = 2;

/// The longest key that stands on its line alone with a colon, in bytes.
const MAX_SIMPLE_KEY_BYTES: usize = 128;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::json_to_string;

    /// A value as `k: …`, as a kube-apiserver 1.37 writes it.
    #[track_caller]
    fn check(value: &Value, expect: &str) {
        assert_eq!(
            json_to_string(&json!({"k": value})),
            format!("k: {expect}\n"),
            "{value}"
        );
    }

    #[test]
    fn texts() {
        for (text, expect) in [
            ("", "\"\""),
            ("yes", "\"yes\""),
            ("no", "\"no\""),
            ("y", "\"y\""),
            ("null", "\"null\""),
            ("~", "\"~\""),
            ("5", "\"5\""),
            ("0644", "\"0644\""),
            ("1e3", "\"1e3\""),
            ("1_000", "\"1_000\""),
            ("12:30", "\"12:30\""),
            ("12:60", "12:60"),
            ("2001-01-01", "\"2001-01-01\""),
            ("2001-1-1", "\"2001-1-1\""),
            ("2001-02-30", "2001-02-30"),
            ("2001-01-01T00:00:00Z", "\"2001-01-01T00:00:00Z\""),
            ("2001-01-01 10:00:00", "\"2001-01-01 10:00:00\""),
            ("2001-01-01T00:00:00", "2001-01-01T00:00:00"),
            ("10.0.0.1", "10.0.0.1"),
            ("f:spec", "f:spec"),
            (".", "."),
            ("=", "="),
            ("<<", "<<"),
            ("a b", "a b"),
            ("-", "'-'"),
            ("- a", "'- a'"),
            ("-a", "-a"),
            ("?a", "?a"),
            ("a:", "'a:'"),
            ("a: b", "'a: b'"),
            ("a:b", "a:b"),
            ("a #b", "'a #b'"),
            ("a#b", "a#b"),
            ("it's", "it's"),
            ("'", "''''"),
            ("\"", "'\"'"),
            ("a\\b", "a\\b"),
            ("{a", "'{a'"),
            ("a{b", "a{b"),
            (" a", "' a'"),
            ("a ", "'a '"),
            ("---", "'---'"),
            ("---a", "'---a'"),
            ("a\tb", "\"a\\tb\""),
            ("\r", "\"\\r\""),
            ("\u{e4}", "\u{e4}"),
            ("\u{1f600}", "\"\\U0001F600\""),
            ("\u{feff}a", "\"\\uFEFF\\x61\""),
            ("\u{85}", "\"\\N\""),
            ("\u{7f}", "\"\\x7F\""),
            ("\u{2028}a", "'\u{2028}  a'"),
            ("a\nb", "|-\n  a\n  b"),
            ("a\n", "|\n  a"),
            ("a\n\n", "|+\n  a\n"),
            ("\n", "|2+\n"),
            ("\na", "|2-\n\n  a"),
            ("  a\nb", "|2-\n    a\n  b"),
            ("a\n b", "|-\n  a\n   b"),
            ("a \nb", "\"a \\nb\""),
            ("a\nb ", "\"a\\nb \""),
            ("a\n\tb", "\"a\\n\\tb\""),
        ] {
            check(&json!(text), expect);
        }
        let words = "word ".repeat(20);
        let folded = |first: usize| {
            let lines = ["word ".repeat(first), "word ".repeat(20 - first)];
            lines.map(|line| line.trim().to_owned()).join("\n  ")
        };
        check(&json!(words.trim()), &folded(16));
        check(&json!(words), &format!("'{} '", folded(16)));
        check(
            &json!(format!("\u{1}{words}")),
            &format!("\"\\x01{} \"", folded(15)),
        );
    }

    #[test]
    fn numbers() {
        for (value, expect) in [
            (json!(-7), "-7"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(1.5), "1.5"),
            (json!(-0.0), "0"),
            (json!(123_456_789.5), "1.234567895e+08"),
            (json!(1e-7), "1e-07"),
            (json!(1e21), "1e+21"),
            (json!(5.0), "5"),
            (json!(1e19), "10000000000000000000"),
        ] {
            check(&value, expect);
        }
    }

    #[test]
    fn collections() {
        let value = json!({
            "": 1, " x": 2, "a b": 3, "a: b": 4, "a\nb": [7, [8, [9]], [{"a": 1, "b": []}]], "on": {},
            "x".repeat(129): {"a": {"b": null}, "c": true}, "y10": 1, "y9": ["", {}, {"z": "a\nb"}],
        });
        let expect = "\"\": 1\n' x': 2\n? |-\n  a\n  b\n: - 7\n  - - 8\n    - - 9\n  - - a: 1\n      b: []\na b: 3\n'a: b': 4\n\
                      \"on\": {}\n? LONG\n: a:\n    b: null\n  c: true\ny9:\n- \"\"\n- {}\n- z: |-\n    a\n    b\ny10: 1\n";
        assert_eq!(json_to_string(&value), expect.replace("LONG", &"x".repeat(129)));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(key in any::<String>(), text in r#"[-?:,\[\]{}#&*!|>'"%@` \n\ra0~.\u{85}\u{feff}]{0,12}"#, words in "[a '\n]{70,120}") {
            let value = json!({key: [text.clone(), {text: words}]});
            let written = json_to_string(&value);
            prop_assert_eq!(crate::from_str::<Value>(&written).ok(), Some(value), "{}", written);
        }
    }
}
