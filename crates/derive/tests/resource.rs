//! The root type that the derive makes of a spec.

use k8s_openapi::{ListableResource, Metadata, Resource};
use kubewright_core::{Resource as _, StaticResource};
use kubewright_derive::{CustomResource, Schema};
use kubewright_schema::{CustomResourceExt, FieldPath, check};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A guestbook.
#[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[schema(crate = "kubewright_schema")]
#[serde(rename_all = "camelCase")]
#[resource(
    crate = "kubewright_schema",
    group = "webapp.example.com",
    version = "v1",
    kind = "Guestbook",
    short_name = "gb",
    category = "all",
    status = "GuestbookStatus",
    scale(spec_path = ".spec.replicas", status_path = ".status.ready"),
    print_column(name = "Ready", type = "integer", json_path = ".status.ready", priority = 1),
    selectable_field = ".spec.title",
    derive(PartialEq)
)]
struct GuestbookSpec {
    title: Option<String>,
    #[schema(minimum = 0)]
    replicas: Option<i32>,
}

#[derive(Schema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[schema(crate = "kubewright_schema")]
struct GuestbookStatus {
    ready: i32,
}

#[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug)]
#[schema(crate = "kubewright_schema")]
#[resource(
    crate = "kubewright_schema",
    group = "example.com",
    version = "v1alpha1",
    kind = "Policy"
)]
#[resource(scope = "Cluster", deprecated_version = "use v1")]
struct PolicySpec {
    strict: bool,
}

#[test]
fn is_a_resource() {
    assert_eq!(Guestbook::API_VERSION, "webapp.example.com/v1");
    assert_eq!(<Guestbook as Resource>::URL_PATH_SEGMENT, "guestbooks");
    assert_eq!(Guestbook::LIST_KIND, "GuestbookList");
    assert_eq!(<Policy as StaticResource>::PLURAL, "policies");
    assert_eq!(Guestbook::crd_name(), "guestbooks.webapp.example.com");
    let mut book = Guestbook::new(
        "a",
        GuestbookSpec {
            title: None,
            replicas: Some(1),
        },
    );
    assert_eq!(book.name(), "a");
    Metadata::metadata_mut(&mut book).namespace = Some("n".to_owned());
    assert_eq!(book.namespace(), Some("n"));
}

#[test]
fn is_written_and_read() {
    let book = Guestbook::new(
        "a",
        GuestbookSpec {
            title: Some("t".to_owned()),
            replicas: None,
        },
    );
    let value = serde_json::to_value(&book).unwrap();
    let spec = json!({"title": "t", "replicas": null});
    assert_eq!(
        value,
        json!({"apiVersion": "webapp.example.com/v1", "kind": "Guestbook", "metadata": {"name": "a"}, "spec": spec})
    );
    assert_eq!(serde_json::from_value::<Guestbook>(value).unwrap(), book);

    for (value, expect) in [
        (
            json!({"kind": "Other", "spec": {}}),
            "kind is \"Other\", expected \"Guestbook\"",
        ),
        (
            json!({"apiVersion": "v1", "spec": {}}),
            "apiVersion is \"v1\", expected \"webapp.example.com/v1\"",
        ),
        (
            json!({"spec": {"replicas": "x"}}),
            "invalid type: string \"x\", expected i32",
        ),
    ] {
        assert_eq!(
            serde_json::from_value::<Guestbook>(value)
                .unwrap_err()
                .to_string(),
            expect
        );
    }
    let bare: Guestbook =
        serde_json::from_value(json!({"metadata": {"name": "a"}, "status": {"ready": 2}})).unwrap();
    assert_eq!(bare.status, Some(GuestbookStatus { ready: 2 }));
    let error = serde_json::from_value::<Policy>(json!({"status": {"any": 1}})).unwrap_err();
    assert_eq!(error.to_string(), "missing field `spec`");
    let policy: Policy = serde_json::from_str(r#"{"spec": {"strict": true}, "status": {"any": 1}}"#).unwrap();
    assert!(policy.spec.strict);
}

#[test]
fn has_a_definition() {
    let crd = Guestbook::crd();
    assert_eq!(
        crd["spec"]["names"],
        json!({"kind": "Guestbook", "listKind": "GuestbookList", "plural": "guestbooks", "singular": "guestbook",
            "shortNames": ["gb"], "categories": ["all"]})
    );
    let version = &crd["spec"]["versions"][0];
    assert_eq!(
        version["subresources"],
        json!({"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"}})
    );
    assert_eq!(
        version["additionalPrinterColumns"],
        json!([{"name": "Ready", "type": "integer", "jsonPath": ".status.ready", "priority": 1}])
    );
    assert_eq!(version["selectableFields"], json!([{"jsonPath": ".spec.title"}]));
    let schema = &version["schema"]["openAPIV3Schema"];
    assert_eq!(check(schema, &FieldPath::root()), []);
    assert_eq!(schema["description"], "A guestbook.");
    assert_eq!(schema["required"], json!(["spec"]));
    assert_eq!(schema["properties"]["status"]["required"], json!(["ready"]));

    let typed = Guestbook::typed_crd().unwrap();
    assert_eq!(typed.spec.scope, "Namespaced");
    let policy = Policy::typed_crd().unwrap();
    assert_eq!(policy.spec.scope, "Cluster");
    assert_eq!(
        policy.spec.versions[0].deprecation_warning.as_deref(),
        Some("use v1")
    );
    assert_eq!(policy.spec.versions[0].subresources, None);
}
