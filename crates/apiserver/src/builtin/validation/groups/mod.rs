//! Validation of the API groups beyond the core group: one module per group, each function the rules of one kind.
//!
//! A function takes the object and, for an update, the stored one: some rules hold for new objects alone, some only ever tell
//! what changed. Metadata is checked by the strategy; what is said of one field by two rules is reported once
//! ([`super::merge`]).
//!
//! Upstream: `pkg/apis/<group>/validation` and the strategies in `pkg/registry/<group>`. Rules that a feature gate guards count
//! where the gate is on by default in 1.37.

mod device_names;
mod format;

pub(crate) use format::domain_prefixed_problems;

pub(crate) mod admission;
pub(crate) mod admission_policy;
pub(crate) mod apps;
pub(crate) mod authorization;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod certificates;
pub(crate) mod cluster;
pub(crate) mod cron;
pub(crate) mod devices;
pub(crate) mod flowcontrol;
pub(crate) mod ingress;
pub(crate) mod job_status;
pub(crate) mod network;
pub(crate) mod policy;
pub(crate) mod rbac;
pub(crate) mod storage;
