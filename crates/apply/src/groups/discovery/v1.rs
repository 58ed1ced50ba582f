// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `discovery`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::ObjectReference;
use crate::meta::v1::ObjectMeta;

object! {
    /// `Endpoint`, as far as an applier sets it.
    Endpoint {
        /// Items are owned one by one.
        addresses with_addresses "addresses" [String],
        conditions with_conditions "conditions" EndpointConditions,
        deprecated_topology with_deprecated_topology "deprecatedTopology" {String},
        hints with_hints "hints" EndpointHints,
        hostname with_hostname "hostname" String,
        node_name with_node_name "nodeName" String,
        target_ref with_target_ref "targetRef" ObjectReference,
        zone with_zone "zone" String,
    }
}

object! {
    /// `EndpointConditions`, as far as an applier sets it.
    EndpointConditions {
        ready with_ready "ready" bool,
        serving with_serving "serving" bool,
        terminating with_terminating "terminating" bool,
    }
}

object! {
    /// `EndpointHints`, as far as an applier sets it.
    EndpointHints {
        /// It has one owner as a whole.
        for_nodes with_for_nodes "forNodes" [ForNode],
        /// It has one owner as a whole.
        for_zones with_for_zones "forZones" [ForZone],
    }
}

object! {
    /// `EndpointPort`, as far as an applier sets it. It has one owner as a whole.
    EndpointPort {
        app_protocol with_app_protocol "appProtocol" String,
        name with_name "name" String,
        port with_port "port" i32,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
    }
}

object! {
    /// What an applier sets of a `EndpointSlice` of `discovery.k8s.io/v1`.
    EndpointSlice as "discovery.k8s.io/v1" "EndpointSlice" {
        address_type with_address_type "addressType" String,
        /// It has one owner as a whole.
        endpoints with_endpoints "endpoints" [Endpoint],
        metadata with_metadata "metadata" ObjectMeta,
        /// It has one owner as a whole.
        ports with_ports "ports" [EndpointPort],
    }
}
kind!(EndpointSlice namespaced);
applies! { EndpointSlice: k8s_openapi::api::discovery::v1::EndpointSlice }

object! {
    /// `ForNode`, as far as an applier sets it.
    ForNode {
        name with_name "name" String,
    }
}

object! {
    /// `ForZone`, as far as an applier sets it.
    ForZone {
        name with_name "name" String,
    }
}
