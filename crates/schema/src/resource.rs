//! Custom resources as Rust types: the definition that is installed in a cluster.

use std::borrow::Cow;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_core::ObjectMeta;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::types::SchemaNode;

/// A custom resource whose definition is made from its Rust type. `#[derive(CustomResource)]` implements it.
pub trait CustomResourceExt: k8s_openapi::Resource + k8s_openapi::Metadata<Ty = ObjectMeta> {
    /// What the user asks for.
    type Spec;
    /// What the controller found; a type that ignores its value where the resource has no status.
    type Status;

    /// The definition, as data.
    fn definition() -> Definition;

    /// The definition's name: plural and group.
    fn crd_name() -> String {
        format!("{}.{}", Self::URL_PATH_SEGMENT, Self::GROUP)
    }

    /// The definition as it is sent to the API server.
    fn crd() -> Value {
        Self::definition().to_value()
    }

    /// The definition as the typed object.
    ///
    /// # Errors
    /// Where a schema written by hand has keywords that definitions do not have.
    fn typed_crd() -> Result<CustomResourceDefinition, serde_json::Error> {
        serde_json::from_value(Self::crd())
    }
}

/// One version of a custom resource definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The kind of lists.
    pub list_kind: String,
    /// The name in paths.
    pub plural: String,
    /// The name for one object on command lines.
    pub singular: String,
    /// Short names for command lines.
    pub short_names: Vec<String>,
    /// Groups of resources such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// Whether the status is a subresource.
    pub status: Status,
    /// Where the scale subresource finds its values, if there is one.
    pub scale: Option<Scale>,
    /// What `kubectl get` prints besides the name.
    pub print_columns: Vec<PrintColumn>,
    /// JSON paths that field selectors may use.
    pub selectable_fields: Vec<String>,
    /// Whether the version is served.
    pub serving: Serving,
    /// The schema of the object.
    pub schema: Value,
}

/// Whether objects live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Each object is in a namespace.
    Namespaced,
    /// Objects belong to the whole cluster.
    Cluster,
}

/// Whether the status is a subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is, and written at its own path only.
    Subresource,
    /// There is no status.
    Absent,
}

/// Whether a version is served.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Serving {
    /// It is.
    Served,
    /// It is, with a warning to clients; an empty text leaves the words to the server.
    Deprecated(String),
    /// It is not.
    Unserved,
}

/// The JSON paths of the scale subresource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scale {
    /// The wanted replicas, such as `.spec.replicas`.
    pub spec_path: String,
    /// The actual replicas, such as `.status.replicas`.
    pub status_path: String,
    /// The label selector as text, such as `.status.selector`; needed by autoscalers.
    pub selector_path: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PrintColumn {
    /// The heading.
    pub name: String,
    /// integer, number, string, boolean or date.
    pub json_type: String,
    /// Where the value is, such as `.spec.size`.
    pub json_path: String,
    /// What the column shows.
    pub description: Option<String>,
    /// The format of the value, as in a schema.
    pub format: Option<String>,
    /// Columns above 0 are shown with `-o wide` only.
    pub priority: Option<i32>,
}

