//! What `continue` carries: upstream's format, although clients must not look inside (apiserver pkg/storage/continue.go).

use std::fmt;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use kubewright_core::Status;
use serde::Serialize;
use serde_json::Value;

use crate::codec::kind_of_json;
use crate::error::ApiResult;
use crate::json;
use crate::storage::{At, KeyPrefix, Revision};

/// Where a list goes on, and at which state.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Continuation {
    pub(super) at: At,
    /// The text of the key to begin with; within the range, whatever the client made of the token.
    pub(super) start: String,
}

/// The text for a list that goes on from `start`, a key of the range, at one revision; without one, inconsistently at the newest state.
pub(super) fn encode(start: &str, prefix: &KeyPrefix, revision: Option<Revision>) -> String {
    let token = Token {
        v: VERSION.to_owned(),
        rv: revision.map_or(-1, |revision| i64::try_from(revision.0).unwrap_or(i64::MAX)),
        start: start.strip_prefix(prefix.as_str()).unwrap_or(start).to_owned(),
    };
    // Two strings and a number can be written into memory.
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// Reads such a text back, for a list of the same or another range.
///
/// # Errors
/// 400 when it is none.
pub(super) fn decode(text: &str, prefix: &KeyPrefix) -> ApiResult<Continuation> {
    let refuse = |why: &dyn fmt::Display| {
        Status::bad_request(format!("invalid continue token: continue key is not valid{why}"))
    };
    let bytes = LENIENT.decode(text).map_err(|error| {
        refuse(&format_args!(
            ": illegal base64 data at input byte {}",
            fault(&error, text)
        ))
    })?;
    let token = Token::read(&bytes).map_err(|why| refuse(&format_args!(": {why}")))?;
    if token.v != VERSION {
        return Err(refuse(&format_args!(
            ": server does not recognize this encoded version {}",
            token.v
        ))
        .into());
    }
    if token.rv == 0 {
        return Err(refuse(&": incorrect encoded start resourceVersion (version meta.k8s.io/v1)").into());
    }
    if token.start.is_empty() {
        return Err(refuse(&": encoded start key empty (version meta.k8s.io/v1)").into());
    }
    let start = token.start.strip_prefix('/').unwrap_or(&token.start);
    // A start that climbs would begin before the range.
    if !start.is_empty() && start.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(refuse(&format_args!(": {}", token.start)).into());
    }
    Ok(Continuation {
        at: u64::try_from(token.rv).map_or(At::Latest, |revision| At::Exact(Revision(revision))),
        start: format!("{}{start}", prefix.as_str()),
    })
}

/// Where Go finds fault with a text.
fn fault(error: &base64::DecodeError, text: &str) -> usize {
    use base64::DecodeError::{InvalidByte, InvalidLastSymbol, InvalidLength, InvalidPadding};
    match error {
        InvalidByte(offset, _) | InvalidLastSymbol(offset, _) => *offset,
        // Go names the character that is one too many.
        InvalidLength(_) => text.len().saturating_sub(1),
        InvalidPadding => text.len(),
    }
}

/// As Go decodes: bits that are left over count for nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// Absent fields are empty, as Go reads them.
#[derive(Default, Serialize)]
struct Token {
    v: String,
    /// The version of the list; a negative one goes on with the newest state.
    rv: i64,
    /// The key to begin with, within the prefix.
    start: String,
}

impl Token {
    /// # Errors
    /// In the words of encoding/json.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let value = json::read(bytes)?.value;
        let mut token = Self::default();
        let fields = match &value {
            Value::Null => return Ok(token),
            Value::Object(fields) => fields,
            other => {
                let found = kind_of_json(other);
                return Err(format!(
                    "json: cannot unmarshal {found} into Go value of type storage.continueToken"
                ));
            }
        };
        for (name, value) in fields {
            let expected = match (name.as_str(), value) {
                (_, Value::Null) => continue,
                ("v", Value::String(text)) => {
                    token.v.clone_from(text);
                    continue;
                }
                ("start", Value::String(text)) => {
                    token.start.clone_from(text);
                    continue;
                }
                ("rv", Value::Number(number)) if number.is_i64() => {
                    token.rv = number.as_i64().unwrap_or_default();
                    continue;
                }
                ("v" | "start", _) => "string",
                ("rv", _) => "int64",
                _ => continue,
            };
            let found = match value {
                Value::Number(number) if expected == "int64" => format!("number {number}"),
                other => kind_of_json(other).to_owned(),
            };
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field continueToken.{name} of type {expected}"
            ));
        }
        Ok(token)
    }
}

