//! Which objects a list, a watch or a deletecollection means.

use std::sync::Arc;

use kubewright_core::{FieldSelector, LabelSelector, Scope, Status};

use super::from_storage;
use crate::error::ApiResult;
use crate::registry::Resource;
use crate::request::ReadOptions;
use crate::storage::{FieldNames, Key, KeyPrefix, StoredObject};

/// Label and field selectors, checked against what the resource can be selected by.
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
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
    /// 400 when the resource cannot be selected by a field.
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
        Ok(Self {
            labels: options.labels.clone(),
            fields: options.fields.clone(),
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
        self.labels.is_everything() && self.fields.is_everything()
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

    /// Whether an object is meant.
    pub(crate) fn matches(&self, resource: &Resource, object: &StoredObject) -> bool {
        if self.is_everything() {
            return true;
        }
        // Labels are parsed only where they are asked for.
        let labels = || object.attributes().labels();
        if !self.labels.is_everything() && !self.labels.matches(|key| labels().get(key).map(String::as_str)) {
            return false;
        }
        let key = object.key();
        let of_key = |field: &str| match field {
            NAME => Some(key.name()),
            NAMESPACE => Some(key.namespace().unwrap_or_default()),
            _ => None,
        };
        if !self.needs_object {
            return self.fields.matches(|field| of_key(field).unwrap_or_default());
        }
        let known = object.field_values(&self.names, || {
            let value = from_storage(resource, object.value());
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
    use crate::registry::{Registry, RuntimeConfig};

    fn selection(plural: &str, query: &str) -> (Arc<Resource>, Selection) {
        let registry = Registry::builtin(&RuntimeConfig::default());
        let resource = registry.find("", "v1", plural).unwrap().clone();
        let options = ReadOptions::read(query).unwrap();
        let selection = Selection::new(&resource, &options).unwrap();
        (resource, selection)
    }

    #[test]
    fn a_selector_narrows_where_to_look() {
        let pods = || KeyPrefix::resource("", "pods");
        let within = |namespace: &str| KeyPrefix::namespace("", "pods", namespace);
        let pod = |name: &str| Some(Key::new("", "pods", Some("a"), name));
        let nodes = KeyPrefix::resource("", "nodes");
        for (plural, namespace, query, prefix, single) in [
            ("pods", None, "", pods(), None),
            ("pods", Some("a"), "", within("a"), None),
            ("pods", None, "fieldSelector=metadata.name%3Dx", pods(), None),
            (
                "pods",
                Some("a"),
                "fieldSelector=metadata.name%3Dx",
                within("a"),
                pod("x"),
            ),
            (
                "pods",
                Some("a"),
                "fieldSelector=metadata.name%21%3Dx",
                within("a"),
                None,
            ),
            (
                "pods",
                Some("a"),
                "fieldSelector=metadata.name%3D",
                within("a"),
                None,
            ),
            (
                "pods",
                Some("a"),
                "fieldSelector=metadata.name%3Dx/y",
                within("a"),
                None,
            ),
            (
                "pods",
                None,
                "fieldSelector=metadata.namespace%3Da",
                within("a"),
                None,
            ),
            (
                "pods",
                None,
                "fieldSelector=metadata.namespace%3Da/b",
                pods(),
                None,
            ),
            (
                "pods",
                None,
                "fieldSelector=metadata.name%3Dx,metadata.namespace%3Da",
                within("a"),
                pod("x"),
            ),
            (
                "pods",
                Some("a"),
                "fieldSelector=metadata.namespace%3Db,metadata.name%3Dx",
                within("a"),
                pod("x"),
            ),
            (
                "nodes",
                None,
                "fieldSelector=metadata.name%3Dn",
                nodes,
                Some(Key::new("", "nodes", None, "n")),
            ),
        ] {
            let (resource, selection) = selection(plural, query);
            let expect = Extent { prefix, single };
            assert_eq!(selection.extent(&resource, namespace), expect, "{plural} {query}");
        }
    }

    #[test]
    fn a_name_in_the_path_and_one_in_the_selector() {
        for (query, fits) in [
            ("", true),
            ("fieldSelector=metadata.name%3Dx", true),
            ("fieldSelector=metadata.name%3Dx,status.phase%3DRunning", true),
            ("fieldSelector=metadata.name%3Dy", false),
            ("fieldSelector=status.phase%3DRunning", false),
        ] {
            let (_, mut selection) = selection("pods", query);
            let narrowed = selection.narrow_to_name("x");
            assert_eq!(narrowed.is_ok(), fits, "{query}");
            assert!(!fits || selection.fields.required_value(NAME) == Some("x"));
        }
    }
}
