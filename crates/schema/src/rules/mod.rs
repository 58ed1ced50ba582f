//! Rules of `x-kubernetes-validations`: which are run on which values, and what is said where one does not hold.
//!
//! The language of rules, CEL, is not part of this crate. Whoever speaks it implements [`RuleCompiler`] and [`RuleProgram`];
//! [`StructuralSchema::compile_rules`] has all rules of a schema compiled, and [`Rules::validate`] runs them on an object, as
//! apiextensions `pkg/apiserver/schema/cel/validation.go` does.
//!
//! What is decided here: that null has no rules, which old value belongs to a value (members of objects and items of lists of type map
//! have one), that a transition rule waits for one, the budget of an object, messages, reasons and paths of errors, and that an error
//! of a value that did not change is told as a warning (KEP-4008).

pub(crate) mod field_path;

use std::collections::BTreeMap;
use std::fmt;

use kubewright_core::json::by_name;
use kubewright_core::{FieldError, FieldErrorKind, FieldPath};
use serde_json::Value;

use self::field_path::normalize;
use crate::structural::{StructuralSchema, ValidationRule};
use crate::validate::Correlated;

/// What all rules of one object may cost in all, in units of CEL's cost model (apiserver pkg/apis/cel/config.go
/// `RuntimeCELCostBudget`).
pub const RULE_COST_BUDGET: u64 = 10_000_000;
/// The longest message that a `messageExpression` may make, in bytes (`MaxEvaluatedMessageExpressionSizeBytes`).
pub const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// Turns rules into programs.
pub trait RuleCompiler: fmt::Debug + Send + Sync {
    /// Compiles one rule, with its `messageExpression` where it has one. `schema` is that of `self`; `place` says whether `self` has
    /// the fields that every resource has.
    ///
    /// # Errors
    /// The text of what is wrong with the rule, for the author of the definition.
    fn compile(
        &self,
        rule: &ValidationRule,
        schema: &StructuralSchema,
        place: RulePlace,
    ) -> Result<Box<dyn RuleProgram>, String>;
}

/// What a rule stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulePlace {
    /// A whole resource, or one that is embedded in another: `self` has `apiVersion`, `kind` and `metadata`.
    Resource,
    /// A part of one.
    Part,
}

/// A compiled rule.
pub trait RuleProgram: fmt::Debug + Send + Sync {
    /// Whether the rule reads `oldSelf`, which makes it a transition rule.
    fn uses_old_self(&self) -> bool;

    /// Runs the rule.
    fn evaluate(&self, input: RuleInput<'_>) -> Evaluation<bool>;

    /// Runs the `messageExpression`; `None` where the rule has none.
    fn message(&self, input: RuleInput<'_>) -> Option<Evaluation<String>>;
}

/// What a rule is run on.
#[derive(Clone, Copy, Debug)]
pub struct RuleInput<'a> {
    /// `self`; never null.
    pub value: &'a Value,
    /// `oldSelf`, where there is one.
    pub old: Option<&'a Value>,
    /// Whether `oldSelf` is of an optional type (`optionalOldSelf`).
    pub optional_old_self: bool,
}

/// What came of running a program, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation<T> {
    /// In units of CEL's cost model.
    pub cost: u64,
    /// The value, or why there is none.
    pub result: Result<T, EvaluationError>,
}

/// Why a program came to no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// No function takes arguments of these types.
    #[error("{0}")]
    NoSuchOverload(String),
    /// The program cost more than one call may.
    #[error("{0}")]
    CostExceeded(String),
    /// Anything else: a key that is not there, a division by zero.
    #[error("{0}")]
    Failed(String),
}

/// The rules of a schema, compiled. Immutable; can be shared between threads.
#[derive(Debug)]
pub struct Rules {
    root: Node,
}

/// What rules find.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleFindings {
    /// What is wrong.
    pub errors: Vec<FieldError>,
    /// What is wrong, and was before: told by warnings.
    pub warnings: Vec<String>,
}

/// The rules of one schema and of those below it.
#[derive(Debug)]
struct Node {
    /// The type of values; empty where the schema names none.
    type_name: &'static str,
    rules: Vec<CompiledRule>,
    items: Option<Box<Self>>,
    properties: BTreeMap<String, Self>,
    additional: Option<Box<Self>>,
    all_of: Vec<Self>,
}

#[derive(Debug)]
struct CompiledRule {
    rule: ValidationRule,
    /// Where an error is reported, below the value.
    path: Option<FieldPath>,
    program: Result<Box<dyn RuleProgram>, RuleFault>,
}

/// Why a rule cannot be run.
#[derive(Debug, thiserror::Error)]
enum RuleFault {
    #[error("invalid fieldPath: {0}")]
    Path(String),
    #[error("{0}")]
    Rule(String),
}

