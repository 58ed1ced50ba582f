//! Tokens that live in secrets: they name their secret, and hold as long as it holds them (kubernetes pkg/serviceaccount/legacy.go).
//!
//! Whoever runs the controllers of a cluster issues them, with the key of this server. Unlike upstream, nobody writes down when they were
//! last used.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_net::Identity;
use serde_json::Value;

use super::claims::{Reference, audiences, text};
use super::{TokenBearer, stored};
use crate::storage::{Key, Storage};

/// Who issues such tokens, in every cluster.
pub(super) const ISSUER: &str = "kubernetes/serviceaccount";

/// The claims of such a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LegacyClaims {
    pub(super) audiences: Vec<String>,
    subject: String,
    namespace: String,
    secret: String,
    account: Reference,
}

impl LegacyClaims {
    /// Reads claims; what is not there is empty.
    ///
    /// # Errors
    /// For claims of another type.
    pub(super) fn from_json(claims: &Value) -> Result<Self, String> {
        let private = |name: &str| text(&claims[format!("kubernetes.io/serviceaccount/{name}")]);
        Ok(Self {
            audiences: audiences(claims)?,
            subject: text(&claims["sub"])?,
            namespace: private("namespace")?,
            secret: private("secret.name")?,
            account: Reference {
                name: private("service-account.name")?,
                uid: private("service-account.uid")?,
            },
        })
    }

    /// Who bears `token`, of which these are the claims, and for which `audiences` of those that were asked for.
    ///
    /// # Errors
    /// Why it does not hold any longer.
    pub(super) async fn bearer(
        &self,
        storage: &dyn Storage,
        token: &str,
        audiences: Vec<String>,
    ) -> Result<TokenBearer, String> {
        self.check()?;
        let (namespace, name) = (&self.namespace, &self.account.name);
        let secret = stored(storage, Key::new("", "secrets", Some(namespace), &self.secret)).await;
        let is_there = |object: &Value| object["metadata"]["deletionTimestamp"].is_null();
        let Some(secret) = secret.ok().flatten().filter(is_there) else {
            return Err("Token has been invalidated".to_owned());
        };
        if secret["data"]["token"] != STANDARD.encode(token) {
            return Err("Token does not match server's copy".to_owned());
        }
        let account = stored(storage, Key::new("", "serviceaccounts", Some(namespace), name)).await?;
        let account = account.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        if !is_there(&account) {
            return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
        }
        let (found, claim) = (Reference::to(&account).uid, &self.account.uid);
        if found != *claim {
            return Err(format!(
                "ServiceAccount UID ({found}) does not match claim ({claim})"
            ));
        }
        if secret["metadata"]["labels"][INVALID_SINCE]
            .as_str()
            .is_some_and(|since| !since.is_empty())
        {
            return Err(format!(
                "the token in secret {namespace}/{} for service account {namespace}/{name} has been marked invalid. Use tokens from the \
                 TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the secret to \
                 temporarily allow use of this token",
                self.secret
            ));
        }
        let mut named = account["secrets"].as_array().into_iter().flatten();
        let is_named = named.any(|secret| secret["name"] == self.secret.as_str());
        Ok(TokenBearer {
            identity: self.identity(),
            audiences,
            warning: is_named.then_some(NAMED),
        })
    }

    /// Whether all is said that has to be.
    fn check(&self) -> Result<(), String> {
        for (claim, value) in [
            ("sub", &self.subject),
            ("namespace", &self.namespace),
            ("secretName", &self.secret),
            ("serviceAccountName", &self.account.name),
            ("serviceAccountUID", &self.account.uid),
        ] {
            if value.is_empty() {
                return Err(format!("{claim} claim is missing"));
            }
        }
        match self.subject == self.username() {
            true => Ok(()),
            false => Err("sub claim is invalid".to_owned()),
        }
    }

    fn username(&self) -> String {
        self.account.username(&self.namespace)
    }

    fn identity(&self) -> Identity {
        self.account.identity(&self.namespace)
    }
}

