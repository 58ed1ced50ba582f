//! From a kubeconfig to a [`Config`].

use std::path::{Path, PathBuf};

use base64::Engine as _;
use kubewright_net::kubeconfig::{AuthInfo, Cluster, Data, Kubeconfig, KubeconfigError};
use kubewright_net::{CertificateAndKey, ConnectOptions, ProxySettings, ServerVerification};
use serde_json::{Value, json};

use super::without_user;
use super::{Config, ConfigError, Credentials, Overrides, validate};
use crate::layers::{Gzip, Impersonation};

impl Config {
    /// Takes context, cluster and user from a kubeconfig whose paths are absolute, and proxies from the environment
    /// where the cluster names none. As with kubectl, credentials are left out for a server without TLS, where everybody could
    /// read them.
    ///
    /// # Errors
    ///
    /// A name leads nowhere, a file cannot be read, or settings are invalid or exclude each other: what kubectl refuses too.
    pub fn from_kubeconfig(kubeconfig: &Kubeconfig, overrides: &Overrides) -> Result<Self, ConfigError> {
        let name = overrides
            .context
            .as_deref()
            .unwrap_or(&kubeconfig.current_context);
        let context = match kubeconfig.context(name) {
            Some(context) => context.clone(),
            None if !name.is_empty() => {
                return Err(missing(
                    "context",
                    name,
                    kubeconfig.contexts.iter().map(|entry| &entry.name),
                ));
            }
            None if overrides.cluster.is_some() || overrides.server.is_some() => Default::default(),
            None => {
                return Err(ConfigError::NoContext {
                    known: kubeconfig
                        .contexts
                        .iter()
                        .map(|entry| entry.name.clone())
                        .collect(),
                });
            }
        };
        let cluster_name = overrides.cluster.as_deref().unwrap_or(&context.cluster);
        let cluster = match kubeconfig.cluster(cluster_name) {
            Some(cluster) => cluster.clone(),
            None if cluster_name.is_empty() && overrides.server.is_some() => Cluster::default(),
            None => {
                return Err(missing(
                    "cluster",
                    cluster_name,
                    kubeconfig.clusters.iter().map(|entry| &entry.name),
                ));
            }
        };
        let cluster = &overrides.cluster(cluster);
        let user_name = overrides.user.as_deref().unwrap_or(&context.user);
        let user = match kubeconfig.user(user_name) {
            Some(user) => user.clone(),
            None if user_name.is_empty() => AuthInfo::default(),
            None => {
                return Err(missing(
                    "user",
                    user_name,
                    kubeconfig.users.iter().map(|entry| &entry.name),
                ));
            }
        };
        let user = &overrides.user(user);

        validate::check(cluster, user)?;
        let mut config = Self::new(server(&cluster.server)?);
        let namespace = overrides
            .namespace
            .clone()
            .or(context.namespace)
            .filter(|name| !name.is_empty());
        config.default_namespace = namespace.unwrap_or_else(|| "default".to_owned());
        config.verification = verification(cluster)?;
        config.certificate_authority_file = file(
            cluster.certificate_authority_data.as_ref(),
            cluster.certificate_authority.as_deref(),
        );
        if cluster.disable_compression == Some(true) {
            config.gzip = Gzip::Never;
        }
        config.connect = ConnectOptions::default().with_env(|name| std::env::var(name).ok());
        config.server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
        config.proxy = match cluster.proxy_url.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => ProxySettings::all(url),
            None => ProxySettings::from_env(|name| std::env::var(name).ok()),
        };
        let credentials = credentials(user, cluster)?;
        if config.server.scheme() == Some(&http::uri::Scheme::HTTPS) {
            config.credentials = credentials;
        } else if !credentials.is_empty() {
            tracing::warn!(
                host = config.server.host(),
                "credentials are not sent without TLS"
            );
        }
        config.impersonation = impersonation(user)?;
        config.timeout = overrides.timeout(config.timeout);
        Ok(config)
    }
}

fn missing<'a>(kind: &'static str, name: &str, known: impl Iterator<Item = &'a String>) -> ConfigError {
    KubeconfigError::NoEntry {
        kind,
        name: name.to_owned(),
        known: known.cloned().collect(),
    }
    .into()
}

/// Reads an address as kubectl does: without a scheme it is `http` (client-go `rest/url_utils.go`).
fn server(address: &str) -> Result<http::Uri, ConfigError> {
    let invalid = |source| ConfigError::Invalid {
        what: "server",
        value: without_user(address).to_owned(),
        source,
    };
    let text = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let uri: http::Uri = text
        .parse()
        .map_err(|error: http::uri::InvalidUri| invalid(error.into()))?;
    match uri.scheme_str() {
        Some("http" | "https") if uri.host().is_some_and(|host| !host.is_empty()) => Ok(uri),
        _ => Err(invalid("it should be https://HOST[:PORT]".into())),
    }
}

