//! Deployments: rolled out through replica sets (kubernetes `pkg/controller/deployment`).
//!
//! Each state of the pod template has a replica set of its own, named and labelled by the template's hash. What to scale
//! to what is decided by pure functions over counts ([`rollout`]); this file reads and writes.

mod conditions;
mod revision;
mod rollout;

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kubewright_cache::Cached;
use kubewright_client::{Api, DeleteOptions, DynamicApi, Patch, Preconditions, WriteOptions};
use kubewright_core::{
    DynamicObject, LabelSelector, ObjectKey, ObjectMeta, StaticResource, TypeMeta, is_controlled_by,
    owner_reference,
};
use kubewright_runtime::{Context, Controller, Error, Note, Outcome, Reconciler, Request, Right, Verb};
use serde_json::{Value, json};

use crate::adoption::{self, Adopter};
use crate::pods;
use crate::replica_set::is_same;
use crate::update::{Part, set_status, update};
use crate::workload::Workload;
use revision::{Revision, Template};
use rollout::{Sizes, Strategy};

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::new("deployment-controller", Deployments)
        .for_::<Deployment>()
        .owns::<ReplicaSet>()
        .reads::<Pod>()
        .concurrency(5)
        .right(Right::to::<ReplicaSet>([Verb::Create, Verb::Patch, Verb::Delete]))
        .right(Right::to::<Deployment>([Verb::Update]))
        .right(Right::to_subresource::<Deployment>("status", [Verb::Update]))
}

struct Deployments;

/// One deployment with what it owns.
struct Rollout<'a> {
    ctx: &'a Context,
    deployment: Workload<Deployment>,
    template: Template,
    revisions: Vec<Revision>,
}

impl Reconciler for Deployments {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let Some(cached) = ctx.lister::<Deployment>()?.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        let deployment = Workload::of(&cached)?;
        let selector = LabelSelector::from_spec(&deployment.spec.selector).map_err(Error::terminal)?;
        if selector.is_everything() {
            return Err(Error::terminal(
                "an empty selector selects all pods, which no deployment may",
            ));
        }
        let template = Template::of(&deployment);
        let revisions = claim(ctx, &deployment.object, &selector).await?;
        let mut rollout = Rollout {
            ctx,
            deployment,
            template,
            revisions,
        };
        if rollout.deployment.object.metadata.deletion_timestamp.is_some() {
            return rollout.write_status().await;
        }
        rollout.sync().await?;
        rollout.write_status().await
    }
}

