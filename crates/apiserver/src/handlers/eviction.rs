//! Eviction: deletes a pod by leave of its disruption budget (pkg/registry/core/pod/storage/eviction.go `EvictionREST`).

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use kubewright_core::{
    DeleteOptions, FieldError, FieldPath, GroupKind, GroupResource, GroupVersionKind, Preconditions,
    PropagationPolicy, Status, StatusDetails, StatusReason, WriteOptions,
};
use kubewright_net::{Body, Identity};
use serde_json::Value;

use super::delete::{self, Admission, delete_object};
use super::subresource::{self, done, find, of_status};
use super::write::{self, Written, meta};
use super::{Call, admitted, all_from_storage, create, from_storage, update};
use crate::authentication::AUTHENTICATED;
use crate::authorization::MASTERS;
use crate::builtin::disruption;
use crate::error::{ApiError, ApiResult};
use crate::registry::Resource;
use crate::request::{RequestInfo, Verb};
use crate::storage::{RangeRequest, StoredObject};

/// Evicts the pod that the path names.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let options = write::options(call)?;
    let gvk = GroupVersionKind::new("policy", "v1", "Eviction");
    let mut eviction = subresource::read(call, body, &options, &gvk, &["policy/v1beta1"])?;
    let name = call.name()?;
    if meta(&eviction, "name") != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object").into());
    }
    create::place(call, &mut eviction)?;
    let eviction = admitted::admit_new(call, eviction, &options).await?;
    let options = delete_options(name, &eviction, &options)?;
    if let Some(budget) = ask(call, &options).await? {
        evict_by(call, &options, &budget).await?;
    }
    done(call)
}

/// How the pod is to be deleted, as the eviction says and the request adds.
fn delete_options(name: &str, eviction: &Value, request: &WriteOptions) -> ApiResult<DeleteOptions> {
    let written = &eviction["deleteOptions"];
    if written["ignoreStoreReadErrorWithClusterBreakingPotential"] == true {
        let path = FieldPath::new("deleteOptions").child("ignoreStoreReadErrorWithClusterBreakingPotential");
        let why = "can not be set for pod eviction, try after removing the option";
        let kind = GroupKind::new("policy", "Eviction");
        return Err(Status::invalid(&kind, name, &[FieldError::invalid(path, true, why)]).into());
    }
    // Checked before it is read, since it is refused otherwise than what cannot be read.
    if let Some(policy) = written["propagationPolicy"].as_str() {
        policy
            .parse::<PropagationPolicy>()
            .map_err(|error| ApiError::from_option(error, "DeleteOptions"))?;
    }
    let mut options: DeleteOptions = match written {
        Value::Null => DeleteOptions::default(),
        written => serde_json::from_value(written.clone())
            .map_err(|error| Status::bad_request(format!("the DeleteOptions cannot be read: {error}")))?,
    };
    if options.dry_run.is_empty() && request.dry_run {
        options.dry_run = vec!["All".to_owned()];
    }
    delete::settle(options)
}

/// What a pod that is not gone yet has to pass.
struct Guard {
    /// The pod that was looked at.
    pod: Value,
}

/// Deletes the pod at once where no budget counts; else it is given back.
async fn ask(call: &Call<'_>, options: &DeleteOptions) -> ApiResult<Option<Guard>> {
    let is_bound_to_version = version(options).is_some();
    let mut tries = EVICTION_TRIES;
    loop {
        let pod = from_storage(call.server, &call.resource, find(call).await?.value()).await?;
        if !disruption::ignores_budgets(&pod) {
            return Ok(Some(Guard { pod }));
        }
        let mut options = options.clone();
        if disruption::must_be_unchanged(&pod) && !is_bound_to_version {
            bind(&mut options, meta(&pod, "resourceVersion"));
        }
        match remove(call, options).await {
            Ok(()) => return Ok(None),
            Err(error) if !is_bound_to_version && is_conflict(&error) && tries > 1 => tries -= 1,
            Err(error) => return Err(error),
        }
    }
}

/// Takes the disruption out of the pod's budget, if it has one, and deletes the pod.
async fn evict_by(call: &Call<'_>, options: &DeleteOptions, guard: &Guard) -> ApiResult<()> {
    let mut options = options.clone();
    let is_bound_to_version = version(&options).is_some();
    let mut spared = None;
    if let Some(budgets) = Budgets::of(call) {
        match budgets.about(call, &guard.pod).await?.as_slice() {
            [] => {}
            [budget] if disruption::spares(budget, &guard.pod) => {
                spared = Some(meta(budget, "name").to_owned());
                // It must not have become one that counts meanwhile.
                bind(&mut options, meta(&guard.pod, "resourceVersion"));
            }
            [budget] => budgets.take(call, meta(budget, "name"), &options).await?,
            _ => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::failure(StatusReason::Unknown, message).into());
            }
        }
    }
    match (remove(call, options).await, spared) {
        (Err(error), Some(budget)) if is_conflict(&error) && !is_bound_to_version => {
            Err(disruption::busy(&budget).into())
        }
        (result, _) => result,
    }
}

