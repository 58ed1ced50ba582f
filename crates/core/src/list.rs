//! Lists of objects.

use serde::{Deserialize, Serialize};

/// The metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version at which the list was read: where a watch goes on.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub resource_version: String,
    /// Where the next page begins; empty on the last page.
    #[serde(
        rename = "continue",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub continue_token: String,
    /// How many objects follow this page, where the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
    /// That the list has only what a shard selector asked for (KEP-5866). A server that does not know such selectors
    /// leaves it out, and sends everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_info: Option<ShardInfo>,
}

/// How a list was selected (`metav1.ShardInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShardInfo {
    /// The selector of the request, as the server read and wrote it.
    pub selector: String,
}

/// A list of objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de>"))]
pub struct List<K> {
    /// The list's own metadata.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The objects. Absent or null items are none, as Go reads both as a nil slice, and writes one as null: any object is an empty
    /// list. Who would act on there being nothing reads a list by the client's `list_items`, as caches do, which insists on them.
    #[serde(default = "Vec::new", deserialize_with = "null_as_default")]
    pub items: Vec<K>,
}

impl<K> IntoIterator for List<K> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

pub(crate) fn null_as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `json.Unmarshal` into a `PodList` does (apimachinery `pkg/runtime/serializer/json`, not strict).
    #[test]
    fn items_that_are_absent_or_null_are_none() {
        let rows = [
            (r#"{"metadata":{"resourceVersion":"5"}}"#, Some(0)),
            (r#"{"items":null}"#, Some(0)),
            (r#"{"items":[]}"#, Some(0)),
            (r#"{"items":["a","b"]}"#, Some(2)),
            ("{}", Some(0)),
            (r#"{"items":{}}"#, None),
            (r#"{"items":""}"#, None),
            (r#"{"items":[null]}"#, None),
        ];
        for (text, expect) in rows {
            let list = serde_json::from_str::<List<String>>(text);
            assert_eq!(list.ok().map(|list| list.items.len()), expect, "{text}");
        }
    }
}
