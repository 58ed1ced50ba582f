//! The texts that several printers share: durations, selectors, lists cut short.

use jiff::{SignedDuration, Timestamp};
use kubewright_core::Quantity;
use kubewright_core::json::by_name;
use serde_json::Value;

use super::view::{get, items, or, text};

/// What stands for an age that cannot be told.
pub(super) const UNKNOWN: &str = "<unknown>";
/// What stands for nothing at all.
pub(super) const NONE: &str = "<none>";
/// What stands for an optional field without a value.
pub(super) const UNSET: &str = "<unset>";
/// What stands for a date from the future or one that is not a date.
pub(super) const INVALID: &str = "<invalid>";

/// The second that Go's zero time falls in, 0001-01-01T00:00:00Z.
const ZERO_TIME_SECOND: i64 = -62_135_596_800;
/// Go counts durations in an `i64` of nanoseconds and saturates, so no age exceeds these whole seconds.
const MAX_SECONDS: i64 = i64::MAX / 1_000_000_000;

/// A duration in two or three significant figures: `90s`, `5m30s`, `3h`, `2d4h`, `400d`, `3y`.
///
/// The same steps as `HumanDuration` of `apimachinery/pkg/util/duration`: up to 2 seconds in the future count as `0s`
/// (clocks differ), anything later is `<invalid>`.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().clamp(-MAX_SECONDS, MAX_SECONDS);
    if seconds < -1 {
        return INVALID.to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        pair(days, "d", hours % 24, "h")
    } else if days < 365 * 2 {
        format!("{days}d")
    } else if days < 365 * 8 {
        pair(years, "y", days % 365, "d")
    } else {
        format!("{years}y")
    }
}

/// `3h5m`, or `3h` where the smaller unit is zero.
fn pair(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

/// Reads an RFC 3339 timestamp; `None` for anything else, an empty string, and Go's zero time.
pub(super) fn parse_time(text: &str) -> Option<Timestamp> {
    parse_rfc3339(text).filter(|time| time.as_second() != ZERO_TIME_SECOND)
}

/// Reads an RFC 3339 timestamp. The parser below accepts more (no seconds, a blank for the `T`), so the shape is
/// checked first.
pub(super) fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let head = bytes.get(..shape.len())?;
    let fits = |byte: u8, want: u8| {
        if want == b'd' {
            byte.is_ascii_digit()
        } else {
            byte == want
        }
    };
    if !head.iter().zip(shape).all(|(&byte, &want)| fits(byte, want)) {
        return None;
    }
    let mut rest = &bytes[shape.len()..];
    if let [b'.', fraction @ ..] = rest {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        rest = &fraction[digits..];
    }
    let offset = match rest {
        [b'Z'] => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    if offset { text.parse().ok() } else { None }
}

/// The age of something that happened at `time`, `<unknown>` without a time.
pub(super) fn age(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(
        || UNKNOWN.to_owned(),
        |time| human_duration(now.duration_since(time)),
    )
}

/// `a=1,b=2`, or `<none>` for no labels: `FormatLabels` of `apimachinery/pkg/labels`.
pub(super) fn labels(labels: Option<&Value>) -> String {
    let joined = labels.and_then(Value::as_object).map(|labels| {
        let pairs: Vec<_> = by_name(labels)
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
            .collect();
        pairs.join(",")
    });
    joined
        .filter(|joined| !joined.is_empty())
        .unwrap_or_else(|| NONE.to_owned())
}

/// A label selector in its query form, sorted by key; empty for one that is absent or selects everything, `None` for one
/// that is not valid.
pub(super) fn selector(selector: Option<&Value>) -> Option<String> {
    let Some(selector) = selector else {
        return Some(String::new());
    };
    let mut requirements: Vec<(String, String)> = Vec::new();
    if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
        for (key, value) in labels {
            requirements.push((key.clone(), format!("{key}={}", value.as_str().unwrap_or(""))));
        }
    }
    for expression in items(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let mut values: Vec<&str> = items(expression, "/values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let requirement = match (text(expression, "/operator"), values.is_empty()) {
            ("In", false) => format!("{key} in ({})", values.join(",")),
            ("NotIn", false) => format!("{key} notin ({})", values.join(",")),
            ("Exists", true) => key.to_owned(),
            ("DoesNotExist", true) => format!("!{key}"),
            _ => return None,
        };
        requirements.push((key.to_owned(), requirement));
    }
    requirements.sort_by(|a, b| a.0.cmp(&b.0));
    let texts: Vec<_> = requirements.into_iter().map(|(_, text)| text).collect();
    Some(texts.join(","))
}

/// [`selector`] with `<none>` for no restriction and `<error>` for an invalid one: `FormatLabelSelector` of
/// `apimachinery/pkg/apis/meta/v1`.
pub(super) fn label_selector(value: Option<&Value>) -> String {
    match selector(value) {
        None => "<error>".to_owned(),
        Some(text) => or(&text, NONE).to_owned(),
    }
}

