//! Configurations of admission webhooks.
//!
//! Upstream: `pkg/apis/admissionregistration/validation/validation.go` and `pkg/util/webhook/validation.go` of apiserver. Whether
//! an expression compiles is not looked at here.

use std::collections::HashSet;

use serde_json::Value;

use super::super::field::{Errors, Field};
use super::super::names::{dns_1035_label, port_number, qualified_name, subdomain};
use super::super::web_url::WebUrl;
use super::format::{fully_qualified_name, label_selector};

/// Versions of reviews that the server can send.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// The most conditions of one webhook or policy.
const MATCH_CONDITIONS_MAX: usize = 64;

/// Rules that stored webhooks may break, since they came later.
#[derive(Clone, Copy, Debug)]
struct Strictness {
    side_effects: bool,
    versions: bool,
    names: bool,
}

/// Names with this end are for configurations in files of the server (KEP-5793).
const STATIC_SUFFIX: &str = ".static.k8s.io";

/// A new configuration, policy or binding is not named like one that comes from a file.
pub(super) fn not_static(errors: &mut Errors, root: &Field<'_, '_>, old: Option<&Value>) {
    let metadata = root.get("metadata");
    let name = metadata.get("name");
    if old.is_none() && name.text().ends_with(STATIC_SUFFIX) {
        let detail = format!(
            "names ending with {STATIC_SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed via \
             the API"
        );
        name.invalid(errors, detail);
    }
}

/// A configuration of validating or mutating webhooks, which differ in one field only.
pub(crate) fn webhooks(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    not_static(&mut errors, &root, old);
    let hooks = root.get("webhooks");
    let strict = old.map_or(
        Strictness {
            side_effects: true,
            versions: true,
            names: true,
        },
        |old| strictness(&Field::root("", old)),
    );
    let old_root = old.map(|object| Field::root("", object));
    // Conditions that did not change were valid once.
    let conditions = |root: &Field<'_, '_>| -> Vec<Value> {
        let hooks = root.get("webhooks");
        let all = hooks.list().iter();
        all.map(|hook| hook["matchConditions"].clone()).collect()
    };
    let same_conditions = old_root.is_some_and(|old| conditions(&old) == conditions(&root));
    let mut names = HashSet::new();
    for hook in hooks.items() {
        check_webhook(&mut errors, &hook, strict);
        if !same_conditions {
            match_conditions(&mut errors, &hook.get("matchConditions"));
        }
        review_versions(&mut errors, &hook.get("admissionReviewVersions"), strict);
        let name = hook.get("name");
        if strict.names && !name.is_empty() && !names.insert(name.text()) {
            name.duplicate(&mut errors);
        }
    }
    errors
}

fn strictness(old: &Field<'_, '_>) -> Strictness {
    let hooks = old.get("webhooks");
    let list = hooks.list();
    let mut names = HashSet::new();
    let accepts = |hook: &Value| {
        let versions = hook["admissionReviewVersions"].as_array();
        versions.is_none_or(|versions| versions.iter().any(is_review_version))
    };
    Strictness {
        side_effects: list.iter().all(|hook| {
            hook["sideEffects"]
                .as_str()
                .is_some_and(|effects| NO_SIDE_EFFECTS.contains(&effects))
        }),
        versions: list.iter().all(accepts),
        names: list.iter().all(|hook| names.insert(hook["name"].as_str())),
    }
}

fn is_review_version(version: &Value) -> bool {
    version
        .as_str()
        .is_some_and(|version| REVIEW_VERSIONS.contains(&version))
}

fn review_versions(errors: &mut Errors, versions: &Field<'_, '_>, strict: Strictness) {
    let accepted = REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        return versions.required(errors, format!("must specify one of {accepted}"));
    }
    let mut seen = HashSet::new();
    for version in versions.items() {
        if seen.insert(version.text()) {
            version.invalid_each(errors, dns_1035_label(version.text()));
        } else {
            version.invalid(errors, "duplicate version");
        }
    }
    if strict.versions && !versions.list().iter().any(is_review_version) {
        versions.invalid(errors, format!("must include at least one of {accepted}"));
    }
}

fn check_webhook(errors: &mut Errors, hook: &Field<'_, '_>, strict: Strictness) {
    fully_qualified_name(errors, &hook.get("name"));
    for rule in hook.get("rules").items() {
        check_rule(errors, &rule);
    }
    hook.get("failurePolicy").one_of(errors, &["Fail", "Ignore"]);
    hook.get("matchPolicy").one_of(errors, &["Equivalent", "Exact"]);
    hook.get("reinvocationPolicy")
        .one_of(errors, &["IfNeeded", "Never"]);
    let effects = hook.get("sideEffects");
    let allowed = if strict.side_effects {
        NO_SIDE_EFFECTS
    } else {
        SIDE_EFFECTS
    };
    if !effects.exists() {
        effects.required(errors, format!("must specify one of {}", allowed.join(", ")));
    }
    effects.one_of(errors, allowed);
    let timeout = hook.get("timeoutSeconds");
    if timeout
        .value
        .as_i64()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        timeout.invalid(errors, "the timeout value must be between 1 and 30 seconds");
    }
    label_selector(errors, &hook.get("namespaceSelector"));
    label_selector(errors, &hook.get("objectSelector"));
    check_client_config(errors, &hook.get("clientConfig"));
}

