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

/// The last line of the parser's message says what is wrong; the lines before draw the place. What Go says is known by then, but for
/// what only the compiler notices.
fn explain(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    let reason = last.strip_prefix("error: ").unwrap_or(last);
    fault(reason, "")
}

/// Go's `syntax.Error`: what is wrong, and the part of the expression that is.
fn fault(what: &str, part: &str) -> String {
    match part {
        "" => format!("error parsing regexp: {what}"),
        part => format!("error parsing regexp: {what}: `{part}`"),
    }
}

/// Rewrites Go's syntax to that of the `regex` crate.
fn translate(source: &str) -> Result<String, String> {
    let mut translator = Translator {
        source,
        rest: source,
        out: String::with_capacity(source.len() + 16),
        repeated: Repeated::Nothing,
        groups: 0,
    };
    while let Some(c) = translator.rest.chars().next() {
        translator.step(c)?;
    }
    if translator.groups > 0 {
        return Err(fault("missing closing )", source));
    }
    Ok(translator.out)
}

/// What an operator such as `*` would repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated<'a> {
    /// There is nothing before it.
    Nothing,
    /// A character, a class or a group.
    Atom,
    /// What is repeated already, by the operator that this text begins with.
    Repetition(&'a str),
}

struct Translator<'a> {
    source: &'a str,
    rest: &'a str,
    out: String,
    repeated: Repeated<'a>,
    groups: usize,
}

impl<'a> Translator<'a> {
    fn step(&mut self, c: char) -> Result<(), String> {
        let before = self.rest;
        let after = &before[c.len_utf8()..];
        match c {
            '*' | '+' | '?' => return self.repeat(before, after),
            '{' => {
                if let Some(after) = counts(before, after)? {
                    return self.repeat(before, after);
                }
                self.out.push_str("\\{");
                self.rest = after;
            }
            '\\' => self.rest = escape(before, Within::Expression, &mut self.out)?,
            '[' => self.rest = class(before, &mut self.out)?,
            '(' => {
                self.rest = group(before, &mut self.out)?;
                self.groups += 1;
                self.repeated = Repeated::Nothing;
                return Ok(());
            }
            ')' => {
                self.groups = self
                    .groups
                    .checked_sub(1)
                    .ok_or_else(|| fault("unexpected )", self.source))?;
                self.out.push(c);
                self.rest = after;
            }
            _ => {
                self.out.push(c);
                self.rest = after;
            }
        }
        self.repeated = if c == '|' {
            Repeated::Nothing
        } else {
            Repeated::Atom
        };
        Ok(())
    }

    /// An operator, with the `?` that makes it lazy.
    fn repeat(&mut self, before: &'a str, after: &'a str) -> Result<(), String> {
        let after = after.strip_prefix('?').unwrap_or(after);
        let taken = |from: &'a str| &from[..from.len() - after.len()];
        match self.repeated {
            Repeated::Nothing => {
                return Err(fault("missing argument to repetition operator", taken(before)));
            }
            Repeated::Repetition(first) => {
                return Err(fault("invalid nested repetition operator", taken(first)));
            }
            Repeated::Atom => {}
        }
        self.out.push_str(taken(before));
        self.repeated = Repeated::Repetition(before);
        self.rest = after;
        Ok(())
    }
}

/// What a group begins with.
fn group<'a>(before: &'a str, out: &mut String) -> Result<&'a str, String> {
    let after = &before[1..];
    out.push('(');
    let Some(flags) = after.strip_prefix('?') else {
        return Ok(after);
    };
    if let Some(named) = flags.strip_prefix("P<").or_else(|| flags.strip_prefix('<')) {
        let Some((name, rest)) = named.split_once('>') else {
            return Err(fault("invalid named capture", before));
        };
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return Err(fault(
                "invalid named capture",
                &before[..before.len() - rest.len()],
            ));
        }
        out.push_str("?P<");
        out.push_str(name);
        out.push('>');
        return Ok(rest);
    }
    // Flags end at a colon, which begins what they hold for, or at the closing parenthesis.
    let end = flags
        .find(|c| !matches!(c, 'i' | 'm' | 's' | 'U' | '-'))
        .unwrap_or(flags.len());
    let (flags, rest) = flags.split_at(end);
    match rest.chars().next() {
        Some(':') => {
            out.push('?');
            out.push_str(flags);
            out.push(':');
            Ok(&rest[1..])
        }
        Some(')') if !flags.is_empty() => {
            out.push('?');
            out.push_str(flags);
            Ok(rest)
        }
        other => {
            let bad = other.map_or(0, char::len_utf8);
            let part = &before[..before.len() - rest.len() + bad];
            Err(fault("invalid or unsupported Perl syntax", part))
        }
    }
}

/// A class in brackets.
fn class<'a>(before: &'a str, out: &mut String) -> Result<&'a str, String> {
    let missing = || fault("missing closing ]", before);
    let mut rest = open_class(&before[1..], out);
    loop {
        let c = rest.chars().next().ok_or_else(missing)?;
        let after = &rest[c.len_utf8()..];
        rest = match c {
            ']' => {
                out.push(c);
                return Ok(after);
            }
            '\\' => escape(rest, Within::Class, out)?,
            '[' => posix_class(rest, after, out),
            // Doubled, these are operators on sets.
            '&' | '~' => {
                out.push('\\');
                out.push(c);
                after
            }
            // Two hyphens are a range's bound beside its sign; together they would be an operator.
            '-' if after.starts_with('-') => {
                let opens = (out.ends_with('[') && !out.ends_with("\\[")) || out.ends_with("[^");
                out.push_str(if opens { "\\--" } else { "-\\-" });
                &after[1..]
            }
            _ => {
                out.push(c);
                after
            }
        };
    }
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

