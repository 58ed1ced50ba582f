//! The document itself: every field of `client-go/tools/clientcmd/api/v1/types.go`, and what it does not know.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// Fields this version does not know. They are kept when a file is rewritten.
pub type Unknown = BTreeMap<String, Value>;

/// A kubeconfig file, `Config` in `v1`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kubeconfig {
    /// `v1`.
    #[serde(rename = "apiVersion", default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// `Config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Settings of kubectl that nothing reads any more.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Preferences::is_empty"
    )]
    pub preferences: Preferences,
    /// Servers by name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub clusters: Vec<NamedCluster>,
    /// Credentials by name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub users: Vec<NamedUser>,
    /// Pairs of server and credentials by name.
    #[serde(default, deserialize_with = "null_as_default")]
    pub contexts: Vec<NamedContext>,
    /// The context to use where none is asked for; empty if there is none.
    #[serde(rename = "current-context", default, deserialize_with = "null_as_default")]
    pub current_context: String,
    /// Data of other tools.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<NamedExtension>,
    /// See [`Unknown`].
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Settings of kubectl.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Preferences {
    /// Whether output is coloured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colors: Option<bool>,
    /// Data of other tools.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<NamedExtension>,
    /// See [`Unknown`].
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Preferences {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A [`Cluster`] under its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedCluster {
    /// The name contexts refer to.
    pub name: String,
    /// The server.
    #[serde(default, deserialize_with = "null_as_default")]
    pub cluster: Cluster,
}

/// How to reach a server and how to recognise it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Cluster {
    /// Address, for example `https://10.0.0.1:6443`. A path is put in front of every request's.
    #[serde(default, deserialize_with = "null_as_default")]
    pub server: String,
    /// Name to expect in the server's certificate instead of the host of `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Accept any certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// File with the CA bundle in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// The CA bundle in PEM; wins over the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<Data>,
    /// Proxy for every request: `http`, `https` or `socks5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Whether to do without compressed responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disable_compression: Option<bool>,
    /// Data of other tools.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<NamedExtension>,
    /// See [`Unknown`].
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl fmt::Debug for Cluster {
    /// Addresses without a user and a password before the host.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &without_user(&self.server))
            .field("tls_server_name", &self.tls_server_name)
            .field("insecure_skip_tls_verify", &self.insecure_skip_tls_verify)
            .field("certificate_authority", &self.certificate_authority)
            .field("certificate_authority_data", &self.certificate_authority_data)
            .field("proxy_url", &self.proxy_url.as_deref().map(without_user))
            .field("disable_compression", &self.disable_compression)
            .finish_non_exhaustive()
    }
}

fn without_user(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (_, None) => address.to_owned(),
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://...@{host}"),
        (None, Some((_, host))) => format!("...@{host}"),
    }
}

/// An [`AuthInfo`] under its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedUser {
    /// The name contexts refer to.
    pub name: String,
    /// The credentials.
    #[serde(default, deserialize_with = "null_as_default")]
    pub user: AuthInfo,
}

/// Credentials, and as whom to act with them.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuthInfo {
    /// File with the client certificate in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<String>,
    /// The client certificate in PEM; wins over the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate_data: Option<Data>,
    /// File with the client's private key in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// The client's private key in PEM; wins over the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key_data: Option<Data>,
    /// Bearer token. Where `tokenFile` is set too, that wins and this is used until it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// File with the bearer token; it is read again and again.
    #[serde(rename = "tokenFile", default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// User to act as.
    #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<String>,
    /// Uid to act as.
    #[serde(rename = "as-uid", default, skip_serializing_if = "Option::is_none")]
    pub impersonate_uid: Option<String>,
    /// Groups to act as.
    #[serde(
        rename = "as-groups",
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub impersonate_groups: Vec<String>,
    /// Further attributes to act with.
    #[serde(
        rename = "as-user-extra",
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub impersonate_user_extra: BTreeMap<String, Vec<String>>,
    /// User name for basic authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// Password for basic authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// A provider that was built into client-go once; upstream has removed all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<AuthProviderConfig>,
    /// A program that prints credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecConfig>,
    /// Data of other tools.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<NamedExtension>,
    /// See [`Unknown`].
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl fmt::Debug for AuthInfo {
    /// Which credentials there are, never the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthInfo")
            .field("client_certificate", &self.client_certificate)
            .field("client_certificate_data", &self.client_certificate_data)
            .field("client_key", &self.client_key)
            .field("client_key_data", &self.client_key_data)
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("token_file", &self.token_file)
            .field("impersonate", &self.impersonate)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "..."))
            .field("exec", &self.exec.as_ref().map(|exec| &exec.command))
            .finish_non_exhaustive()
    }
}

