//! Admission: what else has a say in a write once its object is known.
//!
//! [`AdmissionPlugin`] lists the plugins in the order in which they are asked, each a module: first each may change the object, then the
//! server does everything itself, then each may refuse what came of it. Plugins that have a say in few requests return before they wait for
//! anything. Upstream: apiserver pkg/admission/chain.go.

mod attributes;
mod certificates;
mod dispatch;
mod hook;
mod hooks;
mod namespace_lifecycle;
mod owner_references;
mod plugins;
mod review;
mod rounds;
mod rules;
mod service_account;

use serde_json::Value;

pub(crate) use attributes::{Attributes, Operation, RequestOptions};
pub(crate) use hooks::{Hooks, check_configuration};
pub use plugins::{AdmissionPlugin, AdmissionPlugins, InvalidAdmissionPlugins};

use crate::error::ApiResult;

/// What the plugins make of an object; of none where it is deleted.
///
/// # Errors
/// The first with which one of them refuses the request.
pub(crate) async fn mutate(
    attributes: &Attributes<'_>,
    mut object: Option<Value>,
) -> ApiResult<Option<Value>> {
    for plugin in &attributes.call.server.admission {
        match plugin {
            AdmissionPlugin::NamespaceLifecycle => {
                namespace_lifecycle::check(attributes, object.as_ref()).await?;
            }
            AdmissionPlugin::ServiceAccount => object = service_account::mutate(attributes, object).await?,
            AdmissionPlugin::MutatingAdmissionWebhook => {
                object = dispatch::mutate(attributes, object).await?
            }
            AdmissionPlugin::OwnerReferencesPermissionEnforcement
            | AdmissionPlugin::CertificateApproval
            | AdmissionPlugin::CertificateSigning
            | AdmissionPlugin::CertificateSubjectRestriction
            | AdmissionPlugin::ValidatingAdmissionWebhook => {}
        }
    }
    Ok(object)
}

/// Lets the plugins look at an object as it is to be; at none where it is deleted.
///
/// # Errors
/// The first with which one of them refuses the request.
pub(crate) async fn validate(attributes: &Attributes<'_>, object: Option<&Value>) -> ApiResult<()> {
    for plugin in &attributes.call.server.admission {
        match plugin {
            AdmissionPlugin::ServiceAccount => service_account::validate(attributes, object).await?,
            AdmissionPlugin::OwnerReferencesPermissionEnforcement => {
                owner_references::validate(attributes, object).await?;
            }
            AdmissionPlugin::CertificateApproval => certificates::approval(attributes, object).await?,
            AdmissionPlugin::CertificateSigning => certificates::signing(attributes, object).await?,
            AdmissionPlugin::CertificateSubjectRestriction => certificates::subject(attributes, object)?,
            AdmissionPlugin::ValidatingAdmissionWebhook => dispatch::validate(attributes, object).await?,
            AdmissionPlugin::NamespaceLifecycle | AdmissionPlugin::MutatingAdmissionWebhook => {}
        }
    }
    Ok(())
}
