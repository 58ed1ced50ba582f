//! `metadata.managedFields`: who owns which fields, and since when.
//!
//! Upstream: apimachinery `pkg/util/managedfields/internal/managedfields.go`. Entries are decoded to a map from managers
//! to sets, changed by the [`updater`](crate::updater), and encoded again in a fixed order.

pub(crate) mod rows;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use jiff::Timestamp;
use jiff::tz::Offset;
use kubewright_core::{FieldError, FieldPath};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::fields::{FieldSet, is_printable, quote};

/// The longest name of a manager, in bytes.
pub const MAX_MANAGER_LENGTH: usize = 128;

/// The longest name of a subresource in an entry, in bytes.
pub const MAX_SUBRESOURCE_LENGTH: usize = 256;

const FIELDS_V1: &str = "FieldsV1";

/// How a manager came by its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The name in entries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "Apply" => Some(Self::Apply),
            "Update" => Some(Self::Update),
            _ => None,
        }
    }
}

/// What tells entries apart. Who applies has one entry whatever the version; who updates has one for each version.
///
/// The order is that of upstream's identifiers, which are JSON texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ManagerId {
    /// The name.
    pub manager: String,
    /// How it writes.
    pub operation: Operation,
    /// The version it writes in; empty for [`Operation::Apply`].
    pub api_version: String,
    /// The subresource it writes to; empty for the resource itself.
    pub subresource: String,
}

impl ManagerId {
    /// The identity of who writes in a version. An empty name becomes `unknown`.
    pub fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Self::exact(named(manager), operation, api_version, subresource)
    }

    fn exact(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let api_version = match operation {
            Operation::Apply => "",
            Operation::Update => api_version,
        };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }
}

/// The name that who gives none goes by.
pub(crate) fn named(manager: &str) -> &str {
    if manager.is_empty() { "unknown" } else { manager }
}

impl Ord for ManagerId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.manager
            .cmp(&other.manager)
            .then_with(|| self.operation.cmp(&other.operation))
            .then_with(|| self.api_version.cmp(&other.api_version))
            // In the texts a comma comes before the closing brace.
            .then_with(|| self.subresource.is_empty().cmp(&other.subresource.is_empty()))
            .then_with(|| self.subresource.cmp(&other.subresource))
    }
}

impl PartialOrd for ManagerId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As messages about conflicts name a manager: `"kubectl" with subresource "status" using apps/v1`.
impl Display for ManagerId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        quote(f, &self.manager)?;
        if !self.subresource.is_empty() {
            f.write_str(" with subresource ")?;
            quote(f, &self.subresource)?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// The fields that a manager owns, and the version in which their paths are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedSet {
    /// The fields.
    pub set: FieldSet,
    /// The version, such as `apps/v1`.
    pub api_version: String,
    /// Whether they are what the manager last applied.
    pub operation: Operation,
}

/// Who owns what.
pub type Managers = BTreeMap<ManagerId, VersionedSet>;

/// Why entries cannot be decoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The entries are no list of objects with the members they should have.
    #[error("managed fields cannot be read: {reason}")]
    Malformed {
        /// What the reader says.
        reason: String,
    },
    /// The operation has another name.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// The version is missing.
    #[error("apiVersion must not be empty")]
    NoApiVersion,
    /// The type of the set is missing.
    #[error("missing fieldsType in managed fields entry {index}")]
    NoFieldsType {
        /// The place of the entry.
        index: usize,
    },
    /// The set is of a type that is not known.
    #[error("invalid fieldsType {fields_type:?} in managed fields entry {index}")]
    FieldsType {
        /// The type found.
        fields_type: String,
        /// The place of the entry.
        index: usize,
    },
    /// The set does not read.
    #[error("error decoding versioned set of manager {manager:?}: error decoding set: {reason}")]
    Set {
        /// Whose set.
        manager: String,
        /// What the reader says.
        reason: String,
    },
}

/// The decoded entries of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Managed {
    /// Who owns what.
    pub managers: Managers,
    /// When each manager last wrote. Entries of clients may lack it.
    pub times: BTreeMap<ManagerId, Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Entry<'a> {
    manager: Option<&'a str>,
    operation: Option<&'a str>,
    api_version: Option<&'a str>,
    time: Option<&'a str>,
    fields_type: Option<&'a str>,
    subresource: Option<&'a str>,
}

