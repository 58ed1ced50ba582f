//! The verbs.

mod admitted;
mod apply;
mod binding;
mod connect;
mod continuation;
mod conversion;
mod create;
mod delete;
mod eviction;
mod frame;
mod lifecycle;
mod list;
mod list_body;
mod metadata;
mod patch;
mod read;
mod reserved;
pub(crate) mod response;
mod review;
mod route;
mod scale;
mod selection;
mod subresource;
mod token;
mod update;
mod warning;
mod watch;
mod websocket;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response};
use kubewright_core::{GroupResource, Status, WriteOptions};
use kubewright_net::{Body, Identity};
use serde_json::Value;

pub(crate) use conversion::{all_from_storage, from_storage, to_storage, try_from_storage};
pub(crate) use reserved::Reserved;
pub(crate) use response::failure;
pub(crate) use route::{check_accept, generic};
pub(crate) use warning::{Recorder, warn, write_headers as write_warnings};
pub(crate) use websocket::hand_over;

use crate::builtin::validation::names::{self, NameUse};
use crate::chain::not_found;
use crate::custom::CustomModel;
use crate::error::{ApiError, ApiResult};
use crate::fieldmanager::{Asked, Conversions, Owners};
use crate::registry::{Resource, SubresourceKind};
use crate::request::{RequestInfo, Verb};
use crate::server::Server;
use crate::storage::StorageError;

/// A request for a resource, with all that handlers need of it.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) identity: Identity,
    pub(crate) info: RequestInfo<'a>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    /// What the client is to be warned of besides what the answer says.
    pub(crate) warnings: Recorder,
    /// What was converted for the field manager.
    pub(crate) conversions: Conversions,
}

impl Call<'_> {
    /// The name in the path.
    ///
    /// # Errors
    /// 404 where the path has none, 400 for one that nothing may have (apimachinery pkg/api/validation/path `IsValidPathSegmentName`).
    pub(crate) fn name(&self) -> ApiResult<&str> {
        let name = self.info.name.as_deref().ok_or_else(not_found)?;
        match names::path_segment(name, NameUse::Whole).first() {
            None => Ok(name),
            Some(why) => Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {why}")).into()),
        }
    }

    /// The namespace in the path.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.info.namespace.as_deref()
    }

    /// The group and plural, for messages.
    pub(crate) fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    /// The field manager of this write.
    pub(crate) fn owners(&self, options: &WriteOptions) -> Owners<'_> {
        Owners::new(
            &self.resource,
            self.server.registry(),
            &self.conversions,
            self.info.subresource,
            &options.field_manager,
            self.headers,
            self.server.now(),
        )
    }

    /// A new object with its managers.
    ///
    /// # Errors
    /// None of its own.
    pub(crate) async fn own(&self, owners: &Owners<'_>, new: Value) -> ApiResult<Value> {
        if self.resource.model.custom().is_some_and(CustomModel::has_webhook) {
            return self.settled(|| Ok(owners.create(new.clone()))).await;
        }
        Ok(owners.create(new))
    }

    /// What `work` comes to once it has all the conversions that its field manager asks for; it is done again for each of them.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) async fn settled<T>(&self, mut work: impl FnMut() -> ApiResult<T>) -> ApiResult<T> {
        for _ in 0..MOST_CONVERSIONS {
            let result = work();
            let Some(Asked { object, to }) = self.conversions.take_asked() else {
                return result;
            };
            let converted = conversion::one(self.server, &self.resource, object.clone(), &to).await;
            let converted = converted.map_err(|error| error.status().message.clone());
            self.conversions.answer(Asked { object, to }, converted);
        }
        work()
    }

    /// What the store says, told of the object in the path.
    pub(crate) fn storage_error(&self, error: StorageError) -> ApiError {
        ApiError::from_storage(
            error,
            &self.group_resource(),
            self.info.name.as_deref().unwrap_or(""),
        )
    }
}

/// So many conversions of one request are made for its field manager at most: some for each version that managers wrote in.
const MOST_CONVERSIONS: usize = 64;

/// Carries a request out.
///
/// What takes more room than a get is boxed: the future of a request is as large as the largest of what it may wait for, and is moved.
pub(crate) async fn dispatch(call: &Call<'_>, body: &Bytes) -> ApiResult<Response<Body>> {
    if call.info.subresource.is_empty() {
        route::check(call, &call.resource.verbs)?;
        return match call.info.verb {
            Verb::Get => read::get(call).await,
            Verb::List => Box::pin(list::list(call)).await,
            Verb::Watch => Box::pin(watch::watch(call)).await,
            Verb::Create if binding::is_binding(call) => Box::pin(binding::create_legacy(call, body)).await,
            Verb::Create if call.resource.is_review() => Box::pin(review::create(call, body)).await,
            Verb::Create => Box::pin(create::create(call, body)).await,
            Verb::Update => Box::pin(update::update(call, body)).await,
            Verb::Patch => Box::pin(patch::patch(call, body)).await,
            Verb::Delete => Box::pin(delete::delete(call, body)).await,
            Verb::DeleteCollection => Box::pin(delete::delete_collection(call, body)).await,
            Verb::Other(_) => Err(route::not_offered(call)),
        };
    }
    let subresource = call
        .resource
        .subresource(call.info.subresource)
        .ok_or_else(|| route::no_subresource(call))?;
    route::check(call, &subresource.verbs)?;
    match (&subresource.behaviour, call.info.verb) {
        (SubresourceKind::Part, Verb::Get) => read::get(call).await,
        (SubresourceKind::Part, Verb::Update) => Box::pin(update::update(call, body)).await,
        (SubresourceKind::Part, Verb::Patch) => Box::pin(patch::patch(call, body)).await,
        (SubresourceKind::Binding, Verb::Create) => Box::pin(binding::create(call, body)).await,
        (SubresourceKind::Eviction, Verb::Create) => Box::pin(eviction::create(call, body)).await,
        (SubresourceKind::Token, Verb::Create) => Box::pin(token::create(call, body)).await,
        (SubresourceKind::Connect(connection), _) => Box::pin(connect::connect(call, *connection)).await,
        (SubresourceKind::Scale(paths), Verb::Get) => Box::pin(scale::get(call, paths)).await,
        (SubresourceKind::Scale(paths), Verb::Update) => Box::pin(scale::update(call, paths, body)).await,
        (SubresourceKind::Scale(paths), Verb::Patch) => Box::pin(scale::patch(call, paths, body)).await,
        _ => Err(route::not_offered(call)),
    }
}
