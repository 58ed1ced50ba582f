//! How much memory there is in use.

use anyhow::Result;

use crate::report::{Table, grouped, mebibytes};
use crate::target::{Target, object};
use crate::used::{self, RESIDENT};

/// How many objects are stored.
const OBJECTS: u64 = 100_000;

/// The resident memory of a process in bytes.
pub fn resident(process: u32) -> Result<u64> {
    used::memory(process, RESIDENT)
}

/// What an object costs a server in this process: by how much the process grows.
pub async fn per_object(table: &mut Table) -> Result<()> {
    let target = Target::start().await?;
    let mut size = 0;
    // What the first requests set up is no object's cost.
    target.create(&object(OBJECTS)).await?;
    let before = resident(std::process::id())?;
    for i in 0..OBJECTS {
        size += target.create(&object(i)).await?.len() as u64;
    }
    let grown = resident(std::process::id())?.saturating_sub(before);
    target.server.shut_down();
    table.row(
        format!(
            "{} objects of {} bytes as sent: memory for each",
            grouped(OBJECTS),
            size / OBJECTS
        ),
        format!("{} bytes", grouped(grown / OBJECTS)),
    );
    table.row(
        format!("{} objects: memory for all", grouped(OBJECTS)),
        mebibytes(grown),
    );
    Ok(())
}
