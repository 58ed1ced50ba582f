//! Rules of definitions, in a language of three words that stands in for CEL: `small` numbers are below ten, `same` values are what they
//! were, and `never` holds never.

use std::sync::Arc;

use kubewright_apiserver::Options;
use kubewright_schema::{
    Evaluation, RuleCompiler, RuleInput, RulePlace, RuleProgram, StructuralSchema, ValidationRule,
};
use serde_json::{Value, json};

use crate::harness::*;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRATES: &str = "/apis/example.com/v1/namespaces/default/crates";

#[derive(Debug)]
struct Words;

#[derive(Debug)]
struct Word(String);

impl RuleCompiler for Words {
    fn compile(
        &self,
        rule: &ValidationRule,
        _: &StructuralSchema,
        _: RulePlace,
    ) -> Result<Box<dyn RuleProgram>, String> {
        match rule.rule.as_str() {
            "small" | "same" | "never" => Ok(Box::new(Word(rule.rule.clone()))),
            other => Err(format!("no such word: {other}")),
        }
    }
}

impl RuleProgram for Word {
    fn uses_old_self(&self) -> bool {
        self.0 == "same"
    }

    fn evaluate(&self, input: RuleInput<'_>) -> Evaluation<bool> {
        let holds = match self.0.as_str() {
            "small" => input.value.as_i64().is_some_and(|value| value < 10),
            "same" => input.old == Some(input.value),
            _ => false,
        };
        Evaluation {
            cost: 1,
            result: Ok(holds),
        }
    }

    fn message(&self, _: RuleInput<'_>) -> Option<Evaluation<String>> {
        None
    }
}

fn definition(rules: &Value) -> Value {
    let size = json!({"type": "integer", "x-kubernetes-validations": rules});
    let spec = json!({"type": "object", "properties": {
        "size": size, "label": {"type": "string", "maxLength": 3},
        "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "same", "message": "fixed for ever"}]},
    }});
    let status = json!({"type": "object", "properties": {"size": size}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "crates.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "crates", "kind": "Crate"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
            }],
        },
    })
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Crate", "metadata": {"name": "a"}, "spec": spec})
}

async fn server(rules: &Value) -> Server {
    let server = Server::with(Options {
        rule_compiler: Some(Arc::new(Words)),
        ..Options::default()
    })
    .await;
    let answer = server
        .ask(Ask::json(format!("POST {DEFINITIONS}"), &definition(rules)))
        .await;
    assert_eq!(answer.code, 201, "{:#}", answer.body);
    assert_eq!(answer.warnings(), [""; 0]);
    while server.ask(format!("GET {CRATES}")).await.code != 200 {
        tokio::task::yield_now().await;
    }
    server
}

#[tokio::test]
async fn rules_are_run_on_every_write() {
    let server =
        server(&json!([{"rule": "small", "message": "too big", "reason": "FieldValueForbidden"}])).await;
    let post = |spec: Value| Ask::json(format!("POST {CRATES}"), &object(spec));
    let patch = |path: &str, patch: Value| {
        Ask::new(format!("PATCH {CRATES}/a{path}")).typed("application/merge-patch+json", patch.to_string())
    };
    let answer = server
        .refused(post(json!({"size": 10})), 422, "spec.size: Forbidden: too big")
        .await;
    assert_eq!(
        answer.body["details"]["causes"][0]["reason"],
        "FieldValueForbidden"
    );
    // What makes values other than their types say keeps rules from being run.
    let answer = server
        .refused(post(json!({"size": 10, "label": "long"})), 422, "Too long")
        .await;
    let text = text(&answer.body["message"]);
    assert!(
        text.contains("some validation rules were not checked") && !text.contains("too big"),
        "{text}"
    );

    server.ok(post(json!({"size": 1, "fixed": "x"}))).await;
    server
        .refused(
            patch("", json!({"spec": {"fixed": "y"}})),
            422,
            "spec.fixed: Invalid value: \"y\": fixed for ever",
        )
        .await;
    server
        .refused(
            patch("/status", json!({"status": {"size": 10}})),
            422,
            "status.size: Forbidden: too big",
        )
        .await;
    let apply = object(json!({"size": 11}));
    let apply = Ask::new(format!("PATCH {CRATES}/b?fieldManager=me")).typed(
        "application/apply-patch+yaml",
        apply.to_string().replace("\"a\"", "\"b\""),
    );
    server.refused(apply, 422, "too big").await;
    server.ok(patch("", json!({"spec": {"size": 2}}))).await;
}

