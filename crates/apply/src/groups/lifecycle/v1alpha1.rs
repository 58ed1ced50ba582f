// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1alpha1` of the group `lifecycle`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `Eviction` of `lifecycle.k8s.io/v1alpha1`. Since 1.37.
    Eviction as "lifecycle.k8s.io/v1alpha1" "Eviction" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" EvictionSpec,
        status with_status "status" EvictionStatus,
    }
}
kind!(Eviction namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { Eviction: k8s_openapi::api::lifecycle::v1alpha1::Eviction } }

object! {
    /// `EvictionPodReference`, as far as an applier sets it. Since 1.37.
    EvictionPodReference {
        name with_name "name" String,
        uid with_uid "uid" String,
    }
}

object! {
    /// What an applier sets of a `EvictionRequest` of `lifecycle.k8s.io/v1alpha1`. Since 1.37.
    EvictionRequest as "lifecycle.k8s.io/v1alpha1" "EvictionRequest" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" EvictionRequestSpec,
        status with_status "status" EvictionRequestStatus,
    }
}
kind!(EvictionRequest namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { EvictionRequest: k8s_openapi::api::lifecycle::v1alpha1::EvictionRequest } }

object! {
    /// `EvictionRequestPodReference`, as far as an applier sets it. Since 1.37.
    EvictionRequestPodReference {
        name with_name "name" String,
        uid with_uid "uid" String,
    }
}

object! {
    /// `EvictionRequestSpec`, as far as an applier sets it. Since 1.37.
    EvictionRequestSpec {
        /// One of `Eviction`, `Withdrawn`.
        intent with_intent "intent" String,
        requester with_requester "requester" String,
        target with_target "target" EvictionRequestTarget,
    }
}

object! {
    /// `EvictionRequestStatus`, as far as an applier sets it. Since 1.37.
    EvictionRequestStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        observed_generation with_observed_generation "observedGeneration" i64,
    }
}

object! {
    /// `EvictionRequestTarget`, as far as an applier sets it. Since 1.37.
    EvictionRequestTarget {
        pod with_pod "pod" EvictionRequestPodReference,
    }
}

object! {
    /// `EvictionSpec`, as far as an applier sets it. Since 1.37.
    EvictionSpec {
        target with_target "target" EvictionTarget,
    }
}

object! {
    /// `EvictionStatus`, as far as an applier sets it. Since 1.37.
    EvictionStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        observed_generation with_observed_generation "observedGeneration" i64,
        /// Items are owned one by one, by `name`.
        requesters with_requesters "requesters" [Requester],
        /// Items are owned one by one, by `name`.
        responders with_responders "responders" [ResponderStatus],
        /// Items are owned one by one, by `name`.
        target_responders with_target_responders "targetResponders" [TargetResponder],
    }
}

object! {
    /// `EvictionTarget`, as far as an applier sets it. Since 1.37.
    EvictionTarget {
        pod with_pod "pod" EvictionPodReference,
    }
}

object! {
    /// `Requester`, as far as an applier sets it. It has one owner as a whole. Since 1.37.
    Requester {
        /// One of `Eviction`, `Withdrawn`.
        intent with_intent "intent" String,
        name with_name "name" String,
    }
}

object! {
    /// `ResponderStatus`, as far as an applier sets it. Since 1.37.
    ResponderStatus {
        completion_time with_completion_time "completionTime" Time,
        expected_completion_time with_expected_completion_time "expectedCompletionTime" Time,
        heartbeat_time with_heartbeat_time "heartbeatTime" Time,
        message with_message "message" String,
        name with_name "name" String,
        start_time with_start_time "startTime" Time,
    }
}

object! {
    /// `TargetResponder`, as far as an applier sets it. It has one owner as a whole. Since 1.37.
    TargetResponder {
        name with_name "name" String,
        priority with_priority "priority" i32,
        /// One of `Active`, `Canceled`, `Completed`, `Inactive`, `Interrupted`.
        state with_state "state" String,
    }
}
