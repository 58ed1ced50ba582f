//! Options of requests, and how they stand in a query (client) and are read from one (server).

use form_urlencoded::Serializer;
use serde::{Deserialize, Serialize};

use crate::{FieldError, FieldPath, FieldSelector, LabelSelector, ShardSelector, query};

/// Which versions of a list or watch are good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly the version given.
    Exact,
    /// The version given or any later one.
    NotOlderThan,
}

impl VersionMatch {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }
}

/// Options of list, watch and deletecollection (`metav1.ListOptions`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// Only objects whose labels match. Default: all.
    pub label_selector: LabelSelector,
    /// Only objects whose fields match. Default: all.
    pub field_selector: FieldSelector,
    /// The version to read at or to watch from; empty for the newest.
    pub resource_version: String,
    /// How `resource_version` is meant. Default: as upstream reads each verb without it.
    pub version_match: Option<VersionMatch>,
    /// At most so many objects in one answer; 0 for all.
    pub limit: u64,
    /// Where to go on, from the last answer.
    pub continue_token: String,
    /// After how many seconds the server ends the request.
    pub timeout_seconds: Option<u64>,
    /// Watch instead of listing.
    pub watch: bool,
    /// Let the server send bookmarks on a watch.
    pub allow_bookmarks: bool,
    /// Begin a watch with the present state, ended by a bookmark (KEP-3157).
    pub send_initial_events: Option<bool>,
    /// Only objects of a shard (KEP-5866). Default: all. A server that does not know such selectors sends all: see
    /// [`ListMeta::shard_info`](crate::ListMeta::shard_info).
    pub shard_selector: Option<ShardSelector>,
}

impl ListOptions {
    /// Options that select by labels.
    pub fn labels(selector: LabelSelector) -> Self {
        Self {
            label_selector: selector,
            ..Self::default()
        }
    }

    /// Writes the options as a query, without a leading `?`; empty when all are at their defaults.
    pub fn to_query(&self) -> String {
        let mut query = Serializer::new(String::new());
        let mut text = |name: &str, value: &str| {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        };
        text("labelSelector", &self.label_selector.to_string());
        text("fieldSelector", &self.field_selector.to_string());
        text("resourceVersion", &self.resource_version);
        text(
            "resourceVersionMatch",
            self.version_match.map_or("", VersionMatch::as_str),
        );
        text("continue", &self.continue_token);
        if self.limit > 0 {
            text("limit", &self.limit.to_string());
        }
        if let Some(seconds) = self.timeout_seconds {
            text("timeoutSeconds", &seconds.to_string());
        }
        if self.watch {
            text("watch", "true");
        }
        if self.allow_bookmarks {
            text("allowWatchBookmarks", "true");
        }
        if let Some(send) = self.send_initial_events {
            text("sendInitialEvents", if send { "true" } else { "false" });
        }
        if let Some(selector) = &self.shard_selector {
            text("shardSelector", &selector.to_string());
        }
        query.finish()
    }

