// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `events`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::EventSource;
use crate::core::v1::ObjectReference;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `Event` of `events.k8s.io/v1`.
    Event as "events.k8s.io/v1" "Event" {
        action with_action "action" String,
        deprecated_count with_deprecated_count "deprecatedCount" i32,
        deprecated_first_timestamp with_deprecated_first_timestamp "deprecatedFirstTimestamp" Time,
        deprecated_last_timestamp with_deprecated_last_timestamp "deprecatedLastTimestamp" Time,
        deprecated_source with_deprecated_source "deprecatedSource" EventSource,
        event_time with_event_time "eventTime" MicroTime,
        metadata with_metadata "metadata" ObjectMeta,
        note with_note "note" String,
        reason with_reason "reason" String,
        regarding with_regarding "regarding" ObjectReference,
        related with_related "related" ObjectReference,
        reporting_controller with_reporting_controller "reportingController" String,
        reporting_instance with_reporting_instance "reportingInstance" String,
        series with_series "series" EventSeries,
        type_ with_type "type" String,
    }
}
kind!(Event namespaced);
applies! { Event: k8s_openapi::api::events::v1::Event }

object! {
    /// `EventSeries`, as far as an applier sets it.
    EventSeries {
        count with_count "count" i32,
        last_observed_time with_last_observed_time "lastObservedTime" MicroTime,
    }
}
