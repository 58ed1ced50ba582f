//! Whether a kept answer may be used without asking, as far as the API server makes use of it (RFC 9111, section 4.2).

use std::time::Duration;

use http::{HeaderMap, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Whether an answer may be kept at all, and is worth it: it can be checked by its ETag, or is fresh for a while.
pub(super) fn is_worth_keeping(headers: &HeaderMap) -> bool {
    !says(headers, "no-store") && (headers.contains_key(header::ETAG) || lifetime(headers).is_some())
}

/// Whether an answer is as good as new.
pub(super) fn is_fresh(headers: &HeaderMap, now: Timestamp) -> bool {
    let (Some(lifetime), Some(date)) = (lifetime(headers), time(headers, &header::DATE)) else {
        return false;
    };
    !says(headers, "no-cache") && Duration::try_from(now.duration_since(date)).unwrap_or_default() < lifetime
}

/// For how long an answer says that it is good; `max-age` wins over `Expires`.
fn lifetime(headers: &HeaderMap) -> Option<Duration> {
    let max_age = directives(headers).find_map(|directive| directive.strip_prefix("max-age="));
    if let Some(seconds) = max_age {
        return seconds.parse().ok().map(Duration::from_secs);
    }
    let expires = time(headers, &header::EXPIRES)?;
    Duration::try_from(expires.duration_since(time(headers, &header::DATE)?)).ok()
}

fn time(headers: &HeaderMap, name: &header::HeaderName) -> Option<Timestamp> {
    let text = headers.get(name)?.to_str().ok()?;
    DateTimeParser::new().parse_timestamp(text).ok()
}

fn says(headers: &HeaderMap, wanted: &str) -> bool {
    directives(headers).any(|directive| directive.eq_ignore_ascii_case(wanted))
}

fn directives(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lists = headers.get_all(header::CACHE_CONTROL).into_iter();
    lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
}
