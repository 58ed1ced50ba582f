//! The order of faults: upstream tells of those that it finds by markers at the types after those that it finds by hand.
//!
//! Upstream: `ValidateDeclaratively` in apiserver pkg/registry/rest/validate.go and the errors that are marked as
//! `CoveredByDeclarative` in `pkg/apis/*/validation`, which give way to the declared ones.

use kubewright_core::{FieldError, FieldErrorKind};

/// A fault that upstream declares: its path, with `[]` for every index and key, and its kind.
pub(crate) type Declared = (&'static str, FieldErrorKind);

/// Moves the declared faults behind the others, in the order in which they are declared.
pub(crate) fn tell_last(errors: &mut [FieldError], declared: &[Declared]) {
    if errors.len() > 1 && !declared.is_empty() {
        errors.sort_by_cached_key(|error| rank(error, declared));
    }
}

/// Zero for a fault that is found by hand.
fn rank(error: &FieldError, declared: &[Declared]) -> usize {
    let path = without_indices(error.path.as_str());
    declared
        .iter()
        .position(|(known, kind)| *known == path && *kind == error.kind)
        .map_or(0, |place| place + 1)
}

fn without_indices(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut is_inside = false;
    for symbol in path.chars() {
        match symbol {
            '[' => is_inside = true,
            ']' => is_inside = false,
            _ if is_inside => continue,
            _ => {}
        }
        text.push(symbol);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_core::FieldPath;

    #[test]
    fn declared_faults_come_last() {
        #[track_caller]
        fn check(paths: &[&str], expect: &[&str]) {
            const DECLARED: &[Declared] = &[
                ("b[].c", FieldErrorKind::Required),
                ("a", FieldErrorKind::Required),
            ];
            let required = |path: &&str| FieldError::required(FieldPath::new(*path), "");
            let mut errors: Vec<FieldError> = paths.iter().map(required).collect();
            tell_last(&mut errors, DECLARED);
            let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
            assert_eq!(paths, expect);
        }
        check(&["a", "x"], &["x", "a"]);
        check(
            &["a", "b[0].c", "x", "b[1].c", "y"],
            &["x", "y", "b[0].c", "b[1].c", "a"],
        );
        check(&["b[k.v/x].c", "b.c", "b[0].d"], &["b.c", "b[0].d", "b[k.v/x].c"]);
        let mut errors = vec![
            FieldError::invalid(FieldPath::new("a"), "", ""),
            FieldError::required(FieldPath::new("z"), ""),
        ];
        tell_last(&mut errors, &[("a", FieldErrorKind::Required)]);
        assert_eq!(errors[0].path.as_str(), "a");
    }
}
