//! Custom resources.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::harness::Kubectl;

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A widget of some size.
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, maximum: 10, description: How large it is.}
              colour: {type: string, enum: [red, green], default: red}
              code: {type: string, pattern: '^[A-Z]{3}$'}
              replicas: {type: integer}
          status:
            type: object
            properties:
              replicas: {type: integer}
              phase: {type: string}
";

const WIDGET: &str = "
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
";

fn define(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run_with("create -f -", DEFINITION)?
        .has(&["widgets.example.com created"])?;
    kubectl.run("wait crd widgets.example.com --for=condition=Established --timeout=10s")?;
    Ok(())
}

pub(crate) fn life(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    kubectl
        .run("get crd widgets.example.com")?
        .has(&["CREATED AT", "widgets.example.com"])?;
    kubectl
        .run_with("create -f -", WIDGET)?
        .is("widget.example.com/one created")?;
    kubectl
        .run("get widgets")?
        .has(&["NAME", "SIZE", "one", "3"])?
        .lacks(&["COLOUR"])?;
    kubectl.run("get wd one -o wide")?.has(&["COLOUR", "red"])?;
    kubectl
        .run("get widget one -o yaml")?
        .has(&["kind: Widget", "size: 3", "uid:"])?;
    kubectl.run("wait widget one --for=jsonpath={.spec.size}=3 --timeout=10s")?;
    let mut watch = kubectl.spawn("get widgets -w -o name")?;
    let mut lines = BufReader::new(watch.stdout.take().context("no stdout")?).lines();
    let first = lines.next().context("the watch ended")??;
    watch.kill()?;
    watch.wait()?;
    ensure!(first == "widget.example.com/one", "{first}");
    kubectl
        .run("get widget one -o jsonpath={.metadata.generation}/{.spec.colour}")?
        .is("1/red")?;
    kubectl.run("label widget one a=b")?;
    kubectl
        .run("get widget one -o jsonpath={.metadata.generation}")?
        .is("1")?;
    kubectl.run("patch widget one --type=merge -p '{\"spec\":{\"size\":4},\"status\":{\"phase\":\"x\"}}'")?;
    kubectl
        .run("get widget one -o jsonpath={.metadata.generation}/{.spec.size}/{.status.phase}")?
        .is("2/4/")?;
    kubectl.run("patch widget one --subresource=status --type=merge -p '{\"spec\":{\"size\":9},\"status\":{\"phase\":\"Ready\"}}'")?;
    kubectl
        .run("get widget one -o jsonpath={.metadata.generation}/{.spec.size}/{.status.phase}")?
        .is("2/4/Ready")?;
    kubectl.run("scale widget one --replicas=5")?;
    kubectl
        .run("get widget one -o jsonpath={.spec.replicas}")?
        .is("5")?;
    kubectl.run("get all")?.has(&["widget.example.com/one"])?;
    kubectl
        .run("describe widget one")?
        .has(&["Name:", "one", "Kind:", "Widget"])?;
    kubectl.run("api-resources --api-group=example.com")?.has(&[
        "widgets",
        "wd",
        "example.com/v1",
        "Widget",
    ])?;
    kubectl.run("delete widget one")?;
    kubectl.run_with("create -f -", WIDGET)?;
    kubectl.run("delete crd widgets.example.com --timeout=20s")?;
    kubectl.fail("get widgets.example.com")?;
    Ok(())
}

