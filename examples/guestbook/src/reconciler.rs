//! Doing what is left to do: the part that talks to the cluster.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kubewright::client::{DeleteOptions, Error as ClientError, Preconditions};
use kubewright::core::{Namespaced, Resource, StaticResource};
use kubewright::runtime::object_reference;
use kubewright::{
    Context, Error, Finalizer, Note, ObjectKey, Outcome, Patch, Reconciler, Request, WriteOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::plan::{Extent, Step, step};
use crate::resource::Guestbook;
use crate::status::{has_seen_spec, status};
use crate::{children, directory};

/// The finalizer that is on every guestbook until it is off the directory.
pub const FINALIZER: &str = "example.kubewright.dev/directory";

/// Brings what a guestbook consists of in line with it. It writes only what differs, so a settled guestbook causes no
/// writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuestbookReconciler;

impl Reconciler for GuestbookReconciler {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let Some(guestbook) = ctx.lister::<Guestbook>()?.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        let guestbook = guestbook.object()?;
        let guestbooks = ctx.api::<Guestbook>(request.namespace());
        Finalizer::new(FINALIZER)
            .run(
                &guestbooks,
                &guestbook,
                || apply(ctx, &guestbook),
                || clean_up(ctx, &guestbook),
            )
            .await
    }
}

/// An object of another owner has the name of one that the guestbook needs.
#[derive(Debug)]
struct Taken {
    kind: &'static str,
    key: ObjectKey,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, key } = self;
        write!(f, "{kind} {key} belongs to somebody else")
    }
}

impl std::error::Error for Taken {}

async fn apply(ctx: &Context, guestbook: &Guestbook) -> Result<Outcome, Error> {
    keep(ctx, guestbook, children::page(guestbook)).await?;
    let deployment = keep(ctx, guestbook, children::deployment(guestbook)).await?;
    keep(ctx, guestbook, children::service(guestbook)).await?;
    enlist(ctx, guestbook).await?;
    report(ctx, guestbook, &deployment).await?;
    Ok(Outcome::done())
}

/// Makes one object what it should be, and tells what was done in an event.
async fn keep<K>(ctx: &Context, guestbook: &Guestbook, desired: K) -> Result<K, Error>
where
    K: StaticResource + Resource<Scope = Namespaced>,
    K: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
{
    let key = desired.key();
    let present = ctx.lister::<K>()?.get(&key).await?;
    let present = present.map(|present| present.object()).transpose()?;
    let api = ctx.api::<K>(key.namespace.as_deref().unwrap_or_default());
    let options = WriteOptions::default();
    let (written, reason, action) = match (step(present.as_deref(), &desired, guestbook)?, present) {
        (Step::Keep, Some(present)) => return Ok(K::clone(&present)),
        (Step::Keep | Step::Create, _) => (api.create(&desired, &options).await, "Created", "Create"),
        (Step::Change { patch, extent }, _) => {
            let reason = match extent {
                _ if has_seen_spec(guestbook) => "Repaired",
                Extent::Replicas => "Scaled",
                Extent::Fields => "Updated",
            };
            let written = api.patch(&key.name, &Patch::Merge(patch), &options).await;
            (written, reason, "Update")
        }
        (Step::Foreign, _) => {
            let taken = Taken { kind: K::KIND, key };
            let note = Note::warning("NameTaken", "Update", taken.to_string());
            ctx.events().publish(guestbook, note);
            // Tried again: nobody tells when the other object goes.
            return Err(Error::new(taken));
        }
    };
    let written = written.map_err(|error| refused(ctx, guestbook, error))?;
    let note = Note::normal(reason, action, format!("{reason} {} {}", K::KIND, key.name));
    // Events about one object that differ in their words alone are counted as one: the child tells them apart.
    let child = ObjectReference {
        resource_version: None,
        ..object_reference(&written)
    };
    ctx.events().publish(guestbook, note.related_to(child));
    Ok(written)
}

/// What the server finds invalid it will find invalid again; the user should know.
fn refused(ctx: &Context, guestbook: &Guestbook, error: ClientError) -> Error {
    if !error.is_invalid() {
        return error.into();
    }
    let note = Note::warning("Refused", "Update", error.to_string());
    ctx.events().publish(guestbook, note);
    Error::terminal(error)
}

/// Lists the guestbook in the directory.
async fn enlist(ctx: &Context, guestbook: &Guestbook) -> Result<(), Error> {
    let desired = directory::with(guestbook);
    let present = ctx.lister::<ConfigMap>()?.get(&desired.key()).await?;
    let api = ctx.api::<ConfigMap>(guestbook.namespace().unwrap_or_default());
    let options = WriteOptions::default();
    match present {
        Some(present) if directory::lists(&*present.object()?, guestbook) => return Ok(()),
        Some(_) => {}
        None => match api.create(&desired, &options).await {
            // Another guestbook of the namespace was faster.
            Err(error) if error.is_already_exists() => {}
            created => return created.map(drop).map_err(Error::from),
        },
    }
    let patch = Patch::Merge(directory::list(guestbook));
    api.patch(directory::DIRECTORY, &patch, &options).await?;
    Ok(())
}

async fn report(ctx: &Context, guestbook: &Guestbook, deployment: &Deployment) -> Result<(), Error> {
    let status = status(guestbook, deployment, Timestamp::now());
    if guestbook.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let api = ctx.api::<Guestbook>(guestbook.namespace().unwrap_or_default());
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(guestbook.name(), &patch, &WriteOptions::default())
        .await?;
    Ok(())
}

/// Strikes the guestbook off the directory, and removes a directory that lists nothing. The rest has an owner reference
/// and goes by itself.
async fn clean_up(ctx: &Context, guestbook: &Guestbook) -> Result<Outcome, Error> {
    let key = ObjectKey::of(guestbook.namespace(), directory::DIRECTORY);
    let Some(present) = ctx.lister::<ConfigMap>()?.get(&key).await? else {
        return Ok(Outcome::done());
    };
    let api = ctx.api::<ConfigMap>(guestbook.namespace().unwrap_or_default());
    let mut left = ConfigMap::clone(&*present.object()?);
    if let Some(patch) = directory::strike(&left, guestbook) {
        let patch = Patch::Merge(patch);
        left = match api.patch(&key.name, &patch, &WriteOptions::default()).await {
            Err(error) if error.is_not_found() => return Ok(Outcome::done()),
            result => result?,
        };
        let note = format!("{} is off the directory", guestbook.name());
        ctx.events()
            .publish(guestbook, Note::normal("Removed", "Delete", note));
    }
    if directory::is_empty(&left) {
        let unchanged = DeleteOptions {
            preconditions: Some(Preconditions {
                resource_version: left.metadata.resource_version,
                ..Preconditions::default()
            }),
            ..DeleteOptions::default()
        };
        match api.delete(&key.name, &unchanged).await {
            // It is gone, or another guestbook was listed in between.
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            deleted => drop(deleted?),
        }
    }
    Ok(Outcome::done())
}