/// Names and images of containers, each joined by commas.
pub(super) fn containers(containers: &[Value]) -> (Value, Value) {
    let join = |field| {
        containers
            .iter()
            .map(|container| text(container, field))
            .collect::<Vec<_>>()
            .join(",")
    };
    (join("/name").into(), join("/image").into())
}

/// How many elements of a list a cell shows before it says `+ N more...`.
pub(super) const SHOWN: usize = 3;

/// The first [`SHOWN`] of a list of `count`, then how many more there are; `empty` where that leaves nothing to show.
pub(super) fn cut_short(list: &[String], count: usize, empty: &str) -> String {
    let joined = list[..list.len().min(SHOWN)].join(",");
    if count > SHOWN {
        format!("{joined} + {} more...", count - SHOWN)
    } else {
        or(&joined, empty).to_owned()
    }
}

/// `True`, `False`, or `<unset>` for an optional boolean.
pub(super) fn optional_bool(value: Option<&Value>) -> &'static str {
    match value.and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    }
}

/// A field that holds an integer or a string (`IntOrString`), as text.
pub(super) fn int_or_string(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A resource quantity in canonical form; `0` for one that is absent.
pub(super) fn quantity(value: Option<&Value>) -> String {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return "0".to_owned();
    };
    let text = int_or_string(value);
    text.parse::<Quantity>()
        .map_or(text, |quantity| quantity.to_string())
}

/// The quantity of `resource` in the map at `path`.
pub(super) fn quantity_of(object: &Value, path: &str, resource: &str) -> String {
    quantity(get(object, path).and_then(|map| map.get(resource)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_have_two_or_three_figures() {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        const YEAR: i64 = 365 * DAY;
        let check = |seconds: i64, expect: &str| {
            assert_eq!(
                human_duration(SignedDuration::from_secs(seconds)),
                expect,
                "{seconds} s"
            );
        };
        for (seconds, expect) in [
            (-YEAR, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (1, "1s"),
            (70, "70s"),
            (119, "119s"),
            (2 * MINUTE, "2m"),
            (190, "3m10s"),
            (9 * MINUTE + 59, "9m59s"),
            (10 * MINUTE, "10m"),
            (70 * MINUTE, "70m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 5 * MINUTE, "3h5m"),
            (8 * HOUR - 1, "7h59m"),
            (47 * HOUR, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 2 * HOUR, "2d2h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY, "8d"),
            (9 * DAY + 5 * HOUR, "9d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR - 1, "7y364d"),
            (8 * YEAR, "8y"),
            (i64::MAX, "292y"),
        ] {
            check(seconds, expect);
        }
        assert_eq!(human_duration(SignedDuration::from_millis(-1999)), "0s");
    }

    #[test]
    fn only_rfc_3339_is_a_time() {
        let check = |text: &str, expect: Option<i64>| {
            assert_eq!(parse_rfc3339(text).map(|time| time.as_second()), expect, "{text}");
        };
        for (text, expect) in [
            ("1970-01-01T00:01:00Z", Some(60)),
            ("1970-01-01T00:01:00.999999Z", Some(60)),
            ("1970-01-01T01:01:00+01:00", Some(60)),
            ("1970-01-01 00:01:00Z", None),
            ("1970-01-01T00:01Z", None),
            ("1970-01-01", None),
            ("1970-13-01T00:00:00Z", None),
            ("1970-01-01T00:01:00", None),
            ("1970-01-01T00:01:00.Z", None),
            ("", None),
            (
                "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
                None,
            ),
        ] {
            check(text, expect);
        }
        assert_eq!(parse_time("0001-01-01T00:00:00Z"), None);
    }

    #[test]
    fn selectors_read_as_queries() {
        let check = |value: Value, expect: &str| assert_eq!(label_selector(Some(&value)), expect, "{value}");
        check(json!({}), "<none>");
        check(json!({"matchLabels": {"b": "2", "a": "1"}}), "a=1,b=2");
        check(
            json!({"matchLabels": {"m": "1"}, "matchExpressions": [
                {"key": "z", "operator": "In", "values": ["y", "x"]},
                {"key": "b", "operator": "NotIn", "values": ["q"]},
                {"key": "c", "operator": "Exists"},
                {"key": "d", "operator": "DoesNotExist"},
            ]}),
            "b notin (q),c,!d,m=1,z in (x,y)",
        );
        check(
            json!({"matchExpressions": [{"key": "a", "operator": "Near"}]}),
            "<error>",
        );
        check(
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            "<error>",
        );
        assert_eq!(label_selector(None), "<none>");
        assert_eq!(selector(None).as_deref(), Some(""));
    }

    #[test]
    fn long_lists_are_cut_short() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        for (count, expect) in [
            (0, "<unset>"),
            (1, "a"),
            (3, "a,b,c"),
            (4, "a,b,c + 1 more..."),
            (5, "a,b,c + 2 more..."),
        ] {
            assert_eq!(cut_short(&names[..count], count, UNSET), expect);
        }
    }
}
