//! Somebody with rights: users and service accounts that a test asks for.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kubewright_client::{Api, ApplyOptions, Client, Error as ClientError};
use kubewright_core::{StaticResource, Untyped};
use kubewright_net::Identity;
use serde_json::{Value, json};

/// A user or a service account with the rights that it is given here, and no others besides those that everybody has.
///
/// [`TestEnv::client_for`](crate::TestEnv::client_for) makes the roles and bindings (and the service account, with its namespace) and gives a
/// client with that identity.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_client::{Api, ListOptions};
/// use kubewright_runtime::{Right, Verb};
/// use kubewright_testing::{TestEnv, TestEnvOptions, User};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let env = TestEnv::start(TestEnvOptions::without_controllers()).await?;
/// let alice = User::named("alice").allow_in("default", Right::to::<ConfigMap>([Verb::List]));
/// let client = env.client_for(&alice).await?;
/// let here = Api::<ConfigMap>::namespaced(&client, "default");
/// here.list(&ListOptions::default()).await?;
/// let elsewhere = Api::<ConfigMap>::namespaced(&client, "kube-system");
/// let refused = elsewhere.list(&ListOptions::default()).await.unwrap_err();
/// assert!(refused.is_forbidden());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct User {
    who: Who,
    groups: Vec<String>,
    /// By namespace; the rights that count everywhere are under none.
    rules: BTreeMap<Option<String>, Vec<PolicyRule>>,
}

#[derive(Clone, Debug)]
enum Who {
    User(String),
    ServiceAccount { namespace: String, name: String },
}

impl User {
    /// A user of this name, in no group but that of everybody who is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(Who::User(name.into()))
    }

    /// A service account, as pods have it.
    pub fn service_account(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(Who::ServiceAccount {
            namespace: namespace.into(),
            name: name.into(),
        })
    }

    fn new(who: Who) -> Self {
        Self {
            who,
            groups: Vec::new(),
            rules: BTreeMap::new(),
        }
    }

    /// In a group as well. Roles can be bound to it; `system:masters` may do everything.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// With a right everywhere: in all namespaces, and to what is in none. A [`Right`](kubewright_runtime::Right) will do, or any rule of a role.
    #[must_use]
    pub fn allow(mut self, right: impl Into<PolicyRule>) -> Self {
        self.rules.entry(None).or_default().push(right.into());
        self
    }

    /// With several, such as those that an operator says it needs.
    #[must_use]
    pub fn allow_all<R: Into<PolicyRule>>(self, rights: impl IntoIterator<Item = R>) -> Self {
        rights.into_iter().fold(self, Self::allow)
    }

    /// With a right in one namespace.
    #[must_use]
    pub fn allow_in(mut self, namespace: impl Into<String>, right: impl Into<PolicyRule>) -> Self {
        let namespace = Some(namespace.into());
        self.rules.entry(namespace).or_default().push(right.into());
        self
    }

    /// The name that the server knows them by.
    pub fn name(&self) -> String {
        match &self.who {
            Who::User(name) => name.clone(),
            Who::ServiceAccount { namespace, name } => format!("system:serviceaccount:{namespace}:{name}"),
        }
    }

    /// The namespace of a service account, and its name.
    pub(crate) fn account(&self) -> Option<(&str, &str)> {
        match &self.who {
            Who::User(_) => None,
            Who::ServiceAccount { namespace, name } => Some((namespace, name)),
        }
    }

    /// Makes what the user needs to be there, as the administrator whose client this is.
    pub(crate) async fn admit(&self, admin: &Client) -> Result<Identity, ClientError> {
        let mut identity = Identity::new(self.name(), self.groups.iter().cloned());
        if let Some((namespace, name)) = self.account() {
            make_namespace(admin, namespace).await?;
            let account = made::<ServiceAccount>(name, Some(namespace), json!({}));
            let api = Api::<ServiceAccount>::namespaced(admin, namespace);
            let account = api.apply(name, &account, &options()).await?;
            identity.uid = account.metadata.uid.unwrap_or_default();
            identity.groups.extend([
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ]);
        }
        for (namespace, rules) in &self.rules {
            let grant = self.grant(namespace.as_deref(), rules);
            grant.make(admin).await?;
        }
        Ok(identity)
    }

    fn grant(&self, namespace: Option<&str>, rules: &[PolicyRule]) -> Grant {
        let name = format!("testenv:{}", self.name());
        let subject = match &self.who {
            Who::User(name) => json!({"apiGroup": ClusterRole::GROUP, "kind": "User", "name": name}),
            Who::ServiceAccount { namespace, name } => {
                json!({"kind": ServiceAccount::KIND, "namespace": namespace, "name": name})
            }
        };
        let kind = namespace.map_or(ClusterRole::KIND, |_| Role::KIND);
        let reference = json!({"apiGroup": ClusterRole::GROUP, "kind": kind, "name": name});
        Grant {
            name,
            namespace: namespace.map(str::to_owned),
            role: json!({"rules": rules}),
            binding: json!({"roleRef": reference, "subjects": [subject]}),
        }
    }
}

/// A role and its binding, without what every object has.
struct Grant {
    name: String,
    namespace: Option<String>,
    role: Value,
    binding: Value,
}

impl Grant {
    async fn make(self, admin: &Client) -> Result<(), ClientError> {
        let (name, options) = (self.name.as_str(), options());
        let namespace = self.namespace.as_deref();
        if let Some(namespace) = namespace {
            make_namespace(admin, namespace).await?;
            let role = made::<Role>(name, Some(namespace), self.role);
            let roles = Api::<Role>::namespaced(admin, namespace);
            roles.apply(name, &role, &options).await?;
            let binding = made::<RoleBinding>(name, Some(namespace), self.binding);
            let bindings = Api::<RoleBinding>::namespaced(admin, namespace);
            bindings.apply(name, &binding, &options).await?;
        } else {
            let role = made::<ClusterRole>(name, None, self.role);
            Api::<ClusterRole>::cluster(admin)
                .apply(name, &role, &options)
                .await?;
            let binding = made::<ClusterRoleBinding>(name, None, self.binding);
            let bindings = Api::<ClusterRoleBinding>::cluster(admin);
            bindings.apply(name, &binding, &options).await?;
        }
        Ok(())
    }
}

async fn make_namespace(admin: &Client, name: &str) -> Result<(), ClientError> {
    let namespace = made::<Namespace>(name, None, json!({}));
    let api = Api::<Namespace>::cluster(admin);
    api.apply(name, &namespace, &options()).await.map(drop)
}

/// An object with these fields besides what every object has.
fn made<K: StaticResource>(name: &str, namespace: Option<&str>, mut fields: Value) -> Untyped<Value> {
    fields["apiVersion"] = K::VERSION.into();
    if !K::GROUP.is_empty() {
        fields["apiVersion"] = format!("{}/{}", K::GROUP, K::VERSION).into();
    }
    fields["kind"] = K::KIND.into();
    fields["metadata"] = match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": name}),
    };
    Untyped(fields)
}

fn options() -> ApplyOptions {
    ApplyOptions::new("kubewright-testing").force()
}
