//! What changes objects in place: `patch`, `replace`, `edit`, `label`, `annotate`, `set`, `taint`, `cordon`. Expectations are those of upstream's
//! `test/cmd/generic-resources.sh`, `core.sh`, `apps.sh` and `node-management.sh`.

use anyhow::Result;

use super::basics::WEB;
use crate::harness::Kubectl;

pub(crate) fn patch(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl
        .run("patch deployment web -p '{\"spec\":{\"replicas\":3}}'")?
        .is("deployment.apps/web patched")?;
    // kubectl compares with what it read before: that is no object whose status a controller is about to write.
    kubectl.run("create configmap quiet --from-literal=a=b")?;
    kubectl
        .run("patch configmap quiet -p '{\"data\":{\"a\":\"b\"}}'")?
        .is("configmap/quiet patched (no change)")?;
    // Containers merge by name, and `$patch: delete` takes one away.
    let containers = "jsonpath={.spec.template.spec.containers[*].name}";
    for (patch, expect) in [
        ("[{\"name\":\"side\",\"image\":\"busybox\"}]", "side main"),
        ("[{\"$patch\":\"delete\",\"name\":\"side\"}]", "main"),
    ] {
        let patch = format!("{{\"spec\":{{\"template\":{{\"spec\":{{\"containers\":{patch}}}}}}}}}");
        kubectl
            .run(&format!(
                "patch deployment web --type=strategic -p '{patch}' -o '{containers}'"
            ))?
            .is(expect)?;
    }
    kubectl
        .run("patch deployment web --type=merge -p '{\"metadata\":{\"labels\":{\"app\":null,\"x\":\"y\"}}}' -o jsonpath={.metadata.labels}")?
        .is("{\"x\":\"y\"}")?;
    kubectl
        .run("patch deployment web --type=json -p '[{\"op\":\"add\",\"path\":\"/metadata/labels/z\",\"value\":\"1\"},{\"op\":\"remove\",\"path\":\"/metadata/labels/x\"}]' -o jsonpath={.metadata.labels}")?
        .is("{\"z\":\"1\"}")?;
    let file = kubectl.write("patch.yaml", "spec: {replicas: 4}\n")?;
    kubectl
        .run(&format!(
            "patch deployment web --patch-file={file} --dry-run=server -o jsonpath={{.spec.replicas}}"
        ))?
        .is("4")?;
    kubectl
        .run("patch deployment web --subresource=status --type=merge -p '{\"status\":{\"collisionCount\":7}}' -o jsonpath={.status.collisionCount}")?
        .is("7")?;
    kubectl
        .run("patch deployment web --subresource=scale --type=merge -p '{\"spec\":{\"replicas\":2}}'")?
        .has(&["web patched"])?;
    kubectl
        .run("get deployment web --subresource=scale -o jsonpath={.kind}{.spec.replicas}")?
        .is("Scale2")?;
    kubectl
        .fail("patch deployment nobody -p '{}'")?
        .complains(&["Error from server (NotFound): deployments.apps \"nobody\" not found"])?;
    kubectl
        .fail("patch deployment web -p '{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"other\"}}}}'")?
        .complains(&["The Deployment \"web\" is invalid"])?;
    kubectl
        .fail("patch deployment web --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/nothing\"}]'")?
        .complains(&["The request is invalid"])?;
    Ok(())
}

pub(crate) fn replace(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create configmap settings --from-literal=a=1")?;
    let first = kubectl.run("get configmap settings -o yaml")?.stdout;
    let file = kubectl.write("settings.yaml", &first.replace("a: \"1\"", "a: \"2\""))?;
    kubectl
        .run(&format!("replace -f {file}"))?
        .is("configmap/settings replaced")?;
    kubectl
        .run("get configmap settings -o jsonpath={.data.a}")?
        .is("2")?;
    // What was read before is out of date now.
    kubectl.fail(&format!("replace -f {file}"))?.complains(&[
        "Error from server (Conflict)",
        "Operation cannot be fulfilled on configmaps \"settings\": the object has been modified; please apply your changes to the latest \
         version and try again",
    ])?;
    let uid = kubectl
        .run("get configmap settings -o jsonpath={.metadata.uid}")?
        .stdout;
    let bare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: \"3\"}\n";
    let file = kubectl.write("bare.yaml", bare)?;
    kubectl
        .run(&format!("replace --force -f {file}"))?
        .has(&["configmap \"settings\" deleted", "configmap/settings replaced"])?;
    let after = kubectl.run("get configmap settings -o jsonpath={.metadata.uid}")?;
    anyhow::ensure!(after.stdout != uid, "it is the same object: {after}");
    let missing = kubectl.write("missing.yaml", &bare.replace("settings", "nobody"))?;
    kubectl
        .fail(&format!("replace -f {missing}"))?
        .complains(&["configmaps \"nobody\" not found"])?;
    Ok(())
}

/// The editor of the harness turns `before` into `after`.
pub(crate) fn edit(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create configmap settings --from-literal=word=before")?;
    kubectl
        .run("edit configmap settings")?
        .is("configmap/settings edited")?;
    kubectl
        .run("get configmap settings -o jsonpath={.data.word}")?
        .is("after")?;
    kubectl
        .run("edit configmap settings")?
        .complains(&["Edit cancelled, no changes made."])?;
    Ok(())
}

