//! What `get` and `explain` show. Expectations are those of upstream's `test/cmd/get.sh`, `core.sh` and `template-output.sh`.

use std::io::{BufRead as _, BufReader};

use anyhow::{Context as _, Result, ensure};

use super::basics::WEB;
use crate::harness::Kubectl;

pub(crate) fn formats(kubectl: &Kubectl) -> Result<()> {
    for (name, size) in [("a", "3"), ("b", "1"), ("c", "2")] {
        kubectl.run(&format!("create configmap {name} --from-literal=size={size}"))?;
        kubectl.run(&format!("label configmap {name} mine=yes size={size}"))?;
    }
    let mine = "get configmaps -l mine=yes";
    for (flags, expect) in [
        ("-o name", "configmap/a\nconfigmap/b\nconfigmap/c"),
        (
            "-o name --sort-by=.data.size",
            "configmap/b\nconfigmap/c\nconfigmap/a",
        ),
        ("-o jsonpath={.items[*].data.size}", "3 1 2"),
        (
            "-o jsonpath='{range .items[*]}{.metadata.name}={.data.size};{end}'",
            "a=3;b=1;c=2;",
        ),
        (
            "-o go-template='{{range .items}}{{.metadata.name}}{{end}}'",
            "abc",
        ),
        (
            "-o custom-columns=NAME:.metadata.name,SIZE:.data.size",
            "NAME   SIZE\na      3\nb      1\nc      2",
        ),
        (
            "-o custom-columns=NAME:.metadata.name,SIZE:.data.size --no-headers --sort-by=.data.size",
            "b     1\nc     2\na     3",
        ),
        ("-o jsonpath={.kind}", "List"),
    ] {
        kubectl.run(&format!("{mine} {flags}"))?.is(expect)?;
    }
    let json = kubectl.run("get configmap a -o json")?.stdout;
    let object: serde_json::Value = serde_json::from_str(&json)?;
    ensure!(
        object["apiVersion"] == "v1" && object["kind"] == "ConfigMap" && object["data"]["size"] == "3",
        "{json}"
    );
    kubectl
        .run("get configmap a -o yaml")?
        .has(&["apiVersion: v1\n", "kind: ConfigMap\n", "  size: \"3\"\n"])?
        .lacks(&["managedFields"])?;
    kubectl
        .run("get configmaps -l mine=yes -L size --no-headers")?
        .has(&["a ", "b ", "c "])?;
    kubectl
        .run("get configmaps a b --show-kind --no-headers")?
        .has(&["configmap/a", "configmap/b"])?;
    kubectl
        .run("get configmap/a serviceaccount/default -o name")?
        .is("configmap/a\nserviceaccount/default")?;
    kubectl.run("get configmap nobody --ignore-not-found")?.is("")?;
    kubectl
        .fail("get configmap a -o jsonpath={.data.size[}")?
        .complains(&["error"])?;
    Ok(())
}

pub(crate) fn selection(kubectl: &Kubectl) -> Result<()> {
    for i in 0..5 {
        kubectl.run(&format!("create configmap c{i}"))?;
        kubectl.run(&format!("label configmap c{i} n=v{i}"))?;
    }
    let all = "get configmaps -o name";
    for (flags, expect) in [
        ("-l 'n in (v1,v3)'", "configmap/c1\nconfigmap/c3"),
        (
            "-l 'n,n notin (v1,v3)'",
            "configmap/c0\nconfigmap/c2\nconfigmap/c4",
        ),
        ("-l n=v2", "configmap/c2"),
        ("-l n==v2,n!=v3", "configmap/c2"),
        ("--field-selector=metadata.name=c3", "configmap/c3"),
        (
            "-l n --field-selector=metadata.name!=c3",
            "configmap/c0\nconfigmap/c1\nconfigmap/c2\nconfigmap/c4",
        ),
        ("-l n=none", ""),
    ] {
        kubectl.run(&format!("{all} {flags}"))?.is(expect)?;
    }
    for size in [1, 2, 3, 0] {
        kubectl
            .run(&format!("{all} -l n --chunk-size={size}"))?
            .is("configmap/c0\nconfigmap/c1\nconfigmap/c2\nconfigmap/c3\nconfigmap/c4")?;
    }
    let everywhere = format!(
        "get configmaps -A -l n -o custom-columns=:.metadata.namespace,:.metadata.name --field-selector=metadata.namespace={}",
        kubectl.namespace
    );
    kubectl
        .run(&everywhere)?
        .has(&[kubectl.namespace.as_str(), "c0", "c4"])?;
    kubectl
        .fail("get configmaps -l 'n in v1'")?
        .complains(&["unable to parse requirement"])?;
    kubectl
        .run("delete configmaps -l 'n in (v0,v1)'")?
        .has(&["\"c0\" deleted", "\"c1\" deleted"])?;
    kubectl
        .run("delete configmaps --field-selector=metadata.name=c2")?
        .has(&["\"c2\" deleted"])?;
    kubectl
        .run(&format!("{all} -l n"))?
        .is("configmap/c3\nconfigmap/c4")?;
    Ok(())
}

