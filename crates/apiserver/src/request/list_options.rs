//! The options of a list, a watch and a deletecollection, read from a query as upstream reads them.
//!
//! The first of repeated parameters counts, parameters are read in one order and the first that cannot be read is told in Go's words
//! with status 400 (apimachinery pkg/apis/meta/v1 `Convert_url_Values_To_v1_ListOptions`, pkg/runtime/conversion.go). What can be read
//! is then checked as a whole and all that is wrong with it is told with status 422 (pkg/apis/meta/internalversion/validation).
//! `shardSelector` always counts, as if the gate `ShardedListAndWatch` were on, which is off by default upstream (KEP-5866): this server has
//! no gates, and who sends the parameter knows both answers.

use std::borrow::Cow;

use kubewright_core::{
    FieldError, FieldPath, FieldSelector, GroupKind, LabelSelector, Status, VersionMatch, query,
};

use crate::error::{ApiError, ApiResult};
use crate::storage::Revision;

/// What a list or watch was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadOptions {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    /// As it was written: it is read after everything else. Empty where there is none.
    pub(crate) shard: String,
    pub(crate) version: AskedVersion,
    pub(crate) version_match: Option<VersionMatch>,
    /// Not 0.
    pub(crate) limit: Option<usize>,
    /// Empty where there is none.
    pub(crate) continue_token: String,
    /// As it was written: a watch that is given less than no time ends at once.
    pub(crate) timeout_seconds: Option<i64>,
    /// `watch` in the query. A path may ask for a watch without it.
    pub(crate) watch: bool,
    pub(crate) allow_bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
}

/// The `resourceVersion` of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum AskedVersion {
    /// None: the newest state.
    #[default]
    Unset,
    /// `0`: whatever is at hand.
    Any,
    /// A number; `00` is one too.
    At(Revision),
    /// What cannot be read, and why. Each verb tells it in its own way.
    Malformed(Box<FieldError>),
}

