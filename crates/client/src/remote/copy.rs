//! Copies of files between containers and this machine, by `tar` in the container as `kubectl cp` does: [`CopyReport`].

use std::fs::{self, File, ReadDir};
use std::io::{self, Read, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use tar::{Builder, Header};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::SyncIoBridge;

use super::channels::StreamProtocol;
use super::options::ExecOptions;
use super::process::{RemoteOutput, RemoteProcess};
use super::unpack::unpack;
use crate::api::Api;
use crate::error::Error;

/// How to copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOptions {
    /// The container. Default: the only one there is.
    pub container: Option<String>,
    /// Bytes of files that are taken from a container, which may have no end. Default: [`u64::MAX`].
    pub max_bytes: u64,
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self {
            container: None,
            max_bytes: u64::MAX,
        }
    }
}

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was not copied: the first [`MAX_SKIPPED`] of it.
    pub skipped: Vec<SkippedEntry>,
}

/// Entries of [`CopyReport::skipped`] that are remembered: 1000.
pub const MAX_SKIPPED: usize = 1000;

/// Something that was not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// Its name, as it is at the source.
    pub path: PathBuf,
    /// Why.
    pub reason: SkipReason,
}

/// Why something was not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// It would lie outside the target.
    Outside,
    /// It is a link, of which nobody knows where it leads here.
    Link,
    /// It is neither file nor folder nor link.
    Special,
}

impl CopyReport {
    pub(super) fn skip(&mut self, path: PathBuf, reason: SkipReason) {
        if self.skipped.len() < MAX_SKIPPED {
            self.skipped.push(SkippedEntry { path, reason });
        }
    }
}

/// Why a copy is not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The command in the container could not be run to its end.
    #[error(transparent)]
    Client(#[from] Error),
    /// The command in the container failed.
    #[error("`{command}` in the container ended with {code}: {text}")]
    Command {
        /// The command.
        command: String,
        /// Its exit code.
        code: i32,
        /// What it wrote on standard error: at most 4 KiB.
        text: String,
    },
    /// A file here cannot be read or written.
    #[error("{} cannot be copied", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Where a folder has to be is something else, such as a link that would lead out of the target.
    #[error("{} is no folder", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// Where a file has to be is something else, such as a link that would lead out of the target.
    #[error("{} is no plain file", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// What came from the container is not an archive of what was asked for.
    #[error("the archive from the container is corrupt: {why}")]
    Corrupt {
        /// What is wrong with it.
        why: String,
    },
    /// The files are larger than they may be.
    #[error("the files have more than {limit} bytes")]
    TooLarge {
        /// [`CopyOptions::max_bytes`].
        limit: u64,
    },
    /// Everything was sent, but the server cannot tell the container so, and `tar` waits for it. Servers from 1.30 on can.
    #[error("the server cannot tell the container that the input has ended")]
    Unfinished,
}

impl CopyError {
    pub(super) fn corrupt(why: impl Into<String>) -> Self {
        Self::Corrupt { why: why.into() }
    }