pub(crate) fn watch(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create configmap seen")?;
    let mut child =
        kubectl.spawn("get configmaps -w -l '!hidden' --output-watch-events --field-selector=metadata.name!=kube-root-ca.crt")?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let mut next = |expect: &[&str]| -> Result<()> {
        let line = lines.next().context("the watch ended")??;
        let words: Vec<&str> = line.split_whitespace().collect();
        ensure!(words.starts_with(expect), "expected {expect:?}: {line}");
        Ok(())
    };
    next(&["EVENT", "NAME", "DATA", "AGE"])?;
    next(&["ADDED", "seen", "0"])?;
    kubectl.run("create configmap other --from-literal=a=1")?;
    next(&["ADDED", "other", "1"])?;
    kubectl.run("patch configmap other --type=merge -p '{\"data\":{\"b\":\"2\"}}'")?;
    next(&["MODIFIED", "other", "2"])?;
    // What is no longer selected is gone for this watch.
    kubectl.run("label configmap other hidden=yes")?;
    next(&["DELETED", "other", "2"])?;
    kubectl.run("delete configmap seen")?;
    next(&["DELETED", "seen", "0"])?;
    child.kill()?;
    child.wait()?;
    Ok(())
}

pub(crate) fn explain(kubectl: &Kubectl) -> Result<()> {
    for (path, texts) in [
        (
            "pods",
            &["KIND:", "Pod", "VERSION:", "v1", "spec", "<PodSpec>"][..],
        ),
        (
            "pods.spec.containers.livenessProbe.httpGet.port",
            &["port", "IntOrString"],
        ),
        (
            "deployments.spec.strategy.rollingUpdate.maxSurge",
            &["Deployment", "maxSurge"],
        ),
        (
            "cronjobs.spec.jobTemplate.spec.template.spec.volumes.csi",
            &["driver", "<string>", "-required-"],
        ),
        (
            "customresourcedefinitions.spec.versions.schema",
            &["openAPIV3Schema"],
        ),
        ("pods --api-version=v1", &["<ObjectMeta>"]),
        (
            "deploy.spec --recursive",
            &["rollingUpdate", "maxUnavailable", "initContainers"],
        ),
        ("hpa --api-version=autoscaling/v1", &["autoscaling", "v1"]),
    ] {
        kubectl.run(&format!("explain {path}"))?.has(texts)?;
    }
    kubectl
        .fail("explain pods.spec.nothing")?
        .complains(&["field \"nothing\" does not exist"])?;
    kubectl
        .fail("explain strange")?
        .complains(&["the server doesn't have a resource type \"strange\""])?;
    Ok(())
}

/// What carries a version in its name is read in that version.
pub(crate) fn versions(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl.run("autoscale deployment web --min=1 --max=3")?;
    for (resource, expect) in [
        ("hpa", "autoscaling/v2"),
        ("horizontalpodautoscalers.v1.autoscaling", "autoscaling/v1"),
        ("horizontalpodautoscalers.v2.autoscaling", "autoscaling/v2"),
        ("deployments.v1.apps", "apps/v1"),
    ] {
        kubectl
            .run(&format!("get {resource} web -o jsonpath={{.apiVersion}}"))?
            .is(expect)?;
    }
    Ok(())
}
