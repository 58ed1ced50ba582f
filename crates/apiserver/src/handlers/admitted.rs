//! What admission sees of the writes of these handlers: the object, or the `Scale` of it.

use kubewright_core::{DeleteOptions, WriteOptions};
use serde_json::Value;

use super::metadata::{OwnersOf, dedup_owners};
use super::{Call, scale};
use crate::admission::{self, Attributes, Operation, RequestOptions};
use crate::error::ApiResult;
use crate::registry::{ScalePaths, SubresourceKind};

/// An object that is to be made, after what admission makes of it.
///
/// # Errors
/// Those of [`admission::mutate`].
pub(super) async fn mutate_new(call: &Call<'_>, object: Value, options: &WriteOptions) -> ApiResult<Value> {
    let attributes = creation(call, &object, options);
    let mutated = admission::mutate(&attributes, Some(object)).await?;
    Ok(once_owned(call, mutated))
}

/// Lets admission look at an object that is to be made.
///
/// # Errors
/// Those of [`admission::validate`].
pub(super) async fn validate_new(call: &Call<'_>, object: &Value, options: &WriteOptions) -> ApiResult<()> {
    admission::validate(&creation(call, object, options), Some(object)).await
}

/// The same for an object whose name the server made: upstream does not tell it.
///
/// # Errors
/// Likewise.
pub(super) async fn validate_generated(
    call: &Call<'_>,
    object: &Value,
    options: &WriteOptions,
) -> ApiResult<()> {
    let mut attributes = creation(call, object, options);
    attributes.name.clear();
    admission::validate(&attributes, Some(object)).await
}

/// What admission left, without owners that are there already.
fn once_owned(call: &Call<'_>, mutated: Option<Value>) -> Value {
    let mut object = mutated.unwrap_or_default();
    dedup_owners(call, &mut object, OwnersOf::Admitted);
    object
}

/// Both in one, for what is made and not kept, as a binding is.
///
/// # Errors
/// Those of [`admission::mutate`] and [`admission::validate`].
pub(super) async fn admit_new(call: &Call<'_>, object: Value, options: &WriteOptions) -> ApiResult<Value> {
    let object = mutate_new(call, object, options).await?;
    validate_new(call, &object, options).await?;
    Ok(object)
}

fn creation<'a>(call: &'a Call<'_>, object: &Value, options: &'a WriteOptions) -> Attributes<'a> {
    let options = RequestOptions::Write(options, "CreateOptions");
    Attributes::new(call, Operation::Create, Some(object), None, options)
}

/// Lets admission look at an object that is to be deleted. It is told the name in the path: none, where a collection is deleted (apiserver
/// pkg/endpoints/handlers/delete.go `DeleteCollection`).
///
/// # Errors
/// Those of [`admission::mutate`] and [`admission::validate`].
pub(super) async fn check_deletion(call: &Call<'_>, old: &Value, options: &DeleteOptions) -> ApiResult<()> {
    let options = RequestOptions::Delete(options);
    let attributes = Attributes::new(call, Operation::Delete, None, Some(old), options);
    admission::mutate(&attributes, None).await?;
    admission::validate(&attributes, None).await
}

/// Lets admission look at a connection that is to be opened; `options` are an object of the connection's own kind.
///
/// # Errors
/// Those of [`admission::mutate`] and [`admission::validate`].
pub(super) async fn check_connection(call: &Call<'_>, options: Value) -> ApiResult<()> {
    let attributes = Attributes::new(call, Operation::Connect, None, None, RequestOptions::None);
    // What is made of the options changes nothing of where the connection goes to.
    let options = admission::mutate(&attributes, Some(options)).await?;
    admission::validate(&attributes, options.as_ref()).await
}

/// A change of an object.
pub(super) struct Change<'a> {
    call: &'a Call<'a>,
    options: &'a WriteOptions,
    /// Where the number of replicas is, when it is changed through the `Scale`.
    paths: Option<&'a ScalePaths>,
    old: &'a Value,
}

impl<'a> Change<'a> {
    pub(super) fn new(call: &'a Call<'_>, options: &'a WriteOptions, old: &'a Value) -> Self {
        let subresource = call.resource.subresource(call.info.subresource);
        let paths = subresource.and_then(|subresource| match &subresource.behaviour {
            SubresourceKind::Scale(paths) => Some(paths),
            _ => None,
        });
        Self {
            call,
            options,
            paths,
            old,
        }
    }

    /// The new state after what admission makes of it.
    ///
    /// # Errors
    /// Those of [`admission::mutate`].
    pub(super) async fn mutate(&self, mut new: Value) -> ApiResult<Value> {
        let Some(paths) = self.paths else {
            let attributes = self.attributes(&new, self.old);
            let mutated = admission::mutate(&attributes, Some(new)).await?;
            return Ok(once_owned(self.call, mutated));
        };
        let (old_scale, new_scale) = (scale::of(self.old, paths), scale::of(&new, paths));
        let attributes = self.attributes(&new_scale, &old_scale);
        let mutated = admission::mutate(&attributes, Some(new_scale.clone())).await?;
        let mutated = scale::admitted(self.call, mutated.unwrap_or_default())?;
        if mutated != new_scale {
            scale::set_replicas(&mut new, &mutated, paths);
        }
        Ok(new)
    }

    /// Lets admission look at the new state.
    ///
    /// # Errors
    /// Those of [`admission::validate`].
    pub(super) async fn validate(&self, new: &Value) -> ApiResult<()> {
        let Some(paths) = self.paths else {
            return admission::validate(&self.attributes(new, self.old), Some(new)).await;
        };
        let (old_scale, new_scale) = (scale::of(self.old, paths), scale::of(new, paths));
        let attributes = self.attributes(&new_scale, &old_scale);
        admission::validate(&attributes, Some(&new_scale)).await
    }

    fn attributes<'b>(&'b self, object: &Value, old: &'b Value) -> Attributes<'b> {
        let options = RequestOptions::Write(self.options, "UpdateOptions");
        Attributes::new(self.call, Operation::Update, Some(object), Some(old), options)
    }
}
