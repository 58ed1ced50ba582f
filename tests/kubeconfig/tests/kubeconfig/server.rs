//! Servers on this machine that write down who asks for what, and proxies on the way to them.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use base64::Engine as _;
use http::{HeaderMap, Request, Response, header};
use jiff::Timestamp;
use kubewright_net::{
    Body, CertificateAndKey, CertificateAuthority, CertificateInfo, ClientAuth, HttpService, Peer,
    ServeLimits, Validity, serve, tls,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What a server saw of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    /// Which server it was.
    server: &'static str,
    /// What the request went through.
    proxy: Option<String>,
    line: String,
    /// The common name of the client's certificate.
    certificate: Option<String>,
    authorization: Option<String>,
    /// What a plugin was told, where the token is that.
    told: Option<Value>,
    /// Headers of impersonation, sorted.
    impersonation: Vec<String>,
}

#[derive(Clone, Default)]
struct Notes {
    seen: Arc<Mutex<Option<Seen>>>,
    proxy: Arc<Mutex<Option<String>>>,
}

fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Servers {
    notes: Notes,
    authority: CertificateAuthority,
    client: CertificateAndKey,
    /// What texts may name, and what stands for it.
    names: Vec<(&'static str, String)>,
}

impl Servers {
    pub(crate) async fn start() -> Result<Self> {
        let validity = Validity::starting(Timestamp::now(), Duration::from_secs(86_400));
        let authority = CertificateAuthority::new("ca", validity)?;
        let client = authority.issue_client("jane", &["dev"], validity)?;
        let notes = Notes::default();
        let config = |names: &[&str]| -> Result<_> {
            let certificate = authority.issue_server(names, validity)?;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            Ok(tls::server_config(
                &certificate,
                &ClientAuth::Requested,
                provider,
            )?)
        };
        let near = ["127.0.0.1", "::1", "localhost"];
        let https = listen(&notes, "https", "127.0.0.1:0", Some(config(&near)?)).await?;
        // Not every machine has it.
        let ipv6 = listen(&notes, "ipv6", "[::1]:0", Some(config(&near)?)).await.ok();
        let named = listen(&notes, "named", "127.0.0.1:0", Some(config(&["kube.example"])?)).await?;
        let http = listen(&notes, "http", "127.0.0.1:0", None).await?;
        let connect = proxy(&notes, Proxy::Connect).await?;
        let socks = proxy(&notes, Proxy::Socks).await?;
        let data = base64::engine::general_purpose::STANDARD.encode(authority.certificate_pem());
        let wrapped: Vec<&str> = data
            .as_bytes()
            .chunks(64)
            .filter_map(|line| std::str::from_utf8(line).ok())
            .collect();
        let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
        let names = vec![
            ("{HTTPS}", format!("https://{https}")),
            ("{HTTPS-HOST}", https.to_string()),
            ("{HTTPS-PORT}", https.port().to_string()),
            (
                IPV6,
                ipv6.map_or_else(String::new, |ipv6| format!("https://{ipv6}")),
            ),
            ("{NAMED}", format!("https://{named}")),
            ("{HTTP}", format!("http://{http}")),
            ("{HTTP-HOST}", http.to_string()),
            ("{CONNECT}", connect.to_string()),
            ("{SOCKS}", socks.to_string()),
            ("{CA-WRAPPED}", wrapped.join("\n      ")),
            ("{CA}", data),
            ("{CERT}", encode(client.certificate_pem())),
            ("{KEY}", encode(client.key_pem())),
        ];
        Ok(Self {
            notes,
            authority,
            client,
            names,
        })
    }

    /// Puts in what a text names.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.names
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    pub(crate) fn write_certificates(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder.join("pki"))?;
        std::fs::write(folder.join("pki/ca.crt"), self.authority.certificate_pem())?;
        std::fs::write(folder.join("pki/client.crt"), self.client.certificate_pem())?;
        std::fs::write(folder.join("pki/client.key"), self.client.key_pem())?;
        Ok(())
    }

    /// What was seen since this was asked last.
    pub(crate) fn take(&self) -> Option<Seen> {
        let proxy = locked(&self.notes.proxy).take();
        let seen = locked(&self.notes.seen).take();
        seen.map(|seen| Seen { proxy, ..seen })
    }
}

/// What texts call the server on `[::1]`, which is there where [`has_ipv6`].
pub(crate) const IPV6: &str = "{IPV6}";

/// Whether this machine can listen on `[::1]`.
pub(crate) fn has_ipv6() -> bool {
    std::net::TcpListener::bind("[::1]:0").is_ok()
}

