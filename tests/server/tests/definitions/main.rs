//! Definitions that people install: those of cert-manager and the Prometheus operator, and objects of their kinds.
//!
//! `KUBEWRIGHT_FIXTURES` names a folder with `crds`, which holds a definition a file.

#![expect(clippy::unwrap_used, reason = "a broken fixture should stop the test")]

mod generate;
#[path = "../api/harness.rs"]
#[allow(dead_code, reason = "the other suite uses the rest")]
mod harness;

use std::fs;
use std::path::{Path, PathBuf};

use generate::{Fill, Wrong};
use harness::{Ask, Server};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

fn main() {
    let arguments = Arguments::from_args();
    let trials = match std::env::var_os("KUBEWRIGHT_FIXTURES") {
        Some(folder) => trials(&PathBuf::from(folder).join("crds")),
        None => {
            vec![Trial::test("skipped: KUBEWRIGHT_FIXTURES is not set", || Ok(())).with_ignored_flag(true)]
        }
    };
    libtest_mimic::run(&arguments, trials).exit();
}

/// Two for each definition.
fn trials(folder: &Path) -> Vec<Trial> {
    let files = fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "no fixtures in {}", folder.display());
    files.sort();
    files.into_iter().flat_map(trials_of).collect()
}

fn trials_of(file: PathBuf) -> [Trial; 2] {
    let name = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let other = file.clone();
    [
        Trial::test(format!("installs {name}"), move || run(&file, installs)),
        Trial::test(format!("objects {name}"), move || run(&other, objects)),
    ]
}

fn run<F: Future<Output = ()>>(file: &Path, check: impl FnOnce(Value) -> F) -> Result<(), Failed> {
    let definition = kubewright_yaml::from_str(&fs::read_to_string(file)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(check(definition));
    Ok(())
}

/// By a create, by server-side apply and by the annotation of `kubectl apply`, where there is room for it.
async fn installs(definition: Value) {
    let name = harness::text(&definition["metadata"]["name"]).to_owned();
    let created = Server::start().await;
    created.ok(Ask::json(format!("POST {CRDS}"), &definition)).await;
    established(&created, &name).await;

    let applied = Server::start().await;
    let apply = || {
        let line = format!("PATCH {CRDS}/{name}?fieldManager=test&fieldValidation=Strict");
        Ask::new(line).typed("application/apply-patch+yaml", definition.to_string())
    };
    let first = applied.ask(apply()).await;
    assert_eq!(first.code, 201, "{:#}", first.body);
    established(&applied, &name).await;
    let stored = applied.ok(format!("GET {CRDS}/{name}")).await;
    assert_eq!(
        applied.ok(apply()).await,
        stored,
        "applying again changes nothing"
    );
    assert_eq!(
        applied.ok(format!("GET {CRDS}/{name}")).await["spec"],
        created.ok(format!("GET {CRDS}/{name}")).await["spec"],
    );

    let annotated = Server::start().await;
    let mut body = definition.clone();
    let text = format!("{definition}\n");
    let is_small = text.len() + LAST_APPLIED.len() <= MAX_ANNOTATIONS;
    body["metadata"]["annotations"] = json!({LAST_APPLIED: text});
    let create = Ask::json(
        format!("POST {CRDS}?fieldManager=kubectl-client-side-apply"),
        &body,
    );
    if is_small {
        annotated.ok(create).await;
        established(&annotated, &name).await;
    } else {
        let why = "metadata.annotations: Too long: may not be more than 262144 bytes";
        annotated.refused(create, 422, why).await;
    }
}

/// Waits until the kinds are served. That is a matter of microseconds, during which nothing else can be waited for.
async fn established(server: &Server, name: &str) {
    let mut events = server
        .watch(&format!("{CRDS}?watch=true&fieldSelector=metadata.name%3D{name}"))
        .await;
    loop {
        let event = events.next().await.expect("the watch goes on");
        let conditions = event["object"]["status"]["conditions"].as_array();
        let is = |kind: &str| {
            conditions
                .into_iter()
                .flatten()
                .any(|one| one["type"] == kind && one["status"] == "True")
        };
        if is("Established") && is("NamesAccepted") {
            return;
        }
    }
}

/// The smallest object of every served version and one with all fields live through what clients do with them, and wrong ones are
/// refused.
async fn objects(definition: Value) {
    let server = Server::start().await;
    let name = harness::text(&definition["metadata"]["name"]);
    server.ok(Ask::json(format!("POST {CRDS}"), &definition)).await;
    established(&server, name).await;
    let spec = &definition["spec"];
    for version in spec["versions"].as_array().unwrap() {
        if version["served"] != true {
            continue;
        }
        let group_version = format!(
            "{}/{}",
            harness::text(&spec["group"]),
            harness::text(&version["name"])
        );
        let place = if spec["scope"] == "Namespaced" {
            "/namespaces/default"
        } else {
            ""
        };
        let kind = Kind {
            path: format!(
                "/apis/{group_version}{place}/{}",
                harness::text(&spec["names"]["plural"])
            ),
            api_version: group_version,
            name: harness::text(&spec["names"]["kind"]),
            schema: &version["schema"]["openAPIV3Schema"],
            version,
        };
        kind.lives(&server, "least", Fill::Least).await;
        kind.lives(&server, "all", Fill::All).await;
        kind.is_listed(&server).await;
        kind.is_refused(&server).await;
    }
}

/// A version of a kind under test.
struct Kind<'a> {
    path: String,
    api_version: String,
    name: &'a str,
    schema: &'a Value,
    version: &'a Value,
}

