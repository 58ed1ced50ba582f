// Written by `cargo xtask codegen apply`; do not edit.

//! Version `v1beta1` of the group `certificates`: one module for each version, as in `k8s-openapi`, however long that is.

use crate::meta::v1::Condition;
use crate::meta::v1::ObjectMeta;
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

object! {
    /// What an applier sets of a `ClusterTrustBundle` of `certificates.k8s.io/v1beta1`.
    ClusterTrustBundle as "certificates.k8s.io/v1beta1" "ClusterTrustBundle" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" ClusterTrustBundleSpec,
    }
}
kind!(ClusterTrustBundle cluster);
applies! { ClusterTrustBundle: k8s_openapi::api::certificates::v1beta1::ClusterTrustBundle }

object! {
    /// `ClusterTrustBundleSpec`, as far as an applier sets it.
    ClusterTrustBundleSpec {
        signer_name with_signer_name "signerName" String,
        trust_bundle with_trust_bundle "trustBundle" String,
    }
}

object! {
    /// What an applier sets of a `PodCertificateRequest` of `certificates.k8s.io/v1beta1`. Since 1.35.
    PodCertificateRequest as "certificates.k8s.io/v1beta1" "PodCertificateRequest" {
        metadata with_metadata "metadata" ObjectMeta,
        spec with_spec "spec" PodCertificateRequestSpec,
        status with_status "status" PodCertificateRequestStatus,
    }
}
kind!(PodCertificateRequest namespaced);
k8s_openapi::k8s_if_ge_1_35! { applies! { PodCertificateRequest: k8s_openapi::api::certificates::v1beta1::PodCertificateRequest } }

object! {
    /// `PodCertificateRequestSpec`, as far as an applier sets it. Since 1.35.
    PodCertificateRequestSpec {
        max_expiration_seconds with_max_expiration_seconds "maxExpirationSeconds" i32,
        node_name with_node_name "nodeName" String,
        node_uid with_node_uid "nodeUID" String,
        pkix_public_key with_pkix_public_key "pkixPublicKey" ByteString,
        pod_name with_pod_name "podName" String,
        pod_uid with_pod_uid "podUID" String,
        proof_of_possession with_proof_of_possession "proofOfPossession" ByteString,
        service_account_name with_service_account_name "serviceAccountName" String,
        service_account_uid with_service_account_uid "serviceAccountUID" String,
        signer_name with_signer_name "signerName" String,
        /// Since 1.36.
        stub_pkcs10_request with_stub_pkcs10_request "stubPKCS10Request" ByteString,
        unverified_user_annotations with_unverified_user_annotations "unverifiedUserAnnotations" {String},
    }
}

object! {
    /// `PodCertificateRequestStatus`, as far as an applier sets it. Since 1.35.
    PodCertificateRequestStatus {
        begin_refresh_at with_begin_refresh_at "beginRefreshAt" Time,
        certificate_chain with_certificate_chain "certificateChain" String,
        /// Items are owned one by one, by `type`.
        conditions with_conditions "conditions" [Condition],
        not_after with_not_after "notAfter" Time,
        not_before with_not_before "notBefore" Time,
    }
}
