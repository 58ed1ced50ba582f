//! Which admission plugins there are, in which order they are asked, and which of them are on.
//!
//! Upstream: kubernetes pkg/kubeapiserver/options/plugins.go (`AllOrderedPlugins`, `DefaultOffAdmissionPlugins`) and apiserver
//! pkg/server/options/admission.go.

use std::collections::BTreeMap;

/// An admission plugin that this server has; they are in the order in which they are asked.
///
/// Each has upstream's name, which [`as_str`](Self::as_str) gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AdmissionPlugin {
    /// Nothing is made in a namespace that is not there or ends, and the first namespaces stay.
    NamespaceLifecycle,
    /// Pods run as a service account that is there, and get a token of it.
    ///
    /// Off unless it is enabled, as envtest has it: it refuses every pod of a namespace until a controller has made the account `default` there.
    ServiceAccount,
    /// Whoever sets owners must have the right to delete the object, and to hold up the deletion of those owners.
    OwnerReferencesPermissionEnforcement,
    /// Whoever approves a request for a certificate must have the verb `approve` on its signer.
    CertificateApproval,
    /// Whoever signs a request for a certificate must have the verb `sign` on its signer.
    CertificateSigning,
    /// Nobody asks for a certificate of the group `system:masters` from the signer of clients.
    CertificateSubjectRestriction,
    /// The webhooks of `MutatingWebhookConfiguration`.
    MutatingAdmissionWebhook,
    /// The webhooks of `ValidatingWebhookConfiguration`.
    ValidatingAdmissionWebhook,
}

impl AdmissionPlugin {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::NamespaceLifecycle,
        Self::ServiceAccount,
        Self::OwnerReferencesPermissionEnforcement,
        Self::CertificateApproval,
        Self::CertificateSigning,
        Self::CertificateSubjectRestriction,
        Self::MutatingAdmissionWebhook,
        Self::ValidatingAdmissionWebhook,
    ];

    /// Its name upstream.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NamespaceLifecycle => "NamespaceLifecycle",
            Self::ServiceAccount => "ServiceAccount",
            Self::OwnerReferencesPermissionEnforcement => "OwnerReferencesPermissionEnforcement",
            Self::CertificateApproval => "CertificateApproval",
            Self::CertificateSigning => "CertificateSigning",
            Self::CertificateSubjectRestriction => "CertificateSubjectRestriction",
            Self::MutatingAdmissionWebhook => "MutatingAdmissionWebhook",
            Self::ValidatingAdmissionWebhook => "ValidatingAdmissionWebhook",
        }
    }

    fn is_on_by_default(self) -> bool {
        !matches!(
            self,
            Self::ServiceAccount | Self::OwnerReferencesPermissionEnforcement
        )
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.as_str() == name)
    }
}

/// Which admission plugins are asked. The default is upstream's, [`AdmissionPlugin::ServiceAccount`] aside.
///
/// ```
/// use kubewright_apiserver::{AdmissionPlugin, AdmissionPlugins};
///
/// let plugins = AdmissionPlugins::default().with(AdmissionPlugin::OwnerReferencesPermissionEnforcement);
/// assert!(plugins.has(AdmissionPlugin::NamespaceLifecycle));
/// assert!(!plugins.has(AdmissionPlugin::ServiceAccount));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionPlugins {
    /// Those that were named, on or off.
    named: BTreeMap<AdmissionPlugin, bool>,
}

impl AdmissionPlugins {
    /// The plugins of kube-apiserver's flags `--enable-admission-plugins` and `--disable-admission-plugins`, by upstream's names. Plugins
    /// that this server does not have can be disabled, not enabled.
    ///
    /// # Errors
    /// For a name that no plugin has, and for one that is in both.
    pub fn from_flags(enable: &[String], disable: &[String]) -> Result<Self, InvalidAdmissionPlugins> {
        let unknown = |flag, name: &String| InvalidAdmissionPlugins::Unknown {
            flag,
            name: name.clone(),
        };
        let mut plugins = Self::default();
        for name in disable {
            if enable.contains(name) {
                return Err(InvalidAdmissionPlugins::Contradiction { name: name.clone() });
            }
            match AdmissionPlugin::of(name) {
                Some(plugin) => plugins = plugins.without(plugin),
                None if ABSENT.contains(&name.as_str()) => {}
                None => return Err(unknown("disable-admission-plugins", name)),
            }
        }
        for name in enable {
            match AdmissionPlugin::of(name) {
                Some(plugin) => plugins = plugins.with(plugin),
                None if ABSENT.contains(&name.as_str()) => {
                    return Err(InvalidAdmissionPlugins::Absent { name: name.clone() });
                }
                None => return Err(unknown("enable-admission-plugins", name)),
            }
        }
        Ok(plugins)
    }

