//! Text of values in the order in which Go writes the types that only annotations have.

use kubewright_core::json::{Sorted, by_name};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;

/// The fields of the first version's metrics and conditions, so that those of each of its types are in the order of that type.
const FIELDS: &[&str] = &[
    "type",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "object",
    "pods",
    "resource",
    "external",
    "containerResource",
    "kind",
    "name",
    "apiVersion",
    "target",
    "metricName",
    "metricSelector",
    "targetValue",
    "currentValue",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetAverageValue",
    "currentAverageValue",
    "selector",
    "averageValue",
    "container",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
];

/// Metrics or conditions of the first version as text.
pub(super) fn text(value: &Value) -> String {
    serde_json::to_string(&Ordered(value)).unwrap_or_default()
}

struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let place = |name: &str| {
                    FIELDS
                        .iter()
                        .position(|known| *known == name)
                        .unwrap_or(FIELDS.len())
                };
                let mut fields: Vec<(&String, &Value)> = by_name(fields).collect();
                fields.sort_by_key(|(name, _)| place(name));
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match name.as_str() {
                        // Names of labels are sorted, whatever they are.
                        "matchLabels" => map.serialize_entry(name, &Sorted(value))?,
                        _ => map.serialize_entry(name, &Ordered(value))?,
                    }
                }
                map.end()
            }
            Value::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(&Ordered(item))?;
                }
                seq.end()
            }
            value => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_in_the_order_of_their_types() {
        let metrics = json!([{
            "external": {"metricSelector": {"matchLabels": {"type": "a", "kind": "b"}}, "metricName": "m", "targetAverageValue": "1"},
            "type": "External",
        }]);
        assert_eq!(
            text(&metrics),
            r#"[{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"kind":"b","type":"a"}},"targetAverageValue":"1"}}]"#
        );
    }
}
