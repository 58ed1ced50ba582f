//! Tests of the whole: what a client receives.

mod cluster;
mod kinds;
mod pods;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// When all tables of these tests are made.
fn now() -> Timestamp {
    "2026-01-10T12:00:00Z".parse().unwrap()
}

/// The instant that lies this many seconds before [`now`], as JSON.
fn ago(seconds: i64) -> Value {
    (now() - jiff::SignedDuration::from_secs(seconds))
        .to_string()
        .into()
}

/// The cells of an object, found by group, version and kind.
fn cells(group: &str, version: &str, kind: &str, object: &Value) -> Value {
    let printer = Printer::for_builtin(group, version, kind);
    let mut row = printer.row(object, IncludeObject::None, TableVersion::V1, now());
    assert_eq!(
        row["cells"].as_array().unwrap().len(),
        printer.columns().len(),
        "{kind}: cells and columns"
    );
    row["cells"].take()
}

#[test]
fn unknown_kinds_print_their_name_and_creation() {
    let printer = Printer::for_builtin("example.com", "v1", "Widget");
    let object = json!({"metadata": {"name": "w", "creationTimestamp": "2020-01-01T00:00:00Z"}});
    let row = printer.row(&object, IncludeObject::None, TableVersion::V1, now());
    assert_eq!(
        row,
        json!({"cells": ["w", "2020-01-01T00:00:00Z"], "object": null})
    );
    let columns: Vec<_> = printer
        .columns()
        .iter()
        .map(|column| format!("{}:{}", column.name, column.type_))
        .collect();
    assert_eq!(columns, ["Name:string", "Created At:date"]);
}

