//! Labels, whose text the objects of a store share.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The labels of an object.
///
/// Known without decoding anything, and shared: the pods of one replica set have one set of labels between them, and
/// every key and value is in memory once for each store.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Labels(Option<Pairs>);

/// By key, each key once.
type Pairs = Arc<[(Arc<str>, Arc<str>)]>;

/// What is meant where there is no object to ask.
static NONE: Labels = Labels(None);

impl Labels {
    /// No labels.
    #[must_use]
    pub fn none() -> &'static Self {
        &NONE
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let pairs = self.0.as_deref()?;
        let at = pairs.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
        Some(&pairs[at].1)
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .flat_map(|pairs| pairs.iter())
            .map(|(key, value)| (&**key, &**value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |pairs| pairs.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Reads the JSON text of `metadata.labels`. What is no map of strings has no labels. `share` gives text that is shared.
    pub(crate) fn read(text: &str, mut share: impl FnMut(&str) -> Arc<str>) -> Self {
        let parsed: BTreeMap<Cow<'_, str>, Cow<'_, str>> = serde_json::from_str(text).unwrap_or_default();
        if parsed.is_empty() {
            return Self::default();
        }
        Self(Some(
            parsed
                .iter()
                .map(|(key, value)| (share(key), share(value)))
                .collect(),
        ))
    }

    /// Whether the text is this set of labels as Kubernetes writes it. A text that is written in another way may be
    /// the same set all the same.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        let expect = |text: &mut &str, part: &str| text.strip_prefix(part).map(|rest| *text = rest).is_some();
        let mut rest = text;
        let mut first = true;
        for (key, value) in self.iter() {
            let open = if first { "{\"" } else { ",\"" };
            first = false;
            let all = [open, key, "\":\"", value, "\""];
            // A quote or an escape in a part would be read as something else; labels have neither.
            if key.contains(['"', '\\'])
                || value.contains(['"', '\\'])
                || !all.iter().all(|part| expect(&mut rest, part))
            {
                return false;
            }
        }
        rest == "}"
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
