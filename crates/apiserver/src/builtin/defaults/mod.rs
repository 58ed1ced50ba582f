//! Defaulting of the built-in kinds, as data: for each kind a list of [`Rule`]s, run in order.
//!
//! Upstream sources: `pkg/apis/*/{v1,v2}/defaults.go`, `zz_generated.defaults.go` and the `+default` markers of
//! `k8s.io/api`. Two Go notions of "not set" are kept apart: a nil pointer ([`Rule::Nil`]) and the zero value
//! ([`Rule::Zero`]), since `replicas: 0` is a choice while `timeoutSeconds: 0` of a probe is none.

mod kinds;
mod pod;
mod pod_resources;

pub(crate) use kinds::TEMPLATE_GENERATION;
pub(crate) use pod_resources::aggregate;

use super::value::{Object, child, is_nil, is_zero};
use serde_json::Value;

/// Fields whose empty list is a choice: their defaults ask for nil, and validation refuses what is empty. What a client sends is else the
/// same empty or not there, as it is once it has been stored.
pub(crate) const EMPTY_IS_NOT_NONE: &[(&str, &str)] = &[
    ("io.k8s.api.autoscaling.v2.HPAScalingRules", "policies"),
    (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec",
        "versions",
    ),
];

/// Sets the defaults of a built-in kind in `object`; a kind without rules is left as it is.
///
/// Idempotent. A value of the wrong type is left alone: decoding refuses it elsewhere.
pub(crate) fn apply(group: &str, version: &str, kind: &str, object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        run(kinds::rules(group, version, kind), object);
    }
}

/// One default. The first field of each rule is the path to the objects it works on.
///
/// A path is a list of segments joined by dots: `name` enters an object that is there, `name!` makes the object when
/// it is absent (a Go struct that is no pointer always exists) and `name[]` enters every item of a list. The empty
/// path is the object itself.
enum Rule {
    /// Sets a field that is absent or null.
    Nil(&'static str, &'static str, Literal),
    /// Sets a field that is absent, null or the zero value of its type.
    Zero(&'static str, &'static str, Literal),
    /// Runs a function: for what depends on other fields.
    Run(&'static str, fn(&mut Object)),
    /// Runs the rules of a type that several kinds share.
    Use(&'static str, &'static [Self]),
}

/// The value of a default.
enum Literal {
    Str(&'static str),
    Int(i64),
    Bool(bool),
    /// An empty object.
    Empty,
    /// A list of strings.
    List(&'static [&'static str]),
}

impl Literal {
    fn value(&self) -> Value {
        match *self {
            Self::Str(text) => text.into(),
            Self::Int(number) => number.into(),
            Self::Bool(flag) => flag.into(),
            Self::Empty => Value::Object(Object::new()),
            Self::List(items) => items.iter().copied().map(Value::from).collect(),
        }
    }
}

fn run(rules: &[Rule], object: &mut Object) {
    for rule in rules {
        match rule {
            Rule::Nil(path, field, literal) => walk(object, path, &mut |object| {
                if is_nil(object, field) {
                    object.insert((*field).to_owned(), literal.value());
                }
            }),
            Rule::Zero(path, field, literal) => walk(object, path, &mut |object| {
                if object.get(*field).is_none_or(is_zero) {
                    object.insert((*field).to_owned(), literal.value());
                }
            }),
            Rule::Run(path, function) => walk(object, path, &mut |object| function(object)),
            Rule::Use(path, rules) => walk(object, path, &mut |object| run(rules, object)),
        }
    }
}

/// Calls `visit` with every object at `path`.
fn walk(object: &mut Object, path: &str, visit: &mut dyn FnMut(&mut Object)) {
    let (segment, rest) = path.split_once('.').unwrap_or((path, ""));
    if segment.is_empty() {
        visit(object);
    } else if let Some(field) = segment.strip_suffix("[]") {
        let items = object.get_mut(field).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
            walk(item, rest, visit);
        }
    } else if let Some(field) = segment.strip_suffix('!') {
        if let Some(next) = child(object, field) {
            walk(next, rest, visit);
        }
    } else if let Some(next) = object.get_mut(segment).and_then(Value::as_object_mut) {
        walk(next, rest, visit);
    }
}

/// Copies every entry of the map `from` that the map `to` lacks; `to` is made if there is something to copy.
fn copy_missing(object: &mut Object, from: &str, to: &str) {
    let Some(source) = object.get(from).and_then(Value::as_object).cloned() else {
        return;
    };
    if source.is_empty() {
        return;
    }
    let Some(target) = child(object, to) else { return };
    for (key, value) in source {
        target.entry(key).or_insert(value);
    }
}

#[cfg(test)]
pub(crate) mod tests;
