//! How quick and how small the API server is, as a process and within one.
//!
//! ```text
//! cargo run --release --manifest-path bench/Cargo.toml --bin server [-- PATH-OF-KUBEWRIGHT]
//! ```

mod definitions;
#[path = "../../../../tests/server/tests/definitions/generate.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "what makes objects for tests makes those that are measured"
)]
mod generate;
mod memory;
mod process;
mod report;
mod requests;
mod roles;
mod target;
#[path = "../shared/used.rs"]
#[expect(dead_code, reason = "shared with the other benchmarks, which use all of it")]
mod used;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::Controllers;
use crate::report::Table;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let binary = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/kubewright"));
    let mut table = Table::default();

    for controllers in [Controllers::None, Controllers::All] {
        match process::measure(&binary, controllers)? {
            Some(figures) => figures.write(&mut table),
            None => table.note(format!(
                "{}: not measured, {} is not there",
                controllers.label(),
                binary.display()
            )),
        }
    }

    // One thread, as a test has. Memory first, while there is none that was freed and could be used again.
    let one = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    one.block_on(memory::per_object(&mut table))?;
    one.block_on(requests::starts(&mut table))?;
    one.block_on(requests::rates(&mut table))?;
    one.block_on(roles::measure(&mut table))?;
    one.block_on(definitions::measure(&mut table))?;
    // A thread more, for the other end of the connection.
    let two = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    two.block_on(requests::lists(&mut table))?;

    print!("{table}");
    Ok(())
}
