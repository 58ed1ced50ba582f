//! Finding the old value that belongs to a new one (apiserver `pkg/cel/common/equality.go`, KEP-4008).

use std::collections::HashMap;

use serde_json::Value;

use crate::structural::{ListType, StructuralSchema};

/// An old value and the schema that says how its parts are told apart.
#[derive(Clone, Copy)]
pub(crate) struct Correlated<'a> {
    pub(crate) old: &'a Value,
    pub(crate) schema: &'a StructuralSchema,
}

impl<'a> Correlated<'a> {
    /// Whether nothing has changed, as upstream's `CachedDeepEqual` sees it: a member that no schema describes cannot be correlated, so
    /// an object that has one is never the same.
    pub(crate) fn is_unchanged(self, new: &Value) -> bool {
        match (self.old, new) {
            (Value::Array(old), Value::Array(items)) => {
                let Some(keyed) = self.items() else {
                    return self.old == new;
                };
                let same = |item| keyed.item(item).is_some_and(|old| old.is_unchanged(item));
                old.len() == items.len() && items.iter().all(same)
            }
            (Value::Object(old), Value::Object(members)) => {
                let same = |(name, member): (&String, &Value)| {
                    self.member(name).is_some_and(|old| old.is_unchanged(member))
                };
                old.len() == members.len() && members.iter().all(same)
            }
            (old, new) => old == new,
        }
    }

    pub(crate) fn member(self, name: &str) -> Option<Self> {
        let old = self.old.as_object()?.get(name)?;
        let schema = self.schema.member(name)?;
        Some(Self { old, schema })
    }

    /// The old items by key, where the list has keys.
    pub(crate) fn items(self) -> Option<CorrelatedItems<'a>> {
        let schema = self.schema.items.as_deref()?;
        if self.schema.list_type != Some(ListType::Map) {
            return None;
        }
        let keys = &self.schema.list_map_keys;
        let items = self.old.as_array()?;
        let mut by_key = HashMap::with_capacity(items.len());
        for item in items {
            if let Some(key) = key_of(item, keys) {
                by_key.entry(key).or_insert(item);
            }
        }
        Some(CorrelatedItems { keys, schema, by_key })
    }
}

pub(crate) struct CorrelatedItems<'a> {
    keys: &'a [String],
    schema: &'a StructuralSchema,
    by_key: HashMap<String, &'a Value>,
}

impl<'a> CorrelatedItems<'a> {
    pub(crate) fn item(&self, new: &Value) -> Option<Correlated<'a>> {
        let old = self.by_key.get(&key_of(new, self.keys)?)?;
        Some(Correlated {
            old,
            schema: self.schema,
        })
    }
}

/// The values of the key members as text; `None` where the item has none of them.
fn key_of(item: &Value, keys: &[String]) -> Option<String> {
    let members = item.as_object()?;
    let mut text = String::new();
    let mut found = false;
    for key in keys {
        if let Some(value) = members.get(key) {
            found = true;
            text.push_str(&value.to_string());
        }
        text.push(',');
    }
    found.then_some(text)
}
