use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Speaks a language of a few words. Each run costs as many units as the rule has bytes.
#[derive(Clone, Debug, Default)]
struct Stub {
    runs: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Program {
    rule: ValidationRule,
    place: RulePlace,
    runs: Arc<AtomicU64>,
}

impl RuleCompiler for Stub {
    fn compile(
        &self,
        rule: &ValidationRule,
        _: &StructuralSchema,
        place: RulePlace,
    ) -> Result<Box<dyn RuleProgram>, String> {
        if rule.rule == "gibberish" {
            return Err("undeclared reference".to_owned());
        }
        Ok(Box::new(Program {
            rule: rule.clone(),
            place,
            runs: self.runs.clone(),
        }))
    }
}

impl RuleProgram for Program {
    fn uses_old_self(&self) -> bool {
        self.rule.rule.contains("old")
    }

    fn evaluate(&self, input: RuleInput<'_>) -> Evaluation<bool> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let result = match self.rule.rule.trim() {
            "true" => Ok(true),
            "is resource" => Ok(self.place == RulePlace::Resource),
            "same as old" => Ok(input.old == Some(input.value)),
            "optional old" => Ok(input.old.is_some() && input.optional_old_self),
            "overload" => Err(EvaluationError::NoSuchOverload("no such overload".into())),
            "endless" => Err(EvaluationError::CostExceeded("operation cancelled".into())),
            "division" => Err(EvaluationError::Failed("division by zero".into())),
            _ => Ok(false),
        };
        Evaluation {
            cost: self.rule.rule.len() as u64,
            result,
        }
    }

    fn message(&self, input: RuleInput<'_>) -> Option<Evaluation<String>> {
        assert!(!input.optional_old_self);
        let result = match self.rule.message_expression.as_deref()? {
            "endless" => Err(EvaluationError::CostExceeded("operation cancelled".into())),
            "division" => Err(EvaluationError::Failed("division by zero".into())),
            "long" => Ok("x".repeat(MAX_MESSAGE_BYTES + 1)),
            text => Ok(text.to_owned()),
        };
        Some(Evaluation { cost: 10, result })
    }
}

fn run(schema: &Value, object: &Value, old: Option<&Value>, budget: u64) -> RuleFindings {
    let schema = StructuralSchema::parse(schema).unwrap();
    let rules = schema.compile_rules(&Stub::default()).expect("there are rules");
    assert!(schema.has_rules());
    rules.validate(&schema, object, old, budget)
}

/// A schema of an object with one field.
fn of_field(field: Value) -> Value {
    json!({"type": "object", "properties": {"f": field}})
}

