//! Tokens of service accounts (pkg/registry/core/serviceaccount/storage/token.go `TokenREST`).

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kubewright_core::{FieldError, FieldPath, GroupKind, GroupResource, GroupVersionKind, Status};
use kubewright_net::Body;
use serde_json::{Value, json};

use super::response::Rendering;
use super::subresource::{self, find};
use super::write::{self, meta, metadata};
use super::{Call, admitted, create};
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::own_answer;
use crate::ids;
use crate::service_account::{BoundKind, Claims, Reference};

/// Issues a token to the account that the path names.
pub(crate) async fn create(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = write::options(call)?;
    let gvk = GroupVersionKind::new("authentication.k8s.io", "v1", "TokenRequest");
    let mut request = subresource::read(call, body, &options, &gvk, &[])?;
    let name = call.name()?;
    let named = meta(&request, "name");
    if !named.is_empty() && named != name {
        let path = FieldPath::new("metadata").child("name");
        let why = "must match the service account name if specified";
        let error = FieldError::invalid(path, named, why);
        return Err(Status::invalid(&kind(), name, &[error]).into());
    }
    create::place(call, &mut request)?;
    let mut request = admitted::admit_new(call, request, &options).await?;
    let account = find(call).await?.value();
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = DEFAULT_EXPIRATION_SECONDS.into();
    }
    let now = call.server.now();
    request = own_answer(
        &gvk,
        call.info.subresource,
        request,
        &options.field_manager,
        call.headers,
        now,
    );
    complete(call, &mut request, &account)?;
    check(&request)?;
    let now = Timestamp::now();
    let mut claims = Claims {
        id: ids::uid(),
        namespace: call.namespace().unwrap_or_default().to_owned(),
        account: Reference::to(&account),
        ..Claims::default()
    };
    bind(call, &request, &mut claims).await?;
    let accounts = &call.server.service_accounts;
    let mut seconds = expiration(&request);
    if let Some(longest) = accounts
        .max_expiration_seconds()
        .filter(|longest| seconds > *longest)
    {
        call.warnings.add(vec![format!(
            "requested expiration of {seconds} seconds shortened to {longest} seconds"
        )]);
        seconds = longest;
        request["spec"]["expirationSeconds"] = seconds.into();
    }
    date(call, &mut claims, audiences(&request), seconds, now.as_second());
    let token = accounts.issue(&claims).map_err(|error| {
        ApiError::from(Status::internal_error(format!(
            "failed to generate token: {error}"
        )))
    })?;
    let until = now
        .checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX);
    if request["spec"]["boundObjectRef"].is_null() {
        request["spec"]["boundObjectRef"] = Value::Null;
    }
    request["status"] = json!({"token": token, "expirationTimestamp": whole(until)});
    Ok(rendering.other(StatusCode::CREATED, &request))
}

/// Fills in what the request may leave out.
///
/// # Errors
/// 409 for another account of the same name.
fn complete(call: &Call<'_>, request: &mut Value, account: &Value) -> ApiResult<()> {
    let (wanted, found) = (meta(request, "uid"), meta(account, "uid"));
    if !wanted.is_empty() && wanted != found {
        let why = format!(
            "the UID in the token request ({wanted}) does not match the UID of the service account ({found})"
        );
        let resource = GroupResource::new("authentication.k8s.io", "TokenRequest");
        return Err(Status::conflict(&resource, meta(account, "name"), why).into());
    }
    if let Some(metadata) = metadata(request) {
        metadata.insert("uid".into(), found.into());
        metadata.insert("creationTimestamp".into(), call.server.now().to_string().into());
    }
    if audiences(request).is_empty() {
        request["spec"]["audiences"] = json!(call.server.service_accounts.audiences());
    }
    Ok(())
}

/// pkg/apis/authentication/validation `ValidateTokenRequest`.
fn check(request: &Value) -> ApiResult<()> {
    let mut errors = Vec::new();
    let spec = FieldPath::new("spec");
    let attestations = &request["spec"]["attestations"];
    if attestations.as_object().is_some_and(|all| !all.is_empty()) {
        let why = "attestations may only be specified with a webhook bound object reference";
        errors.push(FieldError::invalid(
            spec.child("attestations"),
            attestations.clone(),
            why,
        ));
    } else {
        let seconds = expiration(request);
        let why = match seconds {
            ..MIN_EXPIRATION_SECONDS => Some("may not specify a duration less than 10 minutes"),
            MIN_EXPIRATION_SECONDS..=MAX_EXPIRATION_SECONDS => None,
            _ => Some("may not specify a duration larger than 2^32 seconds"),
        };
        errors.extend(why.map(|why| FieldError::invalid(spec.child("expirationSeconds"), seconds, why)));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&kind(), "", &errors).into())
}

