//! List: versions, pages, selectors.
//!
//! What each combination of `resourceVersion`, `resourceVersionMatch`, `limit` and `continue` means is upstream's
//! (apimachinery pkg/apis/meta/internalversion/validation, apiserver pkg/storage/etcd3/store.go `GetList`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Response;
use kubewright_core::{FieldError, FieldPath, GroupKind, ListOptions, Status, VersionMatch};
use kubewright_net::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Call;
use super::response::Rendering;
use super::selection::Selection;
use crate::error::{ApiError, ApiResult};
use crate::storage::{At, KeyPrefix, RangeRequest, RangeResponse, Revision, StorageError, StoredObject};

/// Answers with a list.
pub(crate) async fn list(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options =
        ListOptions::from_query(call.query).map_err(|error| ApiError::from_option(error, "ListOptions"))?;
    let page = page(call, &options).await?;
    Ok(rendering.list(&page.metadata(), &page.items))
}

/// A list, or a page of one.
pub(crate) struct Page {
    pub(crate) items: Vec<StoredObject>,
    revision: Revision,
    continue_token: Option<String>,
    remaining: Option<usize>,
}

impl Page {
    pub(crate) fn metadata(&self) -> Value {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".into(), self.revision.0.to_string().into());
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
        Value::Object(metadata)
    }
}

/// Reads the objects that `options` mean.
pub(crate) async fn page(call: &Call<'_>, options: &ListOptions) -> ApiResult<Page> {
    check_options(options)?;
    let selection = Selection::new(&call.resource, options)?;
    let prefix = call.resource.prefix(call.namespace());
    let limit = usize::try_from(options.limit).ok().filter(|limit| *limit > 0);
    let (at, start) = position(options, &prefix, limit.is_some())?;
    // Whatever is at hand has no pages.
    let limit = limit.filter(|_| at != At::AnyCached);
    let mut request = RangeRequest {
        prefix: prefix.clone(),
        start,
        limit,
        at,
    };
    let mut items = Vec::new();
    // A selector may leave little of a page: pages are read until one is full.
    let (revision, next, remaining) = loop {
        request.limit = if selection.is_everything() {
            limit
        } else {
            limit.map(|limit| limit.max(SELECTED_PAGE))
        };
        let RangeResponse {
            items: found,
            revision,
            next,
            remaining,
        } = call
            .server
            .storage()
            .range(request.clone())
            .await
            .map_err(|error| expired(call, error, &request))?;
        if selection.is_everything() {
            items = found;
            break (revision, next, Some(remaining));
        }
        for object in found {
            if !selection.matches(&call.resource, &object) {
                continue;
            }
            if limit.is_some_and(|limit| items.len() >= limit) {
                // The page is full: the next one begins with this object.
                let next = Some(object.key().as_str().to_owned());
                return Ok(finish(items, revision, next, None, &prefix));
            }
            items.push(object);
        }
        let Some(next) = next else {
            break (revision, None, None);
        };
        request.start = Some(next);
        request.at = At::Exact(revision);
    };
    Ok(finish(
        items,
        revision,
        next,
        remaining.filter(|_| limit.is_some()),
        &prefix,
    ))
}

fn finish(
    items: Vec<StoredObject>,
    revision: Revision,
    next: Option<String>,
    remaining: Option<usize>,
    prefix: &KeyPrefix,
) -> Page {
    let continue_token =
        next.map(|key| Token::encode(i64::try_from(revision.0).unwrap_or(i64::MAX), &key, prefix));
    Page {
        items,
        revision,
        remaining: remaining.filter(|_| continue_token.is_some()),
        continue_token,
    }
}

/// At which state a list is read, and from which key on.
fn position(options: &ListOptions, prefix: &KeyPrefix, has_limit: bool) -> ApiResult<(At, Option<String>)> {
    if !options.continue_token.is_empty() {
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            )
            .into());
        }
        let token = Token::decode(&options.continue_token)?;
        let at = u64::try_from(token.rv).map_or(At::Latest, |version| At::Exact(Revision(version)));
        return Ok((at, Some(format!("{}{}", prefix.as_str(), token.start))));
    }
    let at = match (check_version(&options.resource_version)?, options.version_match) {
        (None, _) => At::Latest,
        (Some(Revision(0)), _) => At::AnyCached,
        (Some(version), Some(VersionMatch::Exact)) => At::Exact(version),
        // What clients of before `resourceVersionMatch` meant.
        (Some(version), None) if has_limit => At::Exact(version),
        (Some(version), _) => At::NotOlderThan(version),
    };
    Ok((at, None))
}

/// The version in a request; `None` when there is none.
///
/// # Errors
/// 400 when it is no number.
pub(crate) fn check_version(text: &str) -> ApiResult<Option<Revision>> {
    if text.is_empty() {
        return Ok(None);
    }
    let version = text.parse().map_err(|_| {
        Status::bad_request(format!(
            "invalid resource version {text:?}: a resource version is a decimal number"
        ))
    })?;
    Ok(Some(Revision(version)))
}

fn check_options(options: &ListOptions) -> ApiResult<()> {
    let mut errors = Vec::new();
    let forbid = |errors: &mut Vec<FieldError>, field: &str, why: &str| {
        errors.push(FieldError::forbidden(FieldPath::new(field), why));
    };
    if options.version_match.is_some() {
        let field = "resourceVersionMatch";
        if options.resource_version.is_empty() {
            forbid(
                &mut errors,
                field,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
        }
        if !options.continue_token.is_empty() {
            forbid(
                &mut errors,
                field,
                "resourceVersionMatch is forbidden when continue is provided",
            );
        }
        if options.version_match == Some(VersionMatch::Exact) && options.resource_version == "0" {
            forbid(
                &mut errors,
                field,
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"",
            );
        }
    }
    if options.send_initial_events.is_some() {
        forbid(
            &mut errors,
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        );
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(invalid_options(&errors))
    }
}

/// 422 about the options of a list or watch.
pub(crate) fn invalid_options(errors: &[FieldError]) -> crate::error::ApiError {
    Status::invalid(&GroupKind::new("meta.k8s.io", "ListOptions"), "", errors).into()
}

/// A page whose version is compacted away: the client may go on inconsistently (etcd3/errors.go).
fn expired(call: &Call<'_>, error: StorageError, request: &RangeRequest) -> crate::error::ApiError {
    match (&error, &request.start) {
        (StorageError::Compacted { .. }, Some(start)) => {
            let mut status = Status::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                 without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
                 results. Continuing with the provided token results in an inconsistent list - objects that were created, \
                 modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            );
            status.metadata.continue_token = Token::encode(-1, start, &request.prefix);
            status.into()
        }
        _ => call.storage_error(error),
    }
}

/// What `continue` carries: upstream's format, although clients must not look inside.
#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    /// The version of the list; -1 goes on with the newest state.
    rv: i64,
    /// The key to begin with, within the prefix.
    start: String,
}

impl Token {
    fn encode(rv: i64, key: &str, prefix: &KeyPrefix) -> String {
        let start = key.strip_prefix(prefix.as_str()).unwrap_or(key).to_owned();
        let token = Self {
            v: TOKEN_VERSION.to_owned(),
            rv,
            start,
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    fn decode(text: &str) -> ApiResult<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let token = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        let valid =
            token.filter(|token| token.v == TOKEN_VERSION && token.rv != 0 && !token.start.starts_with('/'));
        valid.ok_or_else(|| {
            Status::bad_request("continue key is not valid: it must be taken from an answer as it is").into()
        })
    }
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";
/// How many objects are read at a time where a selector leaves some out.
const SELECTED_PAGE: usize = 500;
