//! What makes a definition valid, and what is said of one that is not.

use serde_json::json;

use super::*;

fn valid() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
        }},
        "status": {"type": "object"},
    }});
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

/// The valid definition with values set at pointers; null takes away.
fn with(changes: &Value) -> Value {
    let mut definition = valid();
    for (pointer, value) in changes.as_object().unwrap() {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = definition.pointer_mut(parent).unwrap();
        match (value, field.parse::<usize>()) {
            (Value::Null, _) => drop(parent.as_object_mut().unwrap().remove(field)),
            (value, Ok(at)) => parent.as_array_mut().unwrap().insert(at, value.clone()),
            (value, Err(_)) => parent[field] = value.clone(),
        }
    }
    definition
}

fn check(changes: &Value, expect: &[&str]) {
    let errors: Vec<String> = custom_resource_definition(&with(changes))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors, expect, "{changes}");
}

#[test]
fn names_groups_and_scopes() {
    check(&json!({}), &[]);
    check(
        &json!({"/metadata/name": "x"}),
        &["metadata.name: Invalid value: \"x\": must be spec.names.plural+\".\"+spec.group"],
    );
    check(
        &json!({"/spec/group": "example", "/metadata/name": "widgets.example"}),
        &["spec.group: Invalid value: \"example\": should be a domain with at least one dot"],
    );
    check(
        &json!({"/spec/scope": "World"}),
        &["spec.scope: Unsupported value: \"World\": supported values: \"Cluster\", \"Namespaced\""],
    );
    check(&json!({"/spec/scope": null}), &["spec.scope: Required value"]);
    check(
        &json!({"/spec/names/kind": null}),
        &["spec.names.kind: Required value"],
    );
    check(
        &json!({"/spec/names/listKind": "Widget"}),
        &["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"],
    );
    check(
        &json!({"/spec/preserveUnknownFields": true}),
        &[
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ],
    );
}

#[test]
fn groups_of_the_project_need_an_approval() {
    let group = json!({"/spec/group": "x.k8s.io", "/metadata/name": "widgets.x.k8s.io"});
    let missing = "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
    check(&group, &[missing]);
    for (annotation, is_enough) in [
        ("https://github.com/x/y/pull/1", true),
        ("unapproved, for now", true),
        ("yes", false),
    ] {
        let mut definition = with(&group);
        definition["metadata"]["annotations"] = json!({APPROVED: annotation});
        assert_eq!(
            custom_resource_definition(&definition).is_empty(),
            is_enough,
            "{annotation}"
        );
    }
    check(
        &json!({"/spec/group": "xk8s.io", "/metadata/name": "widgets.xk8s.io"}),
        &[],
    );
}

