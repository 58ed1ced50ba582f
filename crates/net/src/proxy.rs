//! Which connections go through a proxy: [`ProxySettings`].

use std::fmt;
use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

use crate::error::TransportError;

/// The proxies of a client, as values: reading the environment is up to whoever configures it.
///
/// Supported are `http://`, `https://` (both by `CONNECT`) and `socks5://` proxies, with user and password in the URL.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// Proxy for `https` targets, for example `http://proxy.example:3128`. Default: none.
    pub https: Option<String>,
    /// Proxy for `http` targets. Default: none.
    pub http: Option<String>,
    /// Targets that are reached directly: comma-separated host names (with their subdomains), addresses, networks in
    /// CIDR form, or `*`. A name or an address may have a port, and is meant for that port alone then. Default: empty.
    pub no_proxy: String,
    /// Whether to reach `localhost` and loopback addresses directly. Default: [`Loopback::Direct`].
    pub loopback: Loopback,
}

/// What happens to targets on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loopback {
    /// They are reached directly, as Go does for proxies from the environment.
    #[default]
    Direct,
    /// They go through the proxy too, as Go does for a proxy that was set explicitly.
    Proxied,
}

impl ProxySettings {
    /// Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, or the same in lower case where those are unset, through the
    /// function that is given. `HTTP_PROXY` is ignored in a CGI process (where `REQUEST_METHOD` is set), since there
    /// it can come from a client's `Proxy` header.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |upper: &str, lower: &str| {
            variable(upper)
                .filter(|v| !v.is_empty())
                .or_else(|| variable(lower).filter(|v| !v.is_empty()))
        };
        let cgi = variable("REQUEST_METHOD").is_some();
        Self {
            https: either("HTTPS_PROXY", "https_proxy"),
            http: if cgi {
                None
            } else {
                either("HTTP_PROXY", "http_proxy")
            },
            no_proxy: either("NO_PROXY", "no_proxy").unwrap_or_default(),
            loopback: Loopback::Direct,
        }
    }

    /// Sends everything through one proxy, as `proxy-url` in a kubeconfig asks.
    pub fn all(url: impl Into<String>) -> Self {
        let url = url.into();
        Self {
            https: Some(url.clone()),
            http: Some(url),
            no_proxy: String::new(),
            loopback: Loopback::Proxied,
        }
    }

    /// True if no target is proxied.
    pub fn is_empty(&self) -> bool {
        self.https.is_none() && self.http.is_none()
    }
}

impl fmt::Debug for ProxySettings {
    /// Without the URLs: they may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxySettings")
            .field("https", &self.https.is_some())
            .field("http", &self.http.is_some())
            .field("no_proxy", &self.no_proxy)
            .field("loopback", &self.loopback)
            .finish()
    }
}

/// The settings, compiled.
pub(crate) struct Proxies {
    matcher: Matcher,
    /// What `no_proxy` says of single ports, which the matcher does not know.
    direct: Vec<(Matcher, u16)>,
    loopback: Loopback,
}

/// One proxy to go through.
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) credentials: Option<(String, String)>,
}

impl Proxies {
    /// Fails if the URL of a proxy cannot be used: to go on without would send requests past the proxy.
    pub(crate) fn new(settings: &ProxySettings) -> Result<Self, TransportError> {
        for (scheme, url) in [("https", &settings.https), ("http", &settings.http)] {
            if let Some(url) = url.as_deref().filter(|url| !url.is_empty()) {
                check(url).map_err(|why| {
                    let why = format!("the URL of the proxy for {scheme}: {why}");
                    TransportError::other("reading the proxy settings", why)
                })?;
            }
        }
        let matcher = Matcher::builder()
            .https(settings.https.clone().unwrap_or_default())
            .http(settings.http.clone().unwrap_or_default())
            .no(settings.no_proxy.clone())
            .build();
        Ok(Self {
            matcher,
            direct: settings.no_proxy.split(',').filter_map(with_port).collect(),
            loopback: settings.loopback,
        })
    }

    pub(crate) fn proxy_for(&self, target: &Uri) -> Option<Proxy> {
        if self.loopback == Loopback::Direct && is_loopback(target.host()?) {
            return None;
        }
        let of_scheme = if target.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = target.port_u16().unwrap_or(of_scheme);
        let is_direct = |(matcher, of): &(Matcher, u16)| *of == port && matcher.intercept(target).is_none();
        if self.direct.iter().any(is_direct) {
            return None;
        }
        let intercept = self.matcher.intercept(target)?;
        Some(Proxy {
            uri: intercept.uri().clone(),
            authorization: intercept.basic_auth().cloned(),
            credentials: intercept
                .raw_auth()
                .map(|(user, password)| (user.to_owned(), password.to_owned())),
        })
    }
}

/// What an entry of `no_proxy` excludes at one port (Go's `httpproxy`): a matcher that intercepts everything else.
fn with_port(entry: &str) -> Option<(Matcher, u16)> {
    let (host, port) = entry.trim().rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    // An address of version 6 without brackets has colons of its own.
    let host = bare.unwrap_or(host);
    if host.is_empty() || bare.is_none() && host.contains(':') {
        return None;
    }
    let matcher = Matcher::builder().all("http://any.invalid").no(host).build();
    Some((matcher, port.parse().ok()?))
}

