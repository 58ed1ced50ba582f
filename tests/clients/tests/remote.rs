//! Processes, ports and copies of this workspace's client against the streaming servers of Kubernetes.
//!
//! `kubelet/` is a program of upstream's own parts, which `cargo xtask clients` builds: the streaming server of container runtimes, alone and
//! behind what kube-apiserver translates websockets with. Where it is not there, its rows are shown as skipped. The embedded server, which
//! connects to no nodes, is asked as well.

#![expect(clippy::print_stderr, reason = "a test tells what it skips")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kubewright_client::{
    Api, Client, Config, CopyError, CopyOptions, Error, ExecOptions, RestClient, StreamProtocol, TerminalSize,
};
use kubewright_core::GroupVersion;
use kubewright_testing::{TestEnv, TestEnvOptions};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = std::env::var_os("KUBEWRIGHT_CLIENTS")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients"));
    let program = folder.join("kubelet/kubelet");
    let is_missing = !program.exists();
    if is_missing {
        eprintln!(
            "skipped: remote: {} is not there; `cargo xtask clients` makes it",
            program.display()
        );
    }
    let mut trials = vec![trial("embedded", async || embedded().await)];
    // What a pod is called says how its node is reached.
    for (pod, protocol) in [("new", StreamProtocol::V5), ("old", StreamProtocol::V4)] {
        let row = |name: &str, program: PathBuf, check: Check| {
            let trial = trial(&format!("{pod}::{name}"), async move || {
                let upstream = Upstream::start(&program)?;
                check(&upstream, pod, protocol).await
            });
            trial.with_ignored_flag(is_missing)
        };
        trials.push(row("processes", program.clone(), |upstream, pod, protocol| {
            Box::pin(processes(upstream, pod, protocol))
        }));
        trials.push(row("large", program.clone(), |upstream, pod, protocol| {
            Box::pin(large(upstream, pod, protocol))
        }));
        trials.push(row("copies", program.clone(), |upstream, pod, protocol| {
            Box::pin(copies(upstream, pod, protocol))
        }));
        trials.push(row("ports", program.clone(), |upstream, pod, _| {
            Box::pin(ports(upstream, pod))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

type Check = for<'a> fn(
    &'a Upstream,
    &'static str,
    StreamProtocol,
) -> std::pin::Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

fn trial(name: &str, check: impl AsyncFnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let limited = async { tokio::time::timeout(std::time::Duration::from_secs(60), check()).await };
        match runtime.block_on(limited) {
            Ok(result) => result.map_err(|error| Failed::from(format!("{error:#}"))),
            Err(_) => Err(Failed::from("not done within 60 s")),
        }
    })
}

/// The program, which ends with this.
struct Upstream {
    program: Child,
    pods: Api<Pod>,
}

impl Upstream {
    fn start(program: &Path) -> Result<Self> {
        let mut program = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut address = String::new();
        let stdout = program.stdout.take().context("its output is a pipe")?;
        BufReader::new(stdout).read_line(&mut address)?;
        let config = Config::new(format!("http://{}", address.trim()).parse()?);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = Client::new(config, provider)?;
        Ok(Self {
            program,
            pods: Api::namespaced(&client, "team"),
        })
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

async fn processes(upstream: &Upstream, pod: &str, protocol: StreamProtocol) -> Result<()> {
    let pods = &upstream.pods;
    let options = ExecOptions::default();
    let script = ["sh", "-c", "printf 'grüß'; printf oh >&2; exit 7"];
    let output = pods.exec_output(pod, &script, &options, 100).await?;
    ensure!(output.status.code() == 7, "{output:?}");
    ensure!(output.stdout == "grüß" && output.stderr == "oh", "{output:?}");
    let silent = pods.exec(pod, &["true"], &options).await?;
    ensure!(silent.protocol() == protocol, "{:?}", silent.protocol());
    ensure!(silent.join().await?.is_success(), "true is false");

    let missing = pods.exec_output(pod, &["/no/such/program"], &options, 100).await;
    let error = missing.err().context("a program that is not there ran")?;
    ensure!(error.is_internal_error(), "{error}");
    ensure!(error.to_string().contains("no such file"), "{error}");

    let process = pods
        .exec(pod, &["size"], &options.clone().with_terminal())
        .await?;
    process
        .resize(TerminalSize {
            width: 132,
            height: 43,
        })
        .await?;
    let output = process.output(100).await?;
    ensure!(output.stdout == "132x43", "{output:?}");

    // A process that reads to the end of its input.
    let mut sort = pods.exec(pod, &["sort"], &options.with_stdin()).await?;
    let mut stdin = sort.stdin.take().context("asked for")?;
    stdin.write_all(b"pear\napple\n").await?;
    stdin.shutdown().await?;
    if protocol == StreamProtocol::V5 {
        let output = sort.output(100).await?;
        ensure!(output.stdout == "apple\npear\n", "{output:?}");
    }
    Ok(())
}

async fn large(upstream: &Upstream, pod: &str, protocol: StreamProtocol) -> Result<()> {
    const BYTES: usize = 8 << 20;
    let content: Vec<u8> = (0..BYTES).map(|number| ((number * 31) >> 3) as u8).collect();
    let count = format!("{BYTES}");
    // The end of the input cannot be told to every node, the number of its bytes can.
    let command = ["head", "-c", &count];
    let mut process = upstream
        .pods
        .exec(pod, &command, &ExecOptions::default().with_stdin())
        .await?;
    let mut stdin = process.stdin.take().context("asked for")?;
    let sent = content.clone();
    let writing = tokio::spawn(async move {
        // It may have ended with the last byte.
        let _ = stdin.write_all(&sent).await;
        stdin
    });
    let mut stdout = process.stdout.take().context("asked for")?;
    let mut read = vec![0; BYTES];
    stdout.read_exact(&mut read).await?;
    ensure!(read == content, "{protocol:?}: bytes were lost or moved");
    ensure!(process.join().await?.is_success(), "head failed");
    writing.await?;
    Ok(())
}

async fn copies(upstream: &Upstream, pod: &str, protocol: StreamProtocol) -> Result<()> {
    let home = tempfile::tempdir()?;
    let (source, there, back) = (
        home.path().join("source"),
        home.path().join("there"),
        home.path().join("back"),
    );
    std::fs::create_dir_all(source.join("a/b"))?;
    let content: Vec<u8> = (0..1_000_000_u32)
        .map(|number| ((number * 7) >> 3) as u8)
        .collect();
    std::fs::write(source.join("a/b/file"), &content)?;
    let options = CopyOptions::default();
    let remote = there.to_str().context("a path of text")?;
    match upstream.pods.copy_to(pod, &source, remote, &options).await {
        Ok(report) => ensure!(report.files == 1, "{report:?}"),
        Err(CopyError::Unfinished) if protocol == StreamProtocol::V4 => {}
        Err(error) => bail!(error),
    }
    ensure!(std::fs::read(there.join("a/b/file"))? == content, "there");
    upstream.pods.copy_from(pod, remote, &back, &options).await?;
    ensure!(std::fs::read(back.join("a/b/file"))? == content, "back");
    Ok(())
}

async fn ports(upstream: &Upstream, pod: &str) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            // Which of the streams gets here first is not said.
            tokio::spawn(async move {
                let mut text = [0; 5];
                let _ = connection.read_exact(&mut text).await;
                let _ = connection.write_all(&text.repeat(50_000)).await;
            });
        }
    });
    let mut streams = upstream.pods.port_forward(pod, &[port, port]).await?;
    for stream in &mut streams {
        stream.write_all(b"hello").await?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text).await?;
        ensure!(text == b"hello".repeat(50_000), "{} bytes", text.len());
    }
    // Nothing listens at the port that was the listener of a moment ago.
    let closed = TcpListener::bind("127.0.0.1:0").await?;
    let port = closed.local_addr()?.port();
    drop(closed);
    let mut stream = upstream.pods.port_forward(pod, &[port]).await?.remove(0);
    let error = stream.read_u8().await.err().context("something was read")?;
    ensure!(error.to_string().contains("connection refused"), "{error}");
    Ok(())
}