impl ReadOptions {
    /// Reads and checks.
    ///
    /// # Errors
    /// 400 for what cannot be read, 422 for what makes no sense.
    pub(crate) fn read(query: &str) -> ApiResult<Self> {
        let raw = Raw::read(query);
        let mut options = Self {
            labels: LabelSelector::everything(),
            fields: FieldSelector::everything(),
            shard: raw.shard_selector.clone().into_owned(),
            version: AskedVersion::read(&raw.resource_version),
            version_match: None,
            limit: None,
            continue_token: raw.continue_token.clone().into_owned(),
            timeout_seconds: raw.timeout_seconds.as_deref().map(integer).transpose()?,
            watch: raw.watch.as_deref().is_some_and(is_true),
            allow_bookmarks: raw.allow_watch_bookmarks.as_deref().is_some_and(is_true),
            send_initial_events: raw.send_initial_events.as_deref().map(is_true),
        };
        let limit = raw.limit.as_deref().map(integer).transpose()?.unwrap_or(0);
        // Less than nothing is no limit.
        options.limit = usize::try_from(limit).ok().filter(|limit| *limit > 0);
        options.labels = raw.label_selector.parse().map_err(unreadable)?;
        options.fields = raw.field_selector.parse().map_err(unreadable)?;
        let mut version_match = &*raw.resource_version_match;
        let is_legacy = matches!(options.version, AskedVersion::Unset | AskedVersion::Any);
        if options.watch && is_legacy && options.send_initial_events.is_none() && version_match.is_empty() {
            // What watches without a version always meant (pkg/apis/meta/internalversion/defaults.go).
            options.send_initial_events = Some(true);
            version_match = VersionMatch::NotOlderThan.as_str();
        }
        let errors = if options.watch {
            options.watch_errors(version_match)
        } else {
            options.list_errors(version_match)
        };
        if !errors.is_empty() {
            return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "ListOptions"), "", &errors).into());
        }
        options.version_match = [VersionMatch::Exact, VersionMatch::NotOlderThan]
            .into_iter()
            .find(|one| one.as_str() == version_match);
        Ok(options)
    }

    fn list_errors(&self, version_match: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if !version_match.is_empty() {
            if self.version == AskedVersion::Unset {
                errors.push(forbidden(
                    MATCH,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden(MATCH, MATCH_WITH_CONTINUE));
            }
            if !matches!(version_match, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(
                    FieldPath::new(MATCH),
                    version_match,
                    &["Exact", "NotOlderThan", ""],
                ));
            }
            if version_match == "Exact" && self.version == AskedVersion::Any {
                errors.push(forbidden(
                    MATCH,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        errors
    }

    fn watch_errors(&self, version_match: &str) -> Vec<FieldError> {
        let not_older = VersionMatch::NotOlderThan.as_str();
        let mut errors = Vec::new();
        if self.send_initial_events.is_some() && version_match != not_older {
            errors.push(forbidden(
                MATCH,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        if !version_match.is_empty() {
            if self.send_initial_events.is_none() {
                errors.push(forbidden(
                    MATCH,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if version_match != not_older {
                errors.push(FieldError::not_supported(
                    FieldPath::new(MATCH),
                    version_match,
                    &[not_older],
                ));
            }
            if !self.continue_token.is_empty() {
                errors.push(forbidden(MATCH, MATCH_WITH_CONTINUE));
            }
        }
        errors
    }
}

impl AskedVersion {
    /// Reads the value of `resourceVersion` (apiserver pkg/storage/api_object_versioner.go `ParseResourceVersion`).
    pub(crate) fn read(text: &str) -> Self {
        match (text, query::unsigned(text)) {
            ("", _) => Self::Unset,
            ("0", _) => Self::Any,
            (_, Ok(version)) => Self::At(Revision(version)),
            (_, Err(why)) => Self::Malformed(Box::new(FieldError::invalid(
                FieldPath::new("resourceVersion"),
                text,
                why,
            ))),
        }
    }
}

/// Whether a query asks for a watch: read before everything else, since it makes another verb of a list, and also where the rest
/// cannot be read (apiserver pkg/endpoints/request/requestinfo.go).
pub(crate) fn is_watch(query: &str) -> bool {
    query::first(query, "watch").as_deref().is_some_and(is_true)
}

/// The only name that the field selector of a query lets through, if it could be that of an object; none where something of the query
/// cannot be read (apiserver pkg/endpoints/request/requestinfo.go).
pub(crate) fn selected_name(query: &str) -> Option<String> {
    query::first(query, "fieldSelector")?;
    let raw = Raw::read(query);
    for number in [&raw.timeout_seconds, &raw.limit].into_iter().flatten() {
        integer(number).ok()?;
    }
    raw.label_selector.parse::<LabelSelector>().ok()?;
    let fields: FieldSelector = raw.field_selector.parse().ok()?;
    let name = fields.required_value("metadata.name")?;
    let can_be_name = !matches!(name, "" | "." | "..") && !name.contains(['/', '%']);
    can_be_name.then(|| name.to_owned())
}

/// The parameters as they were written, each as it came first.
#[derive(Default)]
struct Raw<'a> {
    label_selector: Cow<'a, str>,
    field_selector: Cow<'a, str>,
    shard_selector: Cow<'a, str>,
    watch: Option<Cow<'a, str>>,
    allow_watch_bookmarks: Option<Cow<'a, str>>,
    resource_version: Cow<'a, str>,
    resource_version_match: Cow<'a, str>,
    timeout_seconds: Option<Cow<'a, str>>,
    limit: Option<Cow<'a, str>>,
    continue_token: Cow<'a, str>,
    send_initial_events: Option<Cow<'a, str>>,
}

impl<'a> Raw<'a> {
    fn read(query: &'a str) -> Self {
        let mut raw = Self::default();
        // From the last to the first, so that the first is what stays.
        let parameters: Vec<_> = query::parameters(query).collect();
        for (name, value) in parameters.into_iter().rev() {
            match &*name {
                "labelSelector" => raw.label_selector = value,
                "fieldSelector" => raw.field_selector = value,
                "shardSelector" => raw.shard_selector = value,
                "watch" => raw.watch = Some(value),
                "allowWatchBookmarks" => raw.allow_watch_bookmarks = Some(value),
                "resourceVersion" => raw.resource_version = value,
                "resourceVersionMatch" => raw.resource_version_match = value,
                "timeoutSeconds" => raw.timeout_seconds = Some(value),
                "limit" => raw.limit = Some(value),
                "continue" => raw.continue_token = value,
                "sendInitialEvents" => raw.send_initial_events = Some(value),
                _ => {}
            }
        }
        raw
    }
}

/// Only `false` and `0` are not true.
fn is_true(value: &str) -> bool {
    !(value == "0" || value.eq_ignore_ascii_case("false"))
}

fn integer(text: &str) -> ApiResult<i64> {
    query::integer(text).map_err(unreadable)
}

fn unreadable(why: impl std::fmt::Display) -> ApiError {
    Status::bad_request(why.to_string()).into()
}

fn forbidden(field: &str, why: &str) -> FieldError {
    FieldError::forbidden(FieldPath::new(field), why)
}

const MATCH: &str = "resourceVersionMatch";
const MATCH_WITH_CONTINUE: &str = "resourceVersionMatch is forbidden when continue is provided";

#[cfg(test)]
mod tests {
    use super::*;

    /// What a query is refused with, or what was read of it.
    fn told(query: &str) -> String {
        match ReadOptions::read(query) {
            Ok(options) => format!("{options:?}"),
            Err(error) => {
                let status = error.status();
                let causes = status.details.as_ref().map(|details| &details.causes);
                let causes = causes.into_iter().flatten();
                let texts: Vec<_> = causes
                    .map(|cause| format!("{}: {}", cause.field, cause.message))
                    .collect();
                if texts.is_empty() {
                    format!("{} {}", status.code, status.message)
                } else {
                    format!("{} {}", status.code, texts.join("; "))
                }
            }
        }
    }

    /// The rows of `validation_test.go`, with the gate of watch-lists on, and of the combinations between them.
    #[test]
    fn what_makes_no_sense_is_told_as_a_whole() {
        const UNLESS: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
        const EXACT_0: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        const FOO: &str = "resourceVersionMatch: Unsupported value: \"foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"";
        const CONTINUE: &str =
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided";
        const LIST: &str = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
        const NEEDS: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        const REQUIRES: &str = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        let only = |word: &str| {
            format!("resourceVersionMatch: Unsupported value: \"{word}\": supported values: \"NotOlderThan\"")
        };
        let check = |query: &str, expect: &[&str]| {
            let found = told(query);
            if expect.is_empty() {
                assert!(found.starts_with("ReadOptions"), "{query}: {found}");
            } else {
                assert_eq!(found, format!("422 {}", expect.join("; ")), "{query}");
            }
        };
        check("", &[]);
        check("resourceVersion=1&resourceVersionMatch=Exact", &[]);
        check("resourceVersion=0&resourceVersionMatch=NotOlderThan", &[]);
        check("resourceVersion=0&resourceVersionMatch=Exact", &[EXACT_0]);
        check("resourceVersion=0&resourceVersionMatch=foo", &[FOO]);
        check("resourceVersionMatch=foo", &[UNLESS, FOO]);
        check("resourceVersionMatch=Exact", &[UNLESS]);
        check(
            "resourceVersionMatch=NotOlderThan&continue=x",
            &[UNLESS, CONTINUE],
        );
        check(
            "resourceVersion=0&resourceVersionMatch=Exact&continue=x&sendInitialEvents=1",
            &[CONTINUE, EXACT_0, LIST],
        );
        check("sendInitialEvents=true", &[LIST]);
        check("sendInitialEvents=false", &[LIST]);
        check("sendInitialEvents", &[LIST]);
        check("resourceVersion=5&continue=x", &[]);
        check("watch=1", &[]);
        check(
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            &[],
        );
        check(
            "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            &[],
        );
        check("watch=1&resourceVersionMatch=NotOlderThan", &[NEEDS]);
        check("watch=1&resourceVersionMatch=Exact", &[NEEDS, &only("Exact")]);
        check("watch=1&sendInitialEvents=true", &[REQUIRES]);
        check("watch=1&sendInitialEvents=false", &[REQUIRES]);
        check(
            "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5",
            &[REQUIRES, &only("Exact")],
        );
        check(
            "watch=1&sendInitialEvents=true&resourceVersionMatch=incorrect",
            &[REQUIRES, &only("incorrect")],
        );
        check(
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=123",
            &[CONTINUE],
        );
        // A watch without a version is one for initial events.
        check("watch=1&continue=x", &[CONTINUE]);
        check("watch=1&resourceVersion=0&continue=x", &[CONTINUE]);
        check("watch=1&resourceVersion=5&continue=x&limit=3", &[]);
    }

    #[test]
    fn what_cannot_be_read_is_told_in_the_order_of_reading() {
        for (query, expect) in [
            ("limit=x", "strconv.ParseInt: parsing \"x\": invalid syntax"),
            ("limit=", "strconv.ParseInt: parsing \"\": invalid syntax"),
            (
                "limit=9223372036854775808",
                "strconv.ParseInt: parsing \"9223372036854775808\": value out of range",
            ),
            (
                "timeoutSeconds=1s",
                "strconv.ParseInt: parsing \"1s\": invalid syntax",
            ),
            (
                "timeoutSeconds=",
                "strconv.ParseInt: parsing \"\": invalid syntax",
            ),
            (
                "limit=a&timeoutSeconds=b&fieldSelector=c",
                "strconv.ParseInt: parsing \"b\": invalid syntax",
            ),
            (
                "fieldSelector=a&resourceVersionMatch=b",
                "invalid selector: 'a'; can't understand 'a'",
            ),
            (
                "fieldSelector=a%3D%5Cx",
                "invalid field selector: invalid escape sequence: \\x",
            ),
            (
                "fieldSelector=a%3Db%3Dc",
                "invalid field selector: unescaped character in value: 61",
            ),
        ] {
            assert_eq!(told(query), format!("400 {expect}"), "{query}");
        }
    }

    #[test]
    fn what_is_read() {
        let read = |query: &str| ReadOptions::read(query).unwrap();
        let started = |watch, send_initial_events, version_match, version| ReadOptions {
            watch,
            send_initial_events,
            version_match,
            version,
            ..ReadOptions::default()
        };
        let not_older = Some(VersionMatch::NotOlderThan);
        for (query, expect) in [
            ("", ReadOptions::default()),
            (
                "shardSelector=anything&export=1&unknown=2&shardSelector=2",
                ReadOptions {
                    shard: "anything".to_owned(),
                    ..ReadOptions::default()
                },
            ),
            ("watch", started(true, Some(true), not_older, AskedVersion::Unset)),
            (
                "watch=T&resourceVersion=0",
                started(true, Some(true), not_older, AskedVersion::Any),
            ),
            (
                "watch=1&resourceVersion=7",
                started(true, None, None, AskedVersion::At(Revision(7))),
            ),
            ("watch=FALSE", started(false, None, None, AskedVersion::Unset)),
            (
                "resourceVersion=7&resourceVersion=8&watch=0&watch=1",
                started(false, None, None, AskedVersion::At(Revision(7))),
            ),
            (
                "limit=-3&timeoutSeconds=-1",
                ReadOptions {
                    timeout_seconds: Some(-1),
                    ..ReadOptions::default()
                },
            ),
        ] {
            assert_eq!(read(query), expect, "{query}");
        }
        for (version, expect) in [
            ("abc", "strconv.ParseUint: parsing \"abc\": invalid syntax"),
            ("-1", "strconv.ParseUint: parsing \"-1\": invalid syntax"),
            ("%2B1", "strconv.ParseUint: parsing \"+1\": invalid syntax"),
            (
                "18446744073709551616",
                "strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
            ),
        ] {
            let AskedVersion::Malformed(error) = read(&format!("resourceVersion={version}")).version else {
                panic!("{version} was read");
            };
            assert_eq!(error.detail, expect);
        }
    }

    #[test]
    fn a_watch_is_one_also_where_the_rest_makes_no_sense() {
        for (query, expect) in [
            ("", false),
            ("%77atch=1", true),
            ("w%61tch", true),
            ("watch%3D1", false),
            ("watch=1;a", false),
            ("watch=%zz", false),
            ("watch=%zz&watch", true),
            ("watch", true),
            ("watch=&limit=x", true),
            ("watch=1&labelSelector=%21%21", true),
            ("watch=0&watch=1", false),
            ("allowWatchBookmarks=1", false),
            ("watchful=1", false),
        ] {
            assert_eq!(is_watch(query), expect, "{query}");
        }
    }
}
