//! The `fieldPath` of a rule (apiextensions `pkg/apiserver/schema/cel/validation.go` `ValidFieldPath`).

use kubewright_core::FieldPath;

use crate::structural::StructuralSchema;

/// The path that a text such as `.spec.ports['http']` names below a value, if the schema has such a field.
///
/// # Errors
/// What is wrong with it, in upstream's words.
pub(super) fn normalize(text: &str, schema: &StructuralSchema) -> Result<FieldPath, String> {
    find(text, schema, Brackets::Allowed).map(|(path, _)| path)
}

/// Whether `['name']` may stand for `.name`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brackets {
    Allowed,
    Forbidden,
}

/// The path, and the schema of what it leads to.
///
/// # Errors
/// What is wrong with it, in upstream's words.
pub(crate) fn find<'a>(
    text: &str,
    schema: &'a StructuralSchema,
    brackets: Brackets,
) -> Result<(FieldPath, &'a StructuralSchema), String> {
    let mut path = FieldPath::root();
    let mut schema = schema;
    let mut tokens = Tokens(text);
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" if brackets == Brackets::Forbidden => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let name = unquote(tokens.next().ok_or(UNEXPECTED_END)?)?;
                match tokens.next().ok_or(UNEXPECTED_END)? {
                    "]" => name,
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => tokens.next().ok_or(UNEXPECTED_END)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        if schema.properties.is_empty() {
            schema = schema.additional_schema().ok_or(NO_FIELD)?;
            path = path.key(&name);
        } else {
            schema = schema.properties.get(&name).ok_or(NO_FIELD)?;
            path = path.child(&name);
        }
    }
    Ok((path, schema))
}

const UNEXPECTED_END: &str = "unexpected end of JSON path";
const NO_FIELD: &str = "does not refer to a valid field";

/// The delimiters `.`, `[` and `]` by themselves, quoted text with its quotes, and what is between.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.0.as_bytes();
        let end = match bytes.first()? {
            b'\'' => {
                let closing = (1..bytes.len()).find(|&at| bytes[at] == b'\'' && bytes[at - 1] != b'\\');
                closing.map_or(bytes.len(), |at| at + 1)
            }
            b'.' | b'[' | b']' => 1,
            _ => {
                let end = bytes.iter().position(|byte| matches!(byte, b'.' | b'[' | b']'));
                end.unwrap_or(bytes.len())
            }
        };
        // Delimiters and quotes are single bytes, so that this is no place within a character.
        let (token, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        Some(token)
    }
}

fn unquote(token: &str) -> Result<String, String> {
    let inner = token
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match characters.next() {
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some(same @ ('\'' | '\\')) => same,
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            // A lone one at the end is no escape.
            None => '\\',
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths() {
        let schema = StructuralSchema::parse(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a.b": {"type": "string"},
                "it's": {"type": "string"},
                "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
                "list": {"type": "array", "items": {"type": "string"}},
            }},
        }}))
        .unwrap();
        for (text, expect) in [
            (".spec", Ok("spec")),
            (".spec['a.b']", Ok("spec.a.b")),
            ("['spec'].map", Ok("spec.map")),
            (".spec.map.k.x", Ok("spec.map[k].x")),
            (".spec.map['k'].x", Ok("spec.map[k].x")),
            (r".spec['it\'s']", Ok("spec.it's")),
            ("", Ok("<nil>")),
            ("spec", Err("expected [ or . but got: spec")),
            (".", Err("unexpected end of JSON path")),
            (".spec[", Err("unexpected end of JSON path")),
            (".spec['map'", Err("unexpected end of JSON path")),
            (".spec['map'x", Err("expected ] but got x")),
            (".spec[map]", Err("expected single quoted string but got map")),
            (".spec['", Err("expected single quoted string but got '")),
            (
                r".spec['\q']",
                Err(r"invalid string literal: invalid escape char \q"),
            ),
            (".nothing", Err("does not refer to a valid field")),
            (".spec.list.x", Err("does not refer to a valid field")),
            (".spec.list[0]", Err("expected single quoted string but got 0")),
            (".é", Err("does not refer to a valid field")),
        ] {
            let found = normalize(text, &schema);
            let found = found.as_ref().map(FieldPath::as_str).map_err(String::as_str);
            assert_eq!(found, expect, "{text}");
        }
    }
}
