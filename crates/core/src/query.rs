//! The query of a request, as the API server reads it.
//!
//! Go's `net/url` `ParseQuery`, whose errors upstream passes over: a part that it cannot read is not there, and the others are. Such are parts
//! with a semicolon and those with a `%` that two hexadecimal digits do not follow. Names are written with escapes as values may be.

use std::borrow::Cow;
use std::num::{IntErrorKind, ParseIntError};

/// The parameters of a query in their order, names and values without escapes.
pub fn parameters(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    parts(query).filter_map(|(name, value)| Some((unescaped(name)?, unescaped(value)?)))
}

/// The first value of a parameter, empty where it has none; nothing where it is not there.
pub fn first<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    parts(query)
        .filter(|(found, _)| unescaped(found).as_deref() == Some(name))
        .find_map(|(_, value)| unescaped(value))
}

/// A whole number, as Go's `strconv.ParseInt` reads it.
///
/// # Errors
/// What Go says of a text that is none, or one that is too large.
pub fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error| fault("ParseInt", text, &error))
}

/// A whole number without a sign, as Go's `strconv.ParseUint` reads it.
///
/// # Errors
/// What Go says of a text that is none, or one that is too large.
pub fn unsigned(text: &str) -> Result<u64, String> {
    match text.parse() {
        // Go takes no sign here, Rust does.
        Ok(number) if !text.starts_with('+') => Ok(number),
        Ok(_) => Err(fault_of("ParseUint", text, INVALID)),
        Err(error) => Err(fault("ParseUint", text, &error)),
    }
}

fn fault(function: &str, text: &str, error: &ParseIntError) -> String {
    let why = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => INVALID,
    };
    fault_of(function, text, why)
}

fn fault_of(function: &str, text: &str, why: &str) -> String {
    format!("strconv.{function}: parsing {text:?}: {why}")
}

const INVALID: &str = "invalid syntax";

/// Names and values as they are written.
fn parts(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = query
        .split('&')
        .filter(|part| !part.is_empty() && !part.contains(';'));
    parts.map(|part| part.split_once('=').unwrap_or((part, "")))
}

/// A text without its escapes. What is then no UTF-8 is marked as lost, as Go does when it writes the text.
fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, behind) = rest.split_first_chunk::<2>()?;
                rest = behind;
                let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
                u8::try_from(high? * 16 + low?).ok()?
            }
            byte => byte,
        });
    }
    Some(Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| {
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_can_be_read_is_read() {
        for (query, expect) in [
            ("", ""),
            ("watch", "watch:"),
            ("watch=", "watch:"),
            ("=1", ":1"),
            ("a=b=c", "a:b=c"),
            ("%77atch=1&w%61tch=2", "watch:1 watch:2"),
            ("a+b=c+d%2B", "a b:c d+"),
            ("a;b=1&c=2", "c:2"),
            ("a=1;b=2&c=3", "c:3"),
            ("a=%&b=%2&c=%zz&d%=1&e=%41", "e:A"),
            ("&&a=1&&", "a:1"),
            ("a=%e4%BD%a0", "a:你"),
            ("a=%ff", "a:\u{fffd}"),
        ] {
            let found: Vec<_> = parameters(query)
                .map(|(name, value)| format!("{name}:{value}"))
                .collect();
            assert_eq!(found.join(" "), expect, "{query}");
        }
    }

    #[test]
    fn the_first_counts() {
        for (query, expect) in [
            ("", None),
            ("b=1", None),
            ("%61=1&a=2", Some("1")),
            ("a=%zz&a=2", Some("2")),
            ("a=&a=2", Some("")),
        ] {
            assert_eq!(first(query, "a").as_deref(), expect, "{query}");
        }
    }

    #[test]
    fn numbers_are_those_of_go() {
        let invalid = |function, text| format!("strconv.{function}: parsing {text:?}: invalid syntax");
        let great = |function, text| format!("strconv.{function}: parsing {text:?}: value out of range");
        for (text, signed, plain) in [
            ("0", Ok(0), Ok(0)),
            ("007", Ok(7), Ok(7)),
            ("+1", Ok(1), Err(invalid("ParseUint", "+1"))),
            ("-1", Ok(-1), Err(invalid("ParseUint", "-1"))),
            ("", Err(invalid("ParseInt", "")), Err(invalid("ParseUint", ""))),
            (
                "1_0",
                Err(invalid("ParseInt", "1_0")),
                Err(invalid("ParseUint", "1_0")),
            ),
            (
                "9223372036854775808",
                Err(great("ParseInt", "9223372036854775808")),
                Ok(1 << 63),
            ),
        ] {
            assert_eq!((integer(text), unsigned(text)), (signed, plain), "{text}");
        }
    }

    proptest! {
        /// What is written as a form is read as it was.
        #[test]
        fn forms_are_read_as_they_were(pairs in proptest::collection::vec((".*", ".*"), 0..4)) {
            let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            let found: Vec<_> = parameters(&query).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
            prop_assert_eq!(found, pairs);
        }
    }
}
