//! One step of a path.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use serde_json::Value;

use super::order::{compare, print};

/// One step from a value to one below it (structured-merge-diff `fieldpath/element.go`).
///
/// Elements are ordered as upstream orders them: names, keys, values, indices; numbers by their value.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A member of a map or an object.
    Field(Box<str>),
    /// The item of a list of type map that has these values in its keys. Sorted by name of the key.
    Key(Box<[(Box<str>, Value)]>),
    /// The item of a list of type set with this value.
    Value(Value),
    /// The item at a place of an atomic list. Sets never have it, but older clients may have written it.
    Index(i64),
}

impl PathElement {
    /// The member with this name.
    pub fn field(name: impl Into<Box<str>>) -> Self {
        Self::Field(name.into())
    }

    /// The item with these keys, in any order.
    pub fn key<N: Into<Box<str>>>(keys: impl IntoIterator<Item = (N, Value)>) -> Self {
        let mut keys: Vec<(Box<str>, Value)> = keys
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect();
        keys.sort_by(|(left, _), (right, _)| left.cmp(right));
        Self::Key(keys.into())
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => {
                let unequal = left
                    .iter()
                    .zip(right)
                    .map(|((left_name, left), (right_name, right))| {
                        left_name.cmp(right_name).then_with(|| compare(left, right))
                    })
                    .find(|order| order.is_ne());
                unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
            }
            (Self::Value(left), Self::Value(right)) => compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

fn rank(element: &PathElement) -> u8 {
    match element {
        PathElement::Field(_) => 0,
        PathElement::Key(_) => 1,
        PathElement::Value(_) => 2,
        PathElement::Index(_) => 3,
    }
}

impl Display for PathElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{name}=")?;
                    print(f, value)?;
                }
                f.write_str("]")
            }
            Self::Value(value) => {
                f.write_str("[=")?;
                print(f, value)?;
                f.write_str("]")
            }
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The way from the root of an object to one of its values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(pub Vec<PathElement>);

impl Path {
    /// The path of named members, such as `["metadata", "labels"]`.
    pub fn of_fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(PathElement::field).collect())
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| write!(f, "{element}"))
    }
}

impl FromIterator<PathElement> for Path {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}
