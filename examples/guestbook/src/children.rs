//! What a guestbook consists of: pure functions from the guestbook to its objects.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, HTTPGetAction, PodSpec, PodTemplateSpec,
    Probe, Service, ServicePort, ServiceSpec, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright::core::Resource;
use kubewright::{ObjectMeta, owner_reference};

use crate::resource::Guestbook;

/// The servers.
#[must_use]
pub fn deployment(guestbook: &Guestbook) -> Deployment {
    let labels = labels(guestbook.name());
    let container = Container {
        name: "server".to_owned(),
        image: Some(guestbook.spec.image.clone()),
        ports: Some(vec![ContainerPort {
            name: Some(PORT.to_owned()),
            container_port: 80,
            ..ContainerPort::default()
        }]),
        readiness_probe: Some(Probe {
            http_get: Some(HTTPGetAction {
                path: Some("/".to_owned()),
                port: IntOrString::String(PORT.to_owned()),
                ..HTTPGetAction::default()
            }),
            ..Probe::default()
        }),
        volume_mounts: Some(vec![VolumeMount {
            name: VOLUME.to_owned(),
            mount_path: "/usr/share/nginx/html".to_owned(),
            ..VolumeMount::default()
        }]),
        ..Container::default()
    };
    let page = Volume {
        name: VOLUME.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: page_name(guestbook.name()),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    };
    Deployment {
        metadata: metadata(guestbook, guestbook.name().to_owned()),
        spec: DeploymentSpec {
            replicas: Some(guestbook.spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container],
                    volumes: Some(vec![page]),
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}

/// The address of the servers within the cluster.
#[must_use]
pub fn service(guestbook: &Guestbook) -> Service {
    Service {
        metadata: metadata(guestbook, guestbook.name().to_owned()),
        spec: Some(ServiceSpec {
            selector: Some(labels(guestbook.name())),
            ports: Some(vec![ServicePort {
                name: Some(PORT.to_owned()),
                port: 80,
                target_port: Some(IntOrString::String(PORT.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The page. Servers see a change of it after a while, without a restart.
#[must_use]
pub fn page(guestbook: &Guestbook) -> ConfigMap {
    let message = escape(&guestbook.spec.message);
    let html =
        format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Guestbook</title>\n<p>{message}</p>\n");
    ConfigMap {
        metadata: metadata(guestbook, page_name(guestbook.name())),
        data: Some(BTreeMap::from([("index.html".to_owned(), html)])),
        ..ConfigMap::default()
    }
}

/// The labels that tell the servers of one guestbook from all other pods.
#[must_use]
pub fn labels(name: &str) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "guestbook"),
        ("app.kubernetes.io/instance", name),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .collect()
}

fn page_name(name: &str) -> String {
    format!("{name}-page")
}

fn metadata(guestbook: &Guestbook, name: String) -> ObjectMeta {
    let mut labels = labels(guestbook.name());
    labels.insert("app.kubernetes.io/managed-by".to_owned(), "guestbook".to_owned());
    ObjectMeta {
        name: Some(name),
        namespace: guestbook.metadata.namespace.clone(),
        labels: Some(labels),
        owner_references: owner_reference(guestbook).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// Text as it stands in HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

const PORT: &str = "http";
const VOLUME: &str = "page";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::GuestbookSpec;

    fn guestbook(replicas: i32, image: &str, message: &str) -> Guestbook {
        let spec = GuestbookSpec {
            replicas,
            image: image.to_owned(),
            message: message.to_owned(),
        };
        let mut guestbook = Guestbook::new("visitors", spec);
        guestbook.metadata.namespace = Some("team".to_owned());
        guestbook.metadata.uid = Some("u1".to_owned());
        guestbook
    }

    #[test]
    fn children_follow_the_spec() {
        // replicas, image, message, paragraph of the page
        let rows = [
            (1, "nginx:1", "hello", "<p>hello</p>"),
            (0, "nginx:2", "a < b & c", "<p>a &lt; b &amp; c</p>"),
            (
                10,
                "example.com/nginx@sha256:0",
                "<script>",
                "<p>&lt;script&gt;</p>",
            ),
        ];
        for (replicas, image, message, paragraph) in rows {
            let guestbook = guestbook(replicas, image, message);
            let spec = deployment(&guestbook).spec;
            assert_eq!(spec.replicas, Some(replicas));
            let pod = spec.template.spec.unwrap();
            assert_eq!(pod.containers[0].image.as_deref(), Some(image));
            let html = &page(&guestbook).data.unwrap()["index.html"];
            assert!(html.contains(paragraph), "{html}");
        }
    }

    #[test]
    fn children_fit_together() {
        let guestbook = guestbook(1, "nginx", "hello");
        let (deployment, service, page) = (deployment(&guestbook), service(&guestbook), page(&guestbook));
        for metadata in [&deployment.metadata, &service.metadata, &page.metadata] {
            assert_eq!(metadata.namespace.as_deref(), Some("team"));
            let owners = metadata.owner_references.as_deref().unwrap();
            assert_eq!((owners[0].uid.as_str(), owners[0].controller), ("u1", Some(true)));
        }
        let spec = deployment.spec;
        let template_labels = spec.template.metadata.unwrap().labels;
        assert_eq!(spec.selector.match_labels, template_labels);
        let service = service.spec.unwrap();
        assert_eq!(service.selector, template_labels);
        let pod = spec.template.spec.unwrap();
        let port = &pod.containers[0].ports.as_ref().unwrap()[0];
        let target = service.ports.unwrap()[0].target_port.clone();
        assert_eq!(target, port.name.clone().map(IntOrString::String));
        let volume = &pod.volumes.unwrap()[0];
        assert_eq!(
            Some(&volume.config_map.as_ref().unwrap().name),
            page.metadata.name.as_ref()
        );
        assert_eq!(
            pod.containers[0].volume_mounts.as_ref().unwrap()[0].name,
            volume.name
        );
    }
}
