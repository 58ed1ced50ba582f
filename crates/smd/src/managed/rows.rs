//! Entries as they stand in an object, for updates that leave all as it is but the time of one.
//!
//! That is what most updates do: who writes has written before, and owns what changes already. Then the entries need not be
//! decoded to maps of managers and encoded again. It takes entries that are written as [`Managed::encode`] writes them, since
//! others would be brought into that form.
//!
//! [`Managed::encode`]: super::Managed::encode

use jiff::Timestamp;
use serde_json::Value;

use super::{FIELDS_V1, Operation, is_time, time_text};
use crate::fields::FieldSet;

/// As many entries are looked at in this way; each is compared with each.
const MAX_ROWS: usize = 32;

/// What an entry without a time sorts as.
const NO_TIME: &str = "1970-01-01T00:00:00Z";

/// An entry.
#[derive(Debug)]
pub(crate) struct Row<'v> {
    pub(crate) manager: &'v str,
    pub(crate) operation: Operation,
    pub(crate) api_version: &'v str,
    pub(crate) subresource: &'v str,
    pub(crate) set: FieldSet,
    time: &'v str,
}

/// By what entries are ordered.
type Place<'v> = (Operation, &'v str, &'v str, &'v str, &'v str);

impl<'v> Row<'v> {
    fn place(&self) -> Place<'v> {
        let Self {
            manager,
            operation,
            api_version,
            subresource,
            time,
            ..
        } = *self;
        (operation, time, manager, api_version, subresource)
    }

    /// Whether both are entries of one manager, of which the last would count.
    fn is_same_manager(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    fn read(entry: &'v Value) -> Option<Self> {
        let entry = entry.as_object()?;
        let mut members = 0;
        // Empty where it is absent; an empty text is not written.
        let mut text = |name: &str| match entry.get(name) {
            None => Some(""),
            Some(Value::String(text)) if !text.is_empty() => {
                members += 1;
                Some(text.as_str())
            }
            Some(_) => None,
        };
        let api_version = text("apiVersion").filter(|version| !version.is_empty())?;
        let manager = text("manager")?;
        let operation = Operation::parse(text("operation")?)?;
        let subresource = text("subresource")?;
        let time = text("time")?;
        let is_of_known_type = text("fieldsType")? == FIELDS_V1;
        let set = FieldSet::from_written(entry.get("fieldsV1")?)?;
        let is_as_written =
            is_of_known_type && members + 1 == entry.len() && (time.is_empty() || is_time(time));
        is_as_written.then_some(Self {
            manager,
            operation,
            api_version,
            subresource,
            set,
            time: if time.is_empty() { NO_TIME } else { time },
        })
    }
}

/// The entries of an object, where they are such as [`Managed::encode`](super::Managed::encode) gives.
pub(crate) fn read(entries: &Value) -> Option<Vec<Row<'_>>> {
    let entries = entries.as_array().filter(|entries| entries.len() <= MAX_ROWS)?;
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(entries.len());
    for entry in entries {
        let row = Row::read(entry)?;
        let is_next = rows.last().is_none_or(|last| last.place() < row.place());
        if !is_next || rows.iter().any(|other| other.is_same_manager(&row)) {
            return None;
        }
        rows.push(row);
    }
    Some(rows)
}

/// Gives the entry at `index` another time, and the place that it has by that.
pub(crate) fn renew(entries: &mut Value, index: usize, now: Timestamp) {
    let Some(entries) = entries.as_array_mut() else {
        return;
    };
    let now = time_text(now);
    let is_behind = |entry: &Value| place_in(entry, None) > place_in(&entries[index], Some(&now));
    // All are in order but this one.
    let others = entries.iter().enumerate().filter(|(at, _)| *at != index);
    let before = others.take_while(|(_, entry)| !is_behind(entry)).count();
    let mut entry = entries.remove(index);
    if let Some(members) = entry.as_object_mut() {
        members.insert("time".to_owned(), Value::String(now));
    }
    entries.insert(before, entry);
}

fn place_in<'v>(entry: &'v Value, time: Option<&'v str>) -> Option<Place<'v>> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let time = time.or_else(|| entry.get("time")?.as_str()).unwrap_or(NO_TIME);
    let operation = Operation::parse(text("operation"))?;
    Some((
        operation,
        time,
        text("manager"),
        text("apiVersion"),
        text("subresource"),
    ))
}
