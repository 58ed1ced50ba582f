//! What is made for a whole operator, and what cannot be made.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright_core::json::Sorted;
use kubewright_derive::{CustomResource, Schema};
use kubewright_manifests::{CrdOptions, Options, RbacOptions, Tree, crds, install};
use kubewright_runtime::{Controller, Operator, Outcome, Right, Verb, reconcile_fn};
use serde::{Deserialize, Serialize};

mod v1 {
    use super::{CustomResource, Deserialize, Schema, Serialize};

    /// A book for guests.
    #[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug)]
    #[schema(crate = "kubewright_schema")]
    #[serde(rename_all = "camelCase")]
    #[resource(
        crate = "kubewright_schema",
        group = "example.com",
        version = "v1",
        kind = "Guestbook",
        short_name = "gb",
        category = "all",
        status = "GuestbookStatus",
        scale(spec_path = ".spec.pageCount", status_path = ".status.pages"),
        print_column(
            name = "Pages",
            type = "integer",
            json_path = ".spec.pageCount",
            description = "How many."
        )
    )]
    pub(super) struct GuestbookSpec {
        /// How many pages it has.
        ///
        /// Each has two sides: "recto" and "verso".
        #[schema(minimum = 0, default = 1)]
        page_count: Option<i32>,
        /// Who owns it.
        #[schema(pattern = "^[a-z]+$", immutable)]
        owner: String,
        #[schema(enum("yes", "no"))]
        public: Option<String>,
    }

    #[derive(Schema, Serialize, Deserialize, Clone, Debug)]
    #[schema(crate = "kubewright_schema")]
    pub(super) struct GuestbookStatus {
        pages: i32,
    }
}

mod v1beta1 {
    use super::{CustomResource, Deserialize, Schema, Serialize};

    /// A book for guests, as it was.
    #[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug)]
    #[schema(crate = "kubewright_schema")]
    #[resource(
        crate = "kubewright_schema",
        group = "example.com",
        version = "v1beta1",
        kind = "Guestbook",
        deprecated_version = "use v1"
    )]
    pub(super) struct GuestbookSpec {
        owner: String,
    }
}

mod other {
    use super::{CustomResource, Deserialize, Schema, Serialize};

    #[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug)]
    #[schema(crate = "kubewright_schema")]
    #[resource(
        crate = "kubewright_schema",
        group = "example.com",
        version = "v2",
        kind = "Guestbook",
        scope = "Cluster"
    )]
    pub(super) struct GuestbookSpec {
        owner: String,
    }
}

fn operator() -> Operator {
    let controller = Controller::new("guestbook", reconcile_fn(|_, _| async { Ok(Outcome::done()) }))
        .for_::<v1::Guestbook>()
        .owns::<Deployment>()
        .right(Right::to_subresource::<v1::Guestbook>("status", [Verb::Patch]))
        .right(Right::to::<Deployment>([Verb::Create, Verb::Patch]));
    Operator::new("guestbook")
        .kind::<v1::Guestbook>()
        .controller(controller)
}

#[test]
fn a_whole_operator() {
    let tree = install(&operator(), &Options::default()).unwrap();
    insta::assert_snapshot!("install", shown(&tree));
}

#[test]
fn the_same_operator_gives_the_same_bytes() {
    let first = install(&operator(), &Options::default()).unwrap();
    assert_eq!(first, install(&operator(), &Options::default()).unwrap());
    for (path, text) in first.files() {
        let value: serde_json::Value = kubewright_yaml::from_str(text).unwrap();
        assert_eq!(
            format!("---\n{}", kubewright_yaml::to_string(&Sorted(&value)).unwrap()),
            text,
            "{path}"
        );
    }
}

#[test]
fn versions() {
    let operator = operator().kind::<v1beta1::Guestbook>();
    // storage version that is chosen, versions as name and whether objects are stored in it
    let rows = [
        (None, "v1 true, v1beta1 false"),
        (Some("v1"), "v1 true, v1beta1 false"),
        (Some("v1beta1"), "v1 false, v1beta1 true"),
    ];
    for (chosen, expect) in rows {
        let tree = crds(&operator, &stored(chosen)).unwrap();
        let text = tree.get("crd/bases/example.com_guestbooks.yaml").unwrap();
        let crd: serde_json::Value = kubewright_yaml::from_str(text).unwrap();
        let versions: Vec<_> = crd["spec"]["versions"].as_array().unwrap().iter().collect();
        let versions: Vec<_> = versions
            .iter()
            .map(|version| format!("{} {}", version["name"].as_str().unwrap(), version["storage"]))
            .collect();
        assert_eq!(versions.join(", "), expect, "{chosen:?}");
    }
}

#[test]
fn what_does_not_fit_together() {
    let mixed = operator().kind::<other::Guestbook>();
    let unknown = CrdOptions {
        storage_versions: BTreeMap::from([("books.example.com".to_owned(), "v1".to_owned())]),
    };
    let rows = [
        (
            operator(),
            stored(Some("v3")),
            "the versions of guestbooks.example.com do not make one definition",
        ),
        (
            mixed,
            stored(None),
            "the versions of guestbooks.example.com do not make one definition",
        ),
        (
            operator(),
            unknown,
            "the operator has no definition \"books.example.com\", for which the storage version \"v1\" was chosen",
        ),
    ];
    for (operator, options, expect) in rows {
        assert_eq!(crds(&operator, &options).unwrap_err().to_string(), expect);
    }
}

#[test]
fn names() {
    let options = Options {
        rbac: RbacOptions {
            name: Some("manager".to_owned()),
            namespace: Some("books".to_owned()),
        },
        ..Options::default()
    };
    let tree = install(&operator(), &options).unwrap();
    insta::assert_snapshot!(tree.get("rbac/service_account.yaml").unwrap(), @r"
    ---
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      name: manager
      namespace: books
    ");
    // Nothing to allow: an account without a role.
    let tree = install(&Operator::new("idle"), &Options::default()).unwrap();
    let paths: Vec<_> = tree.files().map(|(path, _)| path).collect();
    assert_eq!(paths, ["rbac/namespace.yaml", "rbac/service_account.yaml"]);
}

fn stored(version: Option<&str>) -> CrdOptions {
    let version = version.map(|version| ("guestbooks.example.com".to_owned(), version.to_owned()));
    CrdOptions {
        storage_versions: version.into_iter().collect(),
    }
}

fn shown(tree: &Tree) -> String {
    tree.files()
        .map(|(path, text)| format!("# {path}\n{text}"))
        .collect()
}
