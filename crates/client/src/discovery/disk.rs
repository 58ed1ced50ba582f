//! What discovery said last, on disk, where kubectl keeps it too: [`DiskCache`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use kubewright_core::{GroupVersion, Scope};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    DiscoveredGroup, DiscoveredResource, DiscoveredVersion, HttpCache, PartialDiscovery, ServerGroup, files,
    legacy,
};

/// The folder where kubectl remembers what servers offer, for one server.
///
/// kubectl 1.28 to 1.37 all have this layout, and fill all of it with two requests to a server that answers as they ask:
///
/// ```text
/// ~/.kube/cache/discovery/HOST_PORT/servergroups.json
/// ~/.kube/cache/discovery/HOST_PORT/GROUP/VERSION/serverresources.json
/// ~/.kube/cache/http/SHA256-OF-URL
/// ```
///
/// What kubectl wrote is read, and the other way round (cli-runtime `pkg/genericclioptions/config_flags.go`, client-go
/// `discovery/cached/disk`). A file that is too old, foreign, damaged or half written counts as not there, and one that
/// cannot be written is a matter of speed: nothing here is ever an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskCache {
    root: PathBuf,
    server: PathBuf,
    ttl: Duration,
}

/// How long what was found is believed: 6 h, as kubectl.
pub const DISK_CACHE_TTL: Duration = Duration::from_hours(6);

/// Names the folder for kubectl and for us.
const CACHE_FOLDER: &str = "KUBECACHEDIR";

/// What is on disk: the versions that are listed, in order, with what could be read of them.
#[derive(Debug)]
pub(super) struct Loaded(Vec<(GroupVersion, Option<DiscoveredVersion>)>);

impl Loaded {
    /// What is listed, but could not be read.
    pub(super) fn missing(&self) -> Vec<GroupVersion> {
        let missing = self.0.iter().filter(|(_, version)| version.is_none());
        missing.map(|(group_version, _)| group_version.clone()).collect()
    }

    /// All together, with what was found out about the missing ones, in the order of the list.
    pub(super) fn with(self, found: PartialDiscovery) -> PartialDiscovery {
        let (found, failures) = found.into_parts();
        let mut whole = PartialDiscovery::default();
        for (group_version, version) in self.0 {
            let version = version.or_else(|| found.version(&group_version).cloned());
            if let Some(version) = version {
                whole.add(&group_version.group, version);
            }
        }
        failures.into_iter().for_each(|failure| whole.fail(failure));
        whole
    }
}

