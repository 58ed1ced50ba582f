//! The built-in resources, as rows of the table of kinds.

use std::sync::Arc;

use kubewright_core::Scope;
use kubewright_kinds as kinds;

use super::{Group, Model, Resource, ScalePaths, StoredAs, Subresource, SubresourceKind, Version};
use crate::builtin::connect::Connection;
use crate::builtin::{deprecation, strategy};
use crate::fieldmanager::ResetFieldsOf;
use crate::table::Printer;

/// Which built-in resources are served beyond the default, in the syntax of `--runtime-config`
/// (kube-apiserver pkg/cmd/server/options: comma-separated `api/all`, `api/ga`, `api/beta`, `api/alpha`, `group/version` or
/// `group/version/resource`, each with `=true` or `=false`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuntimeConfig {
    rules: Vec<(Pattern, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    All,
    Stage(Stage),
    Version {
        group: String,
        version: String,
    },
    Resource {
        group: String,
        version: String,
        plural: String,
    },
}

/// How settled a version is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Alpha,
    Beta,
    Ga,
}

/// A `--runtime-config` that kube-apiserver would refuse, too (apiserver `pkg/server/options/api_enablement.go`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRuntimeConfig {
    /// An entry is of no known form.
    #[error("runtime configuration {entry:?} is not understood")]
    Syntax {
        /// The entry.
        entry: String,
    },
    /// There is no such group.
    #[error("unknown api groups {group_version}")]
    UnknownGroup {
        /// The group with the version that was named.
        group_version: String,
    },
    /// The group has no such version.
    #[error("group version {group_version} that has not been registered")]
    UnknownVersion {
        /// The group with its version.
        group_version: String,
    },
}

impl std::str::FromStr for RuntimeConfig {
    type Err = InvalidRuntimeConfig;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut rules = Vec::new();
        for entry in text.split(',').filter(|entry| !entry.is_empty()) {
            let invalid = || InvalidRuntimeConfig::Syntax {
                entry: entry.to_owned(),
            };
            let (pattern, value) = entry.split_once('=').unwrap_or((entry, "true"));
            let on = match value {
                "true" | "" => true,
                "false" => false,
                _ => return Err(invalid()),
            };
            let parts: Vec<&str> = pattern.split('/').collect();
            let pattern = match parts[..] {
                ["api", "all"] => Pattern::All,
                ["api", "ga"] => Pattern::Stage(Stage::Ga),
                ["api", "beta"] => Pattern::Stage(Stage::Beta),
                ["api", "alpha"] => Pattern::Stage(Stage::Alpha),
                ["v1"] => Pattern::Version {
                    group: String::new(),
                    version: "v1".into(),
                },
                [group, version] if !group.is_empty() && !version.is_empty() => {
                    let group = if group == "api" { "" } else { group };
                    Pattern::Version {
                        group: group.into(),
                        version: version.into(),
                    }
                }
                [group, version, plural] if !plural.is_empty() => Pattern::Resource {
                    group: group.into(),
                    version: version.into(),
                    plural: plural.into(),
                },
                _ => return Err(invalid()),
            };
            check_known(&pattern)?;
            rules.push((pattern, on));
        }
        Ok(Self { rules })
    }
}

/// Refuses what is not in the table of kinds: it would silently do nothing.
fn check_known(pattern: &Pattern) -> Result<(), InvalidRuntimeConfig> {
    let (Pattern::Version { group, version } | Pattern::Resource { group, version, .. }) = pattern else {
        return Ok(());
    };
    let mut versions = kinds::table()
        .resources()
        .iter()
        .filter(|resource| resource.group == group)
        .map(|resource| resource.version)
        .peekable();
    let group_version = || format!("{group}/{version}").trim_start_matches('/').to_owned();
    if versions.peek().is_none() {
        return Err(InvalidRuntimeConfig::UnknownGroup {
            group_version: group_version(),
        });
    }
    if !versions.any(|known| known == version) {
        return Err(InvalidRuntimeConfig::UnknownVersion {
            group_version: group_version(),
        });
    }
    Ok(())
}

impl RuntimeConfig {
    /// The narrowest rule decides, and of two equally narrow ones the later.
    fn serves(&self, resource: &kinds::Resource) -> bool {
        let narrowness = |pattern: &Pattern| match pattern {
            Pattern::All => Some(0),
            Pattern::Stage(stage) => (*stage == stage_of(resource.version)).then_some(1),
            Pattern::Version { group, version } => {
                (group == resource.group && version == resource.version).then_some(2)
            }
            Pattern::Resource {
                group,
                version,
                plural,
            } => {
                let same =
                    group == resource.group && version == resource.version && plural == resource.plural;
                same.then_some(3)
            }
        };
        let matching = self
            .rules
            .iter()
            .filter_map(|(pattern, on)| Some((narrowness(pattern)?, *on)));
        matching
            .max_by_key(|(narrow, _)| *narrow)
            .map_or(resource.served_by_default, |(_, on)| on)
    }
}

