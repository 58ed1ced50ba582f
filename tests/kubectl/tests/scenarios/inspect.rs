//! What tells of the cluster: `describe`, `events`, `api-resources`, `cluster-info`, `config`. Expectations are those of upstream's `test/cmd/events.sh`,
//! `discovery.sh` and `core.sh`.

use anyhow::Result;

use super::basics::WEB;
use crate::harness::Kubectl;

pub(crate) fn describe(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl.run("rollout status deployment/web --timeout=30s")?;
    kubectl.run("expose deployment web --port=80")?;
    kubectl.run("create secret generic keys --from-literal=password=hunter2")?;
    kubectl.run("create quota limits --hard=configmaps=50")?;
    kubectl.run("create cronjob often --image=busybox --schedule='*/5 * * * *'")?;
    for (what, texts) in [
        (
            "deployment web",
            &[
                "Replicas:",
                "2 desired | 2 updated | 2 total | 2 available",
                "StrategyType:",
                "RollingUpdate",
                "NewReplicaSet:",
            ][..],
        ),
        ("replicasets -l app=web", &["Controlled By:", "Deployment/web"]),
        (
            "pods -l app=web",
            &["Controlled By:", "ReplicaSet/web-", "QoS Class:", "BestEffort"],
        ),
        ("service web", &["Selector:", "app=web", "Endpoints:"]),
        ("secret keys", &["Type:", "Opaque", "password:", "7 bytes"]),
        ("quota limits", &["Resource", "Used", "Hard"]),
        ("cronjob often", &["Schedule:", "*/5 * * * *"]),
        ("serviceaccount default", &["Name:", "default"]),
        ("configmap kube-root-ca.crt", &["ca.crt", "BEGIN CERTIFICATE"]),
        ("nodes", &["Roles:", "Conditions:", "Capacity:"]),
    ] {
        kubectl.run(&format!("describe {what}"))?.has(texts)?;
    }
    kubectl
        .fail("describe pod nobody")?
        .complains(&["Error from server (NotFound): pods \"nobody\" not found"])?;
    Ok(())
}

pub(crate) fn events(kubectl: &Kubectl) -> Result<()> {
    let event = |name: &str, kind: &str, ty: &str| {
        format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: {name}}}\ninvolvedObject: {{apiVersion: v1, kind: {kind}, name: thing, namespace: \
             {namespace}}}\nreason: Because\nmessage: about {name}\ntype: {ty}\nsource: {{component: test}}\nfirstTimestamp: \
             \"2024-01-01T00:00:00Z\"\nlastTimestamp: \"2024-01-01T00:00:00Z\"\ncount: 3\n",
            namespace = kubectl.namespace
        )
    };
    kubectl.run_with("create -f -", &event("first", "Pod", "Normal"))?;
    kubectl.run_with("create -f -", &event("second", "Service", "Warning"))?;
    kubectl
        .run("events")?
        .has(&["LAST SEEN", "Because", "about first", "Pod/thing", "about second"])?;
    kubectl
        .run("events --for=Service/thing")?
        .has(&["about second"])?
        .lacks(&["about first"])?;
    kubectl
        .run("events --types=Warning")?
        .has(&["about second"])?
        .lacks(&["about first"])?;
    kubectl
        .run("get events --field-selector=involvedObject.kind=Pod -o jsonpath={.items[*].metadata.name}")?
        .is("first")?;
    kubectl
        .run("get events.v1.events.k8s.io first -o jsonpath={.note}/{.deprecatedCount}/{.regarding.kind}")?
        .is("about first/3/Pod")?;
    Ok(())
}

pub(crate) fn discovery(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("api-resources -o name --verbs=list,get --namespaced=true --api-group=apps")?.is(
        "controllerrevisions.apps\ndaemonsets.apps\ndeployments.apps\nreplicasets.apps\nstatefulsets.apps",
    )?;
    kubectl
        .run("api-resources --api-group=apps -o wide --no-headers --sort-by=name")?
        .has(&[
            "deployments",
            "deploy",
            "create,delete,deletecollection,get,list,patch,update,watch",
            "all",
        ])?;
    kubectl
        .run("api-resources --categories=all --namespaced=true -o name")?
        .has(&["pods", "services", "jobs.batch"])?
        .lacks(&["configmaps"])?;
    kubectl
        .run("api-resources --namespaced=false --api-group=rbac.authorization.k8s.io -o name")?
        .is("clusterrolebindings.rbac.authorization.k8s.io\nclusterroles.rbac.authorization.k8s.io")?;
    kubectl
        .run("api-versions")?
        .has(&["autoscaling/v1\n", "autoscaling/v2\n", "batch/v1\n", "\nv1"])?
        .lacks(&["autoscaling/v2beta2", "v1alpha1"])?;
    kubectl
        .run("cluster-info")?
        .has(&["Kubernetes control plane", "is running at", "https://127.0.0.1:"])?;
    kubectl
        .run("version -o json")?
        .has(&["\"serverVersion\"", "\"minor\": \"37\""])?;
    Ok(())
}

pub(crate) fn config(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("config view")?.has(&[
        "certificate-authority-data: DATA+OMITTED",
        "current-context: kubewright",
    ])?;
    kubectl.run("config current-context")?.is("kubewright")?;
    kubectl
        .run("config view --minify -o jsonpath={..namespace}")?
        .is(&kubectl.namespace)?;
    kubectl.run("config get-contexts -o name")?.is("kubewright")?;
    kubectl.run("config set-context elsewhere --cluster=kubewright --user=kubewright --namespace=default")?;
    kubectl
        .run("get service kubernetes --context=elsewhere -o name")?
        .is("service/kubernetes")?;
    Ok(())
}
