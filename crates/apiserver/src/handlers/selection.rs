//! Which objects a list, a watch or a deletecollection means.

use kubewright_core::{FieldSelector, LabelSelector, ListOptions, Status};

use crate::error::ApiResult;
use crate::registry::Resource;
use crate::storage::StoredObject;

use super::from_storage;

/// Label and field selectors, checked against what the resource can be selected by.
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    /// Whether a field is asked for that only the decoded object has.
    needs_object: bool,
}

impl Selection {
    /// Takes the selectors of `options`.
    ///
    /// # Errors
    /// 400 when the resource cannot be selected by a field.
    pub(crate) fn new(resource: &Resource, options: &ListOptions) -> ApiResult<Self> {
        let fields = options.field_selector.clone();
        let mut needs_object = false;
        for requirement in fields.requirements() {
            let field = requirement.field.as_str();
            needs_object |= !matches!(field, NAME | NAMESPACE);
            if !resource.is_selectable(field) {
                return Err(Status::bad_request(format!("field label not supported: {field}")).into());
            }
        }
        Ok(Self {
            labels: options.label_selector.clone(),
            fields,
            needs_object,
        })
    }

    /// Whether everything is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// Whether an object is meant.
    pub(crate) fn matches(&self, resource: &Resource, object: &StoredObject) -> bool {
        if self.is_everything() {
            return true;
        }
        // Labels are parsed only where they are asked for.
        let labels = || object.attributes().labels();
        if !self.labels.is_everything() && !self.labels.matches(|key| labels().get(key).map(String::as_str)) {
            return false;
        }
        if !self.needs_object {
            let key = object.key();
            return self.fields.matches(|field| match field {
                NAME => key.name(),
                _ => key.namespace().unwrap_or_default(),
            });
        }
        let value = from_storage(resource, object.value());
        self.fields
            .matches(|field| resource.selectable_field(&value, field).unwrap_or_default())
    }
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";
