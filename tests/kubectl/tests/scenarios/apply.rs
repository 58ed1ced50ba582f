//! `apply` from the client's side, and `diff`. Expectations are those of upstream's `test/cmd/apply.sh` and `diff.sh`.

use anyhow::{Result, ensure};

use super::basics::WEB;
use crate::harness::Kubectl;

pub(crate) fn client_side(kubectl: &Kubectl) -> Result<()> {
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    kubectl.run_with("create -f -", WEB)?;
    // Somebody else's object is taken over with a warning.
    kubectl.run_with("apply -f -", WEB)?.complains(&[
        "resource deployments/web is missing the kubectl.kubernetes.io/last-applied-configuration annotation",
    ])?;
    kubectl
        .run_with("apply view-last-applied -f -", WEB)?
        .has(&["replicas: 2", "kind: Deployment"])?;
    // A label of another's stays, one that was applied goes with its line.
    kubectl.run("label deployment web other=kept")?;
    kubectl
        .run_with(
            "apply -f -",
            &WEB.replace("  labels: {app: web}\nspec", "  labels: {tier: front}\nspec"),
        )?
        .is("deployment.apps/web configured")?;
    kubectl
        .run("get deployment web -o jsonpath={.metadata.labels}")?
        .is("{\"other\":\"kept\",\"tier\":\"front\"}")?;
    kubectl
        .run_with("apply set-last-applied -f -", WEB)?
        .has(&["deployment.apps/web configured"])?;
    let folder = kubectl
        .write("a.yaml", &configmap("a", "1"))?
        .replace("/a.yaml", "");
    kubectl.write("b.yaml", &configmap("b", "1"))?;
    kubectl
        .run(&format!("apply -f {folder}/a.yaml -f {folder}/b.yaml"))?
        .is("configmap/a created\nconfigmap/b created")?;
    // What is no longer applied is pruned, if it once was.
    kubectl.run("create configmap mine --from-literal=a=1")?;
    kubectl.run("label configmap mine set=one")?;
    let prune = format!(
        "apply --prune --prune-allowlist=core/v1/ConfigMap -l set=one -n {} -f {folder}/b.yaml",
        kubectl.namespace
    );
    kubectl
        .run(&prune)?
        .has(&["configmap/b unchanged", "configmap/a pruned"])?;
    kubectl.run("get configmap mine")?;
    kubectl.run("get configmap b -o yaml")?.has(&[last])?;
    Ok(())
}

pub(crate) fn diff(kubectl: &Kubectl) -> Result<()> {
    let differ = |manifest: &str, side: &str| kubectl.attempt(&format!("diff{side} -f -"), manifest);
    let created = differ(&configmap("test", "1"), "")?;
    ensure!(created.code == Some(1), "{created}");
    created.has(&["+  a: \"1\"", "+kind: ConfigMap"])?;
    kubectl.fail("get configmap test")?.complains(&["NotFound"])?;
    kubectl.run_with("apply -f -", &configmap("test", "1"))?;
    let same = differ(&configmap("test", "1"), "")?;
    ensure!(same.code == Some(0) && same.stdout.is_empty(), "{same}");
    let changed = differ(&configmap("test", "2"), "")?;
    ensure!(changed.code == Some(1), "{changed}");
    changed.has(&["-  a: \"1\"", "+  a: \"2\""])?;
    kubectl.run("get configmap test -o jsonpath={.data.a}")?.is("1")?;
    // A list merges by its keys, which only the server's documents tell.
    kubectl.run_with("apply -f -", WEB)?;
    let changed = differ(&WEB.replace("nginx:1.27", "nginx:1.28"), "")?;
    ensure!(changed.code == Some(1), "{changed}");
    changed.has(&["nginx:1.28"])?;
    let refused = differ(
        &WEB.replace("matchLabels: {app: web}", "matchLabels: {app: x}"),
        "",
    )?;
    ensure!(refused.code.is_some_and(|code| code > 1), "{refused}");
    Ok(())
}

fn configmap(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{set: one}}}}\ndata: {{a: \"{value}\"}}\n"
    )
}

/// What becomes of a field that no schema knows, by the mode of validation.
pub(crate) fn validate(kubectl: &Kubectl) -> Result<()> {
    for (mode, is_refused, warning) in [
        ("strict", true, ""),
        ("true", true, ""),
        ("warn", false, "Warning: unknown field \"spec.replica\""),
        ("ignore", false, ""),
        ("false", false, ""),
    ] {
        for command in ["create", "apply"] {
            let name = format!("{command}-{mode}");
            let misspelt = WEB
                .replace("replicas: 2", "replica: 3")
                .replace("name: web", &format!("name: {name}"));
            let output = kubectl.attempt(&format!("{command} --validate={mode} -f -"), &misspelt)?;
            if is_refused {
                ensure!(output.code != Some(0), "should have failed: {output}");
                output.complains(&["strict decoding error: unknown field \"spec.replica\""])?;
            } else {
                output
                    .is(&format!("deployment.apps/{name} created"))?
                    .complains(&[warning])?;
            }
            ensure!(
                warning.is_empty() != output.stderr.contains("Warning:"),
                "{output}"
            );
        }
    }
    Ok(())
}
