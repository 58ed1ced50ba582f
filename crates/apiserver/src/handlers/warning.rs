//! `Warning` headers (apiserver pkg/endpoints/filters/warning.go).
//!
//! Warnings come from several places, and what fits depends on all of them: they are gathered on the response and written as
//! headers once it is complete.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use http::{HeaderName, HeaderValue, Response};
use kubewright_net::Body;

/// What the client is to be warned of.
#[derive(Clone, Debug, Default)]
struct Warnings(Vec<String>);

/// Takes down the warnings of one request while it is carried out, whatever comes of it (apiserver pkg/warning).
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    /// Adds warnings. A request that is tried again may say the same again: each is written once.
    pub(crate) fn add(&self, mut warnings: Vec<String>) {
        if warnings.is_empty() {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.truncate(MAX_RECORDED.saturating_sub(all.len()));
        all.append(&mut warnings);
    }

    /// All that was added.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds warnings to an answer.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    if !warnings.is_empty() {
        let all = response.extensions_mut().get_or_insert_default::<Warnings>();
        all.0.extend_from_slice(warnings);
    }
}

/// Writes the warnings of a complete answer as headers.
pub(crate) fn write_headers(response: &mut Response<Body>) {
    let Some(Warnings(texts)) = response.extensions_mut().remove::<Warnings>() else {
        return;
    };
    for value in values(&texts) {
        response.headers_mut().append(WARNING, value);
    }
}

/// Each text once; where they are too long together, each is cut and those beyond the limit are left out.
fn values(texts: &[String]) -> Vec<HeaderValue> {
    let mut seen = HashSet::new();
    let distinct: Vec<&str> = texts
        .iter()
        .map(String::as_str)
        // A header can carry no control character; upstream leaves such a text out, too.
        .filter(|text| !text.is_empty() && !text.contains(char::is_control) && seen.insert(*text))
        .take(MAX_WARNINGS)
        .collect();
    let length = |text: &str| text.chars().count();
    let is_cut = distinct.iter().map(|text| length(text)).sum::<usize>() > MAX_TOTAL_CHARS;
    let mut written = 0;
    let mut values = Vec::with_capacity(distinct.len());
    for text in distinct {
        if written >= MAX_TOTAL_CHARS {
            break;
        }
        let text = if is_cut {
            first_chars(text, MAX_CUT_CHARS)
        } else {
            text
        };
        written += length(text);
        values.extend(value(text));
    }
    values
}

/// apimachinery pkg/util/net `NewWarningHeader`. `None` where a header cannot carry it.
fn value(text: &str) -> Option<HeaderValue> {
    let mut value = String::with_capacity(text.len() + 16);
    value.push_str("299 - \"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            value.push('\\');
        }
        value.push(c);
    }
    value.push('"');
    HeaderValue::from_bytes(value.as_bytes()).ok()
}

fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

const WARNING: HeaderName = HeaderName::from_static("warning");
/// As many warnings as one answer carries. Upstream has no such limit, but many HTTP/1 clients refuse an answer with more than
/// 100 headers.
const MAX_WARNINGS: usize = 50;
/// As many warnings as are taken down for one request, told again or not.
const MAX_RECORDED: usize = 1000;
/// As many characters as all warnings have together before each is cut (`truncateAtTotalRunes`).
const MAX_TOTAL_CHARS: usize = 4096;
/// As many characters as each keeps then (`truncateItemRunes`).
const MAX_CUT_CHARS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[String], expect: &[String]) {
        let found: Vec<String> = values(texts)
            .iter()
            .map(|value| String::from_utf8(value.as_bytes().to_vec()).unwrap())
            .collect();
        let expect: Vec<String> = expect.iter().map(|text| format!("299 - \"{text}\"")).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn warnings_are_told_once_and_bounded() {
        let texts = |all: &[&str]| -> Vec<String> { all.iter().map(|&text| text.to_owned()).collect() };
        check(&[], &[]);
        check(&texts(&["a", "b", "a", ""]), &texts(&["a", "b"]));
        check(&texts(&["größe \"x\\"]), &texts(&["größe \\\"x\\\\"]));
        check(&texts(&["a\nb"]), &[]);
        // All that fits is whole.
        let whole = "ü".repeat(MAX_TOTAL_CHARS);
        check(std::slice::from_ref(&whole), std::slice::from_ref(&whole));
        // One more character, and every one is cut.
        check(
            &[whole, "a".to_owned()],
            &["ü".repeat(MAX_CUT_CHARS), "a".to_owned()],
        );
        let long: Vec<String> = (0..40).map(|i| format!("{i:0>300}")).collect();
        let cut: Vec<String> = (0..16).map(|_| "0".repeat(256)).collect();
        check(&long, &cut);
    }
}
