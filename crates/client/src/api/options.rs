//! Options and results that belong to single verbs.

use kubewright_core::{FieldValidation, Status, WriteOptions};

/// What a delete left behind.
#[derive(Debug, Clone, PartialEq)]
pub enum Deleted<K> {
    /// The object still exists, marked for deletion, or this is its last state.
    Object(Box<K>),
    /// It is gone.
    Status(Box<Status>),
}

/// Options of server-side apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Who owns the fields. Where it is empty, the client has to have one ([`Client::with_field_manager`](crate::Client::with_field_manager)),
    /// or the server refuses.
    pub field_manager: String,
    /// What happens where another manager owns a field. Default: [`ApplyConflicts::Fail`].
    pub conflicts: ApplyConflicts,
    /// How unknown fields are treated. Default: the server's choice, a warning.
    pub field_validation: Option<FieldValidation>,
    /// Whether to store the result. Default: [`Persistence::Store`].
    pub persistence: Persistence,
}

/// What happens where another manager owns a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApplyConflicts {
    /// The request fails.
    #[default]
    Fail,
    /// The field is taken over, as controllers do.
    Force,
}

/// Whether the result of a write is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Persistence {
    /// It is.
    #[default]
    Store,
    /// Everything runs, nothing is stored.
    DryRun,
}

impl ApplyOptions {
    /// Applies as this field manager and fails on conflicts.
    pub fn new(field_manager: impl Into<String>) -> Self {
        Self {
            field_manager: field_manager.into(),
            ..Self::default()
        }
    }

    /// Takes over fields of other managers.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.conflicts = ApplyConflicts::Force;
        self
    }

    pub(super) fn to_write_options(&self) -> WriteOptions {
        WriteOptions {
            dry_run: self.persistence == Persistence::DryRun,
            field_manager: self.field_manager.clone(),
            field_validation: self.field_validation,
            force: self.conflicts == ApplyConflicts::Force,
        }
    }
}
