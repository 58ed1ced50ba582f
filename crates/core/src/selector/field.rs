//! Field selectors: `metadata.name=web,status.phase!=Running`.

use std::fmt;
use std::str::FromStr;

use super::ParseSelectorError;

/// Requirements that all must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// One requirement on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field's name, such as `metadata.name`.
    pub field: String,
    /// The value to compare with.
    pub value: String,
    /// Whether the field must differ from the value instead.
    pub negated: bool,
}

impl FieldSelector {
    /// The selector that matches everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// A selector for one value of one field.
    pub fn equals(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            requirements: vec![FieldRequirement {
                field: field.into(),
                value: value.into(),
                negated: false,
            }],
        }
    }

    /// The requirements, in the order given.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Whether this matches everything.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The value a field is required to have, if one is.
    pub fn required_value(&self, field: &str) -> Option<&str> {
        self.requirements
            .iter()
            .find(|r| r.field == field && !r.negated)
            .map(|r| r.value.as_str())
    }

    /// Whether all requirements hold of the fields that `get` looks up; an absent field has the empty value.
    pub fn matches<T: AsRef<str>>(&self, get: impl Fn(&str) -> T) -> bool {
        self.requirements
            .iter()
            .all(|r| (get(&r.field).as_ref() == r.value) != r.negated)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let operator = if requirement.negated { "!=" } else { "=" };
            write!(f, "{comma}{}{operator}", requirement.field)?;
            for c in requirement.value.chars() {
                // What divides requirements is escaped within a value.
                if matches!(c, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for FieldSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut requirements = Vec::new();
        for term in split_unescaped(text) {
            if term.is_empty() {
                continue;
            }
            let (field, operator, value) = split_operator(term).ok_or_else(|| {
                ParseSelectorError::new(format!("invalid selector: '{text}'; can't understand '{term}'"))
            })?;
            let value = unescape(value)
                .map_err(|why| ParseSelectorError::new(format!("invalid field selector: {why}")))?;
            requirements.push(FieldRequirement {
                field: field.to_owned(),
                value,
                negated: operator == "!=",
            });
        }
        Ok(Self { requirements })
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_operator(term: &str) -> Option<(&str, &'static str, &str)> {
    term.char_indices().find_map(|(i, _)| {
        ["!=", "==", "="]
            .into_iter()
            .find_map(|op| Some((&term[..i], op, term[i..].strip_prefix(op)?)))
    })
}

/// Fails when a special character stands unescaped, with its number as Go prints a rune, or when an escape is none.
fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(format!("invalid escape sequence: \\{c}")),
                None => return Err("invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => return Err(format!("unescaped character in value: {}", u32::from(c))),
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn matching() {
        let get = |field: &str| match field {
            "metadata.name" => "web",
            "status.phase" => "Running",
            _ => "",
        };
        for (text, expect) in [
            ("", true),
            ("metadata.name=web", true),
            ("metadata.name==web,status.phase!=Pending", true),
            ("metadata.name!=web", false),
            ("spec.nodeName=", true),
            ("metadata.name=x\\,y", false),
        ] {
            let selector: FieldSelector = text.parse().unwrap();
            assert_eq!(selector.matches(get), expect, "{text}");
        }
    }

    #[test]
    fn malformed() {
        for (text, expect) in [
            (
                "metadata.name",
                "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
            ),
            (
                "a=b=c",
                "invalid field selector: unescaped character in value: 61",
            ),
            ("a=\\", "invalid field selector: invalid escape sequence: \\"),
            ("a=\\x", "invalid field selector: invalid escape sequence: \\x"),
        ] {
            let error = text.parse::<FieldSelector>().unwrap_err();
            assert_eq!(error.to_string(), expect, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_reads_prints_the_same(text in ".{0,40}") {
            if let Ok(selector) = text.parse::<FieldSelector>() {
                prop_assert_eq!(selector.to_string().parse::<FieldSelector>(), Ok(selector));
            }
        }
    }
}
