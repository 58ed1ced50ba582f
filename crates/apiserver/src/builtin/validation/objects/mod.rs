//! Validation of each kind beyond its metadata, by the essentials of upstream's `pkg/apis/*/validation`.

mod cluster;
mod config;
mod definition;
mod pod;
mod policy;
mod service;
mod storage;
mod workloads;

pub(crate) use cluster::*;
pub(crate) use config::*;
pub(crate) use definition::{custom_resource_definition, custom_resource_definition_update};
pub(crate) use pod::{pod, pod_template, pod_update, template as pod_template_spec};
pub(crate) use policy::*;
pub(crate) use service::*;
pub(crate) use storage::*;
pub(crate) use workloads::*;
