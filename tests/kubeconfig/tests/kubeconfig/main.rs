//! Real kubectl and the client read the same kubeconfig files and ask the same server: what it sees of both must be the same, and what
//! one refuses the other must refuse too. What `kubectl config` makes of files, the library must make of them.
//!
//! The binary is fetched by `cargo xtask kubectl`; `KUBEWRIGHT_KUBECTL` names another folder with `1.37/kubectl` in it.

#![expect(clippy::print_stderr, reason = "a test tells what it skips")]

mod cases;
mod changes;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kubewright_client::{Client, Config, Overrides};
use kubewright_net::Kubeconfig;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Handle, Runtime};

use crate::cases::{Case, Expect};
use crate::server::{Seen, Servers};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Runtime::new().expect("a runtime can be built");
    let kubectl = kubectl();
    if kubectl.is_none() {
        eprintln!("skipped: kubectl 1.37 is not there; `cargo xtask kubectl` fetches it");
    }
    let has_ipv6 = server::has_ipv6();
    if !has_ipv6 {
        eprintln!("skipped: cases with the address [::1], which this machine does not have");
    }
    let trials = cases::all().into_iter().map(|case| {
        let (kubectl, handle) = (kubectl.clone(), runtime.handle().clone());
        let needs_ipv6 = case.files.iter().any(|(_, text)| text.contains(server::IPV6));
        let is_missing = kubectl.is_none() || (needs_ipv6 && !has_ipv6);
        let trial = Trial::test(case.name, move || {
            let Some(kubectl) = kubectl else { return Ok(()) };
            compare(&kubectl, &handle, &case).map_err(|error| Failed::from(format!("{error:#}")))
        });
        trial.with_ignored_flag(is_missing)
    });
    let changes = changes::all().into_iter().map(|change| {
        let binary = kubectl.clone();
        let trial = Trial::test(change.name, move || {
            let Some(binary) = binary else { return Ok(()) };
            changes::compare(&binary, &change).map_err(|error| Failed::from(format!("{error:#}")))
        });
        trial.with_ignored_flag(kubectl.is_none())
    });
    libtest_mimic::run(&arguments, trials.chain(changes).collect()).exit_code()
}

fn kubectl() -> Option<PathBuf> {
    let folder = std::env::var_os("KUBEWRIGHT_KUBECTL")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kubectl"));
    Some(folder.join("1.37/kubectl")).filter(|path| path.is_file())
}

/// What came of a request: what the server saw, or why it saw nothing.
type Outcome = Result<Seen, String>;

fn compare(kubectl: &Path, runtime: &Handle, case: &Case) -> Result<()> {
    let servers = runtime.block_on(Servers::start())?;
    let folder = tempfile::tempdir()?;
    servers.write_certificates(folder.path())?;
    for (name, text) in &case.files {
        let text = servers
            .fill(text)
            .replace("{DIR}", &folder.path().display().to_string());
        write(&folder.path().join(name), &text)?;
    }
    let paths: Vec<PathBuf> = case
        .kubeconfig
        .iter()
        .map(|name| folder.path().join(name))
        .collect();
    let theirs = run_kubectl(kubectl, folder.path(), &paths, case, &servers)?;
    let ours = runtime.block_on(run_client(&paths, case, &servers));
    match (&case.expect, &theirs) {
        (Expect::TakenByTheClient, Ok(seen)) => bail!("kubectl takes it by now: {seen:?}"),
        (Expect::Served, Err(error)) => bail!("kubectl refuses it: {error}; the client: {ours:?}"),
        (Expect::Refused, Ok(seen)) => bail!("kubectl takes it: {seen:?}; the client: {ours:?}"),
        _ => {}
    }
    match (theirs, ours) {
        (Err(_), Ok(_)) if case.expect == Expect::TakenByTheClient => {}
        (Ok(theirs), Ok(ours)) => ensure!(theirs == ours, "kubectl: {theirs:#?}\nthe client: {ours:#?}"),
        (Err(_), Err(_)) if case.expect == Expect::Refused => {}
        (Err(theirs), Err(ours)) => bail!("kubectl: {theirs}\nthe client: {ours}"),
        (Ok(_), Err(error)) => bail!("the client refuses it: {error}"),
        (Err(error), Ok(seen)) => bail!("kubectl refuses it: {error}\nthe client takes it: {seen:#?}"),
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)?;
    #[cfg(unix)]
    if text.starts_with("#!") {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn run_kubectl(
    kubectl: &Path,
    home: &Path,
    paths: &[PathBuf],
    case: &Case,
    servers: &Servers,
) -> Result<Outcome> {
    let arguments: Vec<String> = case.arguments.iter().map(|text| servers.fill(text)).collect();
    let mut command = Command::new(kubectl);
    command
        .args(["get", "--raw", PATH])
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("KUBECONFIG", std::env::join_paths(paths)?)
        .stdin(Stdio::null());
    let output = command.output().context("kubectl cannot be run")?;
    let seen = servers.take();
    Ok(match (output.status.success(), seen) {
        (true, Some(seen)) => Ok(seen),
        (_, seen) => Err(format!(
            "{} {seen:?}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    })
}

async fn run_client(paths: &[PathBuf], case: &Case, servers: &Servers) -> Outcome {
    let mut overrides = Overrides::default();
    (case.overrides)(&mut overrides, &|text| servers.fill(text));
    let asked = async {
        let kubeconfig = Kubeconfig::load(paths)?;
        let config = Config::from_kubeconfig(&kubeconfig, &overrides)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let request = http::Request::get(PATH).body(Vec::new())?;
        Client::new(config, provider)?.request_bytes(request).await?;
        anyhow::Ok(())
    };
    let result = tokio::time::timeout(Duration::from_secs(20), asked).await;
    match (result, servers.take()) {
        (Ok(Ok(())), Some(seen)) => Ok(seen),
        (Ok(Err(error)), _) => Err(format!("{error:#}")),
        other => Err(format!("{other:?}")),
    }
}

/// What both ask for.
const PATH: &str = "/version?from=test";
