//! The options of `kubewright up` about admission, under kube-apiserver's names.

use kubewright_apiserver::{AdmissionPlugin, AdmissionPlugins};

use crate::failure::Advised;

/// Which admission plugins are asked.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Admission")]
pub(crate) struct AdmissionArguments {
    /// Admission plugins to turn on besides the default ones, by kube-apiserver's names: OwnerReferencesPermissionEnforcement, and with
    /// --no-controllers ServiceAccount.
    #[arg(long = "enable-admission-plugins", value_name = "LIST", value_delimiter = ',')]
    enabled: Vec<String>,

    /// Admission plugins to turn off, by kube-apiserver's names.
    #[arg(
        long = "disable-admission-plugins",
        value_name = "LIST",
        value_delimiter = ','
    )]
    disabled: Vec<String>,
}

impl AdmissionArguments {
    /// The plugins. Pods have service accounts only where a controller makes those.
    pub(super) fn plugins(&self, makes_accounts: AccountsMade) -> anyhow::Result<AdmissionPlugins> {
        let plugins = AdmissionPlugins::from_flags(&self.enabled, &self.disabled).map_err(|error| {
            let names: Vec<&str> = AdmissionPlugin::ALL
                .iter()
                .map(|plugin| plugin.as_str())
                .collect();
            let hint = format!("this server has {}", names.join(", "));
            Advised::new("the admission plugins cannot be set up", hint, error)
        })?;
        Ok(match makes_accounts {
            AccountsMade::ByController => plugins.with_unless_off(AdmissionPlugin::ServiceAccount),
            AccountsMade::ByNobody => plugins,
        })
    }
}

/// Who makes the service account `default` of each namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountsMade {
    ByController,
    ByNobody,
}
