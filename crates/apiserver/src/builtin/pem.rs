//! Blocks of PEM in a text, as Go's `encoding/pem` finds them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// What it says it is, such as `CERTIFICATE`.
    pub(crate) label: &'a str,
    /// Whether lines of `name: value` precede its contents.
    pub(crate) has_headers: bool,
    pub(crate) contents: Vec<u8>,
}

/// The blocks of a text. What is none is passed over.
pub(crate) fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut rest = text;
    // A block begins on a line of its own.
    let mut is_start = true;
    std::iter::from_fn(move || {
        loop {
            let (before, begun) = rest.split_once("-----BEGIN ")?;
            rest = begun;
            if !(before.is_empty() && is_start || before.ends_with('\n')) {
                is_start = false;
                continue;
            }
            is_start = false;
            if let Some((block, after)) = block(begun) {
                rest = after;
                is_start = true;
                return Some(block);
            }
        }
    })
}

fn block(begun: &str) -> Option<(Block<'_>, &str)> {
    let (first, body) = begun.split_once('\n')?;
    let label = first.trim_end().strip_suffix("-----")?;
    let (body, closing) = match body.strip_prefix(END) {
        Some(closing) => ("", closing),
        None => {
            let end = body
                .match_indices(END)
                .find(|(at, _)| body[..*at].ends_with('\n'))?
                .0;
            (&body[..end], &body[end + END.len()..])
        }
    };
    let after = closing.strip_prefix(label)?.strip_prefix("-----")?;
    let (last, after) = after.split_once('\n').unwrap_or((after, ""));
    if !last.trim().is_empty() {
        return None;
    }
    let lines = body.lines().map(str::trim);
    let (headers, encoded): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains(':'));
    let contents = STANDARD.decode(encoded.concat()).ok()?;
    let block = Block {
        label,
        has_headers: !headers.is_empty(),
        contents,
    };
    Some((block, after))
}

const END: &str = "-----END ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_text() {
        #[track_caller]
        fn check(text: &str, expect: &[(&str, bool, &str)]) {
            let found: Vec<_> = blocks(text).collect();
            let found: Vec<_> = found
                .iter()
                .map(|block| {
                    let contents = std::str::from_utf8(&block.contents).unwrap();
                    (block.label, block.has_headers, contents)
                })
                .collect();
            assert_eq!(found, expect, "{text:?}");
        }
        check("", &[]);
        check("nothing", &[]);
        check(
            "before\n-----BEGIN A-----\nYQ==\n-----END A-----\n-----BEGIN B C-----\nYm\nJi\n-----END B C-----",
            &[("A", false, "a"), ("B C", false, "bbb")],
        );
        check(
            "-----BEGIN A-----\nX: y\n\nYQ==\n-----END A-----",
            &[("A", true, "a")],
        );
        check("-----BEGIN A-----\nYQ==\n-----END B-----", &[]);
        check("-----BEGIN A-----\n!\n-----END A-----", &[]);
        check(
            "-----BEGIN A-----\n-----BEGIN B-----\nYQ==\n-----END B-----",
            &[("B", false, "a")],
        );
        check("-----BEGIN A-----YQ==", &[]);
        check("-----BEGIN A-----YQ==-----END A-----\n", &[]);
        check("x -----BEGIN A-----\nYQ==\n-----END A-----\n", &[]);
        check("-----BEGIN A-----\nYQ==\n-----END A----- x\n", &[]);
        check(
            "-----BEGIN A-----\r\nYQ== \r\n-----END A-----\r\n",
            &[("A", false, "a")],
        );
        check("-----BEGIN A-----\n-----END A-----\n", &[("A", false, "")]);
    }
}
