//! Documents of the paths above group-versions: which versions and groups there are, and which release the server is of.
//!
//! Upstream: apiserver `pkg/endpoints/discovery/{legacy,root,group}.go` and `pkg/server/routes/version.go`, kubernetes
//! `pkg/routes/openidmetadata.go`. Groups of custom resources have
//! no such document there, and so not here.

use std::collections::BTreeSet;

use kubewright_schema::openapi::{BuiltinSchemas, Descriptions};
use serde_json::{Map, Value, json};

use super::{document, operation};
use crate::registry::{Group, Registry};

/// A path above group-versions.
pub(super) struct Root<'a> {
    /// The name of the document in the index: the path without its outer slashes.
    pub(super) name: String,
    group: Option<&'a Group>,
}

/// All of them.
pub(super) fn all(registry: &Registry) -> Vec<Root<'_>> {
    let fixed = ["api", "apis", "version", CONFIGURATION, KEYS].map(|name| Root {
        name: name.to_owned(),
        group: None,
    });
    let groups = registry
        .groups()
        .iter()
        .filter(|group| !group.name.is_empty() && is_builtin(group));
    let groups = groups.map(|group| Root {
        name: format!("apis/{}", group.name),
        group: Some(group),
    });
    fixed.into_iter().chain(groups).collect()
}

fn is_builtin(group: &Group) -> bool {
    let mut resources = group.versions.iter().flat_map(|version| &version.resources);
    resources.any(|resource| resource.model.builtin_type().is_some())
}

impl Root<'_> {
    /// Its path and what is answered there, as the third version of OpenAPI has it.
    pub(super) fn path(&self) -> (String, Value) {
        let path = format!("/{}/", self.name);
        if let Some((tag, description, id, media_type)) = of_tokens(&self.name) {
            let get = operation::text(tag, description, id, media_type);
            return (path, json!({ "get": get }));
        }
        let (tag, id, description, schema) = match (self.group, self.name.as_str()) {
            (Some(group), _) => (
                operation::tag(&group.name, None),
                format!("get{}APIGroup", operation::words(&group.name, None)),
                "get information of a group",
                API_GROUP,
            ),
            (None, "api") => (
                "core".to_owned(),
                "getCoreAPIVersions".to_owned(),
                "get available API versions",
                API_VERSIONS,
            ),
            (None, "apis") => (
                "apis".to_owned(),
                "getAPIVersions".to_owned(),
                "get available API versions",
                API_GROUP_LIST,
            ),
            _ => (
                "version".to_owned(),
                "getCodeVersion".to_owned(),
                "get the version information for this server",
                VERSION_INFO,
            ),
        };
        let get = operation::plain(&tag, description, &id, schema);
        (path, json!({ "get": get }))
    }

    /// Its document.
    pub(super) fn document(&self, descriptions: &dyn Descriptions) -> Value {
        let (path, operations) = self.path();
        let mut roots = BTreeSet::new();
        document::references(&operations, &mut roots);
        let mut schemas = Map::new();
        add_schemas(&mut schemas, &roots, descriptions);
        document::whole(json!({ path: operations }), schemas)
    }
}

/// What says how tokens of service accounts are to be checked (kubernetes pkg/routes/openidmetadata.go): tag, description, id and media
/// type.
fn of_tokens(name: &str) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
    match name {
        CONFIGURATION => Some((
            "WellKnown",
            "get what OpenID Connect tells of the issuer of the tokens of service accounts",
            "getServiceAccountIssuerOpenIDConfiguration",
            "application/json",
        )),
        KEYS => Some((
            "openid",
            "get the public keys by which the tokens of service accounts are checked",
            "getServiceAccountIssuerOpenIDKeyset",
            "application/jwk-set+json",
        )),
        _ => None,
    }
}

/// The schemas that paths refer to, with all that those refer to.
pub(super) fn add_schemas(
    schemas: &mut Map<String, Value>,
    roots: &BTreeSet<String>,
    descriptions: &dyn Descriptions,
) {
    let builtin = BuiltinSchemas::new(descriptions).components(roots.iter().map(String::as_str));
    schemas.extend(
        builtin
            .into_iter()
            .map(|(name, schema)| (name.to_owned(), schema)),
    );
    // It is no kind, so the table of kinds does not have it.
    if roots.contains(VERSION_INFO) {
        schemas.insert(VERSION_INFO.to_owned(), version_info());
    }
}

/// What `/version` answers (apimachinery `pkg/version/types.go`).
fn version_info() -> Value {
    let text = json!({"type": "string", "default": ""});
    let required = [
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ];
    let mut properties: Map<String, Value> = required
        .iter()
        .map(|name| ((*name).to_owned(), text.clone()))
        .collect();
    for name in [
        "emulationMajor",
        "emulationMinor",
        "minCompatibilityMajor",
        "minCompatibilityMinor",
    ] {
        properties.insert(name.to_owned(), json!({"type": "string"}));
    }
    json!({"type": "object", "required": required, "properties": properties})
}

const CONFIGURATION: &str = ".well-known/openid-configuration";
const KEYS: &str = "openid/v1/jwks";
const API_GROUP: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup";
const API_GROUP_LIST: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList";
const API_VERSIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions";
const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";
