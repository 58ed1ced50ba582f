//! What all writes share: reading a body as an object of a kind, preparing, checking and storing it.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use kubewright_core::{
    FieldError, FieldErrorKind, FieldPath, FieldValidation, GroupKind, GroupVersionKind, Status, WriteOptions,
};
use kubewright_kinds::Scope as TableScope;
use kubewright_net::Body;
use kubewright_smd::managed::validate_manager;
use serde_json::{Map, Value};
use tokio::sync::RwLockReadGuard;

use super::reserved::{Reservation, Turn};
use super::response::Rendering;
use super::{Call, to_storage};
use crate::admission::check_configuration;
use crate::builtin::strategy::{Allocation, Context, Purpose, Requester, ServicePool};
use crate::builtin::{shown, validation};
use crate::codec::{self, Decoder};
use crate::custom::{rules, scale};
use crate::error::{ApiError, ApiResult};
use crate::registry::{Dialect, Model};
use crate::request::{Verb, media};
use crate::storage::{Encoded, KeyPrefix, RangeRequest, StoredObject};

/// Reads the query of a write.
///
/// # Errors
/// 400 for an option that cannot be read, 422 for one that has none of the values it may have.
pub(crate) fn options(call: &Call<'_>) -> ApiResult<WriteOptions> {
    let kind = match call.info.verb {
        Verb::Create => "CreateOptions",
        Verb::Patch => "PatchOptions",
        _ => "UpdateOptions",
    };
    let options = WriteOptions::from_query(call.query).map_err(|error| ApiError::from_option(error, kind))?;
    let errors = validate_manager(&options.field_manager, &FieldPath::new("fieldManager"));
    if errors.is_empty() {
        return Ok(options);
    }
    Err(Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", &errors).into())
}

/// Reads a body as an object of the call's kind: in the served version and in shape, with its defaults. What the client is to be
/// warned of is taken down.
///
/// # Errors
/// 415 for a format that is not understood, 400 for a body that is malformed or of another kind.
pub(crate) fn read(call: &Call<'_>, body: &Bytes, options: &WriteOptions) -> ApiResult<Value> {
    let gvk = call.resource.gvk();
    let mut read = codec::read_as(&gvk, body, media::body_format(call.headers)?)?;
    let mut object = std::mem::take(&mut read.value);
    match call.resource.model.custom() {
        Some(_) => expect_custom_kind(&mut object, &gvk, body)?,
        None => codec::expect_kind_of_body(&mut object, &gvk, body)?,
    }
    let found = call.resource.model.normalize(&mut object);
    if let Some(error) = &found.type_error {
        return Err(codec::cannot_be_handled(&gvk, error));
    }
    let validation = options.field_validation.unwrap_or(FieldValidation::Warn);
    let decoder = match call.resource.model.custom() {
        Some(_) => Decoder::Untyped,
        None => Decoder::Typed,
    };
    let findings = read.findings(body, &found.unknown_fields, decoder);
    let warnings = codec::judge_fields(validation, findings, &gvk)?;
    call.warnings.add(warnings);
    Ok(complete(call, object))
}

/// A custom resource is decoded without a type: it has to tell its kind, and another one is refused by validation alone (apiextensions
/// `pkg/registry/customresource/validator.go`).
fn expect_custom_kind(object: &mut Value, expect: &GroupVersionKind, body: &Bytes) -> ApiResult<()> {
    let text = |name: &str| {
        object
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if !object.is_object() || kind == expect.kind && api_version == expect.api_version() {
        return codec::expect_kind_of_body(object, expect, body);
    }
    if kind.is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
        return Err(codec::unrecognized(&expect.kind, body, &why));
    }
    if api_version != expect.api_version() {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            expect.api_version()
        ))
        .into());
    }
    Err(other_custom_kind(object, (&api_version, &kind), expect))
}

/// 422 for a custom resource that says it is of another kind or version (apiextensions pkg/registry/customresource/validator.go
/// `validateCustomResource`).
fn other_custom_kind(
    object: &Value,
    (api_version, kind): (&str, &str),
    expect: &GroupVersionKind,
) -> ApiError {
    let mut errors = Vec::new();
    if kind != expect.kind {
        let why = format!("must be {}", expect.kind);
        errors.push(FieldError::invalid(FieldPath::new("kind"), kind, why));
    }
    if api_version != expect.api_version() {
        let why = format!("must be {}", expect.api_version());
        errors.push(FieldError::invalid(
            FieldPath::new("apiVersion"),
            api_version,
            why,
        ));
    }
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Status::invalid(&GroupKind::new(group, kind), meta(object, "name"), &errors).into()
}

