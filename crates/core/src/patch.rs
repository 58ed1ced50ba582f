//! The kinds of patches and their media types.

use serde_json::Value;

/// How a patch is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchKind {
    /// JSON patch, RFC 6902.
    Json,
    /// JSON merge patch, RFC 7386.
    Merge,
    /// Strategic merge patch: a merge patch that knows list keys; built-in kinds only.
    Strategic,
    /// Server-side apply, written as YAML or JSON.
    Apply,
}

impl PatchKind {
    /// The media type of the request.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }

    /// The kind that a media type (without parameters) names.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        [Self::Json, Self::Merge, Self::Strategic, Self::Apply]
            .into_iter()
            .find(|k| k.media_type() == media_type)
    }
}

/// A patch to send.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Patch {
    /// JSON patch: an array of operations.
    Json(Value),
    /// JSON merge patch.
    Merge(Value),
    /// Strategic merge patch.
    Strategic(Value),
    /// Server-side apply: the fields that the field manager wants to own.
    Apply(Value),
}

impl Patch {
    /// How this patch is to be read.
    pub fn kind(&self) -> PatchKind {
        match self {
            Self::Json(_) => PatchKind::Json,
            Self::Merge(_) => PatchKind::Merge,
            Self::Strategic(_) => PatchKind::Strategic,
            Self::Apply(_) => PatchKind::Apply,
        }
    }

    /// The patch itself.
    pub fn body(&self) -> &Value {
        match self {
            Self::Json(body) | Self::Merge(body) | Self::Strategic(body) | Self::Apply(body) => body,
        }
    }
}
