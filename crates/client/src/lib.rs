//! A Kubernetes client: configuration, requests, typed and dynamic objects, discovery.
//!
//! A [`Client`] is made from a [`Config`] (kubeconfig, service account, or values) or from a server in this process. An
//! [`Api`] reads and writes objects of one kind with it; [`Client::list_items`] and [`Client::watch_raw`] serve those who
//! keep objects as bytes; [`discovery`] tells what the server offers. No objects are cached here.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_client::{Api, Client, Error, ListOptions};
//! use kubewright_net::{Body, HttpService, Identity};
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! // Any service from request to response is a server; a real one is found by `Config::infer()`.
//! let server = HttpService::from_fn(|request| async move {
//!     assert_eq!(request.uri(), "/api/v1/namespaces/team/configmaps?limit=10");
//!     Ok(http::Response::new(Body::from(r#"{"items": [{"metadata": {"name": "settings"}}]}"#)))
//! });
//! let client = Client::in_process(server, Identity::new("me", ["system:masters"]), "team");
//! let config_maps: Api<ConfigMap> = Api::default_namespaced(&client);
//! let list = config_maps.list(&ListOptions { limit: 10, ..ListOptions::default() }).await?;
//! assert_eq!(list.items[0].metadata.name.as_deref(), Some("settings"));
//! # Ok(()) }
//! ```

mod api;
mod auth;
mod call;
mod client;
mod config;
mod error;
mod exec;
mod frame;
mod hint;
mod items;
mod layers;
mod raw;
mod reload;
mod remote;
mod rest;
mod watch;

pub mod discovery;
pub mod helpers;

pub use api::{
    AllNamespaces, Api, ApplyConflicts, ApplyOptions, Deleted, DynamicApi, LogEnd, LogOf, LogOptions,
    LogOutput, LogSince, LogTimestamps, Logs, MAX_LINE_BYTES, PAGE_SIZE, Pages, Persistence,
};
pub use call::Call;
pub use client::{Client, ClientOptions, default_user_agent};
pub use config::{Config, ConfigError, Credentials, Overrides};
pub use error::Error;
pub use items::{ListSplitter, RawItems, SplitError};
pub use kubewright_core::{
    Applicable, DeleteOptions, FieldValidation, List, ListMeta, ListOptions, Patch, Preconditions,
    PropagationPolicy, Untyped, VersionMatch, WatchEvent, WatchEventKind, WriteOptions,
};
pub use layers::{
    Attempt, AuthLayer, Deadline, DebugLayer, DebugLevel, Gzip, GzipLayer, IdentityLayer, Impersonation,
    ImpersonationLayer, MAX_REMEMBERED, MAX_RETRIES, MetricsLayer, RateLimit, RateLimitLayer, RestMetrics,
    RetryLayer, TraceLayer, UserAgentLayer, WarningHandler, WarningsLayer, metric_names,
};
pub use raw::{RawEvent, RawList, RawWatch, ResourcePath, View};
pub use remote::{
    AttachOptions, CopyError, CopyOptions, CopyReport, ExecOptions, ExitStatus, MAX_FORWARDED,
    MAX_MESSAGE_BYTES, MAX_PIPE_BYTES, MAX_SILENCE, MAX_SKIPPED, PING_INTERVAL, PortForwarder, PortStream,
    ProcessInput, ProcessOutput, ProxyTarget, RemoteOutput, RemoteProcess, SkipReason, SkippedEntry, Stdio,
    StreamProtocol, Terminal, TerminalSize,
};
pub use rest::{RestClient, RestRequest};
pub use watch::Watch;
