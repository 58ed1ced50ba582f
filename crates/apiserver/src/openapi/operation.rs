//! The paths of a document: every operation of every resource with its parameters.
//!
//! What clients read here is which kind an operation is for (`x-kubernetes-group-version-kind`), what it does
//! (`x-kubernetes-action`) and which parameters it takes: kubectl looks for `fieldValidation` on the PATCH of a kind.

use serde_json::{Map, Value, json};

use super::document::{API_RESOURCE_LIST, DELETE_OPTIONS, PATCH, STATUS, Types, type_of_subresource};
use super::parameter::{Parameter, list};
use super::{connect, watch};
use crate::builtin::strategy::deletion::shows_deleted;
use crate::registry::{Resource, Subresource};
use kubewright_core::Scope;

/// The path of a resource's group-version.
pub(super) fn root(resource: &Resource) -> String {
    let prefix = if resource.group.is_empty() {
        "/api"
    } else {
        "/apis"
    };
    format!("{prefix}/{}", resource.api_version())
}

/// What the path of a group-version itself answers.
pub(super) fn discovery(resource: &Resource) -> Value {
    let Resource { group, version, .. } = resource;
    let id = format!("get{}APIResources", words(group, Some(version)));
    let get = plain(
        &tag(group, Some(version)),
        "get available resources",
        &id,
        API_RESOURCE_LIST,
    );
    json!({ "get": get })
}

/// An operation that reads what is no resource.
pub(super) fn plain(tag: &str, description: &str, id: &str, schema: &str) -> Value {
    reading(tag, description, id, responses(&["200"], schema, BUILTIN_TYPES))
}

/// An operation that reads a text of a media type.
pub(super) fn text(tag: &str, description: &str, id: &str, media_type: &str) -> Value {
    let mut responses = responses(&["200"], "", &[]);
    responses["200"]["content"] = json!({media_type: {"schema": {"type": "string"}}});
    reading(tag, description, id, responses)
}

fn reading(tag: &str, description: &str, id: &str, responses: Value) -> Value {
    json!({"tags": [tag], "description": description, "operationId": id, "responses": responses})
}

/// Adds the paths of a resource.
pub(super) fn add_paths(paths: &mut Map<String, Value>, resource: &Resource, types: &Types) {
    let is_namespaced = resource.scope == Scope::Namespaced;
    let root = root(resource);
    let within = if is_namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}{within}/{}", resource.plural);
    let item = format!("{collection}/{{name}}");
    let add = |paths: &mut Map<String, Value>,
               path: String,
               wanted: Option<Place>,
               subject: &Subject<'_>,
               parameters: &[Parameter]| {
        let verbs = subject
            .verbs
            .iter()
            .filter_map(|verb| Operation::of(verb, resource));
        let operations: Vec<Operation> = verbs
            .filter(|operation| wanted.is_none_or(|wanted| operation.place == wanted))
            .collect();
        if !operations.is_empty() {
            paths.insert(path, describe_path(&operations, subject, parameters));
        }
    };
    let subject = Subject {
        resource,
        verbs: &resource.verbs,
        object: &types.object,
        list: &types.list,
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        namespaced: if is_namespaced { "Namespaced" } else { "" },
        suffix: String::new(),
    };
    let (name, namespace) = (Parameter::path("name"), Parameter::path("namespace"));
    let in_collection: &[Parameter] = if is_namespaced {
        &[namespace, PRETTY]
    } else {
        &[PRETTY]
    };
    let in_item: &[Parameter] = if is_namespaced {
        &[name, namespace, PRETTY]
    } else {
        &[name, PRETTY]
    };
    add(
        paths,
        collection,
        Some(Place::Collection),
        &subject,
        in_collection,
    );
    add(paths, item.clone(), Some(Place::Item), &subject, in_item);
    if is_namespaced && resource.offers("list") {
        let everywhere = Subject {
            namespaced: "",
            suffix: "ForAllNamespaces".into(),
            verbs: &[LIST.to_owned()],
            ..subject
        };
        add(
            paths,
            format!("{root}/{}", resource.plural),
            Some(Place::Collection),
            &everywhere,
            &[PRETTY],
        );
    }
    watch::add_paths(paths, resource);
    let place = in_item.strip_suffix(&[PRETTY]).unwrap_or(in_item);
    for subresource in &resource.subresources {
        let path = format!("{item}/{}", subresource.name);
        if connect::is_connection(subresource) {
            connect::add_paths(paths, &path, resource, subresource, place);
            continue;
        }
        let object = type_of_subresource(resource, subresource);
        let subject = of_subresource(resource, subresource, &object);
        // All its verbs, also to create: an eviction is posted below the name of its pod.
        add(paths, path.clone(), None, &subject, in_item);
        if subresource.name == "log"
            && let Some(get) = paths.get_mut(&path)
        {
            get["get"]["responses"] = connect::text_responses(connect::LOG_TYPES);
            get["parameters"] = list(in_item.iter().chain(connect::LOG));
        }
    }
}

