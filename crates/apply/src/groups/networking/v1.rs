// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `networking`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::core::v1::TypedLocalObjectReference;
use crate::meta::v1::Condition;
use crate::meta::v1::LabelSelector;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

object! {
    /// `HTTPIngressPath`, as far as an applier sets it.
    HTTPIngressPath {
        backend with_backend "backend" IngressBackend,
        path with_path "path" String,
        path_type with_path_type "pathType" String,
    }
}

object! {
    /// `HTTPIngressRuleValue`, as far as an applier sets it.
    HTTPIngressRuleValue {
        /// It has one owner as a whole.
        paths with_paths "paths" [HTTPIngressPath],
    }
}

object! {
    /// What an applier sets of a `IPAddress` of `networking.k8s.io/v1`.
    IPAddress as "networking.k8s.io/v1" "IPAddress" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" IPAddressSpec,
    }
}
kind!(IPAddress cluster);
applies! { IPAddress: k8s_openapi::api::networking::v1::IPAddress }

object! {
    /// `IPAddressSpec`, as far as an applier sets it.
    IPAddressSpec {
        parent_ref with_parent_ref "parentRef" ParentReference,
    }
}

object! {
    /// `IPBlock`, as far as an applier sets it.
    IPBlock {
        cidr with_cidr "cidr" String,
        /// It has one owner as a whole.
        except with_except "except" [String],
    }
}

object! {
    /// What an applier sets of a `Ingress` of `networking.k8s.io/v1`.
    Ingress as "networking.k8s.io/v1" "Ingress" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" IngressSpec,
        status with_status "status" IngressStatus,
    }
}
kind!(Ingress namespaced);
applies! { Ingress: k8s_openapi::api::networking::v1::Ingress }

object! {
    /// `IngressBackend`, as far as an applier sets it.
    IngressBackend {
        resource with_resource "resource" TypedLocalObjectReference,
        service with_service "service" IngressServiceBackend,
    }
}

object! {
    /// What an applier sets of a `IngressClass` of `networking.k8s.io/v1`.
    IngressClass as "networking.k8s.io/v1" "IngressClass" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" IngressClassSpec,
    }
}
kind!(IngressClass cluster);
applies! { IngressClass: k8s_openapi::api::networking::v1::IngressClass }

object! {
    /// `IngressClassParametersReference`, as far as an applier sets it.
    IngressClassParametersReference {
        api_group with_api_group "apiGroup" String,
        kind with_kind "kind" String,
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        scope with_scope "scope" String,
    }
}

object! {
    /// `IngressClassSpec`, as far as an applier sets it.
    IngressClassSpec {
        controller with_controller "controller" String,
        parameters with_parameters "parameters" IngressClassParametersReference,
    }
}

object! {
    /// `IngressLoadBalancerIngress`, as far as an applier sets it.
    IngressLoadBalancerIngress {
        hostname with_hostname "hostname" String,
        ip with_ip "ip" String,
        /// It has one owner as a whole.
        ports with_ports "ports" [IngressPortStatus],
    }
}

object! {
    /// `IngressLoadBalancerStatus`, as far as an applier sets it.
    IngressLoadBalancerStatus {
        /// It has one owner as a whole.
        ingress with_ingress "ingress" [IngressLoadBalancerIngress],
    }
}

object! {
    /// `IngressPortStatus`, as far as an applier sets it.
    IngressPortStatus {
        error with_error "error" String,
        port with_port "port" i32,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
    }
}

object! {
    /// `IngressRule`, as far as an applier sets it.
    IngressRule {
        host with_host "host" String,
        http with_http "http" HTTPIngressRuleValue,
    }
}

object! {
    /// `IngressServiceBackend`, as far as an applier sets it.
    IngressServiceBackend {
        name with_name "name" String,
        port with_port "port" ServiceBackendPort,
    }
}

object! {
    /// `IngressSpec`, as far as an applier sets it.
    IngressSpec {
        default_backend with_default_backend "defaultBackend" IngressBackend,
        ingress_class_name with_ingress_class_name "ingressClassName" String,
        /// It has one owner as a whole.
        rules with_rules "rules" [IngressRule],
        /// It has one owner as a whole.
        tls with_tls "tls" [IngressTLS],
    }
}