/// A rule that comes later does not keep old objects from being written, as long as what it is about stays.
#[tokio::test]
async fn what_did_not_change_is_warned_of() {
    let server = server(&json!([{"rule": "small"}])).await;
    server
        .ok(Ask::json(format!("POST {CRATES}"), &object(json!({"size": 9}))))
        .await;
    let mut present = server.ok(format!("GET {DEFINITIONS}/crates.example.com")).await;
    present["spec"] = definition(&json!([{"rule": "never", "message": "no"}]))["spec"].clone();
    server
        .ok(Ask::json(
            format!("PUT {DEFINITIONS}/crates.example.com"),
            &present,
        ))
        .await;
    // The new definition counts a moment after it was stored.
    let mut index = 0;
    let warned = loop {
        index += 1;
        let patch = json!({"metadata": {"labels": {"index": index.to_string()}}});
        let patch =
            Ask::new(format!("PATCH {CRATES}/a")).typed("application/merge-patch+json", patch.to_string());
        let answer = server.ask(patch).await;
        assert_eq!(answer.code, 200);
        if let [warning] = answer.warnings()[..] {
            break warning.to_owned();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(warned, r#"299 - "spec.size: Invalid value: 9: no""#);
    let patch =
        Ask::new(format!("PATCH {CRATES}/a")).typed("application/merge-patch+json", r#"{"spec":{"size":8}}"#);
    server
        .refused(patch, 422, "spec.size: Invalid value: 8: no")
        .await;
}

#[tokio::test]
async fn rules_that_do_not_compile_are_refused() {
    let server = server(&json!([{"rule": "small"}])).await;
    server
        .ok(format!("DELETE {DEFINITIONS}/crates.example.com"))
        .await;
    while server
        .ask(format!("GET {DEFINITIONS}/crates.example.com"))
        .await
        .code
        != 404
    {
        tokio::task::yield_now().await;
    }
    let ask = Ask::json(
        format!("POST {DEFINITIONS}"),
        &definition(&json!([{"rule": "small"}, {"rule": "odd"}])),
    );
    let path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].x-kubernetes-validations[1].rule";
    let text = format!("{path}: Invalid value: \"odd\": compilation failed: no such word: odd");
    server.refused(ask, 422, &text).await;
}

#[tokio::test]
async fn without_a_compiler_rules_are_kept_and_warned_of() {
    let server = Server::start().await;
    let answer = server
        .ask(Ask::json(
            format!("POST {DEFINITIONS}"),
            &definition(&json!([{"rule": "never"}])),
        ))
        .await;
    assert_eq!(answer.code, 201);
    let text = "299 - \"spec.versions[0].schema.openAPIV3Schema: x-kubernetes-validations are stored, but this server does not enforce them yet\"";
    assert_eq!(answer.warnings(), [text]);
    while server.ask(format!("GET {CRATES}")).await.code != 200 {
        tokio::task::yield_now().await;
    }
    server
        .ok(Ask::json(format!("POST {CRATES}"), &object(json!({"size": 100}))))
        .await;
    let mut plain = definition(&json!([]));
    plain["metadata"]["name"] = "boxes.example.com".into();
    plain["spec"]["names"] = json!({"plural": "boxes", "kind": "Box"});
    let fields =
        &mut plain["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    fields.as_object_mut().unwrap().remove("fixed");
    let answer = server.ask(Ask::json(format!("POST {DEFINITIONS}"), &plain)).await;
    assert_eq!((answer.code, answer.warnings()), (201, Vec::new()));
}
