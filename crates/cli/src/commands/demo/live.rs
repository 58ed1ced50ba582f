//! What happens in the cluster, told as it happens.

use std::collections::HashMap;

use guestbook::Guestbook;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::events::v1::Event;
use kubewright_client::{Api, Client, Error, ListOptions};
use kubewright_core::{ApiResource, DynamicObject, Resource as _, StaticResource as _, WatchEvent};
use serde_json::Value;
use tokio::task::JoinSet;

use super::narrator::Narrator;

/// Follows the demo's namespace until this is dropped.
pub(super) struct Live {
    // Aborts the tasks when dropped.
    _tasks: JoinSet<()>,
}

impl Live {
    /// Begins to follow; what happens from now on is told.
    pub(super) async fn start(client: &Client, namespace: &str, narrator: &Narrator) -> Result<Self, Error> {
        let kinds = [
            Guestbook::api_resource(),
            Deployment::api_resource(),
            ReplicaSet::api_resource(),
            Pod::api_resource(),
            Service::api_resource(),
            ConfigMap::api_resource(),
            Event::api_resource(),
        ];
        let mut tasks = JoinSet::new();
        for resource in kinds {
            let api = Api::<DynamicObject>::dynamic_namespaced(client, &resource, namespace);
            let list = api.list(&ListOptions::default()).await?;
            let options = ListOptions {
                resource_version: list.metadata.resource_version,
                ..ListOptions::default()
            };
            let mut watch = api.watch(&options).await?;
            let narrator = narrator.clone();
            tasks.spawn(async move {
                let mut seen = Seen::default();
                while let Some(Ok(event)) = watch.next().await {
                    for line in seen.lines(&resource, &event, &narrator) {
                        narrator.happened(&line);
                    }
                }
            });
        }
        Ok(Self { _tasks: tasks })
    }
}

/// What was told already, so that only changes are.
#[derive(Default)]
struct Seen {
    conditions: HashMap<(String, String), String>,
    states: HashMap<String, String>,
}

impl Seen {
    fn lines(
        &mut self,
        resource: &ApiResource,
        event: &WatchEvent<DynamicObject>,
        narrator: &Narrator,
    ) -> Vec<String> {
        let (word, object) = match event {
            WatchEvent::Added(object) => (Some("created"), object),
            WatchEvent::Modified(object) => (None, object),
            WatchEvent::Deleted(object) => (Some("deleted"), object),
            _ => return Vec::new(),
        };
        if resource.kind == "Event" {
            // An event that is modified only counts one that was told already.
            return if word == Some("created") {
                vec![event_line(object)]
            } else {
                Vec::new()
            };
        }
        let name = format!("{}/{}", resource.kind.to_lowercase(), object.name());
        let mut lines: Vec<String> = word.map(|word| format!("{name} {word}")).into_iter().collect();
        if word != Some("deleted") {
            lines.extend(self.conditions(&name, object, narrator));
            lines.extend(self.state(&name, object));
        }
        lines
    }

    fn conditions(&mut self, name: &str, object: &DynamicObject, narrator: &Narrator) -> Vec<String> {
        let conditions = object
            .data
            .get("status")
            .and_then(|status| status["conditions"].as_array());
        let mut lines = Vec::new();
        for condition in conditions.into_iter().flatten() {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            let (kind, status) = (text("type"), text("status"));
            let before = self
                .conditions
                .insert((name.to_owned(), kind.clone()), status.clone());
            // A pod's conditions all turn at once; one line is enough for it.
            if before.as_ref() == Some(&status) || (name.starts_with("pod/") && kind != "Ready") {
                continue;
            }
            let reason = Some(text("reason")).filter(|reason| !reason.is_empty());
            let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            lines.push(format!(
                "{name} {}{reason}",
                narrator.mark(status == "True", &format!("{kind}={status}"))
            ));
        }
        lines
    }

    fn state(&mut self, name: &str, object: &DynamicObject) -> Option<String> {
        let status = object.data.get("status")?;
        let state = match (name.split('/').next()?, &object.metadata.deletion_timestamp) {
            ("guestbook" | "deployment", Some(_)) => "is being deleted".to_owned(),
            ("guestbook" | "deployment", None) => {
                let wanted = object.data.get("spec")?["replicas"].as_i64().unwrap_or(1);
                format!(
                    "{} of {wanted} replicas ready",
                    status["readyReplicas"].as_i64().unwrap_or(0)
                )
            }
            _ => return None,
        };
        let before = self.states.insert(name.to_owned(), state.clone());
        (before.as_ref() != Some(&state)).then(|| format!("{name} {state}"))
    }
}

fn event_line(event: &DynamicObject) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let regarding = event.data.get("regarding").cloned().unwrap_or_default();
    let about = format!(
        "{}/{}",
        text(regarding.get("kind")).to_lowercase(),
        text(regarding.get("name"))
    );
    format!(
        "event {} of {about}: {}",
        text(event.data.get("reason")),
        text(event.data.get("note"))
    )
}
