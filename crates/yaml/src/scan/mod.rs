//! From text to tokens, as libyaml finds them (go.yaml.in/yaml/v2 scannerc.go is the translation that Kubernetes reads with).
//!
//! libyaml knows YAML 1.1, with ways of its own: comments need no space before them, `:` needs none behind it within brackets, tabs
//! are blanks only where no key may begin. What it refuses is refused here, with its words, since manifests were written against it.
//!
//! A key without a `?` is told only by the colon behind it, so tokens wait in a queue while one of them may turn out to begin a key.

mod cursor;
mod properties;
mod scalar;

use std::collections::VecDeque;

use self::cursor::Cursor;
pub(crate) use self::cursor::Mark;
use crate::parse::Fault;

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind {
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, is_plain: bool },
}

/// A place where a key may have begun.
#[derive(Debug, Clone, Copy)]
struct SimpleKey {
    is_possible: bool,
    /// Whether it must be one, as the first thing on a line of a block mapping.
    is_required: bool,
    /// The number of its token, of all there ever were.
    token: usize,
    mark: Mark,
}

/// Reads tokens, one at a time.
pub(crate) struct Scanner<'a> {
    cursor: Cursor<'a>,
    queue: VecDeque<Token>,
    /// How many tokens have left the queue.
    taken: usize,
    is_at_end: bool,
    /// The column of the block that we are in; -1 outside of all.
    indent: isize,
    indents: Vec<isize>,
    /// One for each level of brackets, and one outside of them. Their tokens' numbers grow.
    keys: Vec<SimpleKey>,
    /// Whether a key may begin here.
    allows_key: bool,
}

