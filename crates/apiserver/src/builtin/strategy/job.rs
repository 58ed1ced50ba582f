//! Preparation of jobs: the generated selector.
//!
//! Upstream: `generateSelector` in `pkg/registry/batch/job/strategy.go`.

use super::super::value::{Object, child, map_at, str_at, true_at};
use super::Context;
use kubewright_core::FieldError;
use serde_json::Value;

/// The label with the uid of the job, which alone is selected by.
const UID_LABEL: &str = "batch.kubernetes.io/controller-uid";
/// The same under the name it had before 1.27.
const OLD_UID_LABEL: &str = "controller-uid";
const NAME_LABEL: &str = "batch.kubernetes.io/job-name";
const OLD_NAME_LABEL: &str = "job-name";

/// Unless the user selects by hand, the pods of a job are those with its uid. Labels that are there already stay, and
/// validation refuses them if they say something else.
pub(super) fn prepare(job: &mut Value, old: Option<&Value>, _: &mut Context<'_>) -> Vec<FieldError> {
    if old.is_some() || true_at(job, "/spec/manualSelector") {
        return Vec::new();
    }
    let (name, uid) = (
        str_at(job, "/metadata/name").to_owned(),
        str_at(job, "/metadata/uid").to_owned(),
    );
    let defaulted = map_at(job, "/spec/template/metadata/labels");
    let defaulted: Object = defaulted
        .map(|(label, value)| (label.clone(), value.clone()))
        .collect();
    let Some(spec) = job.as_object_mut().and_then(|job| child(job, "spec")) else {
        return Vec::new();
    };
    if let Some(labels) = nested(spec, &["template", "metadata", "labels"]) {
        for (label, value) in [
            (UID_LABEL, &uid),
            (OLD_UID_LABEL, &uid),
            (NAME_LABEL, &name),
            (OLD_NAME_LABEL, &name),
        ] {
            labels.entry(label).or_insert_with(|| value.as_str().into());
        }
    }
    if let Some(labels) = nested(spec, &["selector", "matchLabels"]) {
        labels.entry(UID_LABEL).or_insert_with(|| uid.into());
    }
    label_like_the_pods(job, &defaulted);
    Vec::new()
}

/// A job without labels has those of its pods, the generated ones too: in upstream both are one map once `SetDefaults_Job` in
/// `pkg/apis/batch/v1/defaults.go` ran. That it ran is seen by the labels being the same.
fn label_like_the_pods(job: &mut Value, defaulted: &Object) {
    let labels = map_at(job, "/spec/template/metadata/labels");
    let labels: Object = labels
        .map(|(label, value)| (label.clone(), value.clone()))
        .collect();
    if let Some(own) = job
        .as_object_mut()
        .and_then(|job| nested(job, &["metadata", "labels"]))
        && (own.is_empty() || own == defaulted)
    {
        *own = labels;
    }
}

fn nested<'a>(mut object: &'a mut Object, path: &[&str]) -> Option<&'a mut Object> {
    for field in path {
        object = child(object, field)?;
    }
    Some(object)
}
