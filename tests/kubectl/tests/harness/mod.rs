//! A server with a kubeconfig, and kubectl run against it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use kubewright_testing::{ServedEnv, TestEnvOptions};
use tokio::runtime::{Handle, Runtime};

/// The runtime on which all servers of this process run.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built")
}

/// Where kubectl of a version is, if it is there.
pub(crate) fn binary(minor: u32) -> Option<PathBuf> {
    Some(folder(minor).join("kubectl")).filter(|path| path.is_file())
}

/// Why a version could not be fetched, if that was tried.
pub(crate) fn absence(minor: u32) -> Option<String> {
    std::fs::read_to_string(folder(minor).join("absent")).ok()
}

fn folder(minor: u32) -> PathBuf {
    let folder = std::env::var_os("KUBEWRIGHT_KUBECTL")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kubectl"));
    folder.join(format!("1.{minor}"))
}

/// kubectl with a server, and a folder for its files.
pub(crate) struct Kubectl {
    binary: PathBuf,
    /// Where kubectl keeps what it caches.
    home: PathBuf,
    folder: tempfile::TempDir,
    /// The namespace that the kubeconfig names.
    pub(crate) namespace: String,
    _cluster: Option<Running>,
}

/// What runs behind the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing: the server alone, as envtest has it.
    Nothing,
    /// All controllers, with one simulated node.
    Controllers,
    /// The same, shared with the other scenarios of the version: each has a namespace of its own.
    Shared,
}

/// A server that the scenarios of one version share. It starts with the first of them.
pub(crate) struct Shared {
    runtime: Handle,
    started: std::sync::Mutex<Option<Started>>,
}

struct Started {
    home: tempfile::TempDir,
    _cluster: Running,
}

impl Shared {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            started: std::sync::Mutex::default(),
        }
    }

    /// The home that all share, with the kubeconfig in it.
    fn home(&self) -> Result<PathBuf> {
        let mut started = self
            .started
            .lock()
            .map_err(|_| anyhow::anyhow!("the shared server did not start"))?;
        if let Some(started) = &*started {
            return Ok(started.home.path().to_owned());
        }
        let home = tempfile::tempdir()?;
        let cluster = Running::start(&self.runtime, &home.path().join("config"), Behind::Shared)?;
        let path = home.path().to_owned();
        *started = Some(Started {
            home,
            _cluster: cluster,
        });
        Ok(path)
    }
}

/// A server that stops when it is dropped.
struct Running {
    runtime: Handle,
    cluster: Option<ServedEnv>,
}

impl Running {
    /// Starts a server and writes a kubeconfig for its administrator.
    fn start(runtime: &Handle, config: &Path, behind: Behind) -> Result<Self> {
        let options = match behind {
            Behind::Nothing => TestEnvOptions::without_controllers(),
            Behind::Controllers | Behind::Shared => TestEnvOptions::default(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let cluster = runtime.block_on(ServedEnv::start(options, provider))?;
        cluster.write_kubeconfig(config)?;
        Ok(Self {
            runtime: runtime.clone(),
            cluster: Some(cluster),
        })
    }
}

/// What a run of kubectl printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    command: String,
}

impl Kubectl {
    /// With a server and a home of its own.
    pub(crate) fn start(binary: PathBuf, runtime: &Handle, behind: Behind) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let cluster = Running::start(runtime, &folder.path().join("config"), behind)?;
        Ok(Self {
            binary,
            home: folder.path().to_owned(),
            folder,
            namespace: "default".to_owned(),
            _cluster: Some(cluster),
        })
    }

    /// In a new namespace of a server that others use as well.
    pub(crate) fn within(binary: PathBuf, shared: &Shared, name: &str) -> Result<Self> {
        let home = shared.home()?;
        let folder = tempfile::tempdir()?;
        std::fs::copy(home.join("config"), folder.path().join("config"))?;
        let kubectl = Self {
            binary,
            home,
            folder,
            namespace: name.replace('_', "-"),
            _cluster: None,
        };
        let namespace = &kubectl.namespace;
        kubectl.run(&format!("create namespace {namespace}"))?;
        kubectl.run(&format!("config set-context --current --namespace={namespace}"))?;
        Ok(kubectl)
    }

    /// A file in the scenario's folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    /// Runs kubectl with the words of `line`; must succeed.
    pub(crate) fn run(&self, line: &str) -> Result<Output> {
        let output = self.attempt(line, "")?;
        ensure!(output.code == Some(0), "{output}");
        Ok(output)
    }

    /// The same with something on its standard input, which `-f -` reads.
    pub(crate) fn run_with(&self, line: &str, input: &str) -> Result<Output> {
        let output = self.attempt(line, input)?;
        ensure!(output.code == Some(0), "{output}");
        Ok(output)
    }

    /// Runs kubectl; must fail.
    pub(crate) fn fail(&self, line: &str) -> Result<Output> {
        let output = self.attempt(line, "")?;
        ensure!(output.code != Some(0), "should have failed: {output}");
        Ok(output)
    }

    /// Runs kubectl, however it ends.
    pub(crate) fn attempt(&self, line: &str, input: &str) -> Result<Output> {
        let mut child = self.spawn(line)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A kubectl that reads nothing may be gone already.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().context("kubectl was not awaited")?;
        Ok(Output {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            command: line.to_owned(),
        })
    }

    /// Starts kubectl and lets it run.
    pub(crate) fn spawn(&self, line: &str) -> Result<Child> {
        Command::new(&self.binary)
            .arg("--request-timeout=30s")
            .args(words(line)?)
            .env_clear()
            .env("HOME", &self.home)
            .env("KUBECONFIG", self.folder.path().join("config"))
            // What `edit` and `diff` call.
            .env("PATH", "/usr/bin:/bin")
            .env("KUBE_EDITOR", "sed -i -e s/before/after/")
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} cannot be run", self.binary.display()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(cluster) = self.cluster.take() {
            let stopped = self.runtime.block_on(cluster.stop());
            // A scenario that failed has said why already.
            if let Err(error) = stopped.map_err(anyhow::Error::from) {
                assert!(
                    std::thread::panicking(),
                    "the controllers did not stop in order: {error:#}"
                );
            }
        }
    }
}

impl Output {
    /// The standard output must hold each of these texts.
    pub(crate) fn has(&self, texts: &[&str]) -> Result<&Self> {
        for text in texts {
            ensure!(self.stdout.contains(text), "{text:?} is missing: {self}");
        }
        Ok(self)
    }

    /// The standard output must hold none of these texts.
    pub(crate) fn lacks(&self, texts: &[&str]) -> Result<&Self> {
        for text in texts {
            ensure!(
                !self.stdout.contains(text),
                "{text:?} should not be there: {self}"
            );
        }
        Ok(self)
    }

    /// The standard error must hold each of these texts.
    pub(crate) fn complains(&self, texts: &[&str]) -> Result<&Self> {
        for text in texts {
            ensure!(
                self.stderr.contains(text),
                "{text:?} is missing in what it complains of: {self}"
            );
        }
        Ok(self)
    }

    /// The standard output must be this, blanks at its ends aside.
    pub(crate) fn is(&self, text: &str) -> Result<&Self> {
        ensure!(self.stdout.trim() == text.trim(), "expected {text:?}: {self}");
        Ok(self)
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "kubectl {} ended with {:?}\nstdout:\n{}\nstderr:\n{}",
            self.command, self.code, self.stdout, self.stderr
        )
    }
}

/// Splits a line at blanks; single quotes hold words together.
fn words(line: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' | '\n' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    if quoted {
        bail!("an open quote in {line:?}");
    }
    words.extend(word);
    Ok(words)
}
