//! The processes: the feed, and one for each task of each peer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::feed::Streaming;
use crate::go;
use crate::outcome::{Outcome, parse};
use crate::shared;
use crate::task::{Line, Step, Task};

/// Who keeps the objects at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// `kubewright-cache` over `kubewright-client`.
    Ours,
    /// The `kube` crate.
    Kube,
    /// client-go, in Go.
    ClientGo,
}

impl shared::Peer for Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "kubewright",
            Self::Kube => "kube",
            Self::ClientGo => "client-go",
        }
    }

    fn prepare(self) -> Result<()> {
        match self {
            Self::Ours | Self::Kube => Ok(()),
            Self::ClientGo => go::build(GO_PROGRAM),
        }
    }
}

impl Peer {
    /// In the order of the table.
    pub const ALL: [Self; 3] = [Self::Ours, Self::Kube, Self::ClientGo];

    /// As the command line calls it.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "ours" => Ok(Self::Ours),
            "kube" => Ok(Self::Kube),
            "client-go" => Ok(Self::ClientGo),
            _ => bail!("there is no peer {name}: ours, kube, client-go"),
        }
    }

    fn command(self, task: &Task) -> Result<Command> {
        let mut command = match self {
            Self::Ours => as_peer("ours")?,
            Self::Kube => as_peer("kube")?,
            Self::ClientGo => Command::new(go::binary(GO_PROGRAM)?),
        };
        command.arg(serde_json::to_string(task)?);
        Ok(command)
    }

    /// Has a process do the task, and the feed what it asks for meanwhile.
    pub fn perform(self, task: &Task, feed: &Feed) -> Result<Outcome> {
        feed.control("reset")?;
        let mut child = self
            .command(task)?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let outcome = follow(&mut child, feed);
        // It may have ended by itself, which is as good.
        let _ = child.kill();
        let _ = child.wait();
        outcome.with_context(|| format!("{task:?}"))
    }
}

fn as_peer(name: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--as", name]).env("RUST_LOG", "off");
    Ok(command)
}

/// The program of `bench/peers`.
const GO_PROGRAM: &str = "informers";

/// Reads what the peer tells, and has the feed do what it waits for.
fn follow(child: &mut Child, feed: &Feed) -> Result<Outcome> {
    let stdout = child.stdout.take().context("its output is piped")?;
    let lines = lines(stdout);
    let mut outcome = Outcome::default();
    loop {
        let text = match lines.recv_timeout(PATIENCE) {
            Ok(text) => text?,
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("nothing came for {} s", PATIENCE.as_secs()),
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("it ended too early"),
        };
        let line = parse(&text)?;
        match line {
            Line::Ready { step: Step::Update } => feed.control("modify")?,
            Line::Ready { step: Step::Relist } => {
                feed.control("expire")?;
                feed.control("mark")?;
            }
            _ => {}
        }
        if outcome.take_in(line)? {
            return Ok(outcome);
        }
    }
}

fn lines(stdout: ChildStdout) -> mpsc::Receiver<std::io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// How long a peer may take for a piece of work.
const PATIENCE: Duration = Duration::from_secs(180);

/// The feed's process. It ends when this is dropped.
#[derive(Debug)]
pub struct Feed {
    child: Child,
    address: String,
    /// How many objects it has.
    pub objects: usize,
    /// Whether watches bring what is there.
    pub streaming: Streaming,
}

impl Feed {
    /// Starts it, and waits until it is ready.
    pub fn start(objects: usize, streaming: Streaming) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--feed", &objects.to_string()]);
        if streaming == Streaming::Offered {
            command.arg("--streaming");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line
            .trim()
            .strip_prefix("ready http://")
            .unwrap_or_default()
            .to_owned();
        ensure!(!address.is_empty(), "the feed is not ready: {line:?}");
        Ok(Self {
            child,
            address,
            objects,
            streaming,
        })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has it do something, and waits until it has.
    fn control(&self, what: &str) -> Result<()> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST /control/{what} HTTP/1.1\r\nhost: feed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        read.with_context(|| format!("the feed did not {what}"))?;
        ensure!(
            answer.starts_with("HTTP/1.1 200"),
            "the feed did not {what}: {answer}"
        );
        Ok(())
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
