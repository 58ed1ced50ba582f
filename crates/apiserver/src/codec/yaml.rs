//! What upstream says of a text that is no YAML.
//!
//! Upstream reads YAML with go.yaml.in/yaml/v2, a translation of libyaml. It tells the line only where that is not the first, and
//! counts lines from one where a token is wrong, but from zero where tokens do not fit together (`parser.fail` in decode.go).

use kubewright_yaml::Error;

/// Where YAML is wrong and why, in upstream's words as far as they follow from the fault and its place.
pub(super) fn words(error: &Error, text: &str) -> String {
    let kind = error.kind().to_string();
    let message = kind.lines().next().unwrap_or_default();
    // What the parser was about is not told.
    let fault = match message.split_once(", ") {
        Some((context, fault)) if context.starts_with("while ") => fault,
        _ => message,
    };
    let line = error.line().saturating_sub(1);
    let (place, told) = match fault {
        "found unknown anchor" => {
            return format!("unknown anchor '{}' referenced", anchor(error, text));
        }
        _ if fault.starts_with("unclosed bracket") => unclosed(fault, text),
        "unclosed quote" => (
            Place::Token(end(text)),
            "found unexpected end of stream".to_owned(),
        ),
        "misplaced bracket" => (Place::Syntax(line), NO_CONTENT.to_owned()),
        "simple key expected ':'" => (
            Place::Token(after(line, text)),
            "could not find expected ':'".to_owned(),
        ),
        _ if fault.starts_with("unexpected character") => (
            Place::Token(line),
            "found character that cannot start any token".to_owned(),
        ),
        // As it is spelt.
        "did not find expected hexadecimal number" => (
            Place::Token(line),
            "did not find expected hexdecimal number".to_owned(),
        ),
        "did not find expected '-' indicator" | "did not find expected key" => {
            (Place::Syntax(line), fault.to_owned())
        }
        "mapping values are not allowed in this context"
        | "found unknown escape character"
        | "did not find expected comment or line break"
        | "did not find expected alphabetic or numeric character" => (Place::Token(line), fault.to_owned()),
        _ => return format!("line {}: {message}", error.line()),
    };
    match place {
        Place::Token(0) | Place::Syntax(0) => told,
        Place::Token(line) => format!("line {}: {told}", line + 1),
        Place::Syntax(line) => format!("line {line}: {told}"),
    }
}

/// A line, from zero.
enum Place {
    /// Where a token is wrong.
    Token(usize),
    /// Where a token is that does not fit.
    Syntax(usize),
}

const NO_CONTENT: &str = "did not find expected node content";

/// The last line.
fn end(text: &str) -> usize {
    text.matches('\n').count()
}

/// The line of what follows a line.
fn after(line: usize, text: &str) -> usize {
    let is_blank = |text: &str| text.trim().is_empty() || text.trim_start().starts_with('#');
    let mut rest = text.lines().enumerate().skip(line + 1);
    rest.find(|(_, text)| !is_blank(text))
        .map_or_else(|| end(text), |(line, _)| line)
}

fn unclosed(fault: &str, text: &str) -> (Place, String) {
    let told = match text.trim_end().chars().next_back() {
        Some('[' | '{' | ',') => NO_CONTENT.to_owned(),
        _ => {
            let closing = if fault.contains('{') { '}' } else { ']' };
            format!("did not find expected ',' or '{closing}'")
        }
    };
    (Place::Syntax(end(text)), told)
}

/// The name behind the asterisk that an error points to.
fn anchor<'a>(error: &Error, text: &'a str) -> &'a str {
    let line = text
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let column = error.column().saturating_sub(1);
    let start = line
        .char_indices()
        .nth(column)
        .map_or(line.len(), |(start, _)| start);
    let name = line.get(start..).unwrap_or_default().trim_start_matches('*');
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    name.get(..end.unwrap_or(name.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_in_the_words_of_libyaml() {
        for (text, expect) in [
            ("a: [\n", "line 1: did not find expected node content"),
            ("a: [", "did not find expected node content"),
            ("a: {\n", "line 1: did not find expected node content"),
            ("[a,\n\n", "line 2: did not find expected node content"),
            ("{a\n", "line 1: did not find expected ',' or '}'"),
            ("[a, b\n", "line 1: did not find expected ',' or ']'"),
            ("a: \"x\n", "line 2: found unexpected end of stream"),
            ("a: 'x\n", "line 2: found unexpected end of stream"),
            ("a: b: c\n", "mapping values are not allowed in this context"),
            (
                "a:\n b: 1\n  c: 2\n",
                "line 3: mapping values are not allowed in this context",
            ),
            ("- a\nb\n", "line 3: could not find expected ':'"),
            ("a: b\nc\n", "line 3: could not find expected ':'"),
            ("a: *b\n", "unknown anchor 'b' referenced"),
            ("a: &\n", "did not find expected alphabetic or numeric character"),
            ("@x\n", "found character that cannot start any token"),
            ("a: }\n", NO_CONTENT),
            ("x: y\na: ]\n", "line 1: did not find expected node content"),
            ("a: |x\n", "did not find expected comment or line break"),
            ("a: \"\\x\"\n", "did not find expected hexdecimal number"),
            ("a: \"\\q\"\n", "found unknown escape character"),
            ("- - a\n - b\n", "line 1: did not find expected '-' indicator"),
        ] {
            let error = kubewright_yaml::documents(text).find_map(Result::err).unwrap();
            assert_eq!(words(&error, text), expect, "{text:?}");
        }
    }
}
