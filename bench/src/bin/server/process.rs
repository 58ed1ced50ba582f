//! `kubewright up` as a process: until it answers, and how much memory it has then.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kubewright_net::tls::client_config;
use kubewright_net::{ClientTls, ServerVerification};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Stream};

use crate::memory;
use crate::report::{Table, mebibytes, median, time};

/// How often a process is started.
const STARTS: usize = 20;

/// What runs beside the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// Nothing.
    None,
    /// All there are.
    All,
}

impl Controllers {
    /// What the rows are called.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "process, server alone",
            Self::All => "process, with controllers",
        }
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Figures {
    controllers: Controllers,
    told: Vec<u64>,
    line: Vec<Duration>,
    answer: Vec<Duration>,
    resident: Vec<u64>,
}

impl Figures {
    /// Adds the medians to a table.
    pub fn write(mut self, table: &mut Table) {
        let label = self.controllers.label();
        table.row(
            format!("{label}: ready, by its own clock"),
            format!("{} ms", median(&mut self.told)),
        );
        table.row(
            format!("{label}: start to ready line"),
            time(median(&mut self.line)),
        );
        table.row(
            format!("{label}: start to 200 of /readyz over TLS"),
            time(median(&mut self.answer)),
        );
        table.row(
            format!("{label}: resident after that"),
            mebibytes(median(&mut self.resident)),
        );
    }
}

/// Starts the binary again and again; `None` where there is no such file.
pub fn measure(binary: &Path, controllers: Controllers) -> Result<Option<Figures>> {
    if !binary.is_file() {
        return Ok(None);
    }
    let tls = tls()?;
    let mut figures = Figures {
        controllers,
        told: Vec::new(),
        line: Vec::new(),
        answer: Vec::new(),
        resident: Vec::new(),
    };
    for _ in 0..STARTS {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(binary);
        command
            .arg("up")
            .arg("--kubeconfig")
            .arg(folder.path().join("config"));
        if controllers == Controllers::None {
            command.arg("--no-controllers");
        }
        command
            .env("RUST_LOG", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let began = Instant::now();
        let mut child = Ended(
            command
                .spawn()
                .with_context(|| format!("cannot run {}", binary.display()))?,
        );
        let mut line = String::new();
        let stdout = child.0.stdout.take().context("its output is piped")?;
        BufReader::new(stdout).read_line(&mut line)?;
        figures.line.push(began.elapsed());
        let (address, told) =
            parse(&line).with_context(|| format!("not the line of a server that is ready: {line:?}"))?;
        ready(address, &tls)?;
        figures.answer.push(began.elapsed());
        figures.told.push(told);
        figures.resident.push(memory::resident(child.0.id())?);
    }
    Ok(Some(figures))
}

/// Ended when it is dropped, however the measuring went.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `ready https://127.0.0.1:1234 kubeconfig /path in 12 ms`
fn parse(line: &str) -> Option<(&str, u64)> {
    let (address, rest) = line.trim().strip_prefix("ready https://")?.split_once(' ')?;
    let (_, told) = rest.strip_suffix(" ms")?.rsplit_once(' ')?;
    Some((address, told.parse().ok()?))
}

/// HTTP/1.1 without any client between: what is measured is the server.
fn tls() -> Result<Arc<ClientConfig>> {
    let verification = ServerVerification::InsecureSkipVerify;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let options = ClientTls {
        verification,
        certificate: None,
    };
    let mut config = ClientConfig::clone(&*client_config(&options, provider)?);
    config.alpn_protocols.clear();
    Ok(Arc::new(config))
}

/// Asks whether the server is ready, once, over a new connection.
fn ready(address: &str, tls: &Arc<ClientConfig>) -> Result<()> {
    let mut connection = ClientConnection::new(tls.clone(), ServerName::try_from("localhost")?)?;
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let mut stream = Stream::new(&mut connection, &mut socket);
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    ensure!(&head == b"HTTP/1.1 200", "the server answers, but is not ready");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_server_that_is_ready() {
        let line = "ready https://127.0.0.1:1234 kubeconfig /tmp/a b in 12 ms\n";
        assert_eq!(parse(line), Some(("127.0.0.1:1234", 12)));
        for other in [
            "",
            "ready",
            "ready https://127.0.0.1:1234",
            "ready https://127.0.0.1:1 kubeconfig /a in x ms",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
