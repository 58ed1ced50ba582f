//! From tokens to what a document consists of, as libyaml puts them together (go.yaml.in/yaml/v2 parserc.go).
//!
//! The grammar is followed with a stack of what is to come, not by calls, so that how deep a text nests costs no stack here.

use std::collections::HashMap;

use crate::scan::{Mark, Scanner, Token, TokenKind};

/// What is wrong with a text, in the words of libyaml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) why: &'static str,
    pub(crate) mark: Mark,
    /// Whether there is a tab, which is what people then wonder about.
    pub(crate) is_at_tab: bool,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reader,
    Scanner,
    Parser,
}

impl Fault {
    /// Where a token is wrong.
    pub(crate) fn scanner(why: &'static str, mark: Mark) -> Self {
        Self::new(why, mark, Stage::Scanner)
    }

    /// Where a character is wrong.
    fn reader(why: &'static str, mark: Mark) -> Self {
        Self::new(why, mark, Stage::Reader)
    }

    fn new(why: &'static str, mark: Mark, stage: Stage) -> Self {
        Self {
            why,
            mark,
            is_at_tab: false,
            stage,
        }
    }

    /// Where a token does not fit those before it.
    fn parser(why: &'static str, mark: Mark) -> Self {
        Self::new(why, mark, Stage::Parser)
    }

    /// The line that go-yaml names (`parser.fail` of decode.go): none where it is the first, counted from zero where tokens do not fit.
    pub(crate) fn told_line(&self) -> usize {
        match (self.mark.line, self.stage) {
            (0, _) | (_, Stage::Reader) => 0,
            (line, Stage::Scanner) => line + 1,
            (line, Stage::Parser) => line,
        }
    }
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(String),
    Scalar {
        text: String,
        is_plain: bool,
        properties: Properties,
    },
    SequenceStart(Properties),
    SequenceEnd,
    MappingStart(Properties),
    MappingEnd,
}

/// What stands before a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) anchor: Option<String>,
    /// In full: with what its handle stands for.
    pub(crate) tag: Option<String>,
}

/// What is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    ImplicitDocument,
    Document,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequence,
    IndentlessSequence,
    BlockKey,
    BlockValue,
    FlowSequence(First),
    PairKey,
    PairValue,
    PairEnd,
    FlowKey(First),
    FlowValue,
    /// The value of a key without a colon.
    NoFlowValue,
    End,
}

/// Whether an entry is the first of its brackets, so that no comma precedes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Flow,
    Block,
    /// In a block, where a list may begin in the column of its key.
    BlockOrIndentless,
}

type Parsed = Result<(Event, Mark), Fault>;

