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

/// Whether an address may be in one of the forms that were valid once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressForm {
    /// Only the canonical text.
    Canonical,
    /// Any unambiguous text: what fields that are older than the rule hold.
    Legacy,
}

/// A network: an address and how many bits its prefix has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    /// The address as it is written, bits beyond the prefix included.
    pub(crate) address: IpAddr,
    pub(crate) bits: u32,
}

impl Cidr {
    /// Reads a network as Go does, and as older versions took it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        // The prefix is that of the notation: of an IPv4 address that is written as IPv6 too.
        let address = match address.parse::<Ipv6Addr>() {
            Ok(address) => IpAddr::V6(address),
            Err(_) => parse_lenient(address)?,
        };
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = bits.parse().ok().filter(|_| is_number)?;
        (bits <= Self::most_bits(address)).then_some(Self { address, bits })
    }

    fn most_bits(address: IpAddr) -> u32 {
        if address.is_ipv4() { 32 } else { 128 }
    }

    /// The first address of the network.
    pub(crate) fn first(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        }
    }

    /// Whether an address is within the network.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && Self { address, ..*self }.first() == self.first()
    }
}

/// Whether a text is an IPv4 address in the notation of IPv6.
fn is_mapped(text: &str) -> bool {
    text.parse::<Ipv6Addr>()
        .is_ok_and(|address| address.to_ipv4_mapped().is_some())
}

/// Whether the parts of a network are written without leading zeros.
fn is_strict(address: &str, bits: &str) -> bool {
    address.parse::<IpAddr>().is_ok() && (bits == "0" || !bits.starts_with('0'))
}

/// What is wrong with an address (`IsValidIP`, `IsValidIPForLegacyField`).
pub(crate) fn ip_messages(text: &str, form: AddressForm) -> Vec<String> {
    let detail = match (parse_lenient(text), text.parse::<IpAddr>()) {
        (None, _) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        (_, Err(_)) => "must not have leading 0s",
        _ if is_mapped(text) => "must not be an IPv4-mapped IPv6 address",
        (_, Ok(address)) => return not_canonical(text, &address.to_string(), form),
    };
    vec![detail.to_owned()]
}

/// What is wrong with a network (`IsValidCIDR`, `IsValidCIDRForLegacyField`).
pub(crate) fn cidr_messages(text: &str, form: AddressForm) -> Vec<String> {
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let detail = match Cidr::parse(text) {
        None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        Some(_) if !is_strict(address, bits) => "must not have leading 0s in IP or prefix length",
        Some(_) if is_mapped(address) => "must not have an IPv4-mapped IPv6 address",
        Some(network) if network.first() != network.address => {
            "must not have bits set beyond the prefix length"
        }
        Some(network) => {
            let canonical = format!("{}/{}", network.address, network.bits);
            return not_canonical(text, &canonical, form);
        }
    };
    vec![detail.to_owned()]
}

fn not_canonical(text: &str, canonical: &str, form: AddressForm) -> Vec<String> {
    match form == AddressForm::Canonical && canonical != text {
        true => vec![format!("must be in canonical form ({canonical:?})")],
        false => Vec::new(),
    }
}

/// Checks an address; one that the stored object has already is let be.
pub(crate) fn check_ip(errors: &mut Errors, at: &Field<'_, '_>, old: &[&str]) -> bool {
    check(errors, at, at.text(), old, ip_messages)
}

/// Checks a network; one that the stored object has already is let be. `text` may differ from the field by space around it.
pub(crate) fn check_cidr(errors: &mut Errors, at: &Field<'_, '_>, text: &str, old: &[&str]) -> bool {
    check(errors, at, text, old, cidr_messages)
}

fn check(
    errors: &mut Errors,
    at: &Field<'_, '_>,
    text: &str,
    old: &[&str],
    messages: fn(&str, AddressForm) -> Vec<String>,
) -> bool {
    if old.contains(&text) {
        return true;
    }
    let messages = messages(text, AddressForm::Legacy);
    let is_valid = messages.is_empty();
    for message in messages {
        at.invalid_as(errors, text, message);
    }
    is_valid
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
    let Some(network) = Cidr::parse(text) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    let Cidr { address, bits } = network;
    let canonical = format!("{}/{bits}", network.first());
    if network.first() != address {
        let single = format!("{address}/{}", Cidr::most_bits(address));
        warnings.push(format!(
            "{path}: CIDR value {text:?} is ambiguous in this context (should be {canonical:?} or {single:?}?)"
        ));
    }
    let (shown, digits) = text.split_once('/').unwrap_or((text, ""));
    if !is_strict(shown, digits) || is_mapped(shown) {
        warnings.push(format!(
            "{path}: non-standard CIDR value {text:?} is invalid: use {canonical:?}"
        ));
    }
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
