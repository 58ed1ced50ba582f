//! Finding out where one is: a kubeconfig first, then the cluster this process runs in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kubewright_net::kubeconfig::{Kubeconfig, KubeconfigError, default_paths};
use kubewright_net::{ConnectOptions, ProxySettings, ServerVerification};

use super::{Config, ConfigError, Overrides};

/// Where every pod finds what it needs to speak to its cluster.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl Config {
    /// The files of `KUBECONFIG`, `.kube/config` in the home folder, or the cluster this process runs in: what comes
    /// first.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NotFound`] if there is none of them; otherwise what is wrong with the first one found.
    pub fn infer() -> Result<Self, ConfigError> {
        Self::infer_with(&Overrides::default())
    }

    /// As [`infer`](Self::infer), with what is to be another than in the files. In a pod without a kubeconfig, the namespace and the time limit can
    /// be; where a server is given, nothing but the overrides counts then.
    ///
    /// # Errors
    ///
    /// As [`infer`](Self::infer).
    pub fn infer_with(overrides: &Overrides) -> Result<Self, ConfigError> {
        let home = std::env::home_dir();
        Surroundings {
            variable: &|name| std::env::var_os(name),
            home: home.as_deref(),
            service_account: Path::new(SERVICE_ACCOUNT),
        }
        .infer(overrides)
    }

    /// The service account of the pod this process runs in.
    ///
    /// # Errors
    ///
    /// It does not run in a pod, or the pod has no service account mounted.
    pub fn in_cluster() -> Result<Self, ConfigError> {
        Surroundings {
            variable: &|name| std::env::var_os(name),
            home: None,
            service_account: Path::new(SERVICE_ACCOUNT),
        }
        .in_cluster()
    }

    /// Reads one kubeconfig file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or as [`from_kubeconfig`](Self::from_kubeconfig).
    pub fn from_file(path: &Path, overrides: &Overrides) -> Result<Self, ConfigError> {
        Self::from_kubeconfig(&Kubeconfig::read(path)?, overrides)
    }
}

/// What a process can see of where it runs; a value, so that tests need no other process.
pub(super) struct Surroundings<'a> {
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(super) home: Option<&'a Path>,
    pub(super) service_account: &'a Path,
}

impl Surroundings<'_> {
    pub(super) fn infer(&self, overrides: &Overrides) -> Result<Config, ConfigError> {
        let paths = default_paths(self.variable, self.home);
        match Kubeconfig::load(&paths) {
            Ok(kubeconfig) => match Config::from_kubeconfig(&kubeconfig, overrides) {
                // client-go counts a kubeconfig without anything in it as none.
                Err(ConfigError::NoContext { .. }) if kubeconfig.clusters.is_empty() => {
                    self.instead(&paths, overrides)
                }
                result => result,
            },
            Err(error) if error.is_not_found() => self.instead(&paths, overrides),
            Err(error) => Err(error.into()),
        }
    }

    fn instead(&self, paths: &[PathBuf], overrides: &Overrides) -> Result<Config, ConfigError> {
        if overrides.server.is_some() {
            return Config::from_kubeconfig(&Kubeconfig::default(), overrides);
        }
        let config = self.in_cluster().and_then(|mut config| {
            // What is not taken over must not be left out in silence: it may be what takes rights away.
            let rest = Overrides {
                namespace: None,
                request_timeout: None,
                ..overrides.clone()
            };
            if rest != Overrides::default() {
                let what = "overriding more than namespace and time limit where there is no kubeconfig (give the server, too)";
                return Err(ConfigError::Unsupported {
                    what: what.to_owned(),
                });
            }
            if let Some(namespace) = &overrides.namespace {
                config.default_namespace.clone_from(namespace);
            }
            config.timeout = overrides.timeout(config.timeout);
            Ok(config)
        });
        match config {
            Err(ConfigError::NotFound { .. }) => {
                let missing = KubeconfigError::Missing {
                    paths: paths.to_vec(),
                };
                Err(ConfigError::NotFound {
                    source: missing.into(),
                })
            }
            result => result,
        }
    }

    pub(super) fn in_cluster(&self) -> Result<Config, ConfigError> {
        let variable = |name: &str| {
            (self.variable)(name)
                .and_then(|value| value.into_string().ok())
                .filter(|value| !value.is_empty())
        };
        let (Some(host), Some(port)) = (
            variable("KUBERNETES_SERVICE_HOST"),
            variable("KUBERNETES_SERVICE_PORT"),
        ) else {
            let source = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set".into();
            return Err(ConfigError::NotFound { source });
        };
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host
        };
        let address = format!("https://{host}:{port}");
        let server = address
            .parse()
            .map_err(|error: http::uri::InvalidUri| ConfigError::Invalid {
                what: "KUBERNETES_SERVICE_HOST",
                value: address.clone(),
                source: error.into(),
            })?;
        let mut config = Config::new(server);
        let file = |name: &str| self.service_account.join(name);
        let read = |what, name: &str| {
            std::fs::read_to_string(file(name)).map_err(|source| ConfigError::File {
                what,
                path: file(name),
                source,
            })
        };
        // Fails here rather than at the first request if there is no service account at all.
        read("service account token", "token")?;
        config.credentials.token_file = Some(file("token"));
        config.verification =
            ServerVerification::Bundle(read("certificate authority", "ca.crt")?.into_bytes());
        config.certificate_authority_file = Some(file("ca.crt"));
        if let Ok(namespace) = read("namespace", "namespace")
            && !namespace.trim().is_empty()
        {
            config.default_namespace = namespace.trim().to_owned();
        }
        let text = |name: &str| (self.variable)(name).and_then(|value| value.into_string().ok());
        config.proxy = ProxySettings::from_env(text);
        config.connect = ConnectOptions::default().with_env(text);
        Ok(config)
    }
}