/// A [`Context`] under its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedContext {
    /// The name users choose it by.
    pub name: String,
    /// The pair.
    #[serde(default, deserialize_with = "null_as_default")]
    pub context: Context,
}

/// A server with credentials for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// Name of the cluster.
    #[serde(default, deserialize_with = "null_as_default")]
    pub cluster: String,
    /// Name of the user.
    #[serde(default, deserialize_with = "null_as_default")]
    pub user: String,
    /// Namespace for requests that name none. Default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Data of other tools.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub extensions: Vec<NamedExtension>,
    /// See [`Unknown`].
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Data of another tool under its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedExtension {
    /// Name of the extension.
    pub name: String,
    /// Its data.
    #[serde(default)]
    pub extension: Value,
}

/// A provider of credentials that was once built in.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AuthProviderConfig {
    /// Name of the provider.
    pub name: String,
    /// Its settings.
    #[serde(default, deserialize_with = "null_as_default")]
    pub config: BTreeMap<String, String>,
}

impl fmt::Debug for AuthProviderConfig {
    /// The name: the settings hold tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthProviderConfig")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A program that prints an `ExecCredential` of `client.authentication.k8s.io`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecConfig {
    /// Program to run.
    #[serde(default, deserialize_with = "null_as_default")]
    pub command: String,
    /// Its arguments.
    #[serde(default, deserialize_with = "null_as_default")]
    pub args: Vec<String>,
    /// Variables in addition to those of this process.
    #[serde(default, deserialize_with = "null_as_default")]
    pub env: Vec<ExecEnvVar>,
    /// Version of the document the program is expected to print.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// What to tell the user if the program is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_hint: Option<String>,
    /// Whether the program is told about the cluster.
    #[serde(default, deserialize_with = "null_as_default")]
    pub provide_cluster_info: bool,
    /// Whether the program may read standard input. Default: [`InteractiveMode::IfAvailable`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive_mode: Option<InteractiveMode>,
    /// See [`Unknown`].
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl fmt::Debug for ExecConfig {
    /// The number of the arguments: one of them may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecConfig")
            .field("command", &self.command)
            .field("args", &format_args!("{} arguments", self.args.len()))
            .field("env", &self.env)
            .field("api_version", &self.api_version)
            .field("install_hint", &self.install_hint)
            .field("provide_cluster_info", &self.provide_cluster_info)
            .field("interactive_mode", &self.interactive_mode)
            .finish_non_exhaustive()
    }
}

/// A variable of the environment.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecEnvVar {
    /// Name.
    pub name: String,
    /// Value.
    #[serde(default)]
    pub value: String,
}

impl fmt::Debug for ExecEnvVar {
    /// The name: the value may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecEnvVar")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Whether an exec plugin uses standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// It never does.
    Never,
    /// It does where there is a terminal.
    IfAvailable,
    /// It cannot do without.
    Always,
}

/// Bytes that the file holds in base64.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Data(pub Vec<u8>);

impl fmt::Debug for Data {
    /// Their number only: they may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.0.len())
    }
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<String> for Data {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::deserialize(deserializer)?;
        // Go's decoder skips line breaks, which folded YAML text brings.
        text.retain(|c| !matches!(c, '\r' | '\n' | ' '));
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .map(Self)
            .map_err(|error| de::Error::custom(format!("illegal base64 data: {error}")))
    }
}

/// kubectl writes `null` for empty lists.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
