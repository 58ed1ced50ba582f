//! Server-side apply with the generated types, and what an applier owns read back into them.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kubewright_apply::apps::v1::{Deployment as DeploymentApply, DeploymentSpec, DeploymentStatus};
use kubewright_apply::core::v1::{
    Container, ContainerPort, EnvVar, PodSpec, PodTemplateSpec, ResourceRequirements,
    Service as ServiceApply, ServicePort, ServiceSpec,
};
use kubewright_apply::meta::v1::{LabelSelector, ObjectMeta};
use kubewright_apply::{ExtractError, extract};
use kubewright_client::{Api, ApplyOptions, Patch, WriteOptions};
use kubewright_tests_operators::Cluster;
use serde_json::json;

fn web() -> DeploymentApply {
    let container = Container::default()
        .with_name("web")
        .with_image("example.com/web:1")
        .with_ports([ContainerPort::default().with_container_port(80)])
        .with_resources(ResourceRequirements::default().with_limits([("cpu", "100m")]));
    let template = PodTemplateSpec::default()
        .with_metadata(ObjectMeta::default().with_labels([("app", "web")]))
        .with_spec(PodSpec::default().with_containers([container]));
    DeploymentApply::new("web", "default")
        .with_labels([("team", "a")])
        .with_spec(
            DeploymentSpec::default()
                .with_replicas(2)
                .with_selector(LabelSelector::default().with_match_labels([("app", "web")]))
                .with_template(template),
        )
}

#[tokio::test]
async fn what_is_extracted_and_applied_again_changes_nothing() {
    let cluster = Cluster::start().await;
    let deployments: Api<Deployment> = Api::namespaced(&cluster.client, "default");
    let me = ApplyOptions::new("me");
    let made = deployments.apply("web", &web(), &me).await.unwrap();

    // Others own what they set, by apply and by other patches, also within an item of a list.
    let sidecar = Container::default()
        .with_name("proxy")
        .with_image("example.com/proxy:1");
    let environment = Container::default()
        .with_name("web")
        .with_env([EnvVar::default().with_name("LEVEL").with_value("debug")]);
    let pod = PodSpec::default().with_containers([sidecar, environment]);
    let theirs = DeploymentApply::new("web", "default")
        .with_spec(DeploymentSpec::default().with_template(PodTemplateSpec::default().with_spec(pod)));
    deployments
        .apply("web", &theirs, &ApplyOptions::new("injector"))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"a": "b"}}}));
    let live = deployments
        .patch("web", &patch, &WriteOptions::default())
        .await
        .unwrap();
    assert_ne!(live.metadata.resource_version, made.metadata.resource_version);

    let mine: DeploymentApply = extract(&live, "me", None).unwrap().unwrap();
    assert_eq!(mine, web());
    let again = deployments.apply("web", &mine, &me).await.unwrap();
    assert_eq!(again.metadata.resource_version, live.metadata.resource_version);

    // Of what is not applied any more, the applier lets go.
    let mut less = mine.clone();
    less.metadata.as_mut().unwrap().labels = None;
    let less = less.with_spec(DeploymentSpec {
        replicas: None,
        ..mine.spec.unwrap()
    });
    let live = deployments.apply("web", &less, &me).await.unwrap();
    assert_eq!(live.metadata.labels, None);
    let mine: DeploymentApply = extract(&live, "me", None).unwrap().unwrap();
    assert_eq!(mine, less);

    let others = extract::<_, DeploymentApply>(&live, "injector", None)
        .unwrap()
        .unwrap();
    assert_eq!(others, theirs);
    for (manager, subresource) in [("nobody", None), ("me", Some("status"))] {
        assert_eq!(
            extract::<_, DeploymentApply>(&live, manager, subresource).unwrap(),
            None
        );
    }
}

#[tokio::test]
async fn status_has_a_manager_of_its_own() {
    let cluster = Cluster::start().await;
    let deployments: Api<Deployment> = Api::namespaced(&cluster.client, "default");
    let me = ApplyOptions::new("me");
    deployments.apply("web", &web(), &me).await.unwrap();
    let status = DeploymentApply::new("web", "default").with_status(
        DeploymentStatus::default()
            .with_replicas(2)
            .with_ready_replicas(1),
    );
    let live = deployments.apply_status("web", &status, &me).await.unwrap();
    let mine: DeploymentApply = extract(&live, "me", Some("status")).unwrap().unwrap();
    assert_eq!(mine, status);
    let again = deployments.apply_status("web", &mine, &me).await.unwrap();
    assert_eq!(again.metadata.resource_version, live.metadata.resource_version);
    let spec: DeploymentApply = extract(&live, "me", None).unwrap().unwrap();
    assert_eq!(spec.status, None);
    assert_eq!(spec.spec.unwrap().replicas, Some(2));
}

#[tokio::test]
async fn ports_of_a_service_are_numbers_or_names() {
    let cluster = Cluster::start().await;
    let services: Api<Service> = Api::namespaced(&cluster.client, "default");
    let port = |name: &str, port| {
        ServicePort::default()
            .with_name(name)
            .with_port(port)
            .with_protocol("TCP")
    };
    let spec = ServiceSpec::default()
        .with_selector([("app", "web")])
        .with_ports([
            port("a", 80).with_target_port(8080),
            port("b", 81).with_target_port("http"),
        ]);
    let web = ServiceApply::new("web", "default").with_spec(spec);
    let me = ApplyOptions::new("me");
    let live = services.apply("web", &web, &me).await.unwrap();
    assert_eq!(extract::<_, ServiceApply>(&live, "me", None).unwrap(), Some(web));
}

#[test]
fn only_built_in_kinds_are_known() {
    /// A kind of one's own.
    #[derive(serde::Serialize)]
    struct Own {
        metadata: kubewright_core::ObjectMeta,
    }

    impl k8s_openapi::Resource for Own {
        const API_VERSION: &'static str = "example.com/v1";
        const GROUP: &'static str = "example.com";
        const KIND: &'static str = "Own";
        const VERSION: &'static str = "v1";
        const URL_PATH_SEGMENT: &'static str = "owns";
        type Scope = k8s_openapi::NamespaceResourceScope;
    }

    impl k8s_openapi::Metadata for Own {
        type Ty = kubewright_core::ObjectMeta;

        fn metadata(&self) -> &Self::Ty {
            &self.metadata
        }

        fn metadata_mut(&mut self) -> &mut Self::Ty {
            &mut self.metadata
        }
    }

    let own = Own {
        metadata: kubewright_core::ObjectMeta::default(),
    };
    let refused = extract::<_, kubewright_core::Untyped<serde_json::Value>>(&own, "me", None);
    assert!(matches!(
        refused,
        Err(ExtractError::UnknownKind { kind: "Own", .. })
    ));
}
