//! Flow schemas and priority levels.
//!
//! Upstream: `pkg/apis/flowcontrol/validation/validation.go`; the schemas and levels that are fixed are those of
//! `pkg/apis/flowcontrol/bootstrap` of apiserver.

use std::collections::HashSet;

use kubewright_core::FieldError;
use serde_json::{Value, json};

use super::super::field::{Errors, Field};
use super::super::names::{label, subdomain};

const EXEMPT: &str = "exempt";
const CATCH_ALL: &str = "catch-all";
/// The last place in the order of schemas.
const PRECEDENCE_MAX: i64 = 10_000;
const QUEUES_MAX: i64 = 10_000_000;
/// Bits of the hash that deals out queues.
const HASH_BITS: u32 = 60;
const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];

/// A schema: which requests belong to which level (`ValidateFlowSchema`).
pub(crate) fn flow_schema(object: &Value, _: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let (name, spec) = (root.get("metadata.name").text(), root.get("spec"));
    let precedence = spec.get("matchingPrecedence");
    let number = precedence.int();
    if number <= 0 {
        precedence.invalid_as(&mut errors, number, "must be a positive value");
    }
    if number > PRECEDENCE_MAX {
        let detail = format!("must not be greater than {PRECEDENCE_MAX}");
        precedence.invalid(&mut errors, detail);
    }
    if number == 1 && name != EXEMPT {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        precedence.invalid(&mut errors, detail);
    }
    let method = spec.get("distinguisherMethod");
    let kind = method.get("type");
    if method.exists() && !matches!(kind.text(), "ByNamespace" | "ByUser") {
        errors.push(FieldError::not_supported(
            kind.path(),
            method.value.clone(),
            &["ByNamespace", "ByUser"],
        ));
    }
    let reference = spec.get("priorityLevelConfiguration");
    let level = reference.get("name");
    if level.check_given(&mut errors, "must reference a priority level") {
        level.invalid_each(&mut errors, subdomain(level.text()));
    }
    for rule in spec.get("rules").items() {
        check_rule(&mut errors, &rule);
    }
    if let Some(fixed) = fixed_schema(name)
        && !spec.same(&Field::root("", &fixed))
    {
        spec.invalid(
            &mut errors,
            format!("spec of '{name}' must equal the fixed value"),
        );
    }
    condition_types(&mut errors, &root);
    errors
}

fn fixed_schema(name: &str) -> Option<Value> {
    let rules = |groups: &[&str]| {
        let subjects: Vec<Value> = groups
            .iter()
            .map(|group| json!({"kind": "Group", "group": {"name": group}}))
            .collect();
        json!([{
            "subjects": subjects,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }])
    };
    match name {
        EXEMPT => Some(json!({
            "matchingPrecedence": 1,
            "priorityLevelConfiguration": {"name": EXEMPT},
            "rules": rules(&["system:masters"]),
        })),
        CATCH_ALL => Some(json!({
            "matchingPrecedence": PRECEDENCE_MAX,
            "priorityLevelConfiguration": {"name": CATCH_ALL},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": rules(&["system:unauthenticated", "system:authenticated"]),
        })),
        _ => None,
    }
}

fn check_rule(errors: &mut Errors, rule: &Field<'_, '_>) {
    let subjects = rule.get("subjects");
    if subjects.is_empty() {
        subjects.required(errors, "subjects must contain at least one value");
    }
    for subject in subjects.items() {
        check_subject(errors, &subject);
    }
    let (resource, other) = (rule.get("resourceRules"), rule.get("nonResourceRules"));
    if resource.is_empty() && other.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        rule.required(errors, detail);
    }
    for rule in resource.items() {
        resource_rule(errors, &rule);
    }
    for rule in other.items() {
        check_verbs(errors, &rule.get("verbs"));
        let urls = rule.get("nonResourceURLs");
        if urls.is_empty() {
            urls.required(errors, "nonResourceURLs must contain at least one value");
        } else if !is_wildcard(errors, &urls, "non-resource URLs") {
            for url in urls.items() {
                check_url(errors, &url);
            }
        }
    }
}

const SUBJECTS: [(&str, &str); 3] = [
    ("ServiceAccount", "serviceAccount"),
    ("User", "user"),
    ("Group", "group"),
];

