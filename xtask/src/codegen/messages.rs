//! The facts of upstream's Go types that its schemas lack: protobuf tags, what is a pointer, what is inlined.
//!
//! A line each, in `xtask/data/messages.txt`:
//!
//! ```text
//! message io.k8s.api.core.v1.Volume
//!  name 1 +string                     JSON name, tag, shape
//!  > 2 VolumeSource                   a message that JSON inlines
//! ```
//!
//! Shapes are those of the kinds table. `required` marks a field that is neither `omitempty` nor `+optional`;
//! `message` a list that is a message of its own; `default=JSON` a declared default.
//! `enum=`, always last since values may have spaces, the values of a type marked `+enum`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

/// All messages by definition name.
pub(crate) type Messages = BTreeMap<String, Vec<MessageField>>;

/// One field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MessageField {
    /// The JSON name; `>` for an inlined message.
    pub(crate) name: String,
    pub(crate) tag: u32,
    pub(crate) shape: String,
    pub(crate) required: bool,
    pub(crate) list_message: bool,
    pub(crate) enum_values: Vec<String>,
    pub(crate) default: Option<String>,
}

/// The name of an inlined message.
pub(crate) const INLINE: &str = ">";

/// The package and the short part of a definition name.
pub(crate) fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// A reference to a definition as seen from a package: short within it.
pub(crate) fn shorten(package: &str, name: &str) -> String {
    let (own, short) = split(name);
    if own == package {
        short.to_owned()
    } else {
        name.to_owned()
    }
}

/// The definition that a shape refers to from a package, without its marks.
pub(crate) fn referent(package: &str, shape: &str) -> Option<String> {
    let word = shape.trim_start_matches(['*', '+', '[', ']', '{', '}']);
    let short = word.rsplit('.').next()?;
    if !short.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    Some(if word.contains('.') {
        word.to_owned()
    } else {
        format!("{package}.{word}")
    })
}

/// The messages that are named, and those that they refer to.
pub(crate) fn reachable(mut all: Messages, roots: impl Iterator<Item = String>) -> Messages {
    let mut open: Vec<String> = roots.collect();
    let mut messages = Messages::new();
    while let Some(name) = open.pop() {
        let Some(fields) = all.remove(&name) else { continue };
        let package = split(&name).0;
        open.extend(fields.iter().filter_map(|field| referent(package, &field.shape)));
        messages.insert(name, fields);
    }
    messages
}

/// Writes the table.
pub(crate) fn render(messages: &Messages) -> String {
    let mut out = String::from(
        "# Written by `cargo xtask codegen messages`: names and numbers of upstream's Go types.\n",
    );
    for (name, fields) in messages {
        let _ = writeln!(out, "message {name}");
        for field in fields {
            let _ = write!(out, " {} {} {}", field.name, field.tag, field.shape);
            out.push_str(if field.required { " required" } else { "" });
            out.push_str(if field.list_message { " message" } else { "" });
            if let Some(default) = &field.default {
                let _ = write!(out, " default={default}");
            }
            if !field.enum_values.is_empty() {
                let _ = write!(out, " enum={}", field.enum_values.join(","));
            }
            out.push('\n');
        }
    }
    out
}

/// Reads the table.
pub(crate) fn parse(text: &str) -> Result<Messages> {
    let mut messages = Messages::new();
    let mut current: Option<&mut Vec<MessageField>> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.starts_with('#') {
            continue;
        }
        let context = || format!("messages.txt, line {}", at + 1);
        if let Some(name) = line.strip_prefix("message ") {
            current = Some(messages.entry(name.to_owned()).or_default());
        } else {
            let fields = current.as_mut().with_context(context)?;
            fields.push(parse_field(line.trim_start()).with_context(context)?);
        }
    }
    Ok(messages)
}

fn parse_field(line: &str) -> Result<MessageField> {
    let (line, values) = line
        .split_once(" enum=")
        .map_or((line, None), |(line, values)| (line, Some(values)));
    let mut words = line.split(' ');
    let mut next = || words.next().context("too few words");
    let mut field = MessageField {
        name: next()?.to_owned(),
        tag: next()?.parse()?,
        shape: next()?.to_owned(),
        required: false,
        list_message: false,
        enum_values: values
            .into_iter()
            .flat_map(|v| v.split(','))
            .map(str::to_owned)
            .collect(),
        default: None,
    };
    for word in words {
        match word.split_once('=') {
            None if word == "required" => field.required = true,
            None if word == "message" => field.list_message = true,
            Some(("default", value)) => field.default = Some(value.to_owned()),
            _ => bail!("unknown word {word}"),
        }
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_table_reads_back() {
        let text = include_str!("../../data/messages.txt");
        assert_eq!(render(&parse(text).unwrap()), text);
    }

    #[test]
    fn references() {
        let check = |shape: &str, expect: Option<&str>| {
            assert_eq!(referent("a.v1", shape).as_deref(), expect, "{shape}");
        };
        check("*Pod", Some("a.v1.Pod"));
        check("[]b.v2.Pod", Some("b.v2.Pod"));
        check("{}Pod", Some("a.v1.Pod"));
        check("+string", None);
        check("{}[]string", None);
    }

    #[test]
    fn only_what_is_reached_is_kept() {
        let all = parse("message a.v1.A\n b 1 *B\nmessage a.v1.B\n c 1 string\nmessage a.v1.C\n").unwrap();
        let kept = reachable(all, ["a.v1.A".to_owned(), "a.v1.Z".to_owned()].into_iter());
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["a.v1.A", "a.v1.B"]);
    }
}
