//! What clients are warned of about valid objects beyond pods, services and nodes.
//!
//! Upstream: `WarningsOnCreate` and `WarningsOnUpdate` of the strategies in `pkg/registry`, and `pkg/api/{node,storage}/util.go`.

use serde_json::Value;

use super::super::pem;
use super::super::validation::addresses::ip_warning;
use super::super::validation::field::Field;
use super::super::value::semantically_equal;
use super::node_label;

/// About the status of a pod.
pub(crate) fn pod_part(subresource: &str, pod: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if subresource == "status" {
        let status = Field::of(pod, "status");
        for list in ["podIPs", "hostIPs"] {
            for address in status.get(list).items() {
                let ip = address.get("ip");
                warnings.extend(ip_warning(ip.path().as_str(), ip.text()));
            }
        }
    }
    warnings
}

/// About the status of what a load balancer leads to.
pub(crate) fn balanced_part(subresource: &str, object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if subresource == "status" {
        let status = Field::of(object, "status");
        for ingress in status.get("loadBalancer").get("ingress").items() {
            let ip = ingress.get("ip");
            if ip.is_set() {
                warnings.extend(ip_warning(ingress.path().as_str(), ip.text()));
            }
        }
    }
    warnings
}

/// About a service account, new or changed.
pub(crate) fn service_account(account: &Value, old: Option<&Value>) -> Vec<String> {
    const ENFORCES: &str = "kubernetes.io/enforce-mountable-secrets";
    let has = |account: &Value| !account["metadata"]["annotations"][ENFORCES].is_null();
    if !has(account) || old.is_some_and(has) {
        return Vec::new();
    }
    vec![format!(
        "metadata.annotations[{ENFORCES}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    )]
}

/// About a runtime class, new or changed.
pub(crate) fn runtime_class(class: &Value, _: Option<&Value>) -> Vec<String> {
    let scheduling = Field::of(class, "scheduling");
    let selector = scheduling.get("nodeSelector");
    let labels = selector.entries().filter_map(|(key, _)| node_label(key));
    labels
        .map(|message| format!("{}: {message}", selector.path()))
        .collect()
}

/// About a class of volumes, new or changed.
pub(crate) fn storage_class(class: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for term in Field::of(class, "allowedTopologies").items() {
        for expression in term.get("matchLabelExpressions").items() {
            let key = expression.get("key");
            warnings.extend(node_label(key.text()).map(|message| format!("{}: {message}", key.path())));
        }
    }
    warnings
}

/// About a capacity of storage, new or changed.
pub(crate) fn storage_capacity(capacity: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let topology = Field::of(capacity, "nodeTopology");
    for expression in topology.get("matchExpressions").items() {
        let key = expression.get("key");
        if let Some(message) = node_label(key.text()) {
            warnings.push(format!("{}: {} is {message}", key.path(), key.text()));
        }
    }
    let labels = topology.get("matchLabels");
    for (key, _) in labels.entries() {
        // Upstream takes the label for a field.
        let path = || labels.path().child(key);
        warnings.extend(node_label(key).map(|message| format!("{}: {message}", path())));
    }
    warnings
}

/// About a driver of volumes whose tokens may end in logs, new or changed.
pub(crate) fn csi_driver(driver: &Value, old: Option<&Value>) -> Vec<String> {
    let requests = |driver: &Value| driver["spec"].get("tokenRequests").cloned().unwrap_or_default();
    let asks = requests(driver).as_array().is_some_and(|all| !all.is_empty());
    let is_kept = old.is_some_and(|old| semantically_equal(Some(&requests(old)), Some(&requests(driver))));
    if !asks || is_kept || !driver["spec"]["serviceAccountTokenInSecrets"].is_null() {
        return Vec::new();
    }
    vec![
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of \
         tokens in volume attributes"
            .to_owned(),
    ]
}

/// What no webhook is asked about, by group (`pkg/kubeapiserver/admission/exclusion/resources.go`).
const NEVER_ASKED: &[(&str, &str)] = &[
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// About a configuration of webhooks, new or changed (`WarningsForMutatingWebhookRules`).
pub(crate) fn webhooks(configuration: &Value, _: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    for hook in Field::of(configuration, "webhooks").items() {
        for rule in hook.get("rules").items() {
            let (groups, resources) = (rule.get("apiGroups"), rule.get("resources"));
            if groups.texts().chain(resources.texts()).any(|text| text == "*") {
                continue;
            }
            for group in groups.texts() {
                for resource in resources
                    .texts()
                    .filter(|name| NEVER_ASKED.contains(&(group, *name)))
                {
                    let warning = format!(
                        "{}: {resource}.{group} is excluded from admission webhooks; this rule will have no effect",
                        rule.path()
                    );
                    if warnings.last() != Some(&warning) {
                        warnings.push(warning);
                    }
                }
            }
        }
    }
    warnings
}

/// About a secret, new or changed: a TLS pair that is none (Go crypto/tls `X509KeyPair`). Only whether there is a certificate and a
/// key is looked at, not what is in them.
pub(crate) fn secret(secret: &Value, _: Option<&Value>) -> Vec<String> {
    use base64::Engine as _;
    if secret["type"] != "kubernetes.io/tls" {
        return Vec::new();
    }
    let labels = |key: &str| {
        let text = secret["data"][key].as_str().unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        pem::blocks(&text)
            .map(|block| block.label.to_owned())
            .collect::<Vec<_>>()
    };
    let certificate = labels("tls.crt");
    if !certificate.iter().any(|label| label == "CERTIFICATE") {
        return vec![match certificate.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have \
                 been switched"
                    .to_owned()
            }
            all => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following \
                 types: [{}]",
                all.join(" ")
            ),
        }];
    }
    let key = labels("tls.key");
    if key
        .iter()
        .any(|label| label == "PRIVATE KEY" || label.ends_with(" PRIVATE KEY"))
    {
        return Vec::new();
    }
    vec![match key.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [one] if one == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        all => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the \
             following types: [{}]",
            all.join(" ")
        ),
    }]
}