    /// Reads the options from a query; parameters of other options are passed over.
    ///
    /// # Errors
    /// Names the first parameter that cannot be read.
    pub fn from_query(query: &str) -> Result<Self, InvalidOption> {
        let mut options = Self::default();
        for (name, value) in query::parameters(query) {
            let invalid = |why: &dyn std::fmt::Display| InvalidOption::unreadable(&name, &value, why);
            match &*name {
                "labelSelector" => options.label_selector = value.parse().map_err(|e| invalid(&e))?,
                "fieldSelector" => options.field_selector = value.parse().map_err(|e| invalid(&e))?,
                "resourceVersion" => options.resource_version = value.into_owned(),
                "resourceVersionMatch" => {
                    options.version_match = match &*value {
                        "" => None,
                        "Exact" => Some(VersionMatch::Exact),
                        "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                        other => {
                            return Err(InvalidOption::unsupported(
                                &name,
                                other,
                                &["Exact", "NotOlderThan", ""],
                            ));
                        }
                    }
                }
                "limit" => {
                    // Go's int64; upstream reads a negative limit as none.
                    let limit: i64 = if value.is_empty() {
                        0
                    } else {
                        query::integer(&value).map_err(|why| invalid(&why))?
                    };
                    options.limit = u64::try_from(limit).unwrap_or(0);
                }
                "continue" => options.continue_token = value.into_owned(),
                "timeoutSeconds" if !value.is_empty() => {
                    let seconds = query::integer(&value).map_err(|why| invalid(&why))?;
                    options.timeout_seconds = u64::try_from(seconds).ok();
                }
                "watch" => options.watch = parse_bool(&value),
                "allowWatchBookmarks" => options.allow_bookmarks = parse_bool(&value),
                "sendInitialEvents" if !value.is_empty() => {
                    options.send_initial_events = Some(parse_bool(&value))
                }
                "shardSelector" if !value.is_empty() => {
                    options.shard_selector = Some(value.parse().map_err(|e| invalid(&e))?);
                }
                _ => {}
            }
        }
        Ok(options)
    }
}

/// How the server treats fields that the kind does not have, and fields that occur twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drops them in silence.
    Ignore,
    /// Drops them with a `Warning` header: upstream's default.
    #[default]
    Warn,
    /// Refuses the request.
    Strict,
}

impl FieldValidation {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Run everything but store nothing.
    pub dry_run: bool,
    /// Who writes, for managed fields; empty lets the server take the user agent.
    pub field_manager: String,
    /// How unknown and duplicate fields are treated; `None` leaves it to the server.
    pub field_validation: Option<FieldValidation>,
    /// For server-side apply: take fields that others own.
    pub force: bool,
}

impl WriteOptions {
    /// Writes the options as a query, without a leading `?`.
    pub fn to_query(&self) -> String {
        let mut query = Serializer::new(String::new());
        if self.dry_run {
            query.append_pair("dryRun", "All");
        }
        if !self.field_manager.is_empty() {
            query.append_pair("fieldManager", &self.field_manager);
        }
        if let Some(validation) = self.field_validation {
            query.append_pair("fieldValidation", validation.as_str());
        }
        if self.force {
            query.append_pair("force", "true");
        }
        query.finish()
    }

    /// Reads the options from a query; parameters of other options are passed over.
    ///
    /// # Errors
    /// Names the first parameter that cannot be read.
    pub fn from_query(query: &str) -> Result<Self, InvalidOption> {
        let mut options = Self {
            dry_run: !parse_dry_run(query)?.is_empty(),
            ..Self::default()
        };
        if let Some(value) = query::first(query, "fieldManager") {
            options.field_manager = field_manager(&value)?;
        }
        if let Some(value) = query::first(query, "fieldValidation") {
            options.field_validation = match &*value {
                "" => None,
                "Ignore" => Some(FieldValidation::Ignore),
                "Warn" => Some(FieldValidation::Warn),
                "Strict" => Some(FieldValidation::Strict),
                other => {
                    let supported = ["", "Ignore", "Strict", "Warn"];
                    return Err(InvalidOption::unsupported("fieldValidation", other, &supported));
                }
            }
        }
        options.force = query::first(query, "force").is_some_and(|value| parse_bool(&value));
        Ok(options)
    }
}

/// What becomes of the dependants of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PropagationPolicy {
    /// They stay, without their reference to the owner.
    Orphan,
    /// They go after the owner, in the background.
    Background,
    /// They go first, and then the owner.
    Foreground,
}

impl std::str::FromStr for PropagationPolicy {
    type Err = InvalidOption;

    fn from_str(text: &str) -> Result<Self, InvalidOption> {
        match text {
            "Orphan" => Ok(Self::Orphan),
            "Background" => Ok(Self::Background),
            "Foreground" => Ok(Self::Foreground),
            other => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                Err(InvalidOption::unsupported("propagationPolicy", other, &supported))
            }
        }
    }
}

