//! Which value a scalar stands for: the rules of `sigs.k8s.io/yaml/goyaml.v2/resolve.go`, which kubectl uses.
//!
//! They are YAML 1.1 without base 60: `yes`, `on` and `y` are booleans, `0644` is octal, `1_000` is a number,
//! and a timestamp stays the string it was written as.

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Str,
    /// `<<`, which only means something as a key.
    Merge,
}

/// Resolves a plain (unquoted, untagged) scalar.
pub(crate) fn resolve_plain(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        "<<" => Scalar::Merge,
        _ => match text.as_bytes()[0] {
            b'.' => go_float(text).map_or(Scalar::Str, Scalar::Float),
            b'+' | b'-' | b'0'..=b'9' => resolve_number(text),
            _ => Scalar::Str,
        },
    }
}

fn resolve_number(text: &str) -> Scalar {
    let plain = text.replace('_', "");
    // A spelling with underscores that Go's base-0 integers reject (`1__0`) is still read after their removal.
    if let Some(value) = integer(&plain) {
        return value;
    }
    if is_yaml_float(&plain) {
        return plain
            .parse()
            .ok()
            .filter(|f: &f64| f.is_finite())
            .map_or(Scalar::Str, Scalar::Float);
    }
    // Go's second attempt at binary allows a sign after the prefix.
    let signed_binary = match plain.strip_prefix("-0b") {
        Some(digits) => i64::from_str_radix(&format!("-{digits}"), 2).ok(),
        None => plain
            .strip_prefix("0b")
            .and_then(|digits| i64::from_str_radix(digits, 2).ok()),
    };
    if let Some(value) = signed_binary {
        return Scalar::Int(value);
    }
    big_integer(&plain).map_or(Scalar::Str, Scalar::Float)
}

/// Splits a sign and a radix prefix as Go's `strconv.ParseInt(s, 0, 64)` does: a leading zero is octal.
fn radix(text: &str) -> (bool, bool, u32, &str) {
    let (signed, negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, true, &text[1..]),
        Some(b'+') => (true, false, &text[1..]),
        _ => (false, false, text),
    };
    let bytes = digits.as_bytes();
    let (base, digits) = match bytes {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    (signed, negative, base, digits)
}

fn integer(text: &str) -> Option<Scalar> {
    let (signed, negative, base, digits) = radix(text);
    if !is_digits(digits, base) {
        return None;
    }
    match u64::from_str_radix(digits, base).ok()? {
        value if negative => 0i64.checked_sub_unsigned(value).map(Scalar::Int),
        value => match i64::try_from(value) {
            Ok(value) => Some(Scalar::Int(value)),
            // Go's ParseUint takes no sign.
            Err(_) => (!signed).then_some(Scalar::UInt(value)),
        },
    }
}

/// Integers beyond 64 bits keep their magnitude as far as a JSON number of ours can: as a float.
fn big_integer(text: &str) -> Option<f64> {
    let (_, negative, base, digits) = radix(text);
    if !is_digits(digits, base) {
        return None;
    }
    let value = match base {
        10 => digits.parse().ok()?,
        _ => digits.chars().fold(0.0, |sum, c| {
            sum * f64::from(base) + f64::from(c.to_digit(base).unwrap_or(0))
        }),
    };
    Some(if negative { -value } else { value }).filter(|value: &f64| value.is_finite())
}

fn is_digits(text: &str, base: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(base))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_yaml_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)),
        ),
        None => (text, None),
    };
    let (whole, fraction) = mantissa
        .split_once('.')
        .map_or((mantissa, None), |(w, f)| (w, Some(f)));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_fits = match fraction {
        Some(fraction) => digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()),
        None => is_digits(whole, 10),
    };
    mantissa_fits && exponent.is_none_or(|e| is_digits(e, 10))
}

/// `strconv.ParseFloat` for a text that starts with a dot: digits with underscores only where Go accepts none,
/// so the decimal grammar alone.
fn go_float(text: &str) -> Option<f64> {
    if !is_yaml_float(text) {
        return None;
    }
    text.parse().ok().filter(|f: &f64| f.is_finite())
}

/// How `sigs.k8s.io/yaml` spells a float that stands as a key: Go's `FormatFloat(f, 'g', -1, 32)`.
pub(crate) fn float_key(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "upstream formats keys with 32 bits"
    )]
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    shortest(&format!("{value:e}"), || value.to_string())
}

/// Go's `FormatFloat(f, 'g', -1, 64)`, of a finite number.
pub(crate) fn go_float_text(value: f64) -> String {
    shortest(&format!("{value:e}"), || value.to_string())
}

/// Shortest formatting decides with a precision of 6, however many digits there are.
fn shortest(scientific: &str, decimal: impl FnOnce() -> String) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return decimal();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Whether a text is in base 60, which YAML 1.1 has for times and nobody here reads: it is quoted for those who do.
pub(crate) fn is_base60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let mut count = 0;
    let are_sixties = parts.all(|part| {
        count += 1;
        matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    });
    first.starts_with(|c: char| c.is_ascii_digit())
        && first.chars().all(is_digit)
        && count > 0
        && are_sixties
        && fraction.chars().all(is_digit)
}

/// Whether go-yaml would take a text for a time (`parseTimestamp`): a date, which a time may follow.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else {
        return false;
    };
    if year.len() != 4 || !is_digits(year, 10) {
        return false;
    }
    let time = |rest: &str, has_zone: bool| {
        clock(rest).is_some_and(|zone| match has_zone {
            true => is_zone(zone),
            false => zone.is_empty(),
        })
    };
    let read = || {
        let (month, rest) = short_number(rest)?;
        let (day, rest) = short_number(rest.strip_prefix('-')?)?;
        let is_leap = year
            .parse::<u32>()
            .is_ok_and(|y| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
        let days = match month {
            4 | 6 | 9 | 11 => 30,
            2 if is_leap => 29,
            2 => 28,
            1..=12 => 31,
            _ => return None,
        };
        let follows = match rest.chars().next() {
            None => true,
            Some('T' | 't') => time(&rest[1..], true),
            Some(' ') => time(&rest[1..], false),
            Some(_) => false,
        };
        Some(follows && (1..=days).contains(&day))
    };
    read().unwrap_or(false)
}

/// What is behind a time of the day.
fn clock(text: &str) -> Option<&str> {
    let (hour, rest) = short_number(text)?;
    let (minute, rest) = short_number(rest.strip_prefix(':')?)?;
    let (second, rest) = short_number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest.strip_prefix(['.', ',']) {
        Some(fraction) if fraction.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(fraction.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        _ => Some(rest),
    }
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', h, hh, b':', m, mm] => {
            [h, hh, m, mm].iter().all(|digit| digit.is_ascii_digit())
                && (*h, *hh) <= (b'2', b'4')
                && *m < b'6'
        }
        _ => false,
    }
}

/// One or two digits, and what is behind them.
fn short_number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}
