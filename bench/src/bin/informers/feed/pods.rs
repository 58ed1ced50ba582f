//! The pods that the feed serves: 7.1 KB of JSON each, 2.2 KB of it managed fields, with what makes objects differ.
//!
//! Four hundred workloads in fifty namespaces own them. What is random in a cluster is random here: uids, digests, ids of containers,
//! addresses and the ends of names. The same number of pods is the same text every time.

use std::fmt::Write as _;
use std::ops::Range;

use fastrand::Rng;

/// How many pods a node has at most.
const PODS_PER_NODE: usize = 100;

const WORKLOADS: usize = 400;
const NAMESPACES: usize = 50;
const SEED: u64 = 0x6b75_6265;

/// A pod as an item of a list; watches add its type. Version and a time can be changed in place.
#[derive(Clone, Debug)]
pub struct Pod {
    json: Vec<u8>,
    version: Range<usize>,
    changed: Range<usize>,
}

impl Pod {
    /// As an item of a list.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The pod has become ready anew, which makes it another version.
    pub fn change(&mut self, version: u64) {
        let text = version_text(version);
        self.json[self.version.clone()].copy_from_slice(text.as_bytes());
        let text = time(version);
        self.json[self.changed.clone()].copy_from_slice(text.as_bytes());
    }
}

/// The first version of all pods, and the version that lists have until something changes.
pub const FIRST_VERSION: u64 = 1_000_000_000;

/// Always as many digits.
pub fn version_text(version: u64) -> String {
    format!("{version:010}")
}

/// So many pods, by namespace and name.
pub fn generate(count: usize) -> Vec<Pod> {
    let template = template();
    let mut random = Rng::with_seed(SEED);
    let workloads: Vec<Workload> = (0..WORKLOADS.min(count.max(1)))
        .map(|at| Workload::new(at, &mut random))
        .collect();
    let nodes = count.div_ceil(PODS_PER_NODE).max(1);
    let mut pods: Vec<(String, Pod)> = (0..count)
        .map(|at| {
            let workload = &workloads[at % workloads.len()];
            let values = workload.pod(at % nodes, &mut random);
            let name = format!("{}/{}", workload.namespace, value(&values, "name"));
            (name, expand(&template, &values))
        })
        .collect();
    pods.sort_by(|(a, _), (b, _)| a.cmp(b));
    pods.into_iter().map(|(_, pod)| pod).collect()
}

/// What all pods of a workload have in common.
struct Workload {
    namespace: String,
    name: String,
    component: &'static str,
    release: String,
    hash: String,
    owner: String,
    checksum: String,
    created: u64,
}

type Values = Vec<(&'static str, String)>;

impl Workload {
    fn new(at: usize, random: &mut Rng) -> Self {
        let area = AREAS[at / AREAS.len() % AREAS.len()];
        Self {
            namespace: format!("team-{:02}", at % NAMESPACES),
            name: format!("{area}-{}-{at:03}", AREAS[at % AREAS.len()]),
            component: COMPONENTS[at % COMPONENTS.len()],
            release: format!("v1.{}.{}", random.u8(0..40), random.u8(0..20)),
            hash: letters(10, random),
            owner: uid(random),
            checksum: hexadecimal(64, random),
            created: random.u64(0..86_400),
        }
    }

    fn pod(&self, node: usize, random: &mut Rng) -> Values {
        let suffix = letters(5, random);
        let generate = format!("{}-{}-", self.name, self.hash);
        let started = self.created + random.u64(5..600);
        vec![
            ("name", format!("{generate}{suffix}")),
            ("generate", generate),
            ("suffix", suffix),
            ("namespace", self.namespace.clone()),
            ("uid", uid(random)),
            ("version", version_text(FIRST_VERSION)),
            ("created", time(self.created)),
            ("started", time(started)),
            ("changed", time(started)),
            ("component", self.component.to_owned()),
            ("workload", self.name.clone()),
            ("release", self.release.clone()),
            ("hash", self.hash.clone()),
            ("owner", self.owner.clone()),
            ("checksum", self.checksum.clone()),
            ("node", node_name(node)),
            ("host", format!("10.0.{}.{}", node / 250, node % 250 + 1)),
            (
                "ip",
                format!("10.{}.{}.{}", random.u8(1..), random.u8(..), random.u8(1..)),
            ),
            ("app_digest", hexadecimal(64, random)),
            ("app_container", hexadecimal(64, random)),
            ("proxy_digest", hexadecimal(64, random)),
            ("proxy_container", hexadecimal(64, random)),
        ]
    }
}

/// The name of a node; pods lie on the nodes from 0 on, equally many on each.
fn node_name(at: usize) -> String {
    format!("node-{at:05}.compute.internal")
}

/// On one line, with no blanks around it.
fn template() -> String {
    include_str!("pod.json").lines().map(str::trim_start).collect()
}

/// Puts values in the places that are named `$name`.
fn expand(template: &str, values: &Values) -> Pod {
    let mut json = String::with_capacity(template.len() + 2048);
    let (mut version, mut changed) = (0..0, 0..0);
    let mut parts = template.split('$');
    json.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part
            .find(|c: char| c != '_' && !c.is_ascii_lowercase())
            .unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let at = json.len();
        json.push_str(value(values, name));
        match name {
            "version" => version = at..json.len(),
            "changed" => changed = at..json.len(),
            _ => {}
        }
        json.push_str(rest);
    }
    Pod {
        json: json.into_bytes(),
        version,
        changed,
    }
}