impl Definition {
    /// The definition as the API server takes it. The one version is the storage version.
    pub fn to_value(&self) -> Value {
        let mut names = json!({
            "kind": self.kind, "listKind": self.list_kind, "plural": self.plural, "singular": self.singular,
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = self.short_names.clone().into();
        }
        if !self.categories.is_empty() {
            names["categories"] = self.categories.clone().into();
        }
        let scope = match self.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {"group": self.group, "names": names, "scope": scope, "versions": [self.version_value()]},
        })
    }

    /// One definition of several versions of a resource, as the API server takes it. Names are those of the version in
    /// which objects are stored; the versions keep their order.
    ///
    /// # Errors
    /// Where the versions are not of one resource, or none of them is `storage_version`.
    pub fn merge(versions: &[Self], storage_version: &str) -> Result<Value, MergeError> {
        let stored = versions.iter().find(|version| version.version == storage_version);
        let stored = stored.ok_or_else(|| MergeError::NoStorageVersion {
            version: storage_version.to_owned(),
        })?;
        let mut merged = stored.to_value();
        let mut entries = Vec::with_capacity(versions.len());
        for version in versions {
            for (what, one, other) in [
                ("group", &stored.group, &version.group),
                ("kind", &stored.kind, &version.kind),
                ("plural", &stored.plural, &version.plural),
            ] {
                if one != other {
                    return Err(MergeError::Different {
                        what,
                        one: one.clone(),
                        other: other.clone(),
                    });
                }
            }
            if stored.scope != version.scope {
                let [one, other] = [stored, version].map(|version| format!("{:?}", version.scope));
                return Err(MergeError::Different {
                    what: "scope",
                    one,
                    other,
                });
            }
            if entries
                .iter()
                .any(|entry: &Value| entry["name"] == version.version.as_str())
            {
                return Err(MergeError::Twice {
                    version: version.version.clone(),
                });
            }
            let mut entry = version.version_value();
            entry["storage"] = (version.version == storage_version).into();
            entries.push(entry);
        }
        merged["spec"]["versions"] = entries.into();
        Ok(merged)
    }

    /// The definition's entry of `spec.versions`.
    fn version_value(&self) -> Value {
        let mut version = json!({
            "name": self.version,
            "served": self.serving != Serving::Unserved,
            "storage": true,
            "schema": {"openAPIV3Schema": self.schema},
        });
        if let Serving::Deprecated(warning) = &self.serving {
            version["deprecated"] = true.into();
            if !warning.is_empty() {
                version["deprecationWarning"] = warning.as_str().into();
            }
        }
        let mut subresources = json!({});
        if self.status == Status::Subresource {
            subresources["status"] = json!({});
        }
        if let Some(scale) = &self.scale {
            subresources["scale"] =
                json!({"specReplicasPath": scale.spec_path, "statusReplicasPath": scale.status_path});
            if let Some(selector) = &scale.selector_path {
                subresources["scale"]["labelSelectorPath"] = selector.as_str().into();
            }
        }
        if subresources != json!({}) {
            version["subresources"] = subresources;
        }
        if !self.print_columns.is_empty() {
            version["additionalPrinterColumns"] =
                self.print_columns.iter().map(PrintColumn::to_value).collect();
        }
        if !self.selectable_fields.is_empty() {
            version["selectableFields"] = self
                .selectable_fields
                .iter()
                .map(|path| json!({"jsonPath": path}))
                .collect();
        }
        version
    }
}

/// Why versions do not make one definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// None of the versions is the one in which objects are stored.
    #[error("no version is named {version:?}, which is the storage version")]
    NoStorageVersion {
        /// The storage version.
        version: String,
    },
    /// The versions are of different resources.
    #[error("the versions differ in their {what}: {one:?} and {other:?}")]
    Different {
        /// What differs.
        what: &'static str,
        /// The storage version's.
        one: String,
        /// Another version's.
        other: String,
    },
    /// A version comes twice.
    #[error("the version {version:?} comes twice")]
    Twice {
        /// Its name.
        version: String,
    },
}

impl PrintColumn {
    fn to_value(&self) -> Value {
        let mut column = json!({"name": self.name, "type": self.json_type, "jsonPath": self.json_path});
        if let Some(description) = &self.description {
            column["description"] = description.as_str().into();
        }
        if let Some(format) = &self.format {
            column["format"] = format.as_str().into();
        }
        if let Some(priority) = self.priority {
            column["priority"] = priority.into();
        }
        column
    }
}

/// The schema of a whole object from those of its parts.
#[doc(hidden)]
pub fn root_schema(description: &str, spec: SchemaNode, status: Option<SchemaNode>) -> Value {
    let string = || SchemaNode::of(crate::JsonType::String).into_optional();
    let mut root = SchemaNode::of(crate::JsonType::Object)
        .describe(description)
        .property("apiVersion", string())
        .property("kind", string())
        .property(
            "metadata",
            SchemaNode::of(crate::JsonType::Object).into_optional(),
        )
        .property("spec", spec);
    if let Some(status) = status {
        root = root.property("status", status.into_optional());
    }
    root.into_value()
}