fn texts(findings: &RuleFindings) -> Vec<String> {
    findings.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_said() {
    let string = |rule: Value| of_field(json!({"type": "string", "x-kubernetes-validations": [rule]}));
    let object = |rule: Value| {
        of_field(
            json!({"type": "object", "properties": {"x": {"type": "string"}}, "x-kubernetes-validations": [rule]}),
        )
    };
    for (schema, expect) in [
        (string(json!({"rule": "true"})), None),
        (
            string(json!({"rule": " no "})),
            Some("f: Invalid value: \"v\": failed rule: no"),
        ),
        (
            string(json!({"rule": "no", "message": " must be "})),
            Some("f: Invalid value: \"v\": must be"),
        ),
        (
            string(json!({"rule": "no", "message": "m", "messageExpression": " made "})),
            Some("f: Invalid value: \"v\": made"),
        ),
        (
            string(json!({"rule": "no", "message": "m", "messageExpression": "a\nb"})),
            Some("f: Invalid value: \"v\": m"),
        ),
        (
            string(json!({"rule": "no", "message": "m", "messageExpression": "long"})),
            Some("f: Invalid value: \"v\": m"),
        ),
        (
            string(json!({"rule": "no", "message": "m", "messageExpression": " "})),
            Some("f: Invalid value: \"v\": m"),
        ),
        (
            string(json!({"rule": "no", "messageExpression": "division"})),
            Some("f: Invalid value: \"v\": failed rule: no"),
        ),
        (
            string(json!({"rule": "no", "messageExpression": "endless"})),
            Some(
                "f: Invalid value: \"string\": no further validation rules will be run due to call cost exceeds limit for messageExpression: \"endless\"",
            ),
        ),
        (
            string(json!({"rule": "no", "message": "m", "reason": "FieldValueForbidden"})),
            Some("f: Forbidden: m"),
        ),
        (
            string(json!({"rule": "no", "message": "m", "reason": "FieldValueRequired"})),
            Some("f: Required value: m"),
        ),
        (
            string(json!({"rule": "no", "message": "m", "reason": "FieldValueDuplicate"})),
            Some("f: Duplicate value: \"v\""),
        ),
        (
            string(json!({"rule": "no", "message": "m", "reason": "FieldValueInvalid"})),
            Some("f: Invalid value: \"v\": m"),
        ),
        (
            string(json!({"rule": "overload", "message": "m"})),
            Some(
                "f: Invalid value: \"string\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: m",
            ),
        ),
        (
            string(json!({"rule": "division"})),
            Some("f: Invalid value: \"string\": division by zero evaluating rule: division"),
        ),
        (
            string(json!({"rule": "endless"})),
            Some(
                "f: Invalid value: \"string\": 'operation cancelled': no further validation rules will be run due to call cost exceeds limit for rule: endless",
            ),
        ),
        (
            string(json!({"rule": "gibberish"})),
            Some("f: Invalid value: \"string\": rule compile error: undeclared reference"),
        ),
        // Objects and lists are not shown.
        (
            object(json!({"rule": "no", "message": "m"})),
            Some("f: Invalid value: m"),
        ),
        (
            object(json!({"rule": "no", "message": "m", "fieldPath": ".x"})),
            Some("f.x: Invalid value: m"),
        ),
        (
            object(json!({"rule": "no", "fieldPath": ".y"})),
            Some(
                "f: Invalid value: \"object\": rule compile error: invalid fieldPath: does not refer to a valid field",
            ),
        ),
    ] {
        let value = if schema["properties"]["f"]["type"] == "string" {
            json!("v")
        } else {
            json!({"x": "v"})
        };
        let found = run(&schema, &json!({"f": value}), None, RULE_COST_BUDGET);
        assert_eq!(
            texts(&found).first().map(String::as_str),
            expect,
            "{}",
            schema["properties"]["f"]
        );
        assert!(found.errors.len() <= 1 && found.warnings.is_empty());
    }
}

#[test]
fn where_rules_run() {
    let no = json!([{"rule": "no", "message": "m"}]);
    let string = json!({"type": "string", "x-kubernetes-validations": no});
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "is resource"}], "properties": {
        "list": {"type": "array", "items": string},
        "map": {"type": "object", "additionalProperties": string},
        "plain": {"type": "object", "x-kubernetes-validations": [{"rule": "is resource", "message": "a part"}]},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "is resource"}]},
        "nullable": {"type": "string", "nullable": true, "x-kubernetes-validations": no},
        "untyped": {"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": no},
        "either": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": no},
        "parts": {"type": "object", "properties": {"x": {"type": "string"}}, "allOf": [
            {"x-kubernetes-validations": [{"rule": "no", "message": "all"}], "properties": {"x": {"x-kubernetes-validations": no}, "y": {"x-kubernetes-validations": no}}},
        ]},
    }});
    let object = json!({
        "either": 1, "embedded": {}, "list": ["a", "b"], "map": {"a.b": "v", "k": "v"}, "nullable": null,
        "parts": {"x": "1", "y": "2"}, "plain": {}, "untyped": 1,
    });
    let found = run(&schema, &object, None, RULE_COST_BUDGET);
    assert_eq!(
        texts(&found),
        [
            "either: Invalid value: 1: m",
            "list[0]: Invalid value: \"a\": m",
            "list[1]: Invalid value: \"b\": m",
            "map[a.b]: Invalid value: \"v\": m",
            "map[k]: Invalid value: \"v\": m",
            "parts: Invalid value: all",
            "parts.x: Invalid value: \"1\": m",
            "plain: Invalid value: a part",
        ]
    );
}

