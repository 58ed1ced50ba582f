//! What is left out of the sets that a request may own: upstream's reset fields.

use std::collections::BTreeMap;

use super::{FieldSet, PathElement};

/// A rule that shortens sets (structured-merge-diff `fieldpath.Filter`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Leaves out these fields and all below them: what a strategy resets, such as `status` of a main resource.
    Exclude(FieldSet),
    /// Leaves out all but what one of the patterns matches: the few fields that a subresource may change.
    Include(Vec<Pattern>),
}

/// The beginning of paths: everything below is matched too.
pub type Pattern = Vec<Step>;

/// One step of a [`Pattern`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Every element.
    Any,
    /// This element.
    Element(PathElement),
}

impl Step {
    /// The member with this name.
    pub fn field(name: &str) -> Self {
        Self::Element(PathElement::field(name))
    }

    fn matches(&self, element: &PathElement) -> bool {
        match self {
            Self::Any => true,
            Self::Element(own) => own == element,
        }
    }
}

/// The [`Filter`] of each API version, for one resource or subresource; versions that are missing own everything.
pub type ResetFields = BTreeMap<String, Filter>;

impl Filter {
    /// What excludes whole fields, given by their names from the root.
    pub fn exclude<'a>(paths: impl IntoIterator<Item = &'a [&'a str]>) -> Self {
        let paths = paths
            .into_iter()
            .map(|names| super::Path::of_fields(names.iter().copied()));
        Self::Exclude(paths.collect())
    }

    /// The set without what the rule leaves out.
    pub fn apply(&self, set: FieldSet) -> FieldSet {
        match self {
            Self::Exclude(fields) => set.recursive_difference(fields),
            Self::Include(patterns) => {
                let patterns: Vec<&[Step]> = patterns.iter().map(Vec::as_slice).collect();
                include(&set, &patterns)
            }
        }
    }
}

/// An element on the way to where a pattern ends stays a member, as upstream has it.
fn include(set: &FieldSet, patterns: &[&[Step]]) -> FieldSet {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set.clone();
    }
    let mut kept = FieldSet::new();
    for node in set.nodes() {
        let rest: Vec<&[Step]> = patterns
            .iter()
            .filter_map(|pattern| {
                let (first, rest) = pattern.split_first()?;
                first.matches(&node.element).then_some(rest)
            })
            .collect();
        if !rest.is_empty() {
            kept.push(node.element.clone(), node.member, include(&node.below, &rest));
        }
    }
    kept
}
