//! What controllers do after kubectl has spoken.

use anyhow::Result;

use crate::harness::Kubectl;

fn deploy(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create deployment web --image=nginx:1.27 --replicas=3")?;
    kubectl
        .run("rollout status deployment web --timeout=20s")?
        .has(&["successfully rolled out"])?;
    Ok(())
}

pub(crate) fn rollout(kubectl: &Kubectl) -> Result<()> {
    deploy(kubectl)?;
    kubectl.run("get deployment web")?.has(&["3/3"])?;
    kubectl.run("get pods -l app=web")?.has(&["Running", "1/1"])?;
    kubectl.run("get nodes")?.has(&["Ready"])?;
    kubectl.run("wait pods -l app=web --for=condition=Ready --timeout=20s")?;
    kubectl.run("set image deployment/web nginx=nginx:1.28")?;
    kubectl.run("rollout status deployment web --timeout=20s")?;
    kubectl.run("rollout history deployment web")?.has(&["1", "2"])?;
    kubectl.run("scale deployment web --replicas=1")?;
    kubectl.run("wait deployment web --for=jsonpath={.status.readyReplicas}=1 --timeout=20s")?;
    kubectl
        .run("describe deployment web")?
        .has(&["NewReplicaSet:", "ScalingReplicaSet"])?;
    kubectl
        .run("get serviceaccount default -o name")?
        .is("serviceaccount/default")?;
    kubectl
        .run("get configmap kube-root-ca.crt -o name")?
        .is("configmap/kube-root-ca.crt")?;
    Ok(())
}

pub(crate) fn background(kubectl: &Kubectl) -> Result<()> {
    deploy(kubectl)?;
    kubectl.run("delete deployment web")?;
    kubectl.run("wait replicasets,pods -l app=web --for=delete --timeout=20s")?;
    kubectl
        .run("get replicasets,pods -l app=web")?
        .complains(&["No resources found"])?;
    Ok(())
}

pub(crate) fn foreground(kubectl: &Kubectl) -> Result<()> {
    deploy(kubectl)?;
    // Returns only once the dependants are gone.
    kubectl.run("delete deployment web --cascade=foreground --timeout=25s")?;
    kubectl
        .run("get deployments,replicasets,pods -l app=web")?
        .complains(&["No resources found"])?;
    Ok(())
}

pub(crate) fn orphan(kubectl: &Kubectl) -> Result<()> {
    deploy(kubectl)?;
    kubectl.run("delete deployment web --cascade=orphan --timeout=25s")?;
    kubectl
        .run("get replicasets -l app=web -o name")?
        .has(&["replicaset.apps/web-"])?;
    kubectl
        .run("get replicasets -l app=web -o jsonpath={.items[*].metadata.ownerReferences}")?
        .is("")?;
    Ok(())
}

pub(crate) fn namespace_ends(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create namespace shop")?;
    kubectl.run("create deployment web -n shop --image=nginx:1.27 --replicas=2")?;
    kubectl.run("create configmap settings -n shop --from-literal=a=b")?;
    kubectl.run("delete namespace shop --timeout=25s")?;
    kubectl.fail("get namespace shop")?.complains(&["NotFound"])?;
    Ok(())
}