/// A path with its operations. A parameter that all of them take is the path's.
fn describe_path(operations: &[Operation], subject: &Subject<'_>, parameters: &[Parameter]) -> Value {
    let first = operations
        .iter()
        .flat_map(|operation| operation.parameters)
        .copied();
    let is_shared = |parameter: &Parameter| operations.iter().all(|one| one.parameters.contains(parameter));
    let mut shared: Vec<Parameter> = Vec::new();
    for parameter in first.filter(is_shared) {
        if !shared.contains(&parameter) {
            shared.push(parameter);
        }
    }
    let mut path: Map<String, Value> = operations
        .iter()
        .map(|operation| (operation.method.to_owned(), operation.describe(subject, &shared)))
        .collect();
    let parameters = parameters.iter().chain(&shared);
    path.insert("parameters".to_owned(), list(parameters));
    path.into()
}

fn of_subresource<'a>(resource: &'a Resource, subresource: &'a Subresource, object: &'a str) -> Subject<'a> {
    // A custom resource's is said to be on the resource, whatever it carries.
    let (group, version, kind) = match resource.model.builtin_type() {
        Some(_) => (&subresource.group, &subresource.version, &subresource.kind),
        None => (&resource.group, &resource.version, &resource.kind),
    };
    Subject {
        resource,
        verbs: &subresource.verbs,
        object,
        list: object,
        group,
        version,
        kind,
        namespaced: if resource.scope == Scope::Namespaced {
            "Namespaced"
        } else {
            ""
        },
        suffix: capitalized(&subresource.name),
    }
}

/// What operations are on.
struct Subject<'a> {
    resource: &'a Resource,
    verbs: &'a [String],
    object: &'a str,
    list: &'a str,
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    namespaced: &'a str,
    /// The end of the operation's name.
    suffix: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Collection,
    Item,
}

/// An operation as the document names it.
struct Operation {
    place: Place,
    method: &'static str,
    action: &'static str,
    /// The beginning of its name.
    verb: &'static str,
    parameters: &'static [Parameter],
    /// The codes of answers that carry the object.
    codes: &'static [&'static str],
}

impl Operation {
    /// The operation behind a verb of discovery; `None` for one that has no operation of its own, such as `watch`.
    fn of(verb: &str, resource: &Resource) -> Option<Self> {
        let mut operation = Self::of_builtin(verb)?;
        if resource.model.builtin_type().is_none() {
            // As their own builder documents them (apiextensions pkg/controller/openapi/builder `buildRoute`).
            match operation.action {
                "get" => operation.parameters = GET_PARAMETERS,
                "deletecollection" => operation.parameters = LIST_PARAMETERS,
                "patch" => operation.codes = &["200"],
                _ => {}
            }
        }
        Some(operation)
    }

    fn of_builtin(verb: &str) -> Option<Self> {
        let operation = |place, method, action, verb, parameters, codes| Self {
            place,
            method,
            action,
            verb,
            parameters,
            codes,
        };
        Some(match verb {
            "list" => operation(
                Place::Collection,
                "get",
                "list",
                "list",
                LIST_PARAMETERS,
                &["200"],
            ),
            "create" => operation(
                Place::Collection,
                "post",
                "post",
                "create",
                WRITE_PARAMETERS,
                &["200", "201", "202"],
            ),
            "deletecollection" => operation(
                Place::Collection,
                "delete",
                "deletecollection",
                "delete",
                DELETE_COLLECTION_PARAMETERS,
                &["200"],
            ),
            "get" => operation(Place::Item, "get", "get", "read", &[], &["200"]),
            "update" => operation(
                Place::Item,
                "put",
                "put",
                "replace",
                WRITE_PARAMETERS,
                &["200", "201"],
            ),
            "patch" => operation(
                Place::Item,
                "patch",
                "patch",
                "patch",
                PATCH_PARAMETERS,
                &["200", "201"],
            ),
            "delete" => operation(
                Place::Item,
                "delete",
                "delete",
                "delete",
                DELETE_PARAMETERS,
                &["200", "202"],
            ),
            _ => return None,
        })
    }

