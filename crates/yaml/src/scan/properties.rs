//! Directives, anchors and tags.

use super::{Scanner, TokenKind};
use crate::parse::Fault;

impl Scanner<'_> {
    pub(super) fn directive(&mut self) -> Result<(), Fault> {
        self.unindent_to(-1);
        self.remove_key()?;
        self.allows_key = false;
        let start = self.cursor.mark();
        self.cursor.skip();
        let name = self.word();
        if name.is_empty() {
            return self.fault("could not find expected directive name");
        }
        if !self.cursor.is_blank_or_end(0) {
            return self.fault("found unexpected non-alphabetical character");
        }
        let kind = match name.as_str() {
            "YAML" => self.version()?,
            "TAG" => self.tag_directive()?,
            _ => return self.fault("found unknown directive name"),
        };
        self.push(kind, start);
        self.cursor.skip_spaces_and_tabs();
        self.cursor.skip_comment();
        if !self.cursor.is_break_or_end(0) {
            return self.fault("did not find expected comment or line break");
        }
        self.cursor.skip_line();
        Ok(())
    }

    fn version(&mut self) -> Result<TokenKind, Fault> {
        self.cursor.skip_spaces_and_tabs();
        let major = self.version_number()?;
        if self.cursor.byte(0) != b'.' {
            return self.fault("did not find expected digit or '.' character");
        }
        self.cursor.skip();
        let minor = self.version_number()?;
        Ok(TokenKind::VersionDirective { major, minor })
    }

    fn version_number(&mut self) -> Result<u8, Fault> {
        let (mut number, mut length) = (0, 0);
        while self.cursor.byte(0).is_ascii_digit() {
            length += 1;
            if length > 2 {
                return self.fault("found extremely long version number");
            }
            number = number * 10 + (self.cursor.byte(0) - b'0');
            self.cursor.skip();
        }
        match length {
            0 => self.fault("did not find expected version number"),
            _ => Ok(number),
        }
    }

    fn tag_directive(&mut self) -> Result<TokenKind, Fault> {
        self.cursor.skip_spaces_and_tabs();
        let handle = self.tag_handle()?;
        if handle != "!" && !handle.ends_with('!') {
            return self.fault("did not find expected '!'");
        }
        if !self.cursor.is_blank(0) {
            return self.fault("did not find expected whitespace");
        }
        self.cursor.skip_spaces_and_tabs();
        let prefix = self.tag_uri("")?;
        if !self.cursor.is_blank_or_end(0) {
            return self.fault("did not find expected whitespace or line break");
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }

    /// An anchor or an alias.
    pub(super) fn anchor(&mut self) -> Result<(), Fault> {
        let start = self.cursor.mark();
        let is_alias = self.cursor.byte(0) == b'*';
        self.cursor.skip();
        let name = self.word();
        let ends = self.cursor.is_blank_or_end(0)
            || matches!(
                self.cursor.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !ends {
            return self.fault("did not find expected alphabetic or numeric character");
        }
        let kind = if is_alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor(name)
        };
        self.push(kind, start);
        Ok(())
    }

    pub(super) fn tag(&mut self) -> Result<(), Fault> {
        let start = self.cursor.mark();
        let (handle, suffix) = if self.cursor.byte(1) == b'<' {
            self.cursor.skip();
            self.cursor.skip();
            let suffix = self.tag_uri("")?;
            if self.cursor.byte(0) != b'>' {
                return self.fault("did not find the expected '>'");
            }
            self.cursor.skip();
            (String::new(), suffix)
        } else {
            let handle = self.tag_handle()?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.tag_uri("")?;
                (handle, suffix)
            } else {
                match self.tag_uri(&handle)? {
                    // The tag that asks for none.
                    suffix if suffix.is_empty() => (suffix, "!".to_owned()),
                    suffix => ("!".to_owned(), suffix),
                }
            }
        };
        if !self.cursor.is_blank_or_end(0) {
            return self.fault("did not find expected whitespace or line break");
        }
        self.push(TokenKind::Tag { handle, suffix }, start);
        Ok(())
    }

    /// `!`, `!!` or `!name!`; `!name` is the beginning of a tag without one.
    fn tag_handle(&mut self) -> Result<String, Fault> {
        if self.cursor.byte(0) != b'!' {
            return self.fault("did not find expected '!'");
        }
        let mut handle = String::new();
        self.cursor.read(&mut handle);
        handle.push_str(&self.word());
        if self.cursor.byte(0) == b'!' {
            self.cursor.read(&mut handle);
        }
        Ok(handle)
    }

    /// The rest of a tag; `head` is what was read of it as a handle.
    fn tag_uri(&mut self, head: &str) -> Result<String, Fault> {
        let mut uri = head.get(1..).unwrap_or_default().to_owned();
        let mut is_empty = head.is_empty();
        loop {
            match self.cursor.byte(0) {
                b'%' => self.escaped(&mut uri)?,
                byte if is_word(byte) || URI.contains(&byte) => self.cursor.read(&mut uri),
                _ if is_empty => return self.fault("did not find expected tag URI"),
                _ => return Ok(uri),
            }
            is_empty = false;
        }
    }

    /// A character as octets in hexadecimal digits.
    fn escaped(&mut self, out: &mut String) -> Result<(), Fault> {
        let mut octets = Vec::new();
        loop {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let digits = (digit(self.cursor.byte(1)), digit(self.cursor.byte(2)));
            let (b'%', (Some(high), Some(low))) = (self.cursor.byte(0), digits) else {
                return self.fault("did not find URI escaped octet");
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or_default();
            match (octets.is_empty(), octet) {
                (true, 0x80..=0xbf | 0xf8..) => return self.fault("found an incorrect leading UTF-8 octet"),
                (false, ..0x80 | 0xc0..) => return self.fault("found an incorrect trailing UTF-8 octet"),
                _ => octets.push(octet),
            }
            for _ in 0..3 {
                self.cursor.skip();
            }
            let length = match octets[0] {
                ..=0x7f => 1,
                0x80..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            if octets.len() == length {
                out.push_str(&String::from_utf8_lossy(&octets));
                return Ok(());
            }
        }
    }

    /// Letters, digits, `_` and `-`.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while is_word(self.cursor.byte(0)) {
            self.cursor.read(&mut word);
        }
        word
    }

    /// What is wrong with the character that is here.
    pub(super) fn fault<T>(&self, why: &'static str) -> Result<T, Fault> {
        Err(Fault::scanner(why, self.cursor.mark()))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// What else a tag may have.
const URI: &[u8] = b";/?:@&=+$,.!~*'()[]";
