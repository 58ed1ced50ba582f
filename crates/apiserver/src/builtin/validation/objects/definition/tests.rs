//! What makes a definition valid, and what is said of one that is not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::*;
use crate::builtin::shown;

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
    let ty = kubewright_kinds::table()
        .kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        .unwrap();
    let errors: Vec<String> = custom_resource_definition(&with(changes), None)
        .iter()
        .map(|error| shown::error(ty, error).to_string())
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
        definition["metadata"]["annotations"] = json!({approval::APPROVED: annotation});
        assert_eq!(
            custom_resource_definition(&definition, None).is_empty(),
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
    let shown = |name: &str, storage: bool, schema: &str| {
        format!(
            "{{\"Name\":{name:?},\"Served\":true,\"Storage\":{storage},\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":{schema},\
             \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}"
        )
    };
    check(&json!({"/spec/versions/0": second}), &[]);
    check(
        &json!({"/spec/versions/0/storage": false}),
        &[&format!(
            "{versions}: [{}]: must have exactly one version marked as storage version",
            shown("v1", false, "null")
        )],
    );
    // The schema that both have is taken out of them.
    let mut twice = second;
    twice["name"] = json!("v1");
    twice["schema"] = valid()["spec"]["versions"][0]["schema"].clone();
    check(
        &json!({"/spec/versions/1": twice}),
        &[&format!(
            "{versions}: [{},{}]: must contain unique version names",
            shown("v1", true, "null"),
            shown("v1", false, "null")
        )],
    );
    check(
        &json!({"/spec/versions": null}),
        &[
            "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions",
        ],
    );
    let label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    check(
        &json!({"/spec/versions/0/name": "V1", "/status/storedVersions": ["V1"]}),
        &[
            &format!("spec.versions[0].name: Invalid value: \"V1\": {label}"),
            &format!("spec.version: Invalid value: \"V1\": {label}"),
        ],
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
    const PATH: &str = "spec.validation.openAPIV3Schema";
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
            "{default}: Invalid value: \"integer\":  in body must be of type string: \"integer\""
        )],
    );
    check(
        &property(json!({"type": "object", "default": {"b": 1}})),
        &[&format!(
            "{default}: Invalid value: {{\"b\":1}}: must not have unknown fields"
        )],
    );
    // The schema is shown as Go shows it.
    let root = json!({
        "/spec/versions/0/subresources": {"status": {}},
        "/spec/versions/0/schema/openAPIV3Schema": {
            "type": "object", "minProperties": 1, "maximum": 2.0,
            "properties": {"a": {"type": "array", "items": {"type": "string", "pattern": "<"}}},
            "additionalProperties": false,
        },
    });
    let schema = |own: &[(&str, &str)]| {
        const FIELDS: &str = r#""ID":"","Schema":"","Ref":null,"Description":"","Type":"","Nullable":false,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":null,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":null,"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null"#;
        let fields: Vec<String> = FIELDS
            .split(',')
            .map(|field| {
                let name = field.split(':').next().unwrap();
                let own = own.iter().find(|(own, _)| name == format!("{own:?}"));
                own.map_or_else(|| field.to_owned(), |(_, value)| format!("{name}:{value}"))
            })
            .collect();
        format!("{{{}}}", fields.join(","))
    };
    let item = schema(&[("Type", "\"string\""), ("Pattern", "\"\\u003c\"")]);
    let list = schema(&[
        ("Type", "\"array\""),
        ("Items", &format!("{{\"Schema\":{item},\"JSONSchemas\":null}}")),
    ]);
    let shown = schema(&[
        ("Type", "\"object\""),
        ("Maximum", "2"),
        ("MinProperties", "1"),
        ("Properties", &format!("{{\"a\":{list}}}")),
        ("AdditionalProperties", "{\"Allows\":false,\"Schema\":null}"),
    ]);
    check(
        &root,
        &[
            &format!(
                "{PATH}: Invalid value: {shown}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled"
            ),
            &format!("{PATH}.additionalProperties: Forbidden: must not be used at the root"),
            &format!(
                "{PATH}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
            ),
        ],
    );
}

