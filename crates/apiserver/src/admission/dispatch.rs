//! Asking webhooks (apiserver pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go).

use std::sync::Arc;

use futures_util::future::join_all;
use kubewright_core::{GroupResource, GroupVersionKind, LabelSelector, Status};
use kubewright_kinds as kinds;
use kubewright_smd::json;
use kubewright_smd::managed::Managed;
use serde_json::{Map, Value};

use super::attributes::{Attributes, Operation};
use super::hook::{self, Hook, Invocation};
use super::hooks::Kind;
use super::review::{self, Verdict};
use super::rounds::Rounds;
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::handlers::{Call, from_storage, to_storage};
use crate::ids;
use crate::registry::{Model, Registry, Resource};
use crate::server::Server;
use crate::storage::Key;

/// What mutating webhooks make of an object; of none where it is deleted.
///
/// # Errors
/// Where a webhook refuses the request, or fails and must not.
pub(super) async fn mutate(attributes: &Attributes<'_>, object: Option<Value>) -> ApiResult<Option<Value>> {
    let Some(hooks) = hooks(attributes.call, Kind::Mutating).await? else {
        return Ok(object);
    };
    let before = object
        .as_ref()
        .map(|object| object["metadata"]["managedFields"].clone());
    // Boxed, so that writes that nobody is asked about do not carry it around.
    let mut mutated = Box::pin(Stage::new(attributes, Kind::Mutating, hooks).mutate(object)).await?;
    if let (Some(before), Some(object)) = (before, &mut mutated)
        && let Some(why) = restore_managers(before, object)
    {
        attributes.call.warnings.add(vec![why]);
    }
    Ok(mutated)
}

/// Takes back what was done to the managers of fields where nobody can read it: what the client is told then (apiserver
/// pkg/endpoints/handlers/fieldmanager/admission.go).
fn restore_managers(before: Value, object: &mut Value) -> Option<String> {
    let metadata = object["metadata"].as_object_mut()?;
    let after = metadata.get("managedFields").unwrap_or(&Value::Null);
    if *after == before {
        return None;
    }
    let why = Managed::decode(after).err()?;
    match before {
        Value::Null => metadata.remove("managedFields"),
        before => metadata.insert("managedFields".to_owned(), before),
    };
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission \
         controller; please fix your requests: {why}"
    ))
}

/// Lets validating webhooks look at an object; at none where it is deleted.
///
/// # Errors
/// Where a webhook refuses the request, or fails and must not: the first of them.
pub(super) async fn validate(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    let Some(hooks) = hooks(attributes.call, Kind::Validating).await? else {
        return Ok(());
    };
    Box::pin(Stage::new(attributes, Kind::Validating, hooks).validate(object)).await
}

/// The webhooks that are configured; `None` where none is asked.
async fn hooks(call: &Call<'_>, kind: Kind) -> ApiResult<Option<Arc<[Arc<Hook>]>>> {
    if is_exempt(&call.resource) {
        return Ok(None);
    }
    let server: &Server = call.server;
    let hooks = server.hooks.read(server.storage(), kind).await;
    let hooks = hooks.map_err(|error| call.storage_error(error))?;
    Ok((!hooks.is_empty()).then_some(hooks))
}

/// Whether no webhook is asked: about those that say which are asked, and about who may do what (kubernetes
/// pkg/kubeapiserver/admission/exclusion/resources.go).
fn is_exempt(resource: &Resource) -> bool {
    let is_configuration = resource.group == "admissionregistration.k8s.io"
        && matches!(
            resource.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        );
    let is_question = matches!(
        resource.group.as_str(),
        "authentication.k8s.io" | "authorization.k8s.io"
    );
    is_configuration || (is_question && resource.is_review())
}

/// Why a hook's answer is not followed.
enum Fault {
    /// It was not called, or gave no answer: its failure policy counts.
    Call(String),
    /// It refuses the request, or what it wants cannot be done.
    Refused(ApiError),
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

/// The webhooks of one kind for one request.
struct Stage<'a> {
    call: &'a Call<'a>,
    attributes: &'a Attributes<'a>,
    kind: Kind,
    hooks: Arc<[Arc<Hook>]>,
    registry: Arc<Registry>,
}

impl<'a> Stage<'a> {
    fn new(attributes: &'a Attributes<'_>, kind: Kind, hooks: Arc<[Arc<Hook>]>) -> Self {
        Self {
            call: attributes.call,
            attributes,
            kind,
            hooks,
            registry: attributes.call.server.registry(),
        }
    }

