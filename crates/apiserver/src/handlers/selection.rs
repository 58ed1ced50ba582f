//! Which objects a list, a watch or a deletecollection means.

use std::sync::Arc;

use kubewright_core::{
    FieldSelector, LabelSelector, Scope, ShardField, ShardSelector, ShardSelectorError, Status,
};
use serde_json::Value;

use super::{all_from_storage, try_from_storage};
use crate::custom::CustomModel;
use crate::error::ApiResult;
use crate::registry::Resource;
use crate::request::ReadOptions;
use crate::server::Server;
use crate::storage::{FieldNames, Key, KeyPrefix, StoredObject};

/// Label, field and shard selectors, checked against what the resource can be selected by.
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    shard: Option<ShardSelector>,
    /// Every field that the resource can be selected by: the values of all are read at once, and once for all watchers.
    names: Arc<FieldNames>,
    /// Whether a field is asked for that only the decoded object has.
    needs_object: bool,
}

/// The keys among which a selection's objects are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) prefix: KeyPrefix,
    /// The only key, where the fields name one object.
    pub(crate) single: Option<Key>,
}

impl Selection {
    /// Takes the selectors of `options`.
    ///
    /// # Errors
    /// 400 when the resource cannot be selected by a field, and for a shard selector that cannot be read (apiserver
    /// pkg/registry/generic/registry/store.go `ListPredicate` and `Watch`, whose error has no status, so that upstream answers 500).
    pub(crate) fn new(resource: &Resource, options: &ReadOptions) -> ApiResult<Self> {
        let names = resource.selectable_names();
        let mut needs_object = false;
        for requirement in options.fields.requirements() {
            let field = requirement.field.as_str();
            needs_object |= !matches!(field, NAME | NAMESPACE);
            if !names.contains(&field) {
                return Err(Status::bad_request(resource.refuse_field(field)).into());
            }
        }
        let shard = match &*options.shard {
            "" => None,
            text => Some(text.parse().map_err(|error: ShardSelectorError| {
                Status::bad_request(format!("invalid shard selector: {error}"))
            })?),
        };
        Ok(Self {
            labels: options.labels.clone(),
            fields: options.fields.clone(),
            shard,
            names: Arc::new(FieldNames {
                group: resource.group.clone(),
                version: resource.version.clone(),
                names: names.into_iter().map(str::to_owned).collect(),
            }),
            needs_object,
        })
    }

    /// Selects a name besides, as a path does.
    ///
    /// # Errors
    /// 400 when the selector means others (apiserver pkg/endpoints/handlers/get.go `listOpts`).
    pub(crate) fn narrow_to_name(&mut self, name: &str) -> ApiResult<()> {
        if self.fields.is_everything() {
            self.fields = FieldSelector::equals(NAME, name);
            return Ok(());
        }
        if self.fields.required_value(NAME) == Some(name) {
            return Ok(());
        }
        Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name").into())
    }