#[test]
fn columns_scales_and_selectable_fields() {
    let version = "spec";
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
            "{field}: Invalid value: \".metadata.name\": is an invalid path: does not refer to a valid field"
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

#[test]
fn webhooks() {
    let webhook = |client: Value, versions: Value| json!({"/spec/conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": versions}}});
    let client = "spec.conversion.webhookClientConfig";
    let url = json!({"url": "https://x/"});
    check(&webhook(url.clone(), json!(["v1"])), &[]);
    check(
        &webhook(url, json!(["v1", "v1"])),
        &["spec.conversion.conversionReviewVersions[1]: Invalid value: \"v1\": duplicate version"],
    );
    check(
        &webhook(json!({"url": "http://x"}), json!(["v1"])),
        &[&format!(
            "{client}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]"
        )],
    );
    check(
        &webhook(
            json!({"service": {"name": "s", "namespace": "n", "path": "x", "port": 0}}),
            json!(["v1"]),
        ),
        &[
            &format!(
                "{client}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"
            ),
            &format!("{client}.service.path: Invalid value: \"x\": must start with a '/'"),
            &format!("{client}.service.path: Invalid value: \"x\": segment[0] may not be empty"),
        ],
    );
    check(
        &webhook(json!({}), json!(["v1"])),
        &[&format!(
            "{client}: Required value: exactly one of url or service is required"
        )],
    );
}

#[test]
fn what_versions_do_not_have_alike_is_told_of_there() {
    let second = json!({"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "string"}}});
    check(
        &json!({"/spec/versions/1": second}),
        &[
            "spec.versions[1].schema.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root",
        ],
    );
}

#[test]
fn updates() {
    let mut old = with(&json!({"/spec/group": "x.k8s.io", "/metadata/name": "widgets.x.k8s.io"}));
    let errors = |new: &Value, old: &Value| -> Vec<String> {
        custom_resource_definition(new, Some(old))
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    // What lacked an approval may stay so; what had one has to keep it.
    assert_eq!(errors(&old, &old), [""; 0]);
    let new = old.clone();
    old["metadata"]["annotations"] = json!({approval::APPROVED: "unapproved, for now"});
    assert_eq!(errors(&new, &old).len(), 1);
    // The name is not checked again, the plural may not change.
    let mut renamed = old.clone();
    renamed["spec"]["names"]["plural"] = json!("gadgets");
    assert_eq!(
        errors(&renamed, &old),
        ["spec.names.plural: Invalid value: \"gadgets\": field is immutable"]
    );
    let mut named = old.clone();
    named["status"]["acceptedNames"] = json!({"plural": "X X", "kind": ""});
    let found = custom_resource_definition_part("status", &named, &old);
    assert_eq!(found[0].path.as_str(), "status.acceptedNames.plural");
}

/// A bundle that holds no certificate is let in where nothing worse can come of it.
#[test]
fn bundles_of_certificates() {
    let with_bundle = |bundle: Option<&str>, established: &str| {
        let mut webhook = json!({"clientConfig": {"url": "https://x/"}, "conversionReviewVersions": ["v1"]});
        if let Some(bundle) = bundle {
            webhook["clientConfig"]["caBundle"] = STANDARD.encode(bundle).into();
        }
        with(&json!({
            "/spec/conversion": {"strategy": "Webhook", "webhook": webhook},
            "/status/conditions": [{"type": "Established", "status": established}],
        }))
    };
    let bad = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
    let check = |old: Option<&Value>, new: &Value, expect: Option<&str>| {
        let errors = custom_resource_definition(new, old);
        let found = errors.first().map(|error| {
            assert_eq!(
                error.path.as_str(),
                "spec.conversion.webhookClientConfig.caBundle"
            );
            error.detail.as_str()
        });
        assert_eq!(found, expect);
    };
    let no_pem = "unable to load root certificates: unable to parse bytes as PEM block";
    let no_certificate = "unable to load root certificates: no valid certificate authority data seen";
    let valid = with_bundle(None, "True");
    let invalid = with_bundle(Some("abc"), "True");
    check(None, &invalid, None);
    check(Some(&with_bundle(None, "False")), &invalid, None);
    check(Some(&invalid), &with_bundle(Some("abcd"), "True"), None);
    check(Some(&valid), &valid, None);
    check(Some(&valid), &invalid, Some(no_pem));
    let key = "-----BEGIN X-----\nYWJj\n-----END X-----\n";
    check(
        Some(&valid),
        &with_bundle(Some(key), "True"),
        Some(no_certificate),
    );
    let errors = custom_resource_definition(&with_bundle(Some(bad), "True"), Some(&valid));
    assert!(
        errors[0]
            .detail
            .starts_with("unable to load root certificates: failed to parse certificate: ")
    );
}