/// Where a webhook is, which stands at `path` of an object.
pub(crate) fn check_webhook_client(errors: &mut Errors, object: &Value, path: &str) {
    check_client_config(errors, &Field::root("", object).get(path));
}

fn check_client_config(errors: &mut Errors, config: &Field<'_, '_>) {
    let (url, service) = (config.get("url"), config.get("service"));
    match (url.exists(), service.exists()) {
        (true, false) => webhook_url(errors, &url),
        (false, true) => webhook_service(errors, &service),
        _ => config.required(errors, "exactly one of url or service is required"),
    }
}

/// Where a webhook outside of the cluster is (`ValidateWebhookURL`).
fn webhook_url(errors: &mut Errors, url: &Field<'_, '_>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let text = url.text();
    let WebUrl {
        scheme,
        host,
        user,
        fragment,
        query,
    } = match WebUrl::parse(text) {
        Ok(parsed) => parsed,
        Err(why) => {
            let detail = format!("url must be a valid URL: parse {text:?}: {why}{FORM}");
            return url.required(errors, detail);
        }
    };
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        url.invalid_as(errors, scheme, detail);
    }
    if host.is_empty() {
        url.invalid_as(errors, "", format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        url.invalid_as(errors, user, "user information is not permitted in the URL");
    }
    for (part, detail) in [
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            url.invalid_as(errors, part, detail);
        }
    }
}

/// Where a webhook within the cluster is (`ValidateWebhookService`).
fn webhook_service(errors: &mut Errors, service: &Field<'_, '_>) {
    // Upstream takes the one for the other.
    for (field, shown) in [("namespace", "name"), ("name", "namespace")] {
        if service.get(field).is_empty() {
            service.get(shown).required(errors, "");
        }
    }
    let port = service.get("port");
    let messages = port_number(port.int());
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        port.invalid_as(errors, port.int(), detail);
    }
    let path = service.get("path");
    let text = path.text();
    if matches!(text, "" | "/") {
        return;
    }
    if text == "//" {
        return path.invalid(errors, "segment[0] may not be empty");
    }
    if !text.starts_with('/') {
        path.invalid(errors, "must start with a '/'");
    }
    let mut rest = text.chars();
    rest.next();
    let rest = rest.as_str();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            path.invalid(errors, format!("segment[{index}] may not be empty"));
            continue;
        }
        for message in subdomain(step) {
            path.invalid(errors, format!("segment[{index}]: {message}"));
        }
    }
}

fn has_wildcard(list: &Field<'_, '_>) -> bool {
    list.list().iter().any(|item| item == "*")
}

/// A rule: which operations on which resources (`validateRuleWithOperations`).
pub(super) fn check_rule(errors: &mut Errors, rule: &Field<'_, '_>) {
    for (field, what) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ] {
        let list = rule.get(field);
        if list.is_empty() {
            list.required(errors, "");
        }
        if list.list().len() > 1 && has_wildcard(&list) {
            list.invalid(
                errors,
                format!("if '*' is present, must not specify other {what}"),
            );
        }
        if field == "operations" {
            for operation in list.items() {
                operation.one_of(errors, OPERATIONS);
            }
        }
    }
    for version in rule.get("apiVersions").items() {
        version.check_given(errors, "");
    }
    resources(errors, &rule.get("resources"));
    rule.get("scope").one_of(errors, &["*", "Cluster", "Namespaced"]);
}

/// Resources and subresources that no other one of the list implies (`validateResources`).
fn resources(errors: &mut Errors, list: &Field<'_, '_>) {
    if list.is_empty() {
        list.required(errors, "");
    }
    let (mut all_of, mut of_all) = (HashSet::new(), HashSet::new());
    let mut has_plain = false;
    for resource in list.items() {
        let text = resource.text();
        if text.is_empty() {
            resource.required(errors, "");
            continue;
        }
        let Some((name, sub)) = text.split_once('/') else {
            // Upstream remembers the last one alone.
            has_plain = text != "*";
            continue;
        };
        if all_of.contains(name) {
            resource.invalid(
                errors,
                format!("if '{name}/*' is present, must not specify {text}"),
            );
        }
        if of_all.contains(sub) {
            resource.invalid(
                errors,
                format!("if '*/{sub}' is present, must not specify {text}"),
            );
        }
        if sub == "*" {
            all_of.insert(name);
        }
        if name == "*" {
            of_all.insert(sub);
        }
    }
    if list.list().len() > 1 && list.list().iter().any(|item| item == "*/*") {
        list.invalid(errors, "if '*/*' is present, must not specify other resources");
    }
    if has_wildcard(list) && has_plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        list.invalid(errors, detail);
    }
}

/// Conditions under which a webhook or policy counts (`validateMatchConditions`).
pub(super) fn match_conditions(errors: &mut Errors, conditions: &Field<'_, '_>) {
    conditions.check_count(errors, MATCH_CONDITIONS_MAX);
    let mut names = HashSet::new();
    for condition in conditions.items() {
        let (name, expression) = (condition.get("name"), condition.get("expression"));
        if expression.text().trim().is_empty() {
            expression.required(errors, "");
        }
        if name.check_given(errors, "") {
            name.invalid_each(errors, qualified_name(name.text()));
            if !names.insert(name.text()) {
                name.duplicate(errors);
            }
        }
    }
}
