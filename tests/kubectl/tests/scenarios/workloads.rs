//! What the commands for workloads do once controllers act: `rollout`, `scale`, `autoscale`, `wait`, `delete`. Expectations are those of upstream's
//! `test/cmd/apps.sh`, `scale.sh` and `wait.sh`.

use anyhow::Result;

use crate::harness::Kubectl;

pub(crate) fn rollout(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create deployment web --image=nginx:1.27 --replicas=2")?;
    kubectl
        .run("rollout status deployment/web --timeout=30s")?
        .has(&["deployment \"web\" successfully rolled out"])?;
    kubectl.run("set image deployment/web nginx=nginx:1.28")?;
    kubectl.run("annotate deployment web kubernetes.io/change-cause=newer")?;
    kubectl.run("rollout status deployment/web --timeout=30s")?;
    kubectl
        .run("rollout history deployment/web")?
        .has(&["REVISION", "CHANGE-CAUSE", "1 ", "2 "])?;
    kubectl
        .run("rollout history deployment/web --revision=1")?
        .has(&["revision #1", "nginx:1.27"])?;
    kubectl
        .run("rollout undo deployment/web")?
        .is("deployment.apps/web rolled back")?;
    kubectl.run("rollout status deployment/web --timeout=30s")?;
    let image = "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}";
    kubectl.run(image)?.is("nginx:1.27")?;
    kubectl.run("rollout undo deployment/web --to-revision=2")?;
    kubectl.run(image)?.is("nginx:1.28")?;
    kubectl
        .fail("rollout undo deployment/web --to-revision=99")?
        .complains(&["unable to find specified revision 99 in history"])?;
    kubectl
        .run("rollout pause deployment/web")?
        .is("deployment.apps/web paused")?;
    kubectl
        .fail("rollout undo deployment/web")?
        .complains(&["you cannot rollback a paused deployment"])?;
    kubectl
        .run("rollout resume deployment/web")?
        .is("deployment.apps/web resumed")?;
    kubectl
        .run("rollout restart deployment/web")?
        .is("deployment.apps/web restarted")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.template.metadata.annotations}")?
        .has(&["kubectl.kubernetes.io/restartedAt"])?;
    kubectl.run("rollout status deployment/web --timeout=30s")?;
    Ok(())
}

pub(crate) fn scale(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create deployment web --image=nginx:1.27 --replicas=1")?;
    kubectl
        .run("scale deployment web --replicas=3 --current-replicas=1")?
        .is("deployment.apps/web scaled")?;
    kubectl.run("wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=30s")?;
    kubectl
        .fail("scale deployment web --replicas=2 --current-replicas=9")?
        .complains(&["Expected replicas to be 9, was 3"])?;
    kubectl
        .run("scale deployment web --replicas=2 --dry-run=server")?
        .is("deployment.apps/web scaled (server dry run)")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("3")?;
    let set = kubectl.run("get replicasets -l app=web -o name")?.stdout;
    kubectl
        .run(&format!("get {} -o jsonpath={{.spec.replicas}}", set.trim()))?
        .is("3")?;
    kubectl
        .run("autoscale deployment web --min=2 --max=5 --cpu-percent=80")?
        .is("horizontalpodautoscaler.autoscaling/web autoscaled")?;
    kubectl
        .run("get hpa web -o jsonpath={.spec.minReplicas}/{.spec.maxReplicas}/{.spec.metrics[0].resource.target.averageUtilization}")?
        .is("2/5/80")?;
    kubectl.fail("scale deployment nobody --replicas=1")?;
    kubectl
        .fail("scale configmap kube-root-ca.crt --replicas=1")?
        .complains(&["the server could not find the requested resource"])?;
    Ok(())
}

pub(crate) fn wait(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create deployment web --image=nginx:1.27 --replicas=1")?;
    kubectl
        .run("wait deployment/web --for=condition=Available --timeout=30s")?
        .is("deployment.apps/web condition met")?;
    kubectl.run("wait pods -l app=web --for=condition=Ready --timeout=30s")?;
    kubectl.run("wait pods --all --for=jsonpath={.status.phase}=Running --timeout=30s")?;
    kubectl
        .fail("wait deployment/web --for=condition=Strange --timeout=1s")?
        .complains(&["timed out waiting for the condition on deployments/web"])?;
    kubectl
        .fail("wait deployment/nobody --for=condition=Available --timeout=1s")?
        .complains(&["deployments.apps \"nobody\" not found"])?;
    kubectl.run("delete deployment web --wait=false")?;
    kubectl.run("wait pods,replicasets -l app=web --for=delete --timeout=30s")?;
    Ok(())
}

pub(crate) fn delete(kubectl: &Kubectl) -> Result<()> {
    for (cascade, stays) in [("background", false), ("foreground", false), ("orphan", true)] {
        let create = format!("create deployment {cascade} --image=nginx:1.27 --replicas=1");
        kubectl.run(&create)?;
        kubectl.run(&format!("rollout status deployment/{cascade} --timeout=30s"))?;
        kubectl
            .run(&format!(
                "delete deployment {cascade} --cascade={cascade} --timeout=30s"
            ))?
            .has(&[&format!("deployment.apps \"{cascade}\" deleted")])?;
        let sets = format!("replicasets -l app={cascade}");
        if stays {
            kubectl
                .run(&format!("get {sets} -o name"))?
                .has(&["replicaset.apps/orphan-"])?;
        } else {
            kubectl.run(&format!("wait {sets} --for=delete --timeout=30s"))?;
        }
    }
    kubectl.run("run box --image=nginx:1.27")?;
    kubectl
        .run("delete pod box --grace-period=0 --force")?
        .complains(&["Immediate deletion does not wait for confirmation"])?;
    kubectl.fail("get pod box")?.complains(&["NotFound"])?;
    kubectl.run("run box --image=nginx:1.27")?;
    kubectl.run("wait pod box --for=condition=Ready --timeout=30s")?;
    kubectl
        .run("delete pod box --now --timeout=30s")?
        .has(&["pod \"box\" deleted"])?;
    kubectl
        .fail("delete pod")?
        .complains(&["resource(s) were provided, but no name was specified"])?;
    Ok(())
}