    /// Whether it comes of a command that reads no more, which knows better why.
    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Local { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(super) fn local(path: &Path, source: io::Error) -> Self {
        Self::Local {
            path: path.to_owned(),
            source,
        }
    }
}

/// How long a process whose output makes no sense may take to say why: 5 s.
const GRACE_OF_CORRUPT: Duration = Duration::from_secs(5);

/// Copies.
impl Api<Pod> {
    /// Copies a file or a folder out of a container. `local` is the name of the copy, not the folder for it; what is there already stays, and
    /// files of the same name are replaced. The container needs `tar`.
    ///
    /// Nothing is written outside `local` whatever the container sends, and no links are made. Memory does not grow with what is copied.
    ///
    /// # Errors
    ///
    /// [`CopyError`]; what was copied until then stays.
    pub async fn copy_from(
        &self,
        name: &str,
        remote: &str,
        local: impl Into<PathBuf>,
        options: &CopyOptions,
    ) -> Result<CopyReport, CopyError> {
        let prefix = member_prefix(remote);
        // What begins with a dash is an option otherwise.
        let remote = match remote.starts_with('-') {
            true => format!("./{remote}"),
            false => remote.to_owned(),
        };
        let command = ["tar", "cf", "-", &remote];
        let mut process = self.exec(name, &command, &outputs(options)).await?;
        let Some(stdout) = process.stdout.take() else {
            return Err(CopyError::corrupt("no output"));
        };
        let (local, max_bytes) = (local.into(), options.max_bytes);
        let archive = SyncIoBridge::new(stdout);
        let mut unpacking = tokio::task::spawn_blocking(move || unpack(archive, &prefix, &local, max_bytes));
        let mut ending = pin!(end(process, &command));
        let (unpacked, ended) = tokio::select! {
            unpacked = &mut unpacking => match unpacked {
                // Nothing is to be had from the rest, which may have no end: the process goes with its connection.
                Ok(Err(error)) if !matches!(error, CopyError::Corrupt { .. }) => return Err(error),
                Ok(Err(error)) => {
                    let ended = tokio::time::timeout(GRACE_OF_CORRUPT, ending).await;
                    let Ok(ended) = ended else { return Err(error) };
                    (Ok(Err(error)), ended)
                }
                unpacked => (unpacked, ending.await),
            },
            ended = &mut ending => (unpacking.await, ended),
        };
        match (unpacked, ended) {
            // An archive that was cut off says less than why it was.
            (Ok(Err(CopyError::Corrupt { .. })) | Ok(Ok(_)), Err(error)) => Err(error),
            (Ok(unpacked), _) => unpacked,
            (Err(error), _) => Err(CopyError::corrupt(error.to_string())),
        }
    }