    /// Whether everything is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.shard.is_none()
    }

    /// The shard that is meant, as a list tells it (`metav1.ShardInfo`).
    pub(crate) fn shard(&self) -> Option<&ShardSelector> {
        self.shard.as_ref()
    }

    /// Where to look, in a namespace or in all (apiserver pkg/registry/generic/registry/store.go `ListPredicate`).
    pub(crate) fn extent(&self, resource: &Resource, namespace: Option<&str>) -> Extent {
        let required = |field| {
            self.fields
                .required_value(field)
                .filter(|value| is_segment(value))
        };
        let namespace = namespace.or_else(|| required(NAMESPACE));
        let is_placed = resource.scope == Scope::Cluster || namespace.is_some();
        Extent {
            prefix: resource.prefix(namespace),
            single: required(NAME)
                .filter(|_| is_placed)
                .map(|name| resource.key(namespace, name)),
        }
    }

    /// Whether it takes a webhook to know what is meant: fields are asked for, and it tells what they are in this version.
    pub(crate) fn needs_webhook(&self, resource: &Resource) -> bool {
        self.needs_object && resource.model.custom().is_some_and(CustomModel::has_webhook)
    }

    /// Which of these objects are meant.
    ///
    /// # Errors
    /// 500 where a webhook is needed, and fails.
    pub(crate) async fn judge(
        &self,
        server: &Server,
        resource: &Resource,
        objects: &[StoredObject],
    ) -> ApiResult<Vec<bool>> {
        if !self.needs_webhook(resource) {
            return Ok(objects
                .iter()
                .map(|object| self.matches(resource, object))
                .collect());
        }
        let values = all_from_storage(server, resource, objects.iter().map(StoredObject::value)).await?;
        let judged = objects.iter().zip(values);
        Ok(judged
            .map(|(object, value)| self.matches_as(resource, object, || value))
            .collect())
    }

    /// Whether an object is meant, where [`Selection::needs_webhook`] says that none is needed.
    pub(crate) fn matches(&self, resource: &Resource, object: &StoredObject) -> bool {
        let read = || try_from_storage(resource, object.value()).unwrap_or_else(|as_stored| as_stored);
        self.matches_as(resource, object, read)
    }

    /// Whether an object is meant that `read` gives in the served version.
    fn matches_as(&self, resource: &Resource, object: &StoredObject, read: impl FnOnce() -> Value) -> bool {
        if self.is_everything() {
            return true;
        }
        let key = object.key();
        if let Some(shard) = &self.shard {
            // The key tells the namespace, and only the uid has to be looked for in the object.
            let uid = match shard.field() {
                ShardField::Uid => object.attributes().uid(),
                ShardField::Namespace => "",
            };
            if !shard.matches(uid, key.namespace().unwrap_or_default()) {
                return false;
            }
        }
        // Labels are parsed only where they are asked for.
        let labels = || object.attributes().labels();
        if !self.labels.is_everything() && !self.labels.matches(|key| labels().get(key).map(String::as_str)) {
            return false;
        }
        let of_key = |field: &str| match field {
            NAME => Some(key.name()),
            NAMESPACE => Some(key.namespace().unwrap_or_default()),
            _ => None,
        };
        if !self.needs_object {
            return self.fields.matches(|field| of_key(field).unwrap_or_default());
        }
        let known = object.field_values(&self.names, || {
            let value = read();
            let read = |field: &String| {
                // What the key tells need not be kept twice.
                let value = of_key(field)
                    .is_none()
                    .then(|| resource.selectable_field(&value, field))
                    .flatten();
                value.unwrap_or_default().into_boxed_str()
            };
            self.names.names.iter().map(read).collect()
        });
        self.fields.matches(|field| {
            of_key(field).unwrap_or_else(|| {
                let at = self.names.names.iter().position(|name| name == field);
                at.and_then(|at| known.values.get(at)).map_or("", AsRef::as_ref)
            })
        })
    }
}

/// Whether a text can be one part of a key (apimachinery pkg/api/validation/path `IsValidPathSegmentName`).
fn is_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '%'])
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::resource_of;

    fn selection(scope: Scope, query: &str) -> (Arc<Resource>, Selection) {
        let resource = resource_of(scope);
        let options = ReadOptions::read(query).unwrap();
        let selection = Selection::new(&resource, &options).unwrap();
        (resource, selection)
    }

    #[test]
    fn a_selector_narrows_where_to_look() {
        use Scope::{Cluster, Namespaced};
        // The scope, the path's namespace, the selector; the namespace that is looked in, whether for one name alone.
        for (scope, namespace, fields, looked_in, is_single) in [
            (Namespaced, None, "", None, false),
            (Namespaced, Some("a"), "", Some("a"), false),
            (Namespaced, None, "metadata.name%3Dx", None, false),
            (Namespaced, Some("a"), "metadata.name%3Dx", Some("a"), true),
            (Namespaced, Some("a"), "metadata.name%21%3Dx", Some("a"), false),
            (Namespaced, Some("a"), "metadata.name%3D", Some("a"), false),
            (Namespaced, Some("a"), "metadata.name%3Dx/y", Some("a"), false),
            (Namespaced, None, "metadata.namespace%3Da", Some("a"), false),
            (Namespaced, None, "metadata.namespace%3Da/b", None, false),
            (
                Namespaced,
                None,
                "metadata.name%3Dx,metadata.namespace%3Da",
                Some("a"),
                true,
            ),
            (
                Namespaced,
                Some("a"),
                "metadata.namespace%3Db,metadata.name%3Dx",
                Some("a"),
                true,
            ),
            (Cluster, None, "", None, false),
            (Cluster, None, "metadata.name%3Dx", None, true),
        ] {
            let (resource, selection) = selection(scope, &format!("fieldSelector={fields}"));
            let expect = Extent {
                prefix: resource.prefix(looked_in),
                single: is_single.then(|| resource.key(looked_in, "x")),
            };
            assert_eq!(
                selection.extent(&resource, namespace),
                expect,
                "{scope:?} {fields}"
            );
        }
    }

    #[test]
    fn a_name_in_the_path_and_one_in_the_selector() {
        for (fields, fits) in [
            ("", true),
            ("metadata.name%3Dx", true),
            ("metadata.name%3Dx,status.phase%3DRunning", true),
            ("metadata.name%3Dy", false),
            ("status.phase%3DRunning", false),
        ] {
            let (_, mut selection) = selection(Scope::Namespaced, &format!("fieldSelector={fields}"));
            let narrowed = selection.narrow_to_name("x");
            assert_eq!(narrowed.is_ok(), fits, "{fields}");
            assert!(!fits || selection.fields.required_value(NAME) == Some("x"));
        }
    }
}
