//! All roles and bindings of a cluster at one moment, by those who hold them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use imbl::{HashMap, OrdMap};
use kubewright_net::Identity;
use serde::Deserialize;

use super::GROUP;
use super::rule::{PolicyRule, list};
use crate::authorization::Access;

/// What is stored of roles and bindings. Cheap to clone, so that whoever decides by it is not disturbed by those who change it.
///
/// Upstream goes through all bindings for each request; here they are found by their subjects. Bindings come in the order of their
/// names, those of the cluster first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    cluster: Scope,
    namespaces: HashMap<String, Scope>,
}

/// What is stored in one namespace, or in none.
#[derive(Clone, Debug, Default)]
struct Scope {
    roles: HashMap<String, Arc<[PolicyRule]>>,
    bindings: HashMap<String, Arc<Binding>>,
    users: HashMap<String, OrdMap<String, Arc<Binding>>>,
    groups: HashMap<String, OrdMap<String, Arc<Binding>>>,
}

/// A binding of a role to those who hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Empty for a binding of the cluster.
    namespace: String,
    name: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// Which role a binding is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RoleRef {
    pub(crate) api_group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// Who holds a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    /// Of a service account; empty for the namespace of the binding.
    namespace: String,
}

/// A role that a binding names and that is of no use.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RoleMissing {
    /// There is no such role.
    #[error("{kind}.{GROUP} {name:?} not found")]
    NotFound { kind: &'static str, name: String },
    /// A binding names something else than a role.
    #[error("unsupported role reference kind: {0:?}")]
    Kind(String),
}

/// What lets somebody do something, as upstream names it to those who ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    binding: Arc<Binding>,
    subject: Subject,
}

impl Policy {
    /// Takes in a role.
    pub(crate) fn set_role(&mut self, namespace: &str, name: &str, rules: Vec<PolicyRule>) {
        self.scope_mut(namespace)
            .roles
            .insert(name.to_owned(), rules.into());
    }

    /// Forgets a role.
    pub(crate) fn remove_role(&mut self, namespace: &str, name: &str) {
        self.scope_mut(namespace).roles.remove(name);
    }

    /// Takes in a binding, which takes the place of the one before.
    pub(crate) fn set_binding(&mut self, binding: Binding) {
        self.remove_binding(&binding.namespace, &binding.name);
        let binding = Arc::new(binding);
        let scope = self.scope_mut(&binding.namespace);
        for subject in &binding.subjects {
            if let Some((kind, holder)) = subject.holder(&binding.namespace) {
                let holders = match kind {
                    Holder::User => &mut scope.users,
                    Holder::Group => &mut scope.groups,
                };
                let held = holders.entry(holder).or_default();
                held.insert(binding.name.clone(), binding.clone());
            }
        }
        scope.bindings.insert(binding.name.clone(), binding);
    }

    /// Forgets a binding.
    pub(crate) fn remove_binding(&mut self, namespace: &str, name: &str) {
        let scope = self.scope_mut(namespace);
        let Some(binding) = scope.bindings.remove(name) else {
            return;
        };
        for subject in &binding.subjects {
            if let Some((kind, holder)) = subject.holder(namespace) {
                let holders = match kind {
                    Holder::User => &mut scope.users,
                    Holder::Group => &mut scope.groups,
                };
                if let Some(held) = holders.get_mut(&holder) {
                    held.remove(name);
                    if held.is_empty() {
                        holders.remove(&holder);
                    }
                }
            }
        }
    }

    /// Whether some rule of `identity` allows `access`, and which.
    ///
    /// # Errors
    /// The roles that were looked for in vain, when no rule does; mostly none.
    pub(crate) fn allows(
        &self,
        identity: &Identity,
        access: &Access<'_>,
    ) -> Result<Source, Vec<RoleMissing>> {
        let mut errors = Vec::new();
        for binding in self.bindings(identity, access.namespace()) {
            match self.role(&binding.role, &binding.namespace) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(access)) => {
                    let holds = |subject: &&Subject| subject.is(identity, &binding.namespace);
                    let subject = binding.subjects.iter().find(holds).cloned();
                    return Ok(Source {
                        subject: subject.unwrap_or_default(),
                        binding: binding.clone(),
                    });
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        Err(errors)
    }

    /// Whether some rule of `identity` allows `access`; which one is not looked for, so the bindings need no order.
    pub(crate) fn permits(&self, identity: &Identity, access: &Access<'_>) -> bool {
        let namespace = Some(access.namespace()).filter(|namespace| !namespace.is_empty());
        let scopes = namespace.and_then(|namespace| self.namespaces.get(namespace));
        [&self.cluster]
            .into_iter()
            .chain(scopes)
            .flat_map(|scope| scope.held_by(identity))
            .filter_map(|binding| self.role(&binding.role, &binding.namespace).ok())
            .any(|rules| rules.iter().any(|rule| rule.allows(access)))
    }

    /// All rules of `identity` in a namespace, or in none when it is empty, and the roles that were looked for in vain.
    pub(crate) fn rules(&self, identity: &Identity, namespace: &str) -> (Vec<PolicyRule>, Vec<RoleMissing>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        for binding in self.bindings(identity, namespace) {
            match self.role(&binding.role, &binding.namespace) {
                Ok(found) => rules.extend_from_slice(found),
                Err(error) => errors.push(error),
            }
        }
        (rules, errors)
    }

    /// The rules of the role that a binding in `namespace` is of.
    ///
    /// # Errors
    /// See [`RoleMissing`].
    pub(crate) fn role(&self, role: &RoleRef, namespace: &str) -> Result<&[PolicyRule], RoleMissing> {
        let (kind, scope) = match role.kind.as_str() {
            "ClusterRole" => ("clusterrole", Some(&self.cluster)),
            "Role" => ("role", self.scope(namespace)),
            _ => return Err(RoleMissing::Kind(role.kind.clone())),
        };
        let rules = scope.and_then(|scope| scope.roles.get(&role.name));
        rules.map(|rules| &**rules).ok_or_else(|| RoleMissing::NotFound {
            kind,
            name: role.name.clone(),
        })
    }

    fn scope(&self, namespace: &str) -> Option<&Scope> {
        match namespace {
            "" => Some(&self.cluster),
            namespace => self.namespaces.get(namespace),
        }
    }

    fn scope_mut(&mut self, namespace: &str) -> &mut Scope {
        match namespace {
            "" => &mut self.cluster,
            namespace => self.namespaces.entry(namespace.to_owned()).or_default(),
        }
    }

    fn bindings<'a>(&'a self, identity: &Identity, namespace: &str) -> Vec<&'a Arc<Binding>> {
        let mut all = self.cluster.bindings_of(identity);
        if !namespace.is_empty()
            && let Some(scope) = self.namespaces.get(namespace)
        {
            all.extend(scope.bindings_of(identity));
        }
        all
    }
}