/// Whether what a patch made of a custom resource is of another kind. What says nothing of its kind is for the decoder.
///
/// # Errors
/// 422 for one that is, 500 for one without a version, as upstream.
pub(crate) fn check_custom_kind(call: &Call<'_>, object: &Value) -> ApiResult<()> {
    let expect = call.resource.gvk();
    let text = |name: &str| match &object[name] {
        Value::Null => Some(""),
        value => value.as_str(),
    };
    // What is no text is for the decoder too.
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return Ok(());
    };
    if call.resource.model.custom().is_none() || kind.is_empty() {
        return Ok(());
    }
    if api_version.is_empty() {
        let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        return Err(Status::internal_error(why).into());
    }
    match kind == expect.kind && api_version == expect.api_version() {
        true => Ok(()),
        false => Err(other_custom_kind(object, (api_version, kind), &expect)),
    }
}

/// The same for what a patch came to; `findings` are those of the patch itself.
///
/// # Errors
/// Why it cannot be an object of the kind, or which fields it must not have.
pub(crate) fn reshape(
    call: &Call<'_>,
    mut object: Value,
    mut findings: Vec<String>,
    validation: FieldValidation,
    dialect: Dialect,
) -> Result<Value, String> {
    let (gvk, model) = (call.resource.gvk(), &call.resource.model);
    let unknown = decode_patched((&gvk, model), &mut object, dialect)?;
    findings.extend(codec::findings(&[], &unknown));
    call.warnings.add(judge_patched(validation, findings)?);
    Ok(complete(call, object))
}

/// Decodes what a patch came to; gives the paths of fields that the kind does not have.
///
/// # Errors
/// Why it cannot be an object of the kind.
pub(super) fn decode_patched(
    (gvk, model): (&GroupVersionKind, &Model),
    object: &mut Value,
    dialect: Dialect,
) -> Result<Vec<String>, String> {
    codec::expect_kind(object, gvk).map_err(|fault| fault.step())?;
    let found = model.normalize_as(object, dialect);
    match found.type_error {
        Some(error) => Err(error),
        None => Ok(found.unknown_fields),
    }
}

/// What the client is to be warned of.
///
/// # Errors
/// The findings, where they are to be refused.
pub(super) fn judge_patched(
    validation: FieldValidation,
    findings: Vec<String>,
) -> Result<Vec<String>, String> {
    match validation {
        FieldValidation::Strict if !findings.is_empty() => {
            Err(format!("strict decoding error: {}", findings.join(", ")))
        }
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(findings),
    }
}

/// Gives an object of the kind what every object has.
fn complete(call: &Call<'_>, mut object: Value) -> Value {
    let resource = &call.resource;
    if !object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"] = Value::Object(Map::new());
    }
    // Nobody sets it any more (KEP-1164).
    metadata(&mut object).map(|metadata| metadata.remove("selfLink"));
    resource
        .model
        .default(&resource.group, &resource.version, &resource.kind, &mut object);
    object
}

/// The metadata of an object, to change.
pub(crate) fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.as_object_mut()
}

/// A text within the metadata, empty when absent.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// What a strategy needs besides the object. Until it is [done](Self::done), no other service is given anything.
pub(crate) struct WriteContext<'a> {
    pub(crate) now: String,
    requester: Requester<'a>,
    pool: ServicePool,
    turn: Option<Turn<'a>>,
    /// Whether what is given out is shown alone.
    is_dry_run: bool,
}

impl<'a> WriteContext<'a> {
    /// Gathers it; for services this reads which addresses are taken.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn new(call: &'a Call<'_>, options: &WriteOptions) -> ApiResult<Self> {
        let mut pool = ServicePool::new(match options.dry_run {
            true => Purpose::DryRun,
            false => Purpose::Store,
        });
        let turn = if call.resource.strategy.allocation == Allocation::Service {
            let turn = call.server.services.turn().await;
            let all = RangeRequest::new(KeyPrefix::resource(
                call.resource.storage_group(),
                &call.resource.plural,
            ));
            let services = call
                .server
                .storage()
                .range(all)
                .await
                .map_err(|error| call.storage_error(error))?;
            services
                .items
                .iter()
                .for_each(|service| pool.record(&service.value()));
            turn.each(|service| pool.record(service));
            Some(turn)
        } else {
            None
        };
        let identity = &call.identity;
        let requester = Requester {
            username: &identity.user,
            uid: &identity.uid,
            groups: &identity.groups,
            extra: &identity.extra,
        };
        Ok(Self {
            now: call.server.now().to_string(),
            requester,
            pool,
            turn,
            is_dry_run: options.dry_run,
        })
    }

    /// Lets others go on. A service that is to be stored keeps what it was given until the answer is dropped, after it was.
    pub(crate) fn done(self, object: &Value) -> Option<Reservation<'a>> {
        let turn = self.turn.filter(|_| !self.is_dry_run);
        turn.map(|turn| turn.end(object))
    }

    /// The strategy's view of it.
    pub(crate) fn strategy(&mut self) -> Context<'_> {
        Context {
            now: &self.now,
            requester: self.requester,
            allocator: &mut self.pool,
        }
    }
}

