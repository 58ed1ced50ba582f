//! Patterns of schemas: Go's RE2 syntax, run by the `regex` crate.
//!
//! Both engines are automata without backtracking and agree on nearly all syntax. What differs is rewritten: Go's
//! `\d \w \s \b` are ASCII, `[` and the set operators have no meaning inside Go's classes, a `{` that begins no
//! repetition is itself, and `\Q..\E` quotes.

use std::fmt;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// The most memory that one compiled pattern may take, in bytes. Go bounds its programs at a similar size.
pub(crate) const MAX_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// The deepest nesting of groups.
pub(crate) const MAX_GROUP_DEPTH: u32 = 250;
/// The largest count of a repetition; RE2's own limit.
const MAX_REPEAT: u32 = 1000;

/// A pattern; compiled when it is first asked.
#[derive(Clone)]
pub(crate) struct Pattern {
    source: String,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    pub(crate) fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            compiled: OnceLock::new(),
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether the pattern is found anywhere in the text.
    ///
    /// # Errors
    /// Go's words for what is wrong with the pattern, as far as they can be said without its parser.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, &str> {
        match self.compile() {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(error) => Err(error),
        }
    }

    /// Checks the pattern.
    ///
    /// # Errors
    /// As [`is_match`](Self::is_match).
    pub(crate) fn check(&self) -> Result<(), &str> {
        self.compile().as_ref().map(|_| ()).map_err(String::as_str)
    }

    fn compile(&self) -> &Result<Regex, String> {
        self.compiled.get_or_init(|| {
            let translated = translate(&self.source)?;
            RegexBuilder::new(&translated)
                .size_limit(MAX_COMPILED_BYTES)
                .nest_limit(MAX_GROUP_DEPTH)
                .build()
                .map_err(|error| explain(&error))
        })
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.source).finish()
    }
}

/// The last line of the parser's message says what is wrong; the lines before draw the place.
fn explain(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    let reason = last.strip_prefix("error: ").unwrap_or(last);
    match reason {
        "repetition operator missing expression" => {
            "error parsing regexp: missing argument to repetition operator".to_owned()
        }
        "unclosed group" => "error parsing regexp: missing closing )".to_owned(),
        "unopened group" => "error parsing regexp: unexpected )".to_owned(),
        "unclosed character class" => "error parsing regexp: missing closing ]".to_owned(),
        other => format!("error parsing regexp: {other}"),
    }
}

/// Rewrites Go's syntax to that of the `regex` crate.
fn translate(source: &str) -> Result<String, String> {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\\' => escape(after, in_class, &mut out)?,
            '[' if in_class => posix_class(rest, after, &mut out),
            '[' => {
                in_class = true;
                open_class(after, &mut out)
            }
            ']' if in_class => {
                in_class = false;
                out.push(c);
                after
            }
            // Doubled, these are operators on sets.
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
                after
            }
            // Two hyphens are a range's bound beside its sign; together they would be an operator.
            '-' if in_class && after.starts_with('-') => {
                let opens = (out.ends_with('[') && !out.ends_with("\\[")) || out.ends_with("[^");
                out.push_str(if opens { "\\--" } else { "-\\-" });
                &after[1..]
            }
            '{' if !in_class => repetition(rest, after, &mut out)?,
            _ => {
                out.push(c);
                after
            }
        };
    }
    Ok(out)
}

/// The `^` and the literal `]` that may follow a `[`.
fn open_class<'a>(mut rest: &'a str, out: &mut String) -> &'a str {
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = after;
    }
    rest
}

/// `[:alpha:]` stays; any other `[` inside a class is a character.
fn posix_class<'a>(rest: &'a str, after: &'a str, out: &mut String) -> &'a str {
    if let Some(name) = after.strip_prefix(':')
        && let Some(end) = name.find(":]")
        && name[..end]
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'^')
    {
        let length = 2 + end + 2;
        out.push_str(&rest[..length]);
        return &rest[length..];
    }
    out.push_str("\\[");
    after
}

