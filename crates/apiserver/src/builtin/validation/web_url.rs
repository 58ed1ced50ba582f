//! URLs as Go reads them (net/url `Parse` of Go 1.26), as far as it matters where webhooks are: what is refused, and the parts of the rest.

use std::net::{Ipv4Addr, Ipv6Addr};

use percent_encoding::percent_decode_str;

/// The parts of a URL. What is not there is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WebUrl {
    /// In lower case.
    pub(super) scheme: String,
    /// With the port. Not looked up anywhere, so escapes stay as they are.
    pub(super) host: String,
    /// `None` without an `@`.
    pub(super) user: Option<String>,
    pub(super) fragment: String,
    pub(super) query: String,
}

impl WebUrl {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// What Go says of a text that is none.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::without_fragment(before)?;
        check_escapes(fragment)?;
        url.fragment = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
        Ok(url)
    }

    fn without_fragment(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme: scheme.to_ascii_lowercase(),
            query: query.to_owned(),
            ..Self::default()
        };
        if !rest.starts_with('/') {
            let first = rest.split('/').next().unwrap_or_default();
            return match (scheme, first.contains(':')) {
                ("", true) => Err("first path segment in URL cannot contain colon".to_owned()),
                ("", false) => check_escapes(rest).map(|()| url),
                // A text of which the scheme alone is known.
                _ => Ok(url),
            };
        }
        let mut path = rest;
        if let Some(rest) = rest.strip_prefix("//")
            && !(scheme.is_empty() && rest.starts_with('/'))
        {
            let (authority, behind) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            path = behind;
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user), host),
                None => (None, authority),
            };
            check_host(&url.scheme, host)?;
            if let Some(user) = user {
                check_user(user)?;
                url.user = Some(user.to_owned());
            }
            host.clone_into(&mut url.host);
        }
        check_escapes(path).map(|()| url)
    }
}

/// The scheme, empty where there is none, and what comes behind it.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let end = text
        .bytes()
        .position(|byte| !is_inner(byte))
        .unwrap_or(text.len());
    match text[end..].strip_prefix(':') {
        Some(_) if end == 0 => Err("missing protocol scheme".to_owned()),
        Some(rest) if text.starts_with(|first: char| first.is_ascii_alphabetic()) => Ok((&text[..end], rest)),
        _ => Ok(("", text)),
    }
}

fn check_host(scheme: &str, host: &str) -> Result<(), String> {
    let Some(bracket) = host.rfind('[') else {
        let first = host.find(':');
        // Only for the web are hosts without colons asked for.
        let port = match scheme {
            "http" | "https" => first,
            _ => host.rfind(':'),
        };
        check_port(port.map_or("", |port| &host[port..]))?;
        return check_host_characters(host);
    };
    if bracket > 0 {
        return Err("invalid IP-literal".to_owned());
    }
    let Some(end) = host.rfind(']') else {
        return Err("missing ']' in host".to_owned());
    };
    check_port(&host[end + 1..])?;
    let name = &host[1..end];
    let (address, zone) = name.split_at(name.find("%25").unwrap_or(name.len()));
    check_host_characters(address)?;
    check_escapes(zone)?;
    if address.parse::<Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    match address.parse::<Ipv6Addr>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("invalid host: ParseAddr({name:?}): unable to parse IP")),
    }
}

/// A port with its colon, or nothing.
fn check_port(port: &str) -> Result<(), String> {
    let digits = port.strip_prefix(':');
    match port.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
        true => Ok(()),
        false => Err(format!("invalid port {port:?} after host")),
    }
}

/// In a host, only what is not ASCII may be escaped, and a percent sign itself.
fn check_host_characters(host: &str) -> Result<(), String> {
    check_escapes(host)?;
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~%".contains(&byte);
    for (at, byte) in host.bytes().enumerate() {
        if byte == b'%' && host.as_bytes()[at + 1] < b'8' && !host[at..].starts_with("%25") {
            return Err(format!("invalid URL escape {:?}", &host[at..at + 3]));
        }
        if byte.is_ascii() && !is_bare(byte) {
            return Err(format!(
                "invalid character {:?} in host name",
                char::from(byte).to_string()
            ));
        }
    }
    Ok(())
}

