//! Read, change, write, and again when someone else was quicker.

use super::{Encoded, Key, Storage, StorageError, StoredObject};

/// How often [`guaranteed_update`] writes before it gives the conflict to its caller. Each lost try means that another writer
/// succeeded, so this many can only be lost to a flood of writes on one object.
pub const GUARANTEED_UPDATE_TRIES: usize = 128;

/// Why [`guaranteed_update`] did not update.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuaranteedUpdateError<E> {
    /// The store failed: most often the object does not exist.
    #[error("the store did not take the update")]
    Storage(#[from] StorageError),
    /// The change was refused by the caller's function.
    #[error("the update was refused")]
    Refused(E),
}

/// Changes an object whatever others write at the same time: reads it, lets `change` make the new state of it, and writes that if
/// nobody wrote in between; else once more with the object that was in the way.
///
/// When `change` gives `None`, or a text equal to the stored one, nothing is written and the object keeps its revision, like
/// upstream's `GuaranteedUpdate`. Gives the object as it now is.
///
/// # Errors
///
/// What `change` refuses with, and the errors of the store: [`StorageError::NotFound`], and [`StorageError::Conflict`] after
/// [`GUARANTEED_UPDATE_TRIES`].
pub async fn guaranteed_update<S, F, E>(
    storage: &S,
    key: &Key,
    mut change: F,
) -> Result<StoredObject, GuaranteedUpdateError<E>>
where
    S: Storage + ?Sized,
    F: FnMut(&StoredObject) -> Result<Option<Encoded>, E>,
{
    let read = storage.get(key.clone()).await?;
    let mut current = read.ok_or_else(|| StorageError::NotFound { key: key.clone() })?;
    let mut tries = 0;
    loop {
        let value = match change(&current).map_err(GuaranteedUpdateError::Refused)? {
            Some(value) if value.bytes() != current.storage_bytes() => value,
            _ => return Ok(current),
        };
        tries += 1;
        match storage.update(key.clone(), current.revision(), value).await {
            Ok(updated) => return Ok(updated),
            Err(StorageError::Conflict { current: other, .. }) if tries < GUARANTEED_UPDATE_TRIES => {
                current = other
            }
            Err(err) => return Err(err.into()),
        }
    }
}
