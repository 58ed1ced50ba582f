//! What the workloads of other groups take from the validation of pods.

pub(super) use super::super::pod::template;
