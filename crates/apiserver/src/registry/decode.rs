//! Values with a form of their own as Go's types decode them: times, bytes, quantities.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use kubewright_kinds::Value as Kind;
use serde_json::Value;

use crate::codec::kind_of_json;

/// How much of a time is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// `metav1.Time`, whose fraction may be given and is dropped.
    Seconds,
    /// `metav1.MicroTime`, which must have six digits of a fraction.
    Microseconds,
}

/// What the converter of trees says of a value that it cannot make one of `kind`, which Go calls `expected` (apimachinery
/// pkg/runtime/converter.go `fromUnstructured`).
pub(crate) fn inconvertible(value: &Value, kind: &Kind, expected: &str) -> String {
    let found = match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    };
    let plain = match kind {
        Kind::Map(_) => return format!("cannot restore map from {found}"),
        Kind::Array(_) | Kind::Bytes => return format!("cannot restore slice from {found}"),
        Kind::Object(_) => return format!("cannot restore struct from: {found}"),
        Kind::Time | Kind::MicroTime | Kind::IntOrString => {
            let shown = match value {
                Value::Number(number) if expected == "int32" => format!("number {number}"),
                _ => kind_of_json(value).to_owned(),
            };
            return format!("json: cannot unmarshal {shown} into Go value of type {expected}");
        }
        Kind::Boolean => "bool",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Double => "float64",
        _ => "string",
    };
    // Go can make a text of an integer, but not so that it would mean the same.
    let is_near = match found {
        "int64" => plain != "bool",
        "float64" => !matches!(plain, "bool" | "string"),
        _ => false,
    };
    match is_near {
        true => format!("cannot convert {found} to {expected}"),
        false => format!("unrecognized type: {plain}"),
    }
}

/// A time in the one form in which Go writes it: RFC 3339 in UTC (apimachinery pkg/apis/meta/v1/time.go, micro_time.go).
///
/// # Errors
/// In the words of Go's `time.Parse`.
pub(super) fn time(text: &str, precision: Precision) -> Result<String, String> {
    let layout = match precision {
        Precision::Seconds => "2006-01-02T15:04:05Z07:00",
        Precision::Microseconds => "2006-01-02T15:04:05.000000Z07:00",
    };
    let time = Clock { rest: text }
        .read(precision)
        .map_err(|fault| match fault {
            TimeFault::Unlike(rest, part) => {
                format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")
            }
            TimeFault::OutOfRange(what) => format!("parsing time {text:?}: {what} out of range"),
            TimeFault::Extra(rest) => format!("parsing time {text:?}: extra text: {rest:?}"),
        })?;
    let format = match precision {
        Precision::Seconds => "%Y-%m-%dT%H:%M:%SZ",
        Precision::Microseconds => "%Y-%m-%dT%H:%M:%S%.6fZ",
    };
    Ok(time.strftime(format).to_string())
}

/// Why a text is no time.
enum TimeFault<'a> {
    /// The rest is not this part of the layout.
    Unlike(&'a str, &'static str),
    OutOfRange(&'static str),
    Extra(&'a str),
}

/// Reads a time from its beginning, as Go's `time.Parse` goes through a layout.
struct Clock<'a> {
    rest: &'a str,
}

