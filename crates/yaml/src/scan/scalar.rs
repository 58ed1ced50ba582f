//! Scalars: plain, quoted, and in blocks.

use super::{Scanner, TokenKind, column};
use crate::parse::Fault;

/// What is between the words of a scalar that goes over several lines.
#[derive(Default)]
struct Gap {
    /// Blanks on one line.
    blanks: String,
    first_break: String,
    more_breaks: String,
    has_break: bool,
}

impl Gap {
    /// Writes the gap as the scalar has it: one break is a space, and of several the first is none.
    fn fold(&mut self, out: &mut String) {
        if !self.has_break {
            out.push_str(&self.blanks);
        } else if self.first_break == "\n" {
            out.push_str(if self.more_breaks.is_empty() {
                " "
            } else {
                &self.more_breaks
            });
        } else {
            out.push_str(&self.first_break);
            out.push_str(&self.more_breaks);
        }
        *self = Self::default();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    fn push_scalar(&mut self, text: String, start: super::Mark, is_plain: bool) {
        self.push(TokenKind::Scalar { text, is_plain }, start);
    }

    /// Reads the blanks or the break that is here; blanks at the beginning of lines are indentation.
    fn read_gap(&mut self, gap: &mut Gap) {
        if self.cursor.is_blank(0) {
            match gap.has_break {
                true => self.cursor.skip(),
                false => self.cursor.read(&mut gap.blanks),
            }
        } else if gap.has_break {
            self.cursor.read_line(&mut gap.more_breaks);
        } else {
            gap.blanks.clear();
            self.cursor.read_line(&mut gap.first_break);
            gap.has_break = true;
        }
    }

    pub(super) fn plain_scalar(&mut self) -> Result<(), Fault> {
        let start = self.cursor.mark();
        let mut end = start;
        let indent = self.indent + 1;
        let (mut text, mut gap) = (String::new(), Gap::default());
        loop {
            if self.cursor.document_indicator().is_some() || self.cursor.byte(0) == b'#' {
                break;
            }
            while !self.cursor.is_blank_or_end(0) && !self.ends_plain() {
                gap.fold(&mut text);
                self.cursor.read(&mut text);
                end = self.cursor.mark();
            }
            if !(self.cursor.is_blank(0) || self.cursor.is_break(0)) {
                break;
            }
            while self.cursor.is_blank(0) || self.cursor.is_break(0) {
                let is_indentation = gap.has_break && column(self.cursor.mark()) < indent;
                if is_indentation && self.cursor.byte(0) == b'\t' {
                    return self.fault("found a tab character that violates indentation");
                }
                self.read_gap(&mut gap);
            }
            if !self.is_in_flow() && column(self.cursor.mark()) < indent {
                break;
            }
        }
        self.allows_key |= gap.has_break;
        self.push_scalar(text, start, true);
        if let Some(token) = self.queue.back_mut() {
            token.end = end;
        }
        Ok(())
    }

    fn ends_plain(&self) -> bool {
        match self.cursor.byte(0) {
            b':' => self.cursor.is_blank_or_end(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.is_in_flow(),
            _ => false,
        }
    }

    pub(super) fn flow_scalar(&mut self) -> Result<(), Fault> {
        let start = self.cursor.mark();
        let quote = self.cursor.byte(0);
        self.cursor.skip();
        let mut text = String::new();
        loop {
            if self.cursor.document_indicator().is_some() {
                return self.fault("found unexpected document indicator");
            }
            if self.cursor.is_at_end() {
                return self.fault("found unexpected end of stream");
            }
            let mut gap = Gap::default();
            while !self.cursor.is_blank_or_end(0) {
                match (self.cursor.byte(0), self.cursor.byte(1)) {
                    (b'\'', b'\'') if quote == b'\'' => {
                        self.cursor.skip();
                        self.cursor.read(&mut text);
                    }
                    (byte, _) if byte == quote => break,
                    (b'\\', _) if quote == b'"' && self.cursor.is_break(1) => {
                        self.cursor.skip();
                        self.cursor.skip_line();
                        gap.has_break = true;
                        break;
                    }
                    (b'\\', escape) if quote == b'"' => self.escape(escape, &mut text)?,
                    _ => self.cursor.read(&mut text),
                }
            }
            if self.cursor.byte(0) == quote {
                break;
            }
            while self.cursor.is_blank(0) || self.cursor.is_break(0) {
                self.read_gap(&mut gap);
            }
            gap.fold(&mut text);
        }
        self.cursor.skip();
        self.push_scalar(text, start, false);
        Ok(())
    }

    /// The character behind a backslash.
    fn escape(&mut self, escape: u8, out: &mut String) -> Result<(), Fault> {
        let (c, digits) = match escape {
            b'0' => ('\0', 0),
            b'a' => ('\u{7}', 0),
            b'b' => ('\u{8}', 0),
            b't' | b'\t' => ('\t', 0),
            b'n' => ('\n', 0),
            b'v' => ('\u{b}', 0),
            b'f' => ('\u{c}', 0),
            b'r' => ('\r', 0),
            b'e' => ('\u{1b}', 0),
            b' ' | b'"' | b'\'' | b'\\' => (char::from(escape), 0),
            b'N' => ('\u{85}', 0),
            b'_' => ('\u{a0}', 0),
            b'L' => ('\u{2028}', 0),
            b'P' => ('\u{2029}', 0),
            b'x' => ('\0', 2),
            b'u' => ('\0', 4),
            b'U' => ('\0', 8),
            _ => return self.fault("found unknown escape character"),
        };
        self.cursor.skip();
        self.cursor.skip();
        if digits == 0 {
            out.push(c);
            return Ok(());
        }
        let mut code = 0_u32;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.cursor.byte(ahead)).to_digit(16) else {
                return self.fault("did not find expected hexdecimal number");
            };
            code = code << 4 | digit;
        }
        let Some(c) = char::from_u32(code) else {
            return self.fault("found invalid Unicode character escape code");
        };
        out.push(c);
        for _ in 0..digits {
            self.cursor.skip();
        }
        Ok(())
    }