pub(crate) fn label_and_annotate(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create configmap a")?;
    kubectl.run("create configmap b")?;
    kubectl
        .run("label configmap a b tier=front")?
        .is("configmap/a labeled\nconfigmap/b labeled")?;
    kubectl
        .fail("label configmap a tier=back")?
        .complains(&["'tier' already has a value (front), and --overwrite is false"])?;
    kubectl
        .run("label configmap a tier=back --overwrite")?
        .is("configmap/a labeled")?;
    kubectl
        .run("label configmap a tier=back")?
        .is("configmap/a not labeled")?;
    kubectl
        .run("label configmap a b --list")?
        .has(&["tier=back", "tier=front"])?;
    kubectl
        .run("label configmap -l tier=front x=y")?
        .is("configmap/b labeled")?;
    let version = "get configmap a -o jsonpath={.metadata.resourceVersion}";
    let known = kubectl.run(version)?.stdout;
    kubectl.run(&format!("label configmap a x=1 --resource-version={known}"))?;
    kubectl
        .fail(&format!(
            "label configmap a x=2 --overwrite --resource-version={known}"
        ))?
        .complains(&["the object has been modified"])?;
    kubectl
        .fail("label configmap a 'x=not valid'")?
        .complains(&["a valid label must be"])?;
    kubectl
        .run("annotate configmap a note='one two'")?
        .has(&["configmap/a annotate"])?;
    kubectl
        .run("annotate configmap a note=three --overwrite")?
        .has(&["configmap/a annotate"])?;
    kubectl
        .run("get configmap a -o jsonpath={.metadata.annotations.note}")?
        .is("three")?;
    kubectl
        .run("annotate configmap a note-")?
        .has(&["configmap/a annotate"])?;
    kubectl
        .run("get configmap a -o jsonpath={.metadata.annotations}")?
        .is("")?;
    Ok(())
}

pub(crate) fn set(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl.run("create configmap settings --from-literal=COLOUR=red")?;
    kubectl.run("create serviceaccount robot")?;
    let container = "get deployment web -o jsonpath={.spec.template.spec.containers[0]";
    for (command, printed, read, expect) in [
        (
            "set image deployment/web main=nginx:1.28",
            "image updated",
            ".image}",
            "nginx:1.28",
        ),
        (
            "set env deployment/web A=1 B=2",
            "env updated",
            ".env[*].name}",
            "A B",
        ),
        ("set env deployment/web A-", "env updated", ".env[*].name}", "B"),
        (
            "set env deployment/web --from=configmap/settings",
            "env updated",
            ".env[1].valueFrom.configMapKeyRef.key}",
            "COLOUR",
        ),
        (
            "set resources deployment/web --limits=cpu=200m,memory=512Mi --requests=cpu=100m",
            "resource requirements updated",
            ".resources}",
            "{\"limits\":{\"cpu\":\"200m\",\"memory\":\"512Mi\"},\"requests\":{\"cpu\":\"100m\"}}",
        ),
    ] {
        kubectl
            .run(command)?
            .is(&format!("deployment.apps/web {printed}"))?;
        kubectl.run(&format!("{container}{read}"))?.is(expect)?;
    }
    kubectl
        .run("set serviceaccount deployment/web robot")?
        .is("deployment.apps/web serviceaccount updated")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.template.spec.serviceAccountName}")?
        .is("robot")?;
    kubectl.run("set env deployment/web --list")?.has(&["B=2"])?;
    kubectl.run("create service clusterip web --tcp=80")?;
    kubectl
        .run("set selector service web app=other")?
        .is("service/web selector updated")?;
    kubectl.run("create role reader --verb=get --resource=pods")?;
    kubectl.run("create rolebinding read --role=reader --user=jane")?;
    kubectl
        .run("set subject rolebinding read --user=joe --group=all")?
        .is("rolebinding.rbac.authorization.k8s.io/read subjects updated")?;
    kubectl
        .run("get rolebinding read -o jsonpath={.subjects[*].name}")?
        .is("jane joe all")?;
    Ok(())
}

pub(crate) fn nodes(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with(
        "create -f -",
        "apiVersion: v1\nkind: Node\nmetadata: {name: worker}\n",
    )?;
    kubectl
        .run("taint node worker dedicated=foo:PreferNoSchedule")?
        .is("node/worker tainted")?;
    kubectl
        .fail("taint node worker dedicated=bar:PreferNoSchedule")?
        .complains(&["already has dedicated taint(s) with same effect(s) and --overwrite is false"])?;
    kubectl
        .run("taint node worker dedicated=bar:PreferNoSchedule --overwrite")?
        .is("node/worker modified")?;
    let taints = "get node worker -o jsonpath={.spec.taints}";
    kubectl
        .run(taints)?
        .is("[{\"effect\":\"PreferNoSchedule\",\"key\":\"dedicated\",\"value\":\"bar\"}]")?;
    kubectl
        .run("taint node worker dedicated-")?
        .is("node/worker untainted")?;
    kubectl.run(taints)?.is("")?;
    kubectl.run("cordon worker")?.is("node/worker cordoned")?;
    kubectl.run("cordon worker")?.is("node/worker already cordoned")?;
    kubectl
        .run("get node worker")?
        .has(&["Unknown,SchedulingDisabled"])?;
    kubectl.run("uncordon worker")?.is("node/worker uncordoned")?;
    kubectl
        .run("get node worker -o jsonpath={.spec.unschedulable}")?
        .is("")?;
    kubectl
        .fail("cordon nobody")?
        .complains(&["nodes \"nobody\" not found"])?;
    Ok(())
}