/// Checks an object by its model, besides `errors` that were found already; `old` is the one that it replaces.
///
/// # Errors
/// 422 with all that is wrong.
pub(crate) fn check(
    call: &Call<'_>,
    name: &str,
    object: &Value,
    old: Option<&Value>,
    mut errors: Vec<FieldError>,
) -> ApiResult<()> {
    let resource = &call.resource;
    errors.extend(match (resource.model.custom(), old) {
        (Some(model), Some(old)) if call.info.subresource == "status" => model.validate_status(object, old),
        _ => resource.model.validate(object, old),
    });
    errors.truncate(validation::MAX_ERRORS);
    if let Some(model) = resource.model.custom() {
        errors.extend(scale::check(resource, object));
        let found = model.run_rules(object, old, &errors);
        errors.extend(found.errors);
        call.warnings.add(found.warnings);
    }
    errors.extend(rules::check_definition(call.server, resource, object));
    errors.extend(check_configuration(resource, object));
    refuse(call, name, &errors)
}

/// 422 when anything is wrong.
pub(crate) fn refuse(call: &Call<'_>, name: &str, errors: &[FieldError]) -> ApiResult<()> {
    if errors.is_empty() {
        return Ok(());
    }
    let kind = call.resource.group_kind();
    let Some(ty) = call.resource.model.builtin_type() else {
        return Err(Status::invalid(&kind, name, errors).into());
    };
    let errors: Vec<FieldError> = errors.iter().map(|error| shown::error(ty, error)).collect();
    Err(Status::invalid(&kind, name, &errors).into())
}

/// What the preparation of an object refuses: 422, or 500 where the server itself could not give it what it needs.
pub(crate) fn unprepared(call: &Call<'_>, name: &str, errors: &[FieldError]) -> ApiResult<()> {
    match errors {
        [error] if error.kind == FieldErrorKind::Internal => {
            Err(Status::internal_error(&error.detail).into())
        }
        errors => refuse(call, name, errors),
    }
}

/// The scope in the words of the table of kinds, in which strategies are written.
pub(crate) fn table_scope(call: &Call<'_>) -> TableScope {
    match call.resource.scope {
        kubewright_core::Scope::Namespaced => TableScope::Namespaced,
        kubewright_core::Scope::Cluster => TableScope::Cluster,
    }
}

/// Holds the definition of a custom resource as it is until an object that was made by it is stored, so that whoever publishes
/// another one knows that nothing is written by the old one afterwards. Built-in resources never change.
///
/// # Errors
/// 409 when there is another definition already; the request is then done again.
pub(crate) async fn hold_definition<'a>(
    call: &'a Call<'_>,
    name: &str,
) -> ApiResult<Option<RwLockReadGuard<'a, ()>>> {
    let resource = &call.resource;
    if resource.model.custom().is_none() {
        return Ok(None);
    }
    let guard = call.server.definitions.read().await;
    let registry = call.server.registry();
    let present = registry.find(&resource.group, &resource.version, &resource.plural);
    if present.is_some_and(|present| Arc::ptr_eq(present, resource)) {
        return Ok(Some(guard));
    }
    Err(ApiError::modified(&call.group_resource(), name))
}

/// An object as it is stored.
///
/// # Errors
/// 500 where it cannot be converted to the version that is stored.
pub(crate) async fn encode(call: &Call<'_>, object: Value) -> ApiResult<Encoded> {
    let stored = to_storage(call.server, &call.resource, object).await?;
    Ok(Encoded::from_value(&stored))
}

/// What a write came to.
pub(crate) enum Written {
    /// It is stored.
    Stored(StoredObject),
    /// It would have been: a dry run, or the last state of an object that is gone.
    Shown(Value),
}

/// The answer to a write.
///
/// # Errors
/// 500 where what is stored cannot be shown in the version that was asked for.
pub(crate) async fn answer(
    call: &Call<'_>,
    rendering: &Rendering<'_>,
    code: http::StatusCode,
    written: &Written,
) -> ApiResult<Response<Body>> {
    Ok(match written {
        Written::Stored(object) => rendering.stored(call.server, code, object).await?,
        Written::Shown(object) => rendering.object(code, object),
    })
}
