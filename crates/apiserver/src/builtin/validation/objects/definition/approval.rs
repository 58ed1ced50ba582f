//! Groups of the Kubernetes project need an approval (KEP-1111, apiextensions `pkg/apihelpers/helpers.go`).

use kubewright_core::{FieldError, FieldPath};
use serde_json::Value;

use super::super::super::super::value::str_at;

/// The annotation that tells of it.
pub(crate) const APPROVED: &str = "api-approved.kubernetes.io";

/// What a definition says of its approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval<'a> {
    /// The group is not one of the project's.
    NotNeeded,
    /// It names where it was approved.
    Approved(&'a str),
    /// It says that it was not, and why.
    Bypassed(&'a str),
    /// It says nothing.
    Missing,
    /// It says something else.
    Invalid(&'a str),
}

impl<'a> Approval<'a> {
    /// Of a definition as it is written or stored.
    pub(crate) fn of(definition: &'a Value) -> Self {
        let group = str_at(definition, "/spec/group");
        let annotation = definition["metadata"]["annotations"][APPROVED].as_str();
        Self::stated(group, annotation.unwrap_or_default())
    }

    /// Of a group and the annotation, which is empty where there is none.
    pub(crate) fn stated(group: &str, annotation: &'a str) -> Self {
        let is_protected = ["k8s.io", "kubernetes.io"].iter().any(|owner| {
            group
                .strip_suffix(owner)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        if !is_protected {
            return Self::NotNeeded;
        }
        let is_url = annotation.split_once("://").is_some_and(|(scheme, rest)| {
            !scheme.is_empty()
                && !rest.is_empty()
                && !rest.starts_with('/')
                && !rest.contains(char::is_whitespace)
        });
        match annotation {
            "" => Self::Missing,
            reason if reason.starts_with("unapproved") => Self::Bypassed(reason),
            url if is_url => Self::Approved(url),
            other => Self::Invalid(other),
        }
    }

    /// What is said of it, in errors and in conditions.
    pub(crate) fn words(self) -> String {
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        match self {
            Self::NotNeeded => String::new(),
            Self::Approved(url) => format!("approved in {url}"),
            Self::Bypassed(reason) => format!("not approved: {reason:?}"),
            Self::Missing => format!("protected groups must have approval annotation {APPROVED:?}, {see}"),
            Self::Invalid(_) => format!(
                "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting with \"unapproved\", {see}"
            ),
        }
    }
}

/// Checks a definition; one that had no better annotation before may stay without.
pub(super) fn check(errors: &mut Vec<FieldError>, definition: &Value, old: Option<&Value>) {
    let approval = Approval::of(definition);
    let is_same = |old| std::mem::discriminant(&Approval::of(old)) == std::mem::discriminant(&approval);
    if old.is_some_and(is_same) {
        return;
    }
    let path = || FieldPath::new("metadata").child("annotations").key(APPROVED);
    match approval {
        Approval::Missing => errors.push(FieldError::required(path(), approval.words())),
        Approval::Invalid(text) => errors.push(FieldError::invalid(path(), text, approval.words())),
        Approval::NotNeeded | Approval::Approved(_) | Approval::Bypassed(_) => {}
    }
}