/// What the derive macro reads an object into before it makes the root type of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parts<S, T> {
    api_version: Option<Cow<'static, str>>,
    kind: Option<Cow<'static, str>>,
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(default = "absent")]
    spec: Option<S>,
    #[serde(default = "absent")]
    status: Option<T>,
}

fn absent<T>() -> Option<T> {
    None
}

/// Reads an object of one kind. What names another kind is refused; what names none is taken, as items of lists do.
#[doc(hidden)]
pub fn deserialize_parts<'de, D, S, T>(
    deserializer: D,
    api_version: &str,
    kind: &str,
) -> Result<(ObjectMeta, S, Option<T>), D::Error>
where
    D: Deserializer<'de>,
    S: Deserialize<'de>,
    T: Deserialize<'de>,
{
    let parts = Parts::<S, T>::deserialize(deserializer)?;
    for (field, found, wanted) in [
        ("apiVersion", &parts.api_version, api_version),
        ("kind", &parts.kind, kind),
    ] {
        if let Some(found) = found.as_deref().filter(|found| *found != wanted) {
            return Err(D::Error::custom(format!(
                "{field} is {found:?}, expected {wanted:?}"
            )));
        }
    }
    let spec = match parts.spec {
        Some(spec) => spec,
        // A spec with optional fields only may be left out.
        None => S::deserialize(serde::de::value::MapDeserializer::<_, D::Error>::new(
            std::iter::empty::<(&str, &str)>(),
        ))
        .map_err(|_| D::Error::missing_field("spec"))?,
    };
    Ok((parts.metadata, spec, parts.status))
}

/// Writes an object with its `apiVersion` and `kind`.
#[doc(hidden)]
pub fn serialize_parts<R, S, T, W>(
    _: &R,
    metadata: &ObjectMeta,
    spec: &S,
    status: Option<&T>,
    serializer: W,
) -> Result<W::Ok, W::Error>
where
    R: k8s_openapi::Resource,
    S: Serialize,
    T: Serialize,
    W: Serializer,
{
    let mut object = serializer.serialize_struct(R::KIND, 4 + usize::from(status.is_some()))?;
    object.serialize_field("apiVersion", R::API_VERSION)?;
    object.serialize_field("kind", R::KIND)?;
    object.serialize_field("metadata", metadata)?;
    object.serialize_field("spec", spec)?;
    if let Some(status) = status {
        object.serialize_field("status", status)?;
    }
    object.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(version: &str) -> Definition {
        Definition {
            group: "example.com".to_owned(),
            version: version.to_owned(),
            kind: "Guestbook".to_owned(),
            list_kind: "GuestbookList".to_owned(),
            plural: "guestbooks".to_owned(),
            singular: "guestbook".to_owned(),
            short_names: Vec::new(),
            categories: Vec::new(),
            scope: Scope::Namespaced,
            status: Status::Absent,
            scale: None,
            print_columns: Vec::new(),
            selectable_fields: Vec::new(),
            serving: Serving::Served,
            schema: json!({"type": "object"}),
        }
    }

    #[test]
    fn merges() {
        let merged = Definition::merge(&[definition("v2"), definition("v1")], "v1").unwrap();
        let versions = merged["spec"]["versions"].as_array().unwrap();
        let stored: Vec<_> = versions
            .iter()
            .map(|version| (&version["name"], &version["storage"]))
            .collect();
        assert_eq!(
            stored,
            [(&json!("v2"), &json!(false)), (&json!("v1"), &json!(true))]
        );

        let other = Definition {
            scope: Scope::Cluster,
            ..definition("v2")
        };
        for (versions, expect) in [
            (
                vec![definition("v2")],
                "no version is named \"v1\", which is the storage version",
            ),
            (
                vec![definition("v1"), other],
                "the versions differ in their scope: \"Namespaced\" and \"Cluster\"",
            ),
            (
                vec![definition("v1"), definition("v1")],
                "the version \"v1\" comes twice",
            ),
        ] {
            assert_eq!(
                Definition::merge(&versions, "v1").unwrap_err().to_string(),
                expect
            );
        }
    }
}
