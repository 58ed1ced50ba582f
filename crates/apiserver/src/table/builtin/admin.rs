//! How the API server itself is set up: certificates, admission, flow control, storage versions, aggregation.

use std::cmp::Ordering;

use jiff::SignedDuration;
use kubewright_core::json::by_name;
use serde_json::Value;

use super::{BuiltinPrinter, no_conditions, printer};
use crate::table::column::{AGE, Column, NAME, integer, string};
use crate::table::format::{NONE, UNSET, cut_short, human_duration, labels};
use crate::table::view::{Row, get, int, items, or, text};

pub(super) static PRINTERS: &[BuiltinPrinter] = &[
    printer(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        &[
            NAME,
            AGE,
            string("SignerName", "Who is asked to sign."),
            string("Requestor", "Who asks."),
            string("RequestedDuration", "How long the certificate should hold."),
            string("Condition", "Whether it is approved, denied, issued."),
        ],
        signing_request,
    ),
    printer(
        "certificates.k8s.io",
        "PodCertificateRequest",
        &[
            NAME,
            string("PodName", "The pod that the certificate is for."),
            string("ServiceAccountName", "The service account of that pod."),
            string("NodeName", "The node of that pod."),
            string("SignerName", "Who is asked to sign."),
            string("State", "Whether it is issued, denied, failed or pending."),
            string("UnverifiedUserAnnotations", "What the pod adds for the signer."),
        ],
        pod_certificate_request,
    ),
    printer(
        "certificates.k8s.io",
        "ClusterTrustBundle",
        &[
            NAME,
            string("SignerName", "The signer whose certificates it vouches for."),
        ],
        |row| vec![row.name(), or(row.text("/spec/signerName"), NONE).into()],
    ),
    printer(ADMISSION, "MutatingWebhookConfiguration", WEBHOOKS, webhooks),
    printer(ADMISSION, "ValidatingWebhookConfiguration", WEBHOOKS, webhooks),
    printer(
        ADMISSION,
        "ValidatingAdmissionPolicy",
        &[
            NAME,
            integer("Validations", "How many rules it checks."),
            PARAM_KIND,
            AGE,
        ],
        |row| policy(row, "/spec/validations"),
    ),
    printer(
        ADMISSION,
        "MutatingAdmissionPolicy",
        &[
            NAME,
            integer("Mutations", "How many changes it makes."),
            PARAM_KIND,
            AGE,
        ],
        |row| policy(row, "/spec/mutations"),
    ),
    printer(
        ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        POLICY_BINDING,
        policy_binding,
    ),
    printer(
        ADMISSION,
        "MutatingAdmissionPolicyBinding",
        POLICY_BINDING,
        policy_binding,
    ),
    BuiltinPrinter {
        group: FLOW_CONTROL,
        versions: &[],
        kind: "FlowSchema",
        columns: &[
            NAME,
            string("PriorityLevel", "The level that its requests go to."),
            string(
                "MatchingPrecedence",
                "Where it stands among the schemas; lower is asked first.",
            ),
            string("DistinguisherMethod", "What tells its flows apart."),
            AGE,
            string("MissingPL", "Whether its level is missing."),
        ],
        cells: flow_schema,
        conditions: no_conditions,
        order: Some(by_precedence),
    },
    printer(
        FLOW_CONTROL,
        "PriorityLevelConfiguration",
        &[
            NAME,
            string("Type", "Whether its requests are limited."),
            string(
                "NominalConcurrencyShares",
                "Its share of the requests that run at a time.",
            ),
            string("Queues", "How many queues it has."),
            string("HandSize", "How many queues each flow is dealt."),
            string("QueueLengthLimit", "How many requests a queue holds."),
            AGE,
        ],
        priority_level,
    ),
    printer(
        "internal.apiserver.k8s.io",
        "StorageVersion",
        &[
            NAME,
            string("CommonEncodingVersion", "The version that all servers write."),
            string("StorageVersions", "The version that each server writes."),
            AGE,
        ],
        storage_version,
    ),
    printer(
        "storagemigration.k8s.io",
        "StorageVersionMigration",
        &[
            string("Name", "The object's name, unique in the cluster."),
            string("Resource", "The resource whose objects are written anew."),
            string("Status", "Whether it runs, has succeeded or has failed."),
        ],
        storage_version_migration,
    ),
    printer(
        "apiregistration.k8s.io",
        "APIService",
        &[
            NAME,
            string("Service", "The service behind it, or Local."),
            string("Available", "Whether requests reach it."),
            AGE,
        ],
        api_service,
    ),
];

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

const WEBHOOKS: &[Column] = &[NAME, integer("Webhooks", "How many webhooks it registers."), AGE];
const PARAM_KIND: Column = string("ParamKind", "The kind of object that parameterises it.");
const POLICY_BINDING: &[Column] = &[
    NAME,
    string("PolicyName", "The policy that it puts in force."),
    string("ParamRef", "The object that parameterises the policy."),
    AGE,
];

