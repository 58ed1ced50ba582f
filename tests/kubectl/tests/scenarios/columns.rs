//! A custom resource with columns of every kind, selectable fields, a scale and lists of every type.

use anyhow::{Result, ensure};

use crate::harness::Kubectl;

const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    selectableFields:
    - jsonPath: .spec.harbour
    - jsonPath: .spec.afloat
    - jsonPath: .spec.replicas
    additionalPrinterColumns:
    - {name: Harbour, type: string, jsonPath: .spec.harbour}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Draught, type: number, jsonPath: .spec.draught}
    - {name: Afloat, type: boolean, jsonPath: .spec.afloat}
    - {name: Crew, type: string, jsonPath: '.spec.crew[*].name'}
    - {name: Cook, type: string, jsonPath: '.spec.crew[?(@.task=="cook")].name'}
    - {name: First, type: string, jsonPath: '.spec.ports[0]'}
    - {name: Quoted, type: string, jsonPath: ".spec.notes['mast']"}
    - {name: Label, type: string, jsonPath: '.metadata.labels.sea\.example/name'}
    - {name: Missing, type: string, jsonPath: .spec.nothing}
    - {name: Ports, type: string, jsonPath: .spec.ports, priority: 1}
    - {name: Launched, type: date, jsonPath: .spec.launched}
    schema:
      openAPIV3Schema:
        type: object
        description: A boat.
        properties:
          spec:
            type: object
            description: What it is to be.
            properties:
              harbour: {type: string}
              replicas: {type: integer, default: 1}
              draught: {type: number}
              afloat: {type: boolean}
              launched: {type: string, format: date-time}
              ports: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              notes: {type: object, additionalProperties: {type: string}}
              crew:
                type: array
                description: Who is aboard.
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, description: What they are called.}
                    task: {type: string}
                    berth:
                      type: object
                      description: Where they sleep.
                      properties:
                        deck: {type: integer, description: How far down.}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
"#;

const BOAT: &str = r#"
apiVersion: example.com/v1
kind: Boat
metadata: {name: argo, labels: {sea.example/name: black}}
spec:
  harbour: Iolcus
  draught: 1.5
  afloat: true
  launched: "2020-01-01T00:00:00Z"
  ports: [Lemnos, Colchis]
  notes: {mast: oak}
  crew:
  - {name: Jason, task: lead}
  - {name: Atalanta, task: cook, berth: {deck: 2}}
"#;

const DINGHY: &str = "
apiVersion: example.com/v1
kind: Boat
metadata: {name: dinghy}
spec: {harbour: Colchis, afloat: false, replicas: 3}
";

fn define(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", DEFINITION)?;
    kubectl.run("wait crd boats.example.com --for=condition=Established --timeout=10s")?;
    kubectl.run_with("create -f -", BOAT)?;
    kubectl.run_with("create -f -", DINGHY)?;
    Ok(())
}

