//! Members of objects by name.

use std::sync::LazyLock;
use std::vec;

use serde_json::{Map, Value, map};

/// The members of an object by name.
///
/// Comparing and merging walk two objects side by side, and messages show members by name as Go prints its maps. The maps of
/// [`serde_json`] are in that order but where any crate of the program turns its feature `preserve_order` on, which then holds for all
/// of them: members are then in the order in which a client wrote them.
pub(crate) fn by_name(members: &Map<String, Value>) -> ByName<'_> {
    if *ARE_SORTED {
        return ByName::Sorted(members.iter());
    }
    let mut members: Vec<_> = members.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    ByName::Collected(members.into_iter())
}

/// See [`by_name`].
pub(crate) enum ByName<'v> {
    Sorted(map::Iter<'v>),
    Collected(vec::IntoIter<(&'v String, &'v Value)>),
}

impl<'v> Iterator for ByName<'v> {
    type Item = (&'v String, &'v Value);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Sorted(members) => members.next(),
            Self::Collected(members) => members.next(),
        }
    }
}

/// Whether maps are sorted in this program.
static ARE_SORTED: LazyLock<bool> = LazyLock::new(|| {
    let members = ["b", "a"].map(|name| (name.to_owned(), Value::Null));
    Map::from_iter(members).keys().is_sorted()
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Says something where the tests of this crate run with `--features serde_json/preserve_order`, as `.ci/run` does.
    #[test]
    fn members_come_by_name() {
        let value = json!({"b": 1, "a": 2, "c": 3});
        let names = by_name(value.as_object().unwrap()).map(|(name, _)| name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