impl Kind<'_> {
    fn object(&self, name: &str, fill: Fill) -> Value {
        let mut object =
            json!({"apiVersion": self.api_version, "kind": self.name, "metadata": {"name": name}});
        for part in ["spec", "status"] {
            let schema = &self.schema["properties"][part];
            if !schema.is_null() {
                object[part] = generate::value(schema, fill);
            }
        }
        object
    }

    /// Creates an object, reads, patches and applies it.
    async fn lives(&self, server: &Server, name: &str, fill: Fill) {
        let object = self.object(name, fill);
        let one = format!("{}/{name}", self.path);
        let created = server
            .ok(Ask::json(
                format!("POST {}?fieldValidation=Strict", self.path),
                &object,
            ))
            .await;
        if fill == Fill::All {
            assert_eq!(
                created["spec"], object["spec"],
                "{one}: what has all fields has no defaults"
            );
        }
        assert_eq!(server.ok(format!("GET {one}")).await, created, "{one}");
        if !self.version["subresources"]["status"].is_null() && !object["status"].is_null() {
            assert!(
                created["status"].is_null(),
                "{one}: the status comes by its own way"
            );
            let mut body = created.clone();
            body["status"] = object["status"].clone();
            let written = server.ok(Ask::json(format!("PUT {one}/status"), &body)).await;
            if fill == Fill::All {
                assert_eq!(written["status"], object["status"], "{one}");
            }
        }
        let patch = json!({"metadata": {"labels": {"patched": "yes"}}}).to_string();
        let patched = server
            .ok(Ask::new(format!("PATCH {one}")).typed("application/merge-patch+json", patch))
            .await;
        assert_eq!(patched["spec"], created["spec"], "{one}");
        assert_eq!(patched["metadata"]["labels"], json!({"patched": "yes"}));
        // Everything is applied by another manager, who owns it together with the first.
        let mut config = object;
        config.as_object_mut().unwrap().remove("status");
        let apply = Ask::new(format!("PATCH {one}?fieldManager=applier"))
            .typed("application/apply-patch+yaml", config.to_string());
        let applied = server.ok(apply.clone()).await;
        assert_eq!(applied["spec"], created["spec"], "{one}");
        assert_eq!(
            server.ok(apply).await,
            applied,
            "{one}: applying again changes nothing"
        );
    }

    async fn is_listed(&self, server: &Server) {
        let list = server.ok(format!("GET {}", self.path)).await;
        let names: Vec<&str> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| harness::text(&item["metadata"]["name"]))
            .collect();
        assert_eq!(names, ["all", "least"]);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let table = server
            .ok(Ask::new(format!("GET {}", self.path)).header("accept", table))
            .await;
        let columns = table["columnDefinitions"].as_array().unwrap().len();
        let own = self.version["additionalPrinterColumns"]
            .as_array()
            .map_or(1, Vec::len);
        assert_eq!(
            columns,
            own + 1,
            "the name and what the definition names, or the age"
        );
        for row in table["rows"].as_array().unwrap() {
            assert_eq!(row["cells"].as_array().unwrap().len(), columns);
        }
    }

    /// Sends wrong objects, each of which has to be refused with a cause that names the field.
    async fn is_refused(&self, server: &Server) {
        let rich = self.object("wrong", Fill::All);
        let all = generate::wrong(self.schema, &rich);
        let sorts: Vec<&str> = all.iter().map(|wrong| wrong.sort).collect();
        assert!(sorts.len() >= 3, "{}: only {sorts:?}", self.path);
        for Wrong {
            sort,
            object,
            field,
            reason,
        } in all
        {
            let answer = server
                .refused(Ask::json(format!("POST {}", self.path), &object), 422, &field)
                .await;
            let causes = answer.body["details"]["causes"].as_array().unwrap();
            assert!(
                causes
                    .iter()
                    .any(|cause| cause["field"] == *field && cause["reason"] == reason),
                "{sort}: no cause for {field} with {reason}: {causes:#?}"
            );
        }
        let mut unknown = rich;
        unknown["spec"]["unheardOf"] = json!(1);
        let strict = Ask::json(format!("POST {}?fieldValidation=Strict", self.path), &unknown);
        server
            .refused(strict, 400, "unknown field \"spec.unheardOf\"")
            .await;
    }
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The most bytes of all annotations of an object.
const MAX_ANNOTATIONS: usize = 256 * 1024;
