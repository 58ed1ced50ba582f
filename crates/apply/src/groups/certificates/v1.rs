// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1` of the group `certificates`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `CertificateSigningRequest` of `certificates.k8s.io/v1`.
    CertificateSigningRequest as "certificates.k8s.io/v1" "CertificateSigningRequest" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" CertificateSigningRequestSpec,
        status with_status "status" CertificateSigningRequestStatus,
    }
}
kind!(CertificateSigningRequest cluster);
applies! { CertificateSigningRequest: k8s_openapi::api::certificates::v1::CertificateSigningRequest }

object! {
    /// `CertificateSigningRequestCondition`, as far as an applier sets it.
    CertificateSigningRequestCondition {
        last_transition_time with_last_transition_time "lastTransitionTime" Time,
        last_update_time with_last_update_time "lastUpdateTime" Time,
        message with_message "message" String,
        reason with_reason "reason" String,
        status with_status "status" String,
        type_ with_type "type" String,
    }
}

object! {
    /// `CertificateSigningRequestSpec`, as far as an applier sets it.
    CertificateSigningRequestSpec {
        expiration_seconds with_expiration_seconds "expirationSeconds" i32,
        extra with_extra "extra" {[String]},
        /// It has one owner as a whole.
        groups with_groups "groups" [String],
        request with_request "request" ByteString,
        signer_name with_signer_name "signerName" String,
        uid with_uid "uid" String,
        /// It has one owner as a whole. One of `any`, `cert sign`, `client auth`, `code signing`, `content commitment`, `crl sign`, `data encipherment`, `decipher only`, `digital signature`, `email protection`, `encipher only`, `ipsec end system`, `ipsec tunnel`, `ipsec user`, `key agreement`, `key encipherment`, `microsoft sgc`, `netscape sgc`, `ocsp signing`, `s/mime`, `server auth`, `signing`, `timestamping`.
        usages with_usages "usages" [String],
        username with_username "username" String,
    }
}

object! {
    /// `CertificateSigningRequestStatus`, as far as an applier sets it.
    CertificateSigningRequestStatus {
        certificate with_certificate "certificate" ByteString,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [CertificateSigningRequestCondition],
    }
}

object! {
    /// What an applier sets of a `ClusterTrustBundle` of `certificates.k8s.io/v1`. Since 1.37.
    ClusterTrustBundle as "certificates.k8s.io/v1" "ClusterTrustBundle" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ClusterTrustBundleSpec,
    }
}
kind!(ClusterTrustBundle cluster);
k8s_openapi::k8s_if_ge_1_37! { applies! { ClusterTrustBundle: k8s_openapi::api::certificates::v1::ClusterTrustBundle } }

object! {
    /// `ClusterTrustBundleSpec`, as far as an applier sets it. Since 1.37.
    ClusterTrustBundleSpec {
        signer_name with_signer_name "signerName" String,
        trust_bundle with_trust_bundle "trustBundle" String,
    }
}

object! {
    /// What an applier sets of a `PodCertificateRequest` of `certificates.k8s.io/v1`. Since 1.37.
    PodCertificateRequest as "certificates.k8s.io/v1" "PodCertificateRequest" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PodCertificateRequestSpec,
        status with_status "status" PodCertificateRequestStatus,
    }
}
kind!(PodCertificateRequest namespaced);
k8s_openapi::k8s_if_ge_1_37! { applies! { PodCertificateRequest: k8s_openapi::api::certificates::v1::PodCertificateRequest } }

object! {
    /// `PodCertificateRequestSpec`, as far as an applier sets it. Since 1.37.
    PodCertificateRequestSpec {
        max_expiration_seconds with_max_expiration_seconds "maxExpirationSeconds" i32,
        node_name with_node_name "nodeName" String,
        node_uid with_node_uid "nodeUID" String,
        pod_name with_pod_name "podName" String,
        pod_uid with_pod_uid "podUID" String,
        service_account_name with_service_account_name "serviceAccountName" String,
        service_account_uid with_service_account_uid "serviceAccountUID" String,
        signer_name with_signer_name "signerName" String,
        stub_pkcs10_request with_stub_pkcs10_request "stubPKCS10Request" ByteString,
        unverified_user_annotations with_unverified_user_annotations "unverifiedUserAnnotations" {String},
    }
}

object! {
    /// `PodCertificateRequestStatus`, as far as an applier sets it. Since 1.37.
    PodCertificateRequestStatus {
        begin_refresh_at with_begin_refresh_at "beginRefreshAt" Time,
        certificate_chain with_certificate_chain "certificateChain" String,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        not_after with_not_after "notAfter" Time,
        not_before with_not_before "notBefore" Time,
    }
}
