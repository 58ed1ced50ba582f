//! The directory: one ConfigMap in each namespace that lists the guestbooks there with their addresses.
//!
//! It belongs to all of them and so to none: garbage collection cannot clean it up when one goes. That is what the
//! finalizer is for.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::core::Resource;
use kubewright::{Cached, ObjectKey, ObjectMeta};
use serde_json::{Value, json};

use crate::resource::Guestbook;

/// The name of the directory.
pub const DIRECTORY: &str = "guestbook-directory";

/// Where the guestbook is found within the cluster.
#[must_use]
pub fn address(guestbook: &Guestbook) -> String {
    let namespace = guestbook.namespace().unwrap_or_default();
    format!("http://{}.{namespace}.svc", guestbook.name())
}

/// A directory that lists one guestbook.
#[must_use]
pub fn with(guestbook: &Guestbook) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(DIRECTORY.to_owned()),
            namespace: guestbook.metadata.namespace.clone(),
            ..ObjectMeta::default()
        },
        data: Some([(guestbook.name().to_owned(), address(guestbook))].into()),
        ..ConfigMap::default()
    }
}

/// Whether the directory lists the guestbook with its address.
#[must_use]
pub fn lists(present: &ConfigMap, guestbook: &Guestbook) -> bool {
    entry(present, guestbook) == Some(&address(guestbook))
}

/// The merge patch that lists the guestbook.
#[must_use]
pub fn list(guestbook: &Guestbook) -> Value {
    json!({"data": {guestbook.name(): address(guestbook)}})
}

/// The merge patch that strikes the guestbook off; `None` where it is not listed.
#[must_use]
pub fn strike(present: &ConfigMap, guestbook: &Guestbook) -> Option<Value> {
    entry(present, guestbook).map(|_| json!({"data": {guestbook.name(): null}}))
}

/// The guestbooks that a directory lists, so that a change of it is looked into; none for any other ConfigMap.
#[must_use]
pub fn listed(config_map: &Cached<ConfigMap>) -> Vec<ObjectKey> {
    if config_map.name() != DIRECTORY {
        return Vec::new();
    }
    // A directory that cannot be read lists nothing; the next reconciliation of each guestbook fails and says why.
    let Ok(directory) = config_map.object() else {
        return Vec::new();
    };
    let names = directory.data.iter().flat_map(|data| data.keys());
    names
        .map(|name| ObjectKey::of(config_map.namespace(), name))
        .collect()
}

/// Whether the directory lists nothing.
#[must_use]
pub fn is_empty(present: &ConfigMap) -> bool {
    present.data.as_ref().is_none_or(|data| data.is_empty())
}

fn entry<'a>(present: &'a ConfigMap, guestbook: &Guestbook) -> Option<&'a String> {
    present.data.as_ref()?.get(guestbook.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::GuestbookSpec;

    #[test]
    fn patches_say_what_is_missing() {
        let spec = GuestbookSpec {
            replicas: 1,
            image: "nginx".to_owned(),
            message: "hello".to_owned(),
        };
        let mut guestbook = Guestbook::new("a", spec);
        guestbook.metadata.namespace = Some("team".to_owned());
        let here = "http://a.team.svc";
        assert_eq!(list(&guestbook), json!({"data": {"a": here}}));
        let strike_off = || Some(json!({"data": {"a": null}}));
        // entries of the directory, whether it lists the guestbook, patch to strike it off
        let rows = [
            (json!({}), false, None),
            (json!({"b": "x"}), false, None),
            (json!({"a": here, "b": "x"}), true, strike_off()),
            (json!({"a": "elsewhere"}), false, strike_off()),
        ];
        for (data, is_listed, to_strike) in rows {
            let present: ConfigMap = serde_json::from_value(json!({"data": data})).unwrap();
            assert_eq!(lists(&present, &guestbook), is_listed, "{data}");
            assert_eq!(strike(&present, &guestbook), to_strike, "{data}");
            assert_eq!(is_empty(&present), data == json!({}), "{data}");
        }
        assert!(lists(&with(&guestbook), &guestbook));
    }

    #[test]
    fn only_the_directory_lists() {
        let rows = [
            (DIRECTORY, json!({"a": "", "b": ""}), vec!["team/a", "team/b"]),
            (DIRECTORY, json!({}), vec![]),
            ("other", json!({"a": ""}), vec![]),
        ];
        for (name, data, expect) in rows {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "team", "uid": "u", "resourceVersion": "1"}, "data": data,
            });
            let cached = Cached::from_json(object.to_string().as_bytes()).unwrap();
            let keys: Vec<_> = listed(&cached).iter().map(ToString::to_string).collect();
            assert_eq!(keys, expect, "{name} {data}");
        }
    }
}
