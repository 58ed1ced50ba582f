//! Writes that change nothing but the time of an entry.

use serde_json::Value;

use super::entries;

/// Puts the old times back where nothing else has changed, so that the write changes nothing (the API server's
/// `endpoints/handlers/fieldmanager/equality.go`). Both objects are complete, as before storing.
pub fn restore_times(new: &mut Value, old: &Value) {
    if differs_in_times_only(new, old)
        && let (Some(old), Some(new)) = (entries(old), entries_mut(new))
    {
        *new = old.clone();
    }
}

fn entries_mut(object: &mut Value) -> Option<&mut Value> {
    object.get_mut("metadata")?.get_mut("managedFields")
}

fn differs_in_times_only(new: &Value, old: &Value) -> bool {
    let (Some(Value::Array(new_entries)), Some(Value::Array(old_entries))) = (entries(new), entries(old))
    else {
        return false;
    };
    if new_entries.is_empty() || new_entries.len() != old_entries.len() {
        return false;
    }
    let mut pairs = new_entries.iter().zip(old_entries);
    let unchanged = pairs.clone().all(|(new, old)| new.get("time") == old.get("time"));
    !unchanged
        && pairs.all(|(new, old)| same_but(new, old, "time", |_, _| true))
        && same_but(new, old, "metadata", |new, old| {
            same_but(new, old, "managedFields", |_, _| true)
        })
}

/// Whether two objects have the same members, one of which is compared in another way.
fn same_but(new: &Value, old: &Value, but: &str, same: impl Fn(&Value, &Value) -> bool) -> bool {
    let (Value::Object(new), Value::Object(old)) = (new, old) else {
        return new == old;
    };
    let without = |(name, _): &(&String, &Value)| name.as_str() != but;
    let rest_is_same = new.iter().filter(without).eq(old.iter().filter(without));
    rest_is_same
        && match (new.get(but), old.get(but)) {
            (Some(new), Some(old)) => same(new, old),
            // A time may also appear or go.
            (None, None) => true,
            (new, old) => same(new.unwrap_or(&Value::Null), old.unwrap_or(&Value::Null)),
        }
}
