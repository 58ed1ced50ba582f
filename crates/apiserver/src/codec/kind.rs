//! Whether a body is of the kind that is asked for, and what upstream says where it is not.
//!
//! Upstream decodes a body as what it says it is and then converts it to what it shall be (apimachinery
//! pkg/runtime/serializer, apiserver pkg/endpoints/handlers/rest.go `transformDecodeError`); its words are those of the step that
//! fails.

use kubewright_core::GroupVersionKind;
use kubewright_kinds as kinds;
use serde_json::{Map, Value};

use crate::registry::Model;

/// Why a body is not of the kind that is asked for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KindFault {
    /// It does not tell what it is.
    #[error("{0}")]
    Unrecognized(String),
    /// It is of another kind.
    #[error("{} in version {:?} cannot be handled as a {expect}: {why}", found.kind, found.version)]
    Other {
        /// What it is.
        found: GroupVersionKind,
        /// The kind that is asked for.
        expect: String,
        /// Which step fails.
        why: String,
    },
    /// It is of another version of the kind.
    #[error("the API version in the data ({found}) does not match the expected API version ({expect})")]
    Version {
        /// What it says.
        found: String,
        /// The `apiVersion` that is asked for.
        expect: String,
    },
}

impl KindFault {
    /// The words of the step that fails alone, as they stand in answers to patches.
    pub(crate) fn step(&self) -> String {
        match self {
            Self::Other { why, .. } => why.clone(),
            other => other.to_string(),
        }
    }
}

/// Checks that a value is an object of a kind, or one that says nothing of its kind, and fills that in.
///
/// # Errors
/// What upstream finds first.
pub(crate) fn expect_kind(value: &mut Value, expect: &GroupVersionKind) -> Result<(), KindFault> {
    // Go decodes `null`, which is also what an empty YAML document is, into an object without any field.
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(fields) = value else {
        let found = kind_of_json(value);
        return Err(unrecognized(&format!(
            "{found} into Go value of type {NO_OBJECT}"
        )));
    };
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => {
            let found = kind_of_json(other);
            Err(unrecognized(&format!(
                "{found} into Go struct field .{name} of type string"
            )))
        }
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let expected_version = expect.api_version();
    let api_version = if api_version.is_empty() {
        expected_version.clone()
    } else {
        api_version
    };
    if api_version != expected_version || !kind.is_empty() && kind != expect.kind {
        let kind = if kind.is_empty() { &expect.kind } else { &kind };
        return Err(other_kind(value, &api_version, kind, expect));
    }
    fields.insert("apiVersion".into(), expected_version.into());
    fields.insert("kind".into(), expect.kind.clone().into());
    Ok(())
}

/// The type into which upstream looks for what a body is.
const NO_OBJECT: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Go's word for what JSON a value is.
pub(crate) fn kind_of_json(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn unrecognized(what: &str) -> KindFault {
    KindFault::Unrecognized(format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {what}"
    ))
}

fn other_kind(value: &mut Value, api_version: &str, kind: &str, expect: &GroupVersionKind) -> KindFault {
    let (group, version) = match api_version.split('/').collect::<Vec<_>>()[..] {
        [version] => ("", version),
        [group, version] => (group, version),
        _ => return KindFault::Unrecognized(format!("unexpected GroupVersion string: {api_version}")),
    };
    let found = GroupVersionKind::new(group, version, kind);
    if OLD_VERSIONS.contains(&(kind, api_version)) && kind == expect.kind {
        return KindFault::Version {
            found: api_version.to_owned(),
            expect: expect.api_version(),
        };
    }
    let Some(ty) = kinds::table()
        .kind(group, version, kind)
        .filter(|_| scheme_of(group) == scheme_of(&expect.group))
    else {
        let why = no_kind(&found);
        let expect = expect.kind.clone();
        return KindFault::Other { found, expect, why };
    };
    let why = Model::Builtin(ty).normalize(value).type_error;
    if why.is_none() && internal(group, kind) == internal(&expect.group, &expect.kind) {
        return KindFault::Version {
            found: api_version.to_owned(),
            expect: expect.api_version(),
        };
    }
    let why = why.unwrap_or_else(|| {
        format!(
            "converting ({version}.{kind}) to ({}): unknown conversion",
            internal(&expect.group, &expect.kind)
        )
    });
    let expect = expect.kind.clone();
    KindFault::Other { found, expect, why }
}

/// Versions that upstream knows of kinds of subresources, yet serves nowhere (pkg/apis/autoscaling/v1, extensions/v1beta1, apps).
const OLD_VERSIONS: [(&str, &str); 3] = [
    ("Scale", "extensions/v1beta1"),
    ("Scale", "apps/v1beta1"),
    ("Scale", "apps/v1beta2"),
];

/// What upstream says of a kind that it does not know.
pub(crate) fn no_kind(found: &GroupVersionKind) -> String {
    let (kind, version) = (&found.kind, found.api_version());
    format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}")
}

/// Where upstream registers its kinds, as its messages name it.
pub(crate) const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// Which of upstream's servers knows the kinds of a group: each has a scheme of its own.
fn scheme_of(group: &str) -> u8 {
    match group {
        "apiextensions.k8s.io" => 1,
        "apiregistration.k8s.io" => 2,
        _ => 0,
    }
}

/// The internal type behind a kind, with its package, such as `apps.Deployment`.
pub(crate) fn internal(group: &str, kind: &str) -> String {
    let package = match (group, kind) {
        ("" | "events.k8s.io", _) => "core",
        ("internal.apiserver.k8s.io", _) => "apiserverinternal",
        (group, _) => group.split('.').next().unwrap_or_default(),
    };
    format!("{package}.{kind}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As a kube-apiserver 1.37 answers.
    #[test]
    fn kinds_must_match() {
        let deployment = GroupVersionKind::new("apps", "v1", "Deployment");
        for value in [
            json!({}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment"}),
            json!({"apiVersion": "apps/v1", "kind": null}),
            json!({"kind": "Deployment", "apiVersion": ""}),
            json!(null),
        ] {
            let mut value = value;
            assert_eq!(expect_kind(&mut value, &deployment), Ok(()));
            assert_eq!(value, json!({"apiVersion": "apps/v1", "kind": "Deployment"}));
        }

        #[track_caller]
        fn check(value: Value, expect: &GroupVersionKind, message: &str) {
            let mut value = value;
            assert_eq!(expect_kind(&mut value, expect).unwrap_err().to_string(), message);
        }
        let config_map = GroupVersionKind::new("", "v1", "ConfigMap");
        for (value, message) in [
            (
                json!({"apiVersion": "v1", "kind": "Secret"}),
                r#"Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"#,
            ),
            (
                json!({"kind": "Secret", "data": {"a": "!"}}),
                r#"Secret in version "v1" cannot be handled as a ConfigMap: illegal base64 data at input byte 0"#,
            ),
            (
                json!({"apiVersion": "v2"}),
                r#"ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (
                json!({"apiVersion": "foo/v7", "kind": "Foo"}),
                r#"Foo in version "v7" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "foo/v7" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (
                json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}),
                r#"CustomResourceDefinition in version "v1" cannot be handled as a ConfigMap: no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (
                json!({"apiVersion": "a/b/c"}),
                "unexpected GroupVersion string: a/b/c",
            ),
            (
                json!({"kind": 1}),
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            ),
            (
                json!([]),
                r#"couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#,
            ),
        ] {
            check(value, &config_map, message);
        }
        check(
            json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}),
            &GroupVersionKind::new("autoscaling", "v2", "HorizontalPodAutoscaler"),
            "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)",
        );
    }
}
