//! `apply --server-side` and `diff --server-side`: who owns what, and who may change it. Expectations are those of upstream's
//! `test/cmd/apply.sh` (`run_kubectl_server_side_apply_tests`) and of KEP-555.

use anyhow::{Result, ensure};

use super::basics::WEB;
use crate::harness::{Kubectl, Output};

const MANAGERS: &str =
    "-o 'jsonpath={range .metadata.managedFields[*]}{.manager}/{.operation}/{.subresource} {end}'";

/// Applies from standard input, with more options.
fn apply(kubectl: &Kubectl, options: &str, manifest: &str) -> Result<Output> {
    kubectl.run_with(&format!("apply --server-side {options} -f -"), manifest)
}

/// The same, which must be refused in these words.
fn refuse(kubectl: &Kubectl, options: &str, manifest: &str, words: &[&str]) -> Result<()> {
    let output = kubectl.attempt(&format!("apply --server-side {options} -f -"), manifest)?;
    ensure!(output.code != Some(0), "should have failed: {output}");
    output.complains(words)?;
    Ok(())
}

fn settings(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {data}\n")
}

fn read(kubectl: &Kubectl, what: &str) -> Result<String> {
    Ok(kubectl.run(&format!("get {what}"))?.stdout.trim().to_owned())
}

pub(crate) fn life(kubectl: &Kubectl) -> Result<()> {
    apply(kubectl, "--dry-run=server", &settings("{a: \"1\"}"))?
        .is("configmap/settings serverside-applied (server dry run)")?;
    kubectl.fail("get configmap settings")?.complains(&["NotFound"])?;
    apply(kubectl, "", &settings("{a: \"1\"}"))?.is("configmap/settings serverside-applied")?;
    // What changes nothing is not written.
    let version = "configmap settings -o jsonpath={.metadata.resourceVersion}";
    let before = read(kubectl, version)?;
    apply(kubectl, "", &settings("{a: \"1\"}"))?;
    ensure!(read(kubectl, version)? == before, "it was written");
    let file = kubectl.write("settings.yaml", &settings("{a: \"1\", b: \"2\"}"))?;
    kubectl
        .run(&format!("apply --server-side -f {file}"))?
        .is("configmap/settings serverside-applied")?;
    kubectl
        .run("get configmap settings -o yaml --show-managed-fields")?
        .has(&[
            "managedFields:",
            "f:a: {}",
            "f:b: {}",
            "manager: kubectl\n",
            "operation: Apply",
        ])?;
    kubectl.run("get configmap settings -o yaml")?.lacks(&[
        "managedFields",
        // It is the other side that keeps what was applied.
        "last-applied-configuration",
    ])?;
    // A field that its only owner gives up goes.
    apply(kubectl, "", &settings("{b: \"2\"}"))?;
    kubectl
        .run("get configmap settings -o jsonpath={.data}")?
        .is("{\"b\":\"2\"}")?;
    Ok(())
}

pub(crate) fn conflicts(kubectl: &Kubectl) -> Result<()> {
    apply(kubectl, "", &settings("{a: \"1\", b: \"1\"}"))?;
    refuse(
        kubectl,
        "--field-manager=other",
        &settings("{a: \"2\"}"),
        &[
            "error: Apply failed with 1 conflict: conflict with \"kubectl\": .data.a\n",
            "Please review the fields above--they currently have other managers.",
        ],
    )?;
    refuse(
        kubectl,
        "--field-manager=other",
        &settings("{b: \"2\", a: \"2\"}"),
        &["error: Apply failed with 2 conflicts: conflicts with \"kubectl\":\n- .data.a\n- .data.b\n"],
    )?;
    kubectl
        .run("get configmap settings -o jsonpath={.data.a}")?
        .is("1")?;
    apply(
        kubectl,
        "--field-manager=other --force-conflicts",
        &settings("{a: \"2\"}"),
    )?;
    kubectl
        .run("get configmap settings -o jsonpath={.data}")?
        .is("{\"a\":\"2\",\"b\":\"1\"}")?;
    refuse(
        kubectl,
        "",
        &settings("{a: \"1\", b: \"1\"}"),
        &["error: Apply failed with 1 conflict: conflict with \"other\": .data.a\n"],
    )?;
    // An element of a list is named by its keys.
    apply(kubectl, "", WEB)?;
    refuse(
        kubectl,
        "--field-manager=other",
        &WEB.replace("nginx:1.27", "nginx:1.28"),
        &["conflict with \"kubectl\": .spec.template.spec.containers[name=\"main\"].image\n"],
    )?;
    Ok(())
}

pub(crate) fn managers(kubectl: &Kubectl) -> Result<()> {
    apply(kubectl, "", &settings("{a: \"1\", b: \"2\"}"))?;
    // The same value has two owners then.
    apply(kubectl, "--field-manager=two", &settings("{b: \"2\", c: \"3\"}"))?;
    kubectl
        .run(&format!("get configmap settings {MANAGERS}"))?
        .is("kubectl/Apply/ two/Apply/")?;
    let data = "get configmap settings -o jsonpath={.data}";
    kubectl.run(data)?.is("{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}")?;
    apply(kubectl, "", &settings("{b: \"2\"}"))?;
    kubectl.run(data)?.is("{\"b\":\"2\",\"c\":\"3\"}")?;
    // What one of two owners gives up stays the other's.
    apply(kubectl, "--field-manager=two", &settings("{c: \"3\"}"))?;
    kubectl.run(data)?.is("{\"b\":\"2\",\"c\":\"3\"}")?;
    apply(kubectl, "--force-conflicts", &settings("{c: \"4\"}"))?;
    kubectl.run(data)?.is("{\"c\":\"4\"}")?;
    Ok(())
}