/// The embedded server connects to no nodes, and says so.
async fn embedded() -> Result<()> {
    let env = TestEnv::start(TestEnvOptions::without_controllers()).await?;
    let core = RestClient::new(env.client(), &GroupVersion::new("", "v1"));
    let node = json!({
        "metadata": { "name": "worker" },
        "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }] },
    });
    core.post().resource("nodes").body_json(&node).bytes().await?;
    let nodes: Api<Node> = Api::cluster(env.client());
    let status = kubewright_client::Patch::Merge(json!({ "status": node["status"] }));
    nodes
        .patch_status("worker", &status, &kubewright_client::WriteOptions::default())
        .await?;
    for (name, node) in [("waits", ""), ("runs", "worker")] {
        let pod = json!({
            "metadata": { "name": name },
            "spec": { "nodeName": node, "containers": [{ "name": "app", "image": "app" }] },
        });
        let pods = core.post().namespace("default").resource("pods");
        pods.body_json(&pod).bytes().await?;
    }
    let pods: Api<Pod> = Api::namespaced(env.client(), "default");
    let options = ExecOptions::default();
    for (name, expect) in [
        ("waits", "does not have a host assigned"),
        ("runs", "connects to no nodes"),
        ("none", "not found"),
    ] {
        let exec = pods.exec(name, &["true"], &options).await.err();
        let attach = pods.attach(name, &options).await.err();
        let forward = pods.port_forward(name, &[80]).await.err();
        for error in [exec, attach, forward] {
            let error = error.context("a connection to nowhere")?;
            ensure!(
                matches!(error, Error::Api { .. }) && error.to_string().contains(expect),
                "{error}"
            );
        }
    }
    env.stop().await?;
    Ok(())
}