fn signing_request(row: &Row<'_>) -> Vec<Value> {
    let duration = row
        .get("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .map(SignedDuration::from_secs);
    vec![
        row.name(),
        row.age(),
        or(row.text("/spec/signerName"), NONE).into(),
        row.text("/spec/username").into(),
        duration.map_or_else(|| NONE.to_owned(), human_duration).into(),
        signing_status(row).into(),
    ]
}

fn signing_status(row: &Row<'_>) -> String {
    let has = |type_: &str| {
        row.items("/status/conditions")
            .iter()
            .any(|condition| text(condition, "/type") == type_)
    };
    let mut status = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !row.text("/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    status
}

fn pod_certificate_request(row: &Row<'_>) -> Vec<Value> {
    let ends = ["Denied", "Failed", "Issued"];
    let mut conditions = row
        .items("/status/conditions")
        .iter()
        .map(|condition| text(condition, "/type"));
    vec![
        row.name(),
        row.text("/spec/podName").into(),
        row.text("/spec/serviceAccountName").into(),
        row.text("/spec/nodeName").into(),
        row.text("/spec/signerName").into(),
        conditions
            .rfind(|type_| ends.contains(type_))
            .unwrap_or("Pending")
            .into(),
        labels(row.get("/spec/unverifiedUserAnnotations")).into(),
    ]
}

fn webhooks(row: &Row<'_>) -> Vec<Value> {
    vec![row.name(), row.items("/webhooks").len().into(), row.age()]
}

fn policy(row: &Row<'_>, rules: &str) -> Vec<Value> {
    let param_kind = row.get("/spec/paramKind").map_or_else(
        || UNSET.to_owned(),
        |kind| format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind")),
    );
    vec![
        row.name(),
        row.items(rules).len().into(),
        param_kind.into(),
        row.age(),
    ]
}

fn policy_binding(row: &Row<'_>) -> Vec<Value> {
    let (name, namespace) = (
        row.text("/spec/paramRef/name"),
        row.text("/spec/paramRef/namespace"),
    );
    let params = match (name, row.get("/spec/paramRef/selector")) {
        ("", None) => UNSET.to_owned(),
        ("", Some(selector)) => selector_as_go(selector),
        // Whether the parameter has a namespace of its own cannot be told from here.
        (name, _) => format!("{}/{name}", or(namespace, "*")),
    };
    vec![
        row.name(),
        row.text("/spec/policyName").into(),
        params.into(),
        row.age(),
    ]
}

/// A label selector as upstream's generated `String` method writes it, which is what upstream puts into the cell.
fn selector_as_go(selector: &Value) -> String {
    let labels = get(selector, "/matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(by_name);
    let labels: String = labels
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let expressions = items(selector, "/matchExpressions").iter().map(|expression| {
        let values: Vec<_> = items(expression, "/values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        format!(
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(expression, "/key"),
            text(expression, "/operator"),
            values.join(" "),
        )
    });
    let expressions: String = expressions.collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn flow_schema(row: &Row<'_>) -> Vec<Value> {
    let mut conditions = row.items("/status/conditions").iter();
    let dangling = conditions.find(|condition| text(condition, "/type") == "Dangling");
    let method = row
        .get("/spec/distinguisherMethod")
        .map_or(NONE, |method| text(method, "/type"));
    vec![
        row.name(),
        row.text("/spec/priorityLevelConfiguration/name").into(),
        row.int("/spec/matchingPrecedence").into(),
        method.into(),
        row.age(),
        dangling
            .map_or("?", |condition| text(condition, "/status"))
            .into(),
    ]
}

/// Flow schemas stand in the order in which requests are matched against them.
fn by_precedence(a: &Value, b: &Value) -> Ordering {
    let key = |schema| {
        (
            int(schema, "/spec/matchingPrecedence"),
            text(schema, "/metadata/name"),
        )
    };
    key(a).cmp(&key(b))
}

fn priority_level(row: &Row<'_>) -> Vec<Value> {
    let cell = |holder: &str, field: &str| match row.get(holder) {
        Some(holder) => holder
            .get(field)
            .and_then(Value::as_i64)
            .unwrap_or_default()
            .into(),
        None => Value::from(NONE),
    };
    let queuing = "/spec/limited/limitResponse/queuing";
    vec![
        row.name(),
        row.text("/spec/type").into(),
        cell("/spec/limited", "nominalConcurrencyShares"),
        cell(queuing, "queues"),
        cell(queuing, "handSize"),
        cell(queuing, "queueLengthLimit"),
        row.age(),
    ]
}

fn storage_version(row: &Row<'_>) -> Vec<Value> {
    let common = row.get("/status/commonEncodingVersion").and_then(Value::as_str);
    let servers = row.items("/status/storageVersions").iter();
    let servers: Vec<_> = servers
        .map(|server| {
            format!(
                "{}={}",
                text(server, "/apiServerID"),
                text(server, "/encodingVersion")
            )
        })
        .collect();
    vec![
        row.name(),
        common.unwrap_or(UNSET).into(),
        cut_short(&servers, servers.len(), UNSET).into(),
        row.age(),
    ]
}

fn storage_version_migration(row: &Row<'_>) -> Vec<Value> {
    let resource = match (
        row.text("/spec/resource/resource"),
        row.text("/spec/resource/group"),
    ) {
        (resource, "") => resource.to_owned(),
        (resource, group) => format!("{resource}.{group}"),
    };
    let mut conditions = row.items("/status/conditions").iter();
    let status = conditions.rfind(|condition| {
        text(condition, "/status") == "True"
            && matches!(text(condition, "/type"), "Running" | "Failed" | "Succeeded")
    });
    let status = status.map_or("Unknown", |condition| text(condition, "/type"));
    vec![row.name(), resource.into(), status.into()]
}

fn api_service(row: &Row<'_>) -> Vec<Value> {
    let service = row.get("/spec/service").map_or_else(
        || "Local".to_owned(),
        |service| format!("{}/{}", text(service, "/namespace"), text(service, "/name")),
    );
    let mut conditions = row.items("/status/conditions").iter();
    let available = conditions.find(|condition| text(condition, "/type") == "Available");
    let available = available.map_or_else(
        || "Unknown".to_owned(),
        |condition| match (text(condition, "/status"), text(condition, "/reason")) {
            ("True", _) => "True".to_owned(),
            (status, "") => status.to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        },
    );
    vec![row.name(), service.into(), available.into(), row.age()]
}