impl Scope {
    /// In the order of their names, each once.
    fn bindings_of(&self, identity: &Identity) -> Vec<&Arc<Binding>> {
        let held = self.held_by(identity);
        let held: BTreeMap<&str, &Arc<Binding>> =
            held.map(|binding| (binding.name.as_str(), binding)).collect();
        held.into_values().collect()
    }

    /// Once for each subject by which they are held.
    fn held_by(&self, identity: &Identity) -> impl Iterator<Item = &Arc<Binding>> {
        let by_groups = identity.groups.iter().filter_map(|group| self.groups.get(group));
        let held = self.users.get(&identity.user).into_iter().chain(by_groups);
        held.flat_map(OrdMap::values)
    }
}

enum Holder {
    User,
    Group,
}

impl Subject {
    /// The user or group that this is, named by a binding in `namespace`; `None` for nobody.
    fn holder(&self, namespace: &str) -> Option<(Holder, String)> {
        match self.kind.as_str() {
            "User" => Some((Holder::User, self.name.clone())),
            "Group" => Some((Holder::Group, self.name.clone())),
            "ServiceAccount" => {
                let namespace = match self.namespace.as_str() {
                    "" => namespace,
                    own => own,
                };
                let user = format!("system:serviceaccount:{namespace}:{}", self.name);
                (!namespace.is_empty()).then_some((Holder::User, user))
            }
            _ => None,
        }
    }

    fn is(&self, identity: &Identity, namespace: &str) -> bool {
        match self.holder(namespace) {
            Some((Holder::User, name)) => identity.user == name,
            Some((Holder::Group, name)) => identity.groups.contains(&name),
            None => false,
        }
    }
}

impl Binding {
    /// Reads a stored binding.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(namespace: &str, name: &str, stored: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Stored {
            #[serde(default, deserialize_with = "list")]
            subjects: Vec<Subject>,
            role_ref: RoleRef,
        }
        let stored: Stored = serde_json::from_slice(stored)?;
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role: stored.role_ref,
            subjects: stored.subjects,
        })
    }
}

impl PolicyRule {
    /// Reads the rules of a stored role.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(stored: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Stored {
            #[serde(default, deserialize_with = "list")]
            rules: Vec<PolicyRule>,
        }
        serde_json::from_slice(stored).map(|stored: Stored| stored.rules)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Binding {
            namespace,
            name,
            role,
            ..
        } = &*self.binding;
        let Subject {
            kind,
            name: holder,
            namespace: own,
        } = &self.subject;
        match namespace.as_str() {
            "" => write!(f, "ClusterRoleBinding {name:?}")?,
            _ => write!(f, "RoleBinding {:?}", format!("{name}/{namespace}"))?,
        }
        write!(f, " of {} {:?} to {kind} ", role.kind, role.name)?;
        match (kind.as_str(), own.as_str()) {
            ("ServiceAccount", "") => write!(f, "{:?}", format!("{holder}/{namespace}")),
            ("ServiceAccount", own) => write!(f, "{:?}", format!("{holder}/{own}")),
            _ => write!(f, "{holder:?}"),
        }
    }
}

impl RoleMissing {
    /// The message of who reads the role from the API rather than from what is followed.
    pub(crate) fn as_read(&self) -> String {
        match self {
            Self::NotFound { kind, name } => format!("{kind}s.{GROUP} {name:?} not found"),
            Self::Kind(_) => self.to_string(),
        }
    }
}

/// As Go prints many errors as one: each once, in brackets where there are several.
pub(crate) fn aggregate(errors: impl IntoIterator<Item = String>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in errors {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
