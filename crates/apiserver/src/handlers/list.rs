//! List: versions, pages, selectors.
//!
//! What each combination of `resourceVersion`, `resourceVersionMatch`, `limit` and `continue` means is upstream's (apiserver
//! pkg/storage/interfaces.go `ValidateListOptions`, pkg/storage/cacher/delegator, cacher.go `GetList`, watch_cache.go).

use http::Response;
use kubewright_core::{FieldError, Status, StatusReason, VersionMatch};
use kubewright_net::Body;
use serde_json::{Map, Value, json};

use super::Call;
use super::continuation;
use super::response::Rendering;
use super::selection::Selection;
use crate::error::{ApiError, ApiResult};
use crate::request::{AskedVersion, ReadOptions};
use crate::storage::{
    At, Key, KeyPrefix, RangeRequest, RangeResponse, Remaining, Revision, StorageError, StoredObject,
};

/// Answers with a list.
pub(crate) async fn list(call: &Call<'_>) -> ApiResult<Response<Body>> {
    let rendering = Rendering::new(call)?;
    let options = ReadOptions::read(call.query)?;
    let page = page(call, &options).await?;
    rendering.list(call.server, &page.metadata(), page.items).await
}

/// A list, or a page of one.
pub(crate) struct Page {
    pub(crate) items: Vec<StoredObject>,
    revision: Revision,
    continue_token: Option<String>,
    remaining: Option<usize>,
    /// The shard selector, as it is written by those who read it.
    shard: Option<String>,
}

impl Page {
    /// All that there is.
    fn whole(items: Vec<StoredObject>, revision: Revision) -> Self {
        Self {
            items,
            revision,
            continue_token: None,
            remaining: None,
            shard: None,
        }
    }

    pub(crate) fn metadata(&self) -> Value {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".into(), self.revision.0.to_string().into());
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), token.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
        if let Some(selector) = &self.shard {
            metadata.insert(SHARD_INFO.into(), json!({ "selector": selector }));
        }
        Value::Object(metadata)
    }
}

/// Reads the objects that `options` mean.
pub(crate) async fn page(call: &Call<'_>, options: &ReadOptions) -> ApiResult<Page> {
    let selection = Selection::new(&call.resource, options)?;
    let page = page_of(call, options, &selection).await?;
    let shard = selection.shard().map(ToString::to_string);
    Ok(Page { shard, ..page })
}

async fn page_of(call: &Call<'_>, options: &ReadOptions, selection: &Selection) -> ApiResult<Page> {
    let extent = selection.extent(&call.resource, call.namespace());
    if let Some(key) = extent.single {
        return single(call, options, selection, extent.prefix, key).await;
    }
    let (at, start) = position(options, &extent.prefix)?;
    let request = RangeRequest {
        start,
        at,
        ..RangeRequest::new(extent.prefix)
    };
    // Whatever is at hand has no pages.
    let limit = options
        .limit
        .filter(|_| !matches!(options.version, AskedVersion::Any));
    if selection.is_everything() {
        everything(call, options, request, limit).await
    } else {
        selected(call, options, selection, request, limit).await
    }
}

/// All of a range, or a page of it.
async fn everything(
    call: &Call<'_>,
    options: &ReadOptions,
    mut request: RangeRequest,
    limit: Option<usize>,
) -> ApiResult<Page> {
    request.limit = limit;
    if limit.is_none() {
        request.remaining = Remaining::Ignored;
    }
    let found = range(call, options, &request).await?;
    let continue_token = found
        .next
        .map(|start| continuation::encode(&start, &request.prefix, Some(found.revision)));
    Ok(Page {
        remaining: found.remaining.filter(|_| continue_token.is_some()),
        continue_token,
        ..Page::whole(found.items, found.revision)
    })
}