impl StructuralSchema {
    /// Whether there are rules at this schema or below it.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.items.as_deref().is_some_and(Self::has_rules)
            || self.additional_schema().is_some_and(Self::has_rules)
            || self.properties.values().any(Self::has_rules)
            || self.all_of().iter().any(Self::has_rules)
    }

    /// What is wrong with the rules: those that do not compile, and paths that name nothing. `path` is where the schema stands in a
    /// definition.
    pub fn check_rules(&self, compiler: &dyn RuleCompiler, path: &FieldPath) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(root) = node(compiler, self, self, RulePlace::Resource) {
            root.check(path, &mut errors);
        }
        errors
    }

    /// Has all rules compiled. `None` where there are none. A rule that does not compile is an error of each object that it is to be
    /// run on.
    pub fn compile_rules(&self, compiler: &dyn RuleCompiler) -> Option<Rules> {
        let root = node(compiler, self, self, RulePlace::Resource)?;
        Some(Rules { root })
    }
}

impl Node {
    fn check(&self, path: &FieldPath, errors: &mut Vec<FieldError>) {
        for (index, compiled) in self.rules.iter().enumerate() {
            let Err(fault) = &compiled.program else { continue };
            let rule = path.child("x-kubernetes-validations").index(index);
            let (field, value, why) = match fault {
                RuleFault::Path(why) => ("fieldPath", compiled.rule.field_path.as_deref(), why.clone()),
                RuleFault::Rule(why) => (
                    "rule",
                    Some(compiled.rule.rule.as_str()),
                    format!("compilation failed: {why}"),
                ),
            };
            errors.push(FieldError::invalid(
                rule.child(field),
                value.unwrap_or_default(),
                why,
            ));
        }
        if let Some(items) = &self.items {
            items.check(&path.child("items"), errors);
        }
        for (name, property) in &self.properties {
            property.check(&path.child("properties").key(name), errors);
        }
        if let Some(additional) = &self.additional {
            additional.check(&path.child("additionalProperties"), errors);
        }
        for (index, part) in self.all_of.iter().enumerate() {
            part.check(&path.child("allOf").index(index), errors);
        }
    }
}

/// Compiles the rules of `part`, which is `schema` itself or one of its `allOf`: that brings rules, and has no types of its own.
fn node(
    compiler: &dyn RuleCompiler,
    part: &StructuralSchema,
    schema: &StructuralSchema,
    place: RulePlace,
) -> Option<Node> {
    let below = |part: Option<&StructuralSchema>, schema: Option<&StructuralSchema>| {
        let (part, schema) = part.zip(schema)?;
        node(compiler, part, schema, place_of(schema)).map(Box::new)
    };
    let rules = part
        .rules
        .iter()
        .map(|rule| compile(compiler, rule, schema, place));
    let properties = part.properties.iter().filter_map(|(name, part)| {
        let schema = schema.properties.get(name).filter(|schema| is_typed(schema))?;
        Some((name.clone(), node(compiler, part, schema, place_of(schema))?))
    });
    let all_of = part.all_of().iter();
    let node = Node {
        type_name: schema.json_type().map_or("", |one| one.as_str()),
        rules: rules.collect(),
        items: below(part.items.as_deref(), schema.items.as_deref()),
        properties: properties.collect(),
        additional: below(part.additional_schema(), schema.additional_schema()),
        all_of: all_of
            .filter_map(|part| node(compiler, part, schema, place))
            .collect(),
    };
    let has_rules = !node.rules.is_empty()
        || node.items.is_some()
        || node.additional.is_some()
        || !node.properties.is_empty()
        || !node.all_of.is_empty();
    has_rules.then_some(node)
}

fn compile(
    compiler: &dyn RuleCompiler,
    rule: &ValidationRule,
    schema: &StructuralSchema,
    place: RulePlace,
) -> CompiledRule {
    let path = rule.field_path.as_deref().filter(|path| !path.is_empty());
    let (path, program) = match path.map(|path| normalize(path, schema)).transpose() {
        Ok(path) => (
            path,
            compiler.compile(rule, schema, place).map_err(RuleFault::Rule),
        ),
        Err(error) => (None, Err(RuleFault::Path(error))),
    };
    CompiledRule {
        rule: rule.clone(),
        path,
        program,
    }
}

fn place_of(schema: &StructuralSchema) -> RulePlace {
    if schema.embedded_resource {
        RulePlace::Resource
    } else {
        RulePlace::Part
    }
}

/// Whether values have a type in CEL. Those that have none are left out of rules altogether (apiserver pkg/cel/common/schemas.go
/// `SchemaDeclType`).
fn is_typed(schema: &StructuralSchema) -> bool {
    if schema.types.is_empty() && !schema.int_or_string {
        return false;
    }
    schema.items.as_deref().is_none_or(is_typed) && schema.additional_schema().is_none_or(is_typed)
}

