//! Definitions of custom resources: how soon a large one is served, how soon a change shows, and what checking an object costs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kubewright_schema::StructuralSchema;
use serde_json::{Value, json};

use crate::generate::{self, Fill};
use crate::report::{Table, median, time};
use crate::target::Target;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How often each is done.
const INSTALLS: usize = 10;
const CHANGES: usize = 20;
const CHECKS: u32 = 1000;
/// How long is waited for what does not come.
const PATIENCE: Duration = Duration::from_secs(10);

/// All of them; the rows of the largest definition need those that `KUBEWRIGHT_FIXTURES` names.
pub async fn measure(table: &mut Table) -> Result<()> {
    match std::env::var_os("KUBEWRIGHT_FIXTURES") {
        Some(folder) => {
            let (file, definition) = largest(&PathBuf::from(folder).join("crds"))?;
            installs(table, &file, &definition).await?;
            checks(table, &definition)?;
        }
        None => {
            table.note("definitions: installing and checking not measured, KUBEWRIGHT_FIXTURES is not set")
        }
    }
    changes(table).await
}

/// The largest definition of a folder, and the name of its file.
fn largest(folder: &Path) -> Result<(String, Value)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let entry = entry?;
        files.push((entry.metadata()?.len(), entry.path()));
    }
    files.sort();
    let (_, path) = files.pop().context("there are no definitions")?;
    let definition = kubewright_yaml::from_str(&std::fs::read_to_string(&path)?)?;
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok((name, definition))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The path of the objects of all namespaces, in the first version.
fn objects_of(definition: &Value) -> String {
    let part = |pointer| text(definition, pointer);
    format!(
        "/apis/{}/{}/{}",
        part("/spec/group"),
        part("/spec/versions/0/name"),
        part("/spec/names/plural")
    )
}

/// Asks until an answer is as it shall be.
async fn until(target: &Target, path: &str, is_it: impl Fn(&[u8]) -> bool) -> Result<()> {
    let began = Instant::now();
    loop {
        if let Ok(answer) = target.send("GET", path, Vec::new()).await
            && is_it(&answer)
        {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "{path} does not show it");
        tokio::task::yield_now().await;
    }
}

/// From the create of a definition until its objects can be listed.
async fn installs(table: &mut Table, file: &str, definition: &Value) -> Result<()> {
    let body = serde_json::to_vec(definition)?;
    let path = objects_of(definition);
    let mut times = Vec::new();
    for _ in 0..INSTALLS {
        let target = Target::start().await?;
        let body = body.clone();
        let began = Instant::now();
        target.send("POST", CRDS, body).await?;
        until(&target, &path, |_| true).await?;
        times.push(began.elapsed());
        target.server.shut_down();
    }
    let what = format!("{file}, {} KiB: create until served", body.len() >> 10);
    table.row(what, time(median(&mut times)));
    Ok(())
}

/// Checking an object with every field, beside reading its text.
fn checks(table: &mut Table, definition: &Value) -> Result<()> {
    let schema = definition
        .pointer("/spec/versions/0/schema/openAPIV3Schema")
        .context("no schema")?;
    let compiled = StructuralSchema::parse(schema)?;
    let object = json!({
        "apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"},
        "spec": generate::value(&schema["properties"]["spec"], Fill::All),
    });
    ensure!(compiled.validate(&object, None).is_empty(), "the object is wrong");
    let bytes = serde_json::to_vec(&object)?;
    let what = format!("an object of it with every field, {} KiB", bytes.len() >> 10);
    let began = Instant::now();
    for _ in 0..CHECKS {
        ensure!(compiled.validate(&object, None).is_empty(), "the object is wrong");
    }
    table.row(format!("{what}: checked"), time(began.elapsed() / CHECKS));
    let began = Instant::now();
    for _ in 0..CHECKS {
        ensure!(serde_json::from_slice::<Value>(&bytes)?.is_object(), "no object");
    }
    table.row(
        format!("{what}: read by serde_json"),
        time(began.elapsed() / CHECKS),
    );
    Ok(())
}

/// From a change of a definition until the documents show it.
async fn changes(table: &mut Table) -> Result<()> {
    let target = Target::start().await?;
    let definition = |round: usize| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": [format!("w{round}")]},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {format!("field{round}"): {"type": "string"}},
                }}}],
            },
        })
    };
    target
        .send("POST", CRDS, serde_json::to_vec(&definition(0))?)
        .await?;
    until(&target, &objects_of(&definition(0)), |_| true).await?;
    let one = format!("{CRDS}/widgets.example.com");
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for round in 1..=CHANGES {
        let patch = serde_json::to_vec(&json!({"spec": definition(round)["spec"]}))?;
        let (name, field) = (format!("\"w{round}\""), format!("\"field{round}\""));
        let began = Instant::now();
        target
            .send_as("PATCH", &one, "application/merge-patch+json", patch)
            .await?;
        let shown = [
            ("/apis/example.com/v1", &name),
            ("/openapi/v3/apis/example.com/v1", &field),
            ("/openapi/v2", &field),
        ];
        for (times, (path, sign)) in all.iter_mut().zip(shown) {
            let sign = sign.as_bytes();
            until(&target, path, |answer| {
                memchr::memmem::find(answer, sign).is_some()
            })
            .await?;
            times.push(began.elapsed());
        }
    }
    for (times, what) in all
        .iter_mut()
        .zip(["discovery", "OpenAPI v3, too", "OpenAPI v2, too"])
    {
        table.row(
            format!("change of a definition until it shows in {what}"),
            time(median(times)),
        );
    }
    Ok(())
}
