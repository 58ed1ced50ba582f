//! Resource versions and their order.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of an object or of a list, as the server gave it.
///
/// Clients may compare two versions of one resource as integers of any length (KEP-5504); a version that is not a decimal
/// integer without leading zeros can only be compared for equality.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceVersion(String);

impl ResourceVersion {
    /// Takes a version as found on the wire.
    pub fn new(version: impl Into<String>) -> Self {
        Self(version.into())
    }

    /// The text as found on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether no version is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is `"0"`, which in a request means "any version that is at hand".
    pub fn is_zero(&self) -> bool {
        self.0 == "0"
    }

    /// Compares two versions; `None` when either is not comparable.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if !(is_comparable(&self.0) && is_comparable(&other.0)) {
            return (self == other).then_some(Ordering::Equal);
        }
        // Decimal integers without leading zeros: the longer is the greater.
        Some(
            self.0
                .len()
                .cmp(&other.0.len())
                .then_with(|| self.0.cmp(&other.0)),
        )
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<u64> for ResourceVersion {
    fn from(version: u64) -> Self {
        Self(version.to_string())
    }
}

fn is_comparable(version: &str) -> bool {
    !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order() {
        use Ordering::*;
        for (a, b, expect) in [
            ("1", "2", Some(Less)),
            ("9", "10", Some(Less)),
            ("10", "10", Some(Equal)),
            ("99999999999999999999999", "100000000000000000000000", Some(Less)),
            ("x", "x", Some(Equal)),
            ("x", "1", None),
            ("01", "1", None),
            ("", "1", None),
        ] {
            assert_eq!(
                ResourceVersion::new(a).compare(&ResourceVersion::new(b)),
                expect,
                "{a} {b}"
            );
        }
    }
}
