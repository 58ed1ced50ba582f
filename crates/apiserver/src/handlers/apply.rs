//! Server-side apply: a patch that says what the object shall be as far as its author cares (KEP-555).
//!
//! Upstream: the `applyPatcher` of apiserver `pkg/endpoints/handlers/patch.go`.

use bytes::Bytes;
use http::{Response, StatusCode};
use kubewright_core::{
    FieldError, FieldPath, FieldValidation, GroupKind, Status, StatusDetails, StatusReason, WriteOptions,
};
use kubewright_net::Body;
use kubewright_smd::manager::{Force, ManagerError};
use serde_json::Value;

use super::create::{self, Origin};
use super::metadata;
use super::response::Rendering;
use super::write::{self, meta};
use super::{Call, update};
use crate::codec;
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::Owners;
use crate::registry::Dialect;
use crate::request::media::BodyFormat;
use crate::storage::GUARANTEED_UPDATE_TRIES;

/// Applies the body to the object that the path names, and creates it where it is not there.
pub(crate) async fn apply(
    call: &Call<'_>,
    body: &Bytes,
    rendering: &Rendering<'_>,
) -> ApiResult<Response<Body>> {
    let options = options(call)?;
    let config = Config::read(body, &options)?;
    let owners = call.owners(&options);
    let may_create = call.info.subresource.is_empty();
    for _ in 0..GUARANTEED_UPDATE_TRIES {
        let changed = update::change(call, &options, |live| {
            merge(call, &owners, Some(live), &config, &options)
        })
        .await;
        let created = match changed {
            Err(error) if may_create && error.status().code == 404 && update::is_gone(call).await? => {
                let merge = || merge(call, &owners, None, &config, &options);
                let object = call.settled(merge).await?;
                create::store(call, object, Origin::Update, &options).await
            }
            written => return write::answer(call, rendering, StatusCode::OK, &written?).await,
        };
        match created {
            // Somebody else created it in between: it is there to be changed now.
            Err(error)
                if error.status().reason == StatusReason::AlreadyExists && !update::is_gone(call).await? => {}
            written => return write::answer(call, rendering, StatusCode::CREATED, &written?).await,
        }
    }
    Err(ApiError::modified(&call.group_resource(), call.name()?))
}

/// Reads the query of an apply (`ValidatePatchOptions` of apimachinery pkg/apis/meta/v1/validation).
///
/// # Errors
/// 400 and 422 as for other writes, and 422 where it does not say who applies.
pub(super) fn options(call: &Call<'_>) -> ApiResult<WriteOptions> {
    let options = write::options(call)?;
    if options.field_manager.is_empty() {
        let error = FieldError::required(FieldPath::new("fieldManager"), "is required for apply patch");
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "PatchOptions"), "", &[error]).into());
    }
    Ok(options)
}

/// What is applied.
pub(super) struct Config {
    pub(super) object: Value,
    /// The answer to one who wants no fields named twice; it comes after what else is wrong.
    refusal: Option<Status>,
    /// What one who wants to know is told of them, if nothing else is wrong.
    warnings: Vec<String>,
}

impl Config {
    /// Reads a body, which is YAML, as JSON is too.
    ///
    /// # Errors
    /// 400 where it is no object.
    pub(super) fn read(body: &Bytes, options: &WriteOptions) -> ApiResult<Self> {
        let read = codec::read(body, BodyFormat::Yaml).map_err(|error| {
            ApiError::from(Status::bad_request(format!(
                "error encoding patch: {}",
                error.status().message
            )))
        })?;
        if read.value.is_null() {
            return Err(Status::bad_request("invalid object type: /, Kind=").into());
        }
        if !read.value.is_object() {
            let found = codec::kind_of_json(&read.value);
            return Err(Status::bad_request(format!(
                "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value \
                 of type map[string]interface {{}}"
            ))
            .into());
        }
        let mut config = Self {
            object: read.value,
            refusal: None,
            warnings: Vec::new(),
        };
        let found = codec::findings(&read.duplicate_fields, &[]);
        match options.field_validation.unwrap_or(FieldValidation::Warn) {
            FieldValidation::Strict if !found.is_empty() => {
                config.refusal = Some(Status::bad_request(format!(
                    "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
                    found.join("\n  ")
                )));
            }
            FieldValidation::Warn => config.warnings = found,
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        Ok(config)
    }

    /// What is left to refuse or to warn of once the object was applied.
    ///
    /// # Errors
    /// 400 for fields that are named twice where the client wants none.
    pub(super) fn check(&self, call: &Call<'_>) -> ApiResult<()> {
        call.warnings.add(self.warnings.clone());
        self.refusal.clone().map_or(Ok(()), |status| Err(status.into()))
    }
}

/// What applying makes of the object, in shape and with its defaults.
fn merge(
    call: &Call<'_>,
    owners: &Owners<'_>,
    live: Option<&Value>,
    config: &Config,
    options: &WriteOptions,
) -> ApiResult<Value> {
    let force = force(options);
    let merged = owners
        .apply(live, &config.object, force)
        .map_err(|error| refused(&error))?;
    config.check(call)?;
    // What a schema does not have is refused by then, or nothing that anybody is told of.
    let validation = FieldValidation::Ignore;
    let mut object = write::reshape(call, merged, Vec::new(), validation, Dialect::Json)
        .map_err(metadata::server_error)?;
    if live.is_none() {
        check_uid(call, &object)?;
    }
    metadata::place_named(call, &mut object)?;
    Ok(object)
}

/// Whether fields of others are taken.
pub(super) fn force(options: &WriteOptions) -> Force {
    if options.force { Force::Yes } else { Force::No }
}

/// Whoever names a uid means an object that is there.
fn check_uid(call: &Call<'_>, object: &Value) -> ApiResult<()> {
    let uid = meta(object, "uid");
    if uid.is_empty() {
        return Ok(());
    }
    let why =
        format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
    Err(Status::conflict(&call.group_resource(), call.name()?, why).into())
}

/// How the answer tells why an apply is refused.
pub(super) fn refused(error: &ManagerError) -> ApiError {
    if let Some(conflicts) = error.conflicts() {
        return Status::failure(StatusReason::Conflict, error.to_string())
            .with_details(StatusDetails {
                causes: conflicts.causes(),
                ..StatusDetails::default()
            })
            .into();
    }
    if error.is_bad_request() {
        return Status::bad_request(error.to_string()).into();
    }
    metadata::server_error(error.to_string())
}