#[test]
fn rows_carry_as_much_of_the_object_as_asked() {
    let object =
        json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u"}, "spec": {}});
    let bookmark = json!({"metadata": {"resourceVersion": "7", "annotations": {INITIAL_EVENTS_END: "true"}}});
    let partial = |metadata: &Value, version: &str| json!({"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata});
    let check = |object: &Value, include, version, expect: Value| {
        let row = Printer::for_builtin("", "v1", "Namespace").row(object, include, version, now());
        assert_eq!(row["object"], expect);
    };
    use {IncludeObject as Include, TableVersion as Version};
    check(&object, Include::None, Version::V1, Value::Null);
    check(
        &object,
        Include::Metadata,
        Version::V1,
        partial(&object["metadata"], "meta.k8s.io/v1"),
    );
    check(
        &object,
        Include::Metadata,
        Version::V1beta1,
        partial(&object["metadata"], "meta.k8s.io/v1beta1"),
    );
    check(&object, Include::Object, Version::V1, object.clone());
    check(
        &bookmark,
        Include::None,
        Version::V1,
        partial(&bookmark["metadata"], "meta.k8s.io/v1"),
    );
    check(
        &json!({}),
        Include::Metadata,
        Version::V1,
        partial(&json!({}), "meta.k8s.io/v1"),
    );
}

#[test]
fn columns_serialise_like_the_table_shows_them() {
    for column in BuiltinPrinter::all().flat_map(|printer| printer.columns) {
        let column = ColumnDefinition::from(*column);
        assert_eq!(serde_json::to_value(&column).unwrap(), column.to_json());
        assert!(
            column.description.ends_with('.'),
            "{}: {}",
            column.name,
            column.description
        );
    }
}

#[test]
fn parameters_read_as_upstream_reads_them() {
    assert_eq!(IncludeObject::from_query(""), Some(IncludeObject::Metadata));
    assert_eq!(IncludeObject::from_query("Object"), Some(IncludeObject::Object));
    assert_eq!(IncludeObject::from_query("None"), Some(IncludeObject::None));
    assert_eq!(IncludeObject::from_query("object"), None);
    assert_eq!(TableVersion::from_name("v1beta1"), Some(TableVersion::V1beta1));
    assert_eq!(TableVersion::from_name("v2"), None);
}

#[test]
fn tables_have_columns_once() {
    let printer = Printer::for_builtin("", "v1", "Namespace");
    let object = json!({"metadata": {"name": "n"}, "status": {"phase": "Active"}});
    let row = || printer.row(&object, IncludeObject::None, TableVersion::V1, now());
    let metadata = json!({"resourceVersion": "9", "continue": "", "remainingItemCount": 3, "selfLink": "/x"});
    let first = table(&metadata, vec![row()], Some(&printer.columns()), TableVersion::V1);
    assert_eq!(first["kind"], "Table");
    assert_eq!(first["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(
        first["metadata"],
        json!({"resourceVersion": "9", "remainingItemCount": 3})
    );
    assert_eq!(
        first["columnDefinitions"][1],
        json!({"name": "Status", "type": "string", "format": "", "description": "Active, or Terminating.", "priority": 0})
    );
    assert_eq!(first["columnDefinitions"][0]["format"], "name");
    assert_eq!(first["rows"][0]["cells"], json!(["n", "Active", "<unknown>"]));

    let later = table(&Value::Null, vec![row()], None, TableVersion::V1beta1);
    assert_eq!(later["columnDefinitions"], Value::Null);
    assert_eq!(later["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(later["metadata"], json!({}));
    assert_eq!(
        table(&Value::Null, Vec::new(), None, TableVersion::V1)["rows"],
        json!([])
    );
}

/// The columns are part of the wire contract. `+` marks those of wide output; the type is left out where it is `string`.
#[test]
fn columns_of_the_built_in_kinds() {
    let printed: Vec<String> = BuiltinPrinter::all()
        .map(|printer| {
            let columns = printer
                .columns
                .iter()
                .copied()
                .map(ColumnDefinition::from)
                .map(|column| {
                    let wide = if column.priority > 0 { "+" } else { "" };
                    let type_ = if column.type_ == "string" {
                        String::new()
                    } else {
                        format!(":{}", column.type_)
                    };
                    format!("{wide}{}{type_}", column.name)
                });
            let columns = columns.collect::<Vec<_>>().join(" | ");
            let id = [&[printer.kind, printer.group], printer.versions]
                .concat()
                .join(" ");
            format!("{}: {columns}", id.trim_end())
        })
        .collect();
    assert_eq!(printed.join("\n") + "\n", include_str!("columns.txt"));
}

/// Built-in kinds without a printer, so that a new kind is noticed.
#[test]
fn kinds_without_a_printer() {
    let mut plain: Vec<_> = kubewright_kinds::table()
        .resources()
        .iter()
        .filter(|resource| resource.verbs.contains(&"list"))
        .filter(|resource| BuiltinPrinter::find(resource.group, resource.version, resource.kind).is_none())
        .map(|resource| format!("{}.{}", resource.kind, resource.group))
        .collect();
    plain.sort_unstable();
    plain.dedup();
    assert_eq!(
        plain,
        [
            "CSIStorageCapacity.storage.k8s.io",
            "ClusterRole.rbac.authorization.k8s.io",
            "LimitRange.",
            "Role.rbac.authorization.k8s.io",
        ]
    );
}

/// A printer for a kind that does not exist would never be asked for.
#[test]
fn printers_are_for_kinds_that_exist() {
    for printer in BuiltinPrinter::all() {
        let known = ["v1", "v2", "v1beta1", "v1alpha1", "v1alpha3"]
            .into_iter()
            .any(|version| {
                kubewright_kinds::table()
                    .kind(printer.group, version, printer.kind)
                    .is_some()
            });
        assert!(known, "{}.{}", printer.kind, printer.group);
    }
}

/// Any JSON, made of names that printers look for so that they get deep into it.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
        "[^a]{0,12}".prop_map(Value::from),
        (-400_000_000_000_i64..400_000_000_000).prop_map(
            |second| Timestamp::from_second(second).map_or(Value::Null, |time| time.to_string().into())
        ),
    ];
    leaf.prop_recursive(6, 160, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(WORDS), inner, 0..12).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

const WORDS: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
    "ownerReferences",
    "controller",
    "spec",
    "status",
    "conditions",
    "type",
    "reason",
    "True",
    "Ready",
    "Initialized",
    "containers",
    "initContainers",
    "containerStatuses",
    "initContainerStatuses",
    "restartPolicy",
    "Always",
    "restartCount",
    "lastState",
    "state",
    "terminated",
    "waiting",
    "running",
    "finishedAt",
    "exitCode",
    "signal",
    "ready",
    "started",
    "phase",
    "readinessGates",
    "template",
    "selector",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "In",
    "replicas",
    "ports",
    "port",
    "nodePort",
    "LoadBalancer",
    "loadBalancer",
    "ingress",
    "ip",
    "externalIPs",
    "subsets",
    "addresses",
    "endpoints",
    "rules",
    "host",
    "metrics",
    "currentMetrics",
    "Resource",
    "resource",
    "Pods",
    "pods",
    "target",
    "current",
    "averageValue",
    "averageUtilization",
    "series",
    "count",
    "startTime",
    "completionTime",
    "hard",
    "used",
    "capacity",
    "storage",
    "accessModes",
    "webhooks",
    "subjects",
    "kind",
    "User",
    "node-role.kubernetes.io/",
    "limited",
];

proptest! {
    #[test]
    fn no_object_panics_a_printer(object in any_json()) {
        let custom = json!([
            {"name": "A", "type": "string", "jsonPath": ".spec.containers[0].name"},
            {"name": "B", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "C", "type": "integer", "jsonPath": "..count"},
            {"name": "D", "type": "number", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].count"},
        ]);
        let custom = Printer::Custom(Arc::new(CustomColumns::compile(&custom).unwrap()));
        for printer in BuiltinPrinter::all().map(Printer::Builtin).chain([Printer::Default, custom]) {
            let row = printer.row(&object, IncludeObject::Metadata, TableVersion::V1, now());
            prop_assert_eq!(row["cells"].as_array().map(Vec::len), Some(printer.columns().len()));
        }
    }

    #[test]
    fn no_list_of_columns_panics(columns in any_json()) {
        let (columns, _) = CustomColumns::compile_leading(&columns);
        prop_assert!(columns.columns().len() <= 6);
    }
}