#[test]
fn versions() {
    let second = json!({"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let versions = "spec.versions: Invalid value";
    check(&json!({"/spec/versions/0": second}), &[]);
    check(
        &json!({"/spec/versions/0/storage": false}),
        &[&format!(
            "{versions}: [\"v1\"]: must have exactly one version marked as storage version"
        )],
    );
    let mut twice = second;
    twice["name"] = json!("v1");
    check(
        &json!({"/spec/versions/1": twice}),
        &[&format!(
            "{versions}: [\"v1\",\"v1\"]: must contain unique version names"
        )],
    );
    check(
        &json!({"/spec/versions/0/schema": null}),
        &["spec.versions[0].schema.openAPIV3Schema: Required value"],
    );
    check(
        &json!({"/spec/versions/0/deprecationWarning": "x"}),
        &[
            "spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions",
        ],
    );
    check(
        &json!({"/status/storedVersions": ["v0", "v1"]}),
        &[
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions",
        ],
    );
}

#[test]
fn schemas() {
    const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    const PATH: &str = "spec.versions[0].schema.openAPIV3Schema";
    let property = |schema: Value| json!({format!("{SPEC}/properties/a"): schema});
    check(
        &property(json!({"type": "array"})),
        &[&format!(
            "{PATH}.properties[spec].properties[a].items: Required value: must be specified"
        )],
    );
    let default = format!("{PATH}.properties[spec].properties[a].default");
    check(
        &property(json!({"type": "string", "default": 1})),
        &[&format!(
            "{default}: Invalid value: \"integer\": {default} in body must be of type string: \"integer\""
        )],
    );
    check(
        &property(json!({"type": "object", "default": {"b": 1}})),
        &[&format!(
            "{default}: Invalid value: {{\"b\":1}}: must not have unknown fields"
        )],
    );
    check(
        &json!({"/spec/versions/0/subresources": {"status": {}}, "/spec/versions/0/schema/openAPIV3Schema/minProperties": 1}),
        &[&format!(
            "{PATH}: Invalid value: \"\": only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            ROOT_ALLOWED.join(" ")
        )],
    );
}

#[test]
fn columns_scales_and_selectable_fields() {
    let version = "spec.versions[0]";
    check(
        &json!({"/spec/versions/0/additionalPrinterColumns": [{"name": "A", "type": "text", "jsonPath": "a", "format": "x"}]}),
        &[
            &format!(
                "{version}.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string"
            ),
            &format!(
                "{version}.additionalPrinterColumns[0].format: Invalid value: \"x\": must be one of byte,date,date-time,double,float,int32,int64,password"
            ),
            &format!(
                "{version}.additionalPrinterColumns[0].JSONPath: Invalid value: \"a\": must be a simple json path starting with ."
            ),
        ],
    );
    check(
        &json!({"/spec/versions/0/subresources": {"scale": {"specReplicasPath": ".status.a", "labelSelectorPath": "x"}}}),
        &[
            &format!(
                "{version}.subresources.scale.specReplicasPath: Invalid value: \".status.a\": should be a json path under .spec"
            ),
            &format!("{version}.subresources.scale.statusReplicasPath: Required value"),
            &format!(
                "{version}.subresources.scale.labelSelectorPath: Invalid value: \"x\": must be a simple json path starting with ."
            ),
        ],
    );
    let selectable = |paths: &[&str]| {
        let fields: Vec<Value> = paths.iter().map(|path| json!({"jsonPath": path})).collect();
        json!({"/spec/versions/0/selectableFields": fields})
    };
    let field = format!("{version}.selectableFields[0].jsonPath");
    check(&selectable(&[".spec.size"]), &[]);
    check(
        &selectable(&[".metadata.name"]),
        &[&format!(
            "{field}: Invalid value: \".metadata.name\": must not point to fields in metadata"
        )],
    );
    check(
        &selectable(&[".spec.none"]),
        &[&format!(
            "{field}: Invalid value: \".spec.none\": is an invalid path: does not refer to a valid field"
        )],
    );
    check(
        &selectable(&[".spec.tags"]),
        &[&format!(
            "{field}: Invalid value: \".spec.tags\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
        )],
    );
    check(
        &selectable(&[".spec.size", ".spec.size"]),
        &[&format!(
            "{version}.selectableFields[1].jsonPath: Duplicate value: \".spec.size\""
        )],
    );
}

#[test]
fn conversions() {
    let path = "spec.conversion";
    check(
        &json!({"/spec/conversion": {"strategy": "Magic"}}),
        &["spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\""],
    );
    check(
        &json!({"/spec/conversion": {"strategy": "Webhook"}}),
        &[
            &format!("{path}.webhookClientConfig: Required value: required when strategy is set to Webhook"),
            &format!("{path}.conversionReviewVersions: Required value"),
        ],
    );
    let webhook = json!({"clientConfig": {"url": "https://x/"}, "conversionReviewVersions": ["v2"]});
    check(
        &json!({"/spec/conversion": {"strategy": "Webhook", "webhook": webhook}}),
        &[&format!(
            "{path}.conversionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1, v1beta1"
        )],
    );
}
