//! How long a server in this process takes to start: the median of a hundred, printed.
//!
//! A suite of its own, since the usual harness shows what a test prints only when it fails. That each server answers is what is
//! tested; the time is held by the benchmark.

#![expect(clippy::print_stdout, reason = "the figure is there to be seen")]

use std::process::ExitCode;
use std::time::Instant;

use http::Request;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_net::{Body, Identity};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trial = Trial::test("a_hundred_servers", || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(a_hundred_servers())
    });
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit_code()
}

async fn a_hundred_servers() -> Result<(), Failed> {
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        let server = ApiServer::start(Options::default()).await?;
        times.push(began.elapsed());
        let request = Request::get("/api/v1/namespaces/default")
            .extension(Identity::new("admin", ["system:masters"]))
            .body(Body::empty())?;
        let code = server.service().send(request).await?.status();
        if code != 200 {
            return Err(format!("a server that has started answers {code}").into());
        }
        server.shut_down();
    }
    times.sort();
    println!("median start of 100: {} µs", times[times.len() / 2].as_micros());
    Ok(())
}