object! {
    /// `IngressStatus`, as far as an applier sets it.
    IngressStatus {
        load_balancer with_load_balancer "loadBalancer" IngressLoadBalancerStatus,
    }
}

object! {
    /// `IngressTLS`, as far as an applier sets it.
    IngressTLS {
        /// It has one owner as a whole.
        hosts with_hosts "hosts" [String],
        secret_name with_secret_name "secretName" String,
    }
}

object! {
    /// What an applier sets of a `NetworkPolicy` of `networking.k8s.io/v1`.
    NetworkPolicy as "networking.k8s.io/v1" "NetworkPolicy" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" NetworkPolicySpec,
    }
}
kind!(NetworkPolicy namespaced);
applies! { NetworkPolicy: k8s_openapi::api::networking::v1::NetworkPolicy }

object! {
    /// `NetworkPolicyEgressRule`, as far as an applier sets it.
    NetworkPolicyEgressRule {
        /// It has one owner as a whole.
        ports with_ports "ports" [NetworkPolicyPort],
        /// It has one owner as a whole.
        to with_to "to" [NetworkPolicyPeer],
    }
}

object! {
    /// `NetworkPolicyIngressRule`, as far as an applier sets it.
    NetworkPolicyIngressRule {
        /// It has one owner as a whole.
        from with_from "from" [NetworkPolicyPeer],
        /// It has one owner as a whole.
        ports with_ports "ports" [NetworkPolicyPort],
    }
}

object! {
    /// `NetworkPolicyPeer`, as far as an applier sets it.
    NetworkPolicyPeer {
        ip_block with_ip_block "ipBlock" IPBlock,
        namespace_selector with_namespace_selector "namespaceSelector" LabelSelector,
        pod_selector with_pod_selector "podSelector" LabelSelector,
    }
}

object! {
    /// `NetworkPolicyPort`, as far as an applier sets it.
    NetworkPolicyPort {
        end_port with_end_port "endPort" i32,
        port with_port "port" IntOrString,
        /// One of `SCTP`, `TCP`, `UDP`.
        protocol with_protocol "protocol" String,
    }
}

object! {
    /// `NetworkPolicySpec`, as far as an applier sets it.
    NetworkPolicySpec {
        /// It has one owner as a whole.
        egress with_egress "egress" [NetworkPolicyEgressRule],
        /// It has one owner as a whole.
        ingress with_ingress "ingress" [NetworkPolicyIngressRule],
        pod_selector with_pod_selector "podSelector" LabelSelector,
        /// It has one owner as a whole. One of `Egress`, `Ingress`.
        policy_types with_policy_types "policyTypes" [String],
    }
}

object! {
    /// `ParentReference`, as far as an applier sets it.
    ParentReference {
        group with_group "group" String,
        name with_name "name" String,
        namespace with_namespace "namespace" String,
        resource with_resource "resource" String,
    }
}

object! {
    /// `ServiceBackendPort`, as far as an applier sets it. It has one owner as a whole.
    ServiceBackendPort {
        name with_name "name" String,
        number with_number "number" i32,
    }
}

object! {
    /// What an applier sets of a `ServiceCIDR` of `networking.k8s.io/v1`.
    ServiceCIDR as "networking.k8s.io/v1" "ServiceCIDR" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ServiceCIDRSpec,
        status with_status "status" ServiceCIDRStatus,
    }
}
kind!(ServiceCIDR cluster);
applies! { ServiceCIDR: k8s_openapi::api::networking::v1::ServiceCIDR }

object! {
    /// `ServiceCIDRSpec`, as far as an applier sets it.
    ServiceCIDRSpec {
        /// It has one owner as a whole.
        cidrs with_cidrs "cidrs" [String],
    }
}

object! {
    /// `ServiceCIDRStatus`, as far as an applier sets it.
    ServiceCIDRStatus {
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
    }
}
