//! Where in a text we are, and what is there.

use super::TokenKind;

/// A place in a text, all from zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Characters before it.
    pub(crate) index: usize,
    pub(crate) line: usize,
    /// In characters.
    pub(crate) column: usize,
}

/// Goes through a text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// Always at the beginning of a character, or at the end.
    at: usize,
    mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            mark: Mark::default(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// The byte so many bytes ahead; zero beyond the end.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    /// The length in bytes of the line break so many bytes ahead; 0 where there is none.
    fn break_len(&self, ahead: usize) -> usize {
        match (self.byte(ahead), self.byte(ahead + 1), self.byte(ahead + 2)) {
            (b'\r', b'\n', _) => 2,
            (b'\r' | b'\n', ..) => 1,
            (0xc2, 0x85, _) => 2,
            (0xe2, 0x80, 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    pub(super) fn is_break(&self, ahead: usize) -> bool {
        self.break_len(ahead) > 0
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    /// Whether there is a blank, a break, or nothing.
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.is_break(ahead) || self.at + ahead >= self.text.len()
    }

    /// Passes over a character.
    pub(super) fn skip(&mut self) {
        let length = match self.byte(0) {
            _ if self.is_at_end() => return,
            ..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        self.at += length;
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Passes over a character and keeps it.
    pub(super) fn read(&mut self, out: &mut String) {
        let before = self.at;
        self.skip();
        out.push_str(&self.text[before..self.at]);
    }

    /// Passes over the line break that is here.
    pub(super) fn skip_line(&mut self) {
        let length = self.break_len(0);
        if length > 0 {
            let is_pair = self.byte(0) == b'\r' && length == 2;
            self.mark.index += if is_pair { 2 } else { 1 };
            self.at += length;
            self.mark.line += 1;
            self.mark.column = 0;
        }
    }

    /// Passes over the line break that is here and keeps it: all but two kinds are one.
    pub(super) fn read_line(&mut self, out: &mut String) {
        match self.break_len(0) {
            0 => return,
            3 => out.push_str(&self.text[self.at..self.at + 3]),
            _ => out.push('\n'),
        }
        self.skip_line();
    }

    /// Passes over the comment that is here, if there is one.
    pub(super) fn skip_comment(&mut self) {
        if self.byte(0) == b'#' {
            while !self.is_break_or_end(0) {
                self.skip();
            }
        }
    }

    pub(super) fn skip_spaces_and_tabs(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    /// What comes after the last line is on one of its own.
    pub(super) fn end_line(&mut self) {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
    }

    /// The indicator of a document that is here, at the beginning of a line.
    pub(super) fn document_indicator(&self) -> Option<TokenKind> {
        let kind = match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'-', b'-', b'-') => TokenKind::DocumentStart,
            (b'.', b'.', b'.') => TokenKind::DocumentEnd,
            _ => return None,
        };
        (self.mark.column == 0 && self.is_blank_or_end(3)).then_some(kind)
    }
}
