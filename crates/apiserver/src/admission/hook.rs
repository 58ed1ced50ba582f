//! One webhook of a configuration.

use std::sync::Arc;
use std::time::Duration;

use kubewright_core::{LabelSelector, Scope};
use serde::Deserialize;
use serde_json::Value;

use super::attributes::Attributes;
use super::rules::{Rule, Target};
use crate::registry::{Registry, Resource};
use crate::webhook::{ClientConfig, Webhook};

/// A webhook, compiled from `ValidatingWebhook` or `MutatingWebhook` of `admissionregistration.k8s.io/v1`.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) webhook: Webhook,
    /// The version of the review that it is sent: the first of its list that is known here.
    pub(super) review: Option<&'static str>,
    /// Whether a call that fails lets the request pass.
    pub(super) ignores_failures: bool,
    /// Whether it may be called for a dry run; `None` where it does not say what it does besides answering.
    pub(super) bears_dry_run: Option<bool>,
    /// Whether it is called again when a later one changed the object.
    pub(super) is_reinvoked: bool,
    rules: Vec<Rule>,
    matches_equivalent: bool,
    namespaces: Result<LabelSelector, String>,
    objects: Result<LabelSelector, String>,
}

/// A hook as it is stored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Stored {
    name: String,
    client_config: ClientConfig,
    rules: Vec<Rule>,
    failure_policy: String,
    match_policy: String,
    namespace_selector: Value,
    object_selector: Value,
    side_effects: String,
    timeout_seconds: Option<u64>,
    admission_review_versions: Vec<String>,
    reinvocation_policy: String,
}

/// A resource that a hook is called for: the one that is written, or the same in another version.
#[derive(Clone, Debug)]
pub(super) enum Invocation {
    /// The object goes as it is.
    Same,
    /// The object goes in the version of this resource.
    As(Arc<Resource>),
}

impl Hook {
    /// The hooks of a stored configuration. What cannot be read is no hook: validation has refused it, unless somebody else stored it.
    pub(super) fn all(configuration: &Value) -> Vec<Arc<Self>> {
        let hooks = configuration["webhooks"].as_array().into_iter().flatten();
        hooks
            .filter_map(|hook| match Stored::deserialize(hook) {
                Ok(stored) => Some(Arc::new(Self::new(stored))),
                Err(error) => {
                    tracing::error!(configuration = %configuration["metadata"]["name"], %error, "a stored webhook cannot be read");
                    None
                }
            })
            .collect()
    }

    fn new(stored: Stored) -> Self {
        let timeout = Duration::from_secs(stored.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS));
        Self {
            webhook: Webhook::new(stored.client_config, timeout),
            review: stored
                .admission_review_versions
                .iter()
                .find_map(|version| match version.as_str() {
                    "v1" => Some("admission.k8s.io/v1"),
                    "v1beta1" => Some("admission.k8s.io/v1beta1"),
                    _ => None,
                }),
            ignores_failures: stored.failure_policy == "Ignore",
            bears_dry_run: match stored.side_effects.as_str() {
                "" => None,
                "None" | "NoneOnDryRun" => Some(true),
                _ => Some(false),
            },
            is_reinvoked: stored.reinvocation_policy == "IfNeeded",
            matches_equivalent: stored.match_policy != "Exact",
            namespaces: selector(stored.namespace_selector),
            objects: selector(stored.object_selector),
            name: stored.name,
            rules: stored.rules,
        }
    }

    /// For which resource the hook is to be called, if at all. Which namespaces it selects, `namespaces` tells.
    ///
    /// # Errors
    /// A selector that cannot be read, of a hook whose rules match.
    pub(super) fn invocation(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        registry: &Registry,
    ) -> Option<Result<Invocation, String>> {
        let invocation = self.matched(attributes, registry)?;
        match self.selects_object(attributes, object) {
            Ok(true) => Some(Ok(invocation)),
            Ok(false) => None,
            Err(why) => Some(Err(why)),
        }
    }

    fn matched(&self, attributes: &Attributes<'_>, registry: &Registry) -> Option<Invocation> {
        let resource = attributes.resource();
        if self
            .rules
            .iter()
            .any(|rule| rule.matches(&target(attributes, resource)))
        {
            return Some(Invocation::Same);
        }
        if !self.matches_equivalent {
            return None;
        }
        let others: Vec<&Arc<Resource>> = equivalents(registry, resource).collect();
        // The first rule that matches any of them counts.
        self.rules.iter().find_map(|rule| {
            let other = others
                .iter()
                .find(|other| rule.matches(&target(attributes, other)))?;
            Some(Invocation::As(Arc::clone(other)))
        })
    }

    fn selects_object(&self, attributes: &Attributes<'_>, object: Option<&Value>) -> Result<bool, String> {
        let selector = self.objects.as_ref().map_err(Clone::clone)?;
        if selector.is_everything() {
            return Ok(true);
        }
        let mut any = [object, attributes.old].into_iter().flatten();
        Ok(any.any(|object| matches(selector, object)))
    }

    /// Which namespaces it selects.
    ///
    /// # Errors
    /// Why that cannot be read.
    pub(super) fn namespaces(&self) -> Result<&LabelSelector, String> {
        self.namespaces.as_ref().map_err(Clone::clone)
    }
}

/// Whether the labels of an object match.
pub(super) fn matches(selector: &LabelSelector, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    selector.matches(|key| labels.get(key).and_then(Value::as_str))
}

fn target<'a>(attributes: &Attributes<'a>, resource: &'a Resource) -> Target<'a> {
    Target {
        operation: attributes.operation,
        group: &resource.group,
        version: &resource.version,
        resource: &resource.plural,
        subresource: attributes.subresource(),
        is_namespaced: resource.scope == Scope::Namespaced && !attributes.namespace().is_empty(),
    }
}

/// The same resource in other versions, and in other groups that are kept as the same objects.
fn equivalents<'a>(
    registry: &'a Registry,
    resource: &'a Resource,
) -> impl Iterator<Item = &'a Arc<Resource>> {
    let all = registry
        .groups()
        .iter()
        .flat_map(|group| &group.versions)
        .flat_map(|version| &version.resources);
    all.filter(move |other| {
        other.storage_group() == resource.storage_group()
            && other.plural == resource.plural
            && (other.group != resource.group || other.version != resource.version)
    })
}

/// None at all, as an empty selector, selects everything.
fn selector(stored: Value) -> Result<LabelSelector, String> {
    if stored.is_null() {
        return Ok(LabelSelector::everything());
    }
    let spec = serde_json::from_value(stored).map_err(|error| error.to_string())?;
    LabelSelector::from_spec(&spec).map_err(|error| error.to_string())
}

/// As upstream defaults it.
const DEFAULT_TIMEOUT_SECONDS: u64 = 10;
