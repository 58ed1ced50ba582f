//! Validation of each kind beyond its metadata, by the essentials of upstream's `pkg/apis/*/validation`.

mod config;
mod definition;
mod pod;
mod workloads;

pub(crate) use super::pod::template as pod_template_spec;
pub(crate) use config::*;
pub(crate) use definition::{
    APPROVAL_ANNOTATION, Approval, custom_resource_definition, custom_resource_definition_part,
};
pub(crate) use workloads::*;
