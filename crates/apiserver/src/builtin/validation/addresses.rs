//! IP addresses and networks in fields.
//!
//! Upstream: apimachinery `pkg/util/validation/ip.go`, with the strict rules that are on since 1.36 (KEP-4858), and the lenient
//! parsers of `k8s.io/utils/net` that old objects were accepted by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::field::{Errors, Field};

/// An address as older versions took it: leading zeros are passed over.
pub(crate) fn parse_lenient(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        // Go keeps both notations of an IPv4 address in one form.
        return Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4));
    }
    if let Some((head, tail)) = text.rsplit_once(':') {
        // An IPv6 address that ends in IPv4 notation with leading zeros.
        let tail = parse_v4_lenient(tail)?;
        return format!("{head}:{tail}").parse().ok().map(IpAddr::V6);
    }
    parse_v4_lenient(text).map(IpAddr::V4)
}

fn parse_v4_lenient(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() {
            0
        } else {
            digits.parse().ok()?
        };
    }
    parts.next().is_none().then(|| octets.into())
}

/// A network as older versions took it: the address given, and the length of the prefix.
fn parse_network_lenient(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = length.trim_start_matches('0');
    let length: u8 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    let address = parse_lenient(address)?;
    (length <= bits(address)).then_some((address, length))
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn is_mapped(text: &str) -> bool {
    text.parse::<Ipv6Addr>()
        .is_ok_and(|address| address.to_ipv4_mapped().is_some())
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(length.min(128)))
                .unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

/// Checks an address; one that the stored object has already is let be.
pub(crate) fn check_ip(errors: &mut Errors, at: &Field<'_, '_>, old: &[&str]) -> bool {
    let text = at.text();
    if old.contains(&text) {
        return true;
    }
    if parse_lenient(text).is_none() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        at.invalid_as(errors, text, detail);
        return false;
    }
    if text.parse::<IpAddr>().is_err() {
        at.invalid_as(errors, text, "must not have leading 0s");
        return false;
    }
    if is_mapped(text) {
        at.invalid_as(errors, text, "must not be an IPv4-mapped IPv6 address");
        return false;
    }
    true
}