/// Says of the pod why it goes, and deletes it. Admission was asked about the eviction, and is not about these (`ValidateAllObjectFunc`).
async fn remove(call: &Call<'_>, mut options: DeleteOptions) -> ApiResult<()> {
    if !options.is_dry_run() {
        let now = call.server.now().to_string();
        let call = of_status(call);
        let write = WriteOptions::default();
        let marked = update::change_unasked(&call, &write, |pod| {
            check_preconditions(pod, options.preconditions.as_ref())?;
            let mut pod = pod.clone();
            disruption::mark_pod(&mut pod, &now);
            Ok(pod)
        });
        if let Written::Stored(pod) = marked.await?
            && version(&options).is_some()
        {
            bind(&mut options, &pod.revision().to_string());
        }
    }
    let found = find(call).await?;
    delete_object(call, found, &options, Admission::Passed)
        .await
        .map(drop)
}

/// The preconditions, before the pod is changed in whose version they are meant. Empty ones hold here as they do upstream
/// (`addConditionAndDeletePod`); the delete that follows goes by an empty uid all the same, and finds that no pod has it.
fn check_preconditions(pod: &Value, wanted: Option<&Preconditions>) -> ApiResult<()> {
    let Some(wanted) = wanted else { return Ok(()) };
    for (what, field, wanted, why) in [
        ("UID", "uid", &wanted.uid, "deleted and then recreated"),
        (
            "ResourceVersion",
            "resourceVersion",
            &wanted.resource_version,
            "modified",
        ),
    ] {
        let found = meta(pod, field);
        if let Some(wanted) = wanted
            .as_deref()
            .filter(|wanted| !wanted.is_empty() && *wanted != found)
        {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have \
                 been {why}"
            );
            let resource = GroupResource::new("", "Pod");
            return Err(Status::conflict(&resource, meta(pod, "name"), why).into());
        }
    }
    Ok(())
}

/// The disruption budgets of the cluster, where they are served.
struct Budgets(Arc<Resource>);

impl Budgets {
    fn of(call: &Call<'_>) -> Option<Self> {
        let registry = call.server.registry();
        registry.find(GROUP, VERSION, BUDGETS).cloned().map(Self)
    }

    /// Those that are about a pod.
    async fn about(&self, call: &Call<'_>, pod: &Value) -> ApiResult<Vec<Value>> {
        let all = RangeRequest::new(self.0.prefix(call.namespace()));
        let all = call.server.storage().range(all).await;
        let all = all.map_err(|error| call.storage_error(error))?;
        let values = all.items.iter().map(StoredObject::value);
        let budgets = all_from_storage(call.server, &self.0, values).await?;
        Ok(budgets
            .into_iter()
            .filter(|budget| disruption::selects(budget, pod))
            .collect())
    }

    /// Takes one disruption out of a budget. The server does so in its own name, whoever evicts.
    async fn take(&self, call: &Call<'_>, budget: &str, options: &DeleteOptions) -> ApiResult<()> {
        let status = Call {
            identity: Identity::new("system:apiserver", [MASTERS, AUTHENTICATED]),
            info: RequestInfo {
                verb: Verb::Update,
                group: GROUP,
                version: VERSION,
                resource: BUDGETS,
                name: Some(budget.into()),
                ..of_status(call).info
            },
            resource: self.0.clone(),
            ..of_status(call)
        };
        let write = WriteOptions {
            dry_run: options.is_dry_run(),
            ..WriteOptions::default()
        };
        let now = call.server.now().to_string();
        let name = call.name()?;
        let taken = update::change(&status, &write, |budget| {
            let mut budget = budget.clone();
            disruption::take(&mut budget, name, &now)?;
            Ok(budget)
        });
        match taken.await {
            Err(error) if is_conflict(&error) => {
                let message = format!("couldn't update PodDisruptionBudget {budget:?} due to conflicts");
                let details = StatusDetails {
                    retry_after_seconds: 10,
                    ..StatusDetails::default()
                };
                Err(Status::failure(StatusReason::Timeout, message)
                    .with_details(details)
                    .into())
            }
            result => result.map(drop),
        }
    }
}

/// The version that the pod must have. One that is said to be empty counts as said (`resourceVersionIsUnset` asks for the pointer
/// alone): who says it has taken the check upon himself, and the pod is deleted in the version that it was marked in.
fn version(options: &DeleteOptions) -> Option<&str> {
    options.preconditions.as_ref()?.resource_version.as_deref()
}

fn bind(options: &mut DeleteOptions, version: &str) {
    let preconditions = options.preconditions.get_or_insert_default();
    preconditions.resource_version = Some(version.to_owned());
}

fn is_conflict(error: &ApiError) -> bool {
    error.status().reason == StatusReason::Conflict
}

/// How often a pod is looked at anew that changes meanwhile (`EvictionsRetry`); nothing is waited for, since a conflict says
/// that there is something new to look at.
const EVICTION_TRIES: usize = 20;
const GROUP: &str = "policy";
const VERSION: &str = "v1";
const BUDGETS: &str = "poddisruptionbudgets";
