//! Credentials from a program: the exec plugins of a kubeconfig (`client.authentication.k8s.io`).
//!
//! One run serves all requests of the process that wait for it, whichever client they come from; what it printed is used until it
//! expires or the server answers 401. A run does not end with the request that began it: a login in a browser takes longer than a
//! request may.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::process::Stdio;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kubewright_net::kubeconfig::{ExecConfig, InteractiveMode};
use kubewright_net::{BoxError, CertificateAndKey, HttpService};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::Instant;

use crate::auth::{AuthError, Authorization, bearer};
use crate::reload::Close;

/// Bytes that a plugin may print: 1 MiB.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// How long one run may take: 5 minutes, enough for a person to log in. Then the program is killed.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// Opens connections that present a client certificate.
type Connect = Box<dyn Fn(CertificateAndKey) -> Result<(HttpService, Close), BoxError> + Send + Sync>;

/// Plugins that the process remembers: 128. Beyond that, those that no client uses any more are forgotten.
const MAX_PLUGINS: usize = 128;

/// A program that prints credentials, as one client uses it.
pub(crate) struct ExecPlugin {
    program: Arc<Program>,
    connect: Connect,
    /// Connections with the certificate that was printed last.
    connections: Mutex<Option<(CertificateAndKey, HttpService, Close)>>,
}

/// How the program is run, and what it printed last.
struct Program {
    config: ExecConfig,
    /// What the program is told about the cluster, if it is to be told.
    cluster: Option<Value>,
    /// Held by a run until it has ended.
    running: Arc<tokio::sync::Mutex<()>>,
    cached: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    generation: u64,
    credentials: Option<Credentials>,
}

#[derive(Clone)]
struct Credentials {
    header: Option<HeaderValue>,
    certificate: Option<CertificateAndKey>,
    expires: Option<Timestamp>,
    generation: u64,
}

impl ExecPlugin {
    /// Shares runs with all other clients of the process that have the same configuration of the plugin and of the cluster.
    pub(crate) fn shared(config: ExecConfig, cluster: Option<Value>, connect: Connect) -> Self {
        static PROGRAMS: LazyLock<Mutex<HashMap<String, Arc<Program>>>> = LazyLock::new(Mutex::default);
        // Both are data without a form that could fail to be written.
        let key = serde_json::to_string(&(&config, &cluster)).unwrap_or_default();
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&key) {
            return Self::of(Arc::clone(program), connect);
        }
        if programs.len() >= MAX_PLUGINS {
            programs.retain(|_, program| Arc::strong_count(program) > 1);
        }
        let plugin = Self::new(config, cluster, connect);
        if programs.len() < MAX_PLUGINS {
            programs.insert(key, Arc::clone(&plugin.program));
        }
        plugin
    }

    fn new(config: ExecConfig, cluster: Option<Value>, connect: Connect) -> Self {
        let program = Program {
            config,
            cluster,
            running: Arc::default(),
            cached: Mutex::default(),
        };
        Self::of(Arc::new(program), connect)
    }

    fn of(program: Arc<Program>, connect: Connect) -> Self {
        Self {
            program,
            connect,
            connections: Mutex::default(),
        }
    }

    pub(crate) async fn authorize(&self) -> Result<Authorization, AuthError> {
        let credentials = Program::credentials(&self.program).await?;
        let connections = credentials.certificate.as_ref();
        let connections = connections
            .map(|certificate| self.connections(certificate))
            .transpose()
            .map_err(|source| self.program.failed(source))?;
        Ok(Authorization {
            header: credentials.header,
            connections,
            generation: credentials.generation,
            since: Instant::now(),
        })
    }

    pub(crate) fn reject(&self, used: &Authorization) {
        self.program.reject(used.generation);
    }

    /// The same connections as long as the certificate is the same, even if the program ran again. With another one, the old ones close:
    /// no watch outlives its certificate (client-go plugin/pkg/client/auth/exec `refreshCredsLocked`).
    fn connections(&self, certificate: &CertificateAndKey) -> Result<HttpService, BoxError> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((present, service, _)) = &*connections
            && present == certificate
        {
            return Ok(service.clone());
        }
        let (service, close) = (self.connect)(certificate.clone())?;
        let before = connections.replace((certificate.clone(), service.clone(), close));
        if let Some((_, _, close)) = before {
            close();
        }
        Ok(service)
    }
}