    /// Asks one hook after the other, and again those that are due.
    async fn mutate(&self, mut object: Option<Value>) -> ApiResult<Option<Value>> {
        let mut rounds = Rounds::default();
        for round in Rounds::ALL {
            for (index, hook) in self.hooks.iter().enumerate() {
                if !rounds.has_turn(round, index) {
                    continue;
                }
                let Some(invocation) = self.invocation(hook, object.as_ref()).await? else {
                    continue;
                };
                let outcome = self.change(hook, &invocation, object.as_ref()).await;
                let changed = self.settle(hook, outcome)?.flatten();
                rounds.called(index, hook.is_reinvoked, changed.is_some());
                object = changed.or(object);
            }
        }
        Ok(object)
    }

    /// Asks all hooks at once.
    async fn validate(&self, object: Option<&Value>) -> ApiResult<()> {
        let mut invocations = Vec::new();
        for hook in self.hooks.iter() {
            if let Some(invocation) = self.invocation(hook, object).await? {
                invocations.push((hook, invocation));
            }
        }
        let calls = invocations
            .iter()
            .map(|(hook, invocation)| async { self.settle(hook, self.ask(hook, invocation, object).await) });
        for outcome in join_all(calls).await {
            outcome?;
        }
        Ok(())
    }

    /// For which resource a hook is to be called, if at all.
    ///
    /// # Errors
    /// 404 for a namespace that is not there, 500 for a selector that cannot be read.
    async fn invocation(&self, hook: &Hook, object: Option<&Value>) -> ApiResult<Option<Invocation>> {
        let internal = |why: String| ApiError::from(Status::internal_error(why));
        let Some(invocation) = hook.invocation(self.attributes, object, &self.registry) else {
            return Ok(None);
        };
        let selector = hook.namespaces().map_err(internal)?;
        let invocation = invocation.map_err(internal)?;
        let is_selected = self.selects_namespace(selector, object).await?;
        Ok(is_selected.then_some(invocation))
    }

    async fn selects_namespace(&self, selector: &LabelSelector, object: Option<&Value>) -> ApiResult<bool> {
        let namespace = self.attributes.namespace();
        // A namespace whose name is made up later is one all the same.
        if (namespace.is_empty() && !self.attributes.is_namespace()) || selector.is_everything() {
            return Ok(true);
        }
        // A namespace that is being made or changed is judged by what it is to become.
        if self.attributes.is_namespace()
            && self.attributes.subresource().is_empty()
            && self.attributes.operation != Operation::Delete
        {
            return Ok(object.is_some_and(|object| hook::matches(selector, object)));
        }
        let key = Key::new("", "namespaces", None, namespace);
        let found = self.call.server.storage().get(key).await;
        let found = found.map_err(|error| self.call.storage_error(error))?;
        let found =
            found.ok_or_else(|| Status::not_found(&GroupResource::new("", "namespaces"), namespace))?;
        Ok(hook::matches(selector, &found.value()))
    }