/// What a selector leaves of a range. How much remains is unknown; that anything does need not mean that any of it is selected.
async fn selected(
    call: &Call<'_>,
    options: &ReadOptions,
    selection: &Selection,
    mut request: RangeRequest,
    limit: Option<usize>,
) -> ApiResult<Page> {
    // A selector may leave little of a piece: pieces are read until the page is full.
    request.limit = limit.map(|limit| limit.max(SELECTED_PIECE));
    request.remaining = Remaining::Ignored;
    let mut items = Vec::new();
    loop {
        let RangeResponse {
            items: found,
            revision,
            next,
            ..
        } = range(call, options, &request).await?;
        let judged = selection.judge(call.server, &call.resource, &found).await?;
        let mut found = found.into_iter().zip(judged);
        while let Some((object, is_meant)) = found.next() {
            if !is_meant {
                continue;
            }
            items.push(object);
            if limit == Some(items.len()) {
                let is_more = found.next().is_some() || next.is_some();
                let last = items.last().filter(|_| is_more);
                let continue_token = last.map(|last| {
                    let start = format!("{}\0", last.key());
                    continuation::encode(&start, &request.prefix, Some(revision))
                });
                return Ok(Page {
                    continue_token,
                    ..Page::whole(items, revision)
                });
            }
        }
        let Some(next) = next else {
            return Ok(Page::whole(items, revision));
        };
        request.start = Some(next);
        request.at = At::Exact(revision);
    }
}

/// The object that a selector names, if it is there: a list that has neither pages nor the memory of them (`Recursive: false`).
async fn single(
    call: &Call<'_>,
    options: &ReadOptions,
    selection: &Selection,
    prefix: KeyPrefix,
    key: Key,
) -> ApiResult<Page> {
    let at = match (&options.version, options.version_match) {
        (AskedVersion::At(version), Some(VersionMatch::Exact)) => At::Exact(*version),
        (AskedVersion::At(version), _) => At::NotOlderThan(*version),
        (AskedVersion::Any, _) => At::AnyCached,
        (AskedVersion::Unset, _) => At::Latest,
        (AskedVersion::Malformed(error), _) => return Err(malformed(error)),
    };
    let request = RangeRequest {
        start: Some(key.to_string()),
        limit: Some(1),
        at,
        remaining: Remaining::Ignored,
        ..RangeRequest::new(prefix)
    };
    let mut found = range(call, &ReadOptions::default(), &request).await?;
    found.items.retain(|object| *object.key() == key);
    if selection.judge(call.server, &call.resource, &found.items).await? == [false] {
        found.items.clear();
    }
    Ok(Page::whole(found.items, found.revision))
}

async fn range(call: &Call<'_>, options: &ReadOptions, request: &RangeRequest) -> ApiResult<RangeResponse> {
    let found = call.server.storage().range(request.clone()).await;
    found.map_err(|error| match error {
        StorageError::Compacted { .. } => expired(options, request),
        error => call.storage_error(error),
    })
}

/// At which state a list is read, and from which key on.
fn position(options: &ReadOptions, prefix: &KeyPrefix) -> ApiResult<(At, Option<String>)> {
    if !options.continue_token.is_empty() {
        let continuation = continuation::decode(&options.continue_token, prefix)?;
        if !matches!(options.version, AskedVersion::Unset | AskedVersion::Any) {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            )
            .into());
        }
        return Ok((continuation.at, Some(continuation.start)));
    }
    let at = match (&options.version, options.version_match) {
        (AskedVersion::Malformed(error), _) => return Err(malformed(error)),
        (AskedVersion::Unset, _) | (AskedVersion::At(Revision(0)), Some(VersionMatch::Exact)) => At::Latest,
        (AskedVersion::Any | AskedVersion::At(Revision(0)), _) => At::AnyCached,
        (AskedVersion::At(version), Some(VersionMatch::Exact)) => At::Exact(*version),
        // What clients of before `resourceVersionMatch` meant.
        (AskedVersion::At(version), None) if options.limit.is_some() => At::Exact(*version),
        (AskedVersion::At(version), _) => At::NotOlderThan(*version),
    };
    Ok((at, None))
}

fn malformed(error: &FieldError) -> ApiError {
    Status::bad_request(format!("invalid resource version: {error}")).into()
}

