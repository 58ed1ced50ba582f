//! What needs a kubelet, and what moves pods off a node: `logs`, `exec`, `attach`, `drain`. Expectations are those of upstream's
//! `test/cmd/core.sh`, `exec.sh` and `node-management.sh`, and of the kubelet's client in `pkg/registry/core/pod`.

use anyhow::Result;

use crate::harness::Kubectl;

pub(crate) fn without_nodes(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("run box --image=busybox")?;
    // A pod that is on no node has nothing to tell.
    kubectl.run("logs box")?.is("")?;
    for command in ["exec box -- true", "attach box", "cp box:/etc/passwd passwd"] {
        kubectl
            .fail(command)?
            .complains(&["pod box does not have a host assigned"])?;
    }
    kubectl
        .fail("port-forward pod/box :80")?
        .complains(&["unable to forward port because pod is not running. Current status=Pending"])?;
    kubectl
        .fail("logs nobody")?
        .complains(&["(NotFound): pods \"nobody\" not found"])?;
    kubectl
        .fail("exec nobody -- true")?
        .complains(&["(NotFound): pods \"nobody\" not found"])?;
    kubectl
        .fail("logs box -c other")?
        .complains(&["container other is not valid for pod box"])?;
    // A node of which no address is known.
    kubectl.run_with("create -f -", NODE)?;
    kubectl.run_with("create -f -", &pod("there", "there"))?;
    for command in ["logs there", "exec there -- true"] {
        kubectl
            .fail(command)?
            .complains(&["no preferred addresses found; known addresses: []"])?;
    }
    kubectl
        .fail("top pods")?
        .complains(&["Metrics API not available"])?;
    Ok(())
}

pub(crate) fn drain(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", NODE)?;
    kubectl.run_with("create -f -", &pod("free", "free"))?;
    kubectl
        .fail("drain worker --timeout=5s")?
        .complains(&["declare no controller (use --force to override): default/free"])?;
    kubectl
        .run("drain worker --force --timeout=10s --dry-run=server")?
        .has(&["node/worker drained (server dry run)"])?;
    kubectl.run("get pod free")?;
    kubectl
        .run("drain worker --force --timeout=10s")?
        .has(&["pod/free evicted", "node/worker drained"])?;
    kubectl.fail("get pod free")?.complains(&["NotFound"])?;
    kubectl
        .run("get node worker")?
        .has(&["Ready,SchedulingDisabled"])?;
    kubectl
        .fail("drain nobody")?
        .complains(&["nodes \"nobody\" not found"])?;
    Ok(())
}

pub(crate) fn drain_waits_for_budgets(kubectl: &Kubectl) -> Result<()> {
    // Nobody counts healthy pods here: what the budget allows is what its status says.
    let allow = |disruptions: u32| {
        let status =
            format!("{{\"status\":{{\"observedGeneration\":1,\"disruptionsAllowed\":{disruptions}}}}}");
        kubectl.run(&format!(
            "patch pdb guard --subresource=status --type=merge -p '{status}'"
        ))
    };
    kubectl.run_with("create -f -", NODE)?;
    kubectl.run_with("create -f -", &pod("guarded", "guarded"))?;
    // A pod that does not run yet is evicted whatever its budget says.
    kubectl.run(
        "patch pod guarded --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Running\"}}'",
    )?;
    kubectl.run("create poddisruptionbudget guard --selector=app=guarded --min-available=1")?;
    allow(0)?;
    kubectl.fail("drain worker --force --timeout=1s")?.complains(&[
        "(will retry after 5s): Cannot evict pod as it would violate the pod's disruption budget.",
        "global timeout reached: 1s",
    ])?;
    kubectl.run("get pod guarded")?;
    allow(1)?;
    kubectl
        .run("drain worker --force --timeout=10s")?
        .has(&["pod/guarded evicted", "node/worker drained"])?;
    kubectl.fail("get pod guarded")?.complains(&["NotFound"])?;
    kubectl
        .run("get pdb guard -o jsonpath={.status.disruptionsAllowed}")?
        .has(&["0"])?;
    Ok(())
}

const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: worker}
status: {conditions: [{type: Ready, status: \"True\"}]}
";

/// A pod on that node, which ends as soon as it is told to.
fn pod(name: &str, app: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {app}}}}}\nspec: {{nodeName: worker, \
         terminationGracePeriodSeconds: 0, containers: [{{name: main, image: busybox}}]}}\n"
    )
}