pub(crate) fn validation(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    for (spec, complaint) in [
        ("{}", "spec.size: Required value"),
        (
            "{size: 0}",
            "spec.size in body should be greater than or equal to 1",
        ),
        ("{size: big}", "spec.size in body must be of type integer"),
        ("{size: 1, colour: blue}", "Unsupported value: \"blue\""),
        (
            "{size: 1, code: abc}",
            "spec.code in body should match '^[A-Z]{3}$'",
        ),
        ("{size: 1, shape: round}", "unknown field \"spec.shape\""),
    ] {
        let file = kubectl.write("widget.yaml", &WIDGET.replace("{size: 3}", spec))?;
        kubectl
            .fail(&format!("create -f {file}"))?
            .complains(&[complaint])?;
    }
    let pruned = kubectl.write(
        "widget.yaml",
        &WIDGET.replace("{size: 3}", "{size: 1, shape: round}"),
    )?;
    kubectl.run(&format!("create --validate=ignore -f {pruned}"))?;
    kubectl
        .run("get widget one -o jsonpath={.spec}")?
        .is("{\"colour\":\"red\",\"size\":1}")?;
    let bad = kubectl.write(
        "bad.yaml",
        &DEFINITION
            .replace("type: integer, minimum: 1", "minimum: 1")
            .replace("widget", "gadget")
            .replace("Widget", "Gadget"),
    )?;
    kubectl
        .fail(&format!("create -f {bad}"))?
        .complains(&["type: Required value"])?;
    Ok(())
}

pub(crate) fn apply_and_explain(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    kubectl
        .run_with("apply -f -", WIDGET)?
        .is("widget.example.com/one created")?;
    kubectl
        .run_with("apply -f -", WIDGET)?
        .is("widget.example.com/one unchanged")?;
    kubectl
        .run_with("apply -f -", &WIDGET.replace("size: 3", "size: 5"))?
        .is("widget.example.com/one configured")?;
    kubectl.run("get widget one -o jsonpath={.spec.size}")?.is("5")?;
    kubectl
        .run("explain widget")?
        .has(&["example.com", "Widget", "A widget of some size."])?;
    kubectl
        .run("explain widget.spec")?
        .has(&["size", "<integer>", "How large it is.", "colour"])?;
    Ok(())
}

/// What a custom resource owns goes with it, or stays, as kubectl is told.
pub(crate) fn cascades(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    for (policy, stays) in [("background", false), ("foreground", false), ("orphan", true)] {
        kubectl.run_with("create -f -", WIDGET)?;
        let uid = kubectl.run("get widget one -o jsonpath={.metadata.uid}")?.stdout;
        let owned = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {policy}, ownerReferences: [{{apiVersion: example.com/v1, \
             kind: Widget, name: one, uid: {uid}, blockOwnerDeletion: true}}]}}"
        );
        kubectl.run_with("create -f -", &owned)?;
        kubectl.run(&format!("delete widget one --cascade={policy} --timeout=25s"))?;
        if stays {
            let owners = format!("get configmap {policy} -o jsonpath={{.metadata.ownerReferences}}");
            kubectl.run(&owners)?.is("")?;
        } else {
            kubectl.run(&format!("wait configmap {policy} --for=delete --timeout=20s"))?;
        }
    }
    Ok(())
}

/// Definitions of large projects all install, and their kinds are served.
pub(crate) fn fixtures(kubectl: &Kubectl) -> Result<()> {
    let Some(folder) = std::env::var_os("KUBEWRIGHT_FIXTURES").map(PathBuf::from) else {
        println!("skipped: KUBEWRIGHT_FIXTURES is not set");
        return Ok(());
    };
    let folder = folder.join("crds");
    let files = std::fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let count = files.count();
    ensure!(count > 0, "{} is empty", folder.display());
    kubectl.run(&format!("create -f {}", folder.display()))?;
    kubectl.run("wait crd --all --for=condition=Established --timeout=20s")?;
    let names = kubectl.run("get crd -o name")?;
    ensure!(names.stdout.lines().count() == count, "{names}");
    kubectl
        .run("get prometheuses,certificates,issuers -A")?
        .complains(&["No resources found"])?;
    kubectl
        .run("explain prometheus.spec --api-version=monitoring.coreos.com/v1")?
        .has(&["replicas"])?;
    kubectl
        .run_with(
            "apply -f -",
            "
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {secretName: web-tls, dnsNames: [example.com], issuerRef: {name: ca}}
",
        )?
        .has(&["created"])?;
    kubectl
        .run("get certificate web")?
        .has(&["READY", "SECRET", "web-tls"])?;
    Ok(())
}
