//! Replica sets as revisions of a deployment, and the template that tells them apart
//! (kubernetes `pkg/controller/deployment/util/deployment_util.go`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kubewright_cache::Cached;
use kubewright_runtime::Error;
use serde_json::{Value, json};

use crate::workload::Workload;

pub(super) const HASH_LABEL: &str = "pod-template-hash";
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// The pod template of a deployment, as JSON so that no field is lost or compared away.
#[derive(Debug)]
pub(super) struct Template(Value);

impl Template {
    pub(super) fn of(deployment: &Workload<Deployment>) -> Self {
        Self(deployment.value["spec"]["template"].clone())
    }

    pub(super) fn value(&self) -> &Value {
        &self.0
    }

    /// Whether a replica set was made from this template.
    pub(super) fn is_of(&self, set: &Value) -> bool {
        let mut theirs = set["spec"]["template"].clone();
        let mut ours = self.0.clone();
        for template in [&mut theirs, &mut ours] {
            if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
                labels.remove(HASH_LABEL);
            }
            // The server writes it or leaves it out.
            if let Some(metadata) = template["metadata"].as_object_mut() {
                metadata.remove("creationTimestamp");
            }
        }
        theirs == ours
    }

    /// A short name for the template. Upstream's is another, and nobody may rely on either: FNV-1a over the JSON, whose
    /// maps are sorted, in letters that make no words (apimachinery `pkg/util/rand`, `SafeEncodeString`).
    pub(super) fn hash(&self, collisions: i64) -> String {
        let mut hash: u32 = 0x811c_9dc5;
        let text = self.0.to_string();
        let bytes = text
            .bytes()
            .chain(collisions.to_le_bytes().into_iter().filter(|_| collisions > 0));
        for byte in bytes {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        let digits = hash.to_string();
        digits
            .bytes()
            .map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()]))
            .collect()
    }
}

const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A replica set of a deployment.
#[derive(Debug)]
pub(super) struct Revision {
    pub(super) set: Workload<ReplicaSet>,
    pub(super) number: i64,
    /// The wanted size, updated as it is written.
    pub(super) replicas: i64,
    /// Pods there are, ready and available ones, from the status.
    pub(super) actual: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
}

impl Revision {
    pub(super) fn of(cached: &Cached<ReplicaSet>) -> Result<Self, Error> {
        let set = Workload::of(cached)?;
        let annotations = set.object.metadata.annotations.as_ref();
        let number = annotations
            .and_then(|annotations| annotations.get(REVISION))
            .and_then(|number| number.parse().ok());
        Ok(Self {
            number: number.unwrap_or(0),
            replicas: set.spec.replicas.unwrap_or(1).into(),
            actual: set.count("replicas"),
            ready: set.count("readyReplicas"),
            available: set.count("availableReplicas"),
            set,
        })
    }

    pub(super) fn name(&self) -> &str {
        self.set.object.metadata.name.as_deref().unwrap_or_default()
    }

    /// When it was made; the name decides between those of one second.
    pub(super) fn age(&self) -> (Timestamp, &str) {
        let created = self.set.object.metadata.creation_timestamp.as_ref();
        (created.map_or(Timestamp::MIN, |time| time.0), self.name())
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.set.object.metadata.annotations.as_ref()?;
        annotations.get(name).map(String::as_str)
    }

    pub(super) fn has_annotations(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted
            .iter()
            .all(|(name, value)| self.annotation(name) == Some(value))
    }

    /// The merge patch that makes this the revision `newest` with these annotations and this `minReadySeconds`; `None` where
    /// it is. Annotations that are not named stay, and a number never falls (upstream's `SetNewReplicaSetAnnotations`).
    pub(super) fn update(
        &self,
        mut annotations: BTreeMap<String, String>,
        newest: i64,
        min_ready: i32,
    ) -> Option<Value> {
        if self.number < newest {
            annotations.insert(REVISION.to_owned(), newest.to_string());
        }
        let has_ready = self.set.spec.min_ready_seconds.unwrap_or(0) == min_ready;
        if has_ready && self.has_annotations(&annotations) {
            return None;
        }
        Some(json!({
            "metadata": {"uid": self.set.object.metadata.uid, "annotations": annotations},
            "spec": {"minReadySeconds": min_ready},
        }))
    }
}

/// The place of the revision of a template: the oldest one, should there be several.
pub(super) fn current(revisions: &[Revision], template: &Template) -> Option<usize> {
    revisions
        .iter()
        .position(|revision| template.is_of(&revision.set.value))
}

/// The number that the revision of a template has, or gets: one more than that of every other.
pub(super) fn next(revisions: &[Revision], template: &Template) -> i64 {
    let others = revisions
        .iter()
        .filter(|revision| !template.is_of(&revision.set.value));
    others.map(|revision| revision.number).max().unwrap_or(0) + 1
}

/// Old revisions beyond the limit of which nothing is left.
pub(super) fn to_delete(revisions: &[Revision], template: &Template, limit: i32) -> Vec<usize> {
    let is_new = current(revisions, template);
    let mut old: Vec<usize> = (0..revisions.len())
        .filter(|at| Some(*at) != is_new && revisions[*at].set.object.metadata.deletion_timestamp.is_none())
        .collect();
    let excess = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    old.sort_by_key(|at| revisions[*at].number);
    old.truncate(excess);
    old.retain(|at| {
        let revision = &revisions[*at];
        let generation = revision.set.object.metadata.generation;
        let observed = revision.set.value["status"]["observedGeneration"].as_i64();
        revision.replicas == 0 && revision.actual == 0 && observed >= generation
    });
    old
}

/// Annotations of a deployment that its replica sets get too.
pub(super) fn is_inherited(annotation: &str) -> bool {
    ![
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        "deployment.kubernetes.io/revision-history",
        DESIRED,
        MAX,
        "deprecated.deployment.rollback.to",
    ]
    .contains(&annotation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_revision_follows_its_deployment() {
        let set = json!({
            "metadata": {"name": "s", "uid": "u", "resourceVersion": "1",
                "annotations": {REVISION: "3", "cause": "first", "own": "x"}},
            "spec": {"minReadySeconds": 5, "selector": {}},
        });
        let revision = Revision::of(&Cached::from_json(set.to_string().as_bytes()).unwrap()).unwrap();
        let change = |annotations: Value, min_ready: i32| json!({"metadata": {"uid": "u", "annotations": annotations}, "spec": {"minReadySeconds": min_ready}});
        for (cause, newest, min_ready, expect) in [
            ("first", 3, 5, None),
            ("first", 2, 5, None),
            ("second", 3, 5, Some(change(json!({"cause": "second"}), 5))),
            (
                "first",
                4,
                5,
                Some(change(json!({"cause": "first", REVISION: "4"}), 5)),
            ),
            ("first", 3, 0, Some(change(json!({"cause": "first"}), 0))),
        ] {
            let annotations = BTreeMap::from([("cause".to_owned(), cause.to_owned())]);
            let patch = revision.update(annotations, newest, min_ready);
            assert_eq!(patch, expect, "{cause} {newest} {min_ready}");
        }
    }
}
