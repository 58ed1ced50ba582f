// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha1` of the group `lifecycle`.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `Eviction` of `lifecycle.k8s.io/v1alpha1`. Since 1.37.
    Eviction as "lifecycle.k8s.io/v1alpha1" "Eviction" {
        /// Since 1.37.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.37.
        spec with_spec "spec" EvictionSpec,
        /// Since 1.37.
        status with_status "status" EvictionStatus,
    }
}
kind!(Eviction namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { Eviction: k8s_openapi::api::lifecycle::v1alpha1::Eviction } }

object! {
    /// A `EvictionPodReference`, as far as an applier sets it. Since 1.37.
    EvictionPodReference {
        /// Since 1.37.
        name with_name "name" String,
        /// Since 1.37.
        uid with_uid "uid" String,
    }
}

object! {
    /// What an applier sets of a `EvictionRequest` of `lifecycle.k8s.io/v1alpha1`. Since 1.37.
    EvictionRequest as "lifecycle.k8s.io/v1alpha1" "EvictionRequest" {
        /// Since 1.37.
        metadata with_metadata "metadata" ObjectMeta,
        /// Since 1.37.
        spec with_spec "spec" EvictionRequestSpec,
        /// Since 1.37.
        status with_status "status" EvictionRequestStatus,
    }
}
kind!(EvictionRequest namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { EvictionRequest: k8s_openapi::api::lifecycle::v1alpha1::EvictionRequest } }

object! {
    /// A `EvictionRequestPodReference`, as far as an applier sets it. Since 1.37.
    EvictionRequestPodReference {
        /// Since 1.37.
        name with_name "name" String,
        /// Since 1.37.
        uid with_uid "uid" String,
    }
}

object! {
    /// A `EvictionRequestSpec`, as far as an applier sets it. Since 1.37.
    EvictionRequestSpec {
        /// One of `Eviction`, `Withdrawn`. Since 1.37.
        intent with_intent "intent" String,
        /// Since 1.37.
        requester with_requester "requester" String,
        /// Since 1.37.
        target with_target "target" EvictionRequestTarget,
    }
}

object! {
    /// A `EvictionRequestStatus`, as far as an applier sets it. Since 1.37.
    EvictionRequestStatus {
        /// Items are owned one by one, by `type`. Since 1.37.
        conditions with_conditions "conditions" [Condition],
        /// Since 1.37.
        observed_generation with_observed_generation "observedGeneration" i64,
    }
}

object! {
    /// A `EvictionRequestTarget`, as far as an applier sets it. Since 1.37.
    EvictionRequestTarget {
        /// Since 1.37.
        pod with_pod "pod" EvictionRequestPodReference,
    }
}

object! {
    /// A `EvictionSpec`, as far as an applier sets it. Since 1.37.
    EvictionSpec {
        /// Since 1.37.
        target with_target "target" EvictionTarget,
    }
}

object! {
    /// A `EvictionStatus`, as far as an applier sets it. Since 1.37.
    EvictionStatus {
        /// Items are owned one by one, by `type`. Since 1.37.
        conditions with_conditions "conditions" [Condition],
        /// Since 1.37.
        observed_generation with_observed_generation "observedGeneration" i64,
        /// Items are owned one by one, by `name`. Since 1.37.
        requesters with_requesters "requesters" [Requester],
        /// Items are owned one by one, by `name`. Since 1.37.
        responders with_responders "responders" [ResponderStatus],
        /// Items are owned one by one, by `name`. Since 1.37.
        target_responders with_target_responders "targetResponders" [TargetResponder],
    }
}

object! {
    /// A `EvictionTarget`, as far as an applier sets it. Since 1.37.
    EvictionTarget {
        /// Since 1.37.
        pod with_pod "pod" EvictionPodReference,
    }
}

object! {
    /// A `Requester`, as far as an applier sets it. It has one owner as a whole. Since 1.37.
    Requester {
        /// One of `Eviction`, `Withdrawn`. Since 1.37.
        intent with_intent "intent" String,
        /// Since 1.37.
        name with_name "name" String,
    }
}

object! {
    /// A `ResponderStatus`, as far as an applier sets it. Since 1.37.
    ResponderStatus {
        /// Since 1.37.
        completion_time with_completion_time "completionTime" Time,
        /// Since 1.37.
        expected_completion_time with_expected_completion_time "expectedCompletionTime" Time,
        /// Since 1.37.
        heartbeat_time with_heartbeat_time "heartbeatTime" Time,
        /// Since 1.37.
        message with_message "message" String,
        /// Since 1.37.
        name with_name "name" String,
        /// Since 1.37.
        start_time with_start_time "startTime" Time,
    }
}

object! {
    /// A `TargetResponder`, as far as an applier sets it. It has one owner as a whole. Since 1.37.
    TargetResponder {
        /// Since 1.37.
        name with_name "name" String,
        /// Since 1.37.
        priority with_priority "priority" i32,
        /// One of `Active`, `Canceled`, `Completed`, `Inactive`, `Interrupted`. Since 1.37.
        state with_state "state" String,
    }
}
