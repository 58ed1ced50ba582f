//! A kubelet that runs nothing: it reports pods of its nodes as running, and lets go of those that are deleted.

use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kubewright_client::{Api, DeleteOptions, Patch, Preconditions, WriteOptions};
use kubewright_core::ObjectKey;
use kubewright_runtime::{
    Context, Controller, Error, Outcome, Predicate, Reconciler, Request, Right, Verb, WatchOptions,
};
use parking_lot::Mutex;
use serde_json::json;

use super::{NodeOptions, status};
use crate::identity::KUBELET;
use crate::pods;

/// The controller.
pub(super) fn controller(nodes: &Arc<NodeOptions>) -> Controller {
    let kubelet = Kubelet {
        nodes: Arc::clone(nodes),
        addresses: Mutex::new(Addresses::default()),
    };
    Controller::new(KUBELET, kubelet)
        .for_with::<Pod>(WatchOptions::<Pod>::new().predicate(Predicate::resource_version_changed()))
        .concurrency(4)
        .right(Right::to::<Pod>([Verb::Delete]))
        .right(Right::to_subresource::<Pod>("status", [Verb::Patch]))
}

struct Kubelet {
    nodes: Arc<NodeOptions>,
    addresses: Mutex<Addresses>,
}

impl Reconciler for Kubelet {
    async fn reconcile(&self, ctx: &Context, request: Request) -> Result<Outcome, Error> {
        let lister = ctx.lister::<Pod>()?;
        let Some(cached) = lister.get(&request.key).await? else {
            return Ok(Outcome::done());
        };
        let pod = cached.object()?;
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        if !node.is_some_and(|node| self.nodes.names.iter().any(|name| name == node)) {
            return Ok(Outcome::done());
        }
        let api = ctx.api::<Pod>(request.namespace());
        if pod.metadata.deletion_timestamp.is_some() {
            end(&api, &request.key, &pod).await?;
        } else if matches!(pods::phase(&pod), "" | "Pending") {
            let ip = self.addresses.lock().next(|ip| {
                let pods = lister.stale().list();
                pods.iter()
                    .filter_map(|pod| pod.object().ok())
                    .any(|pod| has_ip(&pod, ip))
            });
            start(&api, &request.key, &pod, ip).await?;
        }
        Ok(Outcome::done())
    }
}

/// Reports that all containers run.
async fn start(api: &Api<Pod>, key: &ObjectKey, pod: &Pod, ip: Ipv4Addr) -> Result<(), Error> {
    let status = status::running(pod, ip, jiff::Timestamp::now());
    let patch = Patch::Merge(json!({"metadata": {"uid": pod.metadata.uid}, "status": status}));
    match api
        .patch_status(&key.name, &patch, &WriteOptions::default())
        .await
    {
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
        _ => Ok(()),
    }
}

/// Nothing runs that would have to end: the pod goes at once, unless finalizers hold it.
async fn end(api: &Api<Pod>, key: &ObjectKey, pod: &Pod) -> Result<(), Error> {
    if pod.metadata.deletion_grace_period_seconds == Some(0) {
        return Ok(());
    }
    let options = DeleteOptions {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions {
            uid: pod.metadata.uid.clone(),
            resource_version: None,
        }),
        ..DeleteOptions::default()
    };
    match api.delete(&key.name, &options).await {
        Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
        _ => Ok(()),
    }
}

fn has_ip(pod: &Pod, ip: Ipv4Addr) -> bool {
    let text = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref());
    text.and_then(|text| text.parse().ok()) == Some(ip)
}

/// Addresses of pods, 10.244.0.1 to 10.244.255.254, used again when all were used once.
#[derive(Debug, Default)]
struct Addresses {
    last: u16,
    /// Whether every address was given once, so that those in use must be passed over.
    wrapped: bool,
    started: bool,
}

impl Addresses {
    /// The next address. Pods of an earlier run of the controller may have any, so the first is sought too.
    fn next(&mut self, is_used: impl Fn(Ipv4Addr) -> bool) -> Ipv4Addr {
        for _ in 0..u16::MAX {
            self.last = self.last.checked_add(1).unwrap_or_else(|| {
                self.wrapped = true;
                1
            });
            let [high, low] = self.last.to_be_bytes();
            let ip = Ipv4Addr::new(10, 244, high, low);
            let must_look = self.wrapped || !self.started;
            if low != 0 && low != 255 && !(must_look && is_used(ip)) {
                self.started = true;
                break;
            }
        }
        let [high, low] = self.last.to_be_bytes();
        Ipv4Addr::new(10, 244, high, low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_once_and_used_ones_passed_over() {
        let mut addresses = Addresses::default();
        let used: Vec<Ipv4Addr> = vec![Ipv4Addr::new(10, 244, 0, 1), Ipv4Addr::new(10, 244, 0, 2)];
        let first = addresses.next(|ip| used.contains(&ip));
        assert_eq!(first, Ipv4Addr::new(10, 244, 0, 3));
        let mut seen = std::collections::BTreeSet::from([first]);
        for _ in 0..1000 {
            assert!(seen.insert(addresses.next(|_| false)));
        }
        assert!(seen.iter().all(|ip| ![0, 255].contains(&ip.octets()[3])));
    }
}