/// Binds the token to the object that the request refers to.
async fn bind(call: &Call<'_>, request: &Value, claims: &mut Claims) -> ApiResult<()> {
    let reference = &request["spec"]["boundObjectRef"];
    if reference.is_null() {
        return Ok(());
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (api_version, name) = (text("apiVersion"), text("name"));
    let Some(kind) = BoundKind::of(api_version, text("kind")) else {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let message = format!(
            "cannot bind token to object of type {group}/{version}, Kind={}",
            text("kind")
        );
        return Err(Status::bad_request(message).into());
    };
    let key = kind.key(&claims.namespace, name);
    let resource = GroupResource::new("", key.resource());
    let object = stored(call, key).await?;
    let object = object.ok_or_else(|| ApiError::from(Status::not_found(&resource, name)))?;
    let bound = Reference::to(&object);
    if kind == BoundKind::Pod {
        let account = &claims.account.name;
        if object["spec"]["serviceAccountName"] != account.as_str() {
            let message = format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            );
            return Err(Status::bad_request(message).into());
        }
        if let Some(node) = object["spec"]["nodeName"]
            .as_str()
            .filter(|node| !node.is_empty())
        {
            let found = stored(call, BoundKind::Node.key("", node)).await?;
            claims.node = Some(found.as_ref().map_or_else(
                || Reference {
                    name: node.to_owned(),
                    uid: String::new(),
                },
                Reference::to,
            ));
        }
    }
    let wanted = text("uid");
    if !wanted.is_empty() && wanted != bound.uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted \
             and then recreated"
        );
        return Err(Status::conflict(&GroupResource::new("", kind.name()), name, why).into());
    }
    let place = match kind {
        BoundKind::Pod => &mut claims.pod,
        BoundKind::Secret => &mut claims.secret,
        BoundKind::Node => &mut claims.node,
    };
    *place = Some(bound);
    Ok(())
}

/// Dates the token. What kubelets ask for pods lives longer than they ask, so that programs that read it once go on, and counts as
/// stale after the time they ask (`--service-account-extend-token-expiration`).
fn date(call: &Call<'_>, claims: &mut Claims, audiences: Vec<String>, seconds: i64, now: i64) {
    let accounts = &call.server.service_accounts;
    let is_own = audiences
        .iter()
        .all(|audience| accounts.audiences().contains(audience));
    let mut life = seconds;
    if claims.pod.is_some() && seconds == EXTENDED_EXPIRATION_SECONDS && is_own {
        claims.warn_after = Some(now.saturating_add(seconds));
        let longest = accounts.max_expiration_seconds();
        life = longest.map_or(EXTENSION_SECONDS, |longest| longest.min(EXTENSION_SECONDS));
    }
    claims.audiences = audiences;
    claims.issued_at = Some(now);
    claims.not_before = Some(now);
    claims.expires = Some(now.saturating_add(life));
}

async fn stored(call: &Call<'_>, key: crate::storage::Key) -> ApiResult<Option<Value>> {
    let found = call.server.storage().get(key).await;
    let found = found.map_err(|error| call.storage_error(error))?;
    Ok(found.map(|found| found.value()))
}

fn audiences(request: &Value) -> Vec<String> {
    let audiences = request["spec"]["audiences"].as_array();
    let texts = audiences.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn expiration(request: &Value) -> i64 {
    request["spec"]["expirationSeconds"].as_i64().unwrap_or(0)
}

/// A time to the second.
fn whole(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second())
        .unwrap_or(time)
        .to_string()
}

fn kind() -> GroupKind {
    GroupKind::new("authentication.k8s.io", "TokenRequest")
}

const DEFAULT_EXPIRATION_SECONDS: i64 = 3600;
const MIN_EXPIRATION_SECONDS: i64 = 600;
const MAX_EXPIRATION_SECONDS: i64 = 1 << 32;
/// What kubelets ask for (`WarnOnlyBoundTokenExpirationSeconds`), and what they get: a year.
const EXTENDED_EXPIRATION_SECONDS: i64 = 60 * 60 + 7;
const EXTENSION_SECONDS: i64 = 365 * 24 * 60 * 60;