fn repetition<'a>(rest: &'a str, after: &'a str, out: &mut String) -> Result<&'a str, String> {
    let Some(end) = after.find('}') else {
        out.push_str("\\{");
        return Ok(after);
    };
    let body = &after[..end];
    let (low, high) = body.split_once(',').unwrap_or((body, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if low.is_empty() || !digits(low) || !digits(high) {
        out.push_str("\\{");
        return Ok(after);
    }
    let too_large =
        |text: &str| !text.is_empty() && text.parse::<u32>().map_or(true, |count| count > MAX_REPEAT);
    if too_large(low) || too_large(high) {
        return Err(format!(
            "error parsing regexp: invalid repeat count: `{{{body}}}`"
        ));
    }
    let length = 1 + end + 1;
    out.push_str(&rest[..length]);
    Ok(&rest[length..])
}

fn escape<'a>(after: &'a str, in_class: bool, out: &mut String) -> Result<&'a str, String> {
    let Some(c) = after.chars().next() else {
        return Err("error parsing regexp: trailing backslash at end of expression: ``".to_owned());
    };
    let rest = &after[c.len_utf8()..];
    let class = |set: &str| {
        if in_class {
            set.to_owned()
        } else {
            format!("[{set}]")
        }
    };
    match c {
        'd' => out.push_str(&class("0-9")),
        'w' => out.push_str(&class("0-9A-Za-z_")),
        's' => out.push_str(&class("\\t\\n\\f\\r ")),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' | 'B' if !in_class => {
            out.push_str("(?-u:\\");
            out.push(c);
            out.push(')');
        }
        'Q' => {
            let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(rest);
        }
        // Plain characters in Go, the edges of words elsewhere.
        '<' | '>' => out.push(c),
        _ => {
            out.push('\\');
            out.push(c);
        }
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_like_go() {
        for (pattern, text, expect) in [
            ("^a+$", "aaa", true),
            ("b", "abc", true),
            (r"^\d$", "٣", false),
            (r"^\w$", "é", false),
            (r"^[\d.]+$", "1.2", true),
            (r"^[\w-]+$", "a-b_c", true),
            (r"^[\W]$", "-", true),
            (r"^[^\s]+$", "a b", false),
            (r"\bfoo\b", "éfoo", true),
            ("^[[]$", "[", true),
            ("^[]a]+$", "]a", true),
            ("^[a&&b]+$", "&ab", true),
            ("^[+--]+$", ",", true),
            ("^[--/]+$", "./", true),
            ("^[[:alpha:]]+$", "ab", true),
            ("^{x}$", "{x}", true),
            ("^a{2}$", "aa", true),
            ("^a{,2}$", "a{,2}", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\<a\>$", "<a>", true),
            (r"^(http|https)://.+$", "https://x", true),
            (r"^[-_a-zA-Z0-9]+$", "a-_", true),
        ] {
            assert_eq!(
                Pattern::new(pattern).is_match(text),
                Ok(expect),
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn refuses() {
        for (pattern, expect) in [
            (
                "+",
                "error parsing regexp: missing argument to repetition operator",
            ),
            ("(", "error parsing regexp: missing closing )"),
            ("[", "error parsing regexp: missing closing ]"),
            ("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"),
            (
                "\\",
                "error parsing regexp: trailing backslash at end of expression: ``",
            ),
        ] {
            assert_eq!(Pattern::new(pattern).check(), Err(expect), "{pattern}");
        }
        assert!(Pattern::new("((a{1000}){1000}){1000}").check().is_err());
    }

    proptest::proptest! {
        /// Either answer is fine; a panic is not.
        #[test]
        fn takes_any_pattern(pattern in "[-\\[\\]{}()\\\\^$.|?*+&~:,adwsQEé0-9]{0,12}", text in "[a-z0-9é]{0,4}") {
            let _ = Pattern::new(&pattern).is_match(&text);
        }
    }
}
