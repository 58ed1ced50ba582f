//! What is made: texts by path, to be printed or written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_core::json::Sorted;
use serde_json::Value;

use crate::error::ManifestError;

/// Texts by path. Paths are relative, with `/` between their parts, and never lead out of the folder that the tree is
/// written to. It is the one way by which this crate writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

/// Why a tree does not take or does not write a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The path is absolute, leads upwards, or is no path everywhere.
    #[error("{path:?} is no path within the tree")]
    Path {
        /// The path.
        path: String,
    },
    /// There is such a file with another text.
    #[error("{path} is there already, with another text")]
    Duplicate {
        /// The path.
        path: String,
    },
    /// The operating system refused.
    #[error("{} cannot be {verb}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// `read` or `written`.
        verb: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// How a file on disk differs from the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is not there.
    Missing,
    /// It has another text.
    Changed,
}

impl Tree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Adding the same file again changes nothing.
    ///
    /// # Errors
    ///
    /// The path leads elsewhere, or there is such a file with another text.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<String>) -> Result<(), TreeError> {
        let (path, text) = (path.into(), text.into());
        if !is_within(&path) {
            return Err(TreeError::Path { path });
        }
        match self.files.get(&path) {
            Some(present) if *present != text => Err(TreeError::Duplicate { path }),
            Some(_) => Ok(()),
            None => {
                self.files.insert(path, text);
                Ok(())
            }
        }
    }

    /// Adds an object as YAML with keys by name, after the `---` with which controller-gen begins its files.
    pub(crate) fn insert_object(&mut self, path: &str, object: &Value) -> Result<(), ManifestError> {
        let text = kubewright_yaml::to_string(&Sorted(object)).map_err(|source| ManifestError::Encode {
            path: path.to_owned(),
            source,
        })?;
        Ok(self.insert(path, format!("{SEPARATOR}{text}"))?)
    }

    /// Adds all files of another tree.
    ///
    /// # Errors
    ///
    /// The trees have different files of one path; those before it have been added.
    pub fn merge(&mut self, other: Self) -> Result<(), TreeError> {
        other
            .files
            .into_iter()
            .try_for_each(|(path, text)| self.insert(path, text))
    }

    /// The text of a file.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Paths and texts, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Whether there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// All YAML files as one stream of documents, sorted by path, for `kubectl apply -f -`. Other files are left out.
    #[must_use]
    pub fn to_stream(&self) -> String {
        let mut stream = String::new();
        for (path, text) in self.files() {
            if !path.ends_with(".yaml") && !path.ends_with(".yml") {
                continue;
            }
            if !text.starts_with(SEPARATOR) {
                stream.push_str(SEPARATOR);
            }
            stream.push_str(text);
            if !text.ends_with('\n') {
                stream.push('\n');
            }
        }
        stream
    }

    /// How the files below a folder differ from those of the tree, sorted by path. Files that the tree does not have are
    /// passed over. For checks that what is committed is up to date.
    ///
    /// # Errors
    ///
    /// [`TreeError::Io`] for a file that is there and cannot be read.
    pub fn differences(&self, folder: &Path) -> Result<Vec<(&str, Difference)>, TreeError> {
        let mut differences = Vec::new();
        for (path, text) in self.files() {
            let on_disk = folder.join(path);
            match fs::read(&on_disk) {
                Ok(bytes) if bytes == text.as_bytes() => {}
                Ok(_) => differences.push((path, Difference::Changed)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    differences.push((path, Difference::Missing));
                }
                Err(source) => {
                    return Err(TreeError::Io {
                        path: on_disk,
                        verb: "read",
                        source,
                    });
                }
            }
        }
        Ok(differences)
    }

    /// Writes what differs below a folder, which is created where it is missing, and gives the paths of what was written.
    /// Each file is replaced as a whole: readers see the old or the new text. Nothing is removed.
    ///
    /// # Errors
    ///
    /// [`TreeError::Io`]; files before the one that failed have been written.
    pub fn write_to(&self, folder: &Path) -> Result<Vec<&str>, TreeError> {
        let mut written = Vec::new();
        for (path, _) in self.differences(folder)? {
            let target = folder.join(path);
            replace(&target, &self.files[path]).map_err(|source| TreeError::Io {
                path: target,
                verb: "written",
                source,
            })?;
            written.push(path);
        }
        Ok(written)
    }
}