impl Program {
    /// Those that are there, or else those of a run.
    async fn credentials(this: &Arc<Self>) -> Result<Credentials, AuthError> {
        if let Some(cached) = this.cached() {
            return Ok(cached);
        }
        let running = Arc::clone(&this.running).lock_owned().await;
        // Another request may have run the program while this one waited.
        if let Some(cached) = this.cached() {
            return Ok(cached);
        }
        let program = Arc::clone(this);
        let run = tokio::spawn(async move {
            let _running = running;
            program.refresh().await
        });
        match run.await {
            Ok(result) => result,
            Err(error) => Err(this.failed(error.into())),
        }
    }

    async fn refresh(&self) -> Result<Credentials, AuthError> {
        let run = tokio::time::timeout(RUN_LIMIT, self.run()).await;
        let mut credentials = run
            .unwrap_or_else(|_| Err(format!("it did not end within {RUN_LIMIT:?}").into()))
            .map_err(|source| self.failed(source))?;
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.generation += 1;
        credentials.generation = cached.generation;
        cached.credentials = Some(credentials.clone());
        Ok(credentials)
    }

    fn reject(&self, generation: u64) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.generation == generation {
            cached.credentials = None;
        }
    }

    fn cached(&self) -> Option<Credentials> {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let credentials = cached.credentials.as_ref()?;
        let expired = credentials
            .expires
            .is_some_and(|expires| Timestamp::now() >= expires);
        (!expired).then(|| credentials.clone())
    }

    fn failed(&self, source: BoxError) -> AuthError {
        AuthError::Exec {
            command: self.config.command.clone(),
            source,
        }
    }

    async fn run(&self) -> Result<Credentials, BoxError> {
        let api_version = self.config.api_version.as_deref().unwrap_or_default();
        if !matches!(api_version, V1 | V1BETA1) {
            return Err(
                format!("apiVersion {api_version:?} is not supported, only {V1} and {V1BETA1}").into(),
            );
        }
        let output = self.output(api_version).await?;
        let printed: ExecCredential = serde_json::from_slice(&output)
            .map_err(|error| format!("it printed something other than an ExecCredential: {error}"))?;
        if printed.api_version != api_version || printed.kind != "ExecCredential" {
            return Err(format!(
                "it printed {} of {} instead of ExecCredential of {api_version}",
                printed.kind, printed.api_version
            )
            .into());
        }
        credentials(printed.status.ok_or("it printed no status")?)
    }

    async fn output(&self, api_version: &str) -> Result<Vec<u8>, BoxError> {
        let interactive = self.is_interactive()?;
        let mut spec = json!({ "interactive": interactive });
        if let Some(cluster) = self.cluster.as_ref().filter(|_| self.config.provide_cluster_info) {
            spec["cluster"] = cluster.clone();
        }
        let info = json!({ "kind": "ExecCredential", "apiVersion": api_version, "spec": spec });
        let mut command = Command::new(&self.config.command);
        command
            .args(&self.config.args)
            .envs(
                self.config
                    .env
                    .iter()
                    .map(|variable| (&variable.name, &variable.value)),
            )
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(if interactive {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| self.could_not_start(&error))?;
        let stdout = child.stdout.take().ok_or("its output cannot be read")?;
        let mut output = Vec::new();
        stdout.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut output).await?;
        if output.len() as u64 > MAX_OUTPUT_BYTES {
            return Err(format!("it printed more than {MAX_OUTPUT_BYTES} bytes").into());
        }
        let status = child.wait().await?;
        if !status.success() {
            return Err(format!("it ended with {status}").into());
        }
        Ok(output)
    }

    fn is_interactive(&self) -> Result<bool, BoxError> {
        let terminal = std::io::stdin().is_terminal();
        match self.config.interactive_mode {
            Some(InteractiveMode::Never) => Ok(false),
            Some(InteractiveMode::Always) if !terminal => {
                Err("it needs standard input, which is no terminal".into())
            }
            _ => Ok(terminal),
        }
    }

    fn could_not_start(&self, error: &std::io::Error) -> BoxError {
        match &self.config.install_hint {
            Some(hint) => format!("it could not be started: {error}\nhint: {hint}").into(),
            None => format!("it could not be started: {error}").into(),
        }
    }
}

const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";

