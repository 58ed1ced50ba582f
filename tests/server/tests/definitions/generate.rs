//! Objects made from a schema: the smallest that is valid, one in which all that can be filled is, and wrong ones.

use kubewright_schema::StructuralSchema;
use serde_json::{Map, Value, json};

/// How much of an object is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// What is required.
    Least,
    /// Every property.
    All,
}

/// A value of a schema.
pub(crate) fn value(schema: &Value, fill: Fill) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" => object(schema, fill),
        "array" => list(schema, fill),
        "boolean" => json!(true),
        "integer" => fitting(schema, [1, 0, 10, 100, 1000].map(Value::from)),
        "number" => fitting(schema, [0.5, 1.5, 10.5].map(Value::from)),
        "string" => text(schema),
        _ => json!({"any": ["thing", 1, true]}),
    }
}

fn object(schema: &Value, fill: Fill) -> Value {
    let mut object = Map::new();
    if schema["x-kubernetes-embedded-resource"] == true {
        object.extend([("apiVersion".into(), "v1".into()), ("kind".into(), "Pod".into())]);
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if fill == Fill::All || required.iter().any(|one| one == name) {
            object.insert(name.clone(), value(property, fill));
        }
    }
    if fill == Fill::All && schema["additionalProperties"].is_object() {
        object.insert("key".into(), value(&schema["additionalProperties"], fill));
    }
    object.into()
}

fn list(schema: &Value, fill: Fill) -> Value {
    let least = schema["minItems"].as_u64().unwrap_or(0);
    let wanted = if fill == Fill::All { least.max(1) } else { least };
    (0..wanted).map(|_| value(&schema["items"], fill)).collect()
}

fn text(schema: &Value) -> Value {
    let sample = match schema["format"].as_str().unwrap_or_default() {
        "date-time" => "2026-01-02T03:04:05Z",
        "byte" => "YWJj",
        _ => "a",
    };
    let samples = [sample].into_iter().chain(TEXTS).map(Value::from);
    fitting(schema, samples)
}

/// Texts for patterns, the first that fits is taken.
const TEXTS: [&str; 12] = [
    "1",
    "1h",
    "1GB",
    "http://a.b",
    "12:00",
    "january",
    "monday",
    "2026",
    "abort",
    "a.json",
    "abcdefgh",
    "abcdefghijklmnopqrstuvwxyzabcdef",
];

/// The first value that a schema of a leaf takes.
fn fitting(schema: &Value, samples: impl IntoIterator<Item = Value>) -> Value {
    let compiled = StructuralSchema::parse(&json!({"type": "object", "properties": {"a": schema}})).unwrap();
    let fits = |sample: &Value| compiled.validate(&json!({"a": sample}), None).is_empty();
    let bounds = ["minimum", "maximum"].map(|bound| schema[bound].clone());
    let found = samples.into_iter().chain(bounds).find(fits);
    found.unwrap_or_else(|| panic!("no sample fits {schema}"))
}

/// What is wrong with an object that is refused.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// What sort of fault it is.
    pub(crate) sort: &'static str,
    /// The object.
    pub(crate) object: Value,
    /// The field that the answer has to name.
    pub(crate) field: String,
    /// The reason of the cause that names it.
    pub(crate) reason: &'static str,
}

/// Objects that are wrong in one place, one for each sort of fault that the schema has room for.
pub(crate) fn wrong(schema: &Value, rich: &Value) -> Vec<Wrong> {
    let mut places = Vec::new();
    collect(
        &schema["properties"]["spec"],
        &rich["spec"],
        "/spec",
        "spec",
        &mut places,
    );
    let mut found: Vec<Wrong> = Vec::new();
    for place in &places {
        for (sort, pointer, value, field, reason) in faults(place) {
            if found.iter().any(|one| one.sort == sort) {
                continue;
            }
            let mut object = rich.clone();
            match value {
                Some(value) => *object.pointer_mut(&pointer).unwrap() = value,
                None => {
                    let (parent, name) = pointer.rsplit_once('/').unwrap();
                    object
                        .pointer_mut(parent)
                        .unwrap()
                        .as_object_mut()
                        .unwrap()
                        .remove(name);
                }
            }
            found.push(Wrong {
                sort,
                object,
                field,
                reason,
            });
        }
    }
    found
}

