//! What Go's scanner says of a text that is no JSON (encoding/json scanner.go).

use super::plain::MAX_DEPTH;

/// The first fault of a text, in Go's words; `None` where its syntax is right.
pub(super) fn error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner {
        text,
        at: 0,
        open: Vec::new(),
    };
    scanner.document().err().map(|fault| match fault {
        Fault::End => "unexpected end of JSON input".to_owned(),
        Fault::Byte(byte, context) => format!("invalid character {} {context}", quote(byte)),
    })
}

enum Fault {
    /// The text ends where it must not.
    End,
    /// A byte that does not belong there.
    Byte(u8, &'static str),
}

/// Reads without recursion: `open` holds the bracket of each array and object around the present place.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<u8>,
}

type Scanned<T = ()> = Result<T, Fault>;

impl Scanner<'_> {
    fn document(&mut self) -> Scanned {
        loop {
            if self.begin_value()? {
                continue;
            }
            // A value has ended; so may what is around it.
            loop {
                self.blanks();
                let next = self.text.get(self.at).copied();
                match (self.open.last(), next) {
                    (None, None) => return Ok(()),
                    (None, Some(byte)) => return Err(Fault::Byte(byte, "after top-level value")),
                    (Some(_), None) => return Err(Fault::End),
                    (Some(b'['), Some(b']')) | (Some(b'{'), Some(b'}')) => {
                        self.at += 1;
                        self.open.pop();
                    }
                    (Some(b'['), Some(b',')) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'['), Some(byte)) => return Err(Fault::Byte(byte, "after array element")),
                    (Some(_), Some(b',')) => {
                        self.at += 1;
                        self.key()?;
                        break;
                    }
                    (Some(_), Some(byte)) => return Err(Fault::Byte(byte, "after object key:value pair")),
                }
            }
        }
    }

    /// Reads a scalar or an empty array or object, or opens one that is not. Says whether a value begins next.
    fn begin_value(&mut self) -> Scanned<bool> {
        self.blanks();
        match self.next()? {
            b'"' => self.string()?,
            b't' => self.word(&[
                (b'r', "in literal true (expecting 'r')"),
                (b'u', "in literal true (expecting 'u')"),
                (b'e', "in literal true (expecting 'e')"),
            ])?,
            b'f' => self.word(&[
                (b'a', "in literal false (expecting 'a')"),
                (b'l', "in literal false (expecting 'l')"),
                (b's', "in literal false (expecting 's')"),
                (b'e', "in literal false (expecting 'e')"),
            ])?,
            b'n' => self.word(&[
                (b'u', "in literal null (expecting 'u')"),
                (b'l', "in literal null (expecting 'l')"),
                (b'l', "in literal null (expecting 'l')"),
            ])?,
            byte @ (b'-' | b'0'..=b'9') => self.number(byte)?,
            bracket @ (b'[' | b'{') => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(Fault::Byte(bracket, "exceeded max depth"));
                }
                self.blanks();
                if self.text.get(self.at) == Some(&(bracket + 2)) {
                    self.at += 1;
                    return Ok(false);
                }
                self.open.push(bracket);
                if bracket == b'{' {
                    self.key()?;
                }
                return Ok(true);
            }
            byte => return Err(Fault::Byte(byte, "looking for beginning of value")),
        }
        Ok(false)
    }

    fn key(&mut self) -> Scanned {
        self.blanks();
        match self.next()? {
            b'"' => self.string()?,
            byte => return Err(Fault::Byte(byte, "looking for beginning of object key string")),
        }
        self.blanks();
        match self.next()? {
            b':' => Ok(()),
            byte => Err(Fault::Byte(byte, "after object key")),
        }
    }

    fn string(&mut self) -> Scanned {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.next()?;
                            if !byte.is_ascii_hexdigit() {
                                return Err(Fault::Byte(byte, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    byte => return Err(Fault::Byte(byte, "in string escape code")),
                },
                byte @ ..0x20 => return Err(Fault::Byte(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn word(&mut self, rest: &[(u8, &'static str)]) -> Scanned {
        for (expect, context) in rest {
            let byte = self.next()?;
            if byte != *expect {
                return Err(Fault::Byte(byte, context));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Scanned {
        let first = match first {
            b'-' => match self.next()? {
                byte @ b'0'..=b'9' => byte,
                byte => return Err(Fault::Byte(byte, "in numeric literal")),
            },
            byte => byte,
        };
        if first != b'0' {
            self.digits();
        }
        if self.eat(b".") {
            match self.next()? {
                b'0'..=b'9' => self.digits(),
                byte => return Err(Fault::Byte(byte, "after decimal point in numeric literal")),
            }
        }
        if self.eat(b"eE") {
            self.eat(b"+-");
            match self.next()? {
                b'0'..=b'9' => self.digits(),
                byte => return Err(Fault::Byte(byte, "in exponent of numeric literal")),
            }
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.eat(b"0123456789") {}
    }

    fn eat(&mut self, any_of: &[u8]) -> bool {
        let found = self.text.get(self.at).is_some_and(|byte| any_of.contains(byte));
        self.at += usize::from(found);
        found
    }

    fn blanks(&mut self) {
        while self.eat(b" \t\r\n") {}
    }

    fn next(&mut self) -> Scanned<u8> {
        let byte = *self.text.get(self.at).ok_or(Fault::End)?;
        self.at += 1;
        Ok(byte)
    }
}

/// A byte as Go shows it: as the character of that number.
fn quote(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        ..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        // Go prints what has a shape, which these have not.
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_words_of_go() {
        for (text, expect) in [
            ("", Some("unexpected end of JSON input")),
            (" ", Some("unexpected end of JSON input")),
            ("{", Some("unexpected end of JSON input")),
            ("[1", Some("unexpected end of JSON input")),
            ("\"a", Some("unexpected end of JSON input")),
            ("{\"a\"", Some("unexpected end of JSON input")),
            ("tru", Some("unexpected end of JSON input")),
            ("-", Some("unexpected end of JSON input")),
            ("1e", Some("unexpected end of JSON input")),
            ("x", Some("invalid character 'x' looking for beginning of value")),
            ("]", Some("invalid character ']' looking for beginning of value")),
            ("[,", Some("invalid character ',' looking for beginning of value")),
            (
                "[1,]",
                Some("invalid character ']' looking for beginning of value"),
            ),
            (
                "{,",
                Some("invalid character ',' looking for beginning of object key string"),
            ),
            (
                "{\"a\":1,}",
                Some("invalid character '}' looking for beginning of object key string"),
            ),
            (
                "{a:1}",
                Some("invalid character 'a' looking for beginning of object key string"),
            ),
            ("{\"a\" 1}", Some("invalid character '1' after object key")),
            (
                "{\"a\":1 \"b\"}",
                Some("invalid character '\"' after object key:value pair"),
            ),
            ("[1 2]", Some("invalid character '2' after array element")),
            ("{} x", Some("invalid character 'x' after top-level value")),
            ("{}{}", Some("invalid character '{' after top-level value")),
            ("01", Some("invalid character '1' after top-level value")),
            ("-a", Some("invalid character 'a' in numeric literal")),
            (
                "1.x",
                Some("invalid character 'x' after decimal point in numeric literal"),
            ),
            (
                "1e+x",
                Some("invalid character 'x' in exponent of numeric literal"),
            ),
            (
                "nil",
                Some("invalid character 'i' in literal null (expecting 'u')"),
            ),
            (
                "trap",
                Some("invalid character 'a' in literal true (expecting 'u')"),
            ),
            ("\"\n\"", Some("invalid character '\\n' in string literal")),
            ("\"\\x\"", Some("invalid character 'x' in string escape code")),
            (
                "\"\\u12g4\"",
                Some("invalid character 'g' in \\u hexadecimal character escape"),
            ),
            (
                "'a'",
                Some("invalid character '\\'' looking for beginning of value"),
            ),
            (
                "\u{0}",
                Some("invalid character '\\x00' looking for beginning of value"),
            ),
            ("{}", None),
            (
                " [ {} , [ ] , -0.5e-3 , \"\\u00e9\\\"\" , null , true , false ] ",
                None,
            ),
            ("{\"a\":{\"b\":[]},\"c\":0}", None),
        ] {
            assert_eq!(error(text.as_bytes()).as_deref(), expect, "{text}");
        }
        let deep = |depth: usize| error(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).as_bytes());
        assert_eq!(deep(MAX_DEPTH), None);
        assert_eq!(
            deep(MAX_DEPTH + 1).as_deref(),
            Some("invalid character '[' exceeded max depth")
        );
    }
}
