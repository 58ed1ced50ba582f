//! Members of objects by name.

use std::sync::LazyLock;
use std::vec;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, map};

/// The members of an object by name, as Go goes through and prints its maps.
///
/// The maps of [`serde_json`] are in that order but where any crate of the program turns its feature `preserve_order` on, which then
/// holds for all of them: members are then in the order in which they were written or added.
#[must_use]
pub fn by_name(members: &Map<String, Value>) -> ByName<'_> {
    if *ARE_SORTED {
        return ByName(Order::Kept(members.iter()));
    }
    let mut members: Vec<_> = members.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    ByName(Order::Made(members.into_iter()))
}

/// See [`by_name`].
#[derive(Debug)]
pub struct ByName<'v>(Order<'v>);

#[derive(Debug)]
enum Order<'v> {
    Kept(map::Iter<'v>),
    Made(vec::IntoIter<(&'v String, &'v Value)>),
}

impl<'v> Iterator for ByName<'v> {
    type Item = (&'v String, &'v Value);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Order::Kept(members) => members.next(),
            Order::Made(members) => members.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Order::Kept(members) => members.size_hint(),
            Order::Made(members) => members.size_hint(),
        }
    }
}

impl DoubleEndedIterator for ByName<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Order::Kept(members) => members.next_back(),
            Order::Made(members) => members.next_back(),
        }
    }
}

impl ExactSizeIterator for ByName<'_> {}

/// Whether maps are sorted in this program.
static ARE_SORTED: LazyLock<bool> = LazyLock::new(|| {
    let members = ["b", "a"].map(|name| (name.to_owned(), Value::Null));
    Map::from_iter(members).keys().is_sorted()
});

/// A value whose text has the members of all objects by name ([`by_name`]).
#[derive(Clone, Copy, Debug)]
pub struct Sorted<'v>(pub &'v Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in by_name(members) {
                    map.serialize_entry(name, &Sorted(value))?;
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            value => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Says something where the tests of this crate run with `--features serde_json/preserve_order`, as `.ci/run` does.
    #[test]
    fn members_come_by_name() {
        let value = json!({"b": 1, "a": [{"d": 2, "c": null}], "c": 3});
        let names = by_name(value.as_object().unwrap()).map(|(name, _)| name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
        let text = serde_json::to_string(&Sorted(&value)).unwrap();
        assert_eq!(text, r#"{"a":[{"c":null,"d":2}],"b":1,"c":3}"#);
    }
}