impl Managed {
    /// Decodes the value of `metadata.managedFields`.
    ///
    /// # Errors
    /// With the first entry that is not as it should be; of two entries of one manager the last counts.
    pub fn decode(entries: &Value) -> Result<Self, DecodeError> {
        let malformed = |reason: String| DecodeError::Malformed { reason };
        let entries = match entries {
            Value::Null => return Ok(Self::default()),
            Value::Array(entries) => entries,
            _ => return Err(malformed("expected a list".to_owned())),
        };
        let mut managed = Self::default();
        for (index, value) in entries.iter().enumerate() {
            let entry = Entry::deserialize(value).map_err(|error| malformed(error.to_string()))?;
            let operation = entry
                .operation
                .and_then(Operation::parse)
                .ok_or(DecodeError::Operation)?;
            let api_version = entry.api_version.unwrap_or_default();
            if api_version.is_empty() {
                return Err(DecodeError::NoApiVersion);
            }
            match entry.fields_type.unwrap_or_default() {
                FIELDS_V1 => {}
                "" => return Err(DecodeError::NoFieldsType { index }),
                other => {
                    return Err(DecodeError::FieldsType {
                        fields_type: other.to_owned(),
                        index,
                    });
                }
            }
            let manager = entry.manager.unwrap_or_default();
            let set = match value.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::new(),
                Some(fields) => match FieldSet::from_written(fields) {
                    Some(set) => set,
                    None => FieldSet::from_value(fields).map_err(|error| DecodeError::Set {
                        manager: manager.to_owned(),
                        reason: error.to_string(),
                    })?,
                },
            };
            let time = match entry.time {
                None | Some("") => None,
                Some(text) => Some(
                    text.parse()
                        .map_err(|error: jiff::Error| malformed(error.to_string()))?,
                ),
            };
            let subresource = entry.subresource.unwrap_or_default();
            let id = ManagerId::exact(manager, operation, api_version, subresource);
            match time {
                Some(time) => managed.times.insert(id.clone(), time),
                None => managed.times.remove(&id),
            };
            managed.managers.insert(
                id,
                VersionedSet {
                    set,
                    api_version: api_version.to_owned(),
                    operation,
                },
            );
        }
        Ok(managed)
    }

    /// The value of `metadata.managedFields`, or `None` where nobody owns anything. Entries are sorted by operation,
    /// time in seconds, manager, version and subresource.
    pub fn encode(&self) -> Option<Value> {
        if self.managers.is_empty() {
            return None;
        }
        let mut entries: Vec<(&ManagerId, &VersionedSet, Option<Timestamp>)> = self
            .managers
            .iter()
            .map(|(id, set)| (id, set, self.times.get(id).copied()))
            .collect();
        entries.sort_by(|(left, left_set, left_time), (right, right_set, right_time)| {
            left_set
                .operation
                .cmp(&right_set.operation)
                .then_with(|| seconds(*left_time).cmp(&seconds(*right_time)))
                .then_with(|| left.manager.cmp(&right.manager))
                .then_with(|| left_set.api_version.cmp(&right_set.api_version))
                .then_with(|| left.subresource.cmp(&right.subresource))
        });
        let entries = entries.into_iter().map(|(id, set, time)| {
            let mut entry = Map::new();
            let mut member = |name: &str, value: &str| {
                if !value.is_empty() {
                    entry.insert(name.to_owned(), Value::from(value));
                }
            };
            member("apiVersion", &set.api_version);
            member("fieldsType", FIELDS_V1);
            member("manager", &id.manager);
            member("operation", set.operation.as_str());
            member("subresource", &id.subresource);
            if let Some(time) = time {
                member("time", &time_text(time));
            }
            entry.insert("fieldsV1".to_owned(), set.set.to_value());
            Value::Object(entry)
        });
        Some(entries.collect())
    }
}