/// Reads events, one at a time.
pub(crate) struct Parser<'a> {
    /// Until its characters were looked at.
    unread: Option<&'a str>,
    scanner: Scanner<'a>,
    state: State,
    /// What comes after what we are in.
    states: Vec<State>,
    /// What handles of tags stand for in this document.
    handles: HashMap<String, String>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            unread: Some(text),
            scanner: Scanner::new(text),
            state: State::ImplicitDocument,
            states: Vec::new(),
            handles: HashMap::new(),
        }
    }

    /// The next event and where it begins; the end of the stream again and again once it is there.
    pub(crate) fn next(&mut self) -> Parsed {
        if let Some(mark) = self.unread.take().and_then(control_character) {
            return Err(Fault::reader("control characters are not allowed", mark));
        }
        match self.state {
            State::ImplicitDocument => self.document(First::Yes),
            State::Document => self.document(First::No),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Style::Block),
            State::BlockSequence => self.block_sequence(),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockKey => self.block_key(),
            State::BlockValue => self.block_value(),
            State::FlowSequence(first) => self.flow_sequence(first),
            State::PairKey => self.pair_key(),
            State::PairValue => self.flow_value(State::PairEnd, &TokenKind::FlowSequenceEnd),
            State::PairEnd => {
                let mark = self.scanner.peek()?.start;
                self.state = State::FlowSequence(First::No);
                Ok((Event::MappingEnd, mark))
            }
            State::FlowKey(first) => self.flow_key(first),
            State::FlowValue => self.flow_value(State::FlowKey(First::No), &TokenKind::FlowMappingEnd),
            State::NoFlowValue => {
                let mark = self.scanner.peek()?.start;
                Ok(self.nothing(State::FlowKey(First::No), mark))
            }
            State::End => {
                let mark = self.scanner.peek()?.start;
                Ok((Event::StreamEnd, mark))
            }
        }
    }

    fn pop(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    /// An empty scalar.
    fn nothing(&mut self, next: State, mark: Mark) -> (Event, Mark) {
        self.state = next;
        let event = Event::Scalar {
            text: String::new(),
            is_plain: true,
            properties: Properties::default(),
        };
        (event, mark)
    }

    /// A node, after which `next` is to come.
    fn node_then(&mut self, style: Style, next: State) -> Parsed {
        self.states.push(next);
        self.node(style)
    }

    fn document(&mut self, first: First) -> Parsed {
        while first == First::No && self.scanner.peek()?.kind == TokenKind::DocumentEnd {
            self.scanner.take();
        }
        let token = self.scanner.peek()?;
        let (start, is_end) = (token.start, token.kind == TokenKind::StreamEnd);
        let is_explicit = first == First::No
            || matches!(
                token.kind,
                TokenKind::VersionDirective { .. }
                    | TokenKind::TagDirective { .. }
                    | TokenKind::DocumentStart
            );
        if is_end {
            self.state = State::End;
            return Ok((Event::StreamEnd, start));
        }
        self.directives()?;
        if !is_explicit {
            self.states.push(State::DocumentEnd);
            self.state = State::BlockNode;
            return Ok((Event::DocumentStart, start));
        }
        let token = self.scanner.peek()?;
        if token.kind != TokenKind::DocumentStart {
            return Err(Fault::parser(
                "did not find expected <document start>",
                token.start,
            ));
        }
        self.scanner.take();
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok((Event::DocumentStart, start))
    }

    fn directives(&mut self) -> Result<(), Fault> {
        self.handles.clear();
        let mut has_version = false;
        loop {
            let Token { kind, start, .. } = self.scanner.peek()?.clone();
            match kind {
                TokenKind::VersionDirective { .. } if has_version => {
                    return Err(Fault::parser("found duplicate %YAML directive", start));
                }
                TokenKind::VersionDirective { major: 1, minor: 1 } => has_version = true,
                TokenKind::VersionDirective { .. } => {
                    return Err(Fault::parser("found incompatible YAML document", start));
                }
                TokenKind::TagDirective { handle, prefix } => {
                    // Each tag with this handle repeats it.
                    if prefix.len() > MAX_TAG_PREFIX_BYTES {
                        return Err(Fault::parser(
                            "found too long a prefix in a %TAG directive",
                            start,
                        ));
                    }
                    if self.handles.insert(handle, prefix).is_some() {
                        return Err(Fault::parser("found duplicate %TAG directive", start));
                    }
                }
                _ => break,
            }
            self.scanner.take();
        }
        for (handle, prefix) in [("!", "!"), ("!!", CORE_TAGS)] {
            let handle = self.handles.entry(handle.to_owned());
            handle.or_insert_with(|| prefix.to_owned());
        }
        Ok(())
    }

    fn document_content(&mut self) -> Parsed {
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let mark = token.start;
                let next = self.states.pop().unwrap_or(State::End);
                Ok(self.nothing(next, mark))
            }
            _ => self.node(Style::Block),
        }
    }

    fn document_end(&mut self) -> Parsed {
        let token = self.scanner.peek()?;
        let (mark, is_explicit) = (token.start, token.kind == TokenKind::DocumentEnd);
        if is_explicit {
            self.scanner.take();
        }
        self.state = State::Document;
        Ok((Event::DocumentEnd, mark))
    }

    fn node(&mut self, style: Style) -> Parsed {
        let start = self.scanner.peek()?.start;
        if let TokenKind::Alias(name) = &self.scanner.peek()?.kind {
            let name = name.clone();
            self.scanner.take();
            self.pop();
            return Ok((Event::Alias(name), start));
        }
        let properties = self.properties()?;
        let has_properties = properties != Properties::default();
        let token = self.scanner.peek()?;
        let is_block = style != Style::Flow;
        match &token.kind {
            TokenKind::BlockEntry if style == Style::BlockOrIndentless => {
                self.state = State::IndentlessSequence;
                Ok((Event::SequenceStart(properties), start))
            }
            TokenKind::Scalar { text, is_plain } => {
                let event = Event::Scalar {
                    text: text.clone(),
                    is_plain: *is_plain,
                    properties,
                };
                self.scanner.take();
                self.pop();
                Ok((event, start))
            }
            TokenKind::FlowSequenceStart => self.begin(
                State::FlowSequence(First::Yes),
                Event::SequenceStart(properties),
                start,
            ),
            TokenKind::FlowMappingStart => {
                self.begin(State::FlowKey(First::Yes), Event::MappingStart(properties), start)
            }
            TokenKind::BlockSequenceStart if is_block => {
                self.begin(State::BlockSequence, Event::SequenceStart(properties), start)
            }
            TokenKind::BlockMappingStart if is_block => {
                self.begin(State::BlockKey, Event::MappingStart(properties), start)
            }
            _ if has_properties => {
                self.pop();
                let event = Event::Scalar {
                    text: String::new(),
                    is_plain: true,
                    properties,
                };
                Ok((event, start))
            }
            _ => Err(Fault::parser("did not find expected node content", token.start)),
        }
    }

    fn begin(&mut self, state: State, event: Event, start: Mark) -> Parsed {
        self.scanner.take();
        self.state = state;
        Ok((event, start))
    }

    fn end(&mut self, event: Event, mark: Mark) -> Parsed {
        self.scanner.take();
        self.pop();
        Ok((event, mark))
    }

    /// An anchor and a tag, in either order.
    fn properties(&mut self) -> Result<Properties, Fault> {
        let mut properties = Properties::default();
        loop {
            let Token { kind, start, .. } = self.scanner.peek()?;
            match kind {
                TokenKind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(name.clone());
                }
                TokenKind::Tag { handle, suffix } if properties.tag.is_none() => {
                    let prefix = self.handles.get(handle);
                    properties.tag = Some(match prefix {
                        _ if handle.is_empty() => suffix.clone(),
                        Some(prefix) => format!("{prefix}{suffix}"),
                        None => return Err(Fault::parser("found undefined tag handle", *start)),
                    });
                }
                _ => return Ok(properties),
            }
            self.scanner.take();
        }
    }

    fn block_sequence(&mut self) -> Parsed {
        let Token { kind, start, end } = self.scanner.peek()?.clone();
        match kind {
            TokenKind::BlockEntry => {
                self.scanner.take();
                match self.scanner.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        Ok(self.nothing(State::BlockSequence, end))
                    }
                    _ => self.node_then(Style::Block, State::BlockSequence),
                }
            }
            TokenKind::BlockEnd => self.end(Event::SequenceEnd, start),
            _ => Err(Fault::parser("did not find expected '-' indicator", start)),
        }
    }

    fn indentless_sequence(&mut self) -> Parsed {
        let Token { kind, start, end } = self.scanner.peek()?.clone();
        if kind != TokenKind::BlockEntry {
            self.pop();
            return Ok((Event::SequenceEnd, start));
        }
        self.scanner.take();
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.nothing(State::IndentlessSequence, end))
            }
            _ => self.node_then(Style::Block, State::IndentlessSequence),
        }
    }

    fn block_key(&mut self) -> Parsed {
        let Token { kind, start, end } = self.scanner.peek()?.clone();
        match kind {
            TokenKind::Key => {
                self.scanner.take();
                self.block_entry(State::BlockValue, end)
            }
            TokenKind::BlockEnd => self.end(Event::MappingEnd, start),
            _ => Err(Fault::parser("did not find expected key", start)),
        }
    }

    fn block_value(&mut self) -> Parsed {
        let Token { kind, start, end } = self.scanner.peek()?.clone();
        if kind != TokenKind::Value {
            return Ok(self.nothing(State::BlockKey, start));
        }
        self.scanner.take();
        self.block_entry(State::BlockKey, end)
    }

    /// What stands behind the indicator of a key or a value in a block, maybe nothing.
    fn block_entry(&mut self, next: State, end: Mark) -> Parsed {
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => Ok(self.nothing(next, end)),
            _ => self.node_then(Style::BlockOrIndentless, next),
        }
    }

    /// Takes the comma before what is not the first within brackets; `Err` with where it should be.
    fn comma(&mut self, first: First) -> Result<Result<(), Mark>, Fault> {
        let token = self.scanner.peek()?;
        if first == First::Yes {
            return Ok(Ok(()));
        }
        if token.kind != TokenKind::FlowEntry {
            return Ok(Err(token.start));
        }
        self.scanner.take();
        Ok(Ok(()))
    }

    fn flow_sequence(&mut self, first: First) -> Parsed {
        if self.scanner.peek()?.kind != TokenKind::FlowSequenceEnd
            && let Err(mark) = self.comma(first)?
        {
            return Err(Fault::parser("did not find expected ',' or ']'", mark));
        }
        let token = self.scanner.peek()?;
        let mark = token.start;
        match token.kind {
            TokenKind::FlowSequenceEnd => self.end(Event::SequenceEnd, mark),
            TokenKind::Key => {
                self.scanner.take();
                self.state = State::PairKey;
                Ok((Event::MappingStart(Properties::default()), mark))
            }
            _ => self.node_then(Style::Flow, State::FlowSequence(First::No)),
        }
    }

    /// The key of a mapping of one entry that stands in a list without braces.
    fn pair_key(&mut self) -> Parsed {
        let token = self.scanner.peek()?;
        match token.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                let mark = token.end;
                self.scanner.take();
                Ok(self.nothing(State::PairValue, mark))
            }
            _ => self.node_then(Style::Flow, State::PairValue),
        }
    }

    fn flow_value(&mut self, next: State, closing: &TokenKind) -> Parsed {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if token.kind == TokenKind::Value {
            self.scanner.take();
            let token = self.scanner.peek()?;
            if token.kind != TokenKind::FlowEntry && token.kind != *closing {
                return self.node_then(Style::Flow, next);
            }
        }
        Ok(self.nothing(next, mark))
    }

    fn flow_key(&mut self, first: First) -> Parsed {
        if self.scanner.peek()?.kind != TokenKind::FlowMappingEnd
            && let Err(mark) = self.comma(first)?
        {
            return Err(Fault::parser("did not find expected ',' or '}'", mark));
        }
        let token = self.scanner.peek()?;
        let mark = token.start;
        match token.kind {
            TokenKind::FlowMappingEnd => self.end(Event::MappingEnd, mark),
            TokenKind::Key => {
                self.scanner.take();
                let token = self.scanner.peek()?;
                match token.kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        let mark = token.start;
                        Ok(self.nothing(State::FlowValue, mark))
                    }
                    _ => self.node_then(Style::Flow, State::FlowValue),
                }
            }
            _ => self.node_then(Style::Flow, State::NoFlowValue),
        }
    }
}

/// Where the first character is that YAML does not allow (readerc.go).
fn control_character(text: &str) -> Option<Mark> {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let (at, _) = text.char_indices().find(|(_, c)| !is_allowed(*c))?;
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    Some(Mark {
        index: before.chars().count(),
        line: before.matches('\n').count(),
        column: line.chars().count(),
    })
}

/// No prefix in use comes near.
const MAX_TAG_PREFIX_BYTES: usize = 1024;
/// The beginning of the tags that YAML itself defines.
pub(crate) const CORE_TAGS: &str = "tag:yaml.org,2002:";