#[test]
fn transitions() {
    let rule =
        |rule: &str, optional: bool| json!([{"rule": rule, "message": "m", "optionalOldSelf": optional}]);
    let same = rule("same as old", false);
    let schema = json!({"type": "object", "properties": {
        "s": {"type": "string", "x-kubernetes-validations": same},
        "o": {"type": "string", "x-kubernetes-validations": rule("optional old", true)},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "x-kubernetes-validations": same}}}},
        "plain": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": same}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": same}},
    }});
    let old = json!({"s": "a", "o": "x", "keyed": [{"k": "1", "v": "a"}, {"k": "2", "v": "b"}], "plain": ["a"], "map": {"k": "a"}});
    for (object, expect) in [
        (json!({"s": "a", "o": "x"}), vec![]),
        (json!({"s": "b"}), vec!["s: Invalid value: \"b\": m"]),
        // Items of lists without keys have no old self; those with keys have it wherever they stand.
        (json!({"plain": ["b"]}), vec![]),
        (
            json!({"keyed": [{"k": "2", "v": "b"}, {"k": "1", "v": "x"}, {"k": "3", "v": "x"}]}),
            vec!["keyed[1].v: Invalid value: \"x\": m"],
        ),
        (
            json!({"map": {"k": "b", "new": "b"}}),
            vec!["map[k]: Invalid value: \"b\": m"],
        ),
    ] {
        let found = run(&schema, &object, Some(&old), RULE_COST_BUDGET);
        assert_eq!(texts(&found), expect, "{object}");
        assert!(found.warnings.is_empty());
    }
    // What is new has no old self; only a rule that takes it as optional runs.
    let found = run(&schema, &json!({"s": "b", "o": "y"}), None, RULE_COST_BUDGET);
    assert_eq!(texts(&found), ["o: Invalid value: \"y\": m"]);
}

/// KEP-4008: what did not change is told, and let through.
#[test]
fn unchanged_values_are_warned_of() {
    let no = json!([{"rule": "no", "message": "m"}]);
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "object", "properties": {"s": {"type": "string", "x-kubernetes-validations": no}}},
        "plain": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": no}},
        "part": {"type": "string", "allOf": [{"x-kubernetes-validations": no}]},
        "kind": {"type": "string", "x-kubernetes-validations": no},
    }});
    let old = json!({"a": {"s": "1"}, "plain": ["x", "y"], "part": "p", "kind": "K"});
    let error = |text: &str| (vec![text.to_owned()], Vec::<String>::new());
    let warning = |text: &str| (Vec::new(), vec![text.to_owned()]);
    for (object, expect) in [
        (json!({"a": {"s": "1"}}), warning("a.s: Invalid value: \"1\": m")),
        (json!({"a": {"s": "2"}}), error("a.s: Invalid value: \"2\": m")),
        // The list as a whole is what can be compared.
        (
            json!({"plain": ["x"]}),
            error("plain[0]: Invalid value: \"x\": m"),
        ),
        (
            json!({"plain": ["x", "y"]}),
            (
                vec![],
                vec![
                    "plain[0]: Invalid value: \"x\": m".into(),
                    "plain[1]: Invalid value: \"y\": m".into(),
                ],
            ),
        ),
        // A part is not compared by itself, only what holds it.
        (json!({"part": "p"}), error("part: Invalid value: \"p\": m")),
        (json!({"kind": "K"}), error("kind: Invalid value: \"K\": m")),
    ] {
        let found = run(&schema, &object, Some(&old), RULE_COST_BUDGET);
        assert_eq!((texts(&found), found.warnings), expect, "{object}");
    }
    let found = run(&schema, &json!({"a": {"s": "1"}}), None, RULE_COST_BUDGET);
    assert_eq!(texts(&found), ["a.s: Invalid value: \"1\": m"]);
}

