//! What is taken instead of what a kubeconfig says: [`Overrides`], the global flags of kubectl.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use kubewright_net::kubeconfig::{AuthInfo, Cluster};

use super::without_user;

/// What to take instead of what the kubeconfig says. Each field is named after the field of a kubeconfig, or the flag of kubectl,
/// whose place it takes; `None`, and an empty list, leave what the file says.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Context. Default: the current one.
    pub context: Option<String>,
    /// Name of the cluster. Default: that of the context.
    pub cluster: Option<String>,
    /// Name of the user. Default: that of the context.
    pub user: Option<String>,
    /// Namespace. Default: that of the context, or `default`.
    pub namespace: Option<String>,
    /// Address of the server. `tls-server-name` of the file, which belongs to its own address, no longer counts then.
    pub server: Option<String>,
    /// Name to expect in the server's certificate.
    pub tls_server_name: Option<String>,
    /// Whether to accept any certificate. Authorities of the file no longer count if it is `true`.
    pub insecure_skip_tls_verify: Option<bool>,
    /// File with the CA bundle. What the file says of verification no longer counts.
    pub certificate_authority: Option<String>,
    /// Proxy for every request.
    pub proxy_url: Option<String>,
    /// Whether to do without compressed answers.
    pub disable_compression: Option<bool>,
    /// File with the client certificate.
    pub client_certificate: Option<String>,
    /// File with its key.
    pub client_key: Option<String>,
    /// Bearer token. It wins over a token file and a plugin.
    pub token: Option<String>,
    /// User name for basic authentication.
    pub username: Option<String>,
    /// Password for basic authentication.
    pub password: Option<String>,
    /// User to act as (`--as`).
    pub impersonate: Option<String>,
    /// Uid to act as (`--as-uid`).
    pub impersonate_uid: Option<String>,
    /// Groups to act as (`--as-group`).
    pub impersonate_groups: Vec<String>,
    /// Further attributes to act with (`--as-user-extra`).
    pub impersonate_user_extra: BTreeMap<String, Vec<String>>,
    /// Limit for each request that is no stream (`--request-timeout`); zero for none.
    pub request_timeout: Option<Duration>,
}

impl Overrides {
    /// The time limit of requests, where `default` holds without them.
    pub(super) fn timeout(&self, default: Option<Duration>) -> Option<Duration> {
        match self.request_timeout {
            None => default,
            Some(timeout) => Some(timeout).filter(|timeout| !timeout.is_zero()),
        }
    }
}

impl fmt::Debug for Overrides {
    /// Secrets are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overrides")
            .field("context", &self.context)
            .field("cluster", &self.cluster)
            .field("user", &self.user)
            .field("namespace", &self.namespace)
            .field("server", &self.server.as_deref().map(without_user))
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("username", &self.username)
            .field("impersonate", &self.impersonate)
            .finish_non_exhaustive()
    }
}

impl Overrides {
    /// A cluster of a file with what is given here (client-go `tools/clientcmd/client_config.go`, `getCluster`).
    pub(super) fn cluster(&self, mut cluster: Cluster) -> Cluster {
        if self.insecure_skip_tls_verify == Some(true) || self.certificate_authority.is_some() {
            cluster.insecure_skip_tls_verify = None;
            cluster.certificate_authority = None;
            cluster.certificate_authority_data = None;
        }
        if self.server.is_some() || self.tls_server_name.is_some() {
            cluster.tls_server_name = None;
        }
        if let Some(server) = &self.server {
            cluster.server.clone_from(server);
        }
        put(&mut cluster.tls_server_name, &self.tls_server_name);
        put(
            &mut cluster.insecure_skip_tls_verify,
            &self.insecure_skip_tls_verify,
        );
        put(&mut cluster.certificate_authority, &self.certificate_authority);
        put(&mut cluster.proxy_url, &self.proxy_url);
        put(&mut cluster.disable_compression, &self.disable_compression);
        cluster
    }

    /// A user of a file with what is given here (`getAuthInfo` there).
    pub(super) fn user(&self, mut user: AuthInfo) -> AuthInfo {
        if self.client_certificate.is_some() {
            user.client_certificate_data = None;
        }
        if self.client_key.is_some() {
            user.client_key_data = None;
        }
        put(&mut user.client_certificate, &self.client_certificate);
        put(&mut user.client_key, &self.client_key);
        put(&mut user.token, &self.token);
        if self.token.is_some() {
            user.token_file = None;
        }
        put(&mut user.username, &self.username);
        put(&mut user.password, &self.password);
        put(&mut user.impersonate, &self.impersonate);
        put(&mut user.impersonate_uid, &self.impersonate_uid);
        if !self.impersonate_groups.is_empty() {
            user.impersonate_groups.clone_from(&self.impersonate_groups);
        }
        if !self.impersonate_user_extra.is_empty() {
            user.impersonate_user_extra
                .clone_from(&self.impersonate_user_extra);
        }
        user
    }
}

fn put<T: Clone>(to: &mut Option<T>, value: &Option<T>) {
    if value.is_some() {
        to.clone_from(value);
    }
}
