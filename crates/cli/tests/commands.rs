//! The commands as a user runs them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use kubewright_net::CertificateInfo;
use kubewright_net::kubeconfig::Kubeconfig;
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The command with a home of its own.
struct Sandbox(tempfile::TempDir);

/// A control plane that has said it is ready.
struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    line: String,
}

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts `up` and reads its first line, which comes once it is ready.
    fn up(&self, arguments: &[&str]) -> Running {
        let mut child = self.command(&[&["up"], arguments].concat()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready https://127.0.0.1:"), "{line:?}");
        Running { child, stdout, line }
    }
}

impl Running {
    /// The word after another one of the line.
    fn word(&self, after: &str) -> &str {
        let mut words = self.line.split_whitespace().skip_while(|word| *word != after);
        words.nth(1).unwrap()
    }

    fn kubeconfig(&self) -> PathBuf {
        PathBuf::from(self.word("kubeconfig"))
    }

    fn stop(mut self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "one line is all that is printed");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves no process behind.
        let _ = self.child.kill();
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn current_context(path: &Path) -> String {
    Kubeconfig::read(path).unwrap().current_context
}

#[test]
fn up_says_when_it_is_ready_and_leaves_nothing_behind() {
    for (signal, arguments) in [(Signal::TERM, &["--no-controllers"][..]), (Signal::INT, &[])] {
        let sandbox = Sandbox::new();
        let ready = sandbox.path("ready");
        let running = sandbox.up(&[&["--ready-file", ready.to_str().unwrap()], arguments].concat());
        let kubeconfig = running.kubeconfig();
        assert!(
            kubeconfig.starts_with(sandbox.path(".local/state/kubewright")),
            "{}",
            kubeconfig.display()
        );
        assert_eq!(
            std::fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            std::fs::read_to_string(&ready).unwrap().trim(),
            running.word("ready")
        );
        let config = Kubeconfig::read(&kubeconfig).unwrap();
        assert_eq!(config.current_context, "kubewright");
        assert_eq!(
            config.cluster("kubewright").unwrap().server,
            running.word("ready")
        );
        running.stop(signal);
        assert!(!kubeconfig.exists() && !ready.exists());
    }
}

#[test]
fn a_kubeconfig_that_is_there_keeps_its_entries_and_its_current_context() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("config");
    let mine = "apiVersion: v1\nkind: Config\ncurrent-context: mine\ncontexts:\n- name: mine\n  context: {cluster: a, user: b}\n";
    std::fs::write(&path, mine).unwrap();
    let before = Kubeconfig::read(&path).unwrap();
    let arguments = ["--no-controllers", "--kubeconfig", path.to_str().unwrap()];
    let running = sandbox.up(&arguments);
    assert_eq!(current_context(&path), "mine");
    assert!(Kubeconfig::read(&path).unwrap().context("kubewright").is_some());
    running.stop(Signal::TERM);
    assert_eq!(Kubeconfig::read(&path).unwrap(), before);

    let running = sandbox.up(&[&arguments[..], &["--keep-kubeconfig"]].concat());
    running.stop(Signal::TERM);
    assert!(Kubeconfig::read(&path).unwrap().context("kubewright").is_some());
}

#[test]
fn a_new_kubeconfig_becomes_current() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("folder/config");
    let running = sandbox.up(&["--no-controllers", "--kubeconfig", path.to_str().unwrap()]);
    assert_eq!(current_context(&path), "kubewright");
    running.stop(Signal::TERM);
    assert!(!path.exists());
}