    /// With this one on.
    #[must_use]
    pub fn with(mut self, plugin: AdmissionPlugin) -> Self {
        self.named.insert(plugin, true);
        self
    }

    /// With this one off.
    #[must_use]
    pub fn without(mut self, plugin: AdmissionPlugin) -> Self {
        self.named.insert(plugin, false);
        self
    }

    /// With this one on, unless it was turned off.
    #[must_use]
    pub fn with_unless_off(mut self, plugin: AdmissionPlugin) -> Self {
        self.named.entry(plugin).or_insert(true);
        self
    }

    /// Whether this one is on.
    pub fn has(&self, plugin: AdmissionPlugin) -> bool {
        let named = self.named.get(&plugin).copied();
        named.unwrap_or_else(|| plugin.is_on_by_default())
    }

    /// Those that are on, in the order in which they are asked.
    pub(crate) fn in_order(&self) -> Box<[AdmissionPlugin]> {
        let all = AdmissionPlugin::ALL.into_iter();
        all.filter(|plugin| self.has(*plugin)).collect()
    }
}

/// Why names of plugins are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAdmissionPlugins {
    /// Upstream has no such plugin either.
    #[error("{flag} plugin {name:?} is unknown")]
    Unknown {
        /// Where it is named.
        flag: &'static str,
        /// The name.
        name: String,
    },
    /// Upstream has it, this server has not.
    #[error("enable-admission-plugins plugin {name:?} is not available in this server")]
    Absent {
        /// The name.
        name: String,
    },
    /// It is to be on and off.
    #[error("[{name}] in enable-admission-plugins and disable-admission-plugins overlapped")]
    Contradiction {
        /// The name.
        name: String,
    },
}

/// Upstream's plugins that this server does not have.
const ABSENT: [&str; 31] = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "ClusterTrustBundleAttest",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
    "ResourceQuota",
    "AlwaysDeny",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_list() {
        assert!(AdmissionPlugin::ALL.is_sorted());
        for plugin in AdmissionPlugin::ALL {
            assert_eq!(AdmissionPlugin::of(plugin.as_str()), Some(plugin));
            assert!(!ABSENT.contains(&plugin.as_str()));
        }
    }

    #[test]
    fn flags_turn_plugins_on_and_off() {
        #[track_caller]
        fn check(enable: &[&str], disable: &[&str], expect: Result<&[&str], &str>) {
            let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
            let found = AdmissionPlugins::from_flags(&owned(enable), &owned(disable));
            let found =
                found.map(|plugins| plugins.in_order().iter().map(|p| p.as_str()).collect::<Vec<_>>());
            let found = found.map_err(|error| error.to_string());
            assert_eq!(found, expect.map(<[_]>::to_vec).map_err(str::to_owned));
        }
        let (lifecycle, accounts) = ("NamespaceLifecycle", "ServiceAccount");
        let (mutating, validating) = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook");
        let certificates = [
            "CertificateApproval",
            "CertificateSigning",
            "CertificateSubjectRestriction",
        ];
        let all = [&[lifecycle][..], &certificates, &[mutating, validating]].concat();
        check(&[], &[], Ok(&all));
        // The order is the server's, not the flag's.
        check(
            &[mutating, accounts],
            &[&[validating, "PodSecurity"][..], &certificates].concat(),
            Ok(&[lifecycle, accounts, mutating]),
        );
        check(
            &["PodSecurity"],
            &[],
            Err("enable-admission-plugins plugin \"PodSecurity\" is not available in this server"),
        );
        check(
            &["X"],
            &[],
            Err("enable-admission-plugins plugin \"X\" is unknown"),
        );
        check(
            &[],
            &["X"],
            Err("disable-admission-plugins plugin \"X\" is unknown"),
        );
        check(
            &[accounts],
            &[accounts],
            Err("[ServiceAccount] in enable-admission-plugins and disable-admission-plugins overlapped"),
        );
    }

    #[test]
    fn what_was_turned_off_stays_off() {
        let accounts = AdmissionPlugin::ServiceAccount;
        assert!(
            AdmissionPlugins::default()
                .with_unless_off(accounts)
                .has(accounts)
        );
        let off = AdmissionPlugins::default().without(accounts);
        assert!(!off.with_unless_off(accounts).has(accounts));
    }
}
