//! The members of a JSON object, as text: [`Members`].

use super::nesting::Nesting;

/// Walks over the members of an object, name by name, and cuts out or passes their values without decoding them.
///
/// It finds where things end and checks no more than that takes: what was cut out may be no valid JSON. Who wants to know reads it.
///
/// ```
/// use kubewright_core::json::Members;
///
/// let mut members = Members::of(r#"{"kind": "Pod", "metadata": {"name": "a"}, "spec": oops"#).unwrap();
/// assert_eq!(members.name(), Some(Ok("kind")));
/// assert_eq!(members.value(), Some("\"Pod\""));
/// assert_eq!(members.name(), Some(Ok("metadata")));
/// let mut metadata = Members::of(members.rest()).unwrap();
/// assert_eq!((metadata.name(), metadata.value()), (Some(Ok("name")), Some("\"a\"")));
/// assert_eq!((metadata.name(), metadata.passed()), (None, r#"{"name": "a"}"#));
/// ```
#[derive(Debug, Clone)]
pub struct Members<'a> {
    text: &'a str,
    at: usize,
    /// A value was read, or is being read.
    begun: bool,
}

/// The text is not that of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} is no part of a JSON object")]
pub struct NoObject {
    /// Where, counted from 0.
    pub at: usize,
}

impl<'a> Members<'a> {
    /// The members of the object with which the text begins; `None` if it begins with something else. More may follow the object.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        let at = text.len() - text.trim_ascii_start().len();
        text[at..].starts_with('{').then_some(Self {
            text,
            at: at + 1,
            begun: false,
        })
    }

    /// The name of the next member as it is written, escapes included, without its quotes; `None` at the end of the object. The member
    /// before must have been passed by [`value`](Self::value).
    ///
    /// # Errors
    ///
    /// There is neither a member nor the end.
    pub fn name(&mut self) -> Option<Result<&'a str, NoObject>> {
        self.blanks();
        if self.take(b'}') {
            return None;
        }
        Some(self.next_name().ok_or(NoObject { at: self.at }))
    }

    fn next_name(&mut self) -> Option<&'a str> {
        if self.begun {
            self.take(b',').then_some(())?;
            self.blanks();
        }
        self.begun = true;
        let end = string_end(&self.text[self.at..])?;
        let name = &self.text[self.at + 1..self.at + end - 1];
        self.at += end;
        self.blanks();
        self.take(b':').then_some(())?;
        self.blanks();
        Some(name)
    }

    /// The text from the value on whose name was read last.
    #[must_use]
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The value whose name was read last, as it is written; `None` if it does not end.
    pub fn value(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = match rest.as_bytes().first()? {
            b'"' => string_end(rest)?,
            b'{' | b'[' => Nesting::default().scan(rest.as_bytes()).ok()??,
            _ => rest.find([',', '}', ']', ' ', '\t', '\r', '\n'])?,
        };
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// What was passed of the text: the whole object once [`name`](Self::name) has returned `None`.
    #[must_use]
    pub fn passed(&self) -> &'a str {
        self.text[..self.at].trim_ascii_start()
    }

    fn blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_it = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_it);
        is_it
    }
}

/// One past the quote that closes the string with which the text begins.
pub(super) fn string_end(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('"')?.as_bytes();
    let mut from = 0;
    loop {
        let quote = from + memchr::memchr(b'"', &inner[from..])?;
        let backslashes = inner[..quote]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        if backslashes % 2 == 0 {
            return Some(quote + 2);
        }
        from = quote + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    /// All members, and what was passed.
    type Read<'a> = Result<(Vec<(&'a str, &'a str)>, &'a str), &'static str>;

    fn read(text: &str) -> Read<'_> {
        let mut members = Members::of(text).ok_or("no object")?;
        let mut all = Vec::new();
        while let Some(name) = members.name() {
            let name = name.map_err(|_| "no member")?;
            all.push((name, members.value().ok_or("no value")?));
        }
        Ok((all, members.passed()))
    }

    #[test]
    fn members_are_cut_out() {
        type Row = (
            &'static str,
            Result<(&'static [(&'static str, &'static str)], &'static str), &'static str>,
        );
        let rows: [Row; 18] = [
            ("{}", Ok((&[], "{}"))),
            (" { } rest", Ok((&[], "{ }"))),
            (r#"{"a":1}"#, Ok((&[("a", "1")], r#"{"a":1}"#))),
            (
                " {\t\"a\" : \"x\\\"y\" , \"b\" : [ {} , \"]\" ] } ,",
                Ok((
                    &[("a", "\"x\\\"y\""), ("b", "[ {} , \"]\" ]")],
                    "{\t\"a\" : \"x\\\"y\" , \"b\" : [ {} , \"]\" ] }",
                )),
            ),
            (
                r#"{"a\"b":null}"#,
                Ok((&[("a\\\"b", "null")], r#"{"a\"b":null}"#)),
            ),
            (r#"{"a\\":true}"#, Ok((&[("a\\\\", "true")], r#"{"a\\":true}"#))),
            ("", Err("no object")),
            ("[]", Err("no object")),
            ("{", Err("no member")),
            ("{1}", Err("no member")),
            (r#"{"a"}"#, Err("no member")),
            (r#"{"a":}"#, Err("no value")),
            (r#"{"a":1"#, Err("no value")),
            (r#"{"a":"1}"#, Err("no value")),
            (r#"{"a":[1}"#, Err("no member")),
            (r#"{"a":1 "b":2}"#, Err("no member")),
            (r#"{"a":1,}"#, Err("no member")),
            (r#"{,"a":1}"#, Err("no member")),
        ];
        for (text, expect) in rows {
            let expect = expect.map(|(members, passed)| (members.to_vec(), passed));
            assert_eq!(read(text), expect, "{text}");
        }
    }

    proptest! {
        #[test]
        fn they_are_those_that_a_parser_finds(
            map in proptest::collection::btree_map(".{0,5}", prop_oneof![
                Just(Value::Null), any::<i64>().prop_map(Value::from), ".{0,20}".prop_map(Value::from),
                proptest::collection::vec(".{0,5}", 0..3).prop_map(Value::from),
            ], 0..6),
            pretty in any::<bool>(),
        ) {
            let value = Value::Object(map.into_iter().collect());
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let (members, passed) = read(&text).unwrap();
            prop_assert_eq!(passed, &text);
            let read: Map<String, Value> = members
                .into_iter()
                .map(|(name, value)| {
                    (serde_json::from_str(&format!("\"{name}\"")).unwrap(), serde_json::from_str(value).unwrap())
                })
                .collect();
            prop_assert_eq!(Value::Object(read), value);
        }

        #[test]
        fn any_text_is_survived(text in "[{}\\[\\]\",:\\\\ a1]{0,40}") {
            let _ = read(&text);
        }
    }
}
