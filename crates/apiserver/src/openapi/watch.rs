//! The deprecated paths below `watch/`, which clients made from the document have methods for.
//!
//! Only built-in resources have them (apiserver pkg/endpoints/installer.go `registerResourceHandlers`); custom ones are documented by a
//! builder of their own that leaves them out.

use kubewright_core::Scope;
use serde_json::{Map, Value, json};

use super::operation::{BUILTIN_LIST_TYPES, LIST_PARAMETERS, PRETTY, responses, root, tag, words};
use super::parameter::{Parameter, list};
use crate::registry::Resource;

/// Adds the paths of a resource that can be watched.
pub(super) fn add_paths(paths: &mut Map<String, Value>, resource: &Resource) {
    if !resource.offers("watch") || resource.model.builtin_type().is_none() {
        return;
    }
    let Resource { plural, kind, .. } = resource;
    let root = format!("{}/watch", root(resource));
    let words = words(&resource.group, Some(&resource.version));
    let (name, namespace) = (Parameter::path("name"), Parameter::path("namespace"));
    let mut add = |path: String, action: &str, id: String, places: &[Parameter]| {
        let parameters = places.iter().chain(&[PRETTY]).chain(LIST_PARAMETERS);
        let path_item = json!({
            "get": {
                "tags": [tag(&resource.group, Some(&resource.version))],
                "description": format!("watch objects of kind {kind}; better done with the parameter `watch` of a list"),
                "operationId": format!("watch{words}{id}"),
                "responses": responses(&["200"], WATCH_EVENT, BUILTIN_LIST_TYPES),
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind":
                    {"group": resource.group, "version": resource.version, "kind": kind},
            },
            "parameters": list(parameters),
        });
        paths.insert(path, path_item);
    };
    match resource.scope {
        Scope::Cluster => {
            add(format!("{root}/{plural}"), LIST, format!("{kind}List"), &[]);
            add(format!("{root}/{plural}/{{name}}"), ITEM, kind.clone(), &[name]);
        }
        Scope::Namespaced => {
            let within = format!("{root}/namespaces/{{namespace}}/{plural}");
            let everywhere = format!("{kind}ListForAllNamespaces");
            add(format!("{root}/{plural}"), LIST, everywhere, &[]);
            add(
                within.clone(),
                LIST,
                format!("Namespaced{kind}List"),
                &[namespace],
            );
            let item = format!("Namespaced{kind}");
            add(format!("{within}/{{name}}"), ITEM, item, &[name, namespace]);
        }
    }
}

const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";
const LIST: &str = "watchlist";
const ITEM: &str = "watch";
