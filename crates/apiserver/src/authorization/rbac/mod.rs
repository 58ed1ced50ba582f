//! Role-based access control: who may do what by the roles that are bound to them.
//!
//! [`Policy`] holds what is stored, [`covers`] compares rules, [`bootstrap`] has the roles of every cluster: all pure. [`follower`]
//! reads the store. Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go,
//! pkg/registry/rbac/validation and component-helpers auth/rbac/validation.

pub(crate) mod bootstrap;
mod covers;
mod follow;
mod policy;
mod rule;

#[cfg(test)]
mod tests;

#[cfg(test)]
use self::covers::covers;
pub(crate) use self::covers::escalation;
pub(crate) use self::follow::follower;
#[cfg(test)]
pub(crate) use self::policy::Binding;
pub(crate) use self::policy::{Policy, RoleMissing, RoleRef, Source, aggregate};
pub(crate) use self::rule::PolicyRule;

/// The group of the API that roles and bindings belong to.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