/// A value within an object, and its schema.
struct Place<'a> {
    schema: &'a Value,
    value: &'a Value,
    pointer: String,
    path: String,
}

fn collect<'a>(schema: &'a Value, value: &'a Value, pointer: &str, path: &str, places: &mut Vec<Place<'a>>) {
    places.push(Place {
        schema,
        value,
        pointer: pointer.to_owned(),
        path: path.to_owned(),
    });
    for (name, member) in value.as_object().into_iter().flatten() {
        // Keys of maps look different in the paths of some faults.
        let below = &schema["properties"][name];
        if !below.is_null() {
            let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            collect(below, member, &pointer, &format!("{path}.{name}"), places);
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        let (pointer, path) = (format!("{pointer}/{index}"), format!("{path}[{index}]"));
        collect(&schema["items"], item, &pointer, &path, places);
    }
}

type Fault = (&'static str, String, Option<Value>, String, &'static str);

/// The faults that there can be at one place: their sort, where the object changes to what, and what is told.
fn faults(place: &Place<'_>) -> Vec<Fault> {
    let Place { schema, value, .. } = place;
    let mut faults = Vec::new();
    let mut at = |sort, value: Value, reason| {
        faults.push((
            sort,
            place.pointer.clone(),
            Some(value),
            place.path.clone(),
            reason,
        ));
    };
    match schema["type"].as_str().unwrap_or_default() {
        "string" => at("a number for a text", json!(1), "FieldValueTypeInvalid"),
        "integer" => {
            at("a text for an integer", json!("x"), "FieldValueTypeInvalid");
            at("a fraction for an integer", json!(1.5), "FieldValueTypeInvalid");
        }
        "boolean" => at("a text for a boolean", json!("true"), "FieldValueTypeInvalid"),
        "array" => at("an object for a list", json!({}), "FieldValueTypeInvalid"),
        "object" if place.path.contains('.') => {
            at("a list for an object", json!([]), "FieldValueTypeInvalid")
        }
        _ => {}
    }
    if schema["x-kubernetes-int-or-string"] == true {
        at(
            "a boolean for an integer or text",
            json!(true),
            "FieldValueTypeInvalid",
        );
        if schema["pattern"].is_string() {
            at(
                "a text that does not match",
                json!("no quantity"),
                "FieldValueInvalid",
            );
        }
    }
    if schema["enum"].is_array() && value.is_string() {
        at(
            "not in the enumeration",
            json!("none of these"),
            "FieldValueNotSupported",
        );
    } else if schema["pattern"].is_string() && value.is_string() {
        at(
            "a text that does not match a pattern",
            json!("\u{1}*?"),
            "FieldValueInvalid",
        );
    }
    if schema["format"] == "date-time" {
        at("no date", json!("yesterday"), "FieldValueTypeInvalid");
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        let long = "a".repeat(usize::try_from(most).unwrap() + 1);
        at("too long", json!(long), "FieldValueTooLong");
    }
    if schema["minLength"].as_u64().is_some_and(|least| least > 0) && schema["enum"].is_null() {
        at("too short", json!(""), "FieldValueInvalid");
    }
    if let Some(least) = schema["minimum"].as_i64() {
        at("below the minimum", json!(least - 1), "FieldValueInvalid");
    }
    if let Some(most) = schema["maximum"].as_i64() {
        at("above the maximum", json!(most + 1), "FieldValueInvalid");
    }
    if schema["minItems"].as_u64().is_some_and(|least| least > 0) {
        at("too few items", json!([]), "FieldValueInvalid");
    }
    let list_type = schema["x-kubernetes-list-type"].as_str().unwrap_or_default();
    if let (Some(items), "set" | "map") = (value.as_array(), list_type) {
        let twice = [&items[0], &items[0]];
        let sort = if list_type == "set" {
            "twice in a set"
        } else {
            "twice in a list of type map"
        };
        let path = format!("{}[1]", place.path);
        let pointer = place.pointer.clone();
        faults.push((sort, pointer, Some(json!(twice)), path, "FieldValueDuplicate"));
    }
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let (pointer, path) = (
            format!("{}/{name}", place.pointer),
            format!("{}.{name}", place.path),
        );
        faults.push(("missing", pointer, None, path, "FieldValueRequired"));
    }
    faults
}