    /// Copies a file or a folder into a container: into `remote` if that is a folder there, else as `remote`, whose folder must exist. The
    /// container needs `tar`, and `test` to tell folders. Links are copied as links, modes are taken over as far as the user in the container may.
    ///
    /// Memory does not grow with what is copied. A folder is open for as long as something below it is copied, so folders nest as deep as
    /// this process may have files open.
    ///
    /// # Errors
    ///
    /// [`CopyError`]; what was copied until then stays.
    pub async fn copy_to(
        &self,
        name: &str,
        local: impl Into<PathBuf>,
        remote: &str,
        options: &CopyOptions,
    ) -> Result<CopyReport, CopyError> {
        let mut local = local.into();
        fs::symlink_metadata(&local).map_err(|error| CopyError::local(&local, error))?;
        if local.file_name().is_none() {
            // As `.`: it has a name all the same.
            local = fs::canonicalize(&local).map_err(|error| CopyError::local(&local, error))?;
        }
        let Some(base) = local.file_name().map(PathBuf::from) else {
            let nameless = io::Error::new(
                io::ErrorKind::InvalidInput,
                "the root of all folders has no name to copy it by",
            );
            return Err(CopyError::local(&local, nameless));
        };
        let test = self
            .exec(name, &["test", "-d", remote], &outputs(options))
            .await?;
        let is_folder = test.join().await?.is_success();
        let (folder, member) = match is_folder {
            true => (remote.to_owned(), base),
            false => split(remote),
        };
        let command = ["tar", "-xmf", "-", "-C", &folder];
        let mut process = self.exec(name, &command, &outputs(options).with_stdin()).await?;
        let Some(stdin) = process.stdin.take() else {
            return Err(CopyError::corrupt("no input"));
        };
        let protocol = process.protocol();
        let archive = SyncIoBridge::new(stdin);
        let mut packing = tokio::task::spawn_blocking(move || pack(archive, &local, &member));
        let mut ending = Box::pin(end(process, &command));
        let (packed, ended) = tokio::select! {
            packed = &mut packing => (packed, None),
            // A `tar` that failed ends the packing at its next write; one that saw the end of the archive is a little faster than it.
            ended = &mut ending => {
                ended?;
                (packing.await, Some(()))
            }
        };
        let packed = packed.unwrap_or_else(|error| Err(CopyError::corrupt(error.to_string())));
        match (&packed, ended) {
            (_, Some(())) => {}
            (Err(error), None) if !error.is_broken_pipe() => {}
            (_, None) => match protocol {
                StreamProtocol::V5 => ending.await?,
                StreamProtocol::V4 => match tokio::time::timeout(MAX_UNTOLD_END, ending).await {
                    Ok(ended) => ended?,
                    Err(_) => return Err(CopyError::Unfinished),
                },
            },
        }
        packed
    }
}

/// How long a `tar` that cannot be told the end of its input may take to see it by the archive: 10 s. Most do, GNU's does not.
const MAX_UNTOLD_END: Duration = Duration::from_secs(10);
/// Bytes of the words of a command that failed.
const MAX_TEXT_BYTES: u64 = 4 << 10;
/// Some versions of `tar` read no less at once than they write, which is this by default.
const RECORD_BYTES: u64 = 20 * 512;

fn outputs(options: &CopyOptions) -> ExecOptions {
    ExecOptions {
        container: options.container.clone(),
        ..ExecOptions::default()
    }
}

/// Waits for the end of a command, whose words explain its failure.
async fn end(mut process: RemoteProcess, command: &[&str]) -> Result<(), CopyError> {
    let stderr = process.stderr.take();
    process.stdout = None;
    let (text, status) = tokio::join!(words(stderr), process.status());
    let status = status?;
    if status.is_success() {
        return Ok(());
    }
    Err(CopyError::Command {
        command: command.join(" "),
        code: status.code(),
        text: text.trim().to_owned(),
    })
}

/// The beginning of what is written; the rest is discarded.
async fn words(stream: Option<RemoteOutput>) -> String {
    let mut text = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(MAX_TEXT_BYTES).read_to_end(&mut text).await;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// What the names in an archive of a path begin with: `tar` leaves out what leads up or to the root.
fn member_prefix(remote: &str) -> PathBuf {
    let mut names: Vec<&str> = Vec::new();
    for name in remote.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.iter().collect()
}

/// The folder of a path in a container, and its last name.
fn split(remote: &str) -> (String, PathBuf) {
    match remote.trim_end_matches('/').rsplit_once('/') {
        None => (".".to_owned(), remote.trim_end_matches('/').into()),
        Some(("", name)) => ("/".to_owned(), name.into()),
        Some((folder, name)) => (folder.to_owned(), name.into()),
    }
}

/// Writes an archive of a file or folder, by the name of `member`.
fn pack(archive: impl Write, local: &Path, member: &Path) -> Result<CopyReport, CopyError> {
    let mut report = CopyReport::default();
    let mut builder = Builder::new(Counted {
        inner: archive,
        bytes: 0,
    });
    let mut open = Vec::new();
    let mut next = Some((local.to_owned(), member.to_owned()));
    while let Some((path, name)) = next {
        let packed = pack_one(&mut builder, &path, &name, &mut report);
        if let Some(entries) = packed.map_err(|error| CopyError::local(&path, error))? {
            open.push(Folder { path, name, entries });
        }
        next = next_entry(&mut open)?;
    }
    let finished = builder.into_inner().and_then(|mut archive| {
        // From here on the archive is whole: who reads no more has what it needs.
        let rest = (RECORD_BYTES - archive.bytes % RECORD_BYTES) % RECORD_BYTES;
        let filled = io::copy(&mut io::repeat(0).take(rest), &mut archive).and_then(|_| archive.flush());
        filled.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        })
    });
    finished.map_err(|error| CopyError::local(local, error))?;
    Ok(report)
}

/// A folder with entries that were not packed yet.
struct Folder {
    path: PathBuf,
    /// What it is called in the archive.
    name: PathBuf,
    entries: Peekable<ReadDir>,
}