/// What a program printed, as far as it can be used. Its generation is still to be told.
fn credentials(status: ExecStatus) -> Result<Credentials, BoxError> {
    let header = status
        .token
        .filter(|token| !token.is_empty())
        .map(|token| bearer(&token))
        .transpose()?;
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let certificate = match (text(status.client_certificate_data), text(status.client_key_data)) {
        (Some(certificate), Some(key)) => Some(CertificateAndKey::from_pem(
            certificate.as_bytes(),
            key.as_bytes(),
        )?),
        (None, None) => None,
        _ => return Err("it printed only one of clientCertificateData and clientKeyData".into()),
    };
    if header.is_none() && certificate.is_none() {
        return Err("it printed neither a token nor a client certificate".into());
    }
    Ok(Credentials {
        header,
        certificate,
        expires: status.expiration_timestamp,
        generation: 0,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ExecCredential {
    api_version: String,
    kind: String,
    status: Option<ExecStatus>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ExecStatus {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<Timestamp>,
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use kubewright_net::kubeconfig::ExecEnvVar;

    use super::*;

    fn plugin(script: &str) -> ExecPlugin {
        let config = ExecConfig {
            command: "sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![ExecEnvVar {
                name: "EXTRA".to_owned(),
                value: "from-env".to_owned(),
            }],
            api_version: Some(V1.to_owned()),
            install_hint: Some("install it".to_owned()),
            interactive_mode: Some(InteractiveMode::Never),
            provide_cluster_info: true,
            ..ExecConfig::default()
        };
        let cluster = json!({ "server": "https://kube" });
        ExecPlugin::new(
            config,
            Some(cluster),
            Box::new(|_| Err("no connections in this test".into())),
        )
    }

    fn printing(status: &str) -> String {
        format!(r#"echo '{{"apiVersion":"{V1}","kind":"ExecCredential","status":{status}}}'"#)
    }

    async fn token(plugin: &ExecPlugin) -> Result<String, AuthError> {
        let header = plugin.authorize().await?.header.unwrap();
        Ok(header.to_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn one_run_serves_until_expiry_or_rejection() {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let script = |expiry: &str| {
            format!(
                r#"echo run >> {0}; n=$(wc -l < {0}); echo "{{\"apiVersion\":\"{V1}\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"t$((n))\"{expiry}}}}}""#,
                count.display()
            )
        };
        let lasting = plugin(&script(""));
        let (first, second) = tokio::join!(token(&lasting), token(&lasting));
        assert_eq!(
            (first.unwrap(), second.unwrap()),
            ("Bearer t1".to_owned(), "Bearer t1".to_owned())
        );
        let used = lasting.authorize().await.unwrap();
        lasting.reject(&used);
        assert_eq!(token(&lasting).await.unwrap(), "Bearer t2");
        // The first credentials are long gone; nothing is learnt from another rejection of them.
        lasting.reject(&used);
        assert_eq!(token(&lasting).await.unwrap(), "Bearer t2");
        let expired = plugin(&script(r#",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\""#));
        assert_eq!(token(&expired).await.unwrap(), "Bearer t3");
        assert_eq!(token(&expired).await.unwrap(), "Bearer t4");
    }

    #[tokio::test]
    async fn clients_of_one_process_share_a_run_and_not_their_connections() {
        let folder = tempfile::tempdir().unwrap();
        let validity = kubewright_net::Validity::starting(Timestamp::now(), Duration::from_secs(86_400));
        let authority = kubewright_net::CertificateAuthority::new("ca", validity).unwrap();
        let print = |user: &str| {
            let pair = authority.issue_client(user, &["dev"], validity).unwrap();
            let status =
                json!({ "clientCertificateData": pair.certificate_pem(), "clientKeyData": pair.key_pem() });
            let printed = json!({ "apiVersion": V1, "kind": "ExecCredential", "status": status });
            std::fs::write(folder.path().join("printed"), printed.to_string()).unwrap();
        };
        let runs = folder.path().join("runs");
        let script = format!(
            "echo run >> {}; cat {}",
            runs.display(),
            folder.path().join("printed").display()
        );
        let opened = Arc::new(Mutex::new(0));
        let closed = Arc::new(Mutex::new(0));
        let client = || {
            let ExecPlugin { program, .. } = plugin(&script);
            let (opened, closed) = (Arc::clone(&opened), Arc::clone(&closed));
            let connect: Connect = Box::new(move |_| {
                *opened.lock().unwrap() += 1;
                let closed = Arc::clone(&closed);
                let service = HttpService::from_fn(|_| async {
                    Ok(http::Response::new(kubewright_net::Body::empty()))
                });
                Ok((service, Arc::new(move || *closed.lock().unwrap() += 1)))
            });
            ExecPlugin::shared(program.config.clone(), program.cluster.clone(), connect)
        };
        let state = || {
            let runs = std::fs::read_to_string(&runs).unwrap_or_default().lines().count();
            (runs, *opened.lock().unwrap())
        };
        print("jane");
        let (one, two) = (client(), client());
        let used = one.authorize().await.unwrap();
        assert!(used.connections.is_some() && used.header.is_none());
        two.authorize().await.unwrap();
        assert_eq!(state(), (1, 2));
        // The same certificate again needs no new connections.
        one.reject(&used);
        let used = two.authorize().await.unwrap();
        one.authorize().await.unwrap();
        assert_eq!(state(), (2, 2));
        print("joe");
        two.reject(&used);
        assert_eq!(*closed.lock().unwrap(), 0);
        one.authorize().await.unwrap();
        assert_eq!(state(), (3, 3));
        assert_eq!(*closed.lock().unwrap(), 1, "those with the old certificate");
    }

    #[tokio::test]
    async fn a_run_outlives_the_request_that_began_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        // It tells that it runs, and waits to be told to go on, but not for ever.
        let (started, go) = (path("started"), path("go"));
        let print = printing(r#"{"token":"a"}"#);
        let wait =
            format!("n=0; until [ -e {go} ]; do n=$((n + 1)); [ $n -lt 1000 ] || exit 1; sleep 0.01; done");
        let plugin = plugin(&format!("echo run >> {started}; {wait}; {print}"));
        {
            let mut request = std::pin::pin!(plugin.authorize());
            let begun = std::time::Instant::now();
            while !std::fs::exists(&started).unwrap() {
                let poll = tokio::time::timeout(Duration::from_millis(5), &mut request);
                assert!(poll.await.is_err(), "it waits");
                assert!(begun.elapsed() < Duration::from_secs(10), "it does not begin");
            }
        }
        std::fs::write(&go, "").unwrap();
        assert_eq!(token(&plugin).await.unwrap(), "Bearer a");
        assert_eq!(std::fs::read_to_string(&started).unwrap(), "run\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_never_ends_is_ended() {
        let Err(AuthError::Exec { source, .. }) = token(&plugin("exec sleep 1000000")).await else {
            panic!("should fail")
        };
        assert!(source.to_string().contains("did not end within"), "{source}");
    }

    #[tokio::test]
    async fn the_program_is_told_about_the_cluster() {
        let script =
            r#"case "$KUBERNETES_EXEC_INFO" in *'"server":"https://kube"'*) t=$EXTRA;; *) t=none;; esac; "#;
        let script = format!("{script}{}", printing(r#"{"token":"'$t'"}"#));
        assert_eq!(token(&plugin(&script)).await.unwrap(), "Bearer from-env");
    }

    #[tokio::test]
    async fn failures_say_what_is_wrong() {
        let rows = [
            ("exit 3".to_owned(), "exit status: 3"),
            ("echo nonsense".to_owned(), "other than an ExecCredential"),
            ("head -c 2000000 /dev/zero".to_owned(), "more than 1048576 bytes"),
            (printing("null"), "no status"),
            (printing("{}"), "neither a token nor"),
            (printing(r#"{"clientKeyData":"k"}"#), "only one of"),
            (
                printing(r#"{"token":"a"}"#).replace("/v1", "/v1beta1"),
                "instead of ExecCredential of",
            ),
        ];
        for (script, expect) in rows {
            let Err(AuthError::Exec { source, .. }) = token(&plugin(&script)).await else {
                panic!("{script} should fail");
            };
            assert!(source.to_string().contains(expect), "{script}: {source}");
        }
        let mut missing = plugin("");
        Arc::get_mut(&mut missing.program).unwrap().config.command = "/no/such/program".to_owned();
        let Err(AuthError::Exec { source, .. }) = token(&missing).await else {
            panic!("should fail")
        };
        assert!(source.to_string().contains("hint: install it"), "{source}");
    }
}
