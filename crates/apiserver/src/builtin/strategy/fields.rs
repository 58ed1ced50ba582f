//! What field selectors can select by.
//!
//! Upstream: the `AddFieldLabelConversionFunc` calls of `pkg/apis/*/v1/conversion.go` and the `ToSelectableFields`
//! functions of `pkg/registry`.

use super::super::value::{int_at, str_at, true_at};
use serde_json::Value;

/// One field by which objects of a kind can be selected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selectable {
    /// The name in a selector, such as `spec.nodeName`.
    pub(crate) name: &'static str,
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
}

/// What every kind can be selected by.
pub(super) const META: &[Selectable] = &[
    text("metadata.name", "/metadata/name"),
    text("metadata.namespace", "/metadata/namespace"),
];

pub(super) const POD: &[Selectable] = &[
    text("spec.nodeName", "/spec/nodeName"),
    // The name of old clients.
    text("spec.host", "/spec/nodeName"),
    text("spec.restartPolicy", "/spec/restartPolicy"),
    text("spec.schedulerName", "/spec/schedulerName"),
    text("spec.serviceAccountName", "/spec/serviceAccountName"),
    flag("spec.hostNetwork", "/spec/hostNetwork"),
    text("status.phase", "/status/phase"),
    text("status.podIP", "/status/podIP"),
    text("status.podIPs", "/status/podIP"),
    text("status.nominatedNodeName", "/status/nominatedNodeName"),
];

pub(super) const NODE: &[Selectable] = &[flag("spec.unschedulable", "/spec/unschedulable")];
pub(super) const NAMESPACE: &[Selectable] = &[
    text("name", "/metadata/name"),
    text("status.phase", "/status/phase"),
];
pub(super) const SECRET: &[Selectable] = &[text("type", "/type")];
pub(super) const SERVICE: &[Selectable] = &[
    text("spec.clusterIP", "/spec/clusterIP"),
    text("spec.type", "/spec/type"),
];
pub(super) const REPLICAS: &[Selectable] = &[number("status.replicas", "/status/replicas")];
pub(super) const JOB: &[Selectable] = &[number("status.successful", "/status/succeeded")];
pub(super) const SIGNER: &[Selectable] = &[text("spec.signerName", "/spec/signerName")];
pub(super) const POD_CERTIFICATE_REQUEST: &[Selectable] = &[
    text("spec.signerName", "/spec/signerName"),
    text("spec.nodeName", "/spec/nodeName"),
];
pub(super) const RESOURCE_SLICE: &[Selectable] = &[
    text("spec.nodeName", "/spec/nodeName"),
    text("spec.driver", "/spec/driver"),
];

pub(super) const EVENT: &[Selectable] = &[
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
];

/// The same events seen through `events.k8s.io`.
pub(super) const EVENT_V1: &[Selectable] = &[
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
];

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

/// The value of `field`, if the kind can be selected by it.
pub(super) fn select(of_kind: &[Selectable], object: &Value, field: &str) -> Option<String> {
    let selectable = META
        .iter()
        .chain(of_kind)
        .find(|selectable| selectable.name == field)?;
    Some(match selectable.source {
        Source::Text(pointer) => str_at(object, pointer).to_owned(),
        Source::Flag(pointer) => true_at(object, pointer).to_string(),
        Source::Number(pointer) => int_at(object, pointer).unwrap_or(0).to_string(),
        Source::Either(first, second) => match str_at(object, first) {
            "" => str_at(object, second).to_owned(),
            found => found.to_owned(),
        },
    })
}