/// Writes beside the target and renames.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut beside = target.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text)?;
    fs::rename(&beside, target).inspect_err(|_| {
        // What stays behind is of no use to anybody; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    })
}

/// Whether a path is relative, leads nowhere else, and means the same on every system.
fn is_within(path: &str) -> bool {
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.contains(|c: char| c.is_control() || matches!(c, '\\' | ':'))
    };
    path.split('/').all(is_part)
}

const SEPARATOR: &str = "---\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_within() {
        let rows = [
            ("a.yaml", true),
            ("crd/bases/a_b.yaml", true),
            ("..a/b", true),
            ("", false),
            ("/etc/passwd", false),
            ("a//b", false),
            ("a/", false),
            ("./a", false),
            ("a/../../b", false),
            ("a\\..\\b", false),
            ("c:/a", false),
            ("a\nb", false),
        ];
        for (path, expect) in rows {
            assert_eq!(Tree::new().insert(path, "").is_ok(), expect, "{path:?}");
        }
    }

    #[test]
    fn files_are_never_overwritten() {
        let mut tree = Tree::new();
        tree.insert("a", "1").unwrap();
        tree.insert("a", "1").unwrap();
        let error = tree.insert("a", "2").unwrap_err();
        assert_eq!(error.to_string(), "a is there already, with another text");
        let mut other = Tree::new();
        other.insert("b", "3").unwrap();
        tree.merge(other).unwrap();
        let files: Vec<_> = tree.files().collect();
        assert_eq!(files, [("a", "1"), ("b", "3")]);
    }

    #[test]
    fn streams() {
        let mut tree = Tree::new();
        for (path, text) in [
            ("b.yaml", "---\nb: 1\n"),
            ("a.yml", "a: 1"),
            ("README.md", "# Read"),
        ] {
            tree.insert(path, text).unwrap();
        }
        assert_eq!(tree.to_stream(), "---\na: 1\n---\nb: 1\n");
        assert_eq!(Tree::new().to_stream(), "");
    }

    #[test]
    fn writes_what_differs() {
        let folder = tempfile::tempdir().unwrap();
        let mut tree = Tree::new();
        tree.insert("rbac/role.yaml", "a: 1\n").unwrap();
        tree.insert("top.yaml", "b: 1\n").unwrap();
        let missing = Difference::Missing;
        assert_eq!(
            tree.differences(folder.path()).unwrap(),
            [("rbac/role.yaml", missing), ("top.yaml", missing)]
        );
        assert_eq!(
            tree.write_to(folder.path()).unwrap(),
            ["rbac/role.yaml", "top.yaml"]
        );
        assert_eq!(tree.write_to(folder.path()).unwrap(), [""; 0]);

        fs::write(folder.path().join("top.yaml"), "b: 2\n").unwrap();
        fs::write(folder.path().join("other.yaml"), "").unwrap();
        assert_eq!(
            tree.differences(folder.path()).unwrap(),
            [("top.yaml", Difference::Changed)]
        );
        assert_eq!(tree.write_to(folder.path()).unwrap(), ["top.yaml"]);
        assert_eq!(
            fs::read_to_string(folder.path().join("top.yaml")).unwrap(),
            "b: 1\n"
        );
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["other.yaml", "rbac", "top.yaml"]);

        // A file where a folder should be.
        fs::remove_dir_all(folder.path().join("rbac")).unwrap();
        fs::write(folder.path().join("rbac"), "").unwrap();
        let error = tree.write_to(folder.path()).unwrap_err();
        assert!(matches!(error, TreeError::Io { .. }), "{error}");
    }
}
