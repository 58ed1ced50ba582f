//! Changes of objects by updates. Patches would be shorter, but the default roles of most controllers have no right to send them.

use kubewright_client::{Api, Client, WriteOptions};
use kubewright_core::{DynamicObject, StaticResource};
use kubewright_runtime::Error;
use serde_json::Value;

/// What of an object is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Status,
}

/// Changes an object from the state that is known of it. Where that is old, the change is made to what is there now, if it is the same object; one
/// that is gone needs none.
///
/// # Errors
/// When the server refuses the change, or others are quicker time and again.
pub(crate) async fn update<K: StaticResource>(
    client: &Client,
    known: &Value,
    part: Part,
    change: impl Fn(&mut Value),
) -> Result<(), Error> {
    let metadata = &known["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let (name, uid) = (text("name"), text("uid"));
    let resource = K::api_resource();
    let api = match metadata["namespace"].as_str() {
        Some(namespace) => Api::<DynamicObject>::dynamic_namespaced(client, &resource, namespace),
        None => Api::<DynamicObject>::dynamic_all(client, &resource),
    };
    let mut object = known.clone();
    for tries_left in (0..TRIES).rev() {
        change(&mut object);
        let changed: DynamicObject = serde_json::from_value(object)?;
        let options = WriteOptions::default();
        let written = match part {
            Part::Whole => api.replace(name, &changed, &options).await,
            Part::Status => api.replace_status(name, &changed, &options).await,
        };
        match written {
            Ok(_) => break,
            Err(error) if error.is_not_found() => break,
            Err(error) if error.is_conflict() && tries_left > 0 => {}
            Err(error) => return Err(error.into()),
        }
        match api.get_opt(name).await? {
            Some(present) if present.metadata.uid.as_deref() == Some(uid) => {
                object = serde_json::to_value(present)?;
            }
            _ => break,
        }
    }
    Ok(())
}

/// Sets fields of the status; those that are null go.
pub(crate) fn set_status(object: &mut Value, fields: &Value) {
    if !object["status"].is_object() {
        object["status"] = Value::Object(serde_json::Map::new());
    }
    let Some(status) = object["status"].as_object_mut() else {
        return;
    };
    for (name, value) in fields.as_object().into_iter().flatten() {
        match value {
            Value::Null => status.remove(name),
            value => status.insert(name.clone(), value.clone()),
        };
    }
}

/// Upstream gives up after one repetition and comes back later, as is done here as well.
const TRIES: usize = 3;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_the_status_are_set_and_removed() {
        for (before, fields, after) in [
            (json!({}), json!({"a": 1}), json!({"status": {"a": 1}})),
            (json!({"status": null}), json!({"a": null}), json!({"status": {}})),
            (
                json!({"status": {"a": 1, "b": 2}}),
                json!({"a": null, "c": 3}),
                json!({"status": {"b": 2, "c": 3}}),
            ),
        ] {
            let mut object = before.clone();
            set_status(&mut object, &fields);
            assert_eq!(object, after, "{before}");
        }
    }
}