    fn describe(&self, subject: &Subject<'_>, shared: &[Parameter]) -> Value {
        let Subject {
            resource,
            group,
            version,
            kind,
            namespaced,
            suffix,
            ..
        } = subject;
        let collection = if self.action == "deletecollection" {
            "Collection"
        } else {
            ""
        };
        let words = words(&resource.group, Some(&resource.version));
        let is_builtin = resource.model.builtin_type().is_some();
        let answer = match self.action {
            "list" => subject.list,
            "delete" if tells_of_deleted(resource) => subject.object,
            "delete" | "deletecollection" => STATUS,
            _ => subject.object,
        };
        // Lists can also be streams, which upstream does not say of custom resources.
        let types = match (self.action, is_builtin) {
            ("list", true) => BUILTIN_LIST_TYPES,
            (_, true) => BUILTIN_TYPES,
            (_, false) => CUSTOM_TYPES,
        };
        let mut operation = json!({
            "tags": [tag(&resource.group, Some(&resource.version))],
            "description": self.description(subject),
            "operationId": format!("{}{words}{collection}{namespaced}{}{suffix}", self.verb, resource.kind),
            "responses": responses(self.codes, answer, types),
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        });
        let own = || {
            self.parameters
                .iter()
                .filter(|parameter| !shared.contains(parameter))
        };
        if own().next().is_some() {
            operation["parameters"] = list(own());
        }
        let body = |schema: &str, types: &[&str]| content(types, schema);
        let written: &[&str] = if is_builtin { &["*/*"] } else { CUSTOM_TYPES };
        match self.action {
            "post" | "put" => {
                operation["requestBody"] = json!({"content": body(subject.object, written), "required": true})
            }
            "deletecollection" if !is_builtin => {}
            "delete" | "deletecollection" => {
                operation["requestBody"] = json!({"content": body(DELETE_OPTIONS, written)})
            }
            "patch" => {
                let kinds = if is_builtin {
                    PATCH_TYPES
                } else {
                    CUSTOM_PATCH_TYPES
                };
                operation["requestBody"] = json!({"content": body(PATCH, kinds), "required": true});
            }
            _ => {}
        }
        operation
    }

    fn description(&self, subject: &Subject<'_>) -> String {
        let kind = &subject.resource.kind;
        let part = match subject.suffix.as_str() {
            "" | "ForAllNamespaces" => String::new(),
            part => format!("{} of the specified ", part.to_lowercase()),
        };
        match self.action {
            "list" if subject.resource.model.builtin_type().is_none() => {
                format!("list objects of kind {kind}")
            }
            "list" => format!("list or watch objects of kind {kind}"),
            "post" => format!("create a {kind}"),
            "deletecollection" => format!("delete collection of {kind}"),
            "get" => format!(
                "read {}{kind}",
                if part.is_empty() { "the specified " } else { &part }
            ),
            "put" => format!(
                "replace {}{kind}",
                if part.is_empty() { "the specified " } else { &part }
            ),
            "patch" => format!(
                "partially update {}{kind}",
                if part.is_empty() { "the specified " } else { &part }
            ),
            _ => format!("delete a {kind}"),
        }
    }
}

/// Whether the answer to a delete is documented as the object. The storage of namespaces returns it too, yet does not say so
/// (pkg/registry/core/namespace/storage, whose `REST` lacks `DeleteReturnsDeletedObject`).
fn tells_of_deleted(resource: &Resource) -> bool {
    shows_deleted(&resource.group, &resource.plural) && resource.kind != "Namespace"
}

