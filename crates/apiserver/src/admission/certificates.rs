//! `CertificateApproval`, `CertificateSigning` and `CertificateSubjectRestriction`: who may decide on requests for certificates, and what
//! nobody may ask for.
//!
//! Whoever may write the decision on a request must besides have the verb `approve` or `sign` on its signer, by its name or by all of its
//! domain (`example.com/*`). Upstream: kubernetes plugin/pkg/admission/certificates, pkg/certauthorization.

use kubewright_net::certificate::requested_organizations;
use serde_json::Value;

use super::attributes::{Attributes, Operation};
use crate::authorization::{Access, Attempt};
use crate::builtin::validation::groups::certificates::request_der;
use crate::error::ApiResult;

/// Checks a write of the subresource `approval`.
///
/// # Errors
/// 403 for somebody who may not approve for the signer.
pub(super) async fn approval(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    if !is_update_of(attributes, "approval") {
        return Ok(());
    }
    confirm(attributes, object, "approve").await
}

/// Checks a write of the subresource `status` that changes the certificate or the conditions.
///
/// # Errors
/// 403 for somebody who may not sign for the signer.
pub(super) async fn signing(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    let changes = |field: &str| {
        let of = |object: Option<&Value>| {
            let value = object.and_then(|object| object.pointer(field)).cloned();
            // Absent and empty are the same.
            value.filter(|value| !matches!(value.as_array(), Some(items) if items.is_empty()) && *value != "")
        };
        of(object) != of(attributes.old)
    };
    if !is_update_of(attributes, "status")
        || !(changes("/status/certificate") || changes("/status/conditions"))
    {
        return Ok(());
    }
    confirm(attributes, object, "sign").await
}

/// Checks a new request: the certificates of clients of this server are signed without looking at who they are for, so nobody asks for one
/// of those who may do everything.
///
/// # Errors
/// 403 for such a request, and for one that cannot be read.
pub(super) fn subject(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    let Some(request) = object.filter(|_| {
        attributes.operation == Operation::Create
            && is_request(attributes)
            && attributes.subresource().is_empty()
    }) else {
        return Ok(());
    };
    if signer(Some(request)) != CLIENT_SIGNER {
        return Ok(());
    }
    let der = request_der(request["spec"]["request"].as_str().unwrap_or_default());
    match requested_organizations(&der.unwrap_or_default()) {
        Err(error) => Err(attributes.forbidden(object, format!("failed to parse CSR: {error}"))),
        Ok(organizations) if organizations.iter().any(|name| name == MASTERS) => {
            let why = format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed");
            Err(attributes.forbidden(object, why))
        }
        Ok(_) => Ok(()),
    }
}

async fn confirm(attributes: &Attributes<'_>, object: Option<&Value>, verb: &str) -> ApiResult<()> {
    // What is stored counts: the signer cannot be changed.
    let signer = signer(attributes.old);
    let identity = &attributes.call.identity;
    let rules = attributes.call.server.rules_for(identity).await?;
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer, &format!("{domain}/*")] {
        let attempt = Attempt {
            verb,
            group: GROUP,
            resource: "signers",
            subresource: "",
            namespace: None,
            name,
        };
        if rules.permits(identity, &Access::Resource(attempt)) {
            return Ok(());
        }
    }
    let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
    Err(attributes.forbidden(object, why))
}

fn is_update_of(attributes: &Attributes<'_>, subresource: &str) -> bool {
    attributes.operation == Operation::Update
        && is_request(attributes)
        && attributes.subresource() == subresource
}

fn is_request(attributes: &Attributes<'_>) -> bool {
    let resource = attributes.resource();
    resource.group == GROUP && resource.plural == "certificatesigningrequests"
}

fn signer(request: Option<&Value>) -> &str {
    let name = request.and_then(|request| request["spec"]["signerName"].as_str());
    name.unwrap_or_default()
}

const GROUP: &str = "certificates.k8s.io";
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";
