//! A server in this process: how long it takes to start, and how much it does in a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use http::Request;
use kubewright_apiserver::serving::{Authority, Listening};
use kubewright_apiserver::{Authorization, Options};
use kubewright_net::tls::client_config;
use kubewright_net::{Body, ClientTls, ConnectOptions, Identity, ServeLimits, ServerVerification, connect};
use tokio::net::TcpListener;

use crate::report::{Table, grouped, mebibytes, median, time};
use crate::target::{MAPS, Target, object};

const STARTS: usize = 100;
/// How long a rate is measured.
const SPAN: Duration = Duration::from_secs(3);
/// How many objects are listed, and how often.
const LISTED: u64 = 10_000;
const LISTS: usize = 20;

/// The start of a server, with and without the roles that every cluster has. What is read once per process is in the first start with
/// each.
pub async fn starts(table: &mut Table) -> Result<()> {
    let with = |authorization| Options {
        authorization,
        ..Options::default()
    };
    for (authorization, name) in [
        (Authorization::AuthenticatedOnly, "without roles"),
        (Authorization::Rbac, "with roles"),
    ] {
        let began = Instant::now();
        Target::with(with(authorization)).await?.server.shut_down();
        table.row(format!("in process: first start {name}"), time(began.elapsed()));
        let mut times = Vec::new();
        for _ in 0..STARTS {
            let began = Instant::now();
            let target = Target::with(with(authorization)).await?;
            times.push(began.elapsed());
            target.server.shut_down();
        }
        table.row(
            format!("in process: start {name}, median of {STARTS}"),
            time(median(&mut times)),
        );
    }
    Ok(())
}

/// Requests one after the other.
pub async fn rates(table: &mut Table) -> Result<()> {
    let target = Target::start().await?;
    let made = target.create(&object(0)).await?;
    let path = format!("{MAPS}/m0000000");

    let (mut count, began) = (0, Instant::now());
    while began.elapsed() < SPAN {
        target.send("GET", &path, Vec::new()).await?;
        count += 1;
    }
    table.row("in process, one thread: GET of 1 KB", per_second(count, began));

    // Each says which version it has seen, and changes a label, as text: a client that knows what it changes.
    let (mut text, mut label) = (String::from_utf8(made.to_vec())?, "bench".to_owned());
    let (mut count, began) = (0, Instant::now());
    while began.elapsed() < SPAN {
        let next = format!("{count:08}");
        let body = text.replacen(&format!("\"app\":\"{label}\""), &format!("\"app\":\"{next}\""), 1);
        text = String::from_utf8(target.send("PUT", &path, body.into_bytes()).await?.to_vec())?;
        (label, count) = (next, count + 1);
    }
    table.row("in process, one thread: PUT of 1 KB", per_second(count, began));

    // The same by a client that reads the object and writes it again.
    let mut current: serde_json::Value = serde_json::from_str(&text)?;
    let (mut count, began) = (0, Instant::now());
    while began.elapsed() < SPAN {
        current["metadata"]["labels"]["count"] = count.to_string().into();
        let answer = target.send("PUT", &path, serde_json::to_vec(&current)?).await?;
        current = serde_json::from_slice(&answer)?;
        count += 1;
    }
    table.row(
        "in process, one thread: read, change and PUT of 1 KB",
        per_second(count, began),
    );
    Ok(())
}

fn per_second(count: u64, began: Instant) -> String {
    let rate = count as f64 / began.elapsed().as_secs_f64();
    format!("{} /s", grouped(rate as u64))
}

/// A whole list, within the process and over a connection.
pub async fn lists(table: &mut Table) -> Result<()> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let authority = Authority::new(provider.clone())?;
    let client_certificates = Some(authority.verifier()?);
    let target = Target::with(Options {
        client_certificates,
        ..Options::default()
    })
    .await?;
    for i in 0..LISTED {
        target.create(&object(i)).await?;
    }
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..LISTS {
        let began = Instant::now();
        size = target.send("GET", MAPS, Vec::new()).await?.len();
        times.push(began.elapsed());
    }
    let what = format!("list of {} objects, {}", grouped(LISTED), mebibytes(size as u64));
    table.row(format!("{what}: in process"), time(median(&mut times)));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let tls = authority.server_config(&[])?;
    let listening = Listening::start(&target.server, listener, Some(tls), ServeLimits::default())?;
    let client = ClientTls {
        verification: ServerVerification::Bundle(authority.certificate_pem().into_bytes()),
        certificate: Some(authority.issue_client(&Identity::new("admin", ["system:masters"]))?),
    };
    let tls = Some(client_config(&client, provider)?);
    let client = connect(ConnectOptions {
        tls,
        ..ConnectOptions::default()
    })?;
    let address = format!("https://{}{MAPS}", listening.address());
    let mut times = Vec::new();
    for _ in 0..LISTS {
        let began = Instant::now();
        let response = client.send(Request::get(&address).body(Body::empty())?).await?;
        let body = response.into_body().collect_limited(usize::MAX).await?;
        times.push(began.elapsed());
        ensure!(body.len() == size, "the list over TLS is another");
    }
    table.row(format!("{what}: over TLS"), time(median(&mut times)));
    listening.stop().await;
    Ok(())
}
