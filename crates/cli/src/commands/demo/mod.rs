//! `kubewright demo`: the main job, live, from an empty control plane to garbage collected.

mod live;
mod narrator;
mod story;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kubewright_apiserver::Options;
use kubewright_apiserver::serving::{Authority, Listening, reachable};
use kubewright_controllers::ControllerOptions;
use kubewright_net::{Identity, ServeLimits, kubeconfig};
use kubewright_testing::{TestEnv, TestEnvOptions};
use tokio::net::TcpListener;

use self::narrator::Narrator;
use self::story::Story;
use super::up::{interrupted, state_folder};

/// Show an operator reconcile against an embedded control plane.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Leave everything running at the end, to be looked at with kubectl.
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let interrupted = interrupted()?;
        let narrator = Narrator::new();
        let told = self.tell(&narrator);
        tokio::select! {
            biased;
            () = interrupted => {
                narrator.line("interrupted");
                Ok(ExitCode::from(INTERRUPTED))
            }
            result = told => result.map(|()| ExitCode::SUCCESS),
        }
    }

    async fn tell(&self, narrator: &Narrator) -> Result<()> {
        let mut story = Story::new(narrator);
        let stage = story
            .step("start a control plane in this process", Stage::start())
            .await?;
        Box::pin(story.perform(&stage.env)).await?;
        story.summary();
        if self.keep {
            stage.keep(narrator).await?;
        }
        stage.end().await
    }
}

/// The control plane of the demo: in process for the operator, on a socket for those who want to look.
struct Stage {
    env: TestEnv,
    serving: Listening,
    authority: Authority,
}

impl Stage {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("no port of 127.0.0.1 can be listened on")?;
        let address = listener.local_addr()?;
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let authority = Authority::new(crypto.clone())?;
        let server = Options {
            crypto: Some(crypto),
            client_certificates: Some(authority.verifier()?),
            advertise_address: address,
            descriptions: super::descriptions(),
            ..Options::default()
        };
        let controllers = ControllerOptions {
            root_ca: Some(authority.certificate_pem()),
            ..ControllerOptions::default()
        };
        let env = TestEnv::start(TestEnvOptions {
            server,
            controllers,
            ..TestEnvOptions::default()
        })
        .await?;
        let tls = authority.server_config(&[address.ip()])?;
        let serving = Listening::start(env.server(), listener, Some(tls), ServeLimits::default())?;
        Ok(Self {
            env,
            serving,
            authority,
        })
    }

    /// Says how to look at what is there and waits to be interrupted; the select above ends it.
    async fn keep(&self, narrator: &Narrator) -> Result<()> {
        let address = reachable(self.serving.address());
        let admin = Identity::new("kubernetes-admin", ["system:masters"]);
        let entry = self.authority.kubeconfig_entry("kubewright", address, &admin)?;
        let path = state_folder()?.join(format!("kubeconfig-{}", address.port()));
        kubeconfig::merge_entry(&path, &entry)?;
        let _removed = Removed(path.clone());
        narrator.line(&format!(
            "\nstill running at https://{address}; interrupt to end. Try, in another terminal:\n"
        ));
        narrator.line(&format!("  export KUBECONFIG={}", path.display()));
        for command in [
            "kubectl get guestbooks,all",
            "kubectl explain guestbook.spec",
            "kubectl delete guestbook --all",
        ] {
            narrator.line(&format!("  {command}"));
        }
        std::future::pending().await
    }

    async fn end(self) -> Result<()> {
        self.env.stop().await?;
        self.serving.stop().await;
        Ok(())
    }
}

/// A file that goes when this is dropped.
struct Removed(std::path::PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// 128 and the number of SIGINT, as shells have it.
const INTERRUPTED: u8 = 130;
