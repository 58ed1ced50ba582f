//! Answers that are kept with their ETag, so that a server that has nothing new says so in a few bytes: [`HttpCache`].

mod entry;
mod freshness;
mod layer;

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

pub use self::layer::{HttpCacheLayer, MAX_KEPT_BYTES};

use self::entry::Entry;
use super::files;

/// Where answers are kept: in memory, or on disk as kubectl keeps them. Cloning it shares them.
#[derive(Clone)]
pub struct HttpCache {
    place: Arc<Place>,
}

enum Place {
    Memory(Mutex<Memory>),
    Disk(PathBuf),
}

/// Bytes of all bodies in memory: 64 MiB. Beyond that the answers kept longest are forgotten.
pub const MAX_MEMORY_BYTES: usize = 64 << 20;
/// Answers that are kept in memory: 1024. A server has a document or two for each group and version.
const MAX_MEMORY_ENTRIES: usize = 1024;

/// The oldest first.
#[derive(Default)]
struct Memory {
    entries: VecDeque<(String, Entry)>,
    bytes: usize,
}

impl HttpCache {
    /// Keeps answers in memory, at most [`MAX_MEMORY_BYTES`].
    pub fn in_memory() -> Self {
        Self::at(Place::Memory(Mutex::default()))
    }

    /// Keeps answers in a folder, as client-go `discovery/cached/disk/round_tripper.go`: a file is named by the SHA-256 of
    /// the address, and holds the SHA-256 of what follows and the answer as it is on the wire of HTTP/1.1. Files that
    /// cannot be read, or are damaged, count as not there.
    pub fn on_disk(folder: impl Into<PathBuf>) -> Self {
        Self::at(Place::Disk(folder.into()))
    }

    fn at(place: Place) -> Self {
        Self {
            place: Arc::new(place),
        }
    }

    /// The answer to this address.
    async fn get(&self, address: &str) -> Option<Entry> {
        match &*self.place {
            Place::Memory(memory) => lock(memory).get(address),
            Place::Disk(folder) => {
                let file = folder.join(file_name(address));
                let bytes = tokio::task::spawn_blocking(move || files::read(&file, None)).await;
                Entry::parse(unseal(&bytes.ok()??)?)
            }
        }
    }

    async fn put(&self, address: String, entry: Entry) {
        match &*self.place {
            Place::Memory(memory) => lock(memory).put(address, entry),
            Place::Disk(folder) => {
                let file = folder.join(file_name(&address));
                let temporary = folder.join(TEMPORARY);
                let shown = file.display().to_string();
                let write = move || files::write(&file, &temporary, &seal(&entry.to_bytes()));
                if let Ok(Err(error)) = tokio::task::spawn_blocking(write).await {
                    tracing::debug!(file = shown, %error, "an answer could not be kept");
                }
            }
        }
    }
}

/// Where files are written before they get their name, as by kubectl.
const TEMPORARY: &str = ".diskv-temp";

fn file_name(address: &str) -> String {
    use std::fmt::Write as _;
    let sum = Sha256::digest(address.as_bytes());
    sum.iter().fold(String::with_capacity(64), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// Bytes of the sum in front of an answer.
const SUM_BYTES: usize = 32;

fn seal(answer: &[u8]) -> Vec<u8> {
    let mut sealed = Sha256::digest(answer).to_vec();
    sealed.extend_from_slice(answer);
    sealed
}

fn unseal(sealed: &[u8]) -> Option<&[u8]> {
    let (sum, answer) = sealed.split_at_checked(SUM_BYTES)?;
    (Sha256::digest(answer)[..] == *sum).then_some(answer)
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    fn get(&self, address: &str) -> Option<Entry> {
        let found = self.entries.iter().find(|(known, _)| known == address);
        found.map(|(_, entry)| entry.clone())
    }

    fn put(&mut self, address: String, entry: Entry) {
        if let Some(at) = self.entries.iter().position(|(known, _)| *known == address) {
            self.forget(at);
        }
        if entry.body.len() > MAX_MEMORY_BYTES {
            return;
        }
        self.bytes += entry.body.len();
        self.entries.push_back((address, entry));
        while self.bytes > MAX_MEMORY_BYTES || self.entries.len() > MAX_MEMORY_ENTRIES {
            self.forget(0);
        }
    }

    fn forget(&mut self, at: usize) {
        if let Some((_, entry)) = self.entries.remove(at) {
            self.bytes -= entry.body.len();
        }
    }
}

impl fmt::Debug for HttpCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.place {
            Place::Memory(_) => f.write_str("HttpCache::in_memory"),
            Place::Disk(folder) => f.debug_tuple("HttpCache::on_disk").field(folder).finish(),
        }
    }
}

#[cfg(test)]
mod tests;
