//! Namespaces.
//!
//! Upstream: `ValidateNamespace`. What its subresources may change is the strategy's concern.

use super::super::field::{Errors, Field};
use super::check_finalizer;
use kubewright_core::FieldError;
use serde_json::Value;

pub(crate) fn namespace(namespace: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::new();
    if old.is_none() {
        let spec = Field::of(namespace, "spec");
        let finalizers = spec.get("finalizers");
        for name in finalizers.texts() {
            check_finalizer(&mut errors, &finalizers, name);
        }
    }
    errors
}