#[test]
fn every_user_has_a_kubeconfig() {
    let sandbox = Sandbox::new();
    let (alice, node) = (sandbox.path("alice"), sandbox.path("folder/node"));
    let users = [
        format!("--user=alice:dev,ops={}", alice.display()),
        format!("--user=system::node::n:system:nodes={}", node.display()),
    ];
    let arguments = [
        "--no-controllers",
        "--authorization-mode=Node,RBAC",
        &users[0],
        &users[1],
    ];
    let running = sandbox.up(&arguments);
    for (path, name, groups) in [
        (&alice, "alice", &["dev", "ops"][..]),
        (&node, "system:node:n", &["system:nodes"]),
    ] {
        let config = Kubeconfig::read(path).unwrap();
        let context = format!("kubewright-{name}");
        assert_eq!(config.current_context, context);
        assert_eq!(config.cluster(&context).unwrap().server, running.word("ready"));
        let user = config.user(&context).unwrap();
        let pem = &user.client_certificate_data.as_ref().unwrap().0;
        let certificate = CertificateDer::from_pem_slice(pem).unwrap();
        let info = CertificateInfo::parse(&certificate).unwrap();
        assert_eq!(
            (info.common_name.as_str(), &info.organizations[..]),
            (
                name,
                &groups.iter().map(|&g| g.to_owned()).collect::<Vec<_>>()[..]
            )
        );
    }
    running.stop(Signal::TERM);
    assert!(!alice.exists() && !node.exists());
    // What was there stays.
    std::fs::write(&alice, "apiVersion: v1\nkind: Config\ncurrent-context: mine\n").unwrap();
    let running = sandbox.up(&arguments);
    assert_eq!(current_context(&alice), "mine");
    running.stop(Signal::TERM);
    assert_eq!(current_context(&alice), "mine");
}

#[test]
fn what_cannot_be_done_is_said_once_with_advice() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let file = sandbox.path("file");
    std::fs::write(&file, "").unwrap();
    let below_file = file.join("config");
    let ready = file.join("ready");
    let no_config = sandbox.path("not-a-config");
    std::fs::write(&no_config, "[1, 2").unwrap();
    for (arguments, code, texts) in [
        (
            &["up", "--port", &port][..],
            1,
            &[
                "error: cannot listen on 127.0.0.1:",
                "hint: choose another --port",
            ][..],
        ),
        (
            &["up", "--bind", "192.0.2.1"],
            1,
            &["error: cannot listen on 192.0.2.1:0", "hint: "],
        ),
        (
            &["up", "--kubeconfig", below_file.to_str().unwrap()],
            1,
            &["error: cannot write the kubeconfig", "because: "],
        ),
        (
            &["up", "--kubeconfig", no_config.to_str().unwrap()],
            1,
            &["error: cannot write the kubeconfig", "hint: "],
        ),
        (
            &["up", "--ready-file", ready.to_str().unwrap()],
            1,
            &["error: cannot create the ready file", "hint: "],
        ),
        (
            &["up", "--runtime-config", "a/b/c/d"],
            1,
            &["error: the API server did not start", "runtime configuration"],
        ),
        (
            &["up", "--user", "a=x", "--user", "b=x"],
            1,
            &["error: x cannot be the kubeconfig of two users", "hint: "],
        ),
        (
            &["up", "--enable-admission-plugins", "PodSecurity"],
            1,
            &[
                "error: the admission plugins cannot be set up",
                "because: enable-admission-plugins plugin \"PodSecurity\" is not available",
                "hint: this server has NamespaceLifecycle",
            ],
        ),
        (
            &["up", "--token-auth-file", "nowhere.csv"],
            1,
            &[
                "error: the tokens in nowhere.csv cannot be read",
                "hint: give lines of `token,user,uid",
            ],
        ),
        (
            &["up", "--user", "alice"],
            2,
            &["--user", "NAME[:GROUP,...]=PATH"],
        ),
        (
            &["up", "--authorization-mode", "ABAC"],
            2,
            &["RBAC", "AlwaysAllow"],
        ),
        (&["up", "--port", "99999"], 2, &["--port"]),
        (&["up", "--bind", "nowhere"], 2, &["--bind"]),
        (&["up", "--strange"], 2, &["--strange"]),
        (&["--log", "a=b=c", "up"], 1, &["error: the log filter", "hint: "]),
        (&[], 2, &["Usage"]),
    ] {
        let output = sandbox.run(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            stderr(&output)
        );
        for text in texts {
            assert!(
                stderr(&output).contains(text),
                "{arguments:?} lacks {text:?}: {}",
                stderr(&output)
            );
        }
        assert_eq!(
            stderr(&output).matches("error:").count(),
            usize::from(code != 2 || !arguments.is_empty()),
            "{arguments:?}"
        );
    }
    let state = sandbox.path(".local/state/kubewright");
    let left: Vec<_> = std::fs::read_dir(state).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_demo_tells_the_whole_story_in_plain_lines() {
    let output = Sandbox::new().run(&["demo"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\x1b'), "no colour where there is no terminal");
    for line in [
        "guestbook/visitors created",
        "Available=True",
        "service/visitors deleted",
        "guestbook/visitors deleted",
        "STEP",
    ] {
        assert!(text.contains(line), "{line:?} is missing:\n{text}");
    }
}
