//! The groups beyond the core group: objects as a client sends them, defaulted and prepared as the server does.

mod admission;
mod cluster;
mod devices;
mod network;
mod required;
mod scaling;
mod storage;
mod workloads;

use super::*;
use crate::builtin::{defaults, strategy::strategy, value::child};

/// A resource to send objects to: its `apiVersion` and name.
type To<'a> = (&'a str, &'a str);

/// The object as it is when validation sees it.
fn complete(
    (api_version, resource): To<'_>,
    object: &Value,
    old: Option<&Value>,
) -> (Value, Vec<FieldError>) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let row = kubewright_kinds::table()
        .resource(group, version, resource)
        .expect("a served resource");
    let mut object = object.clone();
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(row.kind);
    let metadata = child(object.as_object_mut().unwrap(), "metadata").unwrap();
    metadata.entry("name").or_insert_with(|| json!("x"));
    metadata.insert("uid".to_owned(), json!("u"));
    if row.scope == Scope::Namespaced {
        metadata.insert("namespace".to_owned(), json!("ns"));
    }
    if old.is_some() {
        metadata.insert("resourceVersion".to_owned(), json!("1"));
    }
    defaults::apply(group, version, row.kind, &mut object);
    let extra = BTreeMap::new();
    let mut context = Context {
        now: "2020-01-01T00:00:00Z",
        requester: Requester {
            username: "",
            uid: "",
            groups: &[],
            extra: &extra,
        },
        allocator: &mut ServicePool::default(),
    };
    let strategy = strategy(group, resource);
    let refused = match old {
        None => strategy.prepare_for_create(&mut object, &mut context),
        Some(old) => strategy.prepare_for_update(&mut object, old, &mut context),
    };
    let mut errors = refused.err().unwrap_or_default();
    errors.extend(match old {
        None => strategy.validate_create(&object, row.scope),
        Some(old) => strategy.validate_update(&object, old),
    });
    (object, errors)
}

/// What is wrong with a new object: exactly these texts, in any order.
#[track_caller]
fn create(to: To<'_>, object: &Value, expect: &[&str]) {
    let (object, errors) = complete(to, object, None);
    compare(errors, expect, &object);
}

/// What is wrong with a change of a stored object.
#[track_caller]
fn update(to: To<'_>, new: &Value, old: &Value, expect: &[&str]) {
    let (mut old, _) = complete(to, old, None);
    old["metadata"]["resourceVersion"] = json!("1");
    let (new, errors) = complete(to, new, Some(&old));
    compare(errors, expect, &new);
}

/// What is wrong with a report on a stored object.
#[track_caller]
fn report(to: To<'_>, object: &Value, new: Value, old: Value, expect: &[&str]) {
    let (group, _) = to.0.split_once('/').unwrap_or(("", to.0));
    let (mut object, _) = complete(to, object, None);
    object["metadata"]["resourceVersion"] = json!("1");
    let with = |status: Value| {
        let mut object = object.clone();
        object["status"] = status;
        object
    };
    let (new, old) = (with(new), with(old));
    let errors = strategy(group, to.1).validate_subresource_update("status", &new, &old);
    compare(errors, expect, &new);
}

/// What a client is warned of.
#[track_caller]
fn warned(to: To<'_>, object: &Value, expect: &[&str]) {
    let (group, _) = to.0.split_once('/').unwrap_or(("", to.0));
    let (object, errors) = complete(to, object, None);
    assert_eq!(errors, [], "{object:#}");
    assert_eq!(strategy(group, to.1).warnings(&object, None), expect);
}

/// An object with other values at some JSON pointers; null takes a field away.
fn with(base: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = base.clone();
    for (pointer, value) in changes {
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
        match parent {
            Value::Array(items) => items[field.parse::<usize>().unwrap()] = value.clone(),
            Value::Object(fields) if value.is_null() => {
                fields.remove(field);
            }
            parent => parent[field] = value.clone(),
        }
    }
    object
}
