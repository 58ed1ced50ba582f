//! From a tar stream of somebody else to files, none of them outside the target: [`unpack`].
//!
//! The rules are those of kubectl (pkg/cmd/cp/cp.go `untarAll`): what does not begin with what was asked for ends it, what would leave the
//! target is skipped, and so are links. Beyond that nothing is written through a link that is there already, and names may only be so long.
//! No modes, owners and times are taken over.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::copy::{CopyError, CopyReport, SkipReason};

/// Bytes of a name, which may come in an entry of its own: 64 KiB.
const MAX_NAME_BYTES: u64 = 64 << 10;

/// Unpacks an archive whose names begin with `prefix`, which `target` takes the place of. `max_bytes` of files are written.
pub(super) fn unpack(
    archive: impl Read,
    prefix: &Path,
    target: &Path,
    max_bytes: u64,
) -> Result<CopyReport, CopyError> {
    let mut archive = Archive::new(archive);
    let mut report = CopyReport::default();
    let mut name = Name::default();
    // By themselves entries of long names are read into memory whatever their size is.
    for entry in archive.entries().map_err(corrupt)?.raw(true) {
        let mut entry = entry.map_err(corrupt)?;
        if name.extend(&mut entry)? {
            continue;
        }
        let path = std::mem::take(&mut name).of(&entry)?;
        let Some(inner) = below(&path, prefix)? else {
            report.skip(path, SkipReason::Outside);
            continue;
        };
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            make_folders(target, &inner)?;
        } else if matches!(kind, EntryType::Regular | EntryType::Continuous) {
            let left = max_bytes.saturating_sub(report.bytes);
            if entry.size() > left {
                return Err(CopyError::TooLarge { limit: max_bytes });
            }
            report.bytes += write_file(&mut entry, target, &inner)?;
            report.files += 1;
        } else {
            let why = match kind {
                EntryType::Symlink | EntryType::Link => SkipReason::Link,
                _ => SkipReason::Special,
            };
            report.skip(path, why);
        }
    }
    Ok(report)
}

/// The name of the next entry, where its header has no room for it.
#[derive(Default)]
struct Name(Option<Vec<u8>>);

impl Name {
    /// Takes what an entry says of the next one; false if it says nothing of it.
    fn extend<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<bool, CopyError> {
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => {
                let mut name = read_text(entry)?;
                name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                self.0 = Some(name);
            }
            EntryType::XHeader => {
                let text = read_text(entry)?;
                for extension in PaxExtensions::new(&text) {
                    let extension = extension.map_err(corrupt)?;
                    match extension.key_bytes() {
                        b"path" => self.0 = Some(extension.value_bytes().to_vec()),
                        b"size" => return Err(CopyError::corrupt("a file of more than 8 GiB in pax form")),
                        _ => {}
                    }
                }
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn of<R: Read>(self, entry: &Entry<'_, R>) -> Result<PathBuf, CopyError> {
        let name = self.0.unwrap_or_else(|| entry.path_bytes().into_owned());
        if name.contains(&0) {
            return Err(CopyError::corrupt("a name with a NUL"));
        }
        Ok(PathBuf::from(as_os_str(&name)?))
    }
}

#[cfg(unix)]
fn as_os_str(bytes: &[u8]) -> Result<&OsStr, CopyError> {
    Ok(std::os::unix::ffi::OsStrExt::from_bytes(bytes))
}

#[cfg(not(unix))]
fn as_os_str(bytes: &[u8]) -> Result<&OsStr, CopyError> {
    let text = std::str::from_utf8(bytes);
    text.map(OsStr::new)
        .map_err(|_| CopyError::corrupt("a name that this system cannot have"))
}

fn read_text<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, CopyError> {
    if entry.size() > MAX_NAME_BYTES {
        return Err(CopyError::corrupt("a name of more than 64 KiB"));
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(corrupt)?;
    Ok(text)
}

/// What is left of a path without its prefix; `None` for one that leads elsewhere.
fn below(path: &Path, prefix: &Path) -> Result<Option<PathBuf>, CopyError> {
    let mut inner = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inner.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => return Ok(None),
        }
    }
    match inner.strip_prefix(prefix) {
        Ok(inner) => Ok(Some(inner.to_owned())),
        Err(_) => Err(CopyError::corrupt(format!(
            "{} is not of {}",
            path.display(),
            prefix.display()
        ))),
    }
}

/// Makes the target and the folders below it. The target may be a link, as the caller wants it; nothing below it may.
fn make_folders(target: &Path, inner: &Path) -> Result<(), CopyError> {
    fs::create_dir_all(target).map_err(|error| CopyError::local(target, error))?;
    let mut folder = target.to_owned();
    for name in inner {
        folder.push(name);
        let made = match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => return Err(CopyError::NoFolder { path: folder }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder),
            Err(error) => Err(error),
        };
        made.map_err(|error| CopyError::local(&folder, error))?;
    }
    Ok(())
}