async fn listen(
    notes: &Notes,
    server: &'static str,
    address: &str,
    tls: Option<Arc<rustls::ServerConfig>>,
) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let seen = Arc::clone(&notes.seen);
    let service = HttpService::from_fn(move |request: Request<Body>| {
        *locked(&seen) = Some(look(server, &request));
        async { Ok(Response::new(Body::from("{}"))) }
    });
    tokio::spawn(serve(
        listener,
        tls,
        service,
        ServeLimits::default(),
        std::future::pending(),
    ));
    Ok(address)
}

fn look(server: &'static str, request: &Request<Body>) -> Seen {
    let text = |headers: &HeaderMap, name| {
        headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let authorization = text(request.headers(), header::AUTHORIZATION);
    let certificate = request
        .extensions()
        .get::<Peer>()
        .and_then(|peer| peer.certificates.first());
    let mut impersonation: Vec<String> = request
        .headers()
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("impersonate-"))
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    impersonation.sort();
    let told = authorization
        .as_deref()
        .and_then(|value| value.strip_prefix("Bearer "))
        .and_then(|token| base64::engine::general_purpose::STANDARD.decode(token).ok())
        .and_then(|token| serde_json::from_slice(&token).ok());
    Seen {
        server,
        proxy: None,
        line: format!(
            "{} {}",
            request.method(),
            request
                .uri()
                .path_and_query()
                .map_or("", http::uri::PathAndQuery::as_str)
        ),
        certificate: certificate
            .and_then(|der| CertificateInfo::parse(der).ok())
            .map(|info| info.common_name),
        // Its fields may come in any order.
        authorization: authorization.filter(|_| told.is_none()),
        told,
        impersonation,
    }
}

#[derive(Clone, Copy)]
enum Proxy {
    Connect,
    Socks,
}

async fn proxy(notes: &Notes, kind: Proxy) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let proxy = Arc::clone(&notes.proxy);
    tokio::spawn(async move {
        while let Ok((inbound, _)) = listener.accept().await {
            let proxy = Arc::clone(&proxy);
            tokio::spawn(async move {
                let _ = match kind {
                    Proxy::Connect => connect(inbound, &proxy).await,
                    Proxy::Socks => socks(inbound, &proxy).await,
                };
            });
        }
    });
    Ok(address)
}

async fn connect(inbound: TcpStream, note: &Mutex<Option<String>>) -> std::io::Result<()> {
    let mut inbound = BufReader::new(inbound);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if inbound.read_line(&mut line).await? == 0 || line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let target = head
        .first()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap_or_default()
        .to_owned();
    let secret = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("proxy-authorization")
            .then(|| value.trim().to_owned())
    });
    *locked(note) = Some(format!("connect {target} {secret:?}"));
    let mut outbound = TcpStream::connect(&target).await?;
    inbound.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut inbound, &mut outbound).await?;
    Ok(())
}

/// SOCKS 5 with addresses of IPv4 and names, with and without a password (RFC 1928, RFC 1929).
async fn socks(mut inbound: TcpStream, note: &Mutex<Option<String>>) -> std::io::Result<()> {
    let mut head = [0; 2];
    inbound.read_exact(&mut head).await?;
    let mut methods = vec![0; head[1].into()];
    inbound.read_exact(&mut methods).await?;
    let mut secret = None;
    if methods.contains(&2) {
        inbound.write_all(&[5, 2]).await?;
        let _version = inbound.read_u8().await?;
        let mut parts = Vec::new();
        for _ in 0..2 {
            let mut part = vec![0; inbound.read_u8().await?.into()];
            inbound.read_exact(&mut part).await?;
            parts.push(String::from_utf8_lossy(&part).into_owned());
        }
        secret = Some(parts.join(":"));
        inbound.write_all(&[1, 0]).await?;
    } else {
        inbound.write_all(&[5, 0]).await?;
    }
    let mut request = [0; 4];
    inbound.read_exact(&mut request).await?;
    let host = if request[3] == 3 {
        let mut name = vec![0; inbound.read_u8().await?.into()];
        inbound.read_exact(&mut name).await?;
        String::from_utf8_lossy(&name).into_owned()
    } else {
        let mut address = [0; 4];
        inbound.read_exact(&mut address).await?;
        std::net::Ipv4Addr::from(address).to_string()
    };
    let port = inbound.read_u16().await?;
    *locked(note) = Some(format!("socks {host}:{port} {secret:?}"));
    let mut outbound = TcpStream::connect((host, port)).await?;
    inbound.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    tokio::io::copy_bidirectional(&mut inbound, &mut outbound).await?;
    Ok(())
}
