//! What an apply without force would take from others.

use std::fmt::{self, Display, Formatter};

use kubewright_core::StatusCause;

use crate::fields::{FieldSet, Path};
use crate::managed::{ManagerId, Managers};

/// A field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub manager: ManagerId,
    /// Which field.
    pub path: Path,
}

/// All conflicts of an apply, by manager. Prints as the message of the answer (apimachinery
/// `pkg/util/managedfields/internal/conflict.go`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    /// The conflicts in what others own, their sets already reduced to what would be taken.
    pub(crate) fn of(taken: &Managers) -> Self {
        let conflicts = taken.iter().flat_map(|(manager, owned)| {
            owned.set.iter().map(|path| Conflict {
                manager: manager.clone(),
                path,
            })
        });
        Self(conflicts.collect())
    }

    /// The causes of the answer, one for each field.
    pub fn causes(&self) -> Vec<StatusCause> {
        let cause = |conflict: &Conflict| StatusCause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", conflict.manager),
            field: conflict.path.to_string(),
        };
        self.0.iter().map(cause).collect()
    }

    /// The fields, whoever owns them.
    pub fn to_set(&self) -> FieldSet {
        self.0.iter().map(|conflict| conflict.path.clone()).collect()
    }
}

impl Display for Conflicts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [conflict] = &*self.0 {
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {}: {}",
                conflict.manager, conflict.path
            );
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last = None;
        for conflict in &self.0 {
            if last != Some(&conflict.manager) {
                let separator = if last.is_none() { "" } else { "\n" };
                write!(f, "{separator}conflicts with {}:", conflict.manager)?;
                last = Some(&conflict.manager);
            }
            write!(f, "\n- {}", conflict.path)?;
        }
        Ok(())
    }
}