fn verification(cluster: &Cluster) -> Result<ServerVerification, ConfigError> {
    let bundle = data_or_file(
        "certificate authority",
        cluster.certificate_authority_data.as_ref(),
        cluster.certificate_authority.as_deref(),
    )?;
    match (bundle, cluster.insecure_skip_tls_verify.unwrap_or_default()) {
        (Some(_), true) => Err(ConfigError::Conflict {
            what: "certificate-authority and insecure-skip-tls-verify",
        }),
        (None, true) => Ok(ServerVerification::InsecureSkipVerify),
        (Some(bundle), false) => Ok(ServerVerification::Bundle(bundle)),
        (None, false) => Ok(ServerVerification::System),
    }
}

fn credentials(user: &AuthInfo, cluster: &Cluster) -> Result<Credentials, ConfigError> {
    if let Some(provider) = &user.auth_provider {
        let what = format!(
            "auth-provider {:?} (upstream has removed these, use an exec plugin)",
            provider.name
        );
        return Err(ConfigError::Unsupported { what });
    }
    let certificate = data_or_file(
        "client certificate",
        user.client_certificate_data.as_ref(),
        user.client_certificate.as_deref(),
    )?;
    let key = data_or_file(
        "client key",
        user.client_key_data.as_ref(),
        user.client_key.as_deref(),
    )?;
    let certificate = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            let pair = CertificateAndKey::from_pem(&certificate, &key);
            Some(pair.map_err(|source| ConfigError::Credentials {
                source: source.into(),
            })?)
        }
        (None, None) => None,
        _ => {
            let why = "a client certificate needs its key, and a key its certificate";
            return Err(ConfigError::Credentials { source: why.into() });
        }
    };
    let exec_cluster = user
        .exec
        .as_ref()
        .filter(|exec| exec.provide_cluster_info)
        .map(|_| exec_cluster(cluster))
        .transpose()?;
    let text = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    let certificate_files = file(
        user.client_certificate_data.as_ref(),
        user.client_certificate.as_deref(),
    )
    .zip(file(user.client_key_data.as_ref(), user.client_key.as_deref()));
    Ok(Credentials {
        certificate,
        certificate_files,
        token: text(&user.token),
        token_file: text(&user.token_file).map(PathBuf::from),
        basic: text(&user.username).map(|name| (name, user.password.clone().unwrap_or_default())),
        exec: user.exec.clone(),
        exec_cluster,
    })
}

/// The `Cluster` of `client.authentication.k8s.io/v1` that a plugin is told.
fn exec_cluster(cluster: &Cluster) -> Result<Value, ConfigError> {
    // Always there, as in client-go.
    let mut told = json!({ "server": cluster.server, "config": null });
    if let Some(name) = &cluster.tls_server_name {
        told["tls-server-name"] = json!(name);
    }
    if cluster.insecure_skip_tls_verify == Some(true) {
        told["insecure-skip-tls-verify"] = json!(true);
    }
    let bundle = data_or_file(
        "certificate authority",
        cluster.certificate_authority_data.as_ref(),
        cluster.certificate_authority.as_deref(),
    )?;
    if let Some(bundle) = bundle {
        let text = base64::engine::general_purpose::STANDARD.encode(bundle);
        told["certificate-authority-data"] = json!(text);
    }
    if let Some(url) = &cluster.proxy_url {
        told["proxy-url"] = json!(url);
    }
    if cluster.disable_compression == Some(true) {
        told["disable-compression"] = json!(true);
    }
    let own = cluster
        .extensions
        .iter()
        .find(|entry| entry.name == "client.authentication.k8s.io/exec");
    if let Some(extension) = own {
        told["config"] = extension.extension.clone();
    }
    Ok(told)
}

fn impersonation(user: &AuthInfo) -> Result<Option<Impersonation>, ConfigError> {
    let Some(name) = user.impersonate.clone().filter(|name| !name.is_empty()) else {
        let others = user.impersonate_uid.is_some()
            || !user.impersonate_groups.is_empty()
            || !user.impersonate_user_extra.is_empty();
        return if others {
            let source = "`as-uid`, `as-groups` and `as-user-extra` need a user in `as`".into();
            Err(ConfigError::Invalid {
                what: "as",
                value: String::new(),
                source,
            })
        } else {
            Ok(None)
        };
    };
    Ok(Some(Impersonation {
        user: name,
        uid: user.impersonate_uid.clone(),
        groups: user.impersonate_groups.clone(),
        extra: user.impersonate_user_extra.clone(),
    }))
}

/// The file, where its data do not lie beside it.
fn file(data: Option<&Data>, path: Option<&str>) -> Option<PathBuf> {
    match data {
        Some(data) if !data.0.is_empty() => None,
        _ => path.filter(|path| !path.is_empty()).map(PathBuf::from),
    }
}

fn data_or_file(
    what: &'static str,
    data: Option<&Data>,
    path: Option<&str>,
) -> Result<Option<Vec<u8>>, ConfigError> {
    if let Some(data) = data.filter(|data| !data.0.is_empty()) {
        return Ok(Some(data.0.clone()));
    }
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(source) => Err(ConfigError::File {
            what,
            path: Path::new(path).to_owned(),
            source,
        }),
    }
}
