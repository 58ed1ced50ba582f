//! The kind that users write.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubewright::{CustomResource, Schema};
use serde::{Deserialize, Serialize};

/// A page with a message, and servers that show it.
#[derive(CustomResource, Schema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::duplicated_attributes, reason = "two columns have one type")]
#[resource(
    group = "example.kubewright.dev",
    version = "v1",
    kind = "Guestbook",
    short_name = "gb",
    status = "GuestbookStatus",
    scale(
        spec_path = ".spec.replicas",
        status_path = ".status.replicas",
        selector_path = ".status.selector"
    ),
    print_column(name = "Replicas", type = "integer", json_path = ".spec.replicas"),
    print_column(name = "Ready", type = "integer", json_path = ".status.readyReplicas"),
    print_column(
        name = "Available",
        type = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    print_column(name = "Message", type = "string", json_path = ".spec.message", priority = 1),
    print_column(name = "Age", type = "date", json_path = ".metadata.creationTimestamp"),
    derive(PartialEq)
)]
pub struct GuestbookSpec {
    /// How many servers show the page.
    #[serde(default = "one")]
    #[schema(default, minimum = 0, maximum = 10)]
    pub replicas: i32,
    /// The image of the servers. It shows what is in `/usr/share/nginx/html`, on port 80.
    #[serde(default = "nginx")]
    #[schema(default, min_length = 1)]
    pub image: String,
    /// What the page says.
    #[schema(min_length = 1, max_length = 1024)]
    pub message: String,
}

fn one() -> i32 {
    1
}

fn nginx() -> String {
    "nginx:1.29-alpine".to_owned()
}

/// How far the operator is.
#[derive(Schema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GuestbookStatus {
    /// How many servers there are.
    #[serde(default)]
    pub replicas: i32,
    /// How many of them can show the page.
    #[serde(default)]
    pub ready_replicas: i32,
    /// The labels of the servers, for autoscalers.
    #[serde(default)]
    pub selector: String,
    /// The generation of the guestbook that this is about.
    #[serde(default)]
    pub observed_generation: i64,
    /// `Available`: as many servers as asked for can show the page. `Progressing`: servers are being started, replaced or
    /// stopped.
    #[serde(default)]
    #[schema(list_type = "map", map_key = "type")]
    pub conditions: Vec<Condition>,
}