/// What must hold of an object for a delete to be carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preconditions {
    /// It must have this uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// It must have this version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// Options of delete (`metav1.DeleteOptions`), which travel as the request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeleteOptions {
    /// How long the object may take to end, in seconds; `None` for the kind's default, 0 for at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// What must hold of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
    /// What becomes of its dependants; `None` for the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<PropagationPolicy>,
    /// The old spelling of [`PropagationPolicy::Orphan`] and [`PropagationPolicy::Background`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphan_dependents: Option<bool>,
    /// `["All"]` to store nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<String>,
    /// Whether an object that can no longer be read from the store is to go, finalizers or not; one that can be read stays (KEP-3926).
    #[serde(
        rename = "ignoreStoreReadErrorWithClusterBreakingPotential",
        skip_serializing_if = "Option::is_none"
    )]
    pub ignore_store_read_error: Option<bool>,
}

impl DeleteOptions {
    /// Reads what a query says; it adds to what the body says, as upstream does when there is no body.
    ///
    /// # Errors
    /// Names the first parameter that cannot be read.
    pub fn from_query(query: &str) -> Result<Self, InvalidOption> {
        let mut options = Self {
            dry_run: parse_dry_run(query)?,
            ..Self::default()
        };
        if let Some(value) = query::first(query, "gracePeriodSeconds") {
            let seconds = query::integer(&value);
            options.grace_period_seconds =
                Some(seconds.map_err(|why| InvalidOption::unreadable("gracePeriodSeconds", &value, &why))?);
        }
        if let Some(value) = query::first(query, "propagationPolicy") {
            options.propagation_policy = Some(value.parse()?);
        }
        let flag = |name| query::first(query, name).map(|value| parse_bool(&value));
        options.orphan_dependents = flag("orphanDependents");
        options.ignore_store_read_error = flag("ignoreStoreReadErrorWithClusterBreakingPotential");
        Ok(options)
    }

    /// Whether nothing is to be stored.
    pub fn is_dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }
}

/// A query parameter that does not do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid query parameter {name}={value:?}: {why}")]
pub struct InvalidOption {
    /// The parameter.
    pub name: String,
    /// What it was set to.
    pub value: String,
    /// Why that does not do.
    pub why: String,
    /// For a value that can be read and is refused all the same, what upstream answers 422 with (apimachinery
    /// pkg/apis/meta/v1/validation); `None` for one that cannot be read, which is 400.
    pub refusal: Option<Box<FieldError>>,
}

impl InvalidOption {
    fn unreadable(name: &str, value: &str, why: &dyn std::fmt::Display) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            why: why.to_string(),
            refusal: None,
        }
    }

    fn refused(name: &str, value: &str, error: FieldError) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            why: error.body(),
            refusal: Some(Box::new(error)),
        }
    }

    fn unsupported(name: &str, value: &str, supported: &[&str]) -> Self {
        Self::refused(
            name,
            value,
            FieldError::not_supported(FieldPath::new(name), value, supported),
        )
    }
}

/// Who writes: at most 128 bytes that can be printed (apimachinery pkg/apis/meta/v1/validation `ValidateFieldManager`).
fn field_manager(value: &str) -> Result<String, InvalidOption> {
    let (name, path) = ("fieldManager", FieldPath::new("fieldManager"));
    if value.len() > MAX_FIELD_MANAGER_BYTES {
        let error = FieldError::too_long(path, MAX_FIELD_MANAGER_BYTES);
        return Err(InvalidOption::refused(name, value, error));
    }
    if let Some((at, c)) = value.char_indices().find(|(_, c)| c.is_control()) {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
        let error = FieldError::invalid(path, value, why);
        return Err(InvalidOption::refused(name, value, error));
    }
    Ok(value.to_owned())
}

