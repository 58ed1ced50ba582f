//! Updates that change nothing of what anybody owns.
//!
//! Most updates of a controller that has nothing to do are such; they need no comparison field by field.

use serde_json::{Map, Value};

use super::UNOWNED_METADATA;

/// Whether two objects differ in nothing but what says which object it is, or is the server's. Both are in one version.
pub(super) fn is_unchanged(new: &Value, live: &Value) -> bool {
    let (Value::Object(new), Value::Object(live)) = (new, live) else {
        return false;
    };
    same_but(new, live, &["metadata"])
        && match (new.get("metadata"), live.get("metadata")) {
            (Some(Value::Object(new)), Some(Value::Object(live))) => same_but(new, live, &UNOWNED_METADATA),
            (new, live) => new == live,
        }
}

/// Whether two objects have the same members, some of which do not count.
fn same_but(new: &Map<String, Value>, live: &Map<String, Value>, but: &[&str]) -> bool {
    let counts = |(name, _): &(&String, &Value)| !but.contains(&name.as_str());
    new.iter().filter(counts).eq(live.iter().filter(counts))
}
