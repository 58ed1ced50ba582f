//! `ServiceAccount`: pods run as a service account that is there, and get a token of it.
//!
//! Upstream: kubernetes plugin/pkg/admission/serviceaccount/admission.go. [`mount`] changes the pod, [`secrets`] says which secrets it may
//! have; this module finds the account and decides when.

mod mount;
mod secrets;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::secrets::Part;
use super::attributes::{Attributes, Operation};
use crate::error::ApiResult;
use crate::storage::{Key, StoredObject};

/// Gives a new pod its account, the token of that and its image pull secrets.
///
/// # Errors
/// Those of [`validate`].
pub(super) async fn mutate(attributes: &Attributes<'_>, object: Option<Value>) -> ApiResult<Option<Value>> {
    let Some(mut pod) = object else { return Ok(None) };
    if attributes.operation != Operation::Create || !concerns(attributes) {
        return Ok(Some(pod));
    }
    // Boxed, so that writes of other kinds do not carry it around.
    Box::pin(async move {
        // A kubelet deletes a mirror pod that is not as it was sent.
        if !is_mirror(&pod) {
            if account_name(&pod).is_empty() {
                pod["spec"]["serviceAccountName"] = DEFAULT.into();
                pod["spec"]["serviceAccount"] = DEFAULT.into();
            }
            let account = account(attributes, &pod).await?.value();
            if mount::is_wanted(&account, &pod) {
                mount::token(&mut pod);
            }
            inherit_pull_secrets(&account, &mut pod);
        }
        check_new(attributes, &pod).await?;
        Ok(Some(pod))
    })
    .await
}

/// Checks that a new pod, and containers that are added to one later, may use the account and its secrets.
///
/// # Errors
/// 403 where the account is not there, and for secrets that it does not name while it says that it names all.
pub(super) async fn validate(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    let Some(pod) = object.filter(|_| concerns(attributes)) else {
        return Ok(());
    };
    match (attributes.operation, attributes.subresource()) {
        (Operation::Create, _) => Box::pin(check_new(attributes, pod)).await,
        (Operation::Update, EPHEMERAL) => Box::pin(check_ephemeral(attributes, pod)).await,
        _ => Ok(()),
    }
}

/// Whether the object is a pod that is written as a whole, or by its ephemeral containers.
fn concerns(attributes: &Attributes<'_>) -> bool {
    let resource = attributes.resource();
    resource.group.is_empty()
        && resource.plural == "pods"
        && matches!(attributes.subresource(), "" | EPHEMERAL)
}

async fn check_new(attributes: &Attributes<'_>, pod: &Value) -> ApiResult<()> {
    let forbidden = |why: String| attributes.forbidden(Some(pod), why);
    if is_mirror(pod) {
        return secrets::check_mirror(pod).map_err(|why| forbidden(why.to_owned()));
    }
    let account = account(attributes, pod).await?.value();
    if secrets::is_enforced(&account) {
        secrets::check(&account, pod, Part::Whole).map_err(forbidden)?;
    }
    Ok(())
}

async fn check_ephemeral(attributes: &Attributes<'_>, pod: &Value) -> ApiResult<()> {
    let account = account(attributes, pod).await?.value();
    if secrets::is_enforced(&account) {
        let checked = secrets::check(&account, pod, Part::Ephemeral);
        checked.map_err(|why| attributes.forbidden(Some(pod), why))?;
    }
    Ok(())
}

/// The account that a pod names. The account `default` is waited for: a controller makes it for each new namespace.
///
/// # Errors
/// 403 where there is none.
async fn account(attributes: &Attributes<'_>, pod: &Value) -> ApiResult<StoredObject> {
    let call = attributes.call;
    let (namespace, name) = (attributes.namespace(), account_name(pod));
    if name.is_empty() {
        let pod_name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let why = format!("no service account specified for pod {namespace}/{pod_name}");
        return Err(attributes.forbidden(Some(pod), why));
    }
    let began = Instant::now();
    let mut pause = SHORTEST_PAUSE;
    loop {
        let key = Key::new("", "serviceaccounts", Some(namespace), name);
        let found = call.server.storage().get(key).await;
        if let Some(found) = found.map_err(|error| call.storage_error(error))? {
            return Ok(found);
        }
        if name != DEFAULT || began.elapsed() >= PATIENCE {
            break;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    let why =
        format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
    Err(attributes.forbidden(Some(pod), why))
}

fn account_name(pod: &Value) -> &str {
    pod["spec"]["serviceAccountName"].as_str().unwrap_or_default()
}

/// Whether a kubelet made the pod to show one that it has from elsewhere.
fn is_mirror(pod: &Value) -> bool {
    pod["metadata"]["annotations"]
        .get("kubernetes.io/config.mirror")
        .is_some()
}

/// A pod without secrets for its images has those of its account.
fn inherit_pull_secrets(account: &Value, pod: &mut Value) {
    let has = |object: &Value| object.as_array().is_some_and(|secrets| !secrets.is_empty());
    if has(&pod["spec"]["imagePullSecrets"]) || !has(&account["imagePullSecrets"]) {
        return;
    }
    let secrets = account["imagePullSecrets"].as_array().into_iter().flatten();
    pod["spec"]["imagePullSecrets"] = secrets.map(|secret| json!({"name": secret["name"]})).collect();
}

const EPHEMERAL: &str = "ephemeralcontainers";

/// The account of pods that name none.
const DEFAULT: &str = "default";

/// How long the account `default` is waited for: upstream asks ten times, 100 to 200 ms apart.
const PATIENCE: Duration = Duration::from_millis(1500);
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
