//! API machinery of Kubernetes: the words that client and server share.
//!
//! What lives here are values: identities of kinds and resources, object keys, dynamic objects, selectors of labels, fields
//! and shards ([`ShardSelector`]), quantities, statuses with their reasons, field errors, patch kinds, watch events, resource
//! versions and request options; and [`json`], which finds where objects and their members end without decoding them. What
//! does not: no I/O, no async, no clock of its own.
//!
//! ```
//! use kubewright_core::{ApiResource, LabelSelector, ObjectKey, StaticResource};
//! use k8s_openapi::api::apps::v1::Deployment;
//!
//! let deployments: ApiResource = Deployment::api_resource();
//! assert_eq!(deployments.path(Some("web"), Some("front")), "/apis/apps/v1/namespaces/web/deployments/front");
//! assert_eq!(ObjectKey::parse("web/front").to_string(), "web/front");
//!
//! let selector: LabelSelector = "app in (front, back), !canary".parse().unwrap();
//! assert!(selector.matches(|key| (key == "app").then_some("front")));
//! ```

mod admission_review;
mod api_resource;
mod applicable;
mod continue_tokens;
mod conversion_review;
mod dynamic;
mod field_error;
mod go_json;
mod gvk;
pub mod json;
mod list;
mod object_key;
mod options;
mod owner;
mod patch;
mod quantity;
pub mod query;
mod resource;
mod resource_version;
mod selector;
mod shard;
mod status;
mod watch;

pub use admission_review::{AdmissionRequest, AdmissionResponse, AdmissionReview, UserInfo};
pub use api_resource::{ApiResource, Scope, encode_segment};
pub use applicable::{Applicable, Untyped};
pub use continue_tokens::ContinueTokens;
pub use conversion_review::{ConversionRequest, ConversionResponse, ConversionReview};
pub use dynamic::{DynamicObject, PartialObject, TypeMeta};
pub use field_error::{FieldError, FieldErrorKind, FieldPath};
pub use go_json::{go_json, go_json_indented, go_json_indented_of, go_json_of};
pub use gvk::{
    GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, ParseGroupVersionError,
};
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
pub use list::{List, ListMeta, ShardInfo};
pub use object_key::ObjectKey;
pub use options::{
    DeleteOptions, FieldValidation, InvalidOption, ListOptions, Preconditions, PropagationPolicy,
    VersionMatch, WriteOptions,
};
pub use owner::{
    OwnerError, controller_of, is_controlled_by, object_reference, object_reference_as, owner_reference,
    remove_owner_reference, set_controller_reference, set_controller_reference_as, set_owner_reference,
    set_owner_reference_as,
};
pub use patch::{Patch, PatchKind};
pub use quantity::{ParseQuantityError, Quantity};
pub use resource::{Cluster, Namespaced, Resource, ScopeKind, StaticResource};
pub use resource_version::ResourceVersion;
pub use selector::{
    FieldRequirement, FieldSelector, LabelOperator, LabelRequirement, LabelSelector, ParseSelectorError,
    label_key_faults, label_value_faults,
};
pub use shard::{
    MAX_SHARD_RANGES, SHARD_SPACE, ShardField, ShardRange, ShardSelector, ShardSelectorError, shard_hash,
};
pub use status::{Status, StatusCause, StatusDetails, StatusReason};
pub use watch::{WatchEvent, WatchEventKind};