impl Rules {
    /// Runs the rules on an object, and on update on what it was. The first rule that would cost more than is left of `budget` ends it;
    /// see [`RULE_COST_BUDGET`].
    ///
    /// `schema` is the one that the rules were compiled of.
    pub fn validate(
        &self,
        schema: &StructuralSchema,
        object: &Value,
        old: Option<&Value>,
        budget: u64,
    ) -> RuleFindings {
        let old = old.map(|old| Correlated { old, schema });
        let mut run = Run {
            path: FieldPath::root(),
            left: Some(budget),
            findings: RuleFindings::default(),
        };
        let ratchet = Ratchet {
            current: old.map(|old| (object, old.old)),
            parent: None,
        };
        run.visit(&self.root, object, old, ratchet);
        run.findings
    }
}

/// The nearest values that can be compared with what they were: the present one, where it can, and the one it is part of.
#[derive(Clone, Copy)]
struct Ratchet<'a> {
    current: Option<(&'a Value, &'a Value)>,
    parent: Option<(&'a Value, &'a Value)>,
}

impl<'a> Ratchet<'a> {
    /// Whether nothing changed.
    fn holds(&self) -> bool {
        self.current.or(self.parent).is_some_and(|(new, old)| new == old)
    }

    /// The same for a part of the present value.
    fn below(self, new: &'a Value, old: Option<Correlated<'a>>) -> Self {
        match self.current {
            None => self,
            Some(_) => Self {
                current: old.map(|old| (new, old.old)),
                parent: self.current,
            },
        }
    }
}

struct Run {
    path: FieldPath,
    /// What is left to spend; `None` once nothing more is run.
    left: Option<u64>,
    findings: RuleFindings,
}

