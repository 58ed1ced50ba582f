//! What tokens are bound to: they hold as long as it is there.

use jiff::Timestamp;
use serde_json::Value;

use super::claims::{Claims, LEEWAY_SECONDS, Reference};
use super::stored;
use crate::storage::{Key, Storage};

/// A kind of object that a token can be bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BoundKind {
    /// A pod of the account.
    Pod,
    /// A secret.
    Secret,
    /// A node.
    Node,
}

impl BoundKind {
    /// The kind of a reference, if it is one of these. Its version does not count.
    pub(crate) fn of(api_version: &str, kind: &str) -> Option<Self> {
        match (api_version.contains('/'), kind) {
            (false, "Pod") => Some(Self::Pod),
            (false, "Secret") => Some(Self::Secret),
            (false, "Node") => Some(Self::Node),
            _ => None,
        }
    }

    /// The kind's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Secret => "Secret",
            Self::Node => "Node",
        }
    }

    /// Where an object is stored; the namespace is the account's.
    pub(crate) fn key(self, namespace: &str, name: &str) -> Key {
        match self {
            Self::Pod => Key::new("", "pods", Some(namespace), name),
            Self::Secret => Key::new("", "secrets", Some(namespace), name),
            Self::Node => Key::new("", "nodes", None, name),
        }
    }
}

/// Whether the account of a token and what the token is bound to are still there.
///
/// # Errors
/// Why the token does not hold any longer.
pub(super) async fn check(storage: &dyn Storage, claims: &Claims, now: i64) -> Result<(), String> {
    let namespace = &claims.namespace;
    let Reference { name, uid } = &claims.account;
    let key = Key::new("", "serviceaccounts", Some(namespace), name);
    let Some(account) = stored(storage, key).await? else {
        return Err(format!("serviceaccounts {name:?} not found"));
    };
    let found = Reference::to(&account).uid;
    if found != *uid {
        return Err(format!(
            "service account UID ({found}) does not match claim ({uid})"
        ));
    }
    if is_deleted(&account, now) {
        return Err(format!("service account {namespace}/{name} has been deleted"));
    }
    // A pod's node is only told, not looked for.
    let node = claims.node.as_ref().filter(|_| claims.pod.is_none());
    for (kind, lower, reference) in [
        (BoundKind::Secret, "secret", claims.secret.as_ref()),
        (BoundKind::Pod, "pod", claims.pod.as_ref()),
        (BoundKind::Node, "node", node),
    ] {
        let Some(Reference { name, uid }) = reference else {
            continue;
        };
        let found = stored(storage, kind.key(namespace, name)).await;
        let Ok(Some(found)) = found else {
            return Err(INVALIDATED.to_owned());
        };
        let found_uid = Reference::to(&found).uid;
        if found_uid != *uid {
            return Err(format!(
                "{lower} UID ({found_uid}) does not match service account {lower} ref claim ({uid})"
            ));
        }
        if is_deleted(&found, now) {
            return Err(INVALIDATED.to_owned());
        }
    }
    Ok(())
}

/// Whether an object was to be gone for longer than clocks differ.
fn is_deleted(object: &Value, now: i64) -> bool {
    let due = object["metadata"]["deletionTimestamp"].as_str();
    let due = due.and_then(|text| text.parse::<Timestamp>().ok());
    due.is_some_and(|due| due.as_second() < now.saturating_sub(LEEWAY_SECONDS))
}

const INVALIDATED: &str = "service account token has been invalidated";