impl Rollout<'_> {
    /// Brings the replica sets one step nearer to the template. Each step ends in a change of a replica set, which leads to
    /// the next.
    async fn sync(&mut self) -> Result<(), Error> {
        let sizes = self.sizes();
        let is_paused = self.deployment.spec.paused;
        if is_paused || rollout::is_scaling(&self.revisions, sizes.desired) {
            let current = self.sync_current().await?;
            for (at, replicas) in rollout::proportional(&self.revisions, current, &sizes) {
                self.scale(at, replicas, &sizes).await?;
            }
            return if is_paused { self.clean_up().await } else { Ok(()) };
        }
        match Strategy::of(&self.deployment.spec) {
            Strategy::Recreate => {
                for at in rollout::to_stop(&self.revisions, &self.template) {
                    self.scale(at, 0, &sizes).await?;
                }
                if self.old_pods_run().await? {
                    return Ok(());
                }
                let current = self.ensure_current(&sizes, sizes.desired).await?;
                self.scale(current, sizes.desired, &sizes).await?;
            }
            Strategy::RollingUpdate => {
                let old: i64 = self.revisions.iter().map(|revision| revision.replicas).sum();
                let start = sizes.desired.min((sizes.desired + sizes.max_surge - old).max(0));
                let current = self.ensure_current(&sizes, start).await?;
                let grown = rollout::grow(&self.revisions, current, &sizes);
                if grown != self.revisions[current].replicas {
                    return self.scale(current, grown, &sizes).await;
                }
                self.scale(current, grown, &sizes).await?;
                for (at, replicas) in rollout::shrink(&self.revisions, current, &sizes) {
                    self.scale(at, replicas, &sizes).await?;
                }
            }
        }
        self.clean_up().await
    }

    fn sizes(&self) -> Sizes {
        Sizes::of(&self.deployment.spec)
    }

    fn namespace(&self) -> &str {
        self.deployment
            .object
            .metadata
            .namespace
            .as_deref()
            .unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.deployment
            .object
            .metadata
            .name
            .as_deref()
            .unwrap_or_default()
    }

    fn sets(&self) -> Api<ReplicaSet> {
        self.ctx.api(self.namespace())
    }

    /// The place of the replica set of the present template, which is made if there is none and becomes the newest revision
    /// if it is not.
    async fn ensure_current(&mut self, sizes: &Sizes, replicas: i64) -> Result<usize, Error> {
        if let Some(at) = self.sync_current().await? {
            return Ok(at);
        }
        let newest = revision::next(&self.revisions, &self.template);
        let hash = self.template.hash(self.deployment.count("collisionCount"));
        let set = self.new_set(&hash, newest, replicas, sizes)?;
        let resource = ReplicaSet::api_resource();
        let api = DynamicApi::dynamic_namespaced(self.ctx.client(), &resource, self.namespace());
        let name = set.metadata.name.clone().unwrap_or_default();
        match api.create(&set, &WriteOptions::default()).await {
            Ok(_) => {}
            Err(error) if error.is_already_exists() => return self.collided(&name, error).await,
            Err(error) => return Err(error.into()),
        }
        self.ctx.events().publish(
            &*self.deployment.object,
            Note::normal(
                "ScalingReplicaSet",
                "ScaleUp",
                format!("Scaled up replica set {name} from 0 to {replicas}"),
            ),
        );
        self.annotate_revision(newest).await?;
        let key = ObjectKey::namespaced(self.namespace(), name.as_str());
        let Some(cached) = self.ctx.lister::<ReplicaSet>()?.get(&key).await? else {
            return Err(Error::new(format!(
                "replica set {key} went as soon as it was made"
            )));
        };
        self.revisions.push(Revision::of(&cached)?);
        Ok(self.revisions.len() - 1)
    }

    /// The name is taken: by the same set, which the cache is about to show, or by one of another template, so that the hash
    /// must change.
    async fn collided(&self, name: &str, error: kubewright_client::Error) -> Result<usize, Error> {
        let present = self.sets().get(name).await?;
        let value = serde_json::to_value(&present)?;
        let is_ours = is_controlled_by(&present, &*self.deployment.object) && self.template.is_of(&value);
        if !is_ours {
            let count = self.deployment.count("collisionCount") + 1;
            self.set_status(&json!({"collisionCount": count})).await?;
        }
        Err(error.into())
    }

    fn new_set(&self, hash: &str, number: i64, replicas: i64, sizes: &Sizes) -> Result<DynamicObject, Error> {
        let mut template = self.template.value().clone();
        template["metadata"]["labels"][revision::HASH_LABEL] = hash.into();
        let mut selector = self.deployment.value["spec"]["selector"].clone();
        selector["matchLabels"][revision::HASH_LABEL] = hash.into();
        let labels: ObjectMeta = serde_json::from_value(template["metadata"].clone())?;
        let mut annotations = self.inherited();
        annotations.extend(sizes.annotations());
        annotations.insert(revision::REVISION.to_owned(), number.to_string());
        let resource = ReplicaSet::api_resource();
        let min_ready = self.deployment.spec.min_ready_seconds.unwrap_or(0);
        let mut spec = json!({"replicas": replicas, "selector": selector, "template": template});
        if min_ready > 0 {
            spec["minReadySeconds"] = min_ready.into();
        }
        Ok(DynamicObject {
            types: TypeMeta {
                api_version: resource.api_version(),
                kind: resource.kind,
            },
            metadata: ObjectMeta {
                name: Some(format!("{}-{hash}", self.name())),
                namespace: self.deployment.object.metadata.namespace.clone(),
                labels: labels.labels,
                annotations: Some(annotations),
                owner_references: owner_reference(&*self.deployment.object).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            data: serde_json::Map::from_iter([("spec".to_owned(), spec)]),
        })
    }

    /// Gives a replica set its size, and notes on it the sizes that the size was made for.
    async fn scale(&mut self, at: usize, replicas: i64, sizes: &Sizes) -> Result<(), Error> {
        let revision = &self.revisions[at];
        let (name, before) = (revision.name().to_owned(), revision.replicas);
        let annotations = sizes.annotations();
        if before == replicas && revision.has_annotations(&annotations) {
            return Ok(());
        }
        let patch = Patch::Merge(json!({
            "metadata": {"uid": revision.set.object.metadata.uid, "annotations": annotations},
            "spec": {"replicas": replicas},
        }));
        self.sets().patch(&name, &patch, &WriteOptions::default()).await?;
        self.revisions[at].replicas = replicas;
        if before != replicas {
            let (action, way) = if replicas > before {
                ("ScaleUp", "up")
            } else {
                ("ScaleDown", "down")
            };
            self.ctx.events().publish(
                &*self.deployment.object,
                Note::normal(
                    "ScalingReplicaSet",
                    action,
                    format!("Scaled {way} replica set {name} from {before} to {replicas}"),
                ),
            );
        }
        Ok(())
    }

    /// Gives the replica set of the present template, if there is one, what it has from the deployment and the template does
    /// not tell: its annotations, its number and how long its pods must be ready (upstream's `getNewReplicaSet`).
    async fn sync_current(&self) -> Result<Option<usize>, Error> {
        let Some(at) = revision::current(&self.revisions, &self.template) else {
            return Ok(None);
        };
        let newest = revision::next(&self.revisions, &self.template);
        let min_ready = self.deployment.spec.min_ready_seconds.unwrap_or(0);
        let current = &self.revisions[at];
        let number = current.number.max(newest);
        if let Some(patch) = current.update(self.inherited(), newest, min_ready) {
            let patch = Patch::Merge(patch);
            self.sets()
                .patch(current.name(), &patch, &WriteOptions::default())
                .await?;
        }
        self.annotate_revision(number).await?;
        Ok(Some(at))
    }

    /// The annotations that replica sets have from their deployment.
    fn inherited(&self) -> BTreeMap<String, String> {
        let own = self.deployment.object.metadata.annotations.iter().flatten();
        own.filter(|(name, _)| revision::is_inherited(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Notes the newest revision on the deployment itself.
    async fn annotate_revision(&self, number: i64) -> Result<(), Error> {
        let annotations = self.deployment.object.metadata.annotations.as_ref();
        let number = number.to_string();
        if annotations.and_then(|annotations| annotations.get(revision::REVISION)) == Some(&number) {
            return Ok(());
        }
        let change = |deployment: &mut Value| {
            let annotations = &mut deployment["metadata"]["annotations"];
            annotations[revision::REVISION] = number.as_str().into();
        };
        let known = &self.deployment.value;
        update::<Deployment>(self.ctx.client(), known, Part::Whole, change).await
    }

    /// Whether pods of old templates have not ended yet.
    async fn old_pods_run(&self) -> Result<bool, Error> {
        let pods = self.ctx.lister::<Pod>()?.list_namespace(self.namespace()).await?;
        for cached in pods {
            let metadata = cached.metadata();
            let is_old = self.revisions.iter().any(|revision| {
                !self.template.is_of(&revision.set.value)
                    && adoption::is_owned(&metadata, &*revision.set.object)
            });
            if !is_old {
                continue;
            }
            let pod = cached.object()?;
            if pods::is_active(&pod) || pods::is_terminating(&pod) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes the oldest revisions beyond the limit, once nothing of them runs.
    async fn clean_up(&self) -> Result<(), Error> {
        let limit = self.deployment.spec.revision_history_limit.unwrap_or(10);
        for at in revision::to_delete(&self.revisions, &self.template, limit) {
            let set = &self.revisions[at].set.object;
            let options = DeleteOptions {
                preconditions: Some(Preconditions {
                    uid: set.metadata.uid.clone(),
                    resource_version: None,
                }),
                ..DeleteOptions::default()
            };
            match self.sets().delete(self.revisions[at].name(), &options).await {
                Err(error) if !error.is_not_found() && !error.is_conflict() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    async fn set_status(&self, fields: &Value) -> Result<(), Error> {
        let change = |deployment: &mut Value| set_status(deployment, fields);
        update::<Deployment>(self.ctx.client(), &self.deployment.value, Part::Status, change).await
    }

    /// Writes the status, and says when to look at the progress again.
    async fn write_status(&self) -> Result<Outcome, Error> {
        let sizes = self.sizes();
        let current = revision::current(&self.revisions, &self.template);
        let now = jiff::Timestamp::now();
        let (status, again) = conditions::status(&self.deployment, &self.revisions, current, &sizes, now);
        if !is_same(&self.deployment.value["status"], &status) {
            self.set_status(&status).await?;
        }
        Ok(again.map_or(Outcome::done(), Outcome::requeue_after))
    }
}

/// The replica sets of a deployment; those without a controller that match the selector are adopted. Only those that concern
/// the deployment are decoded.
async fn claim(
    ctx: &Context,
    deployment: &Deployment,
    selector: &LabelSelector,
) -> Result<Vec<Revision>, Error> {
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    let mut adopter = Adopter::new(deployment, ctx.api::<Deployment>(namespace));
    let mut claimed = Vec::new();
    for cached in ctx.lister::<ReplicaSet>()?.list_namespace(namespace).await? {
        let metadata = cached.metadata();
        if adoption::is_owned(&metadata, deployment) {
            claimed.push(Revision::of(&cached)?);
            continue;
        }
        let labels = metadata.labels.as_ref();
        let matches = selector.matches(|key| labels.and_then(|labels| labels.get(key)).map(String::as_str));
        let is_free = adoption::controller(&metadata).is_none() && metadata.deletion_timestamp.is_none();
        if matches && is_free && deployment.metadata.deletion_timestamp.is_none() {
            adopter.check().await?;
            claimed.push(adopt(ctx, &cached, deployment).await?);
        }
    }
    claimed.sort_by(|a, b| a.age().cmp(&b.age()));
    Ok(claimed)
}

async fn adopt(
    ctx: &Context,
    cached: &Cached<ReplicaSet>,
    deployment: &Deployment,
) -> Result<Revision, Error> {
    let metadata = cached.metadata();
    let mut owners = metadata.owner_references.clone().unwrap_or_default();
    owners.extend(owner_reference(deployment));
    let patch = Patch::Merge(json!({"metadata": {
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "ownerReferences": owners,
    }}));
    ctx.api::<ReplicaSet>(cached.namespace().unwrap_or_default())
        .patch(cached.name(), &patch, &WriteOptions::default())
        .await?;
    Revision::of(cached)
}