#[test]
fn a_budget_ends() {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {
        "type": "string", "x-kubernetes-validations": [{"rule": "12345678"}],
    }}}});
    let object = json!({"l": ["a", "b", "c", "d"]});
    let stopped = |at: usize| {
        format!(
            "l[{at}]: Invalid value: \"string\": validation failed due to running out of cost budget, no further validation rules will be run"
        )
    };
    for (budget, failed, ends_at) in [
        (1000, 4, None),
        (32, 4, None),
        (31, 3, Some(3)),
        (16, 2, Some(2)),
        (1, 0, Some(0)),
        (0, 0, Some(0)),
    ] {
        let found = texts(&run(&schema, &object, None, budget));
        let (last, rest) = found.split_at(failed);
        assert!(last.iter().all(|text| text.ends_with("failed rule: 12345678")));
        assert_eq!(
            rest,
            ends_at.map(stopped).into_iter().collect::<Vec<_>>(),
            "{budget}"
        );
    }
}

#[test]
fn a_schema_without_rules_has_none() {
    let schema = StructuralSchema::parse(&of_field(json!({"type": "string"}))).unwrap();
    assert!(!schema.has_rules());
    assert!(schema.compile_rules(&Stub::default()).is_none());
}

proptest! {
    /// Whatever the object looks like, rules end within their budget, and say where it is at fault.
    #[test]
    fn any_object_ends(depth in 0_usize..6, width in 1_usize..5, budget in 0_u64..500) {
        fn value(depth: usize, width: usize) -> Value {
            match depth {
                0 => json!("v"),
                _ if depth.is_multiple_of(2) => Value::Array(vec![value(depth - 1, width); width]),
                _ => Value::Object((0..width).map(|i| (format!("k{i}"), value(depth - 1, width))).collect()),
            }
        }
        fn schema(depth: usize) -> Value {
            let rules = json!([{"rule": "no"}]);
            match depth {
                0 => json!({"type": "string", "x-kubernetes-validations": rules}),
                _ if depth.is_multiple_of(2) => json!({"type": "array", "items": schema(depth - 1), "x-kubernetes-validations": rules}),
                _ => json!({"type": "object", "additionalProperties": schema(depth - 1), "x-kubernetes-validations": rules}),
            }
        }
        let stub = Stub::default();
        let schema = StructuralSchema::parse(&of_field(schema(depth))).unwrap();
        let rules = schema.compile_rules(&stub).unwrap();
        let object = json!({"f": value(depth, width)});
        let found = rules.validate(&schema, &object, None, budget);
        // Two units each; the one that finds too little left is run for nothing.
        prop_assert!(stub.runs.load(Ordering::Relaxed) <= budget / 2 + 1);
        prop_assert!(found.errors.iter().all(|error| error.path.as_str().starts_with('f')));
        prop_assert_eq!(&found, &rules.validate(&schema, &object, None, budget));
    }
}

#[test]
fn rules_that_do_not_compile_are_told_of_where_they_stand() {
    let bad = json!([{"rule": "true"}, {"rule": "gibberish"}]);
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "true", "fieldPath": ".none"}], "properties": {
        "list": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": bad}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": bad}},
    }});
    let schema = StructuralSchema::parse(&schema).unwrap();
    let errors: Vec<String> = schema
        .check_rules(&Stub::default(), &FieldPath::new("root"))
        .iter()
        .map(|error| format!("{} {}", error.path, error.detail))
        .collect();
    let expect = [
        "root.properties[list].items.x-kubernetes-validations[1].rule compilation failed: undeclared reference",
        "root.properties[map].additionalProperties.x-kubernetes-validations[1].rule compilation failed: undeclared reference",
    ];
    assert!(
        errors[0].starts_with("root.x-kubernetes-validations[0].fieldPath "),
        "{errors:?}"
    );
    assert_eq!(errors[1..], expect);
    let none = StructuralSchema::parse(&json!({"type": "object"})).unwrap();
    assert_eq!(none.check_rules(&Stub::default(), &FieldPath::root()), []);
}
