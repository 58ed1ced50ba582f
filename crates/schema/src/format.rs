//! The values of `format` that Kubernetes checks (apiextensions `pkg/apiserver/validation/formats.go`), and the checks
//! of kube-openapi's `strfmt` behind them.

use std::net::IpAddr;
use std::sync::LazyLock;

use regex::Regex;

use crate::structural::{JsonType, Types};

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)+) => {
        /// A format that Kubernetes knows. Others are ignored, as upstream does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $variant,)+
        }

        impl Format {
            /// The name in a schema.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Hyphens do not count: `datetime` is `date-time`.
            fn named(name: &str) -> Option<Self> {
                let name = name.replace('-', "");
                [$(Self::$variant),+].into_iter().find(|format| format.as_str().replace('-', "") == name)
            }
        }
    };
}

formats! {
    /// An integer of 32 bits.
    Int32 "int32",
    /// An integer of 64 bits.
    Int64 "int64",
    /// A number of 32 bits.
    Float "float",
    /// A number of 64 bits.
    Double "double",
    /// 24 hexadecimal digits.
    BsonObjectId "bsonobjectid",
    /// What Go's `url.ParseRequestURI` reads.
    Uri "uri",
    /// What Go's `mail.ParseAddress` reads.
    Email "email",
    /// A host name of RFC 1034, in kube-openapi's reading.
    Hostname "hostname",
    /// An IPv4 address.
    Ipv4 "ipv4",
    /// An IPv6 address.
    Ipv6 "ipv6",
    /// An address, a slash and the length of a prefix.
    Cidr "cidr",
    /// A hardware address of 6, 8 or 20 octets.
    Mac "mac",
    /// A UUID, hyphens optional.
    Uuid "uuid",
    /// A UUID of version 3.
    Uuid3 "uuid3",
    /// A UUID of version 4.
    Uuid4 "uuid4",
    /// A UUID of version 5.
    Uuid5 "uuid5",
    /// An ISBN of 10 or 13 digits.
    Isbn "isbn",
    /// An ISBN of 10 digits.
    Isbn10 "isbn10",
    /// An ISBN of 13 digits.
    Isbn13 "isbn13",
    /// A credit card number with a valid check digit.
    CreditCard "creditcard",
    /// A social security number of the United States.
    Ssn "ssn",
    /// A colour such as `#fff`.
    HexColor "hexcolor",
    /// A colour such as `rgb(1,2,3)`.
    RgbColor "rgbcolor",
    /// Base64 with padding, not empty.
    Byte "byte",
    /// Any string.
    Password "password",
    /// A day such as `2006-01-02`.
    Date "date",
    /// A Go duration, or one with spelled units such as `3 days`.
    Duration "duration",
    /// A time of RFC 3339.
    DateTime "date-time",
    /// A DNS label; since Kubernetes 1.34.
    ShortName "k8s-short-name",
    /// A DNS subdomain; since Kubernetes 1.34.
    LongName "k8s-long-name",
}

/// Whether a format means something for values of a type, which is empty where a schema names none (`GetUnrecognizedFormats` in
/// apiextensions `pkg/apiserver/validation/formats.go`).
///
/// ```
/// use kubewright_schema::is_known_format;
///
/// assert!(is_known_format("int32", "integer") && is_known_format("date-time", "string"));
/// assert!(!is_known_format("int32", "string") && !is_known_format("ip", ""));
/// ```
pub fn is_known_format(format: &str, type_name: &str) -> bool {
    let types = match (type_name, JsonType::parse(type_name)) {
        ("", _) => Types::default(),
        (_, Some(one)) => Types::of(one),
        (_, None) => return false,
    };
    Format::parse(format, types).is_some()
}