/// Whether a URL names a proxy of a kind that is spoken here. Errors do not repeat it: it may hold a password.
fn check(url: &str) -> Result<(), String> {
    let uri: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| error.to_string())?;
    // As in Go, a proxy without a scheme is an http one.
    if let Some(scheme) = uri.scheme_str().filter(|scheme| !SCHEMES.contains(scheme)) {
        return Err(format!(
            "{scheme} proxies are not supported, only {}",
            SCHEMES.join(", ")
        ));
    }
    let host = uri.host().unwrap_or_default();
    if host.is_empty() {
        return Err("it names no host".to_owned());
    }
    // A port that is no port reads as none.
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    if uri.port().is_none() && !authority.ends_with(host) {
        return Err("its port is no number up to 65535".to_owned());
    }
    // What the matcher cannot read it leaves out without a word.
    let matcher = Matcher::builder().https(url.to_owned()).build();
    match matcher.intercept(&Uri::from_static("https://any.invalid/")) {
        Some(_) => Ok(()),
        None => Err("it cannot be read".to_owned()),
    }
}

const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::connect::{ConnectOptions, connect};

    #[test]
    fn chooses_the_proxy_by_scheme_and_target() {
        let settings = ProxySettings {
            https: Some("http://user:secret@secure.example:3128".into()),
            http: Some("http://plain.example:3128".into()),
            no_proxy:
                "10.0.0.0/8,.internal,exact.example,fd00::/8, one.example:6443,11.0.0.1:443,[fc00::1]:6443"
                    .into(),
            loopback: Loopback::Direct,
        };
        assert!(!format!("{settings:?}").contains("secret"));
        let rows = [
            ("https://kube.example/", Some("secure.example")),
            ("http://kube.example/", Some("plain.example")),
            ("https://10.1.2.3:6443/", None),
            ("https://11.1.2.3:6443/", Some("secure.example")),
            ("https://[fd00::1]:6443/", None),
            ("https://api.internal/", None),
            ("https://exact.example/", None),
            ("https://sub.exact.example/", None),
            ("https://inexact.example/", Some("secure.example")),
            ("https://one.example:6443/", None),
            ("https://sub.one.example:6443/", None),
            ("https://one.example/", Some("secure.example")),
            ("https://11.0.0.1/", None),
            ("http://11.0.0.1/", Some("plain.example")),
            ("https://[fc00::1]:6443/", None),
            ("https://[fc00::1]:6444/", Some("secure.example")),
            ("https://localhost:6443/", None),
            ("https://127.0.0.1:6443/", None),
            ("https://[::1]:6443/", None),
        ];
        let proxies = Proxies::new(&settings).unwrap();
        for (target, expect) in rows {
            let proxy = proxies.proxy_for(&target.parse().unwrap());
            assert_eq!(
                proxy.as_ref().and_then(|proxy| proxy.uri.host()),
                expect,
                "{target}"
            );
        }
        let explicit = Proxies::new(&ProxySettings::all("http://p:1")).unwrap();
        assert!(
            explicit
                .proxy_for(&Uri::from_static("https://127.0.0.1/"))
                .is_some()
        );
        assert!(
            Proxies::new(&ProxySettings::default())
                .unwrap()
                .proxy_for(&Uri::from_static("https://a/"))
                .is_none()
        );
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error() {
        let rows = [
            ("", true),
            ("proxy.example:3128", true),
            ("http://u:secret@proxy.example", true),
            ("https://proxy.example:1/", true),
            ("socks5://u:secret@[fd00::1]:1080", true),
            ("socks5h://proxy.example", true),
            ("socks4://proxy.example", false),
            ("ftp://u:secret@proxy.example", false),
            ("http://", false),
            ("http://u:secret@proxy example", false),
            ("http://u:sec ret@proxy.example", false),
            ("/path", false),
            ("http://u:secret@proxy:99999999", false),
        ];
        for (url, expect) in rows {
            let options = ConnectOptions {
                proxy: ProxySettings::all(url),
                ..ConnectOptions::default()
            };
            let made = connect(options);
            assert_eq!(made.is_ok(), expect, "{url}: {:?}", made.err());
            if let Err(error) = made {
                let shown = format!("{error} {:?}", error.source().map(ToString::to_string));
                assert!(!shown.contains("sec"), "{shown}");
            }
        }
    }

    #[test]
    fn reads_the_environment_in_both_cases() {
        let read = |pairs: &[(&str, &str)]| {
            ProxySettings::from_env(|name| {
                pairs
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(read(&[("https_proxy", "a")]).https.as_deref(), Some("a"));
        assert_eq!(
            read(&[("https_proxy", "a"), ("HTTPS_PROXY", "b")])
                .https
                .as_deref(),
            Some("b")
        );
        assert_eq!(
            read(&[("https_proxy", "a"), ("HTTPS_PROXY", "")])
                .https
                .as_deref(),
            Some("a")
        );
        assert_eq!(read(&[("HTTP_PROXY", "a"), ("REQUEST_METHOD", "GET")]).http, None);
        assert_eq!(read(&[("no_proxy", "c")]).no_proxy, "c");
    }
}
