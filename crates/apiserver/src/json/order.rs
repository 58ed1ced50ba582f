//! In which order a decoder comes upon what does not belong.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::codec::{duplicate_field, unknown_field};
use crate::registry::path::{self, MAX_FINDINGS};

/// See [`super::findings`]; `None` where the text is not as [`serde_json`] would have it.
pub(super) fn findings(bytes: &[u8], unknown: &[String]) -> Option<Vec<String>> {
    let mut walk = Walk {
        unknown: unknown.iter().map(String::as_str).collect(),
        path: String::new(),
        told: HashSet::new(),
        found: Vec::new(),
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Node(&mut walk).deserialize(&mut deserializer).ok()?;
    Some(walk.found)
}

struct Walk<'a> {
    /// Paths as they are shown, so cut where they are long.
    unknown: HashSet<&'a str>,
    path: String,
    /// Those of `unknown` that were told of.
    told: HashSet<&'a str>,
    found: Vec<String>,
}

impl Walk<'_> {
    fn tell(&mut self, finding: String) {
        if self.found.len() < MAX_FINDINGS {
            self.found.push(finding);
        }
    }
}

/// The value at the path that the walk has come to.
struct Node<'w, 'a>(&'w mut Walk<'a>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let length = self.0.path.len();
        let mut index = 0;
        loop {
            // Writing to a string cannot fail.
            let _ = write!(self.0.path, "[{index}]");
            let item = seq.next_element_seed(Node(&mut *self.0))?;
            self.0.path.truncate(length);
            if item.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.0;
        let length = walk.path.len();
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if length > 0 {
                walk.path.push('.');
            }
            walk.path.push_str(&name);
            let shown = path::beginning(&walk.path);
            if let Some(&unknown) = walk.unknown.get(shown.as_str()) {
                if walk.told.insert(unknown) {
                    walk.tell(unknown_field(unknown));
                }
                map.next_value::<IgnoredAny>()?;
            } else {
                if !names.insert(name) {
                    walk.tell(duplicate_field(&shown));
                }
                map.next_value_seed(Node(&mut *walk))?;
            }
            walk.path.truncate(length);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_in_the_order_of_the_text() {
        let text = br#"{"z":1,"metadata":{"name":"a","y":1,"name":"b"},"y":{"a":1,"a":2},"z":2,"spec":[{"x":1},{"b":1,"x":2,"b":2}],
            "spec":[{"x":3}],"a":1}"#;
        let unknown = ["a", "metadata.y", "spec[0].x", "spec[1].x", "y", "z"].map(str::to_owned);
        let found = findings(text, &unknown).unwrap();
        assert_eq!(
            found,
            [
                r#"unknown field "z""#,
                r#"unknown field "metadata.y""#,
                r#"duplicate field "metadata.name""#,
                r#"unknown field "y""#,
                r#"unknown field "spec[0].x""#,
                r#"unknown field "spec[1].x""#,
                r#"duplicate field "spec[1].b""#,
                r#"duplicate field "spec""#,
                r#"unknown field "a""#,
            ]
        );
        assert_eq!(findings(b"{", &[]), None);
        let many: String = (0..200).map(|i| format!("\"k{i}\":1,\"k{i}\":2,")).collect();
        let text = format!("{{{many}\"x\":1}}");
        assert_eq!(findings(text.as_bytes(), &[]).unwrap().len(), MAX_FINDINGS);
    }
}
