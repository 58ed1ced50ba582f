//! What kubectl refuses in the cluster and the user of a context, so that a file means the same to both
//! (client-go `tools/clientcmd/validation.go`).

use kubewright_net::kubeconfig::{AuthInfo, Cluster, Data, ExecConfig};

use super::ConfigError;
use super::without_user;

/// Whether these can be used together. What files hold is not looked at.
pub(super) fn check(cluster: &Cluster, user: &AuthInfo) -> Result<(), ConfigError> {
    if let Some(url) = text(cluster.proxy_url.as_ref()) {
        proxy(url)?;
    }
    once(
        cluster.certificate_authority.as_ref(),
        cluster.certificate_authority_data.as_ref(),
        "certificate-authority and certificate-authority-data",
    )?;
    once(
        user.client_certificate.as_ref(),
        user.client_certificate_data.as_ref(),
        "client-certificate and client-certificate-data",
    )?;
    once(
        user.client_key.as_ref(),
        user.client_key_data.as_ref(),
        "client-key and client-key-data",
    )?;
    let has_basic = [&user.username, &user.password]
        .into_iter()
        .any(|value| text(value.as_ref()).is_some());
    if has_basic && text(user.token.as_ref()).is_some() {
        return Err(ConfigError::Conflict {
            what: "a user name with password and a bearer token",
        });
    }
    user.exec.as_ref().map_or(Ok(()), exec)
}

fn text(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !value.is_empty())
}

fn once(path: Option<&String>, data: Option<&Data>, what: &'static str) -> Result<(), ConfigError> {
    match (text(path), data) {
        (Some(_), Some(data)) if !data.0.is_empty() => Err(ConfigError::Conflict { what }),
        _ => Ok(()),
    }
}

/// A proxy in a kubeconfig has a scheme, unlike one in the environment. The URL is told without its password.
fn proxy(url: &str) -> Result<(), ConfigError> {
    let kinds = ["http://", "https://", "socks5://"];
    if kinds
        .iter()
        .any(|kind| url.to_ascii_lowercase().starts_with(kind))
    {
        return Ok(());
    }
    Err(ConfigError::Invalid {
        what: "proxy-url",
        value: without_user(url).to_owned(),
        source: "it should be http://, https:// or socks5://HOST[:PORT]".into(),
    })
}

fn exec(exec: &ExecConfig) -> Result<(), ConfigError> {
    let invalid = |what, source: &str| {
        Err(ConfigError::Invalid {
            what,
            value: String::new(),
            source: source.into(),
        })
    };
    if exec.command.is_empty() {
        return invalid("command of the exec plugin", "it needs a program to run");
    }
    let version = text(exec.api_version.as_ref()).unwrap_or_default();
    if version.is_empty() {
        return invalid(
            "apiVersion of the exec plugin",
            "it should be client.authentication.k8s.io/v1",
        );
    }
    if exec.env.iter().any(|variable| variable.name.is_empty()) {
        return invalid("env of the exec plugin", "every variable needs a name");
    }
    // Only the older version has a default.
    if exec.interactive_mode.is_none() && version != "client.authentication.k8s.io/v1beta1" {
        return invalid(
            "interactiveMode of the exec plugin",
            "it should be Never, IfAvailable or Always",
        );
    }
    Ok(())
}
