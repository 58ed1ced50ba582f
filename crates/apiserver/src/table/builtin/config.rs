//! Namespaces, configuration, identities and rights.

use kubewright_core::json::by_name;
use serde_json::Value;

use super::{BuiltinPrinter, printer};
use crate::table::column::{AGE, Column, NAME, string};
use crate::table::format::quantity;
use crate::table::view::{Row, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(
        "",
        "Namespace",
        &[NAME, string("Status", "Active, or Terminating."), AGE],
        |row| vec![row.name(), row.text("/status/phase").into(), row.age()],
    ),
    printer(
        "",
        "ConfigMap",
        &[NAME, string("Data", "How many entries it has."), AGE],
        |row| {
            vec![
                row.name(),
                (entries(row, "/data") + entries(row, "/binaryData")).into(),
                row.age(),
            ]
        },
    ),
    printer(
        "",
        "Secret",
        &[
            NAME,
            string("Type", "What the secret is for."),
            string("Data", "How many entries it has."),
            AGE,
        ],
        |row| {
            vec![
                row.name(),
                row.text("/type").into(),
                entries(row, "/data").into(),
                row.age(),
            ]
        },
    ),
    printer("", "ServiceAccount", &[NAME, AGE], |row| {
        vec![row.name(), row.age()]
    }),
    printer(
        "",
        "ResourceQuota",
        &[
            NAME,
            string(
                "Request",
                "Use and limit of each resource that requests and objects count against.",
            ),
            string(
                "Limit",
                "Use and limit of each resource that container limits count against.",
            ),
            AGE,
        ],
        resource_quota,
    ),
    printer("rbac.authorization.k8s.io", "RoleBinding", BINDING, role_binding),
    printer(
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        BINDING,
        role_binding,
    ),
];

const BINDING: &[Column] = &[
    NAME,
    string("Role", "The role that is granted."),
    AGE,
    string("Users", "Users that it is granted to.").wide(),
    string("Groups", "Groups that it is granted to.").wide(),
    string("ServiceAccounts", "Service accounts that it is granted to.").wide(),
];

fn entries(row: &Row<'_>, path: &str) -> usize {
    row.get(path)
        .and_then(Value::as_object)
        .map_or(0, serde_json::Map::len)
}

fn resource_quota(row: &Row<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    if let Some(hard) = row.get("/status/hard").and_then(Value::as_object) {
        for (resource, hard) in by_name(hard) {
            let used = row.get("/status/used").and_then(|used| used.get(resource));
            let entry = format!("{resource}: {}/{}", quantity(used), quantity(Some(hard)));
            if resource.starts_with("limits.") {
                limits.push(entry)
            } else {
                requests.push(entry)
            }
        }
    }
    vec![
        row.name(),
        requests.join(", ").into(),
        limits.join(", ").into(),
        row.age(),
    ]
}

fn role_binding(row: &Row<'_>) -> Vec<Value> {
    let subjects = |kind: &str, name: fn(&Value) -> String| -> Value {
        let subjects = row
            .items("/subjects")
            .iter()
            .filter(|subject| text(subject, "/kind") == kind);
        subjects.map(name).collect::<Vec<_>>().join(", ").into()
    };
    let plain = |subject: &Value| text(subject, "/name").to_owned();
    vec![
        row.name(),
        format!("{}/{}", row.text("/roleRef/kind"), row.text("/roleRef/name")).into(),
        row.age(),
        subjects("User", plain),
        subjects("Group", plain),
        subjects("ServiceAccount", |subject| {
            format!("{}/{}", text(subject, "/namespace"), text(subject, "/name"))
        }),
    ]
}
