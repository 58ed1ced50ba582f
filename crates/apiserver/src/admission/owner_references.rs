//! `OwnerReferencesPermissionEnforcement`: whoever sets owners must have the right to delete the object, and to hold up the deletion of those
//! owners.
//!
//! Upstream: kubernetes plugin/pkg/admission/gc/gc_admission.go. Off unless it is enabled.

use serde_json::Value;

use super::attributes::{Attributes, Operation};
use crate::authorization::{Access, Attempt, Decision, Rules};
use crate::error::ApiResult;
use crate::registry::{Registry, Resource};

/// Checks a write that changes owners.
///
/// # Errors
/// 403 for somebody who lacks a right.
pub(super) async fn validate(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    let Some(new) = object.filter(|_| concerns(attributes)) else {
        return Ok(());
    };
    let old = attributes.old;
    if owners(new) == old.map_or(&[][..], owners) {
        return Ok(());
    }
    let identity = &attributes.call.identity;
    let rules = attributes.call.server.rules_for(identity).await?;
    // Whoever makes an object had the power not to.
    if attributes.operation == Operation::Update
        && let Decision::Refused(reason) = decide(&rules, attributes, &deletion(attributes))
    {
        let why = format!("cannot set an ownerRef on a resource you can't delete: {reason}, <nil>");
        return Err(attributes.forbidden(object, why));
    }
    let blocking: Vec<&Value> = newly_blocking(new, old).collect();
    let finalizes_anything = || rules.permits(identity, &Access::Resource(FINALIZE_ANYTHING));
    if blocking.is_empty() || finalizes_anything() {
        return Ok(());
    }
    let registry = attributes.call.server.registry();
    for owner in blocking {
        let (version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        let resources: Vec<&Resource> = resources(&registry, version, kind).collect();
        if resources.is_empty() {
            let why = format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind {kind}: no \
                 matches for kind {kind:?} in version {version:?}"
            );
            return Err(attributes.forbidden(object, why));
        }
        for resource in resources {
            let attempt = finalization(resource, attributes.namespace(), text(owner, "name"));
            if let Decision::Refused(reason) = decide(&rules, attributes, &attempt) {
                let why = format!(
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: {reason}, <nil>"
                );
                return Err(attributes.forbidden(object, why));
            }
        }
    }
    Ok(())
}

/// Old kubelets spoil the owners in what they say of pods, where they change nothing.
fn concerns(attributes: &Attributes<'_>) -> bool {
    let resource = attributes.resource();
    let is_pod_status =
        resource.group.is_empty() && resource.plural == "pods" && attributes.subresource() == "status";
    matches!(attributes.operation, Operation::Create | Operation::Update) && !is_pod_status
}

fn decide(rules: &Rules, attributes: &Attributes<'_>, attempt: &Attempt<'_>) -> Decision {
    rules.decide(&attributes.call.identity, &Access::Resource(*attempt))
}

fn deletion<'a>(attributes: &'a Attributes<'_>) -> Attempt<'a> {
    let resource = attributes.resource();
    Attempt {
        verb: "delete",
        group: &resource.group,
        resource: &resource.plural,
        subresource: attributes.subresource(),
        namespace: Some(attributes.namespace()).filter(|namespace| !namespace.is_empty()),
        name: &attributes.name,
    }
}

/// What somebody does who holds up the deletion of an owner.
fn finalization<'a>(owner: &'a Resource, namespace: &'a str, name: &'a str) -> Attempt<'a> {
    Attempt {
        verb: "update",
        group: &owner.group,
        resource: &owner.plural,
        subresource: "finalizers",
        // An owner in a namespace is in that of its dependent.
        namespace: (owner.scope == kubewright_core::Scope::Namespaced && !namespace.is_empty())
            .then_some(namespace),
        name,
    }
}

/// Asked first: who may do this with everything needs no kinds to be looked up.
const FINALIZE_ANYTHING: Attempt<'static> = Attempt {
    verb: "update",
    group: "*",
    resource: "*",
    subresource: "finalizers",
    namespace: None,
    name: "*",
};

fn resources<'a>(
    registry: &'a Registry,
    api_version: &str,
    kind: &'a str,
) -> impl Iterator<Item = &'a Resource> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let version = registry.version(group, version);
    let all = version.into_iter().flat_map(|version| &version.resources);
    all.map(|resource| &**resource)
        .filter(move |resource| resource.kind == kind)
}

fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// The owners whose deletion an object begins to hold up.
fn newly_blocking<'a>(new: &'a Value, old: Option<&'a Value>) -> impl Iterator<Item = &'a Value> {
    let before = old.map_or(&[][..], owners);
    owners(new).iter().filter(move |owner| {
        let same = before.iter().rfind(|old| old["uid"] == owner["uid"]);
        is_blocking(owner) && !same.is_some_and(is_blocking)
    })
}

fn is_blocking(owner: &Value) -> bool {
    owner["blockOwnerDeletion"] == true
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows of upstream's gc_admission_test.go.
    #[test]
    fn which_owners_begin_to_be_blocked() {
        let owner = |uid: &str, blocks: Option<bool>| match blocks {
            Some(blocks) => json!({"uid": uid, "blockOwnerDeletion": blocks}),
            None => json!({"uid": uid}),
        };
        let object = |owners: &[(&str, Option<bool>)]| {
            let owners: Vec<Value> = owners.iter().map(|(uid, blocks)| owner(uid, *blocks)).collect();
            json!({"metadata": {"ownerReferences": owners}})
        };
        type Owners<'a> = &'a [(&'a str, Option<bool>)];
        let check = |old: Option<Owners<'_>>, new: Owners<'_>, expect: &[&str]| {
            let (old, new) = (old.map(object), object(new));
            let found: Vec<&str> = newly_blocking(&new, old.as_ref())
                .map(|owner| text(owner, "uid"))
                .collect();
            assert_eq!(found, expect, "{new}");
        };
        check(None, &[("1", Some(true)), ("2", None)], &["1"]);
        check(Some(&[]), &[("1", Some(true))], &["1"]);
        check(Some(&[("1", None)]), &[("1", Some(true))], &["1"]);
        check(Some(&[("1", Some(false))]), &[("1", Some(true))], &["1"]);
        check(Some(&[("1", Some(true))]), &[("1", Some(true))], &[]);
        check(Some(&[("1", Some(true))]), &[("1", Some(false))], &[]);
        check(
            Some(&[("1", Some(true))]),
            &[("1", Some(true)), ("2", Some(true)), ("3", Some(false))],
            &["2"],
        );
    }
}