fn value<'a>(values: &'a Values, name: &str) -> &'a str {
    let found = values.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

/// A time of one day, so many seconds from its begin.
fn time(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("2026-11-28T{hours:02}:{minutes:02}:{:02}Z", seconds % 60)
}

fn uid(random: &mut Rng) -> String {
    let text = hexadecimal(32, random);
    format!(
        "{}-{}-4{}-a{}-{}",
        &text[..8],
        &text[8..12],
        &text[13..16],
        &text[17..20],
        &text[20..]
    )
}

fn hexadecimal(digits: usize, random: &mut Rng) -> String {
    let mut text = String::with_capacity(digits + 16);
    while text.len() < digits {
        let _ = write!(text, "{:016x}", random.u64(..));
    }
    text.truncate(digits);
    text
}

/// The letters that the server makes ends of names of.
fn letters(count: usize, random: &mut Rng) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..count)
        .map(|_| char::from(LETTERS[random.usize(..LETTERS.len())]))
        .collect()
}

const AREAS: [&str; 20] = [
    "basket", "billing", "catalog", "checkout", "content", "delivery", "fraud", "gateway", "identity",
    "ledger", "loyalty", "media", "orders", "payments", "pricing", "profile", "returns", "search", "session",
    "stock",
];
const COMPONENTS: [&str; 4] = ["backend", "frontend", "worker", "scheduler"];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use k8s_openapi::api::core::v1;

    use super::*;

    #[test]
    fn pods_are_of_the_size_and_the_variety_that_they_claim() {
        let pods = generate(2_000);
        let bytes: usize = pods.iter().map(|pod| pod.json().len()).sum();
        assert!((7_000..7_200).contains(&(bytes / pods.len())), "{bytes}");
        let decoded: Vec<v1::Pod> = pods
            .iter()
            .map(|pod| serde_json::from_slice(pod.json()).unwrap())
            .collect();
        let mut managed = 0;
        for pod in &pods {
            let text = std::str::from_utf8(pod.json()).unwrap();
            assert!(!text.contains('$'), "{text}");
            managed += text.find("]},\"spec\":").unwrap() - text.find("\"managedFields\":").unwrap();
        }
        assert!((2_100..2_300).contains(&(managed / pods.len())), "{managed}");
        let different =
            |of: fn(&v1::Pod) -> Option<&str>| decoded.iter().filter_map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(different(|pod| pod.metadata.uid.as_deref()), 2_000);
        assert_eq!(different(|pod| pod.metadata.name.as_deref()), 2_000);
        let mut by_namespace = BTreeMap::<_, usize>::new();
        for pod in &decoded {
            *by_namespace.entry(pod.metadata.namespace.as_deref()).or_default() += 1;
        }
        assert_eq!(by_namespace.len(), NAMESPACES);
        assert!(by_namespace.values().all(|count| *count == 2_000 / NAMESPACES));
    }

    #[test]
    fn the_same_number_is_the_same_text_and_changes_change_little() {
        let (pods, mut again) = (generate(50), generate(50));
        for (pod, again) in pods.iter().zip(&mut again) {
            assert_eq!(pod.json(), again.json());
            again.change(FIRST_VERSION + 12_345);
            assert_ne!(pod.json(), again.json());
            let mut decoded: v1::Pod = serde_json::from_slice(again.json()).unwrap();
            assert_eq!(decoded.metadata.resource_version.as_deref(), Some("1000012345"));
            let mut before: v1::Pod = serde_json::from_slice(pod.json()).unwrap();
            for pod in [&mut decoded, &mut before] {
                pod.metadata.resource_version = None;
                pod.status.as_mut().unwrap().conditions = None;
            }
            assert_eq!(decoded, before);
        }
    }
}