/// What follows `{2}`, `{2,}` or `{2,3}`; `None` where the brace is a character.
fn counts<'a>(before: &'a str, after: &'a str) -> Result<Option<&'a str>, String> {
    let Some(end) = after.find('}') else {
        return Ok(None);
    };
    let body = &after[..end];
    let (low, high) = body.split_once(',').unwrap_or((body, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if low.is_empty() || !digits(low) || !digits(high) {
        return Ok(None);
    }
    let count = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
    let too_large = |text: &str| !text.is_empty() && count(text) > MAX_REPEAT;
    let length = 1 + end + 1;
    if too_large(low) || too_large(high) || (!high.is_empty() && count(low) > count(high)) {
        return Err(fault("invalid repeat count", &before[..length]));
    }
    Ok(Some(&before[length..]))
}

/// Where an escape stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Expression,
    Class,
}

fn escape<'a>(before: &'a str, within: Within, out: &mut String) -> Result<&'a str, String> {
    let after = &before[1..];
    let Some(c) = after.chars().next() else {
        return Err(format!(
            "{}: ``",
            fault("trailing backslash at end of expression", "")
        ));
    };
    let rest = &after[c.len_utf8()..];
    let class = |set: &str| match within {
        Within::Class => set.to_owned(),
        Within::Expression => format!("[{set}]"),
    };
    match c {
        'd' => out.push_str(&class("0-9")),
        'w' => out.push_str(&class("0-9A-Za-z_")),
        's' => out.push_str(&class("\\t\\n\\f\\r ")),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' | 'B' if within == Within::Expression => {
            out.push_str("(?-u:\\");
            out.push(c);
            out.push(')');
        }
        'Q' if within == Within::Expression => {
            let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(rest);
        }
        'p' | 'P' => return unicode_class(before, rest, out),
        // In braces or in two digits.
        'x' => {
            let length = match rest.strip_prefix('{') {
                Some(digits) => digits.find('}').map_or(0, |end| end + 2),
                None => 2,
            };
            let hex = rest.get(..length).unwrap_or_default();
            let digits = hex.trim_matches(['{', '}']);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(fault("invalid escape sequence", before));
            }
            out.push_str("\\x");
            out.push_str(hex);
            return Ok(&rest[length..]);
        }
        'A' | 'z' if within == Within::Expression => {
            out.push('\\');
            out.push(c);
        }
        'a' | 'f' | 't' | 'n' | 'r' | 'v' => {
            out.push('\\');
            out.push(c);
        }
        // An octal number: one digit is a reference backwards, which there is none of, unless it is a zero.
        '0' => {
            let digits = rest
                .bytes()
                .take(2)
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            let value = u32::from_str_radix(&after[..=digits], 8).unwrap_or_default();
            out.push_str(&format!("\\x{{{value:x}}}"));
            return Ok(&rest[digits..]);
        }
        _ if c.is_ascii_punctuation() => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        _ => {
            let part = &before[..1 + c.len_utf8()];
            return Err(fault("invalid escape sequence", part));
        }
    }
    Ok(rest)
}

/// `\pL`, `\p{Greek}` and `\P{^Greek}`.
fn unicode_class<'a>(before: &'a str, rest: &'a str, out: &mut String) -> Result<&'a str, String> {
    let length = match rest.chars().next() {
        Some('{') => rest.find('}').map(|end| end + 1),
        Some(letter) => Some(letter.len_utf8()),
        None => None,
    };
    let Some(length) = length else {
        return Err(fault("invalid character class range", before));
    };
    let (name, rest) = rest.split_at(length);
    let part = &before[..before.len() - rest.len()];
    let negated = before[1..].starts_with('P') != name.starts_with("{^");
    let bare = name.trim_start_matches(['{', '^']).trim_end_matches('}');
    let sign = if negated { 'P' } else { 'p' };
    let class = format!("\\{sign}{{{bare}}}");
    if bare.contains(['=', ':', '!']) || Regex::new(&class).is_err() {
        return Err(fault("invalid character class range", part));
    }
    out.push_str(&class);
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
            (r"^\p{L}\pN\P{Greek}[\p{Lu}]$", "é1aB", true),
            (r"^\P{^Lu}$", "A", true),
            (r"^(?P<a>x)(?<b>y)(?i:Z)$", "xyz", true),
            (r"^\x41\x{e9}\07\/\-$", "Aé\u{7}/-", true),
            ("^(a|)*$", "aa", true),
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
                "error parsing regexp: missing argument to repetition operator: `+`",
            ),
            (
                "a|*?",
                "error parsing regexp: missing argument to repetition operator: `*?`",
            ),
            (
                "ba**",
                "error parsing regexp: invalid nested repetition operator: `**`",
            ),
            (
                "a+?{2}c",
                "error parsing regexp: invalid nested repetition operator: `+?{2}`",
            ),
            ("x(", "error parsing regexp: missing closing ): `x(`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            ("a[b-", "error parsing regexp: missing closing ]: `[b-`"),
            ("a\\Zb", "error parsing regexp: invalid escape sequence: `\\Z`"),
            (
                "a(?!x)",
                "error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
            ),
            ("(?P<n", "error parsing regexp: invalid named capture: `(?P<n`"),
            (
                r"\p{Foo}x",
                r"error parsing regexp: invalid character class range: `\p{Foo}`",
            ),
            ("a{3,2}", "error parsing regexp: invalid repeat count: `{3,2}`"),
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
