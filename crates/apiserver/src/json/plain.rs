//! A reader for texts of which nothing is to be told: what nearly all bodies are, and all that the store holds.
//!
//! It takes half the time of [`serde_json`], because it notes no places, builds no errors and asks no visitor. Where a text is no
//! JSON, or anything in it is to be judged (a name twice, half a surrogate pair, `-0`, too much nesting), it gives up, and another
//! reader begins anew: what is wrong is said in one place only.

use serde_json::{Map, Number, Value};

/// The value that a text is; `None` where another reader has to say what it is.
pub(crate) fn read(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut reader = Reader {
        text,
        at: 0,
        has_control: bytes.iter().fold(false, |has, byte| has | (*byte < b' ')),
    };
    let mut value = reader.value(MAX_DEPTH)?;
    reader.blanks();
    value.sort_all_objects();
    (reader.at == text.len()).then_some(value)
}

/// How deep arrays and objects may be nested: as deep as [`serde_json`] reads them.
pub(crate) const MAX_DEPTH: usize = 127;

struct Reader<'a> {
    text: &'a str,
    /// What is read next. Always at the beginning of a character.
    at: usize,
    /// Whether there are control characters anywhere, so that strings have to be looked at.
    has_control: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// The next byte that is no blank, taken.
    fn token(&mut self) -> Option<u8> {
        self.blanks();
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// `depth` is how many more arrays and objects there may be around a value.
    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.token()? {
            b'"' => self.string().map(Value::String),
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.array(depth.checked_sub(1)?),
            b't' => self.word("rue", Value::Bool(true)),
            b'f' => self.word("alse", Value::Bool(false)),
            b'n' => self.word("ull", Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn word(&mut self, rest: &str, value: Value) -> Option<Value> {
        let found = self.text.get(self.at..)?.starts_with(rest);
        self.at += rest.len();
        found.then_some(value)
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        let mut next = self.token()?;
        if next == b'}' {
            return Some(Value::Object(members));
        }
        loop {
            if next != b'"' {
                return None;
            }
            let name = self.string()?;
            if self.token()? != b':' {
                return None;
            }
            let value = self.value(depth)?;
            if members.insert(name, value).is_some() {
                return None;
            }
            match self.token()? {
                b',' => next = self.token()?,
                b'}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.blanks();
        if self.peek()? == b']' {
            self.at += 1;
            return Some(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            match self.token()? {
                b',' => {}
                b']' => return Some(Value::Array(items)),
                _ => return None,
            }
        }
    }

    /// A string, whose quote was taken.
    fn string(&mut self) -> Option<String> {
        let (piece, end) = self.piece()?;
        if end == b'"' {
            return Some(piece.to_owned());
        }
        let mut string = piece.to_owned();
        loop {
            self.escape(&mut string)?;
            let (piece, end) = self.piece()?;
            string.push_str(piece);
            if end == b'"' {
                return Some(string);
            }
        }
    }

    /// What is before the next quote or backslash, which is taken too.
    fn piece(&mut self) -> Option<(&str, u8)> {
        let start = self.at;
        let length = memchr::memchr2(b'"', b'\\', self.text.as_bytes().get(start..)?)?;
        self.at = start + length + 1;
        let piece = self.text.get(start..start + length)?;
        if self.has_control && piece.bytes().any(|byte| byte < b' ') {
            return None;
        }
        Some((piece, self.text.as_bytes()[start + length]))
    }

    /// What stands behind a backslash.
    fn escape(&mut self, string: &mut String) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        string.push(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return None;
                }
                self.at += 4;
                // Halves of surrogate pairs are no characters.
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            _ => return None,
        });
        Some(())
    }

    /// A number, whose first byte was taken.
    fn number(&mut self) -> Option<Value> {
        let start = self.at - 1;
        while let Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') = self.peek() {
            self.at += 1;
        }
        let digits = self.text.get(start..self.at)?;
        // A zero with a sign is another thing to Go than to `serde_json`.
        if digits.starts_with("-0") {
            return None;
        }
        if digits.len() <= SMALL_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            let is_written_so = digits.len() == 1 || !digits.starts_with('0');
            return is_written_so
                .then(|| digits.parse::<u64>().ok())
                .flatten()
                .map(Value::from);
        }
        let number: Number = serde_json::from_str(digits).ok()?;
        let is_zero = number.as_f64() == Some(0.0);
        (!is_zero || !digits.starts_with('-')).then_some(Value::Number(number))
    }
}

/// So many digits are a number below 2 to the power of 64.
const SMALL_DIGITS: usize = 19;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_plain() {
        for (text, expect) in [
            (
                r#" { "a" : [ 1 , -2 , "x\n\u003c\"\/" , true , false , null , { } , [ ] ] } "#,
                Some(json!({"a": [1, -2, "x\n<\"/", true, false, null, {}, []]})),
            ),
            ("\"\u{e4}\u{1f600}\\u00e4\"", Some(json!("\u{e4}\u{1f600}\u{e4}"))),
            (
                "[0,9223372036854775808,18446744073709551615,1.5,1e3,-1.25]",
                Some(json!([0, 1u64 << 63, u64::MAX, 1.5, 1e3, -1.25])),
            ),
            // Somebody else has to judge.
            (r#"{"a":1,"a":1}"#, None),
            ("-0", None),
            ("[-0.5]", None),
            ("-1e-999", None),
            ("1e999", None),
            (r#""\ud83d\ude00""#, None),
            // No JSON.
            ("", None),
            ("01", None),
            ("00", None),
            ("1.", None),
            ("+1", None),
            ("1 2", None),
            ("[1,]", None),
            (r#"{"a"}"#, None),
            (r#"{"a":1,}"#, None),
            ("{1:1}", None),
            ("tru", None),
            ("\"a\nb\"", None),
            ("\"\\u00\u{e4}\"", None),
            (r#""\x""#, None),
            (r#""a"#, None),
            ("[\u{c}]", None),
        ] {
            assert_eq!(read(text.as_bytes()), expect, "{text}");
        }
        assert_eq!(read(b"\"\xff\""), None);
    }

    #[test]
    fn as_deep_as_the_other_reader() {
        for depth in [1, MAX_DEPTH, MAX_DEPTH + 1] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let expect = serde_json::from_str::<Value>(&text).ok();
            assert_eq!(read(text.as_bytes()), expect, "{depth}");
            assert_eq!(expect.is_some(), depth <= MAX_DEPTH);
        }
    }

    proptest! {
        #[test]
        fn both_readers_read_the_same(text in r#"[\[\]{}:,"\\/utrfalsn0-9eE.+\u{e4} \n-]{0,24}"#, bytes in prop::collection::vec(any::<u8>(), 0..32)) {
            for bytes in [text.as_bytes(), &bytes[..]] {
                if let Some(value) = read(bytes) {
                    prop_assert_eq!(Some(value), serde_json::from_slice::<Value>(bytes).ok());
                }
            }
        }
    }
}
