//! `kubewright up`: a control plane for as long as the command runs.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use kubewright_apiserver::serving::{Authority, Listening, reachable};
use kubewright_apiserver::{ApiServer, Authorization, Options};
use kubewright_controllers::{ControllerOptions, ControllerSet};
use kubewright_net::{Identity, ServeLimits};
use kubewright_runtime::Handle;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::admission::{AccountsMade, AdmissionArguments};
use super::kubeconfigs::{Kubeconfigs, Owner};
use super::service_accounts::ServiceAccountArguments;
use super::tokens::TokenArguments;
use super::users::{self, UserFile};
use crate::failure::Advised;

/// Run a control plane until interrupted: an API server with its own authority, reachable with any Kubernetes client.
#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    /// The port to listen on; 0 takes any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,

    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    bind: IpAddr,

    /// Merge the context `kubewright` into this kubeconfig instead of writing a file of its own.
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// Leave the kubeconfigs as they are on exit.
    #[arg(long)]
    keep_kubeconfig: bool,

    /// Write a further kubeconfig, for a user with a client certificate: `alice:dev=alice.kubeconfig`. May be given several times.
    ///
    /// What the user may do is said by roles and bindings, as for everybody. A colon within the name is written twice:
    /// `system::node::n1:system:nodes=n1.kubeconfig`.
    #[arg(long = "user", value_name = "NAME[:GROUP,...]=PATH")]
    users: Vec<UserFile>,

    /// Create this file once the server is ready, and remove it on exit.
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,

    /// Run the API server alone: nothing ends namespaces, collects garbage or runs pods, and pods need no service account.
    #[arg(long)]
    no_controllers: bool,

    /// Serve resources beyond the default, as kube-apiserver does: `api/all=true`, `group/version=true`.
    #[arg(long, default_value = "", value_name = "LIST")]
    runtime_config: String,

    /// By what requests are decided on, as kube-apiserver has it: `RBAC` (or `Node,RBAC`, which is the same here) by roles and their bindings,
    /// `AlwaysAllow` lets everybody do everything who is known.
    #[arg(long, default_value = "RBAC", value_name = "LIST", value_parser = authorization)]
    authorization_mode: Authorization,

    #[command(flatten)]
    admission: AdmissionArguments,

    #[command(flatten)]
    tokens: TokenArguments,

    #[command(flatten)]
    service_accounts: ServiceAccountArguments,
}

/// The authorizers by upstream's names. What nodes may do goes with roles.
fn authorization(modes: &str) -> Result<Authorization, String> {
    match modes {
        "RBAC" | "Node,RBAC" | "RBAC,Node" => Ok(Authorization::Rbac),
        "AlwaysAllow" => Ok(Authorization::AuthenticatedOnly),
        _ => Err("give RBAC, Node,RBAC or AlwaysAllow".to_owned()),
    }
}

impl Up {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let started = Instant::now();
        if let Some(path) = users::repeated(self.kubeconfig.as_deref(), &self.users) {
            let what = format!("{} cannot be the kubeconfig of two users", path.display());
            let reason = anyhow::anyhow!("one file has one current user");
            return Err(Advised::new(what, "name another file in --user or --kubeconfig", reason).into());
        }
        // Before anything is written, so that an interrupt from here on leaves nothing behind.
        let interrupted = interrupted()?;
        let running = self.listen().await?;
        let written = self.announce(&running, started)?;
        interrupted.await;
        let taken_back = written.take_back();
        let stopped = running.stop().await;
        taken_back.and(stopped)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn listen(&self) -> anyhow::Result<Running> {
        let wanted = SocketAddr::new(self.bind, self.port);
        let listener = TcpListener::bind(wanted).await.map_err(|error| {
            let hint = match error.kind() {
                std::io::ErrorKind::AddrInUse => "choose another --port, or --port 0 for any free one",
                std::io::ErrorKind::PermissionDenied => "ports below 1024 need rights; choose another --port",
                _ => "choose an address of this machine with --bind",
            };
            Advised::new(format!("cannot listen on {wanted}"), hint, error)
        })?;
        let address = listener.local_addr()?;
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let authority = Authority::new(crypto.clone())?;
        let service_accounts = self.service_accounts.options()?;
        let service_account_key = service_accounts.signing_key.clone();
        let options = Options {
            crypto: Some(crypto),
            client_certificates: Some(authority.verifier()?),
            advertise_address: reachable(address),
            runtime_config: self.runtime_config.clone(),
            authorization: self.authorization_mode,
            admission: self.admission.plugins(match self.no_controllers {
                true => AccountsMade::ByNobody,
                false => AccountsMade::ByController,
            })?,
            descriptions: super::descriptions(),
            tokens: self.tokens.read()?,
            service_accounts,
            ..Options::default()
        };
        let server = ApiServer::start(options)
            .await
            .context("the API server did not start")?;
        let tls = authority.server_config(&[address.ip()])?;
        let serving = Listening::start(&server, listener, Some(tls), ServeLimits::default())?;
        let controllers = if self.no_controllers {
            None
        } else {
            let root_ca = Some(authority.certificate_pem());
            let set = ControllerSet::new(ControllerOptions {
                root_ca,
                service_account_key,
                ..ControllerOptions::default()
            });
            Some(
                set.start(&server.service())
                    .ready()
                    .await
                    .context("the controllers did not start")?,
            )
        };
        Ok(Running {
            serving,
            authority,
            controllers,
        })
    }

