//! `Warning` headers: what the server says beside the answer ([`WarningsLayer`]).

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, header};
use kubewright_net::HttpService;
use tower_layer::Layer;

/// What happens with warnings of the server.
#[derive(Clone)]
pub struct WarningHandler(Arc<dyn Fn(&str) + Send + Sync>);

impl WarningHandler {
    /// Calls a function for each warning, repeated ones included.
    pub fn new(handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(handler))
    }

    /// Drops them.
    pub fn ignore() -> Self {
        Self::new(|_| {})
    }

    /// Calls a function for each warning that it was not called with before.
    ///
    /// It remembers [`MAX_REMEMBERED`] texts; when they are used up, it forgets all and may repeat itself.
    pub fn once_each(handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let seen = Mutex::new(HashSet::new());
        Self::new(move |text| {
            let new = {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if seen.len() >= MAX_REMEMBERED {
                    seen.clear();
                }
                seen.insert(text.to_owned())
            };
            if new {
                handler(text);
            }
        })
    }

    pub(crate) fn handle(&self, headers: &HeaderMap) {
        for value in headers.get_all(header::WARNING) {
            let Ok(value) = value.to_str() else { continue };
            for text in parse(value) {
                (self.0)(&text);
            }
        }
    }
}

impl Default for WarningHandler {
    /// Logs each text once.
    fn default() -> Self {
        Self::once_each(|text| tracing::warn!("{text}"))
    }
}

impl fmt::Debug for WarningHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WarningHandler")
    }
}

/// Hands the warnings of every answer to a [`WarningHandler`].
#[derive(Debug, Clone, Default)]
pub struct WarningsLayer(WarningHandler);

impl WarningsLayer {
    /// Tells `handler`.
    pub fn new(handler: WarningHandler) -> Self {
        Self(handler)
    }
}

impl Layer<HttpService> for WarningsLayer {
    type Service = HttpService;

    fn layer(&self, inner: HttpService) -> HttpService {
        let handler = self.0.clone();
        HttpService::from_fn(move |request| {
            let (handler, answer) = (handler.clone(), inner.send(request));
            async move {
                let answer = answer.await?;
                handler.handle(answer.headers());
                Ok(answer)
            }
        })
    }
}

/// Different warnings that are told apart: 1000.
pub const MAX_REMEMBERED: usize = 1000;

/// The texts of a header value, `299 agent "text" "date", ...` (RFC 7234, section 5.5). Only code 299 is used by
/// Kubernetes; parsing stops at what is malformed.
fn parse(value: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = value.trim_start();
    while let Some((text, tail)) = parse_one(rest) {
        texts.push(text);
        rest = tail.trim_start();
        match rest.strip_prefix(',') {
            Some(tail) => rest = tail.trim_start(),
            None => break,
        }
    }
    texts
}

fn parse_one(value: &str) -> Option<(String, &str)> {
    let rest = value.strip_prefix("299 ")?;
    let (_agent, rest) = rest.split_once(' ')?;
    let (text, rest) = quoted(rest)?;
    // An optional date follows in quotes.
    match rest.trim_start().starts_with('"') {
        true => quoted(rest.trim_start()).map(|(_, rest)| (text, rest)),
        false => Some((text, rest)),
    }
}

fn quoted(value: &str) -> Option<(String, &str)> {
    let inner = value.strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = inner.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '"' => return Some((text, &inner[position + 1..])),
            '\\' => text.push(characters.next()?.1),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unquoted() {
        let rows: [(&str, &[&str]); 7] = [
            (
                r#"299 - "policy/v1beta1 is deprecated""#,
                &["policy/v1beta1 is deprecated"],
            ),
            (r#"299 - "say \"hi\" \\ back""#, &[r#"say "hi" \ back"#]),
            (
                r#"299 - "a, b", 299 agent "c" "Wed, 21 Oct 2015 07:28:00 GMT""#,
                &["a, b", "c"],
            ),
            (r#"199 - "not ours""#, &[]),
            (r#"299 - "open"#, &[]),
            (r#"299 - "good", rubbish"#, &["good"]),
            ("", &[]),
        ];
        for (value, expect) in rows {
            assert_eq!(parse(value), expect, "{value}");
        }
    }

    #[test]
    fn each_text_is_told_once_within_the_bound() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let handler = WarningHandler::once_each(move |text| sink.lock().unwrap().push(text.to_owned()));
        let tell = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.append(header::WARNING, format!("299 - \"{text}\"").parse().unwrap());
            handler.handle(&headers);
        };
        tell("first");
        tell("first");
        assert_eq!(*told.lock().unwrap(), ["first"]);
        for number in 1..MAX_REMEMBERED {
            tell(&number.to_string());
        }
        tell("one too many");
        tell("first");
        assert_eq!(told.lock().unwrap().len(), MAX_REMEMBERED + 2);
    }
}