fn check_subject(errors: &mut Errors, subject: &Field<'_, '_>) {
    let kind = subject.get("kind");
    let Some((_, own)) = SUBJECTS.iter().find(|(name, _)| *name == kind.text()) else {
        return kind.not_supported(errors, &["Group", "ServiceAccount", "User"]);
    };
    let details = subject.get(own);
    if !details.exists() {
        details.required(
            errors,
            format!("{own} is required when subject kind is '{}'", kind.text()),
        );
    } else {
        let name = details.get("name");
        let is_account = *own == "serviceAccount";
        if name.check_given(errors, "") && is_account && name.text() != "*" {
            name.invalid_each(errors, subdomain(name.text()));
        }
        let namespace = details.get("namespace");
        if is_account && namespace.check_given(errors, "must specify namespace for service account") {
            namespace.invalid_each(errors, label(namespace.text()));
        }
    }
    for (name, field) in SUBJECTS.iter().filter(|(_, field)| field != own) {
        let other = subject.get(field);
        if other.exists() {
            let detail = format!("{field} is forbidden when subject kind is not '{name}'");
            other.forbidden(errors, detail);
        }
    }
}

/// Whether a list is of everything; that it has nothing else is checked.
fn is_wildcard(errors: &mut Errors, list: &Field<'_, '_>, what: &str) -> bool {
    let is_wildcard = list.list().iter().any(|item| item == "*");
    if is_wildcard && list.list().len() > 1 {
        list.invalid(
            errors,
            format!("if '*' is present, must not specify other {what}"),
        );
    }
    is_wildcard
}

fn check_verbs(errors: &mut Errors, verbs: &Field<'_, '_>) {
    if verbs.is_empty() {
        verbs.required(errors, "verbs must contain at least one value");
    } else if !is_wildcard(errors, verbs, "verbs") && !verbs.items().all(|verb| VERBS.contains(&verb.text()))
    {
        verbs.not_supported(errors, VERBS);
    }
}

fn resource_rule(errors: &mut Errors, rule: &Field<'_, '_>) {
    check_verbs(errors, &rule.get("verbs"));
    for (field, one, many) in [
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ] {
        let list = rule.get(field);
        if list.is_empty() {
            list.required(errors, format!("resource rules must supply at least one {one}"));
        }
        is_wildcard(errors, &list, many);
    }
    let namespaces = rule.get("namespaces");
    if namespaces.is_empty() && !rule.get("clusterScope").is_true() {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        namespaces.required(errors, detail);
    } else if !is_wildcard(errors, &namespaces, "namespaces") {
        for namespace in namespaces.items() {
            for message in label(namespace.text()) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {message}");
                namespace.invalid(errors, detail);
            }
        }
    }
}

fn check_url(errors: &mut Errors, url: &Field<'_, '_>) {
    let text = url.text();
    let stars = text.matches('*').count();
    let detail = match text {
        "" => "must not be empty",
        "/" => return,
        _ if !text.starts_with('/') => "must start with slash",
        _ if text.contains(' ') => "must not contain white-space",
        _ if text.contains("//") => "must not contain double slash",
        _ if stars > 1 || (stars == 1 && !text.ends_with("/*")) => "wildcard can only do suffix matching",
        _ => return,
    };
    url.invalid(errors, detail);
}

fn condition_types(errors: &mut Errors, root: &Field<'_, '_>) {
    let mut seen = HashSet::new();
    for condition in root.get("status.conditions").items() {
        let kind = condition.get("type");
        if !seen.insert(kind.text()) {
            kind.duplicate(errors);
        }
        kind.check_given(errors, "");
    }
}

/// What the server reports of both kinds.
pub(crate) fn status(subresource: &str, new: &Value, _: &Value) -> Errors {
    let mut errors = Errors::new();
    if subresource == "status" {
        condition_types(&mut errors, &Field::root("", new));
    }
    errors
}

/// A level: how many requests at a time (`ValidatePriorityLevelConfiguration`).
pub(crate) fn priority_level(object: &Value, _: Option<&Value>) -> Errors {
    const ROUND_TRIP: &str = "flowcontrol.k8s.io/concurrency-shares-defaults-to-zero";
    let mut errors = Errors::new();
    let root = Field::root("", object);
    let (name, spec) = (root.get("metadata.name").text(), root.get("spec"));
    let metadata = root.get("metadata");
    let annotations = metadata.get("annotations");
    if annotations.key(ROUND_TRIP).exists() {
        annotations.forbidden(&mut errors, format!("annotation '{ROUND_TRIP}' is forbidden"));
    }
    let (kind, limited, exempt) = (spec.get("type"), spec.get("limited"), spec.get("exempt"));
    if (name == EXEMPT) != (kind.text() == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        kind.invalid_as(&mut errors, kind.text(), detail);
    }
    match kind.text() {
        "Exempt" => {
            if limited.exists() {
                limited.forbidden(&mut errors, "");
            }
            check_exempt(&mut errors, &exempt);
        }
        "Limited" => {
            if exempt.exists() {
                exempt.forbidden(&mut errors, "");
            }
            if !limited.exists() {
                limited.required(&mut errors, "");
            } else {
                check_limited(&mut errors, &limited);
            }
        }
        "" => kind.required(&mut errors, ""),
        _ => kind.not_supported(&mut errors, &["Exempt", "Limited"]),
    }
    // What belongs to one of them is told of with any other type, too.
    if !matches!(kind.text(), "Exempt" | "Limited") && limited.exists() {
        limited.forbidden(&mut errors, "");
    }
    fixed_level(&mut errors, &spec, name);
    condition_types(&mut errors, &root);
    errors
}