/// As apimachinery converts query values (pkg/runtime/converter, `Convert_Slice_string_To_bool`): absent, empty or a word
/// for true is true; only `false` and `0` are false.
fn parse_bool(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

/// All values of `dryRun` in a query, each of which must be `All` (apimachinery pkg/apis/meta/v1/validation `ValidateDryRun`).
fn parse_dry_run(query: &str) -> Result<Vec<String>, InvalidOption> {
    let name = "dryRun";
    let values: Vec<String> = query::parameters(query)
        .filter(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
        .collect();
    if values.iter().all(|value| value == "All") {
        return Ok(values);
    }
    let found = values.join(",");
    let error = FieldError::not_supported(FieldPath::new(name), values, &["All"]);
    Err(InvalidOption::refused(name, &found, error))
}

const MAX_FIELD_MANAGER_BYTES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ShardField, ShardRange};

    #[test]
    fn list_options_round_trip() {
        let options = ListOptions {
            label_selector: "a=b,c in (d, e)".parse().unwrap(),
            field_selector: "metadata.name=x".parse().unwrap(),
            resource_version: "7".into(),
            version_match: Some(VersionMatch::NotOlderThan),
            limit: 5,
            continue_token: "abc=".into(),
            timeout_seconds: Some(3),
            watch: true,
            allow_bookmarks: true,
            send_initial_events: Some(true),
            shard_selector: Some(ShardSelector::new(ShardField::Uid, ShardRange::ALL)),
        };
        assert_eq!(ListOptions::from_query(&options.to_query()), Ok(options));
        assert_eq!(ListOptions::default().to_query(), "");
    }

    #[test]
    fn bad_options_are_named() {
        for (query, name) in [
            ("limit=x", "limit"),
            ("resourceVersionMatch=Newest", "resourceVersionMatch"),
            ("labelSelector=a%3D%3D%3Db", "labelSelector"),
            ("timeoutSeconds=1s", "timeoutSeconds"),
            ("shardSelector=anything", "shardSelector"),
        ] {
            assert_eq!(ListOptions::from_query(query).unwrap_err().name, name, "{query}");
        }
        assert_eq!(
            WriteOptions::from_query("dryRun=Some").unwrap_err().name,
            "dryRun"
        );
        assert_eq!(
            DeleteOptions::from_query("propagationPolicy=x").unwrap_err().name,
            "propagationPolicy"
        );
    }

    #[test]
    fn what_can_be_read_but_is_refused_is_a_field_error() {
        let list = |query| ListOptions::from_query(query).unwrap_err();
        let write = |query| WriteOptions::from_query(query).unwrap_err();
        let delete = |query| DeleteOptions::from_query(query).unwrap_err();
        let long = format!("fieldManager={}", "x".repeat(129));
        for (error, expect) in [
            (list("limit=x"), None),
            (delete("gracePeriodSeconds=x"), None),
            (
                list("resourceVersionMatch=Newest"),
                Some(
                    "resourceVersionMatch: Unsupported value: \"Newest\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
                ),
            ),
            (
                write("dryRun=Some"),
                Some("dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""),
            ),
            (
                write("fieldValidation=No"),
                Some(
                    "fieldValidation: Unsupported value: \"No\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
                ),
            ),
            (
                write(&long),
                Some("fieldManager: Too long: may not be more than 128 bytes"),
            ),
            (
                write("fieldManager=a%07"),
                Some("fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"),
            ),
            (
                delete("propagationPolicy=Up"),
                Some(
                    "propagationPolicy: Unsupported value: \"Up\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                ),
            ),
        ] {
            assert_eq!(
                error.refusal.as_ref().map(ToString::to_string).as_deref(),
                expect,
                "{error}"
            );
        }
    }

    #[test]
    fn booleans_read_as_upstream() {
        for (query, expect) in [
            ("watch=true", true),
            ("watch=1", true),
            ("watch", true),
            ("watch=0", false),
            ("watch=False", false),
        ] {
            assert_eq!(ListOptions::from_query(query).unwrap().watch, expect, "{query}");
        }
    }
}