/// What upstream says of a version that a get or a watch cannot read: an error without a status of its own.
pub(crate) fn malformed_unchecked(error: &FieldError) -> ApiError {
    Status::failure(StatusReason::Unknown, error.to_string()).into()
}

/// A version that is compacted away. A client with a token may go on inconsistently (pkg/storage/etcd3/errors.go).
fn expired(options: &ReadOptions, request: &RangeRequest) -> ApiError {
    match &request.start {
        Some(start) if !options.continue_token.is_empty() => {
            let mut status = Status::expired(INCONSISTENT);
            status.metadata.continue_token = continuation::encode(start, &request.prefix, None);
            status.into()
        }
        _ => Status::expired("The resourceVersion for the provided list is too old.").into(),
    }
}

/// Where a list says that it is one shard.
pub(crate) const SHARD_INFO: &str = "shardInfo";

const INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new \
     list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
     Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between \
     the time the first chunk was returned and now may show up in the list.";

/// How many objects are read at a time at least, where a selector leaves some out.
const SELECTED_PIECE: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    /// Upstream's table of versions and matches (`pkg/storage/testing/store_tests.go` `RunTestList`, KEP-2523).
    #[test]
    fn which_state_a_list_shows() {
        let prefix = KeyPrefix::resource("a.io", "things");
        let five = Revision(5);
        let token = continuation::encode("a.io/things/a/b\0", &prefix, Some(Revision(3)));
        let latest = continuation::encode("a.io/things/a/b\0", &prefix, None);
        for (query, expect) in [
            (String::new(), Ok((At::Latest, None))),
            ("limit=1".into(), Ok((At::Latest, None))),
            ("resourceVersion=0".into(), Ok((At::AnyCached, None))),
            ("resourceVersion=0&limit=1".into(), Ok((At::AnyCached, None))),
            (
                "resourceVersion=0&limit=1&resourceVersionMatch=NotOlderThan".into(),
                Ok((At::AnyCached, None)),
            ),
            ("resourceVersion=5".into(), Ok((At::NotOlderThan(five), None))),
            (
                "resourceVersion=5&limit=0".into(),
                Ok((At::NotOlderThan(five), None)),
            ),
            (
                "resourceVersion=5&limit=-1".into(),
                Ok((At::NotOlderThan(five), None)),
            ),
            ("resourceVersion=5&limit=1".into(), Ok((At::Exact(five), None))),
            (
                "resourceVersion=5&limit=1&resourceVersionMatch=NotOlderThan".into(),
                Ok((At::NotOlderThan(five), None)),
            ),
            (
                "resourceVersion=5&limit=1&resourceVersionMatch=Exact".into(),
                Ok((At::Exact(five), None)),
            ),
            (
                "resourceVersion=5&resourceVersionMatch=Exact".into(),
                Ok((At::Exact(five), None)),
            ),
            (
                format!("continue={token}"),
                Ok((At::Exact(Revision(3)), Some("a.io/things/a/b\0"))),
            ),
            (
                format!("continue={token}&limit=2&resourceVersion=0"),
                Ok((At::Exact(Revision(3)), Some("a.io/things/a/b\0"))),
            ),
            (
                format!("continue={latest}"),
                Ok((At::Latest, Some("a.io/things/a/b\0"))),
            ),
            (
                format!("continue={token}&resourceVersion=5"),
                Err("specifying resource version is not allowed when using continue"),
            ),
            (
                format!("continue={token}&resourceVersion=x"),
                Err("specifying resource version is not allowed when using continue"),
            ),
            (
                "continue=%25&resourceVersion=x".into(),
                Err("invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
            ),
            (
                "resourceVersion=x".into(),
                Err(
                    "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax",
                ),
            ),
        ] {
            let found = position(&ReadOptions::read(&query).unwrap(), &prefix);
            let found = found
                .as_ref()
                .map(|(at, start)| (*at, start.as_deref()))
                .map_err(|error| {
                    assert_eq!(error.status().code, 400, "{query}");
                    error.status().message.as_str()
                });
            assert_eq!(found, expect, "{query}");
        }
    }
}
