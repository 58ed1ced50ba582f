//! Making an object what it should be, whether it is there or not: `create_or_update` and `create_or_patch`.

use kubewright_core::{Patch, Resource, ScopeKind, WriteOptions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Backoff;
use crate::api::{Api, name_kind};
use crate::error::Error;

/// An object, and what had to be done for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Written<K> {
    /// The object as the server has it.
    pub object: K,
    /// What was done.
    pub how: WrittenHow,
}

/// What was done for an object to be as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenHow {
    /// There was none.
    Created,
    /// It was changed.
    Updated,
    /// Nothing: it was as it should.
    Unchanged,
}

/// How a change of an object that is there is sent.
#[derive(Clone, Copy)]
enum Way {
    Replace,
    Patch,
}

impl<K, S> Api<K, S>
where
    K: Resource + Serialize + DeserializeOwned + Default + Clone + Send + Sync + 'static,
    S: ScopeKind,
{
    /// Makes an object what `change` makes of it. An object that is not there is created from what `change` makes of one
    /// with nothing but its name; one that is there is replaced, if it changes.
    ///
    /// If somebody was faster, all is done anew, up to 5 times. `change` is called for each. Mirrors controller-runtime
    /// `controllerutil.CreateOrUpdate`; server-side [`apply`](Self::apply) needs one request where this needs two.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), [`create`](Self::create) and [`replace`](Self::replace); [`Error::Invalid`] if `change`
    /// changes the name or the namespace.
    pub async fn create_or_update(
        &self,
        name: &str,
        options: &WriteOptions,
        change: impl FnMut(&mut K),
    ) -> Result<Written<K>, Error> {
        self.create_or(Way::Replace, name, options, change).await
    }

    /// As [`create_or_update`](Self::create_or_update), but what is different is sent as a merge patch: changes of others
    /// to other fields do not get in the way. Lists are sent whole, and replace what others made of them.
    ///
    /// # Errors
    ///
    /// As [`create_or_update`](Self::create_or_update).
    pub async fn create_or_patch(
        &self,
        name: &str,
        options: &WriteOptions,
        change: impl FnMut(&mut K),
    ) -> Result<Written<K>, Error> {
        self.create_or(Way::Patch, name, options, change).await
    }

    async fn create_or(
        &self,
        way: Way,
        name: &str,
        options: &WriteOptions,
        mut change: impl FnMut(&mut K),
    ) -> Result<Written<K>, Error> {
        let mut pauses = Backoff::CONTENDED.pauses(fastrand::f64);
        loop {
            let error = match self.write_once(way, name, options, &mut change).await {
                Err(error) if was_slower(&error) => error,
                other => return other,
            };
            let Some(pause) = pauses.next() else {
                return Err(error);
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn write_once(
        &self,
        way: Way,
        name: &str,
        options: &WriteOptions,
        change: &mut impl FnMut(&mut K),
    ) -> Result<Written<K>, Error> {
        let Some(before) = self.get_opt(name).await? else {
            let mut object = K::default();
            let metadata = object.metadata_mut();
            metadata.name = Some(name.to_owned());
            metadata.namespace = self.namespace().map(str::to_owned);
            name_kind(self.resource(), &mut object);
            self.make(name, &mut object, change)?;
            return Ok(Written {
                object: self.create(&object, options).await?,
                how: WrittenHow::Created,
            });
        };
        let mut after = before.clone();
        self.make(name, &mut after, change)?;
        let (old, new) = (self.to_json(name, &before)?, self.to_json(name, &after)?);
        let difference = difference(&old, &new);
        if difference.as_object().is_some_and(Map::is_empty) {
            return Ok(Written {
                object: before,
                how: WrittenHow::Unchanged,
            });
        }
        let object = match way {
            Way::Replace => self.replace(name, &after, options).await?,
            Way::Patch => self.patch(name, &Patch::Merge(difference), options).await?,
        };
        Ok(Written {
            object,
            how: WrittenHow::Updated,
        })
    }

    fn make(&self, name: &str, object: &mut K, change: &mut impl FnMut(&mut K)) -> Result<(), Error> {
        let namespace = object.metadata().namespace.clone();
        change(object);
        if object.name() == name && object.metadata().namespace == namespace {
            return Ok(());
        }
        let call = self.object_request(http::Method::PUT, name).call();
        Err(call.invalid("the change is also one of the name or the namespace"))
    }

    fn to_json(&self, name: &str, object: &K) -> Result<Value, Error> {
        serde_json::to_value(object).map_err(|error| {
            let call = self.object_request(http::Method::PUT, name).call();
            call.invalid(format_args!("the object has no JSON form: {error}"))
        })
    }
}

/// Whether somebody was faster: changed the object, created it, or deleted it.
fn was_slower(error: &Error) -> bool {
    let is_gone = error.is_not_found()
        && error
            .call()
            .is_some_and(|call| matches!(call.verb(), "update" | "patch"));
    error.is_conflict() || error.is_already_exists() || is_gone
}

/// The merge patch (RFC 7386) that makes `new` of `old`; an empty object where they are the same.
fn difference(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return new.clone();
    };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        match old.get(name) {
            Some(before) if before == value => {}
            Some(before) => {
                patch.insert(name.clone(), difference(before, value));
            }
            None => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn apply(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = json!({});
        }
        for (name, value) in patch {
            if value.is_null() {
                target.as_object_mut().unwrap().remove(name);
            } else {
                apply(&mut target[name.as_str()], value);
            }
        }
    }

    #[test]
    fn a_patch_holds_what_is_different() {
        let rows = [
            (json!({"a": 1}), json!({"a": 1}), json!({})),
            (
                json!({"a": 1, "b": 2}),
                json!({"b": 3}),
                json!({"a": null, "b": 3}),
            ),
            (
                json!({"a": {"x": 1, "y": [1]}}),
                json!({"a": {"x": 1, "y": [2]}}),
                json!({"a": {"y": [2]}}),
            ),
            (
                json!({"a": {"x": 1}}),
                json!({"a": {}}),
                json!({"a": {"x": null}}),
            ),
            (json!({"a": 1}), json!({"a": {"x": 1}}), json!({"a": {"x": 1}})),
        ];
        for (old, new, expect) in rows {
            assert_eq!(difference(&old, &new), expect);
        }
    }

    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<u8>().prop_map(|n| json!(n)),
            Just(json!([1])),
            Just(json!("x"))
        ];
        let value = leaf.prop_recursive(3, 20, 3, |inner| {
            prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| json!(map))
        });
        prop::collection::btree_map("[abc]", value, 0..4).prop_map(|map| json!(map))
    }

    proptest! {
        #[test]
        fn a_patch_makes_one_of_the_other(old in object(), new in object()) {
            let patch = difference(&old, &new);
            let mut patched = old.clone();
            apply(&mut patched, &patch);
            prop_assert_eq!(&patched, &new);
            prop_assert_eq!(patch == json!({}), old == new);
        }
    }
}
