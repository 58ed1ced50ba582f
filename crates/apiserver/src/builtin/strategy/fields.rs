//! What field selectors can select by.
//!
//! Upstream: the `AddFieldLabelConversionFunc` calls of `pkg/apis/*/v1/conversion.go`, the `ToSelectableFields` functions of
//! `pkg/registry`, and for kinds without either apimachinery pkg/runtime/conversion.go.

use super::super::value::{int_at, str_at, true_at};
use kubewright_core::GroupVersionKind;
use serde_json::Value;

/// What a kind can be selected by, and how it refuses everything else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldLabels {
    fields: &'static [Selectable],
    refusal: Refusal,
}

/// Each kind of upstream has its own words.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// Those of kinds that say nothing of fields.
    NoKnownField,
    /// Those of most kinds that do.
    Label,
    LabelForJob,
    LabelForKind,
}

/// One field by which objects of a kind can be selected.
#[derive(Debug, Clone, Copy)]
struct Selectable {
    /// The name in a selector, such as `spec.nodeName`.
    name: &'static str,
    source: Source,
}

/// Where the value comes from: a JSON pointer and how Go prints what is there.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A string; empty if absent.
    Text(&'static str),
    /// `true` or `false`.
    Flag(&'static str),
    /// A number; `0` if absent.
    Number(&'static str),
    /// The first that is not empty.
    Either(&'static str, &'static str),
    /// Always empty.
    Nothing,
}

const NAME: Selectable = text("metadata.name", "/metadata/name");
const IN_NAMESPACE: Selectable = text("metadata.namespace", "/metadata/namespace");

/// What kinds can be selected by that say nothing of fields.
pub(super) const META: FieldLabels = FieldLabels {
    fields: &[NAME, IN_NAMESPACE],
    refusal: Refusal::NoKnownField,
};

pub(super) const POD: FieldLabels = labels(&[
    NAME,
    IN_NAMESPACE,
    text("spec.nodeName", "/spec/nodeName"),
    // The name of old clients.
    text("spec.host", "/spec/nodeName"),
    text("spec.restartPolicy", "/spec/restartPolicy"),
    text("spec.schedulerName", "/spec/schedulerName"),
    text("spec.serviceAccountName", "/spec/serviceAccountName"),
    flag("spec.hostNetwork", "/spec/hostNetwork"),
    text("status.phase", "/status/phase"),
    either("status.podIP", "/status/podIPs/0/ip", "/status/podIP"),
    // May be named, but no pod has a value for it.
    Selectable {
        name: "status.podIPs",
        source: Source::Nothing,
    },
    text("status.nominatedNodeName", "/status/nominatedNodeName"),
]);

pub(super) const NODE: FieldLabels = labels(&[NAME, flag("spec.unschedulable", "/spec/unschedulable")]);
pub(super) const NAMESPACE: FieldLabels = labels(&[NAME, text("status.phase", "/status/phase")]);
pub(super) const SECRET: FieldLabels = labels(&[NAME, IN_NAMESPACE, text("type", "/type")]);
pub(super) const SERVICE: FieldLabels = labels(&[
    NAME,
    IN_NAMESPACE,
    text("spec.clusterIP", "/spec/clusterIP"),
    text("spec.type", "/spec/type"),
]);
pub(super) const REPLICATION_CONTROLLER: FieldLabels =
    labels(&[NAME, IN_NAMESPACE, number("status.replicas", "/status/replicas")]);
pub(super) const JOB: FieldLabels = FieldLabels {
    fields: &[
        NAME,
        IN_NAMESPACE,
        number("status.successful", "/status/succeeded"),
    ],
    refusal: Refusal::LabelForJob,
};
pub(super) const SIGNER: FieldLabels = labels(&[NAME, text("spec.signerName", "/spec/signerName")]);
pub(super) const POD_CERTIFICATE_REQUEST: FieldLabels = labels(&[
    NAME,
    text("spec.signerName", "/spec/signerName"),
    text("spec.podName", "/spec/podName"),
    text("spec.nodeName", "/spec/nodeName"),
]);
pub(super) const RESOURCE_SLICE: FieldLabels = FieldLabels {
    fields: &[
        NAME,
        text("spec.nodeName", "/spec/nodeName"),
        text("spec.driver", "/spec/driver"),
        text("spec.pool.name", "/spec/pool/name"),
    ],
    refusal: Refusal::LabelForKind,
};

pub(super) const EVENT: FieldLabels = labels(&[
    NAME,
    IN_NAMESPACE,
    text("involvedObject.kind", "/involvedObject/kind"),
    text("involvedObject.namespace", "/involvedObject/namespace"),
    text("involvedObject.name", "/involvedObject/name"),
    text("involvedObject.uid", "/involvedObject/uid"),
    text("involvedObject.apiVersion", "/involvedObject/apiVersion"),
    text(
        "involvedObject.resourceVersion",
        "/involvedObject/resourceVersion",
    ),
    text("involvedObject.fieldPath", "/involvedObject/fieldPath"),
    text("reason", "/reason"),
    text("reportingComponent", "/reportingComponent"),
    either("source", "/source/component", "/reportingComponent"),
    text("type", "/type"),
]);

/// The same events seen through `events.k8s.io`.
pub(super) const EVENT_V1: FieldLabels = labels(&[
    NAME,
    IN_NAMESPACE,
    text("regarding.kind", "/regarding/kind"),
    text("regarding.namespace", "/regarding/namespace"),
    text("regarding.name", "/regarding/name"),
    text("regarding.uid", "/regarding/uid"),
    text("regarding.apiVersion", "/regarding/apiVersion"),
    text("regarding.resourceVersion", "/regarding/resourceVersion"),
    text("regarding.fieldPath", "/regarding/fieldPath"),
    text("reason", "/reason"),
    text("reportingController", "/reportingController"),
    text("type", "/type"),
]);

const fn labels(fields: &'static [Selectable]) -> FieldLabels {
    FieldLabels {
        fields,
        refusal: Refusal::Label,
    }
}

const fn text(name: &'static str, pointer: &'static str) -> Selectable {
    Selectable {
        name,
        source: Source::Text(pointer),
    }
}

const fn flag(name: &'static str, pointer: &'static str) -> Selectable {
    Selectable {
        name,
        source: Source::Flag(pointer),
    }
}

const fn number(name: &'static str, pointer: &'static str) -> Selectable {
    Selectable {
        name,
        source: Source::Number(pointer),
    }
}

const fn either(name: &'static str, first: &'static str, second: &'static str) -> Selectable {
    Selectable {
        name,
        source: Source::Either(first, second),
    }
}

impl FieldLabels {
    /// The names that a selector may have.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.fields.iter().map(|selectable| selectable.name)
    }

    /// The value of `field`, if the kind can be selected by it.
    pub(super) fn select(&self, object: &Value, field: &str) -> Option<String> {
        let selectable = self.fields.iter().find(|selectable| selectable.name == field)?;
        Some(match selectable.source {
            Source::Text(pointer) => str_at(object, pointer).to_owned(),
            Source::Flag(pointer) => true_at(object, pointer).to_string(),
            Source::Number(pointer) => int_at(object, pointer).unwrap_or(0).to_string(),
            Source::Either(first, second) => match str_at(object, first) {
                "" => str_at(object, second).to_owned(),
                found => found.to_owned(),
            },
            Source::Nothing => String::new(),
        })
    }

    /// What a selector by another field is told.
    pub(crate) fn refuse(&self, kind: &GroupVersionKind, field: &str) -> String {
        match self.refusal {
            Refusal::NoKnownField => {
                format!(
                    "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            }
            Refusal::Label => format!("field label not supported: {field}"),
            Refusal::LabelForJob => format!("field label {field:?} not supported for Job"),
            Refusal::LabelForKind => format!(
                "field label not supported for {}, Kind={}: {field}",
                kind.api_version(),
                kind.kind
            ),
        }
    }
}