fn check_exempt(errors: &mut Errors, exempt: &Field<'_, '_>) {
    shares(errors, exempt);
    lendable(errors, exempt);
}

fn shares(errors: &mut Errors, level: &Field<'_, '_>) {
    let shares = level.get("nominalConcurrencyShares");
    if shares.int() < 0 {
        shares.invalid(errors, "must be a non-negative integer");
    }
}

fn lendable(errors: &mut Errors, level: &Field<'_, '_>) {
    let percent = level.get("lendablePercent");
    if percent
        .value
        .as_i64()
        .is_some_and(|percent| !(0..=100).contains(&percent))
    {
        percent.invalid(errors, "must be between 0 and 100, inclusive");
    }
}

fn check_limited(errors: &mut Errors, limited: &Field<'_, '_>) {
    shares(errors, limited);
    let response = limited.get("limitResponse");
    let (kind, queuing) = (response.get("type"), response.get("queuing"));
    match kind.text() {
        "Reject" if queuing.exists() => queuing.forbidden(errors, ""),
        "Reject" => {}
        "Queue" if !queuing.exists() => queuing.required(errors, ""),
        "Queue" => check_queues(errors, &queuing),
        "" => kind.required(errors, ""),
        _ => kind.not_supported(errors, &["Queue", "Reject"]),
    }
    if !matches!(kind.text(), "Queue" | "Reject") && queuing.exists() {
        queuing.forbidden(errors, "");
    }
    lendable(errors, limited);
    let borrowing = limited.get("borrowingLimitPercent");
    if borrowing.int() < 0 {
        borrowing.invalid(errors, "if specified, must be a non-negative integer");
    }
}

fn check_queues(errors: &mut Errors, queuing: &Field<'_, '_>) {
    let field = |name| queuing.get(name);
    let (length, queues, hand) = (field("queueLengthLimit"), field("queues"), field("handSize"));
    for field in [&length, &queues, &hand] {
        if field.int() <= 0 {
            field.invalid_as(errors, field.int(), "must be positive");
        }
    }
    if queues.int() > QUEUES_MAX {
        queues.invalid(errors, format!("must not be greater than {QUEUES_MAX}"));
    }
    if hand.int() <= 0 {
        return;
    }
    if hand.int() > queues.int() {
        let detail = format!("should not be greater than queues ({})", queues.int());
        return hand.invalid(errors, detail);
    }
    let bits = entropy_bits(queues.int(), hand.int());
    if bits > f64::from(HASH_BITS) {
        let (deck, size) = (queues.int(), hand.int());
        let detail = format!(
            "required entropy bits of deckSize {deck} and handSize {size} should not be greater than {HASH_BITS}"
        );
        hand.invalid(errors, detail);
    }
}

/// The bits that it takes to deal a hand out of a deck (`shufflesharding.RequiredEntropyBits`).
fn entropy_bits(deck: i64, hand: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a deck has at most ten million cards")]
    let (deck, hand) = (deck as f64, hand as f64);
    (deck.log2() * hand).ceil()
}

/// Two levels are part of the server; of the exempt one, the limits may be changed.
fn fixed_level(errors: &mut Errors, spec: &Field<'_, '_>, name: &str) {
    if name == EXEMPT {
        let mut rest = spec.value.clone();
        rest.as_object_mut().map(|rest| rest.remove("exempt"));
        if rest != json!({"type": "Exempt"}) {
            let detail =
                format!("spec of '{name}' except the 'spec.exempt' field must equal the fixed value");
            spec.invalid(errors, detail);
        }
    } else if name == CATCH_ALL {
        let fixed = json!({
            "type": "Limited",
            "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
        });
        if !spec.same(&Field::root("", &fixed)) {
            spec.invalid(errors, format!("spec of '{name}' must equal the fixed value"));
        }
    }
}
