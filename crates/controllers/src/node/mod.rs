//! Nodes that pretend to run pods: node objects that are ready, a scheduler that gives pods a node, and a kubelet that
//! reports pods as running without running anything.

mod kubelet;
mod scheduler;
mod status;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kubewright_client::{Api, Error as ClientError, Patch, WriteOptions};
use kubewright_core::StaticResource;
use kubewright_runtime::{Operator, Right, RunnableContext, Verb};
use serde_json::json;

use crate::identity;

/// The simulated nodes. Every value is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOptions {
    /// Their names. Default: one, `kubewright`. With none, pods stay pending.
    pub names: Vec<String>,
    /// How many pods each takes. Default: 110, as upstream's kubelet.
    pub pods: u32,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            names: vec!["kubewright".to_owned()],
            pods: 110,
        }
    }
}

/// Adds nodes, kubelet and scheduler to an operator.
pub(crate) fn add_to(operator: Operator, options: &NodeOptions) -> Operator {
    let nodes = Arc::new(options.clone());
    operator
        .controller(scheduler::controller())
        .controller(kubelet::controller(&nodes))
        .runnable(identity::NODES, move |ctx| register(ctx, Arc::clone(&nodes)))
        .right(Right::to::<Node>([Verb::Get, Verb::Create]))
        .right(Right::to_subresource::<Node>("status", [Verb::Patch]))
}

/// Makes the node objects that are not there, and says of all that they are ready.
async fn register(ctx: RunnableContext, options: Arc<NodeOptions>) -> Result<(), ClientError> {
    let api = Api::<Node>::cluster(ctx.client());
    for name in &options.names {
        let node = json!({
            "apiVersion": Node::VERSION,
            "kind": Node::KIND,
            "metadata": {"name": name, "labels": status::labels(name)},
        });
        let node: Node = serde_json::from_value(node).unwrap_or_default();
        match api.create(&node, &WriteOptions::default()).await {
            Err(error) if !error.is_already_exists() => return Err(error),
            _ => {}
        }
        let now = jiff::Timestamp::now();
        let patch = Patch::Merge(json!({"status": status::node(name, options.pods, now)}));
        api.patch_status(name, &patch, &WriteOptions::default()).await?;
    }
    Ok(())
}
