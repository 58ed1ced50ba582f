//! Asks a server in this process, which needs nothing but this program.

use std::error::Error;
use std::io::Write as _;

use kubewright::testing::{TestEnv, TestEnvOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let env = TestEnv::start(TestEnvOptions::without_controllers()).await?;
    // For a cluster: `kubewright::default_client()?`.
    let client = env.client();
    clients::create(client).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "RestClient:      {:?}", clients::by_rest(client).await?)?;
    writeln!(out, "Api:             {:?}", clients::by_type(client).await?)?;
    writeln!(
        out,
        "DynamicApi:      {:?}",
        clients::by_name(client, "deploy").await?
    )?;
    writeln!(out, "DiscoveryClient: {:?}", clients::scalable(client).await?)?;
    env.stop().await?;
    Ok(())
}