    /// Asks a mutating hook and applies its patch: the changed object, if it changed.
    async fn change(
        &self,
        hook: &Hook,
        invocation: &Invocation,
        object: Option<&Value>,
    ) -> Result<Option<Value>, Fault> {
        let (verdict, sent) = self.ask(hook, invocation, object).await?;
        let Some(patch) = verdict.patch else {
            return Ok(None);
        };
        let internal = |why: String| Fault::Refused(Status::internal_error(why).into());
        let Some(sent) = sent else {
            return Err(internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name
            )));
        };
        let mut patched = json::patch(sent.clone(), &patch).map_err(|error| internal(error.to_string()))?;
        let own = self.attributes.resource();
        let kind = self.attributes.kind();
        let is_whole = kind == own.gvk();
        let resource = match invocation {
            Invocation::As(other) if is_whole => other,
            _ => own,
        };
        if is_whole {
            reshape(resource, &mut patched).map_err(internal)?;
        } else {
            reshape_part(&kind, &mut patched).map_err(internal)?;
        }
        if patched == sent {
            return Ok(None);
        }
        match invocation {
            Invocation::As(other) if is_whole => {
                Ok(Some(convert(self.call.server, other, own, &patched).await?))
            }
            _ => Ok(Some(patched)),
        }
    }

    /// Asks a hook. Gives its verdict and the object as it was sent.
    async fn ask(
        &self,
        hook: &Hook,
        invocation: &Invocation,
        object: Option<&Value>,
    ) -> Result<(Verdict, Option<Value>), Fault> {
        let attributes = self.attributes;
        if attributes.is_dry_run() {
            match hook.bears_dry_run {
                Some(true) => {}
                None => return Err(Fault::Call("Webhook SideEffects is nil".to_owned())),
                Some(false) => {
                    let why = format!("admission webhook {:?} does not support dry run", hook.name);
                    return Err(Fault::Refused(Status::bad_request(why).into()));
                }
            }
        }
        let version = hook.review.ok_or_else(|| {
            Fault::Call(
                "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
                    .to_owned(),
            )
        })?;
        let (sent, old) = match invocation {
            Invocation::As(other) if attributes.kind() == attributes.resource().gvk() => {
                let server = self.call.server;
                (
                    convert_some(server, attributes.resource(), other, object).await?,
                    convert_some(server, attributes.resource(), other, attributes.old).await?,
                )
            }
            _ => (object.cloned(), attributes.old.cloned()),
        };
        let uid = ids::uid();
        let question = review::request(version, &uid, attributes, invocation, sent.as_ref(), old.as_ref());
        let answer = hook.webhook.post(self.call.server, question.into()).await;
        let answer = answer.map_err(|error| Fault::Call(format!("failed to call webhook: {error}")))?;
        let verdict = review::read(&answer, version, &uid, self.kind).map_err(Fault::Call)?;
        self.call.warnings.add(verdict.warnings.clone());
        match verdict.refusal {
            Some(result) => Err(Fault::Refused(review::denial(&hook.name, result).into())),
            None => Ok((verdict, sent)),
        }
    }

    /// What an outcome means to the request: `None` where a failure is passed over.
    fn settle<T>(&self, hook: &Hook, outcome: Result<T, Fault>) -> ApiResult<Option<T>> {
        match outcome {
            Ok(done) => Ok(Some(done)),
            Err(Fault::Refused(error)) => Err(error),
            Err(Fault::Call(why)) => {
                let why = format!("failed calling webhook {:?}: {why}", hook.name);
                if hook.ignores_failures {
                    tracing::warn!(%why, "the request passes all the same");
                    return Ok(None);
                }
                Err(Status::internal_error(why).into())
            }
        }
    }
}

/// Brings what a patch left into the shape of its kind.
fn reshape(resource: &Resource, object: &mut Value) -> Result<(), String> {
    codec::expect_kind(object, &resource.gvk()).map_err(|fault| fault.to_string())?;
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Map::new());
    }
    if let Some(error) = resource.model.normalize(object).type_error {
        return Err(error);
    }
    resource
        .model
        .default(&resource.group, &resource.version, &resource.kind, object);
    Ok(())
}

/// The same for the object of a subresource that has a kind of its own.
fn reshape_part(kind: &GroupVersionKind, object: &mut Value) -> Result<(), String> {
    codec::expect_kind(object, kind).map_err(|fault| fault.to_string())?;
    match kinds::table().kind(&kind.group, &kind.version, &kind.kind) {
        Some(ty) => Model::Builtin(ty)
            .normalize(object)
            .type_error
            .map_or(Ok(()), Err),
        None => Ok(()),
    }
}

async fn convert_some(
    server: &Server,
    from: &Resource,
    to: &Resource,
    object: Option<&Value>,
) -> ApiResult<Option<Value>> {
    match object {
        Some(object) => convert(server, from, to, object).await.map(Some),
        None => Ok(None),
    }
}

/// An object in another version of its kind.
async fn convert(server: &Server, from: &Resource, to: &Resource, object: &Value) -> ApiResult<Value> {
    let stored = to_storage(server, from, object.clone()).await?;
    from_storage(server, to, stored).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn managers_that_nobody_can_read_are_taken_back() {
        let entry = |operation: &str| json!([{"manager": "m", "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}]);
        let (good, other, bad) = (entry("Update"), entry("Apply"), entry("Guess"));
        for (before, after, expect) in [
            (&good, &good, None),
            // What was bad before is not admission's.
            (&bad, &bad, None),
            (&good, &other, None),
            (&good, &Value::Null, None),
            (&good, &bad, Some(&good)),
            (&Value::Null, &bad, Some(&Value::Null)),
        ] {
            let mut object = json!({"metadata": {"managedFields": after}});
            let why = restore_managers(before.clone(), &mut object);
            assert_eq!(&object["metadata"]["managedFields"], expect.unwrap_or(after));
            assert_eq!(why.is_some(), expect.is_some(), "{before} {after}");
            let end = "please fix your requests: operation must be `Apply` or `Update`";
            assert!(why.is_none_or(|why| why.ends_with(end)));
        }
    }
}
