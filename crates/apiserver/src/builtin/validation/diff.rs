//! What differs between two versions of an object, for messages about changes that are not allowed.
//!
//! Upstream: apimachinery `pkg/util/diff/diff.go`, a unified diff of the objects as indented JSON with three lines around each
//! change.

use std::fmt::Write as _;

use serde_json::Value;

use crate::builtin::shown;

/// As many lines as are shown before and after a change.
const CONTEXT: usize = 3;
/// The most pairs of lines that are compared; beyond, all is told as one change.
const PAIRS_MAX: usize = 1 << 20;
/// The most bytes of a diff.
const DIFF_MAX: usize = 16 * 1024;

/// The difference between two values of a type as text, each line with a line feed after it. Empty if there is none.
///
/// `ty` is the name of the type in the table of kinds.
pub(crate) fn diff(ty: &str, old: &Value, new: &Value) -> String {
    diff_texts(&shown::indented(ty, old), &shown::indented(ty, new))
}

/// The same for a struct that `ty` embeds.
pub(crate) fn diff_part(ty: &str, part: &'static str, old: &Value, new: &Value) -> String {
    diff_texts(
        &shown::indented_part(ty, part, old),
        &shown::indented_part(ty, part, new),
    )
}

fn diff_texts(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&old, &new);
    let mut text = String::new();
    for hunk in hunks(&edits) {
        write_hunk(&mut text, &edits[hunk]);
        if text.len() > DIFF_MAX {
            let end = text.floor_char_boundary(DIFF_MAX);
            text.truncate(end);
            break;
        }
    }
    text
}

/// One line of a diff, with where it stands in both texts.
#[derive(Debug, Clone, Copy)]
struct Edit<'a> {
    sign: char,
    line: &'a str,
    old_at: usize,
    new_at: usize,
}

/// All lines of both texts: those that both have by a longest common subsequence.
fn edits<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Edit<'a>> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut edits = Vec::with_capacity(old.len().max(new.len()));
    let (mut i, mut j) = (0, 0);
    let mut push = |sign, line, i: &mut usize, j: &mut usize| {
        edits.push(Edit {
            sign,
            line,
            old_at: *i,
            new_at: *j,
        });
        *i += usize::from(sign != '+');
        *j += usize::from(sign != '-');
    };
    while i < head {
        push(' ', old[i], &mut i, &mut j);
    }
    let common = common_lengths(&old[head..old_end], &new[head..new_end]);
    while i < old_end || j < new_end {
        let rest = |i: usize, j: usize| common.get(i - head).and_then(|row| row.get(j - head)).copied();
        if i < old_end && j < new_end && old[i] == new[j] && !common.is_empty() {
            push(' ', old[i], &mut i, &mut j);
        } else if i < old_end && (j >= new_end || rest(i + 1, j) >= rest(i, j + 1)) {
            push('-', old[i], &mut i, &mut j);
        } else {
            push('+', new[j], &mut i, &mut j);
        }
    }
    while i < old.len() {
        push(' ', old[i], &mut i, &mut j);
    }
    edits
}

/// For every two suffixes the length of what they have in common. Empty when there would be too many.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<Vec<u32>> {
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        return Vec::new();
    }
    let mut lengths = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = if old[i] == new[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    lengths
}

/// The ranges of lines to show: every change with lines around it, those that touch as one.
fn hunks(edits: &[Edit<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in edits.iter().enumerate().filter(|(_, edit)| edit.sign != ' ') {
        let range = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(edits.len());
        match hunks.last_mut() {
            Some(last) if last.end >= range.start => last.end = range.end,
            _ => hunks.push(range),
        }
    }
    hunks
}

fn write_hunk(text: &mut String, edits: &[Edit<'_>]) {
    let Some(first) = edits.first() else { return };
    let count = |sign: char| edits.iter().filter(|edit| edit.sign != sign).count();
    let range = |start: usize, lines: usize| match lines {
        0 => format!("{start},0"),
        1 => (start + 1).to_string(),
        _ => format!("{},{lines}", start + 1),
    };
    let (old, new) = (range(first.old_at, count('+')), range(first.new_at, count('-')));
    let _ = writeln!(text, "@@ -{old} +{new} @@");
    for edit in edits {
        let _ = writeln!(text, "{}{}", edit.sign, edit.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_with_lines_around_them() {
        #[track_caller]
        fn check(old: Value, new: Value, expect: &str) {
            assert_eq!(diff("", &old, &new), expect);
        }
        check(json!({"a": 1}), json!({"a": 1}), "");
        check(
            json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}),
            json!({"a": 1, "b": 2, "c": 3, "d": 5, "e": 5, "f": 6}),
            "@@ -2,7 +2,7 @@\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n- \"d\": 4,\n+ \"d\": 5,\n  \"e\": 5,\n  \"f\": 6\n }\n",
        );
        check(
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
            "@@ -1,3 +1,4 @@\n {\n- \"a\": 1\n+ \"a\": 1,\n+ \"b\": 2\n }\n",
        );
        let numbers = |changed: &[u64]| -> Value {
            (0..20)
                .map(|i| if changed.contains(&i) { 100 + i } else { i })
                .collect()
        };
        let two = diff("", &numbers(&[]), &numbers(&[1, 15]));
        assert_eq!(two.matches("@@ -").count(), 2, "{two}");
    }

    #[test]
    fn a_diff_of_everything_is_bounded() {
        let list = |from: u64| -> Value { (from..from + 5000).collect() };
        assert!(diff("", &list(0), &list(10_000)).len() <= DIFF_MAX);
    }
}