fn check_user(user: &str) -> Result<(), String> {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    match user.bytes().all(is_bare) {
        true => check_escapes(user),
        false => Err("net/url: invalid userinfo".to_owned()),
    }
}

/// Whether two hexadecimal digits follow each percent sign.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let shown: String = text[at..].chars().take(3).collect();
            return Err(format!("invalid URL escape {shown:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &WebUrl) -> String {
        let user = url.user.as_deref().unwrap_or("-");
        format!(
            "{} {} {user} {} {}",
            url.scheme, url.host, url.fragment, url.query
        )
    }

    /// What Go 1.26 makes of them.
    #[test]
    fn urls_as_go_reads_them() {
        for (text, expect) in [
            ("", Ok("  -  ")),
            ("*", Ok("  -  ")),
            ("https://a.io/x", Ok("https a.io -  ")),
            ("HTTPS://a.io", Ok("https a.io -  ")),
            ("https://a.io:8443/x?q=1#f%41", Ok("https a.io:8443 - fA q=1")),
            ("https://a.io:/", Ok("https a.io: -  ")),
            ("https://x:99999/", Ok("https x:99999 -  ")),
            ("https://u:p@a.io/", Ok("https a.io u:p  ")),
            ("https://@a.io/", Ok("https a.io   ")),
            ("https://[::1]:8443/", Ok("https [::1]:8443 -  ")),
            ("https://[fe80::1%25en0]/", Ok("https [fe80::1%25en0] -  ")),
            ("https://[::ffff:1.2.3.4]/", Ok("https [::ffff:1.2.3.4] -  ")),
            ("https://a<b;c/", Ok("https a<b;c -  ")),
            ("https://ä.io/ä b", Ok("https ä.io -  ")),
            ("https://a%25b%ff/", Ok("https a%25b%ff -  ")),
            ("https://a.io/?%zz", Ok("https a.io -  %zz")),
            ("https:a.io", Ok("https  -  ")),
            ("https:///x", Ok("https  -  ")),
            ("a.io:443/x", Ok("a.io  -  ")),
            ("//a.io/x", Ok(" a.io -  ")),
            ("///a.io/x", Ok("  -  ")),
            ("/:x", Ok("  -  ")),
            ("a/b:c", Ok("  -  ")),
            ("b://a:1:2/", Ok("b a:1:2 -  ")),
            ("://x", Err("missing protocol scheme")),
            ("1a:b/x", Err("first path segment in URL cannot contain colon")),
            ("https://a b/", Err("invalid character \" \" in host name")),
            ("https://a.io:x/", Err("invalid port \":x\" after host")),
            ("https://::1/", Err("invalid port \"::1\" after host")),
            ("https://a:80:80/", Err("invalid port \":80:80\" after host")),
            ("https://[::1/", Err("missing ']' in host")),
            ("https://[::1]x/", Err("invalid port \"x\" after host")),
            ("https://a[b/", Err("invalid IP-literal")),
            ("https://[1.2.3.4]/", Err("invalid IP-literal")),
            (
                "https://[zz]/",
                Err("invalid host: ParseAddr(\"zz\"): unable to parse IP"),
            ),
            ("https://[fe80::1%en0]/", Err("invalid URL escape \"%en\"")),
            ("https://a.io/%zz", Err("invalid URL escape \"%zz\"")),
            ("https://a.io/%2", Err("invalid URL escape \"%2\"")),
            ("https://a.io/%ä1", Err("invalid URL escape \"%ä1\"")),
            ("https://a%41.io/", Err("invalid URL escape \"%41\"")),
            ("https://a.io/#%zz", Err("invalid URL escape \"%zz\"")),
            ("https://u%zz@a.io/", Err("invalid URL escape \"%zz\"")),
            ("https://u<@a.io/", Err("net/url: invalid userinfo")),
            (
                "https://a.io/\n",
                Err("net/url: invalid control character in URL"),
            ),
            (
                "https://a.io/\u{7f}",
                Err("net/url: invalid control character in URL"),
            ),
        ] {
            let found = WebUrl::parse(text).as_ref().map(shown).map_err(Clone::clone);
            assert_eq!(found.as_deref().map_err(String::as_str), expect, "{text:?}");
        }
    }
}