    /// Tells the world, now that requests are answered. What was written so far is taken back if the rest cannot be.
    fn announce(&self, running: &Running, started: Instant) -> anyhow::Result<Written> {
        let mut written = Written {
            kubeconfigs: Kubeconfigs::default(),
            keep: self.keep_kubeconfig,
            ready_file: self.ready_file.clone(),
        };
        let told = self.tell(running, &mut written.kubeconfigs, started);
        match told {
            Ok(()) => Ok(written),
            Err(error) => {
                let _ = written.take_back();
                Err(error)
            }
        }
    }

    /// The files first, so that whoever has read the line finds them.
    fn tell(&self, running: &Running, kubeconfigs: &mut Kubeconfigs, started: Instant) -> anyhow::Result<()> {
        let address = reachable(running.serving.address());
        let entry = |name: &str, identity| running.authority.kubeconfig_entry(name, address, identity);
        let admin = Identity::new("kubernetes-admin", ["system:masters"]);
        let (path, owner) = match &self.kubeconfig {
            Some(path) => (path.clone(), Owner::User),
            None => (
                state_folder()?.join(format!("kubeconfig-{}", address.port())),
                Owner::Command,
            ),
        };
        kubeconfigs.write(&path, entry(CONTEXT, &admin)?, owner)?;
        for user in &self.users {
            let name = format!("{CONTEXT}-{}", user.identity.user);
            kubeconfigs.write(&user.path, entry(&name, &user.identity)?, Owner::User)?;
        }
        if let Some(path) = &self.ready_file {
            std::fs::write(path, format!("https://{address}\n")).map_err(|error| {
                Advised::new(
                    format!("cannot create the ready file {}", path.display()),
                    "choose a path in a folder that exists and can be written to",
                    error,
                )
            })?;
        }
        let milliseconds = started.elapsed().as_millis();
        let mut stdout = std::io::stdout().lock();
        writeln!(
            stdout,
            "ready https://{address} kubeconfig {} in {milliseconds} ms",
            path.display()
        )
        .and_then(|()| stdout.flush())
        .context("cannot write to stdout")
    }
}

struct Running {
    serving: Listening,
    authority: Authority,
    controllers: Option<Handle>,
}

impl Running {
    /// Controllers first, so that they end while the server still answers them.
    async fn stop(self) -> anyhow::Result<()> {
        let stopped = match self.controllers {
            Some(controllers) => controllers.stop().await,
            None => Ok(()),
        };
        self.serving.stop().await;
        stopped.context("the controllers did not stop in order")
    }
}

/// The traces of this command outside its process.
struct Written {
    kubeconfigs: Kubeconfigs,
    keep: bool,
    ready_file: Option<PathBuf>,
}

impl Written {
    fn take_back(&self) -> anyhow::Result<()> {
        if let Some(path) = &self.ready_file {
            let _ = std::fs::remove_file(path);
        }
        if self.keep {
            Ok(())
        } else {
            self.kubeconfigs.take_back()
        }
    }
}

/// Resolves on SIGINT or SIGTERM, from the moment of this call on.
pub(super) fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// `kubewright` in the user's folder for state (XDG Base Directory Specification).
pub(super) fn state_folder() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let folder =
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    folder.map(|folder| folder.join("kubewright")).ok_or_else(|| {
        let reason = anyhow::anyhow!("neither XDG_STATE_HOME nor HOME is set");
        Advised::new(
            "there is no folder for the kubeconfig",
            "name a file with --kubeconfig",
            reason,
        )
        .into()
    })
}

const CONTEXT: &str = "kubewright";