/// A label that the legacy token cleaner sets.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// What the bearer is told of a token whose secret the account names, as those that were once made with each account.
const NAMED: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based \
                     tokens.";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::{Encoded, MemoryStorage};

    fn claims() -> Value {
        json!({
            "iss": ISSUER,
            "sub": "system:serviceaccount:ns:sa",
            "kubernetes.io/serviceaccount/namespace": "ns",
            "kubernetes.io/serviceaccount/secret.name": "s",
            "kubernetes.io/serviceaccount/service-account.name": "sa",
            "kubernetes.io/serviceaccount/service-account.uid": "u",
        })
    }

    /// What the bearer of the token `t` is told, where there are this secret and this account.
    async fn found(claims: &Value, secret: &Value, account: &Value) -> Result<TokenBearer, String> {
        let storage = MemoryStorage::new();
        for (plural, name, object) in [("secrets", "s", secret), ("serviceaccounts", "sa", account)] {
            if !object.is_null() {
                let key = Key::new("", plural, Some("ns"), name);
                storage.create(key, Encoded::from_value(object)).await.unwrap();
            }
        }
        LegacyClaims::from_json(claims)?
            .bearer(&storage, "t", vec!["a".to_owned()])
            .await
    }

    #[tokio::test]
    async fn who_the_bearer_is() {
        let secret = json!({"metadata": {"name": "s"}, "data": {"token": STANDARD.encode("t")}});
        let account = json!({"metadata": {"name": "sa", "uid": "u"}});
        let bearer = found(&claims(), &secret, &account).await.unwrap();
        assert_eq!(bearer.identity.user, "system:serviceaccount:ns:sa");
        assert_eq!(bearer.identity.uid, "u");
        assert!(bearer.identity.extra.is_empty());
        assert_eq!((bearer.audiences, bearer.warning), (vec!["a".to_owned()], None));
        let with = |object: &Value, pointer: &str, value: Value| {
            let mut object = object.clone();
            let (place, field) = pointer.rsplit_once('/').unwrap();
            object.pointer_mut(place).unwrap()[field] = value;
            object
        };
        let named = with(&account, "/secrets", json!([{"name": "s"}]));
        assert_eq!(
            found(&claims(), &secret, &named).await.unwrap().warning,
            Some(NAMED)
        );
        for (secret, account, expect) in [
            (Value::Null, account.clone(), "Token has been invalidated"),
            (
                with(&secret, "/metadata/deletionTimestamp", "t".into()),
                account.clone(),
                "Token has been invalidated",
            ),
            (
                with(&secret, "/data/token", "dA".into()),
                account.clone(),
                "Token does not match server's copy",
            ),
            (secret.clone(), Value::Null, "serviceaccounts \"sa\" not found"),
            (
                secret.clone(),
                with(&account, "/metadata/deletionTimestamp", "t".into()),
                "ServiceAccount ns/sa has been deleted",
            ),
            (
                secret.clone(),
                with(&account, "/metadata/uid", "v".into()),
                "ServiceAccount UID (v) does not match claim (u)",
            ),
            (
                with(&secret, "/metadata/labels", json!({INVALID_SINCE: "2030-01-01"})),
                account.clone(),
                "the token in secret ns/s for service account ns/sa has been marked invalid",
            ),
        ] {
            let why = found(&claims(), &secret, &account).await.unwrap_err();
            assert!(why.starts_with(expect), "{why}");
        }
        for (claim, value, expect) in [
            ("sub", json!(""), "sub claim is missing"),
            (
                "sub",
                json!("system:serviceaccount:ns:other"),
                "sub claim is invalid",
            ),
            (
                "kubernetes.io/serviceaccount/namespace",
                Value::Null,
                "namespace claim is missing",
            ),
            (
                "kubernetes.io/serviceaccount/secret.name",
                json!(""),
                "secretName claim is missing",
            ),
            (
                "kubernetes.io/serviceaccount/service-account.name",
                json!(""),
                "serviceAccountName claim is missing",
            ),
            (
                "kubernetes.io/serviceaccount/service-account.uid",
                json!(""),
                "serviceAccountUID claim is missing",
            ),
            (
                "sub",
                json!(1),
                "json: cannot unmarshal number into Go value of type string",
            ),
        ] {
            let mut claims = claims();
            claims[claim] = value;
            assert_eq!(found(&claims, &secret, &account).await.unwrap_err(), expect);
        }
    }
}