/// A time as entries have it: in UTC, to the second.
pub(crate) fn time_text(time: Timestamp) -> String {
    let civil = Offset::UTC.to_datetime(time);
    let (Ok(year @ 1000..=9999), month, day) = (u16::try_from(civil.year()), civil.month(), civil.day())
    else {
        return time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    };
    let mut text = String::with_capacity("2006-01-02T15:04:05Z".len());
    let [century, of_century] =
        [year / 100, year % 100].map(|number| u8::try_from(number).unwrap_or_default());
    let [month, day, hour, minute, second] =
        [month, day, civil.hour(), civil.minute(), civil.second()].map(i8::unsigned_abs);
    for (number, behind) in [
        (century, None),
        (of_century, Some('-')),
        (month, Some('-')),
        (day, Some('T')),
        (hour, Some(':')),
        (minute, Some(':')),
        (second, Some('Z')),
    ] {
        text.extend([number / 10, number % 10].map(|digit| char::from(b'0' + digit)));
        text.extend(behind);
    }
    text
}

/// Whether a text is a time as objects and their entries have it: in UTC, to the second, such as `2006-01-02T15:04:05Z`. Texts for
/// which it holds are in the order of their times. False for some times of no practical use: before 1971 and from 9999 on.
pub fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<usize> {
        let digits = bytes.get(from..to)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        is_number.then(|| {
            digits
                .iter()
                .fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
        })
    };
    let has_form = matches!(
        *bytes,
        [
            _,
            _,
            _,
            _,
            b'-',
            _,
            _,
            b'-',
            _,
            _,
            b'T',
            _,
            _,
            b':',
            _,
            _,
            b':',
            _,
            _,
            b'Z'
        ]
    );
    let (true, Some(year), Some(month), Some(day)) = (has_form, number(0, 4), number(5, 7), number(8, 10))
    else {
        return false;
    };
    let is_below = |from: usize, limit: usize| number(from, from + 2).is_some_and(|number| number < limit);
    (1971..9999).contains(&year)
        && (1..=12).contains(&month)
        // What days the end of a month has is left to who reads all times.
        && (1..=28).contains(&day) | (day > 28 && text.parse::<Timestamp>().is_ok())
        && is_below(11, 24)
        && is_below(14, 60)
        && is_below(17, 60)
}

/// What entries without a time sort as.
pub(crate) fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}

/// The name of the manager of a request: the one given, or else the beginning of its user agent.
///
/// Upstream: `managerOrUserAgent` in the API server's `endpoints/handlers/create.go`. The result has at most
/// [`MAX_MANAGER_LENGTH`] bytes if it comes from the user agent.
pub fn manager_name(given: &str, user_agent: &str) -> String {
    if !given.is_empty() {
        return given.to_owned();
    }
    let mut name = String::new();
    let product = user_agent.split('/').next().unwrap_or_default();
    for letter in product.chars().filter(|letter| is_printable(*letter)) {
        if name.len() + letter.len_utf8() > MAX_MANAGER_LENGTH {
            break;
        }
        name.push(letter);
    }
    name
}

fn is_manager(name: &str) -> bool {
    name.len() <= MAX_MANAGER_LENGTH && name.chars().all(is_printable)
}

/// Checks the name of a manager, as options and entries have it (`ValidateFieldManager` of apimachinery
/// `apis/meta/v1/validation`).
pub fn validate_manager(name: &str, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if name.len() > MAX_MANAGER_LENGTH {
        errors.push(FieldError::too_long(path.clone(), MAX_MANAGER_LENGTH));
    }
    for (at, letter) in name.char_indices().filter(|(_, letter)| !is_printable(*letter)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
        errors.push(FieldError::invalid(path.clone(), name, detail));
    }
    errors
}

/// Checks entries that a user sends (`ValidateManagedFields` of apimachinery `apis/meta/v1/validation`).
pub fn validate_entries(entries: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let path = || path.index(index);
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("operation") {
            "" => errors.push(FieldError::required(
                path().child("operation"),
                "must not be empty",
            )),
            operation if Operation::parse(operation).is_none() => errors.push(FieldError::not_supported(
                path().child("operation"),
                operation,
                &["Apply", "Update"],
            )),
            _ => {}
        }
        let fields_type = text("fieldsType");
        if !fields_type.is_empty() && fields_type != FIELDS_V1 {
            errors.push(FieldError::invalid(
                path().child("fieldsType"),
                fields_type,
                "must be `FieldsV1`",
            ));
        }
        if !is_manager(text("manager")) {
            errors.extend(validate_manager(text("manager"), &path().child("manager")));
        }
        if text("subresource").len() > MAX_SUBRESOURCE_LENGTH {
            errors.push(FieldError::too_long(
                path().child("subresource"),
                MAX_SUBRESOURCE_LENGTH,
            ));
        }
    }
    errors
}