fn stage_of(version: &str) -> Stage {
    if version.contains("alpha") {
        Stage::Alpha
    } else if version.contains("beta") {
        Stage::Beta
    } else {
        Stage::Ga
    }
}

/// The groups, versions and resources that `config` turns on, in the order of discovery.
pub(super) fn groups(config: &RuntimeConfig) -> Vec<Group> {
    let mut groups = Vec::<Group>::new();
    for row in kinds::table().resources().iter().filter(|row| config.serves(row)) {
        let at = groups
            .iter()
            .position(|g| g.name == row.group)
            .unwrap_or_else(|| {
                groups.push(Group {
                    name: row.group.to_owned(),
                    versions: Vec::new(),
                });
                groups.len() - 1
            });
        let versions = &mut groups[at].versions;
        let resource = Arc::new(resource(row));
        match versions.iter_mut().find(|v| v.name == row.version) {
            Some(version) => version.resources.push(resource),
            None => versions.push(Version {
                name: row.version.to_owned(),
                resources: vec![resource],
            }),
        }
    }
    groups
}

fn resource(row: &'static kinds::Resource) -> Resource {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    // The Events of both groups are one stored object, kept as core/v1 has them.
    let stored_as = match (row.group, row.plural) {
        ("events.k8s.io", "events") => ("", "v1"),
        _ => (row.group, row.storage_version),
    };
    Resource {
        group: row.group.to_owned(),
        version: row.version.to_owned(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        plural: row.plural.to_owned(),
        singular: row.singular.to_owned(),
        scope: match row.scope {
            kinds::Scope::Namespaced => Scope::Namespaced,
            kinds::Scope::Cluster => Scope::Cluster,
        },
        short_names: owned(row.short_names),
        categories: owned(row.categories),
        verbs: owned(row.verbs),
        subresources: row
            .subresources
            .iter()
            .filter_map(|sub| subresource(row, sub))
            .collect(),
        stored_as: (stored_as != (row.group, row.version)).then(|| StoredAs {
            group: stored_as.0.to_owned(),
            version: stored_as.1.to_owned(),
        }),
        model: Model::Builtin(row.object_type()),
        strategy: strategy::strategy(row.group, row.plural),
        reset_fields: ResetFieldsOf::default(),
        printer: Printer::for_builtin(row.group, row.version, row.kind),
        deprecation: deprecation::warning(row.group, row.version, row.kind),
    }
}

/// What a subresource of the table does.
fn subresource(row: &kinds::Resource, sub: &kinds::Subresource) -> Option<Subresource> {
    let is_self = sub.kind == row.kind;
    let behaviour = match sub.name {
        "binding" => SubresourceKind::Binding,
        "eviction" => SubresourceKind::Eviction,
        "token" => SubresourceKind::Token,
        "scale" => SubresourceKind::Scale(scale_paths(row)),
        // Logs are text from a node, whatever kind the table names.
        name => match Connection::of(row.plural, name) {
            Some(connection) => SubresourceKind::Connect(connection),
            None if is_self => SubresourceKind::Part,
            None => return None,
        },
    };
    Some(Subresource {
        name: sub.name.to_owned(),
        group: sub.group.to_owned(),
        version: sub.version.to_owned(),
        kind: sub.kind.to_owned(),
        verbs: sub.verbs.iter().map(|&verb| verb.to_owned()).collect(),
        behaviour,
    })
}

fn scale_paths(row: &kinds::Resource) -> ScalePaths {
    let path = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    debug_assert!(
        row.object_type().field("spec").is_some(),
        "{} has a scale but no spec",
        row.kind
    );
    ScalePaths {
        spec_replicas: path(["spec", "replicas"]),
        status_replicas: path(["status", "replicas"]),
        selector: Some(path(["spec", "selector"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serves(config: &str, group: &str, version: &str) -> bool {
        let config: RuntimeConfig = config.parse().unwrap();
        groups(&config)
            .iter()
            .any(|g| g.name == group && g.versions.iter().any(|v| v.name == version))
    }

    #[test]
    fn runtime_config() {
        assert!(serves("", "apps", "v1"));
        assert!(!serves("apps/v1=false", "apps", "v1"));
        assert!(!serves("api/all=false", "apps", "v1"));
        assert!(serves("api/all=false,apps/v1=true", "apps", "v1"));
        for bad in ["apps/v1=maybe", "a/b/c/d", "apps", "/v1"] {
            assert!(bad.parse::<RuntimeConfig>().is_err(), "{bad}");
        }
        for (unknown, expect) in [
            ("none/v1=true", "unknown api groups none/v1"),
            ("none/v1/things", "unknown api groups none/v1"),
            (
                "apps/v9=false",
                "group version apps/v9 that has not been registered",
            ),
        ] {
            let error = unknown.parse::<RuntimeConfig>().unwrap_err();
            assert_eq!(error.to_string(), expect);
        }
    }
}