/// How deep brackets and blocks may nest, as libyaml has it.
const MAX_NESTING: usize = 10_000;
/// The longest key without a `?`, in characters.
const MAX_KEY_CHARS: usize = 1024;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let cursor = Cursor::new(text);
        let none = SimpleKey {
            is_possible: false,
            is_required: false,
            token: 0,
            mark: cursor.mark(),
        };
        Self {
            cursor,
            queue: VecDeque::new(),
            taken: 0,
            is_at_end: false,
            indent: -1,
            indents: Vec::new(),
            keys: vec![none],
            allows_key: true,
        }
    }

    /// The next token, which stays.
    pub(crate) fn peek(&mut self) -> Result<&Token, Fault> {
        while !self.is_at_end && (self.queue.is_empty() || self.may_begin_key()?) {
            self.fetch()?;
        }
        let end = Fault::scanner("found unexpected end of stream", self.cursor.mark());
        self.queue.front().ok_or(end)
    }

    /// Takes the token that [`Self::peek`] showed.
    pub(crate) fn take(&mut self) {
        if self.queue.pop_front().is_some() {
            self.taken += 1;
        }
    }

    /// Whether the next token may still turn out to begin a key.
    fn may_begin_key(&mut self) -> Result<bool, Fault> {
        let first = self.keys.partition_point(|key| key.token < self.taken);
        let number = self.taken;
        for at in first..self.keys.len() {
            if self.keys[at].token != number {
                break;
            }
            if self.keys[at].is_possible && self.check_key(at)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a key may still end here: it fits on a line.
    fn check_key(&mut self, at: usize) -> Result<bool, Fault> {
        let key = self.keys[at];
        let mark = self.cursor.mark();
        let is_over = key.mark.line < mark.line || key.mark.index + MAX_KEY_CHARS < mark.index;
        if !key.is_possible || !is_over {
            return Ok(key.is_possible);
        }
        if key.is_required {
            return Err(self.no_colon());
        }
        self.keys[at].is_possible = false;
        Ok(false)
    }

    fn no_colon(&self) -> Fault {
        Fault::scanner("could not find expected ':'", self.cursor.mark())
    }

    fn last_key(&mut self) -> &mut SimpleKey {
        let last = self.keys.len() - 1;
        &mut self.keys[last]
    }

    /// Takes down that a key may begin here.
    fn save_key(&mut self) -> Result<(), Fault> {
        if !self.allows_key {
            return Ok(());
        }
        let mark = self.cursor.mark();
        let key = SimpleKey {
            is_possible: true,
            is_required: !self.is_in_flow() && self.indent == column(mark),
            token: self.taken + self.queue.len(),
            mark,
        };
        self.remove_key()?;
        *self.last_key() = key;
        Ok(())
    }

    /// No key begins where one might have.
    fn remove_key(&mut self) -> Result<(), Fault> {
        let key = *self.last_key();
        if key.is_possible && key.is_required {
            return Err(self.no_colon());
        }
        self.last_key().is_possible = false;
        Ok(())
    }

    fn is_in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    fn push(&mut self, kind: TokenKind, start: Mark) {
        let end = self.cursor.mark();
        self.queue.push_back(Token { kind, start, end });
    }

    /// A token of some characters.
    fn push_chars(&mut self, kind: TokenKind, count: usize) {
        let start = self.cursor.mark();
        for _ in 0..count {
            self.cursor.skip();
        }
        self.push(kind, start);
    }

    /// Begins a block where the column is beyond that of the one around; `number` is the token that it begins before.
    fn indent_to(&mut self, mark: Mark, number: Option<usize>, kind: TokenKind) -> Result<(), Fault> {
        if self.is_in_flow() || self.indent >= column(mark) {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column(mark);
        if self.indents.len() > MAX_NESTING {
            return Err(Fault::scanner(TOO_DEEP, self.cursor.mark()));
        }
        let token = Token {
            kind,
            start: mark,
            end: mark,
        };
        let at = number.map_or(self.queue.len(), |number| number - self.taken);
        self.queue.insert(at, token);
        Ok(())
    }

    /// Ends the blocks that are indented beyond a column.
    fn unindent_to(&mut self, column: isize) {
        if self.is_in_flow() {
            return;
        }
        while self.indent > column {
            self.push(TokenKind::BlockEnd, self.cursor.mark());
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Reads up to the next token and adds it to the queue, and those that follow from it.
    fn fetch(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        self.unindent_to(column(self.cursor.mark()));
        let (first, is_apart) = (self.cursor.byte(0), self.cursor.is_blank_or_end(1));
        let is_in_flow = self.is_in_flow();
        if self.cursor.is_at_end() {
            return self.stream_end();
        }
        if self.cursor.mark().column == 0 {
            if first == b'%' {
                return self.directive();
            }
            if let Some(kind) = self.cursor.document_indicator() {
                return self.document(kind);
            }
        }
        match first {
            b'[' => self.flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.flow_start(TokenKind::FlowMappingStart),
            b']' => self.flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.flow_end(TokenKind::FlowMappingEnd),
            b',' => {
                self.remove_key()?;
                self.allows_key = true;
                self.push_chars(TokenKind::FlowEntry, 1);
                Ok(())
            }
            b'-' if is_apart => self.block_entry(),
            b'?' if is_in_flow || is_apart => self.key(),
            b':' if is_in_flow || is_apart => self.value(),
            b'*' | b'&' => {
                self.save_key()?;
                self.allows_key = false;
                self.anchor()
            }
            b'!' => {
                self.save_key()?;
                self.allows_key = false;
                self.tag()
            }
            b'|' | b'>' if !is_in_flow => {
                self.remove_key()?;
                self.allows_key = true;
                self.block_scalar()
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.allows_key = false;
                self.flow_scalar()
            }
            _ if self.begins_plain(first) => {
                self.save_key()?;
                self.allows_key = false;
                self.plain_scalar()
            }
            _ => {
                let why = "found character that cannot start any token";
                let mut fault = Fault::scanner(why, self.cursor.mark());
                fault.is_at_tab = first == b'\t';
                Err(fault)
            }
        }
    }

    fn begins_plain(&self, first: u8) -> bool {
        match first {
            b'-' => !matches!(self.cursor.byte(1), b' ' | b'\t'),
            b'?' | b':' => !self.is_in_flow() && !self.cursor.is_blank_or_end(1),
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"'
            | b'%' | b'@' | b'`' => false,
            _ => !self.cursor.is_blank_or_end(0),
        }
    }

    /// Passes over blanks, breaks and comments. Tabs are blanks where no key may begin.
    fn skip_blanks(&mut self) {
        loop {
            if self.cursor.mark().column == 0 && self.cursor.starts_with("\u{feff}") {
                self.cursor.skip();
            }
            let takes_tabs = self.is_in_flow() || !self.allows_key;
            while self.cursor.byte(0) == b' ' || takes_tabs && self.cursor.byte(0) == b'\t' {
                self.cursor.skip();
            }
            self.cursor.skip_comment();
            if !self.cursor.is_break(0) {
                return;
            }
            self.cursor.skip_line();
            self.allows_key |= !self.is_in_flow();
        }
    }

    fn stream_end(&mut self) -> Result<(), Fault> {
        self.cursor.end_line();
        self.unindent_to(-1);
        self.remove_key()?;
        self.allows_key = false;
        self.is_at_end = true;
        self.push(TokenKind::StreamEnd, self.cursor.mark());
        Ok(())
    }

    fn document(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.unindent_to(-1);
        self.remove_key()?;
        self.allows_key = false;
        self.push_chars(kind, 3);
        Ok(())
    }

    fn flow_start(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.save_key()?;
        let mark = self.cursor.mark();
        self.keys.push(SimpleKey {
            is_possible: false,
            is_required: false,
            token: self.taken + self.queue.len(),
            mark,
        });
        if self.keys.len() - 1 > MAX_NESTING {
            return Err(Fault::scanner(TOO_DEEP, mark));
        }
        self.allows_key = true;
        self.push_chars(kind, 1);
        Ok(())
    }

    fn flow_end(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.remove_key()?;
        if self.is_in_flow() {
            self.keys.pop();
        }
        self.allows_key = false;
        self.push_chars(kind, 1);
        Ok(())
    }

    fn block_entry(&mut self) -> Result<(), Fault> {
        if !self.is_in_flow() {
            let mark = self.cursor.mark();
            if !self.allows_key {
                let why = "block sequence entries are not allowed in this context";
                return Err(Fault::scanner(why, mark));
            }
            self.indent_to(mark, None, TokenKind::BlockSequenceStart)?;
        }
        self.remove_key()?;
        self.allows_key = true;
        self.push_chars(TokenKind::BlockEntry, 1);
        Ok(())
    }

    /// Begins a mapping where none is, if one may begin here.
    fn block_mapping(&mut self, fault: &'static str) -> Result<(), Fault> {
        let mark = self.cursor.mark();
        match self.allows_key {
            true => self.indent_to(mark, None, TokenKind::BlockMappingStart),
            false => Err(Fault::scanner(fault, mark)),
        }
    }

    fn key(&mut self) -> Result<(), Fault> {
        if !self.is_in_flow() {
            self.block_mapping("mapping keys are not allowed in this context")?;
        }
        self.remove_key()?;
        self.allows_key = !self.is_in_flow();
        self.push_chars(TokenKind::Key, 1);
        Ok(())
    }

    fn value(&mut self) -> Result<(), Fault> {
        let last = self.keys.len() - 1;
        if self.check_key(last)? {
            let SimpleKey { token, mark, .. } = self.keys[last];
            let key = Token {
                kind: TokenKind::Key,
                start: mark,
                end: mark,
            };
            self.queue.insert(token - self.taken, key);
            self.indent_to(mark, Some(token), TokenKind::BlockMappingStart)?;
            self.keys[last].is_possible = false;
            self.allows_key = false;
        } else {
            if !self.is_in_flow() {
                self.block_mapping("mapping values are not allowed in this context")?;
            }
            self.allows_key = !self.is_in_flow();
        }
        self.push_chars(TokenKind::Value, 1);
        Ok(())
    }
}

const TOO_DEEP: &str = "exceeded max depth of 10000";

/// A column, to be compared with that of a block.
fn column(mark: Mark) -> isize {
    isize::try_from(mark.column).unwrap_or(isize::MAX)
}
