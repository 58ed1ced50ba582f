//! Where in an object something was found.

use std::fmt::Write;

/// A path into an object, as a chain of the callers' frames: it costs nothing until it is written out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    /// The object itself.
    Root,
    /// A field, or an entry of a map.
    Field(&'a Self, &'a str),
    /// An element of a list.
    Index(&'a Self, usize),
}

impl Path<'_> {
    /// The path as text, cut after [`MAX_PATH_BYTES`]. Upstream's word for the object itself is `<nil>`.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        if matches!(self, Self::Root) {
            return "<nil>".to_owned();
        }
        self.write(&mut text);
        cut(&mut text);
        text
    }

    /// Recurses as deep as the object is nested, which decoding limits.
    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Field(parent, name) => {
                parent.write(out);
                if out.len() > MAX_PATH_BYTES {
                    return;
                }
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(prefix(name, MAX_PATH_BYTES));
                // A name that was cut must still be seen to be too long.
                if name.len() > MAX_PATH_BYTES {
                    out.push(CUT);
                }
            }
            Self::Index(parent, index) => {
                parent.write(out);
                if out.len() <= MAX_PATH_BYTES {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "[{index}]");
                }
            }
        }
    }
}

/// Cuts a path that is longer than [`MAX_PATH_BYTES`] and marks the place.
pub(crate) fn cut(path: &mut String) {
    if path.len() > MAX_PATH_BYTES {
        path.truncate(prefix(path, MAX_PATH_BYTES).len());
        path.push(CUT);
    }
}

/// As much of the beginning of a path as is ever shown.
pub(crate) fn beginning(path: &str) -> String {
    let mut text = prefix(path, MAX_PATH_BYTES).to_owned();
    if text.len() < path.len() {
        text.push(CUT);
    }
    text
}

/// The longest beginning of at most `max` bytes that ends with a whole character.
fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// As many bytes of a path as an answer shows: names in a body may be as long as the body itself.
pub(crate) const MAX_PATH_BYTES: usize = 1024;
/// As many findings as one decoding tells of (sigs.k8s.io/json `saveStrictError`).
pub(crate) const MAX_FINDINGS: usize = 100;
/// Stands for what was left out.
const CUT: char = '…';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_upstream_does_and_cut() {
        let spec = Path::Field(&Path::Root, "spec");
        let list = Path::Field(&spec, "containers");
        let item = Path::Index(&list, 3);
        for (path, expect) in [
            (Path::Root, "<nil>"),
            (Path::Field(&Path::Root, ""), ""),
            (spec, "spec"),
            (item, "spec.containers[3]"),
            (Path::Field(&item, "name"), "spec.containers[3].name"),
        ] {
            assert_eq!(path.render(), expect);
        }
        let long = "ü".repeat(MAX_PATH_BYTES);
        let below = Path::Field(&spec, &long);
        for path in [below, Path::Index(&below, 1), Path::Field(&below, &long)] {
            let text = path.render();
            assert!(text.starts_with("spec.ü") && text.ends_with("ü…"), "{text}");
            assert!(text.len() <= MAX_PATH_BYTES + CUT.len_utf8(), "{}", text.len());
        }
        assert_eq!(beginning("a.b"), "a.b");
        assert_eq!(beginning(&long).len(), MAX_PATH_BYTES + CUT.len_utf8());
    }
}