impl<'a> Clock<'a> {
    fn read(mut self, precision: Precision) -> Result<DateTime, TimeFault<'a>> {
        let year = self.number("2006", 4, 4)?;
        self.literal("-")?;
        let month = self.within("01", 2, "month", 1..=12)?;
        self.literal("-")?;
        let day = self.number("02", 2, 2)?;
        self.literal("T")?;
        let hour = self.number("15", 1, 2)?;
        if hour >= 24 {
            return Err(TimeFault::OutOfRange("hour"));
        }
        self.literal(":")?;
        let minute = self.within("04", 2, "minute", 0..=59)?;
        self.literal(":")?;
        let second = self.within("05", 2, "second", 0..=59)?;
        let nanosecond = self.fraction(precision)?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(TimeFault::Extra(self.rest));
        }
        let small = |number: i32| i8::try_from(number).unwrap_or_default();
        let year = i16::try_from(year).unwrap_or_default();
        let (month, day, hour) = (small(month), small(day), small(hour));
        let time = DateTime::new(year, month, day, hour, small(minute), small(second), nanosecond)
            .map_err(|_| TimeFault::OutOfRange("day"))?;
        time.checked_sub(offset)
            .map_err(|_| TimeFault::OutOfRange("year"))
    }

    fn within(
        &mut self,
        part: &'static str,
        digits: usize,
        name: &'static str,
        range: std::ops::RangeInclusive<i32>,
    ) -> Result<i32, TimeFault<'a>> {
        let number = self.number(part, digits, digits)?;
        match range.contains(&number) {
            true => Ok(number),
            false => Err(TimeFault::OutOfRange(name)),
        }
    }

    fn number(&mut self, part: &'static str, least: usize, most: usize) -> Result<i32, TimeFault<'a>> {
        let length = digits(self.rest).min(most);
        if length < least {
            return Err(TimeFault::Unlike(self.rest, part));
        }
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(number.parse().unwrap_or_default())
    }

    fn literal(&mut self, part: &'static str) -> Result<(), TimeFault<'a>> {
        let rest = self.rest.strip_prefix(part);
        self.rest = rest.ok_or(TimeFault::Unlike(self.rest, part))?;
        Ok(())
    }

    /// Nanoseconds.
    fn fraction(&mut self, precision: Precision) -> Result<i32, TimeFault<'a>> {
        let after = self.rest.strip_prefix(['.', ',']);
        let found = after.map_or(0, digits);
        let length = match precision {
            Precision::Seconds => found,
            Precision::Microseconds if found >= MICRO_DIGITS => MICRO_DIGITS,
            Precision::Microseconds => return Err(TimeFault::Unlike(self.rest, ".000000")),
        };
        let (Some(after), 1..) = (after, length) else {
            return Ok(0);
        };
        let (fraction, rest) = after.split_at(length);
        self.rest = rest;
        let nanoseconds: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        Ok(nanoseconds.parse().unwrap_or_default())
    }

    fn zone(&mut self) -> Result<SignedDuration, TimeFault<'a>> {
        let unlike = TimeFault::Unlike(self.rest, "Z07:00");
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(SignedDuration::ZERO);
        }
        let Some((zone, rest)) = self.rest.split_at_checked(6) else {
            return Err(unlike);
        };
        let (Some(hours), Some(minutes), Some(":")) = (zone.get(1..3), zone.get(4..), zone.get(3..4)) else {
            return Err(unlike);
        };
        if digits(hours) != 2 || digits(minutes) != 2 {
            return Err(unlike);
        }
        let number = |text: &str| text.parse::<i64>().unwrap_or_default();
        let (hours, minutes) = (number(hours), number(minutes));
        if hours > 24 {
            return Err(TimeFault::OutOfRange("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(TimeFault::OutOfRange("time zone offset minute"));
        }
        let offset = SignedDuration::from_mins(hours * 60 + minutes);
        self.rest = rest;
        match zone.as_bytes().first() {
            Some(b'+') => Ok(offset),
            Some(b'-') => Ok(-offset),
            _ => Err(unlike),
        }
    }
}

const MICRO_DIGITS: usize = 6;

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Bytes as Go's encoding/json reads them, base64 with padding in which line breaks are passed over, in the form in which it
/// writes them.
///
/// # Errors
/// In Go's words, with the place.
pub(super) fn bytes(text: &str) -> Result<String, String> {
    if let Some(at) = no_base64(text.as_bytes()) {
        return Err(format!("illegal base64 data at input byte {at}"));
    }
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    // Go takes whatever bits are left over at the end, and writes none.
    let config = base64::engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    match base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, config).decode(&joined) {
        Ok(bytes) => Ok(STANDARD.encode(bytes)),
        Err(error) => Err(format!("illegal base64 data: {error}")),
    }
}

/// Where Go finds a text to be no base64 (encoding/base64 `decodeQuantum`).
fn no_base64(text: &[u8]) -> Option<usize> {
    let breaks = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count()
    };
    let mut in_quantum = 0;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => in_quantum = (in_quantum + 1) % 4,
            b'\r' | b'\n' => {}
            b'=' if in_quantum >= 2 => {
                let mut next = at + 1;
                if in_quantum == 2 {
                    next = breaks(next);
                    match text.get(next) {
                        Some(b'=') => next += 1,
                        Some(_) => return Some(next - 1),
                        None => return Some(text.len()),
                    }
                }
                let end = breaks(next);
                return (end < text.len()).then_some(end);
            }
            _ => return Some(at),
        }
    }
    (in_quantum > 0).then(|| text.len() - in_quantum)
}

/// A quantity, which may be written as a number, as text in canonical form.
pub(super) fn quantity(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text.parse::<kubewright_core::Quantity>().ok()?.to_string())
}