impl Format {
    /// The format of a name, if Kubernetes checks it on values of these types.
    pub(crate) fn parse(name: &str, types: Types) -> Option<Self> {
        let format = Self::named(name)?;
        let numeric = matches!(format, Self::Int32 | Self::Int64 | Self::Float | Self::Double);
        let fits = match types.only() {
            None | Some(JsonType::String) => !numeric,
            // Names of numbers are taken literally.
            Some(JsonType::Integer) => matches!(name, "int32" | "int64"),
            Some(JsonType::Number) => matches!(name, "float" | "double"),
            Some(_) => false,
        };
        fits.then_some(format)
    }

    /// Whether a string has this format. Formats of numbers accept every string.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password => true,
            Self::BsonObjectId => text.len() == 24 && is_hex(text),
            Self::Uri => is_request_uri(text),
            Self::Email => is_address(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => text.contains('.') && parse_ip(text).is_some(),
            Self::Ipv6 => text.contains(':') && parse_ip(text).is_some(),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Uuid => is_uuid(text, None),
            Self::Uuid3 => is_uuid(text, Some(b'3')),
            Self::Uuid4 => is_uuid(text, Some(b'4')),
            Self::Uuid5 => is_uuid(text, Some(b'5')),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::CreditCard => is_credit_card(text),
            Self::Ssn => is_ssn(text),
            Self::HexColor => {
                let digits = text.strip_prefix('#').unwrap_or(text);
                matches!(digits.len(), 3 | 6) && is_hex(digits)
            }
            Self::RgbColor => is_rgb(text),
            Self::Byte => is_base64(text),
            Self::Date => is_date(text),
            Self::Duration => is_go_duration(text) || is_spelled_duration(text),
            Self::DateTime => is_date_time(text),
            Self::ShortName => is_label(text),
            Self::LongName => text.len() <= 253 && text.split('.').all(is_label_of_any_length),
        }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Go's `url.ParseRequestURI`: an absolute URI, or an absolute path.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let scheme_end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    let (scheme, rest) = match scheme_end.map(|end| text.split_at(end)) {
        Some((scheme, rest)) if rest.starts_with(':') => {
            if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return false;
            }
            (scheme, &rest[1..])
        }
        _ => ("", text),
    };
    if !rest.starts_with('/') {
        // Without a slash it is opaque, which only a scheme allows.
        return !scheme.is_empty();
    }
    let (rest, _) = rest.split_once('?').unwrap_or((rest, ""));
    let Some(authority) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) else {
        return well_escaped(rest);
    };
    let (authority, path) = authority
        .find('/')
        .map_or((authority, ""), |slash| authority.split_at(slash));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let forbidden = |c: char| c == ' ' || "\"<>\\^`{|}#".contains(c);
    is_host(host) && !user.contains(forbidden) && well_escaped(user) && well_escaped(path)
}

fn is_host(host: &str) -> bool {
    let (host, port) = match host.strip_prefix('[') {
        Some(literal) => match literal.split_once(']') {
            Some((address, port)) => (address, port),
            None => return false,
        },
        None => match host.rfind(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let port_fits = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    port_fits && !host.contains(|c: char| c == ' ' || "\"<>\\^`{|}#".contains(c)) && well_escaped(host)
}

fn well_escaped(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|part| part.get(..2).is_some_and(is_hex))
}

/// The part of RFC 5322 that people use: `a@b`, `Name <a@b>`, quoted local parts and address literals.
fn is_address(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    let address = match text.strip_suffix('>') {
        Some(rest) => match rest.rsplit_once('<') {
            Some((name, address)) if is_display_name(name) => address,
            _ => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let local_fits = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => {
            !quoted.is_empty()
                && !quoted
                    .replace("\\\\", "")
                    .replace("\\\"", "")
                    .contains(['"', '\\'])
        }
        None => is_dot_atom(local),
    };
    let domain_fits = match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) => literal
            .strip_prefix("IPv6:")
            .unwrap_or(literal)
            .parse::<IpAddr>()
            .is_ok(),
        None => is_dot_atom(domain),
    };
    local_fits && domain_fits
}