    pub(super) fn block_scalar(&mut self) -> Result<(), Fault> {
        let start = self.cursor.mark();
        let is_literal = self.cursor.byte(0) == b'|';
        self.cursor.skip();
        let (chomping, increment) = self.block_header()?;
        let mut indent = increment.map(|increment| self.indent.max(0) + increment);
        let (mut text, mut first_break, mut more_breaks) = (String::new(), String::new(), String::new());
        let mut follows_blank = false;
        self.block_breaks(&mut indent, &mut more_breaks)?;
        while indent == Some(column(self.cursor.mark())) && !self.cursor.is_at_end() {
            let is_blank = self.cursor.is_blank(0);
            // Lines are joined unless one of them is indented.
            if !is_literal && !follows_blank && !is_blank && first_break == "\n" {
                if more_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&first_break);
            }
            first_break.clear();
            text.push_str(&more_breaks);
            more_breaks.clear();
            follows_blank = is_blank;
            while !self.cursor.is_break_or_end(0) {
                self.cursor.read(&mut text);
            }
            self.cursor.read_line(&mut first_break);
            self.block_breaks(&mut indent, &mut more_breaks)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(&first_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&more_breaks);
        }
        self.push_scalar(text, start, false);
        Ok(())
    }

    /// What is between the indicator of a block scalar and its first line.
    fn block_header(&mut self) -> Result<(Chomping, Option<isize>), Fault> {
        let (mut chomping, mut increment) = (Chomping::Clip, None);
        // In either order, each once.
        for _ in 0..2 {
            match self.cursor.byte(0) {
                b'+' if chomping == Chomping::Clip => chomping = Chomping::Keep,
                b'-' if chomping == Chomping::Clip => chomping = Chomping::Strip,
                b'0' if increment.is_none() => {
                    return self.fault("found an indentation indicator equal to 0");
                }
                digit @ b'1'..=b'9' if increment.is_none() => increment = Some(isize::from(digit - b'0')),
                _ => break,
            }
            self.cursor.skip();
        }
        self.cursor.skip_spaces_and_tabs();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end(0) {
            return self.fault("did not find expected comment or line break");
        }
        self.cursor.skip_line();
        Ok((chomping, increment))
    }

    /// Passes over indentation and empty lines. The first line that has more tells the indentation unless the header did.
    fn block_breaks(&mut self, indent: &mut Option<isize>, breaks: &mut String) -> Result<(), Fault> {
        let mut deepest = 0;
        loop {
            let is_before = |at: isize| indent.is_none_or(|indent| at < indent);
            while is_before(column(self.cursor.mark())) && self.cursor.byte(0) == b' ' {
                self.cursor.skip();
            }
            let at = column(self.cursor.mark());
            deepest = deepest.max(at);
            if is_before(at) && self.cursor.byte(0) == b'\t' {
                return self.fault("found a tab character where an indentation space is expected");
            }
            if !self.cursor.is_break(0) {
                break;
            }
            self.cursor.read_line(breaks);
        }
        indent.get_or_insert(deepest.max(self.indent + 1).max(1));
        Ok(())
    }
}
