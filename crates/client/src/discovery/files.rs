//! Files of caches: written whole or not at all, read with a limit.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Bytes of a cached file that are read; a larger one counts as not there. 64 MiB.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a file that is not older than `ttl`. Whatever is in the way, there is no such file then.
pub(super) fn read(path: &Path, ttl: Option<Duration>) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    if let Some(ttl) = ttl {
        // A time in the future has no age, which client-go takes for fresh.
        let age = SystemTime::now().duration_since(metadata.modified().ok()?);
        if age.is_ok_and(|age| age > ttl) {
            return None;
        }
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Writes a file by way of another in `temporary`, which has to be on the same file system. Folders that are missing are
/// made. Modes are those of client-go, `discovery/cached/disk`.
pub(super) fn write(path: &Path, temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    if let Some(folder) = path.parent() {
        create_folders(folder)?;
    }
    create_folders(temporary)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut unique = name.to_owned();
    unique.push(format!(".{}-{number}", std::process::id()));
    let temporary = temporary.join(unique);
    let written = File::create_new(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            set_mode(&file)
        })
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(unix)]
fn create_folders(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o750).create(path)
}

#[cfg(not(unix))]
fn create_folders(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Whatever the umask, as client-go.
#[cfg(unix)]
fn set_mode(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o660))
}

#[cfg(not(unix))]
fn set_mode(_file: &File) -> io::Result<()> {
    Ok(())
}