/// Checks a network; one that the stored object has already is let be. `text` may differ from the field by space around it.
pub(crate) fn check_cidr(errors: &mut Errors, at: &Field<'_, '_>, text: &str, old: &[&str]) -> bool {
    if old.contains(&text) {
        return true;
    }
    let Some((address, length)) = parse_network_lenient(text) else {
        let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        at.invalid_as(errors, text, detail);
        return false;
    };
    let (shown, digits) = text.split_once('/').unwrap_or((text, ""));
    let is_strict = shown.parse::<IpAddr>().is_ok() && (digits == "0" || !digits.starts_with('0'));
    let detail = if !is_strict {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(shown) {
        "must not have an IPv4-mapped IPv6 address"
    } else if masked(address, length) != address {
        "must not have bits set beyond the prefix length"
    } else {
        return true;
    };
    at.invalid_as(errors, text, detail);
    false
}

/// Checks an address that traffic is sent to (`ValidateEndpointIP`).
pub(crate) fn check_endpoint(errors: &mut Errors, at: &Field<'_, '_>) {
    let text = at.text();
    let Some(address) = parse_lenient(text) else {
        at.invalid_as(errors, text, "must be a valid IP address");
        return;
    };
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    let unspecified = format!("may not be unspecified ({text})");
    for (is_wrong, detail) in [
        (address.is_unspecified(), unspecified.as_str()),
        (
            address.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        ),
        (
            link_local,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        ),
        (
            link_local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ] {
        if is_wrong {
            at.invalid_as(errors, text, detail);
        }
    }
}

/// Whether the texts are addresses or networks of two families, one of each.
pub(crate) fn is_dual_stack(texts: &[&str]) -> bool {
    let is_v6 = |text: &&&str| parse_lenient(text.split('/').next().unwrap_or(text)).map(|ip| ip.is_ipv6());
    let families: Vec<Option<bool>> = texts.iter().map(|text| is_v6(&text)).collect();
    families.contains(&Some(true)) && families.contains(&Some(false)) && !families.contains(&None)
}

/// What a client is to be warned of about an address that is taken (`GetWarningsForIP`).
pub(crate) fn ip_warning(path: &str, text: &str) -> Option<String> {
    let lenient = parse_lenient(text)?;
    match text.parse::<IpAddr>() {
        Ok(address) if !is_mapped(text) => {
            let canonical = address.to_string();
            (address.is_ipv6() && canonical != text).then(|| {
                format!(
                    "{path}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"
                )
            })
        }
        _ => Some(format!(
            "{path}: non-standard IP address {text:?} is invalid: use \"{lenient}\""
        )),
    }
}

/// What a client is to be warned of about a network that is taken (`GetWarningsForCIDR`).
pub(crate) fn cidr_warnings(path: &str, text: &str) -> Vec<String> {
    let Some((address, length)) = parse_network_lenient(text) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    let network = format!("{}/{length}", masked(address, length));
    if masked(address, length) != address {
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be {network:?} or \"{address}/{}\"?)",
            bits(address)
        ));
    }
    let (shown, digits) = text.split_once('/').unwrap_or((text, ""));
    let is_strict = shown.parse::<IpAddr>().is_ok() && (digits == "0" || !digits.starts_with('0'));
    if !is_strict || is_mapped(shown) {
        warnings.push(format!(
            "{path}: non-standard CIDR value {text:?} is invalid: use {network:?}"
        ));
    }
    let canonical = format!("{address}/{length}");
    if warnings.is_empty() && address.is_ipv6() && canonical != text {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses() {
        #[track_caller]
        fn check(text: &str, expect: Option<&str>) {
            let value = json!(text);
            let mut errors = Errors::new();
            check_ip(&mut errors, &Field::root("ip", &value), &[]);
            let found: Vec<&str> = errors.iter().map(|error| error.detail.as_str()).collect();
            assert_eq!(found, expect.into_iter().collect::<Vec<_>>(), "{text}");
        }
        for valid in ["1.2.3.4", "0.0.0.0", "2001:db8::1", "::1", "2001:DB8::1"] {
            check(valid, None);
        }
        let wrong = Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        for text in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256",
            "a",
            "1.2.3.4 ",
            ":::",
            "1.2.3.-1",
        ] {
            check(text, wrong);
        }
        check("1.2.3.04", Some("must not have leading 0s"));
        check("::ffff:1.2.3.4", Some("must not be an IPv4-mapped IPv6 address"));
    }

    #[test]
    fn networks() {
        #[track_caller]
        fn check(text: &str, expect: Option<&str>) {
            let value = json!(text);
            let mut errors = Errors::new();
            check_cidr(&mut errors, &Field::root("n", &value), text, &[]);
            let found: Vec<&str> = errors.iter().map(|error| error.detail.as_str()).collect();
            assert_eq!(found, expect.into_iter().collect::<Vec<_>>(), "{text}");
        }
        for valid in ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/64", "1.2.3.4/32", "::/0"] {
            check(valid, None);
        }
        let wrong = Some("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0/8",
            "a/8",
            "1.2.3.4/",
            "::/129",
        ] {
            check(text, wrong);
        }
        let zeros = Some("must not have leading 0s in IP or prefix length");
        check("10.0.00.0/8", zeros);
        check("10.0.0.0/08", zeros);
        check(
            "10.1.2.3/8",
            Some("must not have bits set beyond the prefix length"),
        );
    }

    #[test]
    fn warnings() {
        assert_eq!(ip_warning("f", "1.2.3.4"), None);
        assert_eq!(
            ip_warning("f", "1.2.3.04").as_deref(),
            Some("f: non-standard IP address \"1.2.3.04\" is invalid: use \"1.2.3.4\"")
        );
        assert_eq!(
            ip_warning("f", "::ffff:1.2.3.4").as_deref(),
            Some("f: non-standard IP address \"::ffff:1.2.3.4\" is invalid: use \"1.2.3.4\"")
        );
        assert_eq!(
            ip_warning("f", "2001:DB8:0::1").as_deref(),
            Some(
                "f: IPv6 address \"2001:DB8:0::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")"
            )
        );
        assert_eq!(cidr_warnings("f", "10.0.0.0/8"), Vec::<String>::new());
        assert_eq!(
            cidr_warnings("f", "1.2.3.4/24"),
            [
                "f: CIDR value \"1.2.3.4/24\" is ambiguous in this context (should be \"1.2.3.0/24\" or \"1.2.3.4/32\"?)"
            ]
        );
        assert_eq!(
            cidr_warnings("f", "2001:DB8::/64"),
            [
                "f: IPv6 CIDR value \"2001:DB8::/64\" should be in RFC 5952 canonical format (\"2001:db8::/64\")"
            ]
        );
        assert!(is_dual_stack(&["1.2.3.4", "::1"]));
        assert!(!is_dual_stack(&["1.2.3.4", "1.2.3.5"]));
    }
}