impl Run {
    fn visit<'a>(
        &mut self,
        node: &Node,
        value: &'a Value,
        old: Option<Correlated<'a>>,
        ratchet: Ratchet<'a>,
    ) {
        if value.is_null() || self.left.is_none() {
            return;
        }
        self.evaluate_all(node, value, old.map(|old| old.old), ratchet);
        for part in &node.all_of {
            // Parts are not compared with what they were, as in the checks of schemas.
            let ratchet = Ratchet {
                current: None,
                ..ratchet
            };
            self.visit(part, value, old, ratchet);
        }
        match value {
            Value::Array(items) => {
                let Some(below) = &node.items else { return };
                let old_items = old.and_then(Correlated::items);
                for (index, item) in items.iter().enumerate() {
                    let old = old_items.as_ref().and_then(|old| old.item(item));
                    let path = self.path.index(index);
                    self.at(path, |run| run.visit(below, item, old, ratchet.below(item, old)));
                }
            }
            Value::Object(members) => {
                for (name, member) in by_name(members) {
                    if let Some(below) = &node.additional {
                        let path = self.path.key(name);
                        self.member(below, path, name, member, old, ratchet);
                    }
                    if let Some(below) = node.properties.get(name) {
                        let path = self.path.child(name);
                        self.member(below, path, name, member, old, ratchet);
                    }
                }
            }
            _ => {}
        }
    }

    fn member<'a>(
        &mut self,
        node: &Node,
        path: FieldPath,
        name: &str,
        member: &'a Value,
        old: Option<Correlated<'a>>,
        ratchet: Ratchet<'a>,
    ) {
        let old = old.and_then(|old| old.member(name));
        // What version an object was sent in does not show in the old one.
        let is_type = ratchet.parent.is_none() && matches!(name, "apiVersion" | "kind");
        let ratchet = if is_type {
            Ratchet {
                current: None,
                parent: None,
            }
        } else {
            ratchet.below(member, old)
        };
        self.at(path, |run| run.visit(node, member, old, ratchet));
    }

    fn at(&mut self, path: FieldPath, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.path, path);
        visit(self);
        self.path = outside;
    }

    fn evaluate_all(&mut self, node: &Node, value: &Value, old: Option<&Value>, ratchet: Ratchet<'_>) {
        for compiled in &node.rules {
            if self.left.is_none() {
                return;
            }
            self.evaluate(node, compiled, value, old, ratchet);
        }
    }

    fn evaluate(
        &mut self,
        node: &Node,
        compiled: &CompiledRule,
        value: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
    ) {
        let type_name = node.type_name;
        if self.left == Some(0) {
            return self.stop(type_name, OUT_OF_BUDGET);
        }
        let program = match &compiled.program {
            Ok(program) => program,
            Err(error) => return self.invalid(type_name, format!("rule compile error: {error}")),
        };
        let rule = &compiled.rule;
        let optional_old_self = rule.optional_old_self.unwrap_or(false);
        if program.uses_old_self() && old.is_none() && !optional_old_self {
            return;
        }
        let input = RuleInput {
            value,
            old,
            optional_old_self,
        };
        let evaluation = program.evaluate(input);
        if !self.pay(evaluation.cost) {
            return self.stop(type_name, OUT_OF_BUDGET);
        }
        let holds = match evaluation.result {
            Ok(holds) => holds,
            Err(error) => return self.failed(type_name, rule, &error),
        };
        if holds {
            return;
        }
        let path = compiled.path.as_ref();
        let path = path.map_or_else(|| self.path.clone(), |below| below_path(&self.path, below));
        let is_ratcheted = !program.uses_old_self() && ratchet.holds();
        let input = RuleInput {
            optional_old_self: false,
            ..input
        };
        let message = program.message(input).map(|message| self.message(rule, message));
        let detail = match message {
            Some(Ok(Some(text))) => text,
            Some(Ok(None)) | None => message_of(rule),
            Some(Err(stop)) => {
                self.add(is_ratcheted, FieldError::invalid(path, type_name, stop));
                self.left = None;
                return;
            }
        };
        let value = Some(value).filter(|_| !matches!(type_name, "object" | "array"));
        self.add(is_ratcheted, error_for(rule, path, value.cloned(), detail));
    }

    /// The text that a `messageExpression` made; `None` where what it made is no message.
    ///
    /// # Errors
    /// The text of an error after which nothing more is run.
    fn message(
        &mut self,
        rule: &ValidationRule,
        evaluation: Evaluation<String>,
    ) -> Result<Option<String>, String> {
        if !self.pay(evaluation.cost) {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
                    .to_owned(),
            );
        }
        let text = match evaluation.result {
            Ok(text) => text,
            Err(EvaluationError::CostExceeded(_)) => {
                let source = rule.message_expression.as_deref().unwrap_or_default();
                return Err(format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {source:?}"
                ));
            }
            // The rule has failed all the same, and says so in its own words.
            Err(_) => return Ok(None),
        };
        let text = text.trim();
        let is_message = !text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE_BYTES;
        Ok(is_message.then(|| text.to_owned()))
    }

    /// Whether there was enough left.
    fn pay(&mut self, cost: u64) -> bool {
        match self.left.and_then(|left| left.checked_sub(cost)) {
            Some(left) => {
                self.left = Some(left);
                true
            }
            None => false,
        }
    }

    fn failed(&mut self, type_name: &str, rule: &ValidationRule, error: &EvaluationError) {
        let name = name_of(rule);
        match error {
            EvaluationError::NoSuchOverload(why) => self.invalid(
                type_name,
                format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {name}"
                ),
            ),
            EvaluationError::CostExceeded(why) => self.stop(
                type_name,
                &format!(
                    "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {name}"
                ),
            ),
            EvaluationError::Failed(why) => {
                self.invalid(type_name, format!("{why} evaluating rule: {name}"));
            }
        }
    }

    fn stop(&mut self, type_name: &str, detail: &str) {
        self.invalid(type_name, detail.to_owned());
        self.left = None;
    }

    /// Upstream shows the name of the type in the place of the value where a rule came to nothing.
    fn invalid(&mut self, type_name: &str, detail: String) {
        self.add(false, FieldError::invalid(self.path.clone(), type_name, detail));
    }

    fn add(&mut self, is_ratcheted: bool, error: FieldError) {
        if is_ratcheted {
            self.findings.warnings.push(error.to_string());
        } else {
            self.findings.errors.push(error);
        }
    }
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

fn below_path(path: &FieldPath, below: &FieldPath) -> FieldPath {
    path.child(below.as_str())
}

fn error_for(rule: &ValidationRule, path: FieldPath, value: Option<Value>, detail: String) -> FieldError {
    match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldError::forbidden(path, detail),
        Some("FieldValueRequired") => FieldError::required(path, detail),
        Some("FieldValueDuplicate") => FieldError {
            kind: FieldErrorKind::Duplicate,
            path,
            bad_value: value,
            detail: String::new(),
        },
        _ => FieldError {
            kind: FieldErrorKind::Invalid,
            path,
            bad_value: value,
            detail,
        },
    }
}

fn message_of(rule: &ValidationRule) -> String {
    match rule.message.as_deref().filter(|message| !message.is_empty()) {
        Some(message) => message.trim().to_owned(),
        None => format!("failed rule: {}", name_of(rule)),
    }
}

/// What a rule is called in errors: its message, or itself.
fn name_of(rule: &ValidationRule) -> &str {
    let message = rule.message.as_deref().filter(|message| !message.is_empty());
    message.unwrap_or(&rule.rule).trim()
}

#[cfg(test)]
mod tests;