/// What upstream says of what is no quantity (apimachinery pkg/api/resource/quantity.go `ErrFormatWrong`).
pub(super) const NO_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        #[track_caller]
        fn check(precision: Precision, text: &str, expect: Result<&str, &str>) {
            let found = time(text, precision);
            let expect = expect
                .map(str::to_owned)
                .map_err(|why| format!("parsing time {text:?}{why}"));
            assert_eq!(found, expect, "{text}");
        }
        let layout = r#" as "2006-01-02T15:04:05Z07:00": "#;
        let unlike = |rest: &str, part: &str| format!("{layout}cannot parse {rest:?} as {part:?}");
        for (text, expect) in [
            ("2026-01-01T00:00:00Z", Ok("2026-01-01T00:00:00Z")),
            ("2026-01-01T00:00:00.5Z", Ok("2026-01-01T00:00:00Z")),
            ("2026-01-01T00:00:00,5Z", Ok("2026-01-01T00:00:00Z")),
            ("2026-01-01T5:00:00Z", Ok("2026-01-01T05:00:00Z")),
            ("2026-01-01T00:00:00+24:60", Ok("2025-12-30T23:00:00Z")),
            ("0000-01-01T00:00:00Z", Ok("0000-01-01T00:00:00Z")),
            ("x", Err(unlike("x", "2006"))),
            ("", Err(unlike("", "2006"))),
            ("20260101", Err(unlike("0101", "-"))),
            ("99999-01-01T00:00:00Z", Err(unlike("9-01-01T00:00:00Z", "-"))),
            ("2026-01-01", Err(unlike("", "T"))),
            ("2026-01-01T00:00:00", Err(unlike("", "Z07:00"))),
            ("2026-01-01t00:00:00z", Err(unlike("t00:00:00z", "T"))),
            ("2026-01-01T00:00:00.Z", Err(unlike(".Z", "Z07:00"))),
            ("2026-01-01T00:00:00+0100", Err(unlike("+0100", "Z07:00"))),
            ("2026-01-01T00:00:00 é12", Err(unlike(" é12", "Z07:00"))),
            ("2026-13-01T00:00:00Z", Err(": month out of range".to_owned())),
            ("2026-02-29T00:00:00Z", Err(": day out of range".to_owned())),
            ("2026-01-01T24:00:00Z", Err(": hour out of range".to_owned())),
            (
                "2026-01-01T00:00:00+01:00x",
                Err(r#": extra text: "x""#.to_owned()),
            ),
        ] {
            check(
                Precision::Seconds,
                text,
                expect.as_ref().map(|text| *text).map_err(String::as_str),
            );
        }
        let unlike = |rest: &str, part: &str| unlike(rest, part).replace(":05Z", ":05.000000Z");
        for (text, expect) in [
            ("2026-01-01T00:00:00.500000Z", Ok("2026-01-01T00:00:00.500000Z")),
            (
                "2026-01-01T00:00:00.500000+01:00",
                Ok("2025-12-31T23:00:00.500000Z"),
            ),
            ("2026-01-01T00:00:00.5Z", Err(unlike(".5Z", ".000000"))),
            ("2026-01-01T00:00:00Z", Err(unlike("Z", ".000000"))),
            ("2026-01-01T00:00:00.5000001Z", Err(unlike("1Z", "Z07:00"))),
            ("2026-01-01T00:00:00.50000aZ", Err(unlike(".50000aZ", ".000000"))),
            (
                "2026-01-01T00:00:00.500000+25:00",
                Err(": time zone offset hour out of range".to_owned()),
            ),
        ] {
            check(
                Precision::Microseconds,
                text,
                expect.as_ref().map(|text| *text).map_err(String::as_str),
            );
        }
    }

    #[test]
    fn base64() {
        for (text, expect) in [
            ("", Ok("")),
            ("YQ==", Ok("YQ==")),
            ("YWI=", Ok("YWI=")),
            ("YW\nJj\r", Ok("YWJj")),
            ("YR==", Ok("YQ==")),
            ("not base64!", Err(3)),
            ("YQ", Err(0)),
            ("YWJjYQ", Err(4)),
            ("Y===", Err(1)),
            ("=", Err(0)),
            ("YQ=", Err(3)),
            ("YQ=x", Err(2)),
            ("YQ==YQ==", Err(4)),
        ] {
            let expect = expect
                .map(str::to_owned)
                .map_err(|at: usize| format!("illegal base64 data at input byte {at}"));
            assert_eq!(bytes(text), expect, "{text:?}");
        }
    }
}