/// The next path to pack, and its name: the innermost folder first.
fn next_entry(open: &mut Vec<Folder>) -> Result<Option<(PathBuf, PathBuf)>, CopyError> {
    while let Some(folder) = open.last_mut() {
        if let Some(entry) = folder.entries.next() {
            let entry = entry
                .map_err(|error| CopyError::local(&folder.path, error))?
                .file_name();
            return Ok(Some((folder.path.join(&entry), folder.name.join(&entry))));
        }
        open.pop();
    }
    Ok(None)
}

/// Packs a file, a link, or an empty folder; the entries of another folder are given back.
fn pack_one(
    builder: &mut Builder<impl Write>,
    path: &Path,
    name: &Path,
    report: &mut CopyReport,
) -> io::Result<Option<Peekable<ReadDir>>> {
    let metadata = fs::symlink_metadata(path)?;
    let mut header = Header::new_gnu();
    header.set_metadata(&metadata);
    if metadata.is_dir() {
        let mut entries = fs::read_dir(path)?.peekable();
        // Folders with something in them are made for that.
        if entries.peek().is_some() {
            return Ok(Some(entries));
        }
        builder.append_data(&mut header, name, io::empty())?;
    } else if metadata.is_symlink() {
        header.set_size(0);
        builder.append_link(&mut header, name, fs::read_link(path)?)?;
        report.files += 1;
    } else if metadata.is_file() {
        let mut content = Counted {
            inner: File::open(path)?.take(metadata.len()),
            bytes: 0,
        };
        builder.append_data(&mut header, name, &mut content)?;
        if content.bytes != metadata.len() {
            return Err(io::Error::other("it became shorter while it was copied"));
        }
        report.files += 1;
        report.bytes += content.bytes;
    } else {
        report.skip(path.to_owned(), SkipReason::Special);
    }
    Ok(None)
}

/// Counts what passes.
struct Counted<T> {
    inner: T,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.bytes += length as u64;
        Ok(length)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(buffer)?;
        self.bytes += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_containers() {
        for (remote, prefix) in [
            ("/etc/hosts", "etc/hosts"),
            ("etc//hosts/", "etc/hosts"),
            ("./a", "a"),
            ("../../a/b", "a/b"),
            ("/a/../b", "b"),
            ("/", ""),
            (".", ""),
        ] {
            assert_eq!(member_prefix(remote), Path::new(prefix), "{remote}");
        }
        for (remote, folder, name) in [
            ("a", ".", "a"),
            ("/a", "/", "a"),
            ("/tmp/b/", "/tmp", "b"),
            ("x/y", "x", "y"),
        ] {
            assert_eq!(split(remote), (folder.to_owned(), name.into()), "{remote}");
        }
    }

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir_all(source.join("empty")).unwrap();
        fs::create_dir_all(source.join("deep/er")).unwrap();
        fs::write(source.join("deep/er/file"), "x".repeat(100_000)).unwrap();
        fs::write(source.join("none"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("none", source.join("link")).unwrap();
        let mut archive = Vec::new();
        let report = pack(&mut archive, &source, Path::new("to")).unwrap();
        assert_eq!(report.bytes, 100_000);
        assert_eq!(archive.len() as u64 % RECORD_BYTES, 0);
        let target = folder.path().join("target");
        let unpacked = unpack(&*archive, Path::new("to"), &target, u64::MAX).unwrap();
        assert_eq!((unpacked.files, unpacked.bytes), (2, 100_000));
        assert_eq!(unpacked.skipped.len(), usize::from(cfg!(unix)));
        assert!(target.join("empty").is_dir());
        assert_eq!(fs::read(target.join("deep/er/file")).unwrap().len(), 100_000);

        let missing = pack(io::sink(), &folder.path().join("missing"), Path::new("x"));
        assert!(matches!(missing, Err(CopyError::Local { .. })));
    }
}
