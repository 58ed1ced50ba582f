//! Which requests a webhook is for, by its rules (apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go).

use serde::Deserialize;

use super::attributes::Operation;

/// `RuleWithOperations` of `admissionregistration.k8s.io/v1`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    operations: Vec<String>,
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    scope: Option<String>,
}

/// What rules are about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) operation: Operation,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) resource: &'a str,
    pub(super) subresource: &'a str,
    /// Whether the object is in a namespace; a namespace itself is not.
    pub(super) is_namespaced: bool,
}

impl Rule {
    pub(super) fn matches(&self, target: &Target<'_>) -> bool {
        let is_scope = match self.scope.as_deref() {
            None | Some("*") => true,
            Some("Namespaced") => target.is_namespaced,
            Some("Cluster") => !target.is_namespaced,
            Some(_) => false,
        };
        is_scope
            && has(&self.operations, target.operation.as_str())
            && has(&self.api_groups, target.group)
            && has(&self.api_versions, target.version)
            && self.resources.iter().any(|resource| {
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                is(resource, target.resource) && is(subresource, target.subresource)
            })
    }
}

fn has(patterns: &[String], wanted: &str) -> bool {
    patterns.iter().any(|pattern| is(pattern, wanted))
}

fn is(pattern: &str, wanted: &str) -> bool {
    pattern == "*" || pattern == wanted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows of upstream's rules_test.go.
    #[test]
    fn rules_match_what_they_name() {
        let pods = Target {
            operation: Operation::Create,
            group: "",
            version: "v1",
            resource: "pods",
            subresource: "",
            is_namespaced: true,
        };
        let log = Target {
            subresource: "log",
            ..pods
        };
        let nodes = Target {
            resource: "nodes",
            is_namespaced: false,
            ..pods
        };
        for (change, expect) in [
            (json!({}), [true, false, false]),
            (json!({"resources": ["*"]}), [true, false, true]),
            (json!({"resources": ["*/*"]}), [true, true, true]),
            (json!({"resources": ["pods/*"]}), [true, true, false]),
            (json!({"resources": ["pods/log"]}), [false, true, false]),
            (json!({"resources": ["*/log"]}), [false, true, false]),
            (json!({"resources": ["nodes", "pods/log"]}), [false, true, true]),
            (
                json!({"resources": ["*/*"], "scope": "Namespaced"}),
                [true, true, false],
            ),
            (
                json!({"resources": ["*/*"], "scope": "Cluster"}),
                [false, false, true],
            ),
            (json!({"resources": ["*/*"], "scope": "*"}), [true, true, true]),
            (json!({"operations": ["UPDATE", "DELETE"]}), [false, false, false]),
            (json!({"operations": ["*"]}), [true, false, false]),
            (json!({"apiGroups": ["apps"]}), [false, false, false]),
            (json!({"apiGroups": ["apps", "*"]}), [true, false, false]),
            (json!({"apiVersions": ["v2"]}), [false, false, false]),
            (json!({"apiVersions": ["*"]}), [true, false, false]),
            (json!({"resources": []}), [false, false, false]),
        ] {
            let mut rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
            for (field, value) in change.as_object().unwrap() {
                rule[field] = value.clone();
            }
            let rule: Rule = serde_json::from_value(rule).unwrap();
            let found = [&pods, &log, &nodes].map(|target| rule.matches(target));
            assert_eq!(found, expect, "{change}");
        }
    }
}