fn write_file<R: Read>(entry: &mut Entry<'_, R>, target: &Path, inner: &Path) -> Result<u64, CopyError> {
    let path = if inner.as_os_str().is_empty() {
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_folders(folder, Path::new(""))?;
        }
        target.to_owned()
    } else {
        make_folders(target, inner.parent().unwrap_or_else(|| Path::new("")))?;
        let path = target.join(inner);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(CopyError::NoFile { path });
        }
        path
    };
    let mut file = File::create(&path).map_err(|error| CopyError::local(&path, error))?;
    let expected = entry.size();
    let mut source = Source { entry, failure: None };
    let copied = io::copy(&mut source, &mut file);
    if let Some(error) = source.failure {
        return Err(corrupt(error));
    }
    let copied = copied.map_err(|error| CopyError::local(&path, error))?;
    if copied != expected {
        return Err(CopyError::corrupt("the archive ends within a file"));
    }
    Ok(copied)
}

/// Keeps the errors of reading apart from those of writing.
struct Source<'a, R> {
    entry: &'a mut R,
    failure: Option<io::Error>,
}

impl<R: Read> Read for Source<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.entry.read(buffer).map_err(|error| {
            let kind = error.kind();
            self.failure = Some(error);
            kind.into()
        })
    }
}

fn corrupt(error: io::Error) -> CopyError {
    CopyError::Corrupt {
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    enum Row {
        File(&'static str, &'static str),
        Folder(&'static str),
        Link(&'static str, &'static str),
        Hard(&'static str, &'static str),
        Fifo(&'static str),
    }

    /// An archive with names that the crate's own writer would refuse.
    fn archive(rows: &[Row]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for row in rows {
            let (name, kind, link, content) = match row {
                Row::File(name, content) => (name, EntryType::Regular, "", *content),
                Row::Folder(name) => (name, EntryType::Directory, "", ""),
                Row::Link(name, to) => (name, EntryType::Symlink, *to, ""),
                Row::Hard(name, to) => (name, EntryType::Link, *to, ""),
                Row::Fifo(name) => (name, EntryType::Fifo, "", ""),
            };
            let mut header = Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
            header.set_entry_type(kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    /// All files below a folder, with their content.
    fn files(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                if path.is_dir() && !path.is_symlink() {
                    found.push(format!("{name}/"));
                    folders.push(path);
                } else {
                    found.push(format!("{name}={}", fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn what_is_written_and_what_is_not() {
        /// What was asked for, the archive, what is there afterwards, and why what is not.
        type Case = (
            &'static str,
            &'static [Row],
            &'static [&'static str],
            &'static [SkipReason],
        );
        let rows: [Case; 7] = [
            ("etc/hosts", &[Row::File("etc/hosts", "a")], &["copy=a"], &[]),
            (
                "data",
                &[
                    Row::Folder("data/"),
                    Row::File("data/x/y", "1"),
                    Row::Folder("./data/empty/"),
                ],
                &["copy/", "copy/empty/", "copy/x/", "copy/x/y=1"],
                &[],
            ),
            (
                "",
                &[Row::File("./a", "1"), Row::File("b", "2")],
                &["copy/", "copy/a=1", "copy/b=2"],
                &[],
            ),
            (
                "data",
                &[
                    Row::File("data/../../x", "1"),
                    Row::File("/etc/passwd", "1"),
                    Row::File("data/ok", "1"),
                ],
                &["copy/", "copy/ok=1"],
                &[SkipReason::Outside, SkipReason::Outside],
            ),
            (
                "data",
                &[
                    Row::Link("data/up", ".."),
                    Row::File("data/up/x", "1"),
                    Row::Hard("data/h", "/etc/passwd"),
                ],
                // The link is not made, so this is a folder.
                &["copy/", "copy/up/", "copy/up/x=1"],
                &[SkipReason::Link, SkipReason::Link],
            ),
            ("data", &[Row::Fifo("data/pipe")], &[], &[SkipReason::Special]),
            // What comes twice is written twice.
            (
                "a",
                &[Row::File("a", "long"), Row::File("a", "b")],
                &["copy=b"],
                &[],
            ),
        ];
        for (prefix, rows, expect, skipped) in rows {
            let folder = tempfile::tempdir().unwrap();
            let bytes = archive(rows);
            let report = unpack(&*bytes, Path::new(prefix), &folder.path().join("copy"), u64::MAX).unwrap();
            assert_eq!(files(folder.path()), expect);
            let reasons: Vec<SkipReason> = report.skipped.iter().map(|entry| entry.reason).collect();
            assert_eq!(reasons, skipped, "{expect:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let (target, outside) = (folder.path().join("copy"), folder.path().join("outside"));
        fs::create_dir(&target).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "mine").unwrap();
        std::os::unix::fs::symlink(&outside, target.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), target.join("file")).unwrap();
        for (name, is_folder) in [("d/link/new", true), ("d/file", false)] {
            let bytes = archive(&[Row::File(name, "theirs")]);
            let result = unpack(&*bytes, Path::new("d"), &target, u64::MAX);
            match result {
                Err(CopyError::NoFolder { .. }) => assert!(is_folder),
                Err(CopyError::NoFile { .. }) => assert!(!is_folder),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(files(&outside), ["file=mine"]);
    }

    #[test]
    fn archives_that_end_it() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("copy");
        let good = archive(&[Row::File("a/b", "content")]);
        let try_it = |bytes: &[u8], prefix: &str, limit| unpack(bytes, Path::new(prefix), &target, limit);
        // What was not asked for.
        assert!(matches!(try_it(&good, "ab", 100), Err(CopyError::Corrupt { .. })));
        assert!(matches!(
            try_it(&good, "a", 6),
            Err(CopyError::TooLarge { limit: 6 })
        ));
        assert!(matches!(
            try_it(b"not an archive at all", "a", 6),
            Err(CopyError::Corrupt { .. })
        ));
        for end in [100, 513, 515] {
            let cut = try_it(&good[..end], "a", 100);
            assert!(matches!(cut, Err(CopyError::Corrupt { .. })), "{end}: {cut:?}");
        }
        // A name that would fill the memory.
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        assert!(
            matches!(try_it(header.as_bytes(), "a", 6), Err(CopyError::Corrupt { why }) if why.contains("64 KiB"))
        );
    }

    #[test]
    fn long_names_in_both_forms() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("d/{}", "x/".repeat(100));
        let mut builder = Builder::new(Vec::new());
        let mut header = Header::new_gnu();
        header.set_size(1);
        builder
            .append_data(&mut header, format!("{name}gnu"), &b"1"[..])
            .unwrap();
        builder
            .append_pax_extensions([("path", format!("{name}pax").as_bytes())])
            .unwrap();
        let mut header = Header::new_ustar();
        header.set_path("short").unwrap();
        header.set_size(1);
        header.set_cksum();
        builder.append(&header, &b"2"[..]).unwrap();
        let bytes = builder.into_inner().unwrap();
        let report = unpack(&*bytes, Path::new("d"), folder.path(), u64::MAX).unwrap();
        assert_eq!(report.files, 2);
        let below = folder.path().join("x/".repeat(100));
        assert_eq!(files(&below), ["gnu=1", "pax=2"]);
    }
}
