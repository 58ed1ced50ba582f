//! Writes alone, in process and on one thread, for whoever counts instructions.
//!
//! ```text
//! cargo build --release --manifest-path bench/Cargo.toml --bin writes
//! valgrind --tool=callgrind --toggle-collect='*run_measured*' target/release/writes put 2000
//! ```
//!
//! The first argument is what is done, the second how often. What is not of interest is done by a server beforehand, and the
//! bodies of requests are not parsed and printed as trees, so that nearly all of what is counted is the server.

#[path = "../server/target.rs"]
mod target;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::target::{MAPS, Target, object};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often a request is sent before those that count.
const WARM_UP: u64 = 200;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let count: u64 = arguments.next().as_deref().unwrap_or("2000").parse()?;
    let Some(operation) = Operation::named(&what) else {
        bail!("usage: writes get|create|put|put-as-other|merge-patch|apply [COUNT]");
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut client = runtime.block_on(Client::start())?;
    runtime.block_on(client.run(operation, WARM_UP))?;
    let began = Instant::now();
    run_measured(&runtime, &mut client, operation, count)?;
    let each = began.elapsed() / u32::try_from(count.max(1))?;
    client.target.server.shut_down();
    println!("{what}: {each:?} each of {count}");
    Ok(())
}

/// A function of its own, for the profiler to know where to begin.
#[inline(never)]
fn run_measured(
    runtime: &tokio::runtime::Runtime,
    client: &mut Client,
    operation: Operation,
    count: u64,
) -> Result<()> {
    runtime.block_on(client.run(operation, count))
}

/// What is done over and over.
#[derive(Clone, Copy)]
enum Operation {
    /// Reads the object.
    Get,
    /// Creates another object.
    Create,
    /// Replaces the object by what was read with a label changed, as who created it does.
    Put,
    /// The same as somebody else, to whom the label belongs from then on.
    PutAsOther,
    /// Changes the label by a merge patch.
    MergePatch,
    /// Applies all of the object's text and the label.
    Apply,
}

impl Operation {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "get" => Self::Get,
            "create" => Self::Create,
            "put" => Self::Put,
            "put-as-other" => Self::PutAsOther,
            "merge-patch" => Self::MergePatch,
            "apply" => Self::Apply,
            _ => return None,
        })
    }
}

/// A client that has seen the object.
struct Client {
    target: Target,
    /// The path of the object that is changed.
    path: String,
    /// How many requests were sent.
    sent: u64,
    /// The object as it was answered last.
    seen: bytes::Bytes,
}

impl Client {
    async fn start() -> Result<Self> {
        let target = Target::start().await?;
        let seen = target.create(&object(0)).await?;
        Ok(Self {
            target,
            path: format!("{MAPS}/m0000000"),
            sent: 0,
            seen,
        })
    }

    async fn run(&mut self, operation: Operation, count: u64) -> Result<()> {
        for _ in 0..count {
            self.sent += 1;
            let label = format!("{:08}", self.sent);
            match operation {
                Operation::Get => {
                    self.target.send("GET", &self.path, Vec::new()).await?;
                }
                Operation::Create => {
                    self.target.create(&object(self.sent)).await?;
                }
                Operation::Put => self.put("", &label).await?,
                Operation::PutAsOther => self.put("?fieldManager=other", &label).await?,
                Operation::MergePatch => {
                    let patch = format!(r#"{{"metadata":{{"labels":{{"app":"{label}"}}}}}}"#);
                    let kind = "application/merge-patch+json";
                    self.target
                        .send_as("PATCH", &self.path, kind, patch.into_bytes())
                        .await?;
                }
                Operation::Apply => {
                    let text = String::from_utf8(object(0))?.replace("bench", &label);
                    let (path, kind) = (
                        format!("{}?fieldManager=applier&force=true", self.path),
                        "application/apply-patch+yaml",
                    );
                    self.target
                        .send_as("PATCH", &path, kind, text.into_bytes())
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// Sends what was seen with another value of the label.
    async fn put(&mut self, query: &str, label: &str) -> Result<()> {
        let mut body = self.seen.to_vec();
        let key = br#""app":""#;
        let Some(at) = memchr::memmem::find(&body, key) else {
            bail!("the object has no label");
        };
        let from = at + key.len();
        let end = from + memchr::memchr(b'"', &body[from..]).unwrap_or_default();
        body.splice(from..end, label.bytes());
        let path = format!("{}{query}", self.path);
        self.seen = self.target.send("PUT", &path, body).await?;
        Ok(())
    }
}