pub(crate) fn refused(kubectl: &Kubectl) -> Result<()> {
    let misspelt = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndat: {a: \"1\"}\n";
    // Validation cannot be switched off: the schema knows no such field.
    for mode in ["", "--validate=warn", "--validate=ignore"] {
        refuse(
            kubectl,
            mode,
            misspelt,
            &[
                "failed to create typed patch object (",
                "/settings; /v1, Kind=ConfigMap): .dat: field not declared in schema",
            ],
        )?;
    }
    refuse(
        kubectl,
        "",
        &settings("{a: 1}"),
        &[".data.a: expected string, got &value.valueUnstructured{Value:1}"],
    )?;
    refuse(
        kubectl,
        "",
        &settings("{a: x}").replace("name:", "generateName:"),
        &["cannot use generate name with apply"],
    )?;
    refuse(
        kubectl,
        "--dry-run=client",
        &settings("{a: x}"),
        &["--dry-run=client doesn't work with --server-side"],
    )?;
    refuse(
        kubectl,
        "",
        &WEB.replace("matchLabels: {app: web}", "matchLabels: {app: x}"),
        &[
            "The Deployment \"web\" is invalid",
            "`selector` does not match template `labels`",
        ],
    )?;
    Ok(())
}

pub(crate) fn scale(kubectl: &Kubectl) -> Result<()> {
    apply(kubectl, "", WEB)?;
    kubectl.run("scale deployment web --replicas=5")?;
    // Who scales owns the number of replicas, through the subresource.
    refuse(
        kubectl,
        "",
        WEB,
        &["conflict with \"kubectl\" with subresource \"scale\" using apps/v1: .spec.replicas\n"],
    )?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("5")?;
    // Left to who scales, it stays.
    apply(kubectl, "", &WEB.replace("  replicas: 2\n", ""))?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("5")?;
    apply(kubectl, "--force-conflicts", WEB)?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("2")?;
    apply(kubectl, "", WEB)?;
    Ok(())
}

/// From client-side apply and back. kubectl 1.27 does so as well (KEP-3352).
pub(crate) fn migration(kubectl: &Kubectl) -> Result<()> {
    let managers =
        "configmap settings -o 'jsonpath={range .metadata.managedFields[*]}{.manager}/{.operation}\n{end}'";
    let data = "get configmap settings -o jsonpath={.data}";
    let own = |expect: &[&str]| -> Result<()> {
        // Those of the same second are in no order.
        let mut found: Vec<String> = read(kubectl, managers)?.lines().map(str::to_owned).collect();
        found.sort();
        ensure!(found == expect, "{found:?}");
        Ok(())
    };
    kubectl.run_with("apply -f -", &settings("{a: \"1\", b: \"2\"}"))?;
    own(&["kubectl-client-side-apply/Update"])?;
    // What was applied before is applied still: `b` goes.
    apply(kubectl, "", &settings("{a: \"2\"}"))?;
    own(&["kubectl-last-applied/Apply", "kubectl/Apply"])?;
    kubectl.run(data)?.is("{\"a\":\"2\"}")?;
    // The annotation is kept for those who go back.
    let annotation = "get configmap settings -o 'jsonpath={.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}'";
    kubectl.run(annotation)?.has(&["\"data\":{\"a\":\"2\"}"])?;
    apply(kubectl, "", &settings("{c: \"3\"}"))?;
    kubectl.run(data)?.is("{\"c\":\"3\"}")?;
    kubectl.run(annotation)?.has(&["\"data\":{\"c\":\"3\"}"])?;
    kubectl
        .run_with("apply -f -", &settings("{c: \"3\"}"))?
        .is("configmap/settings configured")?;
    own(&["kubectl-client-side-apply/Update", "kubectl/Apply"])?;
    kubectl.run_with("apply -f -", &settings("{d: \"3\"}"))?;
    own(&["kubectl-client-side-apply/Update"])?;
    kubectl.run(data)?.is("{\"d\":\"3\"}")?;
    apply(kubectl, "", &settings("{d: \"3\"}"))?;
    own(&["kubectl-last-applied/Apply", "kubectl/Apply"])?;
    Ok(())
}

pub(crate) fn diff(kubectl: &Kubectl) -> Result<()> {
    let differ = |options: &str, manifest: &str| {
        kubectl.attempt(&format!("diff --server-side {options} -f -"), manifest)
    };
    let created = differ("", &settings("{a: \"1\"}"))?;
    ensure!(created.code == Some(1), "{created}");
    created.has(&["+  a: \"1\"", "+kind: ConfigMap"])?;
    apply(kubectl, "", &settings("{a: \"1\"}"))?;
    let same = differ("", &settings("{a: \"1\"}"))?;
    ensure!(same.code == Some(0) && same.stdout.is_empty(), "{same}");
    let changed = differ("", &settings("{a: \"2\"}"))?;
    ensure!(changed.code == Some(1), "{changed}");
    changed.has(&["-  a: \"1\"", "+  a: \"2\""])?;
    let refused = differ("--field-manager=other", &settings("{a: \"2\"}"))?;
    ensure!(refused.code.is_some_and(|code| code > 1), "{refused}");
    refused.complains(&["Apply failed with 1 conflict: conflict with \"kubectl\": .data.a"])?;
    let forced = differ("--field-manager=other --force-conflicts", &settings("{a: \"2\"}"))?;
    ensure!(forced.code == Some(1), "{forced}");
    forced.has(&["-  a: \"1\"", "+  a: \"2\""])?;
    kubectl
        .run("get configmap settings -o jsonpath={.data.a}")?
        .is("1")?;
    Ok(())
}