const VERSION: &str = "meta.k8s.io/v1";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prefix() -> KeyPrefix {
        KeyPrefix::resource("a.io", "things")
    }

    /// The rows of upstream's `continue_test.go` and those between them.
    #[test]
    fn tokens_are_read_or_refused() {
        let check = |text: &str, expect: Result<(At, &str), &str>| {
            let found = decode(text, &prefix());
            let found = found
                .as_ref()
                .map(|found| (found.at, found.start.as_str()))
                .map_err(|error| {
                    let status = error.status();
                    assert_eq!(
                        (status.code, &status.reason),
                        (400, &kubewright_core::StatusReason::BadRequest)
                    );
                    status
                        .message
                        .strip_prefix("invalid continue token: continue key is not valid")
                        .unwrap()
                });
            assert_eq!(found, expect, "{text}");
        };
        let token = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let good = |rv: i64, start: &str| token(json!({"v": VERSION, "rv": rv, "start": start}));
        let exact = |revision, start| Ok((At::Exact(Revision(revision)), start));
        check(&good(7, "a/b\0"), exact(7, "a.io/things/a/b\0"));
        check(&good(7, "/a/b\0"), exact(7, "a.io/things/a/b\0"));
        check(&good(7, "a"), exact(7, "a.io/things/a"));
        check(&good(7, "/"), exact(7, "a.io/things/"));
        check(&good(-1, "a\0"), Ok((At::Latest, "a.io/things/a\0")));
        check(&good(-7, "a"), Ok((At::Latest, "a.io/things/a")));
        for start in [
            "..",
            "../a",
            "/../a",
            "a/../../b",
            "a/..",
            "./a",
            "a/./b",
            "a//b",
            "a/",
            "//a",
            "//",
        ] {
            check(&good(7, start), Err(&format!(": {start}")));
        }
        let zero = ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
        check(&good(0, "a"), Err(zero));
        check(&token(json!({"v": VERSION, "start": "a"})), Err(zero));
        let empty = ": encoded start key empty (version meta.k8s.io/v1)";
        check(&good(1, ""), Err(empty));
        let other = |version: &str| format!(": server does not recognize this encoded version {version}");
        check(
            &token(json!({"v": "meta.k8s.io/v2", "rv": 1, "start": "a"})),
            Err(&other("meta.k8s.io/v2")),
        );
        check(&token(json!({})), Err(&other("")));
        check("nonsense!", Err(": illegal base64 data at input byte 8"));
        check("%%%", Err(": illegal base64 data at input byte 0"));
        check("x", Err(": illegal base64 data at input byte 0"));
        check("abcde", Err(": illegal base64 data at input byte 4"));
        check(
            "xy",
            Err(": invalid character 'Ç' looking for beginning of value"),
        );
        for (text, why) in [
            ("abc", "invalid character 'i' looking for beginning of value"),
            (
                "W10",
                "json: cannot unmarshal array into Go value of type storage.continueToken",
            ),
            (
                "eyJ2Ijo1fQ",
                "json: cannot unmarshal number into Go struct field continueToken.v of type string",
            ),
            (
                "eyJydiI6IngifQ",
                "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
            ),
        ] {
            check(text, Err(&format!(": {why}")));
        }
        for text in ["", "bm9uc2Vuc2U", "W10", "eyJ2IjoxfQ"] {
            let error = decode(text, &prefix()).unwrap_err();
            assert!(
                error
                    .status()
                    .message
                    .starts_with("invalid continue token: continue key is not valid: "),
                "{text}: {:?}",
                error.status()
            );
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (start, revision) in [
            ("a.io/things/a/b\0", Some(Revision(9))),
            ("a.io/things/a/b", None),
        ] {
            let text = encode(start, &prefix(), revision);
            let expect = Continuation {
                at: revision.map_or(At::Latest, At::Exact),
                start: start.to_owned(),
            };
            assert_eq!(decode(&text, &prefix()).unwrap(), expect);
        }
        // The text is upstream's.
        let text = encode("a.io/things/a/b\0", &prefix(), Some(Revision(9)));
        assert_eq!(
            URL_SAFE_NO_PAD.decode(text).unwrap(),
            br#"{"v":"meta.k8s.io/v1","rv":9,"start":"a/b\u0000"}"#
        );
    }
}