pub(crate) fn get(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    let table = kubectl.run("get boats")?;
    table
        .has(&[
            "NAME", "HARBOUR", "REPLICAS", "DRAUGHT", "AFLOAT", "CREW", "COOK", "FIRST", "QUOTED", "LABEL",
            "MISSING", "LAUNCHED",
        ])?
        .lacks(&["PORTS", "AGE"])?;
    let row = |name: &str| -> Vec<String> {
        let line = table
            .stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    };
    let argo = row("argo");
    ensure!(
        argo[..10]
            == [
                "argo", "Iolcus", "1", "1.5", "true", "Jason", "Atalanta", "Lemnos", "oak", "black"
            ],
        "{table}"
    );
    // Years, as of a date rather than of the object's birth.
    ensure!(argo.last().is_some_and(|age| age.contains('y')), "{table}");
    let dinghy = row("dinghy");
    ensure!(dinghy[..4] == ["dinghy", "Colchis", "3", "false"], "{table}");
    kubectl
        .run("get boat argo -o wide")?
        .has(&["PORTS", r#"["Lemnos","Colchis"]"#])?;
    kubectl
        .run("get boats --sort-by=.spec.replicas -o name")?
        .is("boat.example.com/argo\nboat.example.com/dinghy")?;
    for (selector, expect) in [
        ("spec.harbour=Iolcus", "boat.example.com/argo"),
        ("spec.harbour!=Iolcus", "boat.example.com/dinghy"),
        ("spec.afloat=true", "boat.example.com/argo"),
        ("spec.replicas=3,spec.afloat=false", "boat.example.com/dinghy"),
        ("metadata.name=argo,spec.replicas=1", "boat.example.com/argo"),
        ("spec.replicas=7", ""),
    ] {
        kubectl
            .run(&format!("get boats --field-selector={selector} -o name"))?
            .is(expect)?;
    }
    kubectl
        .fail("get boats --field-selector=spec.draught=1.5")?
        .complains(&["field label not supported: spec.draught"])?;
    kubectl.run("delete boats --field-selector=spec.harbour=Colchis")?;
    kubectl.run("get boats -o name")?.is("boat.example.com/argo")?;
    Ok(())
}

pub(crate) fn explain(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    for (path, expect) in [
        ("boat", &["Boat", "A boat.", "What it is to be."][..]),
        (
            "boat.spec",
            &["harbour", "<string>", "crew", "<[]Object>", "Who is aboard."],
        ),
        (
            "boat.spec.crew",
            &[
                "berth",
                "Where they sleep.",
                "What they are called.",
                "-required-",
            ],
        ),
        ("boat.spec.crew.berth", &["deck", "<integer>", "How far down."]),
        (
            "boat.spec.crew.berth.deck",
            &["deck", "<integer>", "How far down."],
        ),
        ("boat.spec.notes", &["notes", "<map[string]string>"]),
        ("boat.metadata.ownerReferences", &["ownerReferences", "uid"]),
    ] {
        kubectl.run(&format!("explain {path}"))?.has(expect)?;
    }
    kubectl
        .run("explain boat --recursive")?
        .has(&["deck", "<integer>"])?;
    kubectl
        .fail("explain boat.spec.sail")?
        .complains(&["sail", "does not exist"])?;
    Ok(())
}

pub(crate) fn change(kubectl: &Kubectl) -> Result<()> {
    define(kubectl)?;
    kubectl.run("scale boat argo --replicas=4")?;
    kubectl
        .run("get boat argo -o jsonpath={.spec.replicas}")?
        .is("4")?;
    kubectl.fail("scale boat argo --current-replicas=1 --replicas=2")?;
    kubectl.run("patch boat argo --type=merge -p '{\"spec\":{\"draught\":2}}'")?;
    kubectl.run(
        "patch boat argo --type=json -p '[{\"op\":\"add\",\"path\":\"/spec/ports/-\",\"value\":\"Troy\"}]'",
    )?;
    kubectl
        .run("get boat argo -o jsonpath={.spec.draught}/{.spec.ports}")?
        .is(r#"2/["Lemnos","Colchis","Troy"]"#)?;
    kubectl
        .fail("patch boat argo --type=strategic -p '{\"spec\":{\"draught\":3}}'")?
        .complains(&["application/strategic-merge-patch+json is not supported"])?;
    kubectl
        .fail("patch boat argo --type=json -p '[{\"op\":\"add\",\"path\":\"/spec/ports/-\",\"value\":\"Troy\"}]'")?
        .complains(&["spec.ports[3]: Duplicate value: \"Troy\""])?;
    kubectl
        .fail("patch boat argo --type=merge -p '{\"spec\":{\"crew\":[{\"task\":\"none\"}]}}'")?
        .complains(&["spec.crew[0].name: Required value"])?;
    Ok(())
}

pub(crate) fn apply(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("apply -f -", DEFINITION)?;
    kubectl.run("wait crd boats.example.com --for=condition=Established --timeout=10s")?;
    kubectl
        .run_with("apply -f -", BOAT)?
        .is("boat.example.com/argo created")?;
    kubectl
        .run_with("apply -f -", BOAT)?
        .is("boat.example.com/argo unchanged")?;
    // What another adds to a list stays out of a patch by merging, which replaces lists as a whole.
    let changed = BOAT.replace("{name: Jason, task: lead}", "{name: Jason, task: row}");
    let file = kubectl.write("boat.yaml", &changed)?;
    kubectl
        .fail(&format!("diff -f {file}"))?
        .has(&["-    task: lead", "+    task: row"])?;
    kubectl
        .run(&format!("apply -f {file}"))?
        .is("boat.example.com/argo configured")?;
    kubectl.run(&format!("diff -f {file}"))?.is("")?;
    kubectl.run("delete boat argo")?;

    let applied = kubectl.run(&format!("apply --server-side -f {file}"))?;
    applied.is("boat.example.com/argo serverside-applied")?;
    // Old versions take a brace for the beginning of JSON.
    let more = "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: argo}\nspec: {ports: [Troy], crew: [{name: Orpheus}]}\n";
    kubectl.run_with("apply --server-side --field-manager=other -f -", more)?;
    kubectl
        .run("get boat argo -o jsonpath={.spec.crew[*].name}/{.spec.ports}")?
        .is(r#"Jason Atalanta Orpheus/["Lemnos","Colchis","Troy"]"#)?;
    let conflicting = more.replace("{name: Orpheus}", "{name: Jason, task: rest}");
    let conflicting = kubectl.write("conflicting.yaml", &conflicting)?;
    kubectl
        .fail(&format!(
            "apply --server-side --field-manager=other -f {conflicting}"
        ))?
        .complains(&["conflict", ".spec.crew[name=\"Jason\"].task"])?;
    kubectl.run(&format!("diff --server-side -f {file}"))?.is("")?;
    Ok(())
}