fn is_display_name(name: &str) -> bool {
    let name = name.trim_matches([' ', '\t']);
    let quoted = name.len() >= 2 && name.starts_with('"') && name.ends_with('"');
    quoted
        || name.is_empty()
        || name
            .split([' ', '\t'])
            .filter(|word| !word.is_empty())
            .all(is_dot_atom)
}

fn is_dot_atom(text: &str) -> bool {
    let atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
    text.split('.')
        .all(|part| !part.is_empty() && part.chars().all(atom))
}

fn is_hostname(text: &str) -> bool {
    // One label with a hyphen in second place at most, or several with the last of two characters at least.
    static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let l = r"[0-9a-zA-Z\pL\pS]";
        let lh = r"[-0-9a-zA-Z\pL\pS]";
        Regex::new(&format!(
            r"^(?:{l}(?:-?{l}{{0,62}})?|(?:{l}(?:{lh}{{0,61}}{l})?\.)+{l}(?:-?{l}){{1,62}})$"
        ))
        .ok()
    });
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && HOSTNAME.as_ref().is_some_and(|hostname| hostname.is_match(text))
}

/// An address whose decimal numbers may begin with zeros (`ParseIPSloppy` in k8s.io/utils/net).
fn parse_ip(text: &str) -> Option<IpAddr> {
    let (v6, v4) = match text.rfind(':') {
        Some(colon) if text.contains('.') => text.split_at(colon + 1),
        Some(_) => (text, ""),
        None => ("", text),
    };
    let mut plain = v6.to_owned();
    for (at, number) in v4.split('.').enumerate() {
        if at > 0 {
            plain.push('.');
        }
        let significant = number.trim_start_matches('0');
        plain.push_str(if significant.is_empty() && !number.is_empty() {
            "0"
        } else {
            significant
        });
    }
    plain.parse().ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let Some(address) = parse_ip(address) else {
        return false;
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    is_digits(length) && length.parse::<u32>().is_ok_and(|length| length <= most)
}

fn is_mac(text: &str) -> bool {
    let groups = |separator, width| {
        let mut count = 0;
        text.split(separator)
            .all(|group: &str| {
                count += 1;
                group.len() == width && is_hex(group)
            })
            .then_some(count)
    };
    let pairs = groups(':', 2).or_else(|| groups('-', 2));
    matches!(pairs, Some(6 | 8 | 20)) || matches!(groups('.', 4), Some(3 | 4 | 10))
}

fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let mut rest = text.as_bytes();
    for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if group > 0 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
        let Some((digits, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        let fits = match (group, version) {
            (2, Some(version)) => digits.first() == Some(&version),
            (3, Some(b'4' | b'5')) => digits.first().is_some_and(|digit| b"89abAB".contains(digit)),
            _ => true,
        };
        if !fits {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn without_separators(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = without_separators(text);
    if digits.len() != 10 || !digits.get(..9).is_some_and(is_digits) {
        return false;
    }
    let value = |byte: u8| u32::from(byte.saturating_sub(b'0'));
    let bytes = digits.as_bytes();
    let check = match bytes[9] {
        b'X' => 10,
        digit if digit.is_ascii_digit() => value(digit),
        _ => return false,
    };
    let sum: u32 = bytes[..9]
        .iter()
        .zip(1..)
        .map(|(digit, weight)| value(*digit) * weight)
        .sum();
    (sum + 10 * check).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = without_separators(text);
    if digits.len() != 13 || !is_digits(&digits) {
        return false;
    }
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = digits
        .bytes()
        .zip(weights)
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let starts = |prefix: &[u32]| digits.starts_with(prefix);
    let known = match digits.len() {
        13 => starts(&[4]),
        14 => starts(&[3, 6]) || starts(&[3, 8]) || (0..=5).any(|digit| starts(&[3, 0, digit])),
        15 => starts(&[3, 4]) || starts(&[3, 7]) || starts(&[2, 1, 3, 1]) || starts(&[1, 8, 0, 0]),
        16 => {
            starts(&[4])
                || starts(&[6, 0, 1, 1])
                || starts(&[6, 5])
                || starts(&[3, 5])
                || (1..=5).any(|digit| starts(&[5, digit]))
        }
        _ => false,
    };
    let luhn = |(place, digit): (usize, &u32)| match (place % 2, digit * 2) {
        (0, _) => *digit,
        (_, doubled) => doubled / 10 + doubled % 10,
    };
    known
        && digits
            .iter()
            .rev()
            .enumerate()
            .map(luhn)
            .sum::<u32>()
            .is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', ' ']).collect();
    matches!(parts[..], [area, group, serial]
        if area.len() == 3 && group.len() == 2 && serial.len() == 4 && parts.iter().all(|part| is_digits(part)))
}

fn is_rgb(text: &str) -> bool {
    let Some(values) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let value = |part: &str| {
        let digits = part.trim();
        is_digits(digits) && (digits == "0" || !digits.starts_with('0')) && digits.parse::<u8>().is_ok()
    };
    values.split(',').count() == 3 && values.split(',').all(value)
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

fn is_date(text: &str) -> bool {
    let number = |range: std::ops::Range<usize>| {
        text.get(range)
            .filter(|part| is_digits(part))?
            .parse::<u32>()
            .ok()
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-' && (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let Some(offset_at) = time.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (clock, offset) = time.split_at(offset_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let two = |part: &str, most: u32| {
        part.len() == 2 && is_digits(part) && part.parse::<u32>().is_ok_and(|n| n <= most)
    };
    let clock: Vec<&str> = clock.split(':').collect();
    let clock_fits =
        matches!(clock[..], [hour, minute, second] if two(hour, 23) && two(minute, 59) && two(second, 59));
    let offset_fits = match offset {
        "Z" | "z" => true,
        _ => offset[1..]
            .split_once(':')
            .is_some_and(|(hour, minute)| two(hour, 23) && two(minute, 59)),
    };
    is_date(date) && clock_fits && is_digits(fraction) && offset_fits
}

/// Go's `time.ParseDuration`: signed, numbers with units, no spaces; a bare `0` too.
fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if !number.bytes().any(|byte| byte.is_ascii_digit()) || fraction.contains('.') || whole.len() > 19 {
            return false;
        }
        let end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = after;
    }
    true
}

/// Numbers with spelled units, as Scala writes durations: `3 days`, `2weeks`. Upstream searches for them anywhere in the text, and one
/// with a unit that it knows is enough.
fn is_spelled_duration(text: &str) -> bool {
    const UNITS: [&str; 12] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk", "min"];
    const LONG_UNITS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let is_digit = |c: char| c.is_ascii_digit();
    let mut rest = text;
    let mut is_found = false;
    while let Some(start) = rest.find(is_digit) {
        let (number, after) = split_while(&rest[start..], is_digit);
        let after = after.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let (unit, after) = split_while(after, |c| c.is_ascii_alphabetic() || c == 'µ');
        rest = after;
        if unit.is_empty() {
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        is_found |= UNITS.contains(&unit.as_str()) || LONG_UNITS.iter().any(|long| unit.starts_with(long));
    }
    is_found
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_any_length(text)
}

fn is_label_of_any_length(text: &str) -> bool {
    let edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
        && bytes.iter().all(|byte| edge(byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, good: &[&str], bad: &[&str]) {
        let format = Format::parse(name, Types::of(JsonType::String)).unwrap();
        for text in good {
            assert!(format.accepts(text), "{name} should accept {text:?}");
        }
        for text in bad {
            assert!(!format.accepts(text), "{name} should refuse {text:?}");
        }
    }

    #[test]
    fn accepts() {
        check(
            "date-time",
            &[
                "2014-12-15T19:30:20.000Z",
                "2014-12-15T19:30:20+02:00",
                "2014-12-15t19:30:20z",
            ],
            &["2014-12-15", "2014-12-15T19:30Z", "2014-13-15T19:30:20Z", "x"],
        );
        check("datetime", &["2014-12-15T19:30:20Z"], &[""]);
        check(
            "date",
            &["2024-02-29"],
            &["2023-02-29", "2023-2-1", "20230201", "2023-04-31"],
        );
        check("byte", &["aGk=", "aGVsbG8h"], &["", "aGk", "a===", "aG k"]);
        check(
            "duration",
            &["22ns", "1h30m", "1.5h", "3 days", "2weeks", "0", "-5m"],
            &["", "5", "1 fortnight", "h"],
        );
        check(
            "email",
            &["a@b", "A B <a.b@c.d>", "\"x y\"@c"],
            &["a", "@b", "a@", "a..b@c", "<a@b"],
        );
        check(
            "hostname",
            &["localhost", "a.example.com", "x-y.example.com"],
            &["", "-a", "a..b", "a_b.c"],
        );
        check(
            "ipv4",
            &["1.2.3.4", "01.2.003.4", "::ffff:1.2.3.4"],
            &["1.2.3", "::1", "1.2..4", ".1.2.3"],
        );
        check("ipv6", &["::1", "fe80::1"], &["1.2.3.4", ":::", "g::"]);
        check(
            "cidr",
            &["10.0.0.0/8", "010.0.0.0/8", "::/0"],
            &["10.0.0.0", "10.0.0.0/33", "::/129"],
        );
        check(
            "mac",
            &["00:00:5e:00:53:01", "02-00-5e-10-00-00-00-01", "0000.5e00.5301"],
            &["00:00:5e:00:53", "x"],
        );
        check(
            "uri",
            &["http://a.b/c?d", "/path", "mailto:x", "http://[::1]:80/"],
            &["", "a", "http://a b", "http://a:x/", "%", "://a"],
        );
        check(
            "uuid",
            &[
                "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
                "6BA7B8109DAD11D180B400C04FD430C8",
            ],
            &["6ba7b810", "x"],
        );
        check(
            "uuid4",
            &["f47ac10b-58cc-4372-a567-0e02b2c3d479"],
            &["6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
        );
        check(
            "isbn",
            &["0321751043", "978-0321751041"],
            &["0321751044", "978-0321751042"],
        );
        check(
            "creditcard",
            &["4111 1111 1111 1111"],
            &["4111 1111 1111 1112", "1"],
        );
        check("ssn", &["111-11-1111"], &["111111111", "1"]);
        check("hexcolor", &["#FFFFFF", "abc"], &["#FFFF", "#xyz"]);
        check("rgbcolor", &["rgb(255,255, 0)"], &["rgb(256,0,0)", "rgb(1,2)"]);
        check("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f"]);
        check("k8s-short-name", &["a", "a-b"], &["a-", "A", "a.b"]);
        check("k8s-long-name", &["a.b-c"], &["a.-", ""]);
        check("password", &["", "x"], &[]);
    }

    proptest::proptest! {
        #[test]
        fn takes_any_text(text in "\\PC{0,16}|[-0-9éX:.T/%@]{0,16}") {
            for name in ["uri", "email", "hostname", "cidr", "mac", "uuid", "isbn", "creditcard", "ssn", "hexcolor",
                "rgbcolor", "byte", "date", "duration", "date-time", "k8s-long-name", "ipv6", "isbn10", "isbn13"] {
                let format = Format::parse(name, Types::of(JsonType::String)).unwrap();
                // Either answer is fine; a panic is not.
                let _ = format.accepts(&text);
            }
        }
    }

    #[test]
    fn belongs_to_types() {
        for (name, one, expect) in [
            ("int32", JsonType::Integer, true),
            ("int32", JsonType::String, false),
            ("double", JsonType::Number, true),
            ("double", JsonType::Integer, false),
            ("date", JsonType::Object, false),
            ("quantity", JsonType::String, false),
        ] {
            assert_eq!(Format::parse(name, Types::of(one)).is_some(), expect, "{name}");
        }
        assert_eq!(Format::parse("ipv4", Types::INT_OR_STRING), Some(Format::Ipv4));
    }
}