/// Answers with something of a schema, in one of these media types.
pub(super) fn responses(codes: &[&str], schema: &str, types: &[&str]) -> Value {
    let content = content(types, schema);
    let mut responses: Map<String, Value> = codes
        .iter()
        .map(|&code| {
            let description = match code {
                "201" => "Created",
                "202" => "Accepted",
                _ => "OK",
            };
            (
                code.to_owned(),
                json!({"description": description, "content": content}),
            )
        })
        .collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    responses.into()
}

fn content(types: &[&str], schema: &str) -> Value {
    let reference = json!({"schema": {"$ref": format!("{REFERENCE}{schema}")}});
    types
        .iter()
        .map(|&ty| (ty.to_owned(), reference.clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// `AppsV1`, `RbacAuthorizationV1`, `CoreV1`; without version for operations on a group.
pub(super) fn words(group: &str, version: Option<&str>) -> String {
    group_words(group).chain(version).map(capitalized).collect()
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}

/// `apps_v1`, `flowcontrolApiserver_v1`, by which generators put operations together.
pub(super) fn tag(group: &str, version: Option<&str>) -> String {
    let mut words = group_words(group);
    let first = words.next().unwrap_or_default().to_owned();
    let mut tag = words.fold(first, |group, word| group + &capitalized(word));
    if let Some(version) = version {
        tag.push('_');
        tag.push_str(version);
    }
    tag
}

fn group_words(group: &str) -> impl Iterator<Item = &str> {
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    let group = if group.is_empty() { "core" } else { group };
    group.split(['.', '-'])
}

/// Where schemas are within a document.
pub(super) const REFERENCE: &str = "#/components/schemas/";
const LIST: &str = "list";
pub(super) const PRETTY: Parameter = Parameter::text("pretty");
pub(super) const LIST_PARAMETERS: &[Parameter] = &[
    Parameter::flag("allowWatchBookmarks"),
    Parameter::text("continue"),
    Parameter::text("fieldSelector"),
    Parameter::text("labelSelector"),
    Parameter::number("limit"),
    Parameter::text("resourceVersion"),
    Parameter::text("resourceVersionMatch"),
    Parameter::flag("sendInitialEvents"),
    Parameter::text("shardSelector"),
    Parameter::number("timeoutSeconds"),
    Parameter::flag("watch"),
];
const GET_PARAMETERS: &[Parameter] = &[Parameter::text("resourceVersion")];
const WRITE_PARAMETERS: &[Parameter] = &[
    Parameter::text("dryRun"),
    Parameter::text("fieldManager"),
    Parameter::text("fieldValidation"),
];
const PATCH_PARAMETERS: &[Parameter] = &[
    Parameter::text("dryRun"),
    Parameter::text("fieldManager"),
    Parameter::text("fieldValidation"),
    Parameter::flag("force"),
];
const DELETE_PARAMETERS: &[Parameter] = &[
    Parameter::text("dryRun"),
    Parameter::number("gracePeriodSeconds"),
    Parameter::flag("ignoreStoreReadErrorWithClusterBreakingPotential"),
    Parameter::flag("orphanDependents"),
    Parameter::text("propagationPolicy"),
];
const DELETE_COLLECTION_PARAMETERS: &[Parameter] = &[
    Parameter::text("continue"),
    Parameter::text("dryRun"),
    Parameter::text("fieldSelector"),
    Parameter::number("gracePeriodSeconds"),
    Parameter::flag("ignoreStoreReadErrorWithClusterBreakingPotential"),
    Parameter::text("labelSelector"),
    Parameter::number("limit"),
    Parameter::flag("orphanDependents"),
    Parameter::text("propagationPolicy"),
    Parameter::text("resourceVersion"),
    Parameter::text("resourceVersionMatch"),
    Parameter::flag("sendInitialEvents"),
    Parameter::text("shardSelector"),
    Parameter::number("timeoutSeconds"),
];
/// What upstream's negotiated serializer offers for its own kinds, and below what its builder writes for
/// custom resources (apiextensions-apiserver pkg/controller/openapi/builder).
const BUILTIN_TYPES: &[&str] = &[
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
pub(super) const BUILTIN_LIST_TYPES: &[&str] = &[
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
const CUSTOM_TYPES: &[&str] = &["application/json", "application/yaml"];
const PATCH_TYPES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
const CUSTOM_PATCH_TYPES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];