impl DiskCache {
    /// The cache in this folder for a server, by its address as the kubeconfig has it. `None` if the address is such that
    /// its files would be elsewhere.
    pub fn new(folder: impl Into<PathBuf>, server: &str) -> Option<Self> {
        let root = folder.into();
        let mut below = Vec::new();
        let name = folder_name(server);
        for part in name.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    below.pop()?;
                }
                part => below.push(part),
            }
        }
        if below.is_empty() {
            return None;
        }
        let mut path = root.join("discovery");
        path.extend(below);
        Some(Self {
            root,
            server: path,
            ttl: DISK_CACHE_TTL,
        })
    }

    /// The cache for a server in kubectl's folder: `KUBECACHEDIR`, or `~/.kube/cache`. `None` also if there is no home.
    pub fn of_kubectl(server: &str) -> Option<Self> {
        let named = std::env::var_os(CACHE_FOLDER).filter(|folder| !folder.is_empty());
        let folder = match named {
            Some(folder) => PathBuf::from(folder),
            None => std::env::home_dir()?.join(".kube").join("cache"),
        };
        Self::new(folder, server)
    }

    /// The same, where files are believed for another time. Default: [`DISK_CACHE_TTL`].
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The folder of the server.
    pub fn folder(&self) -> &Path {
        &self.server
    }

    /// The answers of all servers.
    pub fn http(&self) -> HttpCache {
        HttpCache::on_disk(self.root.join("http"))
    }

    /// What is there and young enough.
    pub(super) fn load(&self) -> Option<Loaded> {
        let list = self.read(&self.groups_file(), "APIGroupList")?;
        let groups = legacy::groups(&list).ok()?;
        if groups.is_empty() {
            return None;
        }
        let versions = groups.iter().flat_map(ServerGroup::group_versions);
        let versions =
            versions.map(|group_version| (group_version.clone(), self.load_version(&group_version)));
        Some(Loaded(versions.collect()))
    }

    fn load_version(&self, group_version: &GroupVersion) -> Option<DiscoveredVersion> {
        let list = self.read(&self.version_file(group_version)?, "APIResourceList")?;
        legacy::version(&list, group_version).ok()
    }

    /// Keeps what was found out. The list of groups is kept only if it is whole: which versions a broken server has, and
    /// in which order, is not known.
    pub(super) fn store(&self, partial: &PartialDiscovery) {
        let (discovery, failures) = partial.parts();
        for group in &discovery.groups {
            self.store_versions(group);
        }
        // The server itself leaves versions that are stale out of the older format.
        if !discovery.groups.is_empty() && failures.iter().all(|failure| failure.error.is_none()) {
            self.write(&self.groups_file(), &group_list(&discovery.groups));
        }
    }

    pub(super) fn store_versions(&self, group: &DiscoveredGroup) {
        for version in &group.versions {
            let group_version = GroupVersion::new(&group.name, &version.version);
            if version.resources.is_empty() {
                continue;
            }
            if let Some(file) = self.version_file(&group_version) {
                self.write(&file, &resource_list(&group_version, &version.resources));
            }
        }
    }

    fn groups_file(&self) -> PathBuf {
        self.server.join("servergroups.json")
    }

    /// `None` for names that are no names of files: they come from the server.
    fn version_file(&self, group_version: &GroupVersion) -> Option<PathBuf> {
        let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['/', '\\', '\0', ':']);
        let mut file = self.server.clone();
        if !group_version.group.is_empty() {
            file.push(Some(&group_version.group).filter(|group| is_name(group))?);
        }
        file.push(Some(&group_version.version).filter(|version| is_name(version))?);
        file.push("serverresources.json");
        Some(file)
    }

    fn read(&self, file: &Path, kind: &str) -> Option<Vec<u8>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Types {
            kind: String,
            api_version: String,
        }
        let bytes = files::read(file, Some(self.ttl))?;
        let types: Types = serde_json::from_slice(&bytes).ok()?;
        (types.kind == kind && types.api_version == "v1").then_some(bytes)
    }

    fn write(&self, file: &Path, value: &Value) {
        let mut bytes = value.to_string().into_bytes();
        bytes.push(b'\n');
        let folder = file.parent().unwrap_or(&self.server);
        if let Err(error) = files::write(file, folder, &bytes) {
            tracing::debug!(file = %file.display(), %error, "what discovery found could not be kept");
        }
    }
}

/// The name of a server's folder: its address without the scheme, with `_` for what file systems may refuse.
fn folder_name(server: &str) -> String {
    let host = server.replacen("https://", "", 1).replacen("http://", "", 1);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '(' | ')');
    host.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn group_list(groups: &[DiscoveredGroup]) -> Value {
    let groups: Vec<Value> = groups
        .iter()
        .map(|group| {
            let versions: Vec<Value> = group
                .versions
                .iter()
                .map(|version| {
                    let group_version = GroupVersion::new(&group.name, &version.version);
                    json!({ "groupVersion": group_version.to_string(), "version": version.version })
                })
                .collect();
            json!({ "name": group.name, "preferredVersion": versions.first(), "versions": versions })
        })
        .collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

fn resource_list(group_version: &GroupVersion, resources: &[DiscoveredResource]) -> Value {
    let entries = resources.iter().flat_map(|found| {
        let mut entry = json!({
            "name": found.resource.plural,
            "singularName": found.singular,
            "namespaced": found.resource.scope == Scope::Namespaced,
            "kind": found.resource.kind,
            "verbs": found.verbs,
        });
        for (name, list) in [
            ("shortNames", &found.short_names),
            ("categories", &found.categories),
        ] {
            if !list.is_empty() {
                entry[name] = json!(list);
            }
        }
        let subresources = found.subresources.iter().map(move |subresource| {
            let mut entry = json!({
                "name": format!("{}/{}", found.resource.plural, subresource.name),
                "singularName": found.singular,
                "namespaced": found.resource.scope == Scope::Namespaced,
                "kind": subresource.kind.kind,
                "verbs": subresource.verbs,
            });
            if subresource.kind.group_version() != *group_version {
                entry["group"] = json!(subresource.kind.group);
                entry["version"] = json!(subresource.kind.version);
            }
            entry
        });
        std::iter::once(entry).chain(subresources)
    });
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version.to_string(),
        "resources": entries.collect::<Vec<_>>(),
    })
}
